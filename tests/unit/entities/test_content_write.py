"""Writes to declared entities: who may, what comes of others' changes, and what each interface of the library shows."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from catmem.errors import (
    ConfigError,
    EditError,
    EnvelopeError,
    RefusedError,
    StaleError,
    UnknownNameError,
)
from catmem.jsonable import jsonable
from catmem.workspace import history
from catmem.workspace.change_feed import all_entities, changes_since
from catmem.workspace.upkeep import fsck
from catmem.workspace.workspace import Workspace
from tests.http_root import Served, served
from tests.refusals import refusal
from tests.unit.entities.conftest import ALPHA, DATABASE, NOTES, file_of


def test_a_write_a_branch_and_a_merge(any_root: Workspace) -> None:
    ws = any_root
    assert ws.content(ALPHA).value is None
    first = ws.put(ALPHA, {"b": 1, "a": [1.5, None]}, expected=0, actor="neo")
    assert (first.revision, first.changed, first.entries) == ("1", True, ())
    assert ws.store.peek(ALPHA) == b'{"a":[1.5,null],"b":1}'
    assert not ws.put(ALPHA, {"a": [1.5, None], "b": 1}, expected=1).changed
    refusal("stale_prev", ws.put, ALPHA, 1, expected=0)
    ws.put(ALPHA, {"b": 2, "a": [1.5, None]}, expected=1, actor="neo")
    beside = ws.put(ALPHA, {"b": 1, "a": [], "c": 0}, expected=1, actor="trinity", on_stale="branch")
    assert (beside.revision, beside.branch) == ("2a", True)
    assert [each.state for each in ws.branches(ALPHA)] == ["merges"] == [each.state for each in ws.branches()]
    tried = ws.merge(ALPHA, dry_run=True)
    joined = ws.merge(ALPHA, actor="trinity")
    assert (joined.revision, joined.merged) == ("3", ("2a",))
    assert tried.digest == joined.digest == ws.store.read(ALPHA).digest
    assert ws.content(ALPHA).value == {"b": 2, "a": [], "c": 0}
    assert ws.content(ALPHA, 1).value == {"b": 1, "a": [1.5, None]}
    assert [(each.revision, each.parents) for each in islice(ws.store.log(ALPHA), 2)] == [
        ("3", ("2", "2a")),
        ("2a", ("1",)),
    ]
    done = history.restore(ws, ALPHA, "1", actor="boss")
    assert (done.revision, ws.content(ALPHA).value) == ("4", {"b": 1, "a": [1.5, None]})
    assert not any(fault.damage for fault in fsck(ws).faults)


def test_what_both_changed_is_a_conflict_for_one_side_or_for_the_writer(any_root: Workspace) -> None:
    ws = any_root
    ws.put(ALPHA, {"a": 1}, expected=0)
    ws.put(ALPHA, {"a": 2}, expected=1)
    ws.put(ALPHA, {"a": 3}, expected=1, on_stale="branch")
    caught = refusal("merge_conflict", ws.merge, ALPHA)
    (conflict,) = caught.conflicts
    assert {name: conflict[name] for name in ("branch", "category", "base", "ours", "theirs")} == {
        "branch": "2a", "category": "/a", "base": "1", "ours": "2", "theirs": "3",
    }  # fmt: skip
    assert [each.conflicts for each in ws.branches(ALPHA)] == [1]
    for how in ("both", lambda _: "ours"):
        assert "--precedence" in str(refusal("bad_operation", ws.merge, ALPHA, precedence=how).hint)
    with pytest.raises(ConfigError, match="there is no agent 'noe'"):
        ws.merge(ALPHA, precedence=["noe"])
    # Of one agent the later change wins, of two that are not ranked none.
    (later,) = ws.merge(ALPHA, precedence=["neo"], dry_run=True).settled
    assert later.taken == "theirs"
    refusal("unknown_revision", ws.put, ALPHA, {"a": 5}, expected=2, merges=["2z"])
    assert ws.put(ALPHA, {"a": 5}, expected=2, merges=["2a"]).revision == "3"
    assert (ws.content(ALPHA).value, ws.branches(ALPHA)) == ({"a": 5}, [])
    ws.put(ALPHA, {"a": 6}, expected=2, on_stale="branch")
    assert ws.merge(ALPHA, precedence="theirs").revision == "4"
    assert ws.content(ALPHA).value == {"a": 6}
    ws.put(ALPHA, {"a": 7}, expected=3, on_stale="branch")
    assert ws.merge(ALPHA, drop=True).drop
    assert ws.content(ALPHA).value == {"a": 6}


def test_of_a_text_no_list_of_agents_says_who_changed_a_line(any_root: Workspace) -> None:
    ws = any_root
    ws.put(NOTES, "one\n", expected=0)
    ws.put(NOTES, "two\n", expected=1, actor="neo")
    ws.put(NOTES, "three\n", expected=1, actor="boss", on_stale="branch")
    caught = refusal("merge_conflict", ws.merge, NOTES)
    assert [(each["ours_by"], each["theirs_by"]) for each in caught.conflicts] == [("neo", "boss")]
    assert "AGENT" not in str(refusal("bad_operation", ws.merge, NOTES, precedence=["boss", "neo"]).hint)
    assert ws.merge(NOTES, precedence="theirs").revision == "3"
    assert ws.content(NOTES).value == "three\n"


def test_a_reading_names_the_revision_that_a_change_of_it_is_made_on(root: Workspace) -> None:
    first = root.content(ALPHA)
    root.put(ALPHA, {"a": 1}, expected=first.revision)
    read = root.content(ALPHA)
    assert (first, read) == ((None, "0"), ({"a": 1}, "1"))
    root.put(ALPHA, {"a": 2}, expected=1)
    refusal("stale_prev", root.put, ALPHA, {**read.value, "b": 1}, expected=read.revision)
    file_of(root).write_bytes(b'{"a":3}')
    changed = root.content(ALPHA)
    assert root.put(ALPHA, {**changed.value, "b": 1}, expected=changed.revision).changed
    assert root.content(ALPHA).value == {"a": 3, "b": 1}
    assert root.content(ALPHA, 1) == ({"a": 1}, "1")


def test_writers_that_read_change_and_write_lose_nothing(root: Workspace) -> None:
    acknowledged: list[str] = []

    def write(name: str) -> None:
        ws = Workspace.open(root.root)
        for number in range(40):
            read = ws.content(ALPHA)
            with suppress(StaleError):
                ws.put(ALPHA, {**(read.value or {}), f"{name}{number}": 1}, expected=read.revision)
                acknowledged.append(f"{name}{number}")
        ws.store.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert acknowledged
    assert set(acknowledged) <= set(root.content(ALPHA).value)


def test_a_retry_gets_the_first_answer_and_other_content_none(any_root: Workspace) -> None:
    ws = any_root
    first = ws.put(ALPHA, {"a": 1}, expected=0, actor="neo", op_id="neo:1#1")
    ws.put(ALPHA, {"a": 2}, expected=1)
    again = ws.put(ALPHA, {"a": 1}, expected=0, actor="neo", op_id="neo:1#1")
    assert (again.repeated, again.revision, again.digest) == (True, first.revision, first.digest)
    refusal("hash_collision", ws.put, ALPHA, {"a": 3}, expected=2, actor="neo", op_id="neo:1#1")
    # The names of writes are those of one entity.
    assert ws.put(NOTES, "a text", expected=0, actor="neo", op_id="neo:1#1").revision == "1"


def test_who_may(root: Workspace) -> None:
    root.put(ALPHA, {"a": 1}, expected=0)
    refusal("forbidden", root.put, ALPHA, {"a": 2}, expected=1, actor="mouse")
    for entity in (ALPHA, "project:none"):
        caught = refusal("unknown_entity", root.put, entity, {"a": 2}, expected=1, actor="switch")
        assert caught.message == f"there is no entity {entity!r}"
        assert caught.hint == "There are no entities."
    assert root.put(ALPHA, {"a": 2}, expected=1, actor="boss").changed
    refusal("forbidden", root.merge, ALPHA, actor="mouse")
    refusal("unknown_entity", root.merge, ALPHA, actor="switch")
    with pytest.raises(UnknownNameError, match="project:alhpa") as near:
        root.content("project:alhpa")
    assert near.value.hint == "Did you mean 'project:alpha'?"


# --- changes of others ---------------------------------------------------------------------------------------------


def test_a_hand_made_change_is_adopted_and_merged_or_refused(root: Workspace) -> None:
    root.put(ALPHA, {"a": 1, "b": 1}, expected=0, actor="neo")
    file_of(root).write_text('{"a": 1, "b": 2}\n')
    assert root.content(ALPHA).value == {"a": 1, "b": 2}
    assert refusal("drift", root.put, ALPHA, {"a": 2, "b": 1}, expected=1, actor="neo").found == "2"
    assert root.submit(root.envelope(ALPHA, {"a": 2, "b": 2}, agent="neo", prev=2)).revision == "3"
    assert root.store.read(ALPHA, "2").data == b'{"a": 1, "b": 2}\n'


@pytest.mark.parametrize(("late", "expected"), [({"a": 2, "b": 1}, {"a": 2, "b": 2}), ({"a": 1, "b": 3}, None)])
def test_on_drift_merge_brings_both_together(make: Callable[..., Workspace], late: Any, expected: Any) -> None:
    ws = make("on_drift: merge\n")
    ws.put(ALPHA, {"a": 1, "b": 1}, expected=0)
    file_of(ws).write_text('{"a": 1, "b": 2}')
    if expected is None:
        refusal("drift", ws.put, ALPHA, late, expected=1)
        expected = {"a": 1, "b": 2}
    else:
        ws.put(ALPHA, late, expected=1)
    assert ws.content(ALPHA).value == expected


def test_what_is_no_json_is_said_kept_and_written_over(root: Workspace) -> None:
    root.put(ALPHA, {"a": 1}, expected=0)
    file_of(root).write_text("{broken")
    refusal("not_json", root.content, ALPHA)
    history.adopt(root, ALPHA)
    root.put(ALPHA, {"a": 2}, expected=2)
    assert (root.content(ALPHA).value, root.store.read(ALPHA, "2").data) == ({"a": 2}, b"{broken")
    root.put(ALPHA, {"a": 3}, expected=2, on_stale="branch")
    root.put(ALPHA, {"a": 4}, expected=3)
    assert [each.state for each in root.branches(ALPHA)] == ["unreadable"]


def test_a_row_of_another_program_is_no_content(make: Callable[..., Workspace]) -> None:
    ws = make(DATABASE)
    ws.put(ALPHA, {"a": 1}, expected=0)
    with sqlite3.connect(ws.root / ".catmem" / "memory.db") as database:
        assert database.execute("SELECT count(*) FROM user_memories").fetchone() == (0,)
        database.execute(
            "INSERT INTO user_memories (entity, position, category, content, tags) VALUES (?, 1, 'talk', 'x', '{}')",
            (ALPHA,),
        )
    database.close()
    assert ws.content(ALPHA).value == {"a": 1}
    assert any("cannot be shown in rows" in fault.message for fault in fsck(ws).faults)
    with pytest.raises(RefusedError):
        ws.put(ALPHA, {"a": 2}, expected=1)
    assert ws.content(ALPHA).value == {"a": 1}


def test_an_envelope_merges_no_branches_of_files(make: Callable[..., Workspace]) -> None:
    root = make("on_stale: branch\n")
    add = [{"action": "add", "content": "one", "category": "talk"}]
    root.submit(root.envelope("neo", add, prev=0))
    root.submit(root.envelope("neo", [{**add[0], "content": "two"}], prev=1))
    root.submit(root.envelope("neo", [{**add[0], "content": "three"}], prev=1, agent="boss"))
    four = [{**add[0], "content": "four"}]
    with pytest.raises(EnvelopeError, match="parents names branches") as caught:
        root.submit(jsonable(root.envelope("neo", four, agent="boss", prev=2)) | {"parents": [2, "2a"]})
    assert caught.value.key == "parents"
    assert [each.revision for each in root.branches("neo")] == ["2a"]


def test_an_envelope_for_an_entity_is_made_for_its_readers_alone(any_root: Workspace) -> None:
    any_root.put(ALPHA, {"a": 1}, expected=0)
    hidden = refusal("unknown_entity", any_root.envelope, ALPHA, {}, agent="switch")
    unknown = refusal("unknown_entity", any_root.envelope, "project:none", {}, agent="switch")
    assert str(hidden).replace(ALPHA, "project:none") == str(unknown)


def test_a_content_names_what_it_is_made_on_and_an_op_id_has_a_name(any_root: Workspace) -> None:
    refusal("bad_expected", any_root.put, ALPHA, {"a": 1}, expected=None)
    with pytest.raises(EditError, match="op_id is empty"):
        any_root.put(ALPHA, {"a": 1}, expected=0, op_id="")
    assert any_root.store.head(ALPHA) is None


# --- what else shows them ------------------------------------------------------------------------------------------


def test_events_are_for_readers(any_root: Workspace) -> None:
    ws = any_root
    ws.put(ALPHA, {"a": 1}, expected=0, actor="neo")
    ws.put(ALPHA, {"a": 2}, expected=0, actor="trinity", on_stale="branch")
    for actor, count in ((None, 2), ("mouse", 2), ("neo", 2), ("boss", 2), ("switch", 0)):
        said = changes_since(ws, dict.fromkeys(set(all_entities(ws, actor)) & {ALPHA}, "0"), actor).changes
        assert [each["revision"] for each in said] == ["1", "1a"][:count], actor
        assert all(each["agent_id"] in {"neo", "trinity"} for each in said)


@pytest.fixture
def office(root: Workspace, tmp_path: Path) -> Iterator[Served]:
    yield from served(root, tmp_path / "tokens" / "tokens.json")


def test_over_http_a_first_text_and_an_etag(root: Workspace, office: Served) -> None:
    """What a person put there has no revision yet; its ETag says what a write is made on."""
    file_of(root).parent.mkdir(parents=True)
    file_of(root).write_text('{"a": 1}')
    neo = office.client("neo")
    asked = {"entity_id": ALPHA}
    read = neo.get("/mem/read", params=asked)
    assert (read.json()["revision"], read.json()["content"], "mem_rev" in read.json()) == (None, {"a": 1}, False)
    write = {**asked, "content": {"a": 2}}
    for status in (200, 412):
        answer = neo.post("/mem/write", json=write, headers={"If-Match": read.headers["etag"]})
        assert answer.status_code == status, answer.text
        write = {**asked, "content": {"a": 3}}
    assert answer.json()["head"] == {"rev": 2, "hash": root.store.read(ALPHA).digest}
    now = neo.get("/mem/read", params=asked)
    assert neo.post("/mem/write", json=write, headers={"If-Match": now.headers["etag"]}).json()["mem_rev"] == 3
    assert neo.post("/mem/write", json=write).status_code == 428
    stale = neo.post("/mem/write", json={**write, "content": 5, "parents": [2]}, headers={"If-Match": '"2"'})
    assert (stale.status_code, stale.json()["head"]["rev"]) == (412, 3)
    contrary = neo.post("/mem/write", json={**write, "parents": [1]}, headers={"If-Match": now.headers["etag"]})
    assert contrary.json()["code"] == "bad_precondition"
