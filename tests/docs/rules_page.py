"""The head of docs/rules.md, made from the rules themselves: lists of all; and what they find in real files.

The rules' pages below it stay.
"""

from datetime import date

from catmem.config.config import Config
from catmem.linting.linted import Context, LintedFile
from catmem.linting.rule import all_rules
from tests.docs.pages import ROOT

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


def counts() -> tuple[int, dict[str, int]]:
    """How many sample files there are, and in how many of them a rule that looks at memory files finds something."""
    rules = all_rules()
    config = Config(SAMPLES)
    context = Context(config, AS_OF, rule_options={code: rule.options for code, rule in rules.items()})
    files = [
        LintedFile.from_bytes(path.name, path.read_bytes(), config) for path in sorted(SAMPLES.glob("sample-*.md"))
    ]
    root = {file.path: file for file in files if not file.error}
    found: dict[str, int] = {}
    for code, rule in rules.items():
        if rule.scope == "file":
            found[code] = sum(1 for file in files if list(rule.check(file, context)))
        elif rule.scope == "root":
            # What is wrong with the root around the files is no finding in one of them.
            found[code] = len({finding.path for finding in rule.check(root, context)} & root.keys())
    return len(files), found


def page() -> str:
    """The whole page."""
    return f"{_INTRO}\n{_lists()}\n{PAGES_START}{PAGE.read_text(encoding='utf-8').partition(PAGES_START)[2]}"


def _lists() -> str:
    """The rules by severity, and those with a fix."""
    rules = all_rules().values()
    lines = []
    for severity in ("error", "warning", "hint"):
        linked = ", ".join(
            f"[{rule.code}](#{rule.code.lower()}-{rule.name})" for rule in rules if rule.severity == severity
        )
        lines.append(f"- **{severity.capitalize()}s**: {linked}.\n")
    for fixes in ("safe", "unsafe"):
        codes = ", ".join(rule.code for rule in rules if rule.fixes in {fixes, "both"})
        lines.append(f"- **With {fixes} fixes**: {codes}.\n")
    return "".join(lines)
