"""A root in a database, or in any other store, that is watched."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import process, write_root
from tests.roots import make_root
from tests.unit.workspace.watched import watched

STORES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]


@pytest.fixture(params=STORES)
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/memory.db"
    from tests.sql import server

    return server.url("watched")


@pytest.fixture
def workspace(url, tmp_path):
    write_root(tmp_path / "root", f"store: {url}\n")
    found = Workspace.open(tmp_path / "root", search=False)
    yield found
    found.store.close()


def add(workspace, text="Pay on Friday.", name="neo", **how):
    return workspace.add(name, text, category="rules", **how)


def directly(url, statement):
    """Run a statement as somebody who knows nothing of catmem."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)) as connection, connection:
            connection.execute(statement)
        return
    from tests.sql import server

    with server.admin(url) as connection:
        connection.execute(statement)


def test_what_is_written_from_the_very_first_on_is_told(workspace):
    with watched(workspace) as told:
        add(workspace)
        told.revision("1")
        add(workspace, "Again.", name="boss")
        told.revision("1", "boss/user")


def test_a_write_of_another_process_is_told(workspace):
    add(workspace)
    with watched(workspace) as told:
        process("add", "-p", "neo", "Another.", "-c", "rules", cwd=workspace.root)
        assert told.said(told.revision("2"))["agent_id"] == "person"


def test_every_revision_is_told_in_its_order(workspace):
    with watched(workspace) as told:
        for number in range(20):
            add(workspace, f"Number {number}.")
        assert [told.revision(str(number)).revision for number in range(1, 21)]


def test_a_change_of_rows_is_told_as_drift_and_then_as_adopted(workspace, url):
    add(workspace)
    with watched(workspace) as told:
        directly(url, "UPDATE user_memories SET content = 'Changed by hand.'")
        news = told.next()
        assert (news.kind, news.entity, news.revision, news.recorded) == ("drift", "neo/user", "1", False)
        add(workspace, "Another.")
        assert told.revision("2").record.op == "adopt"
        told.revision("3")


def test_a_branch_is_told(workspace):
    add(workspace)
    with watched(workspace) as told:
        add(workspace, "Late.", expected="0", on_stale="branch")
        assert told.revision("1a").record.is_branch


def test_what_is_only_read_is_not_told(workspace):
    add(workspace)
    with watched(workspace) as told:
        workspace.prompt("neo")
        assert told.nothing_but(lambda: add(workspace, name="boss")) == []


def test_a_database_that_is_gone_for_a_while_is_told_once_and_what_came_after_it_too(workspace, url, tmp_path):
    if not url.startswith("sqlite"):
        pytest.skip("the server is everybody's: tests/end_to_end/test_live.py has one of its own")
    add(workspace)
    workspace.store.close()
    database = tmp_path / "memory.db"
    with watched(workspace) as told:
        database.rename(tmp_path / "away.db")
        database.write_text("this is no database\n" * 100, encoding="utf-8")
        trouble = told.until(lambda news: news.kind == "trouble")[0]
        assert trouble.entity is None
        (tmp_path / "away.db").rename(database)
        assert told.until(lambda news: news.kind == "recovered")[0].entity is None
        add(workspace, "Another.")
        told.until(lambda news: news.revision == "2")


def test_any_store_is_looked_at(tmp_path):
    workspace = make_root(tmp_path, profiles={"neo": "user_memory_categories: ['*']\n"}, files={"neo/user": "One.\n"})
    with watched(workspace) as told:
        workspace.add("neo", "Two.")
        told.revision("2")


def test_a_profile_that_is_no_longer_right_is_told(workspace):
    with watched(workspace) as told:
        (workspace.root / "profiles" / "neo.yaml").write_text("tier: [2\n", encoding="utf-8")
        trouble = told.until(lambda news: news.profile == "neo")[0]
        assert told.said(trouble)["code"] == "yaml_syntax"
        add(workspace, name="boss")
        told.until(lambda news: news.entity == "boss/user")
