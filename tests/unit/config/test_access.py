"""What a profile sees of a document and may write, and the problems of a document that need its root."""

import json
from pathlib import Path

import pytest

from catmem.config.access import Rights, all_problems, visible
from catmem.config.config import Category, Config, Taxonomy
from catmem.config.profile import Profile
from catmem.errors import ForbiddenError
from catmem.model.document import Entry, parse
from tests.together import together


def see(text, *, target="user", taxonomy=None, **settings):
    return visible(parse(text), target, Profile("reader", **settings), taxonomy)


def bodies(view):
    return [entry.body for entry in view.entries]


FLAT = "Loose.\n§\nToo.\n"


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


TAXONOMY = {
    "talk": Category("talk", "Talk", aliases=("speech",)),
    "pay": Category("pay", "Pay", aliases=("wages",)),
    "pay-old": Category("pay-old", "Pay Old"),
}
OPEN, CLOSED = Taxonomy(), Taxonomy(closed=True, categories=TAXONOMY)


@together("selectors", [("*", "!pay"), ("talk",)])
@together("closed", [True, False])
def test_an_alias_is_its_category_even_in_a_document_that_was_parsed_without_aliases(selectors, closed):
    # `build_prompt` takes documents from anywhere, and a section named by an alias must not slip past an exclusion.
    taxonomy = Taxonomy(closed=closed, categories=TAXONOMY)
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


# --- rights ----------------------------------------------------------------------------------------------------------


def rights(taxonomy=OPEN, **settings):
    return Rights(Profile("neo", **settings), "user", taxonomy)


def test_an_alias_is_named_as_the_caller_named_it():
    with pytest.raises(ForbiddenError) as caught:
        rights(CLOSED).refuse_unwritable("talk", "Speech")
    assert "talk" not in caught.value.message
    assert "'Speech'" in caught.value.message
    assert caught.value.hint == "It may write to no category."


@together(
    ("taxonomy", "writable", "names", "only"),
    [
        (OPEN, (), (), None),
        (OPEN, ("talk",), ("talk",), "talk"),
        (OPEN, ("talk", "talk"), ("talk",), "talk"),
        (OPEN, ("talk", "!talk"), (), None),
        (OPEN, ("talk", "pay"), ("talk", "pay"), None),
        (OPEN, ("pay-*", "!pay-old"), ("pay-*",), None),
        (CLOSED, ("speech",), ("talk",), "talk"),
        (CLOSED, ("pay*",), ("pay", "pay-old"), None),
        (CLOSED, ("pay*", "!pay"), ("pay-old",), "pay-old"),
        (CLOSED, ("pay", "talk"), ("pay", "talk"), None),
        (CLOSED, ("__uncategorized__",), ("__uncategorized__",), "__uncategorized__"),
    ],
)
def test_what_a_profile_is_told_that_it_may_write(taxonomy, writable, names, only):
    bounded = rights(taxonomy, writable_categories=writable)
    assert (bounded.writable_names(), bounded.only_category()) == (names, only)


@together(
    ("tag", "message", "hint"),
    [
        (None, "neo may not say that a fact was verified", "A person may do that"),
        ("verified_date", "neo may not say that a fact was verified", "Leave verified_date out. A person may do that"),
        ("created", "neo may not change the tag created of a fact, which says how long it holds", "Leave created out."),
    ],
)
def test_a_verification_is_refused_with_what_was_asked(tag, message, hint):
    with pytest.raises(ForbiddenError) as caught:
        rights().refuse_unverified(tag)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


# --- problems that need the root -----------------------------------------------------------------------------------------


def said(text, taxonomy=OPEN):
    document, config = parse(text), Config(Path(), taxonomy=taxonomy)
    return [(document.line(problem.start), problem.rule) for problem in all_problems(document, config)]


def test_values_that_do_not_fit_are_problems_with_their_place():
    text = "## A\n[expires: 2026-13-01] one\n§\n[verified_date: 2026-05-01] two\n§\n[domain: Big Money] three\n"
    assert said(text) == [(2, "bad-tag"), (6, "bad-tag")]


def test_a_section_that_is_not_declared_names_the_nearest():
    assert said("## Wgaes\none\n", CLOSED) == [(1, "unknown-category")]
    (problem,) = all_problems(parse("## Pya\none\n"), Config(Path(), taxonomy=CLOSED))
    assert "did you mean pay" in problem.message
    assert said("## Wgaes\none\n", OPEN) == []
    assert said("## Pay\none\n\n## __uncategorized__\ntwo\n", CLOSED) == []


def test_what_was_meant_to_be_tags_is_a_problem():
    for start in (
        "[Verified_date: 2026-01-01]",
        "[verified date: 2026-01-01]",
        "[verified_date:2026-01-01]",
        "[expires: x",
    ):
        assert said(f"{start} text") == [(1, "malformed-tags")]
    for fine in ("[docs: intro](https://example.org)", "[COMM] short", "[expires: 2026-01-01] text", "domain: x"):
        assert said(fine) == []
