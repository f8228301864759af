"""What real files, other programs and databases make a feed tell that is asked again and again.

What is new of an entity, and who hears it: tests/unit/server/api/test_changes.py.
"""

import sqlite3
import time
from collections import deque
from contextlib import closing

import pytest

from catmem.digest import bytes_digest
from catmem.store.contract import Change, Snapshot
from catmem.workspace.change_feed import all_entities, changes_since
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import write_root
from tests.golden.case import put
from tests.store.memory import InMemoryStore

ENTITY = "neo/user"


class Told:
    """What is new, one after the other. All that happens from when it is made on is found."""

    def __init__(self, workspace):
        self.workspace = workspace
        self._since = dict.fromkeys(all_entities(workspace, None))
        self._news = deque(self.look())

    def look(self):
        self._since, found = changes_since(self.workspace, self._since, None)
        return found

    def next(self):
        ends = time.monotonic() + SECONDS
        while not self._news:
            assert time.monotonic() < ends, "nothing new"
            self._news.extend(self.look())
        return self._news.popleft()

    def until(self, fits):
        """The first news that fits; what came before it."""
        passed = []
        while not fits(news := self.next()):
            passed.append(news)
        return news, passed

    def revision(self, revision, entity="neo/user"):
        """The news of a revision, and of nothing before it."""
        news = self.next()
        assert (news["event"], news["entity_id"], news["revision"]) == ("revision", entity, revision)
        return news

    def drift(self, digest, entity="neo/user"):
        """The news that the text is another one; a reader may have seen parts of a change on the way."""
        news, passed = self.until(lambda news: news["digest"] == digest)
        assert {each["event"] for each in [*passed, news]} == {"drift"}
        assert news["entity_id"] == entity
        return news


SECONDS = 30
"""Far more than anything here takes, on whatever machine."""


@pytest.fixture
def store():
    return InMemoryStore()


@pytest.fixture
def told(store, tmp_path):
    """After the first look at a revision."""
    put(tmp_path / "profiles" / "neo.yaml", "tier: 2\nuser_memory_categories: ['*']\n")
    write(store, "The first.")
    return Told(Workspace.open(tmp_path, search=False, store=store))


def write(store, text):
    store.commit(ENTITY, None, lambda _: text.encode(), Change())


def kinds(told):
    return [(news["event"], news["revision"]) for news in told.look()]


def test_what_is_just_being_recorded_is_no_change_from_outside(told, store, monkeypatch):
    """Between a look at the history and one at the text, somebody writes: the text is that of no revision that is known."""
    read = store.read

    def read_early(entity):
        monkeypatch.setattr(store, "read", read)
        write(store, "Two.")
        return Snapshot.from_bytes(b"Two.", None)

    monkeypatch.setattr(store, "read", read_early)
    assert kinds(told) == [("revision", "2")]


def test_a_revision_that_comes_during_the_look_is_told_once(told, store, monkeypatch):
    write(store, "Two.")
    log = store.log

    def log_later(entity):
        write(store, "Meanwhile.")
        monkeypatch.setattr(store, "log", log)
        return log(entity)

    monkeypatch.setattr(store, "log", log_later)
    assert kinds(told) == [("revision", "2"), ("revision", "3")]
    assert kinds(told) == []


# --- real files, real other programs -------------------------------------------------------------------------------

OUTSIDE = "## Talk\nWritten outside.\n"
DIGEST = bytes_digest(OUTSIDE.encode())


@pytest.fixture
def workspace(tmp_path):
    """A root with a file of neo's."""
    write_root(tmp_path / "root")
    found = Workspace.open(tmp_path / "root", search=False)
    yield found
    found.store.close()


@pytest.fixture
def file(workspace):
    return workspace.path("neo", "user")


def add(workspace, text="Pay on Friday.", name="neo", **how):
    return workspace.add(name, text, category="rules", **how)


def test_a_file_is_told_when_it_is_removed_and_back_and_when_no_history_has_it(workspace, file):
    told = Told(workspace)
    file.write_text(OUTSIDE, encoding="utf-8")
    assert told.drift(DIGEST)["revision"] == "0"
    add(workspace)
    text = file.read_bytes()
    told = Told(workspace)
    file.unlink()
    told.drift(bytes_digest(b""))
    file.write_bytes(text)
    news = told.until(lambda news: news["recorded"])[0]
    assert (news["event"], news["revision"], news["digest"]) == ("drift", "2", bytes_digest(text))


# --- the same in files and in databases -----------------------------------------------------------------------------------------


@pytest.fixture(params=["files", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def url(request, tmp_path):
    if request.param == "postgresql":
        from tests.sql import server

        return server.url("watched")
    return "files" if request.param == "files" else f"sqlite:///{tmp_path}/memory.db"


@pytest.fixture
def root(url, tmp_path):
    write_root(tmp_path / "root", f"store: {url}\n")
    found = Workspace.open(tmp_path / "root", search=False)
    yield found
    found.store.close()


def test_what_is_written_from_the_very_first_on_is_told_in_its_order(root):
    told = Told(root)
    for number in range(20):
        add(root, f"Number {number}.", "boss")
    assert [told.revision(str(number), "boss/user") for number in range(1, 21)]
    add(root)
    told.until(lambda news: news["entity_id"] == "neo/user")


DATABASES = pytest.mark.parametrize(
    "url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)], indirect=True
)


def directly(url, statement):
    """Run a statement as somebody who knows nothing of catmem."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)) as connection, connection:
            connection.execute(statement)
        return
    from tests.sql import server

    with server.admin(url) as connection:
        connection.execute(statement)


@DATABASES
def test_a_change_of_rows_is_told_as_drift_and_then_as_adopted(root, url):
    add(root)
    told = Told(root)
    directly(url, "UPDATE user_memories SET content = 'Changed by hand.'")
    news = told.next()
    assert (news["event"], news["entity_id"], news["revision"], news["recorded"]) == ("drift", "neo/user", "1", False)
    add(root, "Another.")
    assert told.revision("2")["op"] == "adopt"
    told.revision("3")


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_what_came_after_a_database_was_gone_for_a_while_is_told(root, tmp_path):
    add(root)
    root.store.close()
    database = tmp_path / "memory.db"
    told = Told(root)
    database.rename(tmp_path / "away.db")
    database.write_text("this is no database\n" * 100, encoding="utf-8")
    assert {news["event"] for news in told.look()} == {"trouble"}
    (tmp_path / "away.db").rename(database)
    add(root, "Another.")
    told.until(lambda news: news.get("revision") == "2")
