"""``catmem simulate``; the races themselves: tests/end_to_end/test_stale_story.py."""

import json
import tempfile
from functools import partial

from tests.end_to_end.terminal import run as command
from tests.together import together

SMALL = ["--agents", "3", "--writes", "12", "--entities", "2"]


run = partial(command, "simulate")


def test_one_of_each_is_told_as_one():
    assert run("--agents", "1", "--writes", "1", "--entities", "1").stderr == "1 agent, 1 write, 1 file, in files\n"


@together("processes", [1, 3])
def test_any_number_of_processes_runs_all_agents(processes):
    said = json.loads(run(*SMALL, "--processes", str(processes), "--format", "json").stdout)
    assert (said["processes"], said["guarded"]["acknowledged"], said["guarded"]["silent_overwrites"]) == (
        processes,
        12,
        0,
    )


@together("think", ["-1", "nan"])
def test_a_plan_that_cannot_be_carried_out_is_refused(think):
    assert "--think: it is from 0 to 1,000" in run("--think", think, status=2).stderr


def test_a_server_that_is_not_there_is_told_without_the_password():
    result = run("--store", "postgresql://me:hush@127.0.0.1:1/x", *SMALL, status=4)
    assert "error[not_available]" in result.stderr
    assert "hush" not in result.output


def test_a_database_that_exists_is_left_alone(tmp_path):
    path = tmp_path / "mine.db"
    path.write_bytes(b"mine")
    assert "error[not_empty]" in run("--store", f"sqlite:///{path}", *SMALL, status=2).stderr
    assert path.read_bytes() == b"mine"


def test_both_races_stand_side_by_side(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = run(*SMALL)
    rows = {line[:31].strip(): line[31:].split() for line in result.stdout.splitlines()}
    assert rows["writes acknowledged"] == ["12", "12"]
    assert rows["silent overwrites"][1] == "0"
    assert rows["the log gives the same heads"] == ["yes", "yes"]
    assert rows["kappa between the agents"][1] == "1.000"
    assert "3 agents, 12 writes, 2 files, in files" in result.stderr
    assert list(tmp_path.iterdir()) == []  # nothing of it stays
