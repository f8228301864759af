"""The emergency bypass: begun by a person, over by itself, and audited."""

import json
import stat
from datetime import UTC, datetime, timedelta

import pytest

from catmem.audit.rollout import LONGEST, begin_bypass, current_bypass, end_bypass
from catmem.clock import timestamp
from catmem.errors import CatmemError, ForbiddenError, StaleError
from catmem.workspace.workspace import Workspace
from tests.unit.audit.audited import lines, make_audited, outcomes

HOUR = timedelta(hours=1)


@pytest.fixture
def workspace(tmp_path):
    made = make_audited(tmp_path)
    made.add("neo", "one", category="work")
    made.add("neo", "two", category="work")
    return made


def stale_write(workspace):
    return workspace.add("neo", "three", category="work", expected=1)


def keep(workspace, **said):
    """Put a bypass in place that was not begun by catmem just now."""
    now = datetime.now(UTC)
    value = {"reason": "why", "since": timestamp(now - HOUR), "until": timestamp(now + HOUR), **said}
    (workspace.root / ".catmem" / "bypass.json").write_text(json.dumps(value))


def test_a_stale_write_passes_while_a_bypass_is_on_and_not_after(workspace):
    begin_bypass(workspace, "The planner writes old revisions.", HOUR)
    written = stale_write(workspace)
    assert "a bypass is on" in written.notes[0]
    end_bypass(workspace)
    with pytest.raises(StaleError):
        workspace.add("neo", "four", category="work", expected=1)
    assert outcomes(workspace)[2:] == [
        ("ok", "bypass_start"),
        ("bypassed", "stale_prev"),
        ("ok", "bypass_end"),
        ("conflict", "stale_prev"),
    ]


def test_what_protects_others_is_refused_during_a_bypass(workspace):
    begin_bypass(workspace, "why", HOUR)
    with pytest.raises(ForbiddenError):
        workspace.add("neo", "x", category="talk", actor="neo")


def test_the_lines_of_a_bypass_say_what_the_person_said(workspace):
    begun = begin_bypass(workspace, "  The planner\nwrites old revisions. ", HOUR)
    line = lines(workspace)[2]
    assert line[1:9] == ("*", "bypass", "person", None, None, "ok", "bypass_start", None)
    assert line.note == f"until {timestamp(begun.until)}: The planner writes old revisions."


def test_it_is_on_for_every_process_and_for_its_owner_alone_to_read(workspace):
    begun = begin_bypass(workspace, "why", HOUR)
    assert current_bypass(Workspace.open(workspace.root, search=False)) == begun
    path = workspace.root / ".catmem" / "bypass.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_one_that_has_run_out_is_over_and_the_log_is_told_once(workspace):
    keep(workspace, until=timestamp(datetime.now(UTC) - timedelta(seconds=1)))
    for _ in range(2):
        with pytest.raises(StaleError):
            stale_write(workspace)
    assert outcomes(workspace)[2:] == [("ok", "bypass_expired"), ("conflict", "stale_prev"), ("conflict", "stale_prev")]
    assert not (workspace.root / ".catmem" / "bypass.json").exists()


@pytest.mark.parametrize(
    "said",
    [
        {"since": timestamp(datetime.now(UTC) + HOUR), "until": timestamp(datetime.now(UTC) + 2 * HOUR)},
        {"until": timestamp(datetime.now(UTC) + LONGEST + HOUR)},
        {"until": "tomorrow"},
        {"until": None},
        {"until": "2999-01-01T00:00:00"},
    ],
    ids=["from a clock that was put back", "too long", "no time", "nothing", "no zone"],
)
def test_what_catmem_did_not_write_is_no_bypass(workspace, said):
    keep(workspace, **said)
    with pytest.raises(StaleError):
        stale_write(workspace)


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"[" * 9_000, b"x" * 100_000])
def test_a_damaged_file_is_no_bypass(workspace, data):
    (workspace.root / ".catmem" / "bypass.json").write_bytes(data)
    with pytest.raises(StaleError):
        stale_write(workspace)


def test_a_link_is_no_bypass(workspace, tmp_path):
    begin_bypass(workspace, "why", HOUR)
    path = workspace.root / ".catmem" / "bypass.json"
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    assert current_bypass(workspace) is None


@pytest.mark.parametrize(
    ("reason", "lasts"), [("", HOUR), (" \n", HOUR), ("x" * 501, HOUR), ("why", timedelta()), ("why", LONGEST + HOUR)]
)
def test_a_bypass_needs_a_reason_and_a_time(workspace, reason, lasts):
    with pytest.raises(CatmemError) as refused:
        begin_bypass(workspace, reason, lasts)
    assert refused.value.code == "bad_bypass"
    assert current_bypass(workspace) is None
