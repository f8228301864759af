"""A watch: what it remembers from look to look, and what real files, other programs and databases make it tell.

What is new of an entity, and who hears it: tests/unit/server/api/test_changes.py.
"""

import shutil
import sqlite3
import subprocess
import sys
import time
from collections import deque
from contextlib import closing

import pytest

from catmem.digest import bytes_digest
from catmem.errors import StoreError
from catmem.store.contract import Change, Snapshot
from catmem.workspace.change_feed import Watch, heard
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import write_root
from tests.golden.case import put
from tests.store.memory import InMemoryStore

ENTITY = "neo/user"


class Outside(InMemoryStore):
    """A store whose text others change, and which cannot be read for a while."""

    text = None
    error = None

    def read(self, entity, revision=None):
        if self.error is not None and entity == ENTITY:
            raise self.error
        if self.text is not None and revision is None:
            return Snapshot.from_bytes(self.text, None)
        return super().read(entity, revision)


@pytest.fixture
def store():
    return Outside()


@pytest.fixture
def in_memory(store, tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", "tier: 2\nuser_memory_categories: ['*']\n")
    return Workspace.open(tmp_path, search=False, store=store)


@pytest.fixture
def watch(store, in_memory):
    """A watch after its first look."""
    write(store, "The first.")
    found = Watch(in_memory)
    assert found.look() == []
    return found


def write(store, text):
    store.commit(ENTITY, None, lambda _: text.encode(), Change())


def kinds(watch):
    return [(news.kind, news.revision) for news in watch.look()]


def test_what_happened_during_trouble_is_told_when_it_is_over(watch, store):
    store.error = StoreError("no", code="io")
    assert kinds(watch) == [("trouble", "0")]
    assert kinds(watch) == []
    store.error = StoreError("no", code="damaged")
    assert kinds(watch) == [("trouble", "0")]
    store.error = None
    write(store, "Two.")
    assert kinds(watch) == [("recovered", "0"), ("revision", "2")]


def test_what_could_never_be_read_is_known_from_the_first_time_it_can(store, in_memory):
    write(store, "The first.")
    store.error = OSError(5, "Input/output error")
    watch = Watch(in_memory)
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


def test_only_what_is_wanted_is_looked_at(store, in_memory):
    watch = Watch(in_memory, wanted=["neo/memory"])
    watch.look()
    write(store, "Two.")
    store.error = StoreError("no", code="io")
    assert kinds(watch) == []


# --- real files, real other programs -------------------------------------------------------------------------------

SECONDS = 30
"""Far more than anything here takes, on whatever machine."""


class Told:
    """What a watch finds, one after the other. All that happens from when it is made on is found."""

    def __init__(self, workspace):
        self.workspace = workspace
        self.watch = Watch(workspace)
        self._news = deque(self.watch.look())

    def next(self):
        ends = time.monotonic() + SECONDS
        while not self._news:
            assert time.monotonic() < ends, "nothing new"
            self._news.extend(self.watch.look())
        return self._news.popleft()

    def until(self, fits):
        """The first news that fits; what came before it."""
        passed = []
        while not fits(news := self.next()):
            passed.append(news)
        return news, passed

    def revision(self, revision, entity="neo/user"):
        """The news of a revision, and of nothing before it."""
        news, passed = self.until(lambda news: news.record is not None)
        assert passed == []
        assert (news.kind, news.entity, news.revision) == ("revision", entity, revision)
        return news

    def drift(self, digest, entity="neo/user"):
        """The news that the text is another one; a reader may have seen parts of a change on the way."""
        news, passed = self.until(lambda news: news.digest == digest)
        assert {each.kind for each in [*passed, news]} == {"drift"}
        assert news.entity == entity
        return news

    def said(self, news, actor=None):
        """What is told of some news; ``None`` for nothing."""
        return next((said for _, said in heard(self.workspace, [news], actor)), None)


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


def program(text, *arguments):
    subprocess.run([sys.executable, "-c", text, *map(str, arguments)], check=True, timeout=60)


WRITES = {
    "in place": "import sys; open(sys.argv[1], 'w').write(sys.argv[2])",
    "renamed over": "import os, sys; open(sys.argv[1] + '~', 'w').write(sys.argv[2]); os.rename(sys.argv[1] + '~', sys.argv[1])",
    "as vim does": "import os, sys; os.rename(sys.argv[1], sys.argv[1] + '~'); open(sys.argv[1], 'w').write(sys.argv[2])",
}


@pytest.mark.parametrize("how", WRITES)
def test_a_change_by_another_program_is_told(workspace, file, how):
    add(workspace)
    told = Told(workspace)
    program(WRITES[how], file, OUTSIDE)
    news = told.drift(DIGEST)
    assert (news.revision, news.recorded) == ("2", False)
    assert told.said(news) == {
        "entity_id": "neo/user", "revision": "2", "mem_rev": 2, "recorded": False, "digest": DIGEST,
    }  # fmt: skip


def test_a_file_is_told_when_it_is_removed_and_back_and_when_no_history_has_it(workspace, file):
    told = Told(workspace)
    file.write_text(OUTSIDE, encoding="utf-8")
    assert told.drift(DIGEST).revision == "0"
    add(workspace)
    text = file.read_bytes()
    told = Told(workspace)
    file.unlink()
    told.drift(bytes_digest(b""))
    file.write_bytes(text)
    news = told.until(lambda news: news.recorded)[0]
    assert (news.kind, news.revision, news.digest) == ("drift", "2", bytes_digest(text))


def test_a_folder_that_is_put_in_the_place_of_another_is_watched_on(workspace, file):
    add(workspace)
    told = Told(workspace)
    shutil.copytree(file.parent, file.parent.with_name("copy"), symlinks=True)
    file.parent.rename(file.parent.with_name("old"))
    file.parent.with_name("copy").rename(file.parent)
    file.write_text(OUTSIDE, encoding="utf-8")
    told.until(lambda news: news.digest == DIGEST)
    add(workspace)
    told.until(lambda news: news.revision == "4")


def test_a_profile_that_is_no_longer_right_is_trouble_of_its_files(workspace):
    profile = workspace.root / "profiles" / "neo.yaml"
    text = profile.read_text(encoding="utf-8")
    told = Told(workspace)
    profile.write_text("tier: [2\n", encoding="utf-8")
    for entity in ("neo/user", "neo/memory"):
        trouble = told.next()
        assert (trouble.kind, trouble.entity) == ("trouble", entity)
        said = told.said(trouble)
        assert (said["code"], said["path"]) == ("yaml_syntax", str(profile))
        assert said["line"]
        assert said["hint"]
        assert told.said(trouble, "boss") == {"entity_id": entity, "code": "yaml_syntax"}
    add(workspace, name="boss")
    told.until(lambda news: news.entity == "boss/user")
    profile.write_text(text, encoding="utf-8")
    assert told.said(told.until(lambda news: news.kind == "recovered")[0]) == {"entity_id": "neo/user"}
    add(workspace)
    told.until(lambda news: news.entity == "neo/user")


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
    assert [told.revision(str(number), "boss/user").revision for number in range(1, 21)]
    add(root)
    told.until(lambda news: news.entity == "neo/user")


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
    assert (news.kind, news.entity, news.revision, news.recorded) == ("drift", "neo/user", "1", False)
    add(root, "Another.")
    assert told.revision("2").record.op == "adopt"
    told.revision("3")


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_database_that_is_gone_for_a_while_is_told_once_and_what_came_after_it_too(root, tmp_path):
    # The server is everybody's: tests/end_to_end/test_live.py has one of its own.
    add(root)
    root.store.close()
    database = tmp_path / "memory.db"
    told = Told(root)
    database.rename(tmp_path / "away.db")
    database.write_text("this is no database\n" * 100, encoding="utf-8")
    told.until(lambda news: news.kind == "trouble")
    assert told.watch.look() == []
    (tmp_path / "away.db").rename(database)
    told.until(lambda news: news.kind == "recovered")
    add(root, "Another.")
    told.until(lambda news: news.revision == "2")
