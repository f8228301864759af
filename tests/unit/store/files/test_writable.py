"""Whether files take writes: told by trying, which changes nothing."""

import pytest

from catmem.errors import ConfigError, StoreError
from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from tests.merges import merge_appended
from tests.unit.store.journals import Failing
from tests.unit.store.sql.test_writable import immutable

NEO, BOSS = "neo/user", "boss/user"


@pytest.fixture
def system():
    return Failing()


@pytest.fixture
def store(tmp_path, system):
    """A store in which both entities were written."""
    opened = FileStore(
        lambda entity: Place(tmp_path, (entity.partition("/")[0],), "USER.md"),
        [NEO, BOSS],
        system=system,
        merge=merge_appended,
    )
    for entity in (NEO, BOSS):
        add(opened, entity)
    yield opened
    opened.close()


def add(store, entity):
    return store.commit(entity, None, lambda now: now.data + b"x\n", Change())


def code_of(store, *entities):
    try:
        store.check_writable(entities)
    except StoreError as error:
        return error.code
    return None


def test_asking_leaves_nothing(tmp_path, store):
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert code_of(store, NEO, BOSS, "new/user") is None
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("part", ["", ".catmem/lock"])
def test_a_folder_that_cannot_be_written_is_told_and_keeps_nobody_from_writing_the_others(tmp_path, store, part):
    with immutable(tmp_path / "neo" / part):
        assert code_of(store, NEO) == "not_writable"
        assert code_of(store, NEO, BOSS) is None
    assert code_of(store, NEO) is None


def test_an_entity_whose_place_nobody_knows_keeps_nobody_from_writing_the_others(tmp_path, store):
    locate = store._locate

    def lost(entity):
        if entity == NEO:
            raise ConfigError("leads out of the root", code="outside_root")
        return locate(entity)

    store._locate = lost
    assert code_of(store, NEO, BOSS) is None
    with pytest.raises(ConfigError):
        store.check_writable([NEO])


def test_a_write_that_the_disk_did_not_confirm_is_told_until_the_store_is_opened_anew(store, system):
    system.fails = "fsync"
    with pytest.raises(StoreError):
        add(store, NEO)
    system.fails = None
    assert code_of(store, BOSS, NEO) == "read_only"
    store.close()
    assert code_of(store, BOSS, NEO) is None
    assert add(store, NEO).revision == "2"
