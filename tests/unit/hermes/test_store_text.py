"""A memory file as Hermes Agent's store sees it, and the guarded way to it, without Hermes Agent."""

import fcntl
import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catmem.errors import BusyError, ConfigError
from catmem.model.document import parse
from catmem.plugins.hermes import memory_store
from catmem.plugins.hermes.memory_store import (
    FileText,
    GuardedFiles,
    MemoryStore,
    is_plain,
    read_text,
    size_of,
    use_catmem_store,
)
from catmem.text import unify_newlines

PARTS = st.sampled_from(
    [
        "a",
        "b c",
        "§",
        "§ ",
        " §",
        "a § b",
        "## A",
        "### A",
        "# A",
        "\\§",
        "\\## A",
        "[x: y] z",
        "```",
        "c:\\d \\§",
        "e\r",
    ]
)
TEXTS = st.lists(PARTS, max_size=6).map("\n".join)


def parsed_whole(text):
    """A file as it is read without the short way for flat files."""
    document = parse(text)
    return FileText(text, [entry.text for entry in document.entries], tuple(range(len(document.entries))), document)


@given(TEXTS)
@example("a \\d\n§\n\\d")
@example("a\n\\§\nb")
def test_a_flat_file_is_read_as_its_document_is(text):
    read, whole = read_text(text.encode(), repeated=True), parsed_whole(text)
    assert read.entries == whole.entries
    assert [piece for parts in read.pieces for piece in parts] == [piece for parts in whole.pieces for piece in parts]
    assert read.size == whole.size


@given(st.lists(TEXTS.map(str.strip).filter(bool), unique=True, min_size=1, max_size=4), TEXTS.filter(str.strip))
@example(["a \\d", "b"], "c \\§")
@example(["a"], "# A")
def test_a_flat_file_is_written_as_its_document_is(texts, new):
    text = "\n§\n".join(texts)
    file = read_text(text.encode(), repeated=True)
    if not file.entries or file.document is not None:
        return
    new = unify_newlines(new).strip()
    for change in (lambda draft: draft.add(new), lambda draft: draft.replace(0, new, file.entries[0])):
        draft, same = file.draft(), file.draft()
        change(draft)
        change(same)
        written, whole = file.written(draft), parsed_whole(text).written(same)
        assert written.entries == whole.entries
        # A document ends a fence that is left open with a delimiter, and escapes an entry that would be the title of a
        # file with sections; Hermes's own store does not.
        mine, other = (each.text.rstrip("\n§").replace("\\#", "#") for each in (written, whole))
        assert mine == other


def test_a_prompt_shows_a_delimiter_inside_an_entry_with_its_escape():
    file = read_text("one\n\\§\ntwo\n§\nthree".encode())
    assert file.entries == ["one\n§\ntwo", "three"]
    assert file.pieces == [("one\n\\§\ntwo",), ("three",)]


@pytest.mark.parametrize("text", ["a\n§\nb", "§", "a\n## B", "a\r\nb", "\\§", "\ufeffa"])
def test_a_text_that_would_be_read_as_something_else_is_not_plain(text):
    assert not is_plain(text)


@given(st.lists(TEXTS.map(str.strip).filter(bool), unique=True, max_size=4))
def test_any_entries_come_back_as_they_were_put_in(texts):
    draft = read_text(b"").draft()
    for text in texts:
        draft.add(text)
    written = read_text(b"").written(draft)
    assert written.entries == texts
    assert read_text(written.text.encode()).entries == texts
    assert written.document is not None or written.size == size_of(texts)


@given(TEXTS, st.data())
@example("## A\n## B\na", None)
def test_a_change_of_one_entry_leaves_the_others_and_every_header(text, data):
    file = read_text(text.encode())
    if not file.entries:
        return
    place = data.draw(st.integers(0, len(file.entries) - 1)) if data else 0
    draft = file.draft()
    draft.replace(place, "new text", file.entries[place])
    written = file.written(draft)
    assert written.entries == [*file.entries[:place], "new text", *file.entries[place + 1 :]]
    again = read_text(written.text.encode())
    assert (again.entries, again.origins, again.size) == (written.entries, written.origins, written.size)
    draft = written.draft()
    draft.remove(place, "new text")
    removed = written.written(draft)
    assert removed.entries == [*file.entries[:place], *file.entries[place + 1 :]]
    headers = [[header.title for header in (each.document.scan.headers if each.document else ())] for each in
               (file, written, removed)]  # fmt: skip
    assert headers[0] == headers[1] == headers[2]


