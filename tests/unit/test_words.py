"""The code, the schemas and the docs use the words of docs/glossary.md, and none of those that it replaces.

All text of the package counts: names, docstrings, comments, messages, templates and scripts.
"""

import re

import pytest

from tests.docs.pages import ROOT, pages
from tests.docs.test_sentences import EVERYWHERE
from tests.together import together

UNWANTED = re.compile(rf"(?<![a-z])(?:{'|'.join(EVERYWHERE)})(?![a-z])", re.IGNORECASE)
KINDS = {".py", ".json", ".html", ".js", ".css", ".yml", ".yaml", ".md"}
FILES = [each for top in ("catmem", "schemas") for each in sorted((ROOT / top).rglob("*")) if each.suffix in KINDS]

# What stands: a name that configurations may hold.
EXCEPTIONS = {
    "catmem/linting/rules/configuration.py": ['"nobody-reads"'],
    "docs/rules.md": ["nobody-reads"],
}
CODE = re.compile(r"(`+).*?\1|\]\([^)]*\)")


def unwanted(text, exceptions=()):
    """The lines of a text that hold an unwanted word outside the exceptions, each behind its number."""
    for each in exceptions:
        text = text.replace(each, "")
    if not UNWANTED.search(text):
        return []
    return [f"{number}: {line}" for number, line in enumerate(text.splitlines(), 1) if UNWANTED.search(line)]


def test_the_code_and_the_schemas_use_the_words_of_the_glossary():
    assert FILES
    name = {path: path.relative_to(ROOT).as_posix() for path in FILES}
    assert [
        f"{name[path]}:{line}"
        for path in FILES
        for line in unwanted(path.read_text(encoding="utf-8"), EXCEPTIONS.get(name[path], ()))
    ] == []


def test_the_docs_use_them_too():
    prose = {page.name: CODE.sub("", "\n".join(page.prose)) for page in pages()}
    assert [f"{name}:{line}" for name, text in prose.items() for line in unwanted(text, EXCEPTIONS.get(name, ()))] == []


@pytest.mark.parametrize(("name", "exceptions"), EXCEPTIONS.items())
def test_each_exception_is_needed(name, exceptions):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert [each for each in exceptions if each not in text] == []


@together(
    "text",
    [
        "Nobody waits.",
        "def _told():",
        "nobody_reads",
        "_NOBODY = 1",
        "# by other means",
        "{{ x|told }}",
        "keys-told",
        "A door.",
    ],
)
def test_an_unwanted_word_is_seen(text):
    assert unwanted(text) == [f"1: {text}"]


@together("text", ["a stolen key", "An indoor map.", "untold"])
def test_other_words_pass(text):
    assert unwanted(text) == []


def test_an_exception_hides_itself_alone():
    assert unwanted("nobody-reads\nnobody-reads by nobody", ["nobody-reads"]) == ["2:  by nobody"]
