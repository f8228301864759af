"""The table of packages in docs/architecture.md, made from their docstrings.

The text of the page before it stays.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import catmem
from tests.docs.pages import ROOT, made_anew

PAGE = ROOT / "docs" / "architecture.md"
PACKAGE = Path(catmem.__file__).parent  # perhaps that of an installed wheel
BEGIN = "<!-- From here on made from the docstrings of the packages by `make docs`. -->\n"


def page() -> str:
    """The whole page, with the table made anew."""
    return made_anew(PAGE, BEGIN, table())


def table() -> str:
    """A row for each package: what it says of itself first."""
    rows = ["| package | its job |", "|---|---|"]
    for init in sorted(PACKAGE.rglob("__init__.py"), key=lambda path: path.parent.as_posix()):
        name = f"{init.parent.relative_to(PACKAGE.parent).as_posix()}/"
        rows.append(f"| `{name}` | {first_sentence(init)} |")
    return "\n".join(rows) + "\n"


def first_sentence(path: Path) -> str:
    """What a module's docstring says first. ValueError for a module without one."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not said:
        message = f"{path} has no docstring"
        raise ValueError(message)
    first = " ".join(said.split("\n\n", 1)[0].split())
    sentence = re.split(r"(?<=[.;])\s(?=[A-Z])", first, maxsplit=1)[0]
    return sentence.replace("``", "`").replace("|", "\\|").rstrip(".:")
