"""The report whose renderings stand in ``tests/golden/lint/``; ``python -m tests.golden.lint_case`` writes them anew.

Look at every difference before committing one: programs read these forms.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from catmem.linting.renderers import render
from catmem.linting.rule import Diagnostic, Fix, LintResult, Region, Related
from catmem.model.edit import TextEdit
from catmem.text import LineIndex
from tests.unit.linting.rules_for_tests import registered, word_rule

FOLDER = Path(__file__).parent / "lint"
NAMES = {"text": "report.txt", "json": "report.json", "github": "report.github.txt", "sarif": "report.sarif.json"}

SOURCES = {
    "homes/neo/USER.md": (
        "# Nutzer\n\n## Communication Style\n[verified_date: 2026-05-01] Antwortet kurz.\r\n§\n日本語のメモ todo e\u0301tc\n"
        "\ttodo\twith tabs\n§\n" + "long line " * 20 + "todo " + "and on " * 20 + "\n§\nkey AKIA0123456789 here\n§\n"
        "two\nlines todo\n§\nhidden \u202e and \x1b[31mred todo\n"
    ),
    "homes/a b,c:ü/USER.md": "todo 100%\n",
}


@contextmanager
def golden_rules() -> Iterator[None]:
    """The rules of the report."""
    with registered(
        word_rule("CM299", "todo", name="no-todo", fixes="safe"),
        word_rule("CM298", "later", name="no-later", severity="hint"),
        word_rule("CM699", "secret", name="no-secret", severity="error", private=True),
    ):
        yield


def golden_report() -> LintResult:
    """Findings of every kind: wide, combining and hidden characters, tabs, several lines, related places, fixes."""
    neo = "homes/neo/USER.md"
    text = SOURCES[neo]
    tags = text.index("[verified")
    wide, tab, long, key = (text.index(word) for word in ("todo e", "todo\twith", "todo and on", "AKIA"))
    lines, hidden = text.index("two\n"), text.index("\u202e")
    fix = Fix((TextEdit(wide, wide + 4, "done"),), safe=True, message="Write 'done'")
    unsafe = Fix((TextEdit(tab - 1, tab, ""), TextEdit(tab, tab + 4, "")), safe=False, message="Remove it")
    related = (Related("homes/a b,c:ü/USER.md", 0, 4, "the first"), Related("", tags, tags + 3, "and here", 4, 1))
    found = [
        _found(neo, wide, wide + 4, "CM299", hint="Do it", fix=fix),
        _found(neo, tab, tab + 4, "CM299", fix=unsafe, related=related),
        _found(neo, long, long + 4, "CM298", severity="hint"),
        _found(neo, key, key + 14, "CM699", severity="error", hint="Change it; it is known"),
        _found(neo, key - 4, key - 1, "CM298", severity="hint", message="a secret beside it is not shown either"),
        _found(neo, lines, lines + 14, "CM299"),
        _found(neo, hidden, hidden + 1, "CM299"),
        _found("homes/a b,c:ü/USER.md", 0, 4, "CM299", message="100% of\nit: a, b"),
        replace(_found("homes/gone/USER.md", 0, 0, "CM699", severity="error"), region=Region(1, 1, 1, 1)),
    ]
    return LintResult(found, 3, SOURCES.get)


def _found(path: str, start: int, end: int, code: str, *, severity: str = "warning", **more) -> Diagnostic:
    index = LineIndex(SOURCES.get(path, ""))
    region = Region(*index.position(start), *index.position(end))
    name = {"CM299": "no-todo", "CM298": "no-later", "CM699": "no-secret"}[code]
    message = more.pop("message", "this stands here")
    return Diagnostic(path, start, end, region, code, name, severity, message, fingerprint="b2:0", **more)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with golden_rules():
        for form, name in NAMES.items():
            (FOLDER / name).write_text(render(golden_report(), form, "0.0.0"), encoding="utf-8", newline="")
