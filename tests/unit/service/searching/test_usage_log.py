"""What searches add to ``usage.log``: one line each, and with ``usage.json`` everything that was counted."""

from __future__ import annotations

import json
import os
import resource
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest

from catmem.service.purging.purge import purge
from catmem.service.searching.usage import Use, count_used, drop_gone, read_usage, usage_key, usage_of
from catmem.service.upkeep import fsck
from catmem.service.workspace import Workspace
from tests.golden.case import put
from tests.unit.service.tree import holding

DAY = date(2026, 11, 21)
ENTITY = "neo/user"
ACME, CALLS = "Vendor is Acme", "Calls are bad"


@pytest.fixture
def workspace(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(
        tmp_path / "profiles" / "neo.yaml",
        "user_memory_categories: ['*']\nmemory_categories: ['*']\nwritable_categories: ['*']\n",
    )
    workspace = Workspace.open(tmp_path, search=False)
    for target in ("user", "memory"):
        for text in (ACME, CALLS):
            workspace.add("neo", text, category="talk", target=target)
    yield workspace
    workspace.store.close()


@pytest.fixture
def kept(tmp_path):
    return tmp_path / "homes" / "neo" / ".catmem" / "usage.json"


@pytest.fixture
def log(kept):
    return kept.with_name("usage.log")


def count(workspace, *bodies, target="user", day=DAY):
    document = workspace.view("neo", target).document
    shown = [entry for entry in document.entries if entry.body in (bodies or (ACME,))]
    return count_used(workspace, f"neo/{target}", shown, document, day)


def times(workspace, target="user"):
    """How often each entry that is still there was used, by its body."""
    uses = usage_of(workspace, f"neo/{target}")
    entries = workspace.view("neo", target).document.entries
    return {entry.body: uses[usage_key(entry)].times for entry in entries if usage_key(entry) in uses}


def test_all_but_the_first_count_add_one_line_and_leave_the_rest_alone(workspace, kept, log):
    count(workspace)
    before, started = kept.stat(), log.read_bytes()
    for number in range(1, 4):
        assert count(workspace, ACME, CALLS) is None
        assert log.read_bytes().startswith(started)
        assert log.read_bytes().count(b"\n") == 1 + number
    assert (kept.stat().st_ino, kept.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert times(workspace) == {ACME: 4, CALLS: 3}


def test_days_and_targets_are_kept_apart(workspace):
    count(workspace)
    count(workspace, target="memory")
    count(workspace, target="memory", day=date(2026, 11, 22))
    count(workspace, day=date(2026, 11, 1))
    assert set(usage_of(workspace, ENTITY).values()) == {Use(DAY, 2)}
    assert set(usage_of(workspace, "neo/memory").values()) == {Use(date(2026, 11, 22), 2)}


def test_it_holds_no_text_and_is_closed_to_others(workspace, log):
    count(workspace)
    count(workspace)
    assert b"Acme" not in log.read_bytes()
    assert log.stat().st_mode & 0o777 == 0o600
    assert fsck(workspace).faults == ()


def test_a_large_log_is_folded_in(workspace, kept, log, monkeypatch):
    monkeypatch.setattr("catmem.service.searching.usage_log._MOST_BYTES", 1000)
    for _ in range(50):
        assert count(workspace) is None
        assert count(workspace, CALLS, target="memory") is None
        assert log.stat().st_size < 1100
    assert (times(workspace), times(workspace, "memory")) == ({ACME: 50}, {CALLS: 50})
    assert b'"times":4' in kept.read_bytes()


def test_entries_that_are_gone_are_dropped_once_the_memory_file_has_changed(workspace):
    count(workspace)
    workspace.remove("neo", "Acme")
    count(workspace, CALLS)
    assert len(usage_of(workspace, ENTITY)) == 1


def test_nothing_is_lost_where_several_count_and_fold_at_once(workspace, monkeypatch):
    monkeypatch.setattr("catmem.service.searching.usage_log._MOST_BYTES", 500)
    document = workspace.view("neo", "user").document
    with ThreadPoolExecutor(8) as pool:
        notes = set(pool.map(lambda _: count_used(workspace, ENTITY, document.entries, document, DAY), range(80)))
    assert notes == {None}
    assert times(workspace) == {ACME: 80, CALLS: 80}


def test_a_log_that_was_folded_in_and_not_replaced_counts_once(workspace, log, monkeypatch):
    for _ in range(3):
        count(workspace)
    old = log.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr("catmem.service.searching.usage_log._MOST_BYTES", 1)
        count(workspace)
    log.write_bytes(old)
    assert times(workspace) == {ACME: 4}
    assert count(workspace) is None
    assert times(workspace) == {ACME: 5}


def test_what_an_older_catmem_kept_counts_on(workspace, kept, log):
    count(workspace)
    said = json.loads(kept.read_bytes())
    del said["folded"]
    log.unlink()
    kept.write_text(json.dumps(said), encoding="utf-8")
    assert times(workspace) == {ACME: 1}
    assert count(workspace) is None
    assert times(workspace) == {ACME: 2}


def test_damage_beside_it_is_noticed_by_the_next_count(workspace, kept):
    for _ in range(3):
        count(workspace)
    kept.write_bytes(b"{")
    told = "the usage of neo/user was damaged, and is counted anew"
    assert read_usage(workspace, ENTITY).note == told
    assert count(workspace) == told
    # Two were in the log, and are not lost with it.
    assert times(workspace) == {ACME: 3}
    assert read_usage(workspace, ENTITY).note is None


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"\n", b"{", b"[]\n", b"null\n", b"\xff\n", b"\0" * 100, b"[" * 100_000, b"x" * (2 << 20), b'{"version":1}\n',
        b'{"version":2,"number":1,"kept":null,"files":{}}\n', b'{"version":1,"number":0,"kept":null,"files":{}}\n',
        b'{"version":1,"number":true,"kept":null,"files":{}}\n', b'{"version":1,"number":1,"kept":[1],"files":{}}\n',
        b'{"version":1,"number":1,"kept":null,"files":{"user":"abc"}}\n', b'{"version":1,"number":1,"kept":null,"files":7}\n',
    ],
)  # fmt: skip
def test_a_log_that_is_none_takes_nothing_of_what_was_folded_in(workspace, log, damage):
    count(workspace)
    log.write_bytes(damage)
    assert read_usage(workspace, ENTITY).note == "the usage of neo/user was damaged, and some of it is not counted"
    assert times(workspace) == {ACME: 1}
    assert count(workspace) is not None
    assert times(workspace) == {ACME: 2}
    assert count(workspace) is None
    assert read_usage(workspace, ENTITY).note is None


