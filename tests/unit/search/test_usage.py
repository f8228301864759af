"""How often entries were used: counted beside the memory, never in it, and never in the way."""

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest

from catmem.ops.memory_tool import memory_tool
from catmem.search.search import EntryUse, count_used, read_usage, usage_key
from catmem.workspace.purging import purge
from catmem.workspace.upkeep import fsck
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.together import together
from tests.unit.workspace.tree import holding

DAY = date(2026, 11, 21)
ENTITY = "neo/user"
BODY = "Vendor is Acme"
PROFILE = "user_memory_categories: [talk, drop]\nmemory_categories: [talk]\nwritable_categories: [talk, drop]\nmay_verify: true\n"


in_each_store = pytest.mark.parametrize("place", ["files", "sqlite:///.catmem/memory.db"], indirect=True)


@pytest.fixture
def place(tmp_path, request):
    put(tmp_path / "catmem.yaml", f"version: 1\nstore: {getattr(request, 'param', 'files')}\n")
    put(tmp_path / "profiles" / "neo.yaml", PROFILE)
    return tmp_path


@pytest.fixture
def workspace(place):
    workspace = Workspace.open(place, search=False)
    for text in (BODY, "Calls are bad"):
        workspace.add("neo", text, category="talk")
    yield workspace
    workspace.store.close()


@pytest.fixture
def kept(place):
    return place / ".catmem" / "usage.json"


def used(workspace, entity=ENTITY):
    """How often each entry was used, by its body."""
    uses = read_usage(workspace, entity)
    document = workspace.view("neo", entity.partition("/")[2]).document
    return {entry.body: uses[usage_key(entry)].times for entry in document.entries if usage_key(entry) in uses}


def search(workspace, query="acme", **arguments):
    answer = memory_tool(workspace, "neo", {"action": "search", "query": query, **arguments})
    assert answer["success"], answer
    return answer


def count(workspace, body=BODY, day=DAY):
    return count_used(workspace, [each for each in listed(workspace) if each.entry.body == body], day)


def listed(workspace):
    return [each for each in workspace.list("neo") if each.entity == ENTITY]


@in_each_store
def test_what_the_tool_shows_counts_as_used(workspace, monkeypatch):
    monkeypatch.setattr("catmem.clock.today", lambda: DAY)
    assert used(workspace) == {}
    search(workspace)
    search(workspace, "acme calls")
    assert used(workspace) == {BODY: 2, "Calls are bad": 1}
    assert {use.last for use in read_usage(workspace, ENTITY).values()} == {DAY}


def test_what_a_person_does_counts_for_nothing(workspace, kept):
    workspace.search("neo", "acme")
    workspace.list("neo")
    workspace.prompt("neo")
    memory_tool(workspace, "neo", {"action": "list"})
    assert not kept.exists()


@in_each_store
def test_new_tags_and_another_category_keep_the_count_and_new_words_do_not(workspace):
    search(workspace)
    workspace.verify("neo", "Acme")
    workspace.move("neo", "Acme", "drop")
    assert used(workspace) == {BODY: 1}
    workspace.replace("neo", "Acme", "Vendor is Bolt")
    assert used(workspace) == {}


@in_each_store
def test_it_holds_no_text_and_is_closed_to_others(workspace, kept):
    search(workspace)
    assert b"Acme" not in kept.read_bytes()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert fsck(workspace).faults == ()


def test_it_holds_the_entries_that_were_shown_last(workspace, monkeypatch):
    monkeypatch.setattr("catmem.search.search._MOST", 2)
    workspace.add("neo", "Tea is green", category="talk")
    for body in (BODY, "Calls are bad", BODY, "Tea is green"):
        count(workspace, body)
    assert used(workspace) == {BODY: 2, "Tea is green": 1}


@together(
    "damage",
    [
        b"", b"{", b"{}3", b"null", b"3", b"\xff", b'{"version": 1, "entities": {}}', b"[3]", b"[[]]", b'[["neo/user", "b2:0"]]',
        b'[["neo/user", "b2:0", "today", 3]]', b'[["neo/user", "b2:0", "2026-01-01", "x"]]', b'[["neo/user", "b2:0", 3, 3]]',
        b'[["neo/user", "b2:0", "2026-01-01", Infinity]]', b"[" * 100_000, b" " * (2 << 20),
    ],
)  # fmt: skip
def test_what_is_damaged_counts_for_nothing_and_is_begun_anew(workspace, kept, damage):
    kept.write_bytes(damage)
    assert read_usage(workspace, ENTITY) == {}
    assert search(workspace)["total"] == 1
    assert used(workspace) == {BODY: 1}


def test_a_link_in_its_place_is_not_followed(workspace, kept, tmp_path):
    other = tmp_path / "other.json"
    other.write_text("[]", encoding="utf-8")
    kept.symlink_to(other)
    assert search(workspace)["total"] == 1
    assert (used(workspace), other.read_text(encoding="utf-8")) == ({BODY: 1}, "[]")


def test_a_root_that_nothing_was_written_to_has_none(place):
    put(place / "catmem.yaml", "version: 1\n")
    put(place / "homes" / "neo" / "USER.md", f"## Talk\n{BODY}\n")
    workspace = Workspace.open(place, search=False)
    assert search(workspace)["total"] == 1
    assert read_usage(workspace, ENTITY) == {}
    assert not (place / ".catmem").exists()
    workspace.store.close()


def test_what_cannot_be_kept_is_no_failure(workspace, kept, monkeypatch):
    monkeypatch.setattr("catmem.search.search._PATIENCE", 0.0)
    folder = os.open(kept.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        assert search(workspace)["total"] == 1
    finally:
        os.close(folder)
    assert used(workspace) == {}


@in_each_store
def test_nothing_is_lost_where_several_count_at_once(workspace):
    entries = listed(workspace)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: count_used(workspace, entries, DAY), range(80))) == {None}
    assert set(used(workspace).values()) == {80}


def test_a_clock_that_went_back_takes_no_day_back(workspace):
    count(workspace)
    count(workspace, day=date(2026, 11, 1))
    assert list(read_usage(workspace, ENTITY).values()) == [EntryUse(DAY, 2)]


@in_each_store
def test_a_purge_forgets_it_and_what_a_stopped_process_left_of_it(workspace, place, kept):
    search(workspace, "acme calls")
    (entry,) = (entry for entry in workspace.view("neo", "user").document.entries if entry.body == BODY)
    kept.with_name(".usage.json-stopped").write_bytes(kept.read_bytes())
    assert purge(workspace, ENTITY, "Acme").left == ()
    assert holding(place, usage_key(entry).encode()) == []
    assert used(workspace) == {}
