"""Gates: what a regular expression needs, read off the expression."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.plugins.hermes.store_scan import Gate, folded, is_met, needs_of

FILLER = r"(?:\w+\s+){0,8}"
EXPRESSIONS = {
    rf"ignore\s+{FILLER}(previous|all)\s+{FILLER}instructions": (("ignore",), ("previous", "all"), ("instructions",)),
    r"authorized_keys": (("authorized_keys",),),
    r"\$HOME/\.ssh|\~/\.ssh": (("$home/.ssh", "~/.ssh"),),
    r"only\s+use\s+one[\s\-]?liners?\b": (("only",), ("use",), ("one",), ("liner",)),
    r"(?:maybe)?(?:surely)+x": (("surely",),),
    r"(?:abc|d?)e": (),
    r"\w+\d": (),
    r"(?:KEY|TOKEN)": (("key", "token"),),
    r"(?!never)(?=word)other": (("other",),),
}


@pytest.mark.parametrize(("expression", "needs"), EXPRESSIONS.items())
def test_an_expression_needs_its_words(expression, needs):
    assert needs_of(expression) == needs


@given(st.data(), st.sampled_from(list(EXPRESSIONS)))
def test_whatever_an_expression_matches_has_what_it_needs(data, expression):
    text = data.draw(st.from_regex(re.compile(expression, re.IGNORECASE)))
    assert is_met(needs_of(expression), folded(text))


@pytest.mark.parametrize("text", ["IGNORE", "ｉｇｎｏｒｅ", "İgnore", "ıgnore", "ﬁne, ignore"])
def test_a_word_is_found_in_every_form_that_matches_it(text):
    assert is_met((("ignore",),), folded(text))


@pytest.fixture
def gate():
    return Gate(((("ignore",), ("rules",)), (("curl",),)), frozenset("\u200b"))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("The office is in Lyon.", True),
        ("Ignore the noise.", True),
        ("Ignore the rules.", False),
        ("curl is installed", False),
        ("zero\u200bwidth", False),
        ("naïve façade", True),
    ],
)
def test_a_gate_lets_pass_what_no_scan_finds_anything_in(gate, text, clean):
    assert gate.is_clean(text) is clean


def test_a_gate_for_some_texts_says_the_same_of_each_of_them(gate):
    texts = ["Ignore this.", "No rules.", "curl", "plain", "Ignore the rules", "zero\u200bwidth"]
    narrowed = gate.narrowed(texts)
    assert [narrowed.is_clean(text) for text in texts] == [gate.is_clean(text) for text in texts]
    assert gate.narrowed(["plain", "Ignore"]).needs == ()
