"""Who may write what, and that a refusal tells nothing of what is hidden."""

import pytest

from catmem.config.access import Rights
from catmem.config.config import Category, Taxonomy
from catmem.config.profile import Profile
from catmem.errors import ForbiddenError
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
