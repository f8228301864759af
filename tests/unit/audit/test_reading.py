"""What is asked of the audit log."""

from datetime import UTC, datetime

import pytest

from catmem.audit import Filter, read_audit
from catmem.errors import StoreError
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
    line(5, status="conflict", reason="drift"),
    line(6, status="conflict", reason="stale_prev", op="verify"),
    line(7, status="branch"),
    line(8, entity="boss/user", agent="person"),
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
        (Filter(status="refused"), [4]),
        (Filter(since=at(6)), [6, 7, 8]),
        (Filter(since=at(3), status="refused", agent="neo"), [4]),
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
