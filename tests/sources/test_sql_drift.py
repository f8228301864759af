"""Drift detection for docker-agent's SQLite memory: a client of the database is noticed before a write goes over it.

The story: an agent keeps its memories in a table. Between two of its calls another program changes rows. The agent's
next write compares the generation that it knows with the one that it finds, exports all rows, and is refused.
"""

import asyncio
import json
import logging
import re
import sqlite3
from contextlib import closing
from datetime import datetime

import pytest

FOUR = ["Drinks tea.", "Works in Lyon.", "Prefers SQL.", "Answers briefly."]
ENTITY = "orchestrator/user"


@pytest.fixture
def agent(made):
    """An agent whose four writes made generation 4."""
    made.configure("version: 1\n", "version: 1\nstore: sqlite:///memory.db\n")
    for text in FOUR:
        assert made.tool("orchestrator", action="add", content=text, category="projects")["success"]
    assert generations(made) == (4, 4)
    return made


def sql(root, *statements):
    with closing(sqlite3.connect(root.folder / "memory.db")) as database, database:
        return [database.execute(each).fetchall() for each in statements][-1]


def generations(root):
    (said,) = (each for each in root.data("store", "info")["entities"] if each["entity"] == ENTITY)
    return said["generation_observed"], said["generation_actual"]


def snapshots(root):
    return sorted(root.folder.glob("memory.bak.*.json"))


def rows(root):
    """What a client may change, of all entities."""
    return sql(root, "SELECT id, entity, category, tier, content, tags, created_at FROM user_memories ORDER BY id")


def texts(root):
    return {each[4] for each in rows(root)}


INSERT = "INSERT INTO user_memories (entity, category, content) VALUES ('orchestrator/user', 'projects', 'By SQL.')"
UPDATE = "UPDATE user_memories SET content = 'Drinks coffee.' WHERE content = 'Drinks tea.'"
DELETE = "DELETE FROM user_memories WHERE content = 'Works in Lyon.'"
REPLACE = (
    "REPLACE INTO user_memories (id, entity, category, content) VALUES (1, 'orchestrator/user', 'projects', 'Tea?')"
)
EMPTY = "DELETE FROM user_memories"
TIER = "UPDATE user_memories SET tier = 3 WHERE content = 'Drinks tea.'"
ADD = {"action": "add", "content": "A fifth.", "category": "projects"}
WRITES = {
    "add": ADD,
    "replace": {"action": "replace", "old_text": "Prefers SQL", "content": "Prefers SQLite."},
    "remove": {"action": "remove", "old_text": "Answers briefly"},
}
KINDS = {
    "insert": INSERT,
    "update": UPDATE,
    "delete": DELETE,
    "replace": REPLACE,
    "replace by a row of another": REPLACE.replace(ENTITY, "scout/memory"),
    "give to another": "UPDATE user_memories SET entity = 'scout/memory' WHERE id = 1",
    "another id": "UPDATE OR REPLACE user_memories SET id = 1 WHERE id = 2",
    "category": "UPDATE user_memories SET category = 'tea' WHERE id = 1",
    "tags": """UPDATE user_memories SET tags = '{"domain": "tea"}' WHERE id = 1""",
}


# --- the answer ------------------------------------------------------------------------------------------------------


def test_generation_4_found_7_and_the_snapshot(agent, caplog):
    sql(agent, INSERT, UPDATE, DELETE)
    with caplog.at_level(logging.WARNING):
        answer = agent.tool("orchestrator", **ADD)
    (snapshot,) = snapshots(agent)
    assert answer["success"] is False
    assert f"expected generation 4, found 7, snapshot at {snapshot.name}" in answer["error"]
    assert (answer["generation_observed"], answer["generation_actual"]) == (4, 7)
    assert answer["drift_backup"] == snapshot.name
    assert answer["remediation"].startswith("Nothing was written")
    assert texts(agent) == {"Drinks coffee.", "Prefers SQL.", "Answers briefly.", "By SQL."}
    warned = [
        each.name for each in caplog.records if each.levelname == "WARNING" and str(snapshot) in each.getMessage()
    ]
    assert warned == ["catmem.plugins.sql"]


