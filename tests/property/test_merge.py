"""The laws of the three-way merge, over hostile documents and over changes that people make."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from catmem.model.document import Version, parse
from catmem.model.edit import add_entry, move_entry, remove_entry, replace_entry, retag_entry
from catmem.model.merge import Conflict, merge
from tests.property.strategies import texts

WORDS = st.sampled_from(["vendor", "is", "acme", "short", "answers", "tea", "no", "calls", "before", "ten", "§", "```"])
BODIES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
CATEGORIES = st.sampled_from(["a", "b", "c-d", "__uncategorized__"])
DATES = st.sampled_from(["2026-01-01", "2026-02-02", "2026-03-03"])


@st.composite
def bases(draw):
    """A document that an orchestrator could have: some sections, some tags."""
    document = parse(draw(st.sampled_from(["", "# T\n", "loose\n", "## A\none\n"])))
    for _ in range(draw(st.integers(0, 8))):
        tags = {"verified_date": draw(DATES)} if draw(st.booleans()) else {}
        document = add_entry(document, draw(BODIES), category=draw(CATEGORIES), tags=tags).document
    return document


@st.composite
def changed(draw, base):
    """The document after up to five changes, as one of two writers would make them."""
    document = base
    for _ in range(draw(st.integers(0, 5))):
        entry = draw(st.sampled_from(document.entries)) if document.entries else None
        action = draw(st.sampled_from(["add", "replace", "reword", "remove", "move", "retag"])) if entry else "add"
        category = draw(CATEGORIES)
        if action == "add":
            document = add_entry(document, draw(BODIES), category=category).document
        elif action == "replace":
            document = replace_entry(document, entry, draw(BODIES)).document
        elif action == "reword":
            document = replace_entry(document, entry, f"{entry.body} {draw(WORDS)}").document
        elif action == "remove":
            document = remove_entry(document, entry).document
        elif action == "move" and category != entry.category:
            document = move_entry(document, entry, category).document
        elif action == "retag" and entry.body:
            document = retag_entry(document, entry, {"verified_date": draw(DATES)}).document
    return document


@st.composite
def three(draw):
    base = draw(bases())
    return base, draw(changed(base)), draw(changed(base))


def bodies(text):
    """How often each body stands in a text."""
    return Counter(entry.body for entry in parse(text).entries)


@given(texts(), texts())
def test_a_side_without_changes_gives_the_other_side(base, other):
    b, x = parse(base), parse(other)
    for ours, theirs in ((b, x), (x, b), (x, x)):
        merged = merge(b, ours, theirs)
        assert (merged.text, merged.conflicts) == (x.text, ())


@given(three())
def test_it_is_symmetric(sides):
    base, ours, theirs = sides
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert one.text == other.text
    assert [(c.reason, c.ours, c.theirs) for c in one.conflicts] == [
        (c.reason, c.theirs, c.ours) for c in other.conflicts
    ]


@given(three())
def test_no_text_stands_in_more_places_than_on_either_side(sides):
    base, ours, theirs = sides
    merged = bodies(merge(base, ours, theirs).text)
    assert not merged - (bodies(ours.text) | bodies(theirs.text))


@given(three())
def test_no_text_of_a_side_is_lost_unless_the_other_side_took_it_away(sides):
    base, ours, theirs = sides
    result = merge(base, ours, theirs)
    merged, was = bodies(result.text), bodies(base.text)
    # A level-1 heading that leads a flat file is its title as soon as there are sections, and of two titles one stays.
    titles = {entry.body for side in sides for entry in side.entries[:1] if entry.body.startswith("# ")}
    for side in (ours, theirs):
        new = set(bodies(side.text)) - set(was) - titles
        assert new <= set(merged)


def dated(*texts):
    """The bodies of texts, each with the day on which it was verified."""
    return {(entry.body, entry.tags.get("verified_date")) for text in texts for entry in parse(text).entries}


@given(three())
def test_no_words_are_verified_on_a_day_on_which_no_side_verified_these_words(sides):
    base, ours, theirs = sides
    merged = {one for one in dated(merge(base, ours, theirs).text) if one[1] is not None}
    assert merged <= dated(ours.text, theirs.text)


@given(three(), st.sampled_from(["ours", "theirs"]))
def test_a_function_that_always_says_one_side_is_that_side(sides, side):
    base, ours, theirs = sides
    assert merge(base, ours, theirs, precedence=lambda _: side) == merge(base, ours, theirs, precedence=side)


@given(three(), st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_a_function_decides_each_conflict_by_itself(sides, to_ours, to_theirs):
    base, ours, theirs = sides
    numbers = {str(conflict): number for number, conflict in enumerate(merge(base, ours, theirs).conflicts)}

    def decide(conflict, ours_is="ours", theirs_is="theirs"):
        number = numbers[str(conflict)]
        return ours_is if number in to_ours else theirs_is if number in to_theirs else None

    def decide_turned(conflict):
        return decide(Conflict(conflict.reason, conflict.base, conflict.theirs, conflict.ours), "theirs", "ours")

    merged = merge(base, ours, theirs, precedence=decide)
    assert [numbers[str(c)] in to_ours | to_theirs for c in merged.conflicts] == [False] * len(merged.conflicts)
    assert merge(base, theirs, ours, precedence=decide_turned).text == merged.text


@given(three(), BODIES)
def test_what_a_function_says_stands_instead_of_both_sides(sides, words):
    said = []

    def decide(conflict):
        if conflict.reason != "body":
            return None
        said.append(Version.read(conflict.base.category, f"instead {len(said)}: {words}"))
        return said[-1]

    merged = merge(*sides, precedence=decide)
    assert {version.body for version in said} <= set(bodies(merged.text))
    assert "body" not in {conflict.reason for conflict in merged.conflicts}
