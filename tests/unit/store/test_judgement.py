"""Who may go on, as a table: what was seen, what is there, who came between; and what finding a merge's base costs."""

from dataclasses import replace

import pytest

from catmem.digest import bytes_digest
from catmem.store.contract import Change, Revision, merge_bases
from catmem.store.judgement import NOTHING, KnownRevision, KnownState, Verdict, judge

ONE, TWO, THREE = (KnownRevision(str(number), bytes_digest(b"text %d" % number), number) for number in (1, 2, 3))
RECORDED = {each.revision: each for each in (ONE, TWO, THREE)} | {each.digest: each for each in (ONE, TWO, THREE)}
NOT_RECORDED = bytes_digest(b"in no record")

CATMEM_ONLY = KnownState(
    now=THREE,
    before=None,
    adopted=False,
    has_text=True,
    seen=RECORDED.get,
    external_since=lambda _: False,
    own=lambda: None,
)
"""Three revisions, all of them made by catmem."""
OUTSIDER_WAS_LAST = replace(CATMEM_ONLY, external_since=lambda point: point.sequence < THREE.sequence, own=lambda: TWO)
"""The third is an outsider's, and an earlier commit recorded it."""
OUTSIDER_JUST_FOUND = replace(OUTSIDER_WAS_LAST, before=TWO, adopted=True)
"""The third is an outsider's, which this very commit found."""
FILE_IS_GONE = replace(OUTSIDER_JUST_FOUND, now=KnownRevision("3", NOTHING.digest, 3), has_text=False)

GO_ON = Verdict("go_on")
STALE, DRIFT = Verdict("stale"), Verdict("drift")


def on(point: KnownRevision) -> Verdict:
    return Verdict("go_on", point)


def beside(point: KnownRevision) -> Verdict:
    return Verdict("branch", point)


@pytest.mark.parametrize("seen", [THREE.revision, THREE.digest])
@pytest.mark.parametrize("state", [CATMEM_ONLY, OUTSIDER_WAS_LAST])
def test_who_saw_what_is_there_goes_on(seen: str, state: KnownState) -> None:
    assert judge(seen, Change(), state) == GO_ON


@pytest.mark.parametrize(
    ("seen", "refuse", "merge", "branch"),
    [
        (TWO.revision, STALE, on(TWO), beside(TWO)),
        (TWO.digest, STALE, on(TWO), beside(TWO)),
        ("0", STALE, on(NOTHING), beside(NOTHING)),
        (NOT_RECORDED, STALE, STALE, STALE),
    ],
)
def test_a_write_of_catmem_came_between(seen: str, refuse: Verdict, merge: Verdict, branch: Verdict) -> None:
    assert judge(seen, Change(), CATMEM_ONLY) == refuse
    assert judge(seen, Change(on_drift="merge"), CATMEM_ONLY) == merge
    assert judge(seen, Change(on_stale="branch"), CATMEM_ONLY) == branch


@pytest.mark.parametrize("state", [OUTSIDER_WAS_LAST, OUTSIDER_JUST_FOUND])
def test_somebody_else_came_between(state: KnownState) -> None:
    assert judge(ONE.revision, Change(), state) == DRIFT
    assert judge(ONE.revision, Change(on_drift="merge"), state) == on(ONE)
    assert judge(ONE.revision, Change(on_stale="branch"), state) == beside(ONE)


@pytest.mark.parametrize("state", [OUTSIDER_WAS_LAST, OUTSIDER_JUST_FOUND])
def test_who_refuses_drift_makes_no_branch_of_it(state: KnownState) -> None:
    assert judge(ONE.revision, Change(on_drift="refuse", on_stale="branch"), state) == DRIFT
    assert judge(ONE.revision, Change(on_drift="refuse", on_stale="branch"), CATMEM_ONLY) == beside(ONE)


def test_a_text_that_no_record_has_is_drifted_from_only_by_what_was_just_found() -> None:
    assert judge(NOT_RECORDED, Change(), OUTSIDER_WAS_LAST) == STALE
    assert judge(NOT_RECORDED, Change(), OUTSIDER_JUST_FOUND) == DRIFT


def test_who_has_no_view_is_held_to_what_catmem_wrote_last() -> None:
    assert judge(None, Change(), OUTSIDER_JUST_FOUND) == on(TWO)
    assert judge(None, Change(on_drift="refuse"), OUTSIDER_JUST_FOUND) == DRIFT


def test_a_file_that_was_taken_away_is_nobodys_new_text() -> None:
    assert judge(None, Change(on_drift="refuse"), FILE_IS_GONE) == GO_ON
    assert judge(TWO.revision, Change(), FILE_IS_GONE) == GO_ON
    assert judge(ONE.revision, Change(), FILE_IS_GONE) == DRIFT


def test_an_emptied_file_is_not_one_that_nobody_ever_wrote() -> None:
    assert judge("0", Change(), FILE_IS_GONE) == DRIFT


def test_an_outsider_who_put_back_what_the_caller_saw_stands_in_nobodys_way() -> None:
    put_back = replace(OUTSIDER_JUST_FOUND, now=THREE._replace(digest=ONE.digest))
    assert judge(ONE.revision, Change(), put_back) == GO_ON


# --- merge bases ---

LONG = 100_000


def revision(name, *parents):
    return Revision("neo/user", name, parents, 0, "", "put", "person", "", "", 0)


def counted(log, read):
    for each in log:
        read.append(each.revision)
        yield each


@pytest.mark.parametrize("distance", [1, 10, 1_000])
@pytest.mark.parametrize("length", [2_000, LONG])
def test_the_cost_is_that_of_the_distance_and_not_of_the_history(length, distance):
    seen = length - distance
    log = [revision(f"{seen + 1}a", str(seen))]
    log += [revision(str(number), str(number - 1)) for number in range(length, 1, -1)]
    read: list[str] = []
    assert merge_bases(counted(log, read), str(length), f"{seen + 1}a") == [str(seen)]
    assert len(read) == distance + 3  # the branch, the line down to the base, and one more that is not looked at
