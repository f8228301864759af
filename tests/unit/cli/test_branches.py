"""How old a branch is, as ``catmem branches`` says it."""

from datetime import UTC, datetime

from catmem.cli.texts import history as branches
from tests.together import together

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@together(
    ("timestamp", "age"),
    [
        ("2026-11-21T11:59:59.000000Z", "< 1 h"),
        ("2026-11-21T12:30:00.000000Z", "< 1 h"),  # by another clock
        ("2026-11-21T11:00:00.000000Z", "1 h"),
        ("2026-11-20T12:00:01.000000Z", "23 h"),
        ("2026-11-20T12:00:00.000000Z", "1 d"),
        ("2025-11-21T12:00:00.000000Z", "365 d"),
    ],
)
def test_age(timestamp, age):
    assert branches._age(timestamp, NOW) == age
