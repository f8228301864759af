"""The runner of the long proofs: what it runs, how it divides the time, and what it says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.torture import registry
from tests.torture.proofs import PROOFS, Proof
from tests.torture.registry import Outcome, Row, Skip, Task, chosen, row
from tests.torture.schedule import Result, judged, run_one, share
from tests.torture.table import table

PROOF = PROOFS["kills"]


@pytest.fixture
def rows(monkeypatch):
    """An empty registry."""
    empty = {}
    monkeypatch.setattr(registry, "ROWS", empty)
    return empty


def work(task):
    return task.outcome()


def test_a_function_is_registered_under_the_name_of_its_proof(rows):
    row("kills", seconds=3)(work)
    row("linearizability", of="memory", seconds=3)(work)
    row(Proof("new", "a proof of somebody else's", 10, 1, "times"), seconds=3)(work)
    assert list(rows) == ["kills", "linearizability[memory]", "new"]


def test_two_rows_of_one_name_are_a_mistake(rows):
    row("kills", seconds=3)(work)
    with pytest.raises(ValueError, match="two rows are called kills"):
        row("kills", seconds=3)(work)


def test_a_row_of_an_unknown_proof_is_a_mistake(rows):
    with pytest.raises(KeyError):
        row("kilss", seconds=3)


@pytest.mark.parametrize(
    ("names", "run", "missing"),
    [
        ([], ["kills", "linearizability[a]", "linearizability[b]"], set(PROOFS) - {"kills", "linearizability"}),
        (["kills"], ["kills"], set()),
        (["linearizability"], ["linearizability[a]", "linearizability[b]"], set()),
        (["linearizability[b]"], ["linearizability[b]"], set()),
        (["journal"], [], {"journal"}),
    ],
)
def test_rows_are_chosen_by_their_name_or_their_proof(rows, names, run, missing):
    row("kills", seconds=3)(work)
    row("linearizability", of="a", seconds=3)(work)
    row("linearizability", of="b", seconds=3)(work)
    wanted, unwritten = chosen(rows, names)
    assert [each.name for each in wanted] == run
    assert {proof.name for proof in unwritten} == missing


def test_a_row_that_nobody_knows_is_an_error(rows):
    with pytest.raises(KeyError):
        chosen(rows, ["nothing"])


def test_a_task_ends_with_its_figure(tmp_path):
    task = Task(5, 60, tmp_path)
    assert list(task.steps()) == [0, 1, 2, 3, 4]
    assert task.outcome() == Outcome(5)


def test_a_task_ends_with_its_time(tmp_path):
    task = Task(5, 0, tmp_path)
    assert list(task.steps()) == []
    assert task.left() == 0.0


@pytest.mark.parametrize(
    ("outcome", "asked", "expected"),
    [
        (Outcome(10), 10, ("ok", "")),
        (Outcome(10, note="said"), None, ("ok", "said")),
        (Outcome(5, note="said"), 10, ("ok", "scaled down to 50.0%: no more time; said")),
        (Outcome(10, "2 lost", "said"), 10, ("failed", "2 lost; said")),
        (Outcome(0), 10, ("failed", "nothing was done")),
    ],
)
def test_what_an_outcome_is_worth(outcome, asked, expected):
    assert judged(outcome, asked) == expected


def a_row(name, seconds, cores):
    return Row(name, PROOF, work, seconds, cores)


@pytest.mark.parametrize(
    ("waiting", "left", "expected"),
    [
        ([a_row("a", 100, 2)], 50, 50),
        ([a_row("a", 100, 2), a_row("b", 300, 2)], 200, 50),
        ([a_row("a", 100, 2), a_row("b", 100, 1), a_row("c", 100, 1)], 100, 50),
        ([a_row("a", 100, 1), a_row("b", 100, 1)], 100, 100),
        ([a_row("a", 100, 1), a_row("b", 10, 1)], 50, 50),
        ([a_row("a", 100, 2)], -5, 1),
    ],
)
def test_each_row_has_its_share_of_the_time_that_is_left(waiting, left, expected):
    assert share(waiting[0], waiting, left, 2) == pytest.approx(expected)


def test_a_row_leaves_its_outcome_in_its_folder(tmp_path):
    def count(task):
        for _ in task.steps():
            (task.folder / str(task.done)).touch()
        return task.outcome(note="counted")

    assert run_one(Row("kills", PROOF, count, 1, 1), 60, tmp_path, quick=True) == 0
    assert json.loads((tmp_path / "outcome").read_text())["done"] == PROOF.quick
    assert len(list((tmp_path / "work").iterdir())) == PROOF.quick


def test_a_row_that_cannot_run_says_why(tmp_path):
    def work(task):
        raise Skip("no strace here")

    assert run_one(Row("kills", PROOF, work, 1, 1), 60, tmp_path, quick=True) == 0
    assert json.loads((tmp_path / "outcome").read_text()) == {"skipped": "no strace here"}


def test_the_table():
    results = [
        Result("races", "outsider races", "writes", 500_000, 500_000, "ok", "0 lost", 120.4),
        Result("linearizability[memory]", "linear", "operations", 50, 20, "failed", "1 violation", 3.0),
        Result("journal", "journal", "damages", None, 0, "skipped", "its test is not written yet", 0.0),
    ]
    assert table(results).split("\n") == [
        "proof                     asked     done  result   seconds",
        "---------------  --------------  -------  -------  -------",
        "outsider races   500,000 writes  500,000  ok           120",
        "    0 lost",
        "linear [memory]   50 operations       20  failed         3",
        "    1 violation",
        "journal                     all        0  skipped        0",
        "    its test is not written yet",
    ]


PROGRAM = """
import sys
from tests.torture import Skip, registry, row, schedule
from tests.torture.__main__ import main