def test_the_snapshot_holds_all_rows_as_they_were(agent):
    sql(
        agent,
        "INSERT INTO user_memories (entity, category, content) VALUES ('scout/memory', 'x', 'Of another. ')",
        INSERT,
    )
    before = rows(agent)
    agent.tool("orchestrator", **ADD)
    (snapshot,) = snapshots(agent)
    said = json.loads(snapshot.read_text(encoding="utf-8"))
    assert {"timestamp", "generation_observed", "generation_actual", "entries"} <= set(said)
    assert (said["generation_observed"], said["generation_actual"]) == (4, 5)
    shown = [{**each, "tags": json.dumps(each["tags"])} for each in said["entries"]]
    columns = ("id", "entity", "category", "tier", "content", "tags", "created_at")
    assert sorted(tuple(each[name] for name in columns) for each in shown) == before
    assert [each["content"] for each in shown] == [*FOUR, "By SQL.", "Of another. "]
    stamp = re.fullmatch(r"memory\.bak\.(\d+)\.json", snapshot.name)
    assert stamp is not None
    assert abs(datetime.fromisoformat(said["timestamp"]).timestamp() - int(stamp[1])) <= 1


@pytest.mark.parametrize(
    ("change", "write"),
    [*((KINDS[kind], WRITES["add"]) for kind in KINDS), (UPDATE, WRITES["replace"]), (DELETE, WRITES["remove"])],
    ids=[*KINDS, "a replacement", "a removal"],
)
def test_every_kind_of_change_is_drift(agent, change, write):
    sql(agent, change)
    before = rows(agent)
    observed, actual = generations(agent)
    assert observed == 4
    assert actual > 4
    answer = agent.tool("orchestrator", **write)
    assert (answer["success"], answer["reason"]) == (False, "drift")
    assert (answer["generation_observed"], answer["generation_actual"]) == (observed, actual)
    assert {each[4] for each in rows(agent)} == {each[4] for each in before}
    assert len(snapshots(agent)) == 1


def test_a_tier_that_a_client_changed_is_drift_and_the_next_write_goes_through(agent):
    sql(agent, TIER)
    answer = agent.tool("orchestrator", **ADD)
    (snapshot,) = snapshots(agent)
    assert (answer["success"], answer["reason"]) == (False, "drift")
    assert f"expected generation 4, found 5, snapshot at {snapshot.name}" in answer["error"]
    assert [each["tier"] for each in json.loads(snapshot.read_text(encoding="utf-8"))["entries"]] == [3, 1, 1, 1]
    assert texts(agent) == set(FOUR)
    assert "set back: tier" in agent.run("log", ENTITY).stdout
    assert agent.tool("orchestrator", **ADD)["success"]
    assert {each[3] for each in rows(agent)} == {1}


def test_a_person_who_writes_is_told_of_a_changed_tier(agent, caplog):
    sql(agent, TIER)
    agent.run("replace", "Lyon", "Works in Paris.", "-p", "orchestrator")
    (snapshot,) = snapshots(agent)
    assert f"(tier is set back): expected generation 4, found 5, snapshot at {snapshot}" in caplog.text
    assert {each[3] for each in rows(agent)} == {1}


@pytest.mark.parametrize("place", [{}, {"target": "user"}], ids=["any file", "its file"])
@pytest.mark.parametrize("change", [{"action": "replace", "content": "By an agent."}, {"action": "remove"}])
@pytest.mark.parametrize(
    ("told", "old_text"), [(DELETE, "Works in Lyon."), (UPDATE, "Drinks tea."), (EMPTY, "Prefers SQL.")]
)
def test_a_row_that_a_client_deleted_or_rewrote_is_not_changed(agent, told, old_text, change, place):
    sql(agent, told)
    found = texts(agent)
    call = {**change, "old_text": old_text, **place}
    answer = agent.tool("orchestrator", **call)
    (snapshot,) = snapshots(agent)
    observed, actual = answer["generation_observed"], answer["generation_actual"]
    assert (answer["success"], answer["reason"]) == (False, "drift")
    assert f"expected generation {observed}, found {actual}, snapshot at {snapshot.name}" in answer["error"]
    assert (observed, answer["drift_backup"]) == (4, snapshot.name)
    assert {each["content"] for each in json.loads(snapshot.read_text(encoding="utf-8"))["entries"]} == found
    assert agent.tool("orchestrator", **call)["reason"] == "no_match"
    assert texts(agent) == found


def test_a_row_that_a_client_rewrote_is_changed_once_it_was_shown(agent):
    sql(agent, UPDATE)
    call = {"action": "replace", "old_text": "Drinks", "content": "Drinks water."}
    assert agent.tool("orchestrator", **call)["reason"] == "drift"
    refused = agent.tool("orchestrator", **call)
    assert (refused["reason"], refused["entry"]["text"].partition("] ")[2]) == ("drift", "Drinks coffee.")
    assert agent.tool("orchestrator", **call, expected=refused["found"])["success"]
    assert "Drinks water." in texts(agent)


