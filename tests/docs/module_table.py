"""The table of packages in docs/architecture.md, made from their docstrings.

`python -m tests.docs.module_table` (`make docs`) writes it anew, and test_module_table.py compares it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import catmem
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "architecture.md"
PACKAGE = Path(catmem.__file__).parent  # perhaps that of an installed wheel
BEGIN = "<!-- From here on made from the docstrings of the packages by `make docs`. -->\n"


def page() -> str:
    """The whole page, with the table made anew. ValueError if the page has lost its mark."""
    before, begin, _ = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    if not begin:
        message = f"{PAGE.name} needs this line, behind which the table goes:\n{BEGIN}"
        raise ValueError(message)
    return f"{before}{BEGIN}\n{table()}"


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


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
