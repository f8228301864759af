"""What a profile sees of a document."""

import json

import pytest

from catmem.config.access import visible
from catmem.config.config import Category, Taxonomy
from catmem.config.profile import Profile
from catmem.model.document import Entry, parse
from tests.together import together

TEXT = """# Title of the file

Loose.

## Finance Rules
rules

## Finance Payroll
payroll

## Talk
one
§
two

## Finance Rules
more rules
"""


def see(text=TEXT, *, target="user", taxonomy=None, **settings):
    return visible(parse(text), target, Profile("reader", **settings), taxonomy)


def bodies(view):
    return [entry.body for entry in view.entries]


def test_categories_stand_in_the_order_of_the_profile_and_entries_in_that_of_the_file():
    view = see(user_memory_categories=("talk", "finance-*"), include_uncategorized=True)
    assert view.categories == ("talk", "finance-payroll", "finance-rules", "__uncategorized__")
    assert bodies(view) == ["Loose.", "rules", "payroll", "one", "two", "more rules"]
    assert [entry["body"] for entry in view.form()["categories"]["finance-rules"]] == ["rules", "more rules"]


@together("title", ["FINANCE PAYROLL", "ﬁnance payroll", "Finance—Payroll", "Finance  Payroll ##"])
def test_other_spellings_of_a_name_are_the_same_category(title):
    view = see(f"## {title}\nsecret\n", user_memory_categories=("*", "!finance-payroll"))
    assert (bodies(view), view.hidden) == ([], 1)


FLAT = "Loose.\n§\nToo.\n"


@together(
    ("settings", "seen"),
    [
        ({}, True),
        ({"include_uncategorized": True}, True),
        ({"include_uncategorized": False}, False),
        ({"user_memory_categories": ("talk",)}, False),
        ({"memory_categories": ("talk",)}, False),
        ({"user_memory_categories": ("*",)}, False),
        ({"user_memory_categories": ("*",), "tier": 1}, False),
        ({"user_memory_categories": ("__uncategorized__",)}, True),
        ({"user_memory_categories": ("!*", "__uncategorized__")}, True),
        ({"user_memory_categories": ("talk",), "include_uncategorized": True}, True),
    ],
)
def test_uncategorized_entries_are_for_profiles_that_name_no_category_or_say_so(settings, seen):
    for text in (None, FLAT):
        assert ("Loose." in bodies(see(**settings) if text is None else see(text, **settings))) is seen


@together(
    ("text", "settings", "warned"),
    [
        (FLAT, {"user_memory_categories": ("talk",)}, True),
        (FLAT, {"memory_categories": ("talk",)}, True),
        (FLAT, {"include_uncategorized": False}, True),
        (FLAT, {}, False),
        ("", {"user_memory_categories": ("talk",)}, False),
        ("Loose.\n\n## Talk\nx\n", {"user_memory_categories": ("talk",)}, False),
    ],
)
def test_a_flat_file_that_is_hidden_is_said(text, settings, warned):
    said = ("the user file has no sections, so neo sees none of it: catmem sort -p NAME puts entries into categories",)
    assert see(text, **settings).warnings("neo") == (said if warned else ())


@together("selectors", [("!__uncategorized__",), ("talk", "!*"), ("!__un*", "talk")])
@together("include", [None, True])
def test_a_profile_that_takes_uncategorized_away_does_not_see_it(selectors, include):
    view = see("Loose.\n", user_memory_categories=selectors, include_uncategorized=include)
    assert (bodies(view), view.hidden) == ([], 1)


CLOSED = Taxonomy(
    closed=True, categories={"talk": Category("talk", "Talk"), "pay": Category("pay", "Pay", aliases=("wages",))}
)


@together("selectors", [("*", "!pay"), ("talk",)])
@together("closed", [True, False])
def test_an_alias_is_its_category_even_in_a_document_that_was_parsed_without_aliases(selectors, closed):
    # `build_prompt` takes documents from anywhere, and a section named by an alias must not slip past an exclusion.
    taxonomy = Taxonomy(closed=closed, categories=CLOSED.categories)
    view = see("## Wages\nsecret\n\n## Talk\nfine\n", user_memory_categories=selectors, taxonomy=taxonomy)
    assert bodies(view) == ["fine"]
    assert bodies(see("## Wages\nmine\n", user_memory_categories=("pay",), taxonomy=taxonomy)) == ["mine"]


def test_the_json_form_holds_nothing_else():
    text = "# Title of the file\n\n## Secret\n[a: b, a: c] hidden\n§\n```\nopen\n\n## Talk\n[k: v, k: w] mine\n"
    form = see(text, user_memory_categories=("talk",)).form()
    assert form["title"] is None
    assert list(form["categories"]) == ["talk"]
    assert {problem["line"] for problem in form["problems"]} == {10}
    assert not any(word in json.dumps(form) for word in ("hidden", "open", "Title of", "ecret"))


@pytest.mark.parametrize("text", ["".join(f"## c{i}\nx\n" for i in range(400)), "\n§\n".join(["```"] * 400)])
def test_the_work_of_the_json_form_grows_with_the_document_alone(text, monkeypatch):
    view = see(text, user_memory_categories=("*",), include_uncategorized=True)
    looks = count_looks(monkeypatch)
    form = view.form()
    assert sum(map(len, form["categories"].values())) == 400
    assert looks() < 40 * 400


def count_looks(monkeypatch):
    """Counts how often a place or a category of an entry is asked for."""
    seen = [0]

    def counted(index):
        def get(entry):
            seen[0] += 1
            return tuple.__getitem__(entry, index)

        return property(get)

    for index, name in enumerate(("category", "start", "end")):
        monkeypatch.setattr(Entry, name, counted(index))
    return lambda: seen[0]
