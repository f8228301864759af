"""docs/glossary.md and the other pages agree: each term is used, and each term that a page introduces is explained.

A page introduces a term in italics behind an article: "A *delimiter* is a line that holds `§` alone".
"""

from __future__ import annotations

import re

from tests.docs.pages import ROOT, load
from tests.docs.test_sentences import PAGES
from tests.together import together

_INTRODUCED = re.compile(r"\b(?:an?|the)\s+\*([^*]+)\*(?!\*)", re.IGNORECASE)
_ENTRY = re.compile(r"^- \*\*\[(.+?)\]\(\S+\)\*\*: ", re.MULTILINE)


def terms(glossary: str) -> list[str]:
    """The terms of a glossary, without what tells two of one name apart ("target of a seed")."""
    return [re.sub(r" of a .*", "", term.strip("`")) for term in _ENTRY.findall(glossary)]


def uses(term: str, text: str) -> bool:
    """Whether a text has the term, as one or several, and also as a name in code (`role_hash`)."""
    *first, last = map(re.escape, term.split())
    last = f"(?:{last}(?:s|es)?|{last.removesuffix('y')}ies)"
    words = r"[\s_-]".join([*first, last])
    return re.search(rf"(?<![^\W_]){words}(?![^\W_])", text, re.IGNORECASE) is not None


def introduced(text: str) -> list[str]:
    """The terms that a page introduces."""
    return [" ".join(term.split()).lower() for term in _INTRODUCED.findall(text)]


GLOSSARY = terms(load(ROOT / "docs" / "glossary.md").text)
# The commands of cli.md and the codes of errors.md count; architecture.md is not for readers of the glossary.
OTHERS = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").glob("*.md"))
    if path.stem not in {"architecture", "glossary"}
)


@together("term", GLOSSARY)
def test_a_term_of_the_glossary_is_used_on_another_page(term):
    assert uses(term, OTHERS), "use it, or remove it"


@together("name", [name for name in PAGES if name != "glossary"])
def test_a_term_that_a_page_introduces_stands_in_the_glossary(name):
    known = {term.lower() for term in GLOSSARY}
    found = introduced("\n".join(load(ROOT / "docs" / f"{name}.md").prose))
    assert [term for term in found if term not in known and term.removesuffix("s") not in known] == []


@together("text", ["a role hash", "Role\nhashes", "`role_hash`", "catmem role-hash NAME"])
def test_a_use_is_seen(text):
    assert uses("role hash", text)


@together("text", ["roles", "a parole hash", "the hash of a role"])
def test_other_words_are_no_use(text):
    assert not uses("role hash", text)


@together(
    ("text", "found"),
    [
        ("A *read lease* is asked for.", ["read lease"]),
        ("under the\n*Read\nlease*", ["read lease"]),
        ("Only *that* entry, and **the** *other*.", []),
        ("the **whole** file", []),
    ],
)
def test_what_is_introduced_is_seen(text, found):
    assert introduced(text) == found


def test_two_terms_of_one_name_are_told_apart_by_the_words_behind_them():
    assert terms("- **[target of a seed](a.md)**: x\n- **[`op_id`](b.md#c)**: y\n") == ["target", "op_id"]
