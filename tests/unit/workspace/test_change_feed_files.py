"""A root in files, in a database or in any other store that is watched: real files, real other programs."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from catmem.digest import bytes_digest
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import write_root
from tests.unit.workspace.watched import watched

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
    with watched(workspace) as told:
        program(WRITES[how], file, OUTSIDE)
        news = told.drift(DIGEST)
    assert (news.revision, news.recorded) == ("2", False)
    assert told.said(news) == {
        "entity_id": "neo/user", "revision": "2", "mem_rev": 2, "recorded": False, "digest": DIGEST,
    }  # fmt: skip


def test_a_file_that_is_removed_is_told_and_told_when_it_is_back(workspace, file):
    add(workspace)
    text = file.read_bytes()
    with watched(workspace) as told:
        file.unlink()
        told.drift(bytes_digest(b""))
        file.write_bytes(text)
        news = told.until(lambda news: news.recorded)[0]
    assert (news.kind, news.revision, news.digest) == ("drift", "2", bytes_digest(text))


def test_a_file_that_no_history_has_is_told_when_it_changes(workspace, file):
    with watched(workspace) as told:
        file.write_text(OUTSIDE, encoding="utf-8")
        assert told.drift(DIGEST).revision == "0"


def test_a_folder_that_is_put_in_the_place_of_another_is_watched_on(workspace, file):
    add(workspace)
    with watched(workspace) as told:
        shutil.copytree(file.parent, file.parent.with_name("copy"), symlinks=True)
        file.parent.rename(file.parent.with_name("old"))
        file.parent.with_name("copy").rename(file.parent)
        file.write_text(OUTSIDE, encoding="utf-8")
        told.until(lambda news: news.digest == DIGEST)
        add(workspace)
        told.until(lambda news: news.revision == "4")


# --- profiles --------------------------------------------------------------------------------------------------------


def test_a_bounded_profile_hears_nothing_of_the_profiles_of_others(workspace):
    (workspace.root / "profiles" / "boss.yaml").write_text("tier: [2\n", encoding="utf-8")
    with watched(workspace) as told:
        assert told.said(told.until(lambda news: news.profile == "boss")[0], "neo") is None


# --- in files and in databases -----------------------------------------------------------------------------------------


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
    with watched(root) as told:
        for number in range(20):
            add(root, f"Number {number}.", "boss")
        assert [told.revision(str(number), "boss/user").revision for number in range(1, 21)]
        add(root)
        told.until(lambda news: news.entity == "neo/user")


def test_a_profile_that_is_no_longer_right_is_told_and_told_when_it_is_right_again(root):
    profile = root.root / "profiles" / "neo.yaml"
    text = profile.read_text(encoding="utf-8")
    with watched(root) as told:
        profile.write_text("tier: [2\n", encoding="utf-8")
        trouble = told.until(lambda news: news.profile == "neo")[0]
        assert (trouble.kind, trouble.entity) == ("trouble", None)
        said = told.said(trouble)
        assert (said["profile"], said["code"], said["path"]) == ("neo", "yaml_syntax", str(profile))
        assert said["line"]
        assert said["hint"]
        assert told.said(trouble, "boss") == {"profile": "neo", "code": "yaml_syntax"}
        add(root, name="boss")
        told.until(lambda news: news.entity == "boss/user")
        profile.write_text(text, encoding="utf-8")
        recovered = told.until(lambda news: news.kind == "recovered")[0]
        assert told.said(recovered) == {"profile": "neo"}
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
    with watched(root) as told:
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
    with watched(root) as told:
        database.rename(tmp_path / "away.db")
        database.write_text("this is no database\n" * 100, encoding="utf-8")
        trouble = told.until(lambda news: news.kind == "trouble")[0]
        assert trouble.entity is None
        (tmp_path / "away.db").rename(database)
        assert told.until(lambda news: news.kind == "recovered")[0].entity is None
        add(root, "Another.")
        told.until(lambda news: news.revision == "2")
