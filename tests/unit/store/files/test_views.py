"""What the file store answers to a view of a file: what it knows of it, what it took in first, what it keeps."""

import pytest

from catmem.errors import DriftError
from catmem.store.contract import Change
from tests.unit.store.one_file import ENTITY, add


@pytest.fixture
def file(file):
    file.write_bytes(b"one\n")
    return file


def backups(file):
    return list(file.parent.glob("*.bak.*"))


def test_a_recorded_digest_is_drift_as_long_as_somebody_else_wrote_since(store, file):
    seen = add(store, b"more\n")
    file.write_bytes(file.read_bytes() + b"theirs\n")
    add(store, b"more\n")
    with pytest.raises(DriftError):
        add(store, b"more\n", seen.digest)


@pytest.mark.parametrize(("code", "kept"), [("drift", 1), ("not_utf8", 1), ("entry_too_large", 0), ("too_large", 0)])
def test_a_copy_is_kept_of_what_others_wrote_and_not_of_what_is_merely_in_the_way(store, file, code, kept):
    def refuse(_):
        raise DriftError("no", code=code)

    with pytest.raises(DriftError) as caught:
        store.commit(ENTITY, None, refuse, Change())
    error = caught.value
    assert len(backups(file)) == kept
    assert (error.drift_backup is not None, error.found is not None) == (bool(kept), bool(kept))
    assert error.path == str(file)
