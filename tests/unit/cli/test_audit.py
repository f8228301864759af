"""``catmem audit`` and ``catmem log --verify``, as they are called."""

import json
import shutil

import pytest

from tests.end_to_end.terminal import run
from tests.together import together
from tests.unit.audit.audited import make_audited


@pytest.fixture
def place(tmp_path):
    make_audited(tmp_path / "root")
    return tmp_path / "root"


def add(place, text, *more, **choices):
    return run("add", "--root", place, "-p", "neo", "-c", "work", text, *more, **choices)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    """A root with three attempts on record, of which one was refused; nobody changes it."""
    place = tmp_path_factory.mktemp("audited") / "root"
    make_audited(place)
    add(place, "one")
    add(place, "two")
    add(place, "three", "--expected", "1", status=3)
    return place


@pytest.fixture
def used(unchanged, tmp_path):
    return shutil.copytree(unchanged, tmp_path / "used")


# --- audit ---------------------------------------------------------------------------------------------------------


def test_a_write_to_an_entity_that_there_is_not_is_on_record(place):
    run("write", "--root", place, "project:alpha", "-", "--expected", "0", input="{}", status=2)
    (line,) = run("audit", "--root", place).stdout.splitlines()
    assert line.split()[2:] == ["refused", "project:alpha", "write", "person", "-", "->", "-", "unknown_entity"]


@together(
    ("arguments", "said"),
    [
        (["--entity", "nobody"], "There is no profile 'nobody' here now. The profiles are boss, neo."),
        (["--entity", "noe/user"], "There is no profile 'noe' here now. Did you mean 'neo'?"),
        (["--entity", "neo/usr"], "There is no target 'usr' here now. Did you mean 'user'?"),
        (["--agent", "bos"], "There is no agent 'bos' here now. Did you mean 'boss'?"),
    ],
)
def test_a_name_that_there_is_not_is_told_where_nothing_fits(unchanged, arguments, said):
    assert run("audit", "--root", unchanged, *arguments).stderr.splitlines()[-1] == said


def test_a_damaged_line_is_told_and_hides_no_other(used):
    with (used / ".catmem" / "audit.jsonl").open("ab") as file:
        file.write(b"garbage\n")
    result = run("audit", "--root", used, status=1)
    assert len(result.stdout.splitlines()) == 3
    assert result.stderr == "warning: line 4 of audit.jsonl is damaged, so it was passed over\n"


@together("moment", ["2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00+02:00", "30m", "1h30m"])
def test_moments_are_given_in_many_ways(unchanged, moment):
    assert len(run("audit", "--root", unchanged, "--since", moment).stdout.splitlines()) == 3


@together(
    ("arguments", "said"),
    [
        (["audit", "--since", "5x"], "is no moment"),
        (["audit", "--since", "2026-13-01"], "is no moment"),
        (["audit", "--since", ""], "is no moment"),
        (["audit", "--since", "999999d"], "is no moment"),
    ],
)
def test_what_cannot_be_meant_is_told(unchanged, arguments, said):
    assert said in run(*arguments, "--root", unchanged, status=2).stderr


# --- replay ----------------------------------------------------------------------------------------------------------


def test_a_mismatch_is_told_with_exit_status_4(used):
    path = used / "homes" / "neo" / "USER.md"
    path.unlink()
    path.mkdir()
    result = run("log", "--root", used, "--verify", "--format", "json", status=4)
    (mismatch,) = json.loads(result.stdout)["mismatches"]
    assert mismatch["entity"] == "neo/user"


def test_a_name_with_a_line_end_makes_no_row_of_its_own(used):
    run("add", "--root", used, "-p", "x\nagent   person  999\u2028z", "fact", status=2)
    said = run("audit", "--root", used).stdout
    assert len(said.splitlines()) == 4
    assert "\u2028" not in said
