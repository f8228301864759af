"""A watch: what it remembers from look to look. What is new of an entity: tests/unit/server/api/test_changes.py."""

import pytest

from catmem.errors import StoreError
from catmem.store.contract import Change, Snapshot
from catmem.workspace.change_feed import News, Watch, concerns
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.store.memory import InMemoryStore
from tests.together import together

ENTITY = "neo/user"


class Outside(InMemoryStore):
    """A store whose text others change, and which cannot be read for a while."""

    text = None
    error = None
    failure = None

    def marks(self, entities):
        if self.failure is not None:
            raise self.failure
        return dict.fromkeys((ENTITY, *self.entities()), object())

    def read(self, entity, revision=None):
        if self.error is not None:
            raise self.error
        if self.text is not None and revision is None:
            return Snapshot.from_bytes(self.text, None)
        return super().read(entity, revision)


@pytest.fixture
def store():
    return Outside()


@pytest.fixture
def workspace(store, tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", "tier: 2\nuser_memory_categories: ['*']\n")
    return Workspace.open(tmp_path, search=False, store=store)


@pytest.fixture
def watch(store, workspace):
    """A watch after its first look."""
    write(store, "The first.")
    found = Watch(workspace)
    assert found.look() == []
    return found


def write(store, text, **said):
    store.commit(ENTITY, said.pop("expected", None), lambda _: text.encode(), Change(**said))


def kinds(watch):
    return [(news.kind, news.revision) for news in watch.look()]


def test_an_entity_that_comes_later_is_new_as_a_whole(watch, store):
    store.commit("boss/user", None, lambda _: b"One.", Change())
    assert kinds(watch) == [("revision", "1")]


def test_what_happened_during_trouble_is_told_when_it_is_over(watch, store):
    store.error = StoreError("no", code="io")
    assert kinds(watch) == [("trouble", "0")]
    assert kinds(watch) == []
    store.error = StoreError("no", code="damaged")
    assert kinds(watch) == [("trouble", "0")]
    store.error = None
    write(store, "Two.")
    assert kinds(watch) == [("recovered", "0"), ("revision", "2")]


def test_what_could_never_be_read_is_known_from_the_first_time_it_can(store, workspace):
    store.commit(ENTITY, None, lambda _: b"The first.", Change())
    store.error = OSError(5, "Input/output error")
    watch = Watch(workspace)
    assert kinds(watch) == [("trouble", "0")]
    store.error = None
    assert kinds(watch) == [("recovered", "0")]
    write(store, "Two.")
    assert kinds(watch) == [("revision", "2")]


def test_what_is_just_being_recorded_is_no_change_from_outside(watch, store, monkeypatch):
    """Between a look at the history and one at the text, somebody writes: the text is that of no revision that is known."""
    read = store.read

    def read_early(entity):
        monkeypatch.setattr(store, "read", read)
        write(store, "Two.")
        return Snapshot.from_bytes(b"Two.", None)

    monkeypatch.setattr(store, "read", read_early)
    assert kinds(watch) == [("revision", "2")]


def test_a_revision_that_comes_during_the_look_is_told_once(watch, store, monkeypatch):
    write(store, "Two.")
    log = store.log

    def log_later(entity):
        write(store, "Meanwhile.")
        monkeypatch.setattr(store, "log", log)
        return log(entity)

    monkeypatch.setattr(store, "log", log_later)
    assert kinds(watch) == [("revision", "2"), ("revision", "3")]
    assert kinds(watch) == []


def test_a_store_that_fails_is_told_once_and_when_it_is_back_with_what_came_meanwhile(watch, store):
    store.failure = StoreError("no", code="io")
    (news,) = watch.look()
    assert (news.kind, news.entity, news.error) == ("trouble", None, store.failure)
    assert watch.look() == []
    store.failure = None
    write(store, "Two.")
    assert kinds(watch) == [("recovered", "0"), ("revision", "2")]


PROFILE_NEWS = News("trouble", None, profile="neo")


@together(
    ("news", "entities", "concerned"),
    [
        (PROFILE_NEWS, ["neo/memory"], True),
        (PROFILE_NEWS, ["boss/user"], False),
        (PROFILE_NEWS, [], True),
        (News("trouble", "neo/user"), ["neo/memory"], False),
        (News("trouble", "neo/user"), ["boss/user", "neo/user"], True),
        (News("trouble", None), ["boss/user"], True),
    ],
)
def test_news_of_a_profile_concern_whoever_wants_one_of_its_files(news, entities, concerned):
    assert concerns(news, entities) is concerned
