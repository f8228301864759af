"""Merge bases over any graph of revisions, against the plainest reading of what they are."""

from hypothesis import given
from hypothesis import strategies as st

from catmem.store.contract import Revision, merge_bases, tips


def revision(name, parents):
    return Revision("neo/user", name, tuple(parents), int(name.rstrip("abc")), "", "put", "person", "", "", 0)


@st.composite
def logs(draw):
    """A graph with up to 14 revisions, each with up to three parents, as a log has it: the newest first."""
    made = []
    for number in range(1, draw(st.integers(1, 14)) + 1):
        older = [each.revision for each in made]
        parents = draw(st.lists(st.sampled_from(older), max_size=3, unique=True)) if older else []
        made.append(revision(f"{number}{draw(st.sampled_from(['', 'a']))}", parents))
    return made[::-1]


def ancestors(log, name):
    """Itself and everything that leads to it."""
    parents = {each.revision: each.parents for each in log}
    found, left = set(), [name]
    while left:
        name = left.pop()
        found.add(name)
        left += parents[name]
    return found


@st.composite
def pairs(draw):
    log = draw(logs())
    names = st.sampled_from([each.revision for each in log])
    return log, draw(names), draw(names)


@given(pairs())
def test_merge_bases_are_the_common_ancestors_that_lead_to_no_other(case):
    log, one, other = case
    common = ancestors(log, one) & ancestors(log, other)
    best = {name for name in common if not any(name in ancestors(log, each) for each in common - {name})}
    assert merge_bases(log, one, other) == [each.revision for each in log if each.revision in best]


@given(logs())
def test_tips_are_what_nothing_follows(log):
    followed = {parent for each in log for parent in each.parents}
    assert {each.revision for each in tips(log)} == {each.revision for each in log} - followed
