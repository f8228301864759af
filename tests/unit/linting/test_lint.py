"""``catmem.lint``: the rules on one document, as a function of values."""

from datetime import date
from pathlib import Path

import pytest

import catmem
from catmem.config.config import Config, Taxonomy
from catmem.errors import ConfigError
from tests.together import together

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
