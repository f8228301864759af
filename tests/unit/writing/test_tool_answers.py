"""How much of what was found an answer takes."""

from hypothesis import given
from hypothesis import strategies as st

from catmem.model.document import parse
from catmem.ops.tool_reads import MOST_CHARACTERS, may_fit, shown_found
from catmem.staleness.freshness import Freshness
from catmem.workspace.seen_entry import SeenEntry

SIZES = st.lists(st.sampled_from([1, 40, 1_900, 2_000, 2_001, 3_900, MOST_CHARACTERS + 1]), min_size=1, max_size=60)


def entries_of(sizes):
    return parse("## A\n" + "\n§\n".join("[x: y] " + "b" * size for size in sizes) + "\n").entries


@given(sizes=SIZES)
def test_all_that_an_answer_shows_may_fit(sizes):
    hits = [SeenEntry("neo/user", 1, entry, Freshness("unverified")) for entry in entries_of(sizes)]
    fit = may_fit(hit.entry for hit in hits)
    assert 1 <= fit <= len(hits)
    assert shown_found(hits[:fit], len(hits), 0) == shown_found(hits, len(hits), 0)
