"""How often entries were used: counted beside the file, never in it, and never in the way."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest

from catmem.service.purging.purge import purge
from catmem.service.searching.usage import Use, count_used, read_usage, usage_key, usage_of
from catmem.service.tool.tool import memory_tool
from catmem.service.upkeep import fsck
from catmem.service.workspace import Workspace
from tests.golden.case import put
from tests.roots import make_root
from tests.unit.service.tree import holding

DAY = date(2026, 11, 21)
ENTITY = "neo/user"
BODY = "Vendor is Acme"
PROFILE = "user_memory_categories: [talk, drop]\nmemory_categories: [talk]\nwritable_categories: [talk, drop]\nmay_verify: true\n"


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
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
def sidecar(place):
    return place / "homes" / "neo" / ".catmem"


def used(workspace, entity=ENTITY):
    """How often each entry was used, by its body."""
    target = entity.partition("/")[2]
    uses = usage_of(workspace, entity)
    document = workspace.view("neo", target).document
    return {entry.body: uses[usage_key(entry)].times for entry in document.entries if usage_key(entry) in uses}


def search(workspace, query="acme", **arguments):
    answer = memory_tool(workspace, "neo", {"action": "search", "query": query, **arguments})
    assert answer["success"], answer
    return answer


def count(workspace, body=BODY, day=DAY):
    document = workspace.view("neo", "user").document
    return count_used(workspace, ENTITY, [entry for entry in document.entries if entry.body == body], document, day)


def test_what_the_tool_shows_counts_as_used(workspace, monkeypatch):
    monkeypatch.setattr("catmem.service.tool.tool.today", lambda: DAY)
    assert used(workspace) == {}
    search(workspace)
    search(workspace, "acme calls")
    assert used(workspace) == {BODY: 2, "Calls are bad": 1}
    assert {use.last for use in usage_of(workspace, ENTITY).values()} == {DAY}


def test_what_a_person_does_counts_for_nothing(workspace):
    workspace.search("neo", "acme")
    workspace.list("neo")
    workspace.prompt("neo")
    memory_tool(workspace, "neo", {"action": "list"})
    assert used(workspace) == {}


def test_the_file_is_left_alone(workspace, place):
    file = place / "homes" / "neo" / "USER.md"
    before = file.read_bytes(), file.stat().st_mtime_ns
    search(workspace)
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


def test_new_tags_and_another_category_keep_the_count_and_new_words_do_not(workspace):
    search(workspace)
    workspace.verify("neo", "Acme")
    workspace.move("neo", "Acme", "drop")
    assert used(workspace) == {BODY: 1}
    workspace.replace("neo", "Acme", "Vendor is Bolt")
    assert used(workspace) == {}


def test_what_is_gone_is_dropped_when_another_is_counted(workspace):
    search(workspace)
    workspace.remove("neo", "Acme")
    search(workspace, "calls")
    assert len(usage_of(workspace, ENTITY)) == 1


def test_the_two_files_are_counted_apart(workspace):
    workspace.add("neo", BODY, target="memory", category="talk")
    search(workspace, target="memory")
    assert (used(workspace), used(workspace, "neo/memory")) == ({}, {BODY: 1})
    search(workspace)
    assert (used(workspace), used(workspace, "neo/memory")) == ({BODY: 1}, {BODY: 2})


def test_no_text_is_in_the_sidecar_for_it(workspace, sidecar):
    search(workspace)
    assert b"Acme" not in (sidecar / "usage.json").read_bytes()
    assert (sidecar / "usage.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"{", b"[]", b"null", b"\xff", b'{"version": 2, "entities": {}}', b'{"version": 1}', b'{"version": 1, "entities": []}',
        b'{"version": 1, "entities": {"user": []}}', b'{"version": 1, "entities": {"user": {"b2:0": 3}}}',
        b'{"version": 1, "entities": {"user": {"b2:0": {"last": "today", "times": 3}}}}',
        b'{"version": 1, "entities": {"user": {"b2:0": {"last": "2026-01-01", "times": true}}}}',
        b'{"version": 1, "entities": {"user": {"b2:0": {"last": "2026-01-01", "times": -1}}}}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_damaged_is_counted_anew_with_a_note(workspace, sidecar, damage):
    (sidecar / "usage.json").write_bytes(damage)
    assert read_usage(workspace, ENTITY) == ({}, "the usage of neo/user was damaged, and is counted anew")
    assert search(workspace)["total"] == 1
    assert used(workspace) == {BODY: 1}
    assert read_usage(workspace, ENTITY).note is None


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_what_is_no_file_harms_nothing(workspace, sidecar, tmp_path, kind):
    path, other = sidecar / "usage.json", tmp_path / "other.json"
    other.write_text("{}", encoding="utf-8")
    {"link": lambda: path.symlink_to(other), "folder": path.mkdir, "fifo": lambda: os.mkfifo(path)}[kind]()
    assert search(workspace)["total"] == 1
    assert read_usage(workspace, ENTITY).note is None or used(workspace) == {}
    assert other.read_text(encoding="utf-8") == "{}"


def test_where_the_store_has_kept_nothing_there_is_no_usage(place):
    put(place / "homes" / "neo" / "USER.md", f"## Talk\n{BODY}\n")
    workspace = Workspace.open(place, search=False)
    assert search(workspace)["total"] == 1
    assert used(workspace) == {}
    assert [path.name for path in (place / "homes" / "neo").iterdir()] == ["USER.md"]
    workspace.store.close()


def test_a_root_whose_files_are_elsewhere_has_no_usage(tmp_path):
    workspace = make_root(tmp_path, profiles={"neo": PROFILE}, files={ENTITY: f"## Talk\n{BODY}\n"})
    assert search(workspace)["total"] == 1
    assert used(workspace) == {}


def test_a_folder_that_cannot_be_written_gives_a_note_and_no_failure(workspace, monkeypatch):
    # Root may write everywhere, so the system's refusal is played.
    def refuse(*_arguments, **_choices):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("catmem.service.searching.usage.os.rename", refuse)
    assert count(workspace) == "the usage of neo/user cannot be kept: Permission denied"
    assert search(workspace)["total"] == 1


def test_a_lock_that_somebody_holds_gives_a_note(workspace, sidecar, monkeypatch):
    import fcntl

    monkeypatch.setattr("catmem.service.searching.usage._TRIES", 2)
    folder = os.open(sidecar, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        assert count(workspace).startswith("the usage of neo/user cannot be kept: ")
    finally:
        os.close(folder)
    assert count(workspace) is None


def test_nothing_is_lost_where_several_count_at_once(place, workspace):
    document = workspace.view("neo", "user").document

    def counting(_):
        return count_used(workspace, ENTITY, document.entries, document, DAY)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(counting, range(80))) == {None}
    assert set(used(workspace).values()) == {80}


def test_what_a_stopped_process_left_is_in_nobody_s_way(workspace, sidecar):
    (sidecar / "usage.json.new").write_bytes(b"half")
    assert count(workspace) is None
    assert used(workspace) == {BODY: 1}


def test_a_clock_that_went_back_takes_no_day_back(workspace):
    count(workspace)
    count(workspace, day=date(2026, 11, 1))
    assert usage_of(workspace, ENTITY) == {next(iter(usage_of(workspace, ENTITY))): Use(DAY, 2)}


def test_fsck_and_writes_do_not_mind_it(workspace):
    search(workspace)
    assert fsck(workspace).faults == ()
    workspace.add("neo", "one more", category="talk")
    assert used(workspace) == {BODY: 1}


def test_a_purge_forgets_it(workspace, place, sidecar):
    search(workspace, "acme calls")
    (entry,) = (entry for entry in workspace.view("neo", "user").document.entries if entry.body == BODY)
    report = purge(workspace, ENTITY, "Acme")
    assert report.left == ()
    assert holding(place, usage_key(entry).encode()) == []
    assert used(workspace) == {"Calls are bad": 1}
    assert json.loads((sidecar / "usage.json").read_text(encoding="utf-8"))["version"] == 1
