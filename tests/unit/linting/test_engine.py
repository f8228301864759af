"""From findings to diagnostics, and ``catmem.lint``."""

from datetime import date
from pathlib import Path

import pytest

import catmem
from catmem.config.config import Config, Taxonomy
from catmem.errors import ConfigError
from catmem.linting.linted import LintedFile, lint_root
from catmem.linting.root_lint import Linter
from catmem.linting.rule import Finding, LintSettings, Related, rule
from tests.together import together
from tests.unit.linting.rules_for_tests import CONTEXT, lint, only, registered, word_rule

PAGE = "Find what a test wants.\n\n## Why\nA test."


def making(code, scope, check):
    """A rule of another scope."""

    def register():
        check.__doc__ = PAGE
        rule(code, f"rule-{code.lower()}", scope=scope)(check)

    return register


def test_place_and_words_of_a_diagnostic():
    with registered(word_rule("CM299", "todo", severity="hint")):
        (found,) = lint("\ufeff## A\r\n\r\n   fünf todo", only("CM299"))
    assert (found.line, found.column, found.start, found.end) == (3, 9, 17, 21)
    assert found.region == (3, 9, 3, 13)
    assert (found.path, found.code, found.name, found.severity) == ("USER.md", "CM299", "no-todo", "hint")
    assert str(found) == "USER.md:3:9: CM299 todo stands here"


def test_the_order_is_path_place_code(tmp_path):
    with registered(word_rule("CM299", "b"), word_rule("CM298", "a"), word_rule("CM297", "b", name="no-b-either")):
        for path in ("z.md", "a.md"):
            (tmp_path / path).write_text("b a")
        linter = Linter.open(tmp_path, paths=(tmp_path / "z.md", tmp_path / "a.md"), select=["CM29"])
        found = [(each.path, each.column, each.code) for each in linter.run().diagnostics]
    in_a_file = [(1, "CM297"), (1, "CM299"), (3, "CM298")]
    assert found == [(path, *place) for path in ("a.md", "z.md") for place in in_a_file]


def test_a_fingerprint_is_of_the_entry_and_not_of_its_place():
    with registered(word_rule("CM299", "todo")):
        (one,) = lint("todo x", only("CM299"))
        (moved,) = lint("## A\nother\n§\n\ntodo x\n", only("CM299"))
        (changed,) = lint("todo y", only("CM299"))
        (header,) = lint("## todo\n\nx", only("CM299"))
    assert one.fingerprint == moved.fingerprint
    assert len({one.fingerprint, changed.fingerprint, header.fingerprint}) == 3


def test_bytes_that_are_not_utf_8_have_a_place_in_the_text_with_marks_for_them():
    with registered(word_rule("CM299", "todo")):
        (found,) = lint(b"one\n\xff\xfe todo", only("CM299"))
    assert (found.line, found.column) == (2, 4)


def across(root, context):
    for path in root:
        for other in root:
            if path != other:
                related = (Related(other, 2, 3, "the other"),)
                yield Finding(0, 1, "met", related=related, path=path)


def test_rules_across_files_speak_of_a_place_in_each():
    files = {path: LintedFile.from_bytes(path, b"x\ny", CONTEXT.config) for path in ("a.md", "b.md")}
    with registered(making("CM298", "root", across)):
        settings = LintSettings(per_file=(("b.md", ("CM298",)),))
        found = lint_root(files, CONTEXT, settings, files.__getitem__)
    found = [each for each in found if each.code == "CM298"]
    assert [each.path for each in found] == ["a.md"]
    assert [(each.path, each.line, each.column) for each in found[0].related] == [("b.md", 2, 1)]


# --- ``catmem.lint``: the rules on one document, as a function of values --------------------------------------------------

AS_OF = date(2026, 11, 21)
TEXT = """\
## Style
[verified_date: 2026-01-02] test
§
The user prefers short answers with British spelling.
§
The user prefers short answers with British spelling.
"""


def found(text, **how):
    return [(each.line, each.code) for each in catmem.lint(catmem.parse(text), **how)]


def test_rules_on_the_file_and_across_its_entries_and_with_a_day_the_dated_ones_too():
    assert found(TEXT) == [(2, "CM203"), (6, "CM201")]
    assert found(TEXT, as_of=AS_OF) == [(2, "CM203"), (2, "CM307"), (6, "CM201")]


def test_a_comment_to_lint_is_text_like_any_other():
    text = "[created: 2026-05-01] test\n<!-- catmem: ignore CM203 -->\n"
    assert found(text) == [(2, "CM606")]
    document = catmem.parse(text)
    assert (document.text, document.entries[0].body) == (text, "test\n<!-- catmem: ignore CM203 -->")


@together("text", ["", "\n", "\ufeff", "§\n§\n"])
def test_nothing_to_say(text):
    assert found(text) == []


def test_the_categories_and_settings_of_a_root():
    taxonomy = Taxonomy(closed=True)
    assert found("## Other\nShort answers.\n", config=Config(Path("root"), taxonomy=taxonomy)) == [(1, "CM103")]
    assert found(TEXT, config=Config(Path("root"), lint={"ignore": ["CM2"]})) == []
    with pytest.raises(ConfigError, match="CM999"):
        found(TEXT, config=Config(Path("root"), lint={"ignore": ["CM999"]}))


def test_a_diagnostic_tells_its_place():
    (first, _) = catmem.lint(catmem.parse(TEXT))
    assert (first.path, first.line, first.column, TEXT[first.start : first.end]) == ("", 2, 1, TEXT.splitlines()[1])