schedule.GRACE = 0.5
registry.TESTS = registry.TESTS / "no rows of others"

@row("kills", seconds=1)
def good(task):
    for _ in task.steps():
        pass
    return task.outcome(note="all well")

@row("stateful", seconds=1, of="skips")
def skips(task):
    raise Skip("not here")

@row("stateful", seconds=1, of="bad")
def bad(task):
    return task.outcome(failed="1 lost")

@row("stateful", seconds=1, of="raises")
def raises(task):
    return 1 // 0

@row("stateful", seconds=1, of="hangs")
def hangs(task):
    import threading
    threading.Event().wait()

sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def run(tmp_path, root):
    """Runs the program above, in which each row is started again as this same program."""
    program = tmp_path / "program.py"
    # The runner starts `python -m tests.torture`; here that has to be this program.
    again = f"schedule.COMMAND = ({str(sys.executable)!r}, {str(program)!r})\n"
    program.write_text(PROGRAM.replace("schedule.GRACE", again + "schedule.GRACE"))

    def run(*arguments):
        command = [sys.executable, str(program), *arguments]
        return subprocess.run(
            command, cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True, timeout=60, check=False
        )

    return run


def test_the_whole_program_ends_with_0_if_no_row_failed(run):
    ended = run("--quick", "kills", "stateful[skips]")
    assert ended.returncode == 0, ended.stderr
    assert "50 kills    50  ok" in ended.stdout
    assert "    all well" in ended.stdout
    assert "    not here" in ended.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("stateful[bad]", "1 lost"),
        ("stateful[raises]", "ZeroDivisionError: integer division or modulo by zero"),
        ("stateful[hangs]", "did not end in 1 s"),
    ],
)
def test_the_whole_program_ends_with_1_if_a_row_failed(run, name, said):
    ended = run("--quick", "--minutes", "0.001", name, "kills")
    assert ended.returncode == 1, ended.stderr
    assert f"    {said}" in ended.stdout


def test_the_whole_program_knows_its_rows(run):
    ended = run("nothing")
    assert ended.returncode == 2
    assert "there is no row 'nothing'; there are: kills, stateful[bad]" in ended.stderr
