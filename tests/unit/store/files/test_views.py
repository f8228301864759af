"""What the file store answers to a view of a file: what it knows of it, what it took in first, what it keeps."""

from __future__ import annotations

import pytest

from catmem.digest import bytes_digest
from catmem.errors import DriftError, UnknownRevisionError
from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from tests.merges import merge_appended

TEXT = b"one\n"
NEVER = bytes_digest(b"never\n")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "USER.md"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def store(file):
    opened = FileStore(lambda _: Place(file.parent, (), file.name), merge=merge_appended)
    yield opened
    opened.close()


def add(store, expected=None, line=b"more\n", **change):
    return store.commit("neo/user", expected, lambda current: current.data + line, Change(**change))


def backups(file):
    return list(file.parent.glob("*.bak.*"))


# --- what was seen ---


@pytest.mark.parametrize("on_drift", ["adopt", "merge"])
@pytest.mark.parametrize("revision", ["3", "8a", "latest"])
def test_a_revision_that_is_in_no_record_is_unknown(store, file, revision, on_drift):
    add(store)
    for _ in ("nobody else", "somebody else"):
        with pytest.raises(UnknownRevisionError):
            add(store, revision, on_drift=on_drift)
        file.write_bytes(file.read_bytes() + b"theirs\n")
    assert backups(file) == []


@pytest.mark.parametrize("known", [False, True], ids=["the first text", "a later one"])
def test_and_drift_where_this_very_write_finds_one(store, file, known):
    if known:
        add(store)
    theirs = file.read_bytes() + b"theirs\n"
    file.write_bytes(theirs)
    with pytest.raises(DriftError):
        add(store, NEVER)
    (backup,) = backups(file)
    assert backup.read_bytes() == theirs


def test_a_recorded_digest_is_drift_as_long_as_somebody_else_wrote_since(store, file):
    seen = add(store)
    file.write_bytes(file.read_bytes() + b"theirs\n")
    add(store)
    with pytest.raises(DriftError):
        add(store, seen.digest)


# --- what was taken in ---


def test_what_was_written_late_into_a_file_that_is_out_is_taken_in_first(store, file):
    add(store)
    with file.open("ab", buffering=0) as late:
        add(store)
        late.write(b"late\n")
    done = add(store)
    (written,) = [revision for revision in store.log("neo/user") if revision.op == "late"]
    assert done.adopted == written.revision
    assert b"late\n" in done.data


# --- what is kept ---


@pytest.mark.parametrize(("code", "kept"), [("drift", 1), ("not_utf8", 1), ("entry_too_large", 0), ("too_large", 0)])
def test_a_copy_is_kept_of_what_others_wrote_and_not_of_what_is_merely_in_the_way(store, file, code, kept):
    def refuse(_):
        raise DriftError("no", code=code)

    with pytest.raises(DriftError) as caught:
        store.commit("neo/user", None, refuse, Change())
    error = caught.value
    assert len(backups(file)) == kept
    assert (error.drift_backup is not None, error.found is not None) == (bool(kept), bool(kept))
    assert error.path == str(file)


def test_where_no_outsider_wrote_since_there_is_no_copy(store, file):
    def refuse(_):
        raise DriftError("an entry that the caller saw is another one now")

    seen = add(store)
    add(store)
    for expected in (seen.revision, None):
        with pytest.raises(DriftError) as caught:
            store.commit("neo/user", expected, refuse, Change(on_drift="merge"))
        assert caught.value.drift_backup is None
    assert backups(file) == []
