"""The runner of the long proofs: what it runs, how it divides the time, and what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.torture.proofs import PROOFS
from tests.torture.registry import Row
from tests.torture.schedule import START, allotted

PROOF = PROOFS["kills"]


def work(task):
    return task.outcome()


def a_row(name, seconds, cores):
    return Row(name, PROOF, work, seconds, cores, on_disk=False)


@pytest.mark.parametrize(
    ("waiting", "left", "expected"),
    [
        ([a_row("a", 100, 2)], 50, 50),
        ([a_row("a", 92, 2), a_row("b", 292, 2)], 200, 50),
        ([a_row("a", 100, 2), a_row("b", 100, 1), a_row("c", 100, 1)], 100, 50),
        ([a_row("a", 100, 1), a_row("b", 100, 1)], 100, 100),
        ([a_row("a", 92, 1), a_row("b", 10, 1)], 50, 50),
        ([a_row("a", 100, 2)], -5, 1),
    ],
)
def test_each_row_has_its_part_of_the_time_that_is_left(waiting, left, expected):
    assert START == 8
    assert allotted(waiting, left, cores=2, share=1) == pytest.approx(expected)


PROGRAM = """
import sys
from pathlib import Path
from tests.torture import Skip, registry, row, schedule
from tests.torture.__main__ import main

schedule.GRACE = 0.5
registry.OFTEN = 0
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
    for number in task.steps():
        if number == 7:
            threading.Event().wait()

@row("stateful", seconds=1, of="slow")
def slow(task):
    task.add(7)
    return task.outcome()

@row("stateful", seconds=1, of="idle")
def idle(task):
    return task.outcome()

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


def test_the_whole_program_ends_with_0_if_no_row_failed(run, tmp_path):
    ended = run(
        "--share", "0.01", "--markdown", str(tmp_path / "table.md"), "kills", "stateful[skips]", "stateful[slow]"
    )
    assert ended.returncode == 0, ended.stderr
    rows = [line.split()[0] for line in ended.stdout.splitlines()[-3:]]
    assert rows == ["kills", "stateful[skips]", "stateful[slow]"]
    assert "5,000 kills    50  1.0 %" in ended.stdout
    assert "10,000 steps     7  0.0 %" in ended.stdout
    assert ended.stdout.endswith("out of time\n")
    assert "ok: kills" in ended.stderr
    assert "all well" in ended.stderr
    assert "not here" in ended.stderr
    assert "| kills | random SIGKILL" in (tmp_path / "table.md").read_text()


@pytest.mark.parametrize(
    ("name", "done", "said"),
    [
        ("stateful[bad]", 0, "1 lost"),
        ("stateful[raises]", 0, "ZeroDivisionError: integer division or modulo by zero"),
        ("stateful[hangs]", 7, "did not end 0 s after its time of 1 s, and was stopped"),
        ("stateful[idle]", 0, ""),
    ],
)
def test_the_whole_program_ends_with_1_if_a_row_failed_or_did_nothing(run, name, done, said):
    ended = run("--minutes", "0.001", name)
    assert ended.returncode == 1, ended.stderr
    assert said in ended.stdout
    assert ended.stdout.splitlines()[-1].split()[1:4] == ["10,000", "steps", str(done)]


def test_every_long_test_is_there():
    tests = Path(__file__).parents[1]
    for line in (tests / "long_tests.txt").read_text().splitlines():
        file, _, name = line.partition("::")
        text = (tests.parent / file).read_text()
        assert all(re.search(rf"\b{each}\b", text) for each in name.removesuffix("::runTest").split("::")), line
