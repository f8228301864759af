"""Counting the audit log of a root: every line once, whoever wrote it, under names that the root knows."""

import os
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from catmem.audit import OTHER, LogCounts
from catmem.errors import CatmemError
from catmem.store.audit_log import AuditLine, AuditLog
from catmem.workspace.workspace import Workspace
from tests.unit.audit.audited import make_audited

APPENDING = """
import sys
from pathlib import Path
from catmem.store.audit_log import AuditLog
from catmem.store.audit_log import AuditLine

log = AuditLog(Path(sys.argv[1]), most_bytes=20_000, most_files=1_000)
for number in range(500):
    stamp = f"2026-11-21T12:00:00.{number:06}Z"
    log.append(AuditLine(stamp, "neo/user", "put", sys.argv[2], None, str(number), "ok", None, None))
"""


def line(number=0, **said):
    stamp = f"2026-11-21T12:00:00.{number:06}Z"
    return AuditLine(stamp, "neo/user", "put", "neo", "7", "8", "ok", None, 8, 0.002)._replace(**said)


@pytest.fixture
def workspace(tmp_path):
    return make_audited(tmp_path, "agents: {planner: neo}\n")


@pytest.fixture
def log(workspace):
    """Files of a few lines, four of them: the oldest are soon gone."""
    return AuditLog(workspace.root / ".catmem", most_bytes=1000, most_files=4)


@contextmanager
def counting(workspace):
    """The counts from now on."""
    with closing(LogCounts(workspace)) as counted:
        counted.catch_up()
        assert not counted.writes
        yield counted


def writes(counted):
    """How many writes there are of each entity, agent and outcome by now."""
    counted.catch_up()
    return counted.writes


def add_raw(workspace, data):
    with (workspace.root / ".catmem" / "audit.jsonl").open("ab") as file:
        file.write(data)


def test_each_write_counts_once_whichever_process_made_it(workspace):
    with counting(workspace) as counted:
        workspace.add("neo", "one", category="work")
        counted.catch_up()
        Workspace.open(workspace.root, search=False).add("boss", "two", category="work", actor="boss")
        add = ["add", "-p", "neo", "-c", "work", "three", "--root", str(workspace.root)]
        subprocess.run([sys.executable, "-m", "catmem", *add], check=True, capture_output=True)
        counted.catch_up()
        assert writes(counted) == {
            ("neo/user", "person", "ok"): 2,
            ("boss/user", "boss", "ok"): 1,
        }


def test_no_line_is_left_out_or_counted_twice_while_files_are_renamed(workspace, log):
    with counting(workspace) as counted:
        for number in range(60):
            log.append(line(number))
            if number % 7 == 0:
                counted.catch_up()
        assert writes(counted) == {("neo/user", "neo", "ok"): 60}


def test_three_processes_write_while_their_lines_are_counted(workspace):
    folder, agents = workspace.root / ".catmem", ("neo", "boss", "person")
    with counting(workspace) as counted:
        running = [subprocess.Popen([sys.executable, "-c", APPENDING, str(folder), agent]) for agent in agents]
        while any(process.poll() is None for process in running):
            counted.catch_up()
        assert [process.returncode for process in running] == [0, 0, 0]
        counted.catch_up()
        assert writes(counted) == {("neo/user", agent, "ok"): 500 for agent in agents}


