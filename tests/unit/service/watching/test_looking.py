"""What is new of an entity, found by looking at its store."""

from __future__ import annotations

import pytest

from catmem.errors import StoreError
from catmem.service.watching import looking
from catmem.service.watching.looking import Knowledge
from catmem.service.watching.news import News, concerns
from catmem.store.contract import Change, Snapshot
from catmem.store.memory import MemoryStore

ENTITY = "neo/user"


class Outside(MemoryStore):
    """A store whose text others change, and which cannot be read for a while."""

    text = None
    error = None

    def read(self, entity, revision=None):
        if self.error is not None:
            raise self.error
        if self.text is not None and revision is None:
            return Snapshot.of(self.text, None)
        return super().read(entity, revision)


@pytest.fixture
def store():
    return Outside()


@pytest.fixture
def knowledge(store):
    """What is known after a first look."""
    write(store, "The first.")
    found = Knowledge()
    assert list(found.look(store, [ENTITY])) == []
    found.begun = True
    return found


def write(store, text, **said):
    store.commit(ENTITY, said.pop("expected", None), lambda _: text.encode(), Change(**said))


def kinds(knowledge, store, entities=(ENTITY,)):
    return [(news.kind, news.revision) for news in knowledge.look(store, entities)]


def test_what_is_new_is_told_once(knowledge, store):
    assert kinds(knowledge, store) == []
    write(store, "Two.")
    write(store, "Three.")
    assert kinds(knowledge, store) == [("revision", "2"), ("revision", "3")]
    assert kinds(knowledge, store) == []


def test_an_entity_that_comes_later_is_new_as_a_whole(knowledge, store):
    store.commit("boss/user", None, lambda _: b"One.", Change())
    assert kinds(knowledge, store, ["boss/user"]) == [("revision", "1")]


def test_a_branch_is_new_and_leaves_the_head(knowledge, store):
    write(store, "Two.")
    list(knowledge.look(store, [ENTITY]))
    write(store, "Late.", expected="1", on_stale="branch")
    assert kinds(knowledge, store) == [("revision", "2a")]


def test_each_change_from_outside_is_told_once_and_its_end(knowledge, store):
    for text in (b"Outside.", b"Again."):
        store.text = text
        assert kinds(knowledge, store) == [("drift", "1")]
        assert kinds(knowledge, store) == []
    store.text = None
    (news,) = knowledge.look(store, [ENTITY])
    assert (news.kind, news.recorded) == ("drift", True)


def test_a_change_from_outside_that_is_adopted_is_told_as_that(knowledge, store):
    store.text = b"Outside."
    list(knowledge.look(store, [ENTITY]))
    store.text = None
    write(store, "Outside.", op="adopt", agent="external")
    assert kinds(knowledge, store) == [("revision", "2")]


def test_more_than_is_told_one_by_one_is_missed_and_the_newest_told(knowledge, store, monkeypatch):
    monkeypatch.setattr(looking, "MOST", 3)
    for number in range(3):
        write(store, f"Number {number}.")
    assert kinds(knowledge, store) == [("revision", "2"), ("revision", "3"), ("revision", "4")]
    for number in range(4):
        write(store, f"Again {number}.")
    assert kinds(knowledge, store) == [("missed", "0"), ("revision", "8")]


def test_another_history_in_the_place_of_this_one_is_missed(knowledge, store):
    write(store, "Two.")
    list(knowledge.look(store, [ENTITY]))
    other = MemoryStore()
    write(other, "Another.")
    assert kinds(knowledge, other) == [("missed", "0"), ("revision", "1")]


def test_what_happened_during_trouble_is_told_when_it_is_over(knowledge, store):
    store.error = StoreError("no", code="io")
    assert kinds(knowledge, store) == [("trouble", "0")]
    assert kinds(knowledge, store) == []
    store.error = StoreError("no", code="damaged")
    assert kinds(knowledge, store) == [("trouble", "0")]
    store.error = None
    write(store, "Two.")
    assert kinds(knowledge, store) == [("recovered", "0"), ("revision", "2")]


def test_what_could_never_be_read_is_known_from_the_first_time_it_can(store):
    write(store, "The first.")
    store.error = OSError(5, "Input/output error")
    knowledge = Knowledge()
    assert kinds(knowledge, store) == [("trouble", "0")]
    knowledge.begun = True
    store.error = None
    assert kinds(knowledge, store) == [("recovered", "0")]
    write(store, "Two.")
    assert kinds(knowledge, store) == [("revision", "2")]


def test_what_is_just_being_recorded_is_no_change_from_outside(knowledge, store, monkeypatch):
    """Between a look at the history and one at the text, somebody writes: the text is that of no revision that is known."""
    read = store.read

    def read_early(entity):
        monkeypatch.setattr(store, "read", read)
        write(store, "Two.")
        return Snapshot.of(b"Two.", None)

    monkeypatch.setattr(store, "read", read_early)
    assert kinds(knowledge, store) == [("revision", "2")]


def test_a_revision_that_comes_during_the_look_is_told_once(knowledge, store, monkeypatch):
    write(store, "Two.")
    log = store.log

    def log_later(entity):
        write(store, "Meanwhile.")
        monkeypatch.setattr(store, "log", log)
        return log(entity)

    monkeypatch.setattr(store, "log", log_later)
    assert kinds(knowledge, store) == [("revision", "2"), ("revision", "3")]
    assert kinds(knowledge, store) == []


PROFILE_NEWS = News("trouble", None, profile="neo")


@pytest.mark.parametrize(
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
