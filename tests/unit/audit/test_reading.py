"""What is asked of the audit log, what a rollout report makes of it, and for which entity a rollout enforces refusals."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.audit.log_queries import Filter, read_audit, rollout_report
from catmem.config.config import SOFT, Rollout, enforces, place_of
from catmem.errors import StoreError
from catmem.jsonable import jsonable
from catmem.store.audit_log import AuditLine
from catmem.workspace.root import log_attempt
from tests.unit.audit.audited import make_audited


def line(second, entity="neo/user", agent="neo", op="put", status="ok", reason=None):  # noqa: PLR0917 - a row
    stamp = f"2026-11-21T12:00:{second:02}.000000Z"
    answer = None if status in {"conflict", "refused"} else "8"
    return AuditLine(stamp, entity, op, agent, "7", answer, status, reason, 8, 0.002)


LINES = [
    line(0),
    line(1, entity="neo/memory", agent="boss"),
    line(2, entity="neon/user"),
    line(3, status="conflict", reason="stale_prev"),
    line(4, status="refused", reason="forbidden"),
    line(5, status="shadowed", reason="role_drift,stale_prev"),
    line(6, status="bypassed", reason="stale_prev", op="verify"),  # as an older build wrote it
    line(7, status="branch"),
    AuditLine("2026-11-21T12:00:08.000000Z", "*", "bypass", "person", None, None, "ok", "bypass_start", None, None),
]


@pytest.fixture
def workspace(tmp_path):
    made = make_audited(tmp_path)
    for each in LINES:
        log_attempt(made, each)
    return made


def at(second):
    return datetime(2026, 11, 21, 12, 0, second, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(), range(9)),
        (Filter(entity="neo/user"), [0, 3, 4, 5, 6, 7]),
        (Filter(entity="neo"), [0, 1, 3, 4, 5, 6, 7]),
        (Filter(agent="boss"), [1]),
        (Filter(op="verify"), [6]),
        (Filter(status="refused"), [4]),
        (Filter(reason="stale_prev"), [3, 5, 6]),
        (Filter(reason="stale"), []),
        (Filter(since=at(6)), [6, 7, 8]),
        (Filter(until=at(2)), [0, 1]),
        (Filter(since=at(3), until=at(5), status="refused", agent="neo"), [4]),
    ],
)
def test_a_filter_keeps_what_fits_in_every_way(workspace, wanted, found):
    assert read_audit(workspace, wanted).lines == tuple(LINES[number] for number in found)


def test_a_log_that_cannot_be_read_is_an_error_and_not_empty(workspace):
    path = workspace.root / ".catmem" / "audit.jsonl"
    path.rename(path.with_name("kept"))
    path.mkdir()
    with pytest.raises(StoreError) as refused:
        read_audit(workspace)
    assert (refused.value.code, refused.value.path) == ("io", str(path))


# --- reports and counts -------------------------------------------------------------------------------------------


def test_a_report_tells_what_was_let_pass_and_what_was_refused(workspace):
    report = jsonable(rollout_report(workspace))
    assert (report["mode"], report["writes"], report["since"]) == ("enforce", 9, LINES[0].ts)
    assert report["shadowed"] == {
        "operations": 1,
        "by_reason": {"role_drift": 1, "stale_prev": 1},
        "by_agent": {"neo": 1},
        "by_entity": {"neo/user": 1},
    }
    assert report["refused"]["by_reason"] == {"stale_prev": 1}
    assert report["always"]["by_reason"] == {"forbidden": 1}


PLACES = {"neo/user": 21, "neo/memory": 51, "trinity/user": 15, "orchestrator/memory": 86, "\ud800/user": 68}


@pytest.mark.parametrize(("entity", "place"), PLACES.items())
def test_the_place_of_an_entity_never_changes(entity, place):
    assert place_of(entity) == place


@pytest.mark.parametrize(
    ("rollout", "enforced"),
    [
        (Rollout(), True),
        (Rollout("enforce"), True),
        (Rollout("shadow"), False),
        (Rollout("canary", 0), False),
        (Rollout("canary", 21), False),
        (Rollout("canary", 22), True),
        (Rollout("canary", 100), True),
    ],
)
def test_what_is_enforced_for_the_entity_at_place_21(rollout, enforced):
    assert enforces(rollout, "neo/user") is enforced


@given(st.text(), st.integers(0, 100), st.integers(0, 100))
def test_who_is_in_at_a_share_is_in_at_every_larger_one(entity, one, other):
    few, many = sorted((one, other))
    assert enforces(Rollout("canary", many), entity) or not enforces(Rollout("canary", few), entity)


def test_what_protects_others_is_never_let_pass():
    never = {"drift", "forbidden", "hash_collision", "schema", "structure", "threat", "over_budget", "merge_conflict"}
    assert not never & SOFT
