"""The head of docs/rules.md, made from the rules themselves: lists of all; and what they find in real files.

The rules' pages below it stay.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from catmem.config.config import Config
from catmem.linting.linted import Context, LintedFile
from catmem.linting.rule import all_rules
from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catmem.linting.rule import Rule

PAGE = ROOT / "docs" / "rules.md"
SAMPLES = ROOT / "tests" / "samples"
AS_OF = date(2026, 11, 21)
PAGES_START = "## CM1xx "

_INTRO = """\
# Rules of lint

<!-- `make docs` makes these lists. The pages of the rules, below it, are written by hand. -->

Every rule has a code that is never used for another one, a name, and a severity that
`lint.severity` of `catmem.yaml` may change. `catmem rule CM203` prints a rule's page. Errors and warnings make
`catmem lint` end with status 1, hints do not.

A *safe* fix changes no words and loses nothing; `catmem lint --fix` applies it. An *unsafe* one is a good guess:
`--unsafe-fixes` applies it too, and a person should look at the result.
"""


class Count(NamedTuple):
    """In how many files a rule finds something, and how much in all."""

    files: int
    findings: int


def counts() -> tuple[int, Mapping[str, Count]]:
    """How many sample files there are, and what each rule that looks at memory files finds in them, by code."""
    rules = all_rules()
    config = Config(SAMPLES)
    context = Context(config, AS_OF, rule_options={code: rule.options for code, rule in rules.items()})
    files = [
        LintedFile.from_bytes(path.name, path.read_bytes(), config) for path in sorted(SAMPLES.glob("sample-*.md"))
    ]
    root = {file.path: file for file in files if not file.error}
    found: dict[str, Count] = {}
    for code, rule in rules.items():
        if rule.scope == "file":
            each = [len(list(rule.check(file, context))) for file in files]
            found[code] = Count(sum(1 for number in each if number), sum(each))
        elif rule.scope == "root":
            paths = [finding.path for finding in rule.check(root, context)]
            # What is wrong with the root around the files is no finding in one of them.
            paths = [path for path in paths if path in root]
            found[code] = Count(len(set(paths)), len(paths))
    return len(files), found


def page() -> str:
    """The whole page."""
    head = "\n".join([_INTRO, *_lists()])
    return f"{head}\n{PAGES_START}{PAGE.read_text(encoding='utf-8').partition(PAGES_START)[2]}"


def _lists() -> list[str]:
    """The rules by severity, and those with a fix."""
    rules = all_rules().values()
    lines = []
    for severity in ("error", "warning", "hint"):
        linked = ", ".join(f"[{rule.code}](#{_anchor(rule)})" for rule in rules if rule.severity == severity)
        lines.append(f"- **{severity.capitalize()}s**: {linked}.")
    lines += [
        f"- **With {fixes} fixes**: {', '.join(rule.code for rule in rules if rule.fixes in {fixes, 'both'})}."
        for fixes in ("safe", "unsafe")
    ]
    return ["\n".join(lines) + "\n"]


def _anchor(rule: Rule) -> str:
    return f"{rule.code.lower()}-{rule.name}"
