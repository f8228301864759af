"""Who may write what, and that a refusal tells nothing of what is hidden."""

from __future__ import annotations

import pytest

from catmem.config.access import Rights
from catmem.config.config import Category, Taxonomy
from catmem.config.profile import Profile
from catmem.errors import ForbiddenError, UnknownNameError
from catmem.model.document import parse
from tests.together import together

OPEN = Taxonomy()
CLOSED = Taxonomy(
    closed=True,
    categories={
        "talk": Category("talk", "Talk", aliases=("speech",)),
        "pay": Category("pay", "Pay"),
        "pay-old": Category("pay-old", "Pay Old"),
    },
)
DOCUMENT = parse("loose\n\n## Talk\nshort\n\n## Pay\nsecret\n")


def rights(taxonomy=OPEN, **settings):
    return Rights(Profile("neo", **settings), "user", taxonomy)


def bodies(entries):
    return [entry.body for entry in entries]


@together("actor", [None, Profile("boss", tier=1)])
def test_a_person_and_a_tier_1_profile_may_do_anything(actor):
    anything = Rights(actor, "user", CLOSED)
    anything.refuse_other_owner("neo")
    anything.refuse_unwritable("pay")
    anything.refuse_unverified()
    anything.refuse_without_any_category()
    assert actor or bodies(anything.in_sight(DOCUMENT)) == ["loose", "short", "secret"]


@together("tier", [1, 2, 3])
def test_a_profile_of_any_tier_sees_what_its_selectors_pick(tier):
    profile = rights(tier=tier, user_memory_categories=("*", "!pay"), writable_categories=("*",))
    assert bodies(profile.in_sight(DOCUMENT)) == ["short"]


def test_it_sees_uncategorized_entries_if_it_names_no_category_and_does_not_say_otherwise():
    assert bodies(rights().in_sight(parse("loose\n"))) == ["loose"]
    assert rights(include_uncategorized=False).in_sight(parse("loose\n")) == ()


@together(
    ("selectors", "category", "may"),
    [
        (("talk",), "talk", True),
        (("talk",), "pay", False),
        (("*", "!pay"), "pay", False),
        (("*",), "not-there", True),
        ((), "__uncategorized__", True),
    ],
)
def test_what_it_may_see_whatever_is_there(selectors, category, may):
    assert rights(user_memory_categories=selectors).may_see(category) is may
    assert Rights(None, "user", OPEN).may_see(category)


@together(("writable", "refused"), [((), True), (("talk", "!talk"), True), (("talk",), False), (("t*",), False)])
def test_who_may_write_to_no_category_changes_nothing(writable, refused):
    bounded = rights(writable_categories=writable)
    if not refused:
        bounded.refuse_without_any_category()
        return
    with pytest.raises(ForbiddenError) as caught:
        bounded.refuse_without_any_category()
    assert caught.value.hint == "It may write to no category."


@together("owner", ["boss", "nobody", "../x", ""])
def test_another_profile_looks_as_if_there_were_none(owner):
    rights().refuse_other_owner("neo")
    with pytest.raises(UnknownNameError) as caught:
        rights().refuse_other_owner(owner)
    assert caught.value.message == f"there is no profile {owner!r}"
    assert caught.value.hint == "neo acts on its own files only: use the name 'neo'."


@together(
    ("taxonomy", "writable", "category", "may"),
    [
        (OPEN, ("talk",), "talk", True),
        (OPEN, ("talk",), "pay", False),
        (OPEN, ("talk",), "__uncategorized__", False),
        (OPEN, ("*",), "anything", True),
        (OPEN, ("*",), "__uncategorized__", False),
        (OPEN, ("__uncategorized__",), "__uncategorized__", True),
        (OPEN, ("pay*", "!pay-old"), "pay-old", False),
        (OPEN, (), "talk", False),
        (CLOSED, ("speech",), "talk", True),
        (CLOSED, ("*",), "undeclared", False),
        (CLOSED, ("pay*",), "pay-old", True),
    ],
)
def test_writable_categories(taxonomy, writable, category, may):
    bounded = rights(taxonomy, writable_categories=writable)
    assert bounded.may_write(category) is may
    if not may:
        with pytest.raises(ForbiddenError):
            bounded.refuse_unwritable(category)
    else:
        bounded.refuse_unwritable(category)


def test_reading_a_category_is_no_right_to_write_it():
    with pytest.raises(ForbiddenError) as caught:
        rights(user_memory_categories=("talk",), writable_categories=("notes",)).refuse_unwritable("talk")
    assert caught.value.hint == "It may write to notes."
    with pytest.raises(ForbiddenError) as caught:
        rights(writable_categories=("workflow-rules",)).refuse_unwritable("worklow-rules")
    assert caught.value.hint == "Did you mean 'workflow-rules'? It may write to workflow-rules."


@together("category", ["pay", "pay-old", "never-heard-of"])
def test_a_hidden_category_is_refused_in_the_same_words_whether_it_exists_or_not(category):
    with pytest.raises(ForbiddenError) as caught:
        rights(CLOSED, writable_categories=("talk",)).refuse_unwritable(category)
    assert caught.value.message == f"neo may not write to the category {category!r}"
    assert caught.value.hint == "It may write to talk."


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
    ("settings", "may"),
    [
        ({}, False),
        ({"may_verify": True}, True),
        ({"tier": 1}, True),
        ({"tier": 1, "may_verify": False}, False),
        ({"tier": 3}, False),
    ],
)
def test_who_may_verify(settings, may):
    assert rights(**settings).may_verify is may
    if not may:
        with pytest.raises(ForbiddenError, match="may not say"):
            rights(**settings).refuse_unverified()


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
