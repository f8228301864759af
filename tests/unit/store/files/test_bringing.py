"""A history from another store becomes a file and its journal: whole or not at all."""

import pytest

from catmem.errors import StoreError
from catmem.store.contract import EXTERNAL, Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from catmem.store.files.segments import SegmentFolder
from tests.merges import merge_appended
from tests.store.memory import InMemoryStore

ENTITY = "neo/user"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "USER.md"


@pytest.fixture
def store(file):
    opened = FileStore(
        lambda entity: Place(file.parent, (), f"{entity[4:].upper()}.md"), [ENTITY], merge=merge_appended
    )
    yield opened
    opened.close()


@pytest.fixture
def source():
    """Nine heads; two branches, of which the second is the newest of all."""
    made = InMemoryStore()
    for number in range(1, 10):
        made.commit(ENTITY, None, lambda _, number=number: b"%d\n" % number, Change())
        if number in {3, 9}:
            made.commit(ENTITY, "2", lambda _, n=number: b"mine %d\n" % n, Change(on_stale="branch", agent="neo"))
    return made


def names(store):
    return [recorded.revision for recorded, _ in store.replay(ENTITY)]


ALL = ["1", "2", "3", "3a", "4", "5", "6", "7", "8", "9", "3b"]


def test_the_file_is_the_head_and_outsiders_may_write_to_it_at_once(store, source, file):
    assert store.import_history(ENTITY, source.replay(ENTITY)) == len(ALL)
    assert file.read_bytes() == b"9\n"
    with file.open("ab") as outsider:
        outsider.write(b"by hand\n")
    assert store.commit(ENTITY, None, lambda current: current.data + b"mine\n", Change()).adopted == "10"
    assert file.read_bytes() == b"9\nby hand\nmine\n"
    assert store.verify() == []


@pytest.mark.parametrize("there", [b"", b"9\n"], ids=["empty", "the head's bytes"])
def test_a_file_that_says_nothing_else_may_be_there(store, source, file, there):
    file.write_bytes(there)
    store.import_history(ENTITY, source.replay(ENTITY))
    assert (file.read_bytes(), store.read(ENTITY).revision) == (b"9\n", "9")
    assert store.commit(ENTITY, "9", lambda _: b"10\n", Change()).revision == "10"


def test_what_an_outsiders_record_says_is_still_to_be_done_is_not_done_here(store, file):
    """In a file store a record that ends with this note is finished by the next write; this one was written elsewhere."""
    source = InMemoryStore()
    source.commit(ENTITY, None, lambda _: b"one\n", Change())
    source.commit(ENTITY, None, lambda _: b"two\n", Change(agent=EXTERNAL, op="adopt", note={"merge_with": "1"}))
    store.import_history(ENTITY, source.replay(ENTITY))
    assert store.commit(ENTITY, "2", lambda _: b"three\n", Change()).revision == "3"
    assert file.read_bytes() == b"three\n"


@pytest.mark.parametrize("call", ["put", "settle"])
def test_a_stop_leaves_all_or_nothing_and_the_next_write_puts_the_file_in_place(store, source, file, monkeypatch, call):
    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SegmentFolder, call, stopped)
        with pytest.raises(KeyboardInterrupt):
            store.import_history(ENTITY, source.replay(ENTITY))
    store.close()
    assert names(store) == ([] if call == "put" else ALL)
    assert not file.exists()
    if call == "put":
        assert store.import_history(ENTITY, source.replay(ENTITY)) == len(ALL)
    else:
        assert ("unfinished", False) in [(fault.code, fault.damage) for fault in store.verify()]
    assert store.commit(ENTITY, "9", lambda current: current.data + b"10\n", Change()).revision == "10"
    assert file.read_bytes() == b"9\n10\n"
    assert [fault for fault in store.verify() if fault.damage] == []


def test_a_history_is_not_brought_over_another(store, source):
    store.commit(ENTITY, None, lambda _: b"other\n", Change())
    with pytest.raises(StoreError) as caught:
        store.import_history(ENTITY, source.replay(ENTITY))
    assert caught.value.code == "not_empty"
    assert names(store) == ["1"]