@pytest.mark.parametrize("text", ["a\r\n§\r\nb\r\n", "a\r\n§\r\nb", "\ufeff## A\r\na\r\n§\r\nb  \r\n\r\n## B\r\nc"])
@pytest.mark.parametrize("place", [0, 1])
def test_what_is_removed_from_a_file_of_windows_leaves_no_half_of_a_line_end(text, place):
    file = read_text(text.encode())
    draft = file.draft()
    draft.remove(place, file.entries[place])
    written = file.written(draft)
    assert written.entries == [entry for number, entry in enumerate(file.entries) if number != place]
    assert "\r" not in written.text.replace("\r\n", "")


APPENDED = "Milk is out."


@pytest.mark.parametrize("glue", ["", " ", "\n", "\n\n"])
@pytest.mark.parametrize("head", ["One.\n§\n", "# Ana\n\n## Facts\nOne.\n§\n", "One.\r\n§\r\n"])
def test_what_another_program_appended_to_an_entry_stays_when_that_is_replaced_or_removed(head, glue):
    file = read_text(f"{head}Lyon.{glue}{APPENDED}".encode())
    for texts in (["Paris."], []):
        draft = file.draft(shown={"One.", "Lyon."})
        if texts:
            draft.replace(1, "Paris.", "Lyon")
        else:
            draft.remove(1, "Lyon")
        written = file.written(draft)
        assert written.entries == ["One.", *texts, APPENDED]
        assert draft.kept == [APPENDED]
        assert written.category(2 if texts else 1) == file.category(1)


@pytest.mark.parametrize(
    ("text", "old_text", "new"),
    [
        pytest.param("Lyon. Milk is out.", "Lyon. Milk", "Paris.", id="named by a text that reaches into it"),
        pytest.param("Lyon. Milk is out.", "Milk", "Paris.", id="named by it"),
        pytest.param("Lyon. Milk is out.\n§\nLyon.", "Lyon. M", "Paris.", id="an entry beside the one that was seen"),
        pytest.param("Old Lyon. Milk is out.", "Lyon", "Paris.", id="another entry"),
    ],
)
def test_what_the_agent_has_not_seen_is_not_its_to_change(text, old_text, new):
    draft = read_text(text.encode()).draft(shown={"Lyon."})
    draft.replace(0, new, old_text)
    assert draft.unseen


# --- the guarded way to the files ---


@pytest.fixture
def files():
    opened = GuardedFiles()
    yield opened
    opened.close()


@pytest.fixture
def path(tmp_path):
    (tmp_path / "memories").mkdir()
    return tmp_path / "memories" / "MEMORY.md"


def test_a_write_is_there_recorded_and_under_hermes_own_lock(files, path):
    assert files.write(path, lambda data: data + b"one", {"target": "memory"}) == b"one"
    assert path.read_bytes() == b"one"
    assert path.stat().st_mode & 0o777 == 0o600
    assert (path.parent / "MEMORY.md.lock").exists()
    (record,) = files.store.log(str(path))
    assert (record.agent, record.note["target"]) == ("hermes", "memory")


def test_what_another_program_wrote_is_in_the_log(files, path, caplog):
    path.write_bytes(b"found")
    files.write(path, lambda data: data + b" one", {})
    assert not caplog.messages
    path.write_bytes(b"theirs")
    files.write(path, lambda _: b"two", {})
    assert caplog.messages == [
        f"MEMORY.md was changed by another program; what it held is revision 3 ('catmem log {path}')"
    ]
    assert files.store.read(str(path), "3").data == b"theirs"


@pytest.mark.parametrize("folder", ["elsewhere", "home/memories"])
def test_the_lock_is_there_in_a_folder_of_any_name_which_is_made(files, tmp_path, folder):
    files.write(tmp_path / folder / "USER.md", lambda _: b"one", {})
    assert (tmp_path / folder / "USER.md.lock").exists()


def test_a_link_stays_a_link_and_both_locks_are_held(files, path, tmp_path, monkeypatch):
    real = tmp_path / "dotfiles" / "memory.md"
    real.parent.mkdir()
    real.write_bytes(b"one")
    path.symlink_to(real)
    held = []

    def update(data):
        held.append(not _can_lock(path.parent / "MEMORY.md.lock"))
        return data + b" two"

    files.write(path, update, {})
    assert held == [True]
    assert path.is_symlink()
    assert real.read_bytes() == b"one two"
    monkeypatch.setattr(memory_store, "LOCK_TIMEOUT", 0.05)
    with (path.parent / "MEMORY.md.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BusyError):
            files.write(path, update, {})
    assert real.read_bytes() == b"one two"


def _can_lock(path):
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("use", [use_catmem_store, lambda: MemoryStore().load_from_disk()])
def test_outside_of_hermes_it_says_what_is_missing(use):
    with pytest.raises(ConfigError, match="no Hermes Agent to work for") as raised:
        use()
    assert raised.value.code == "no_hermes"
    assert "PYTHON -m pip install " in raised.value.hint
