"""Histories that are copied from one store to another. The round trip over all stores: tests/end_to_end."""

from dataclasses import replace

import pytest

from catmem.errors import StoreError
from catmem.store.contract import Change
from catmem.workspace.copying import copy_entities, copy_root
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.refusals import refusal
from tests.store.memory import InMemoryStore
from tests.together import together

USER, OTHER = "trinity/user", "neo/user"


def write(store, text, entity=USER, expected=None, **change):
    return store.commit(entity, expected, lambda _: text.encode(), Change(**change))


def everything(store, entity=USER):
    """All that is kept of an entity, but the sequences."""
    return [(replace(recorded, sequence=0), data) for recorded, data in store.replay(entity)]


class Changed(InMemoryStore):
    """A store whose text others may change: `outside` takes the place of what is recorded."""

    outside: bytes | None = None

    def read(self, entity, revision=None):
        now = super().read(entity, revision)
        if revision is None and self.outside is not None:
            return replace(now.from_bytes(self.outside, None))
        return now

    def peek(self, entity):
        return super().peek(entity) if self.outside is None else self.outside


@pytest.fixture
def source():
    """Two revisions, a branch of the first, and a merge of both; another entity with one revision and a branch."""
    store = InMemoryStore()
    write(store, "one\n", agent="neo", op_id="first", note={"why": "a test"})
    write(store, "two\n", agent="trinity")
    write(store, "beside\n", expected="1", on_stale="branch")
    write(store, "both\n", op="merge", merges=("2a",))
    write(store, "other\n", OTHER)
    write(store, "more\n", OTHER)
    write(store, "left\n", OTHER, expected="1", on_stale="branch")
    return store


@pytest.fixture
def target():
    return InMemoryStore()


def test_a_copy_is_written_on_as_its_source_would_be(source, target):
    assert copy_entities(source, target, ["nobody/user"]) == []  # it has no revisions
    copied = copy_entities(source, target, [USER, OTHER])
    assert [(each.entity, each.revisions, each.head, each.branches) for each in copied] == [
        (USER, 4, "3", ()),
        (OTHER, 3, "2", ("2a",)),
    ]
    for entity in (USER, OTHER):
        assert everything(target, entity) == everything(source, entity)
    assert write(target, "three\n").revision == write(source, "three\n").revision == "4"
    assert write(target, "one\n", agent="neo", op_id="first").revision == "1"


def test_an_entity_with_a_history_is_refused_before_anything_is_copied(source, target):
    write(target, "something else\n", OTHER)
    caught = refusal("not_empty", copy_entities, source, target, [USER, OTHER])
    assert "neo/user: the target has a history already" in str(caught)
    assert "Copy to another place" in caught.hint
    assert target.head(USER) is None


def test_a_text_without_a_record_is_not_written_over(source):
    target = Changed()
    target.outside = b"mine\n"
    with pytest.raises(StoreError, match="a text that no record has"):
        copy_entities(source, target, [USER])
    target.outside = b"both\n"  # the newest revision is no obstacle
    target.outside = None if copy_entities(source, target, [USER]) else b""


def test_what_others_wrote_is_the_last_revision_of_the_copy_and_the_source_stays(target):
    source = Changed()
    write(source, "one\n")
    source.outside = b"one\ntwo\n"
    (copied,) = copy_entities(source, target, [USER])
    assert (copied.adopted, copied.revisions, copied.head) == (True, 2, "2")
    last, data = list(target.replay(USER))[-1]
    assert (last.revision, last.op, last.agent, last.parents, data) == ("2", "adopt", "external", ("1",), b"one\ntwo\n")
    assert [each.revision for each in source.log(USER)] == ["1"]
    never = Changed()
    never.outside = b"by hand\n"
    (copied,) = copy_entities(never, target, [OTHER])
    assert (copied.adopted, copied.head, target.peek(OTHER)) == (True, "1", b"by hand\n")


def test_a_source_whose_bytes_are_not_as_recorded_is_not_copied(source, target):
    recorded, _ = source._revisions[USER][1]
    source._revisions[USER][1] = (recorded, b"forged\n")
    caught = refusal("copy_differs", copy_entities, source, target, [USER])
    assert "the bytes of revision 2 are not those that were recorded" in str(caught)


class Forgetful(InMemoryStore):
    """Takes a history over, and loses what `loses` says of it."""

    def __init__(self, loses):
        super().__init__()
        self.loses = loses

    def import_history(self, entity, history):
        return super().import_history(entity, self.loses(list(history)))


LOSSES = {
    "the last revision": (lambda kept: kept[:-1], "at revision 3"),
    "a byte": (lambda kept: [kept[0], (kept[1][0], b"tw\n"), *kept[2:]], "at revision 2"),
    "a name": (lambda kept: [(replace(kept[0][0], agent="person"), kept[0][1]), *kept[1:]], "at revision 1"),
    "a note": (lambda kept: [(replace(kept[0][0], note={}), kept[0][1]), *kept[1:]], "at revision 1"),
    "a parent": (lambda kept: [*kept[:-1], (replace(kept[-1][0], parents=("2",)), kept[-1][1])], "at revision 3"),
}


@together(("loses", "where"), LOSSES.values(), ids=LOSSES)
def test_a_store_that_loses_something_is_found_out(source, loses, where):
    assert where in str(refusal("copy_differs", copy_entities, source, Forgetful(loses), [USER]))


def test_a_write_to_the_source_meanwhile_is_noticed(source):
    class Slow(InMemoryStore):
        def import_history(self, entity, history):
            count = super().import_history(entity, history)
            write(source, "meanwhile\n")
            return count

    assert "at revision 4" in str(refusal("copy_differs", copy_entities, source, Slow(), [USER]))


# --- a root ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path):
    put(tmp_path / "root" / "catmem.yaml", "version: 1\n")
    put(tmp_path / "root" / "profiles" / "trinity.yaml", "{}\n")
    put(tmp_path / "root" / "homes" / "trinity" / "USER.md", "by hand\n")
    return Workspace.open(tmp_path / "root", search=False)


@together(
    "pair",
    [
        ("files", "sqlite:/x"),
        ("sqlite:///no.db", "files:"),
        ("sqlite:", "sqlite:"),
        ("mysql://host/db", "files"),
        ("file", "files"),
        ("files", "sqlite://x"),
        ("", "files"),
    ],
)
def test_what_names_no_store_is_refused_before_any_file_is_looked_for(root, pair):
    assert "names no store" in str(refusal("bad_store", copy_root, root, *pair))


def test_a_database_with_two_slashes_is_told_of_the_third(root):
    error = refusal("bad_store", copy_root, root, "files", "sqlite://x.db")
    assert error.message == "'sqlite://x.db' names no store"
    assert "three slashes" in error.hint


@together("pair", [("files", "files"), ("sqlite:///a.db", "sqlite:///a.db"), ("sqlite:///a.db", "sqlite:///./a.db")])
def test_a_store_is_not_copied_to_itself(root, pair):
    refusal("same_store", copy_root, root, *pair)


def test_a_database_is_not_made_to_be_read(root):
    refusal("missing", copy_root, root, "sqlite:///none.db", "files")
    assert [*root.root.glob("*.db")] == []