@pytest.mark.parametrize("change", [INSERT, DELETE, UPDATE, TIER, EMPTY], ids=["row", "gone", "text", "tier", "all"])
def test_an_addition_waits_for_a_look_at_every_kind_of_change(agent, change):
    sql(agent, change)
    assert agent.tool("orchestrator", **ADD)["reason"] == "drift"
    assert "A fifth." not in texts(agent)
    assert agent.tool("orchestrator", **ADD)["success"]


@pytest.mark.parametrize("verb", [["replace", "Lyon", "Works in Paris."], ["remove", "Lyon"]])
def test_a_person_who_means_a_row_that_is_gone_gets_the_generations_too(agent, verb):
    sql(agent, DELETE)
    said = agent.data(*verb, "-p", "orchestrator", status=3)
    (snapshot,) = snapshots(agent)
    assert (said["code"], said["drift_backup"]) == ("drift", str(snapshot))
    assert f"expected generation 4, found 5, snapshot at {snapshot}" in said["message"]
    assert agent.data(*verb, "-p", "orchestrator", status=2)["code"] == "no_match"


# --- afterwards ------------------------------------------------------------------------------------------------------


def test_after_a_look_the_next_write_goes_through_and_the_row_of_the_client_stays(agent):
    sql(agent, INSERT)
    agent.tool("orchestrator", **ADD)
    assert "By SQL." in {each["body"] for each in agent.tool("orchestrator", action="list")["entries"]}
    assert agent.tool("orchestrator", **ADD)["success"]
    assert len(set(generations(agent))) == 1
    assert texts(agent) == {*FOUR, "By SQL.", "A fifth."}
    assert len(snapshots(agent)) == 1


def test_no_false_alarm(agent):
    for text in ("One.", "Two.", "Three."):
        agent.run("add", text, "-p", "orchestrator", "-c", "projects")
    sql(agent, "UPDATE user_memories SET content = 'x' WHERE id = 99")
    assert generations(agent) == (7, 7)
    assert snapshots(agent) == []


def test_a_person_who_touches_another_entry_goes_on_and_is_warned(agent):
    sql(agent, UPDATE)
    done = agent.run("replace", "Lyon", "Works in Paris.", "-p", "orchestrator")
    assert "another program changed the file before" in done.stderr
    assert {"Drinks coffee.", "Works in Paris."} < texts(agent)
    assert len(snapshots(agent)) == 1


@pytest.mark.parametrize(
    ("change", "content"),
    [
        (INSERT, ADD),
        (TIER, ADD),
        (DELETE, {"action": "remove", "old_text": "Works in Lyon."}),
        (UPDATE, {"action": "replace", "old_text": "Drinks tea.", "content": "Over HTTP."}),
    ],
    ids=["insert", "tier", "delete", "update"],
)
def test_over_http_an_agent_gets_the_generations_and_no_path(agent, change, content):
    from catmem.workspace.workspace import Workspace
    from tests.http_root import served

    agent.configure("version: 1\n", "version: 1\nagents: {planner: orchestrator}\n")
    sql(agent, change)
    found = texts(agent)
    (http,) = served(Workspace.open(agent.folder, search=False), agent.folder / "tokens" / "tokens.json")
    write = {"entity_id": ENTITY, "content": [content], "prev_rev": "4"}
    answer = http.client("planner").post("/mem/write", json=write)
    said = answer.json()
    assert (answer.status_code, said["code"]) == (409, "drift")
    assert (said["generation_observed"], said["generation_actual"]) == (4, 5)
    assert str(agent.folder) not in answer.text
    assert (texts(agent), len(snapshots(agent))) == (found, 1)


def test_over_mcp_an_agent_gets_the_generations_and_the_snapshot(agent):
    from mcp import Client

    from catmem.mcp.server import make_server
    from catmem.workspace.workspace import Workspace

    async def asked():
        async with Client(make_server(Workspace.open(agent.folder, search=False), "orchestrator")) as client:
            sql(agent, DELETE)
            return (await client.call_tool("memory_remove", {"old_text": "Works in Lyon."})).structured_content

    said = asyncio.run(asked())
    (snapshot,) = snapshots(agent)
    assert (said["success"], said["reason"], said["drift_backup"]) == (False, "drift", snapshot.name)
    assert (said["generation_observed"], said["generation_actual"]) == (4, 5)


# --- on demand -------------------------------------------------------------------------------------------------------


def test_the_snapshot_of_a_drift_can_be_brought_back(agent):
    sql(agent, INSERT)
    agent.tool("orchestrator", **ADD)
    (snapshot,) = snapshots(agent)
    sql(agent, "DELETE FROM user_memories")
    agent.run("import", "--snapshot", snapshot)
    assert texts(agent) == {*FOUR, "By SQL."}
