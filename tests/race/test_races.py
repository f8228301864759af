"""Outsiders write to a file while tools commit to it: 5,000 writes here, 500,000 in `make torture`."""

from tests.lengths import at_length
from tests.race.judge import counted
from tests.race.race import REFUSALS, race, team

EACH = at_length(1_000, 400)


def test_the_store_loses_nothing_of_five_kinds_of_outsiders(tmp_path):
    ended = race(tmp_path, team(EACH), pace=5)
    verdict = ended.verdict
    assert (verdict.lost, verdict.dropped, verdict.halves) == ([], [], []), counted(verdict)
    assert len(ended.evidence.writes) == 5 * EACH
    assert len(ended.evidence.acknowledged) > 10  # how many come through is a matter of the machine
    assert sum(outside for _, _, outside in ended.evidence.revisions) > 50
    assert set(ended.refused) <= REFUSALS


def test_a_tool_that_checks_and_then_renames_loses_some_of_them(tmp_path):
    ended = race(tmp_path, team(200), tool="check-then-rename")
    assert ended.verdict.lost
    assert len(ended.evidence.writes) == 1_000


def test_a_tool_that_only_appends_is_blamed_for_nothing(tmp_path):
    ended = race(tmp_path, team(100), tool="append")
    assert counted(ended.verdict).startswith("0 lost, ")
    assert len(ended.evidence.writes) == 500
