"""Selectors and slugs against a plain reading of their rules."""

from hypothesis import example, given
from hypothesis import strategies as st

from catmem.config.config import Selectors, selector_fault
from catmem.names import UNCATEGORIZED, slugify
from tests.property.oracles import slug
from tests.together import together

CATEGORIES = st.text("ab-", min_size=1, max_size=5).map(slugify).filter(bool) | st.just(UNCATEGORIZED)
PATTERNS = st.text("ab*-", min_size=1, max_size=6)
LISTS = st.lists(st.tuples(st.booleans(), PATTERNS | CATEGORIES), max_size=5)
DECLARED = st.none() | st.frozensets(CATEGORIES, max_size=4)


def written(selectors):
    return tuple(f"{'!' * negative}{name}" for negative, name in selectors)


def fits(pattern, text):
    """Whether ``text`` fits a pattern of ``*`` and plain characters, by trying every way."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(fits(pattern[1:], text[length:]) for length in range(len(text) + 1))
    return bool(text) and pattern[0] == text[0] and fits(pattern[1:], text[1:])


def plainly_selected(selectors, declared, category):
    """The rules read from the front: each selector that applies turns the category on or off."""
    on = False
    for negative, name in selectors:
        exact = "*" not in name
        may = exact or negative or (category != UNCATEGORIZED and (declared is None or category in declared))
        if may and (name == category if exact else fits(name, category)):
            on = not negative
    return on


@given(LISTS, DECLARED, CATEGORIES)
def test_selection_is_what_a_plain_reading_says(selectors, declared, category):
    found = Selectors(written(selectors), declared).matches(category)
    assert found == plainly_selected(selectors, declared, category)


@given(LISTS, DECLARED, CATEGORIES)
def test_a_selected_category_has_the_position_of_a_selector_that_names_it(selectors, declared, category):
    patterns = written(selectors)
    position = Selectors(patterns, declared).position(category)
    if position is None:
        assert not Selectors(patterns, declared).matches(category)
        return
    assert Selectors(patterns[position : position + 1], declared).matches(category)
    assert not any(Selectors((pattern,), declared).matches(category) for pattern in patterns[:position])


@given(LISTS, DECLARED, CATEGORIES)
def test_closing_a_taxonomy_never_opens_a_category(selectors, declared, category):
    patterns = written(selectors)
    if Selectors(patterns, declared).matches(category):
        assert Selectors(patterns).matches(category)


@given(LISTS, CATEGORIES)
def test_one_more_exclusion_closes_its_category(selectors, category):
    assert not Selectors((*written(selectors), f"!{category}")).matches(category)


@given(LISTS, st.lists(CATEGORIES, max_size=5))
def test_unmatched_selectors_select_none_of_the_categories(selectors, categories):
    patterns = written(selectors)
    unmatched = Selectors(patterns).unmatched(categories)
    for pattern in unmatched:
        assert not any(Selectors((pattern,)).matches(category) for category in categories)
    rest = tuple(pattern for pattern in patterns if pattern not in unmatched)
    for category in categories:
        assert Selectors(rest).matches(category) == Selectors(patterns).matches(category)


@given(st.text(min_size=1, max_size=20))
def test_the_slug_of_any_title_is_a_selector(title):
    slug = slugify(title)
    if slug:
        assert selector_fault(slug) is None
        assert selector_fault(f"!{slug}") is None
        assert Selectors((slug,)).matches(slug)


# --- slugs -----------------------------------------------------------------------------------------------------------

ODD_TITLES = [
    "  A -- b  ", "-a-", "a_b", "_", "!!!", "", "-", "Ünïcode", "U\u0308nicode", "ＡＢＣ１", "x²", "ﬁle", "日本語 メモ", "हिन्दी",
    "\u0301", "a \u0301b", "a\u200db", "🙂 mood", "½", "ΟΔΟΣ", "J\u030c", "A/B\\C", "Workflow Rules (Finance)",
]  # fmt: skip
titles = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.text("aB9_- ()\u0301\u030c\u0323\u0345İJͅΣẞﬁ²½ªåÅ\u200d\u0bcdக中\U0001d400", max_size=12),
)


@given(titles)
@example("J\u030c")  # no capital of its own is made of these two, but a small letter is
@example("İ\u0323")
def test_a_slug_is_its_own_slug_and_what_a_plain_reading_of_the_rule_gives(title):
    assert slugify(title) == slug(title)
    assert slugify(slugify(title)) == slugify(title)


@together("title", [*ODD_TITLES, UNCATEGORIZED])
def test_a_plain_reading_of_the_rule_gives_the_same_for_odd_titles(title):
    assert slugify(title) == (title if title == UNCATEGORIZED else slug(title))
