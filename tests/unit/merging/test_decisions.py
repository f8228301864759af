"""Decisions made beforehand: each is for the very conflict that was seen, and for what can be chosen of it."""

from __future__ import annotations

from typing import get_args

import pytest

from catmem.errors import EditError
from catmem.merging.decisions import CHOICES, answer_to, key_of
from catmem.model.version import Conflict, Reason, Version
from tests.roots import make_root, text_of
from tests.together import together

BASE = "## Talk\n[verified_date: 2026-01-01, domain: sales] no calls before ten\n\n## Rules\nx\n"
OURS = Version.read("talk", "[domain: sales] no calls before nine")
THEIRS = Version.read("talk", "no calls before eight")
WAS = Version.read("talk", "no calls before ten")
REWORDED = Conflict("body", WAS, OURS, THEIRS)


@pytest.fixture
def workspace(tmp_path):
    """Revision 2 and branch 2a reword the same entry."""
    root = make_root(
        tmp_path,
        config="on_stale: branch\n",
        profiles={"neo": "user_memory_categories: ['*']\n"},
        files={"neo/user": BASE},
    )
    for word in ("nine", "eight"):
        root.replace("neo", "before ten", f"no calls before {word}", expected=1)
    return root


def conflicts(workspace):
    return [found.conflict for found in workspace.merge("neo", ["2a"], dry_run=True).conflicts]


def merged(workspace, choice, words=""):
    workspace.merge("neo", ["2a"], precedence=lambda found: answer_to(found.conflict, choice, words))
    return text_of(workspace)


@pytest.mark.parametrize(
    ("choice", "word"), [("ours", "nine"), ("theirs", "eight"), ("both", "nine"), ("both", "eight"), ("own", "seven")]
)
def test_what_was_chosen_is_what_is_written(workspace, choice, word):
    assert f"no calls before {word}" in merged(workspace, choice, "\n no calls before seven \n")


def test_words_of_ones_own_keep_the_tags_and_are_not_verified(workspace):
    assert "[domain: sales] mine\n" in merged(workspace, "own", "mine")


@pytest.mark.parametrize("words", ["[verified_date: 2030-01-01] mine", "§", "## Rules\nmine", "a\n§\nb"])
def test_words_of_ones_own_are_one_entry_of_that_category(workspace, words):
    text = merged(workspace, "own", words)
    (entry,) = workspace.parse(text).by_category["talk"]
    assert (entry.body, entry.tags) == (words, {"domain": "sales"})


def test_a_conflict_keeps_its_name_as_long_as_it_says_the_same(workspace):
    before = conflicts(workspace)
    workspace.add("neo", "something else", category="rules")
    assert list(map(key_of, conflicts(workspace))) == list(map(key_of, before))


@pytest.mark.parametrize("words", ["no calls before noon", "phone us whenever you like", None])
def test_a_head_that_says_something_else_is_another_conflict_in_the_same_place(workspace, words):
    (before,) = map(key_of, conflicts(workspace))
    if words is None:
        workspace.remove("neo", "before nine")
    else:
        workspace.replace("neo", "before nine", words)
    (after,) = map(key_of, conflicts(workspace))
    assert (after.place, after.head == before.head) == (before.place, False)


@together(
    "other",
    [
        Conflict("tags", WAS, OURS, THEIRS),
        Conflict("body", None, OURS, THEIRS),
        Conflict("body", WAS, THEIRS, OURS),
        Conflict("body", WAS._replace(category="rules"), OURS, THEIRS),
        Conflict("body", WAS, OURS, None),
    ],
)
def test_another_conflict_has_another_name(other):
    assert key_of(other) != key_of(REWORDED)


@together(
    ("reason", "choice"),
    [("title", "own"), ("title", "both"), ("tags", "both"), ("removed", "both"), ("body", ""), ("body", "head")],
)
def test_what_cannot_be_chosen_is_refused(reason, choice):
    with pytest.raises(EditError) as caught:
        answer_to(Conflict(reason, WAS, OURS, THEIRS), choice, "words")
    assert caught.value.code == "bad_answer"


@together("words", ["", " \n\t"])
def test_words_that_are_none_are_refused(words):
    with pytest.raises(EditError) as caught:
        answer_to(REWORDED, "own", words)
    assert caught.value.code == "bad_answer"


def test_every_kind_of_conflict_has_its_choices():
    assert set(CHOICES) == set(get_args(Reason))