@pytest.mark.parametrize(
    "line",
    [
        b"\n", b"{}\n", b"3\n", b'["user","2026-11-21"]\n', b'["user","today",[]]\n', b'["user","2026-11-21",[1]]\n',
        b'["user","2026-11-21","b2:0"]\n', b'["other","2026-11-21",[]]\n', b'[["user"],"2026-11-21",[]]\n', b'["user","2026-11-',
    ],
)  # fmt: skip
def test_a_line_that_is_damaged_takes_no_other_along(workspace, log, line):
    count(workspace)
    count(workspace)
    whole = log.read_bytes()
    log.write_bytes(whole + line)
    assert read_usage(workspace, ENTITY).note == "the usage of neo/user was damaged, and some of it is not counted"
    count(workspace)
    assert times(workspace) == {ACME: 3}


def test_a_line_that_somebody_was_stopped_in_is_not_written_behind(workspace, log):
    count(workspace)
    count(workspace)
    log.write_bytes(log.read_bytes()[:-4])
    assert count(workspace) is not None
    assert count(workspace) is None
    assert read_usage(workspace, ENTITY).note is None
    assert times(workspace) == {ACME: 3}


@pytest.mark.parametrize("kind", ["link", "second name", "folder", "fifo"])
def test_what_is_no_log_of_ours_is_not_written_to(workspace, log, tmp_path, kind):
    count(workspace)
    count(workspace)
    other = tmp_path / "other"
    other.write_bytes(log.read_bytes())
    before = other.read_bytes()
    log.unlink()
    make = {
        "link": lambda: log.symlink_to(other),
        "second name": lambda: log.hardlink_to(other),
        "folder": log.mkdir,
        "fifo": lambda: os.mkfifo(log),
    }
    make[kind]()
    count(workspace)
    count(workspace)
    assert other.read_bytes() == before
    # Where it cannot be replaced, a note says so.
    assert count(workspace) is None or kind in {"link", "folder"}


def test_a_full_disk_leaves_no_half_line(workspace, log):
    count(workspace)
    count(workspace)
    before = log.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
    try:
        note = count(workspace)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert note == "the usage of neo/user cannot be kept: No space left on device"
    assert log.read_bytes() == before
    assert count(workspace) is None
    assert times(workspace) == {ACME: 3}


def test_a_purge_forgets_what_the_log_holds(workspace, tmp_path):
    count(workspace, CALLS)
    for _ in range(2):
        count(workspace, ACME, CALLS)
    (entry,) = (entry for entry in workspace.view("neo", "user").document.entries if entry.body == ACME)
    assert holding(tmp_path, usage_key(entry).encode()) != []
    assert purge(workspace, ENTITY, "Acme").left == ()
    assert holding(tmp_path, usage_key(entry).encode()) == []
    assert times(workspace) == {CALLS: 3}


def test_forgetting_reaches_what_stopped_processes_left(workspace, tmp_path, kept, log, monkeypatch):
    for _ in range(2):
        count(workspace, ACME, CALLS)
    old = log.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr("catmem.service.searching.usage_log._MOST_BYTES", 1)
        count(workspace, CALLS)
    kept.with_name("usage.json.new").write_bytes(kept.read_bytes())
    log.with_name("usage.log.new").write_bytes(old)
    (entry,) = (entry for entry in workspace.view("neo", "user").document.entries if entry.body == ACME)
    workspace.remove("neo", "Acme")
    drop_gone(workspace, ENTITY, workspace.view("neo", "user").document)
    log.write_bytes(old)
    assert drop_gone(workspace, ENTITY, workspace.view("neo", "user").document)
    assert holding(tmp_path, usage_key(entry).encode()) == []
    assert times(workspace) == {CALLS: 3}


@pytest.mark.parametrize("name", ["usage.json.new", "usage.log.new"])
def test_forgetting_takes_along_what_was_never_put_in_place(workspace, kept, name):
    count(workspace)
    kept.with_name(name).write_bytes(b'{"b2:0')
    assert not drop_gone(workspace, ENTITY, workspace.view("neo", "user").document)
    assert not kept.with_name(name).exists()


def test_where_nothing_is_gone_nothing_is_written(workspace, kept, log):
    count(workspace)
    count(workspace)
    before = kept.read_bytes(), log.read_bytes()
    assert not drop_gone(workspace, ENTITY, workspace.view("neo", "user").document)
    assert (kept.read_bytes(), log.read_bytes()) == before