def test_what_was_written_before_does_not_count_whatever_the_log_has_of_it(workspace, log):
    for number in range(40):
        log.append(line(number))
    data = line(40).to_json()
    add_raw(workspace, b"{}\n" + data[:50])
    with counting(workspace) as counted:
        assert (writes(counted), counted.damaged) == ({}, 0)
        add_raw(workspace, data[50:])
        assert sum(writes(counted).values()) == 1
        for number in range(41, 100):
            log.append(line(number))
            counted.catch_up()
        assert sum(writes(counted).values()) == 60


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ({"entity_id": "neo/memory"}, ("neo/memory", "neo", "ok")),
        ({"entity_id": "neo/other"}, (OTHER, "neo", "ok")),
        ({"entity_id": "neo"}, (OTHER, "neo", "ok")),
        ({"entity_id": "../../etc/passwd"}, (OTHER, "neo", "ok")),
        ({"agent": "person"}, ("neo/user", "person", "ok")),
        ({"agent": "planner"}, ("neo/user", "planner", "ok")),
        ({"agent": 'x",le="\n'}, ("neo/user", OTHER, "ok")),
        ({"agent": "Neo"}, ("neo/user", OTHER, "ok")),
        ({"agent": "ｎeo"}, ("neo/user", OTHER, "ok")),
        ({"status": "won"}, ("neo/user", "neo", OTHER)),
    ],
)
def test_names_are_those_of_the_configuration_or_other(workspace, log, said, key):
    with counting(workspace) as counted:
        log.append(line(**said))
        assert writes(counted) == {key: 1}


def test_ten_thousand_hostile_names_are_one(workspace):
    log = AuditLog(workspace.root / ".catmem")
    with counting(workspace) as counted:
        for number in range(10_000):
            log.append(line(number, agent=f"agent-{number}", entity_id=f"e{number}/user", reason=f"r{number}"))
        assert writes(counted) == {(OTHER, OTHER, "ok"): 10_000}
        assert counted.refused == {(OTHER, OTHER): 10_000}


def test_half_a_line_that_is_taken_back_is_not_counted(workspace):
    """As by a writer for whose whole line there was no space."""
    log = AuditLog(workspace.root / ".catmem")
    path = workspace.root / ".catmem" / "audit.jsonl"
    with counting(workspace) as counted:
        for number in range(20):
            log.append(line(number))
        size = path.stat().st_size
        add_raw(workspace, b'{"half a line')
        counted.catch_up()
        os.truncate(path, size)
        counted.catch_up()
        log.append(line(20))
        assert writes(counted) == {("neo/user", "neo", "ok"): 21}
        assert counted.damaged == 0


def test_refusals_are_counted_by_their_codes(workspace, log):
    with counting(workspace) as counted:
        log.append(line(0, status="conflict", reason="stale_prev"))
        log.append(line(1, status="refused", reason="forbidden"))
        log.append(line(2, status="conflict", reason="stale_prev"))
        counted.catch_up()
        assert counted.refused == {("neo/user", "stale_prev"): 2, ("neo/user", "forbidden"): 1}


@pytest.mark.parametrize("damage", [b"{}\n", b"\xff\x00\n", b"[" * 5000 + b"\n", b'{"ts": 1}\n', b"x" * 70_000 + b"\n"])
def test_damaged_lines_are_counted_as_such_and_hide_no_other(workspace, log, damage):
    with counting(workspace) as counted:
        log.append(line(0))
        add_raw(workspace, damage)
        AuditLog(workspace.root / ".catmem").append(line(1))
        assert sum(writes(counted).values()) == 2
        assert counted.damaged >= 1


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-1", "1e308", "1" + "0" * 400])
def test_a_time_that_is_none_spoils_no_sum(workspace, seconds):
    whole = line(0).to_json().replace(b'"seconds":0.002', b'"seconds":' + seconds.encode())
    with counting(workspace) as counted:
        (workspace.root / ".catmem").mkdir()
        add_raw(workspace, line(1).to_json() + whole)
        assert sum(writes(counted).values()) == 2
        assert (sum(counted.groups), counted.seconds) == (1, 0.002)


def test_a_log_that_cannot_be_read_is_told_and_counted_on_when_it_can(workspace, log):
    with counting(workspace) as counted:
        log.append(line(0))
        counted.catch_up()
        path = log.folder / "audit.jsonl"
        path.rename(log.folder / "away")
        path.mkdir()
        with pytest.raises(CatmemError) as refused:
            counted.catch_up()
        assert refused.value.path == str(path)
        path.rmdir()
        (log.folder / "away").rename(path)
        log.append(line(1))
        assert writes(counted) == {("neo/user", "neo", "ok"): 2}
