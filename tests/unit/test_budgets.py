"""No package of catmem has more lines than docs/architecture.md gives it."""

import re

from tests.docs.pages import ROOT

PACKAGE = ROOT / "catmem"
BUDGETS = {
    name: int(most.replace(",", ""))
    for name, most in re.findall(
        r"^\| `([\w/*.]+)` \| ([\d,]+) \|$", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE
    )
}
TOP = "*.py"


def lines(name: str) -> int:
    files = PACKAGE.glob(TOP) if name == TOP else (PACKAGE / name).rglob(TOP)
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def test_no_package_is_larger_than_its_budget():
    over = {name: count for name in BUDGETS if (count := lines(name)) > BUDGETS[name]}
    assert not over, "\n".join(
        f"{name} has {count:,} lines, {count - BUDGETS[name]:,} over its limit of {BUDGETS[name]:,}: take out as many, "
        "or raise the limit in docs/architecture.md, and say why in your change"
        for name, count in over.items()
    )


def test_every_package_has_a_budget():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.rglob(TOP))} - {
        "plugins",
        "__pycache__",
    }
    plugins = {f"plugins/{path.name}" for path in (PACKAGE / "plugins").iterdir() if any(path.rglob(TOP))}
    assert set(BUDGETS) == {TOP, *(f"{name}/" for name in folders | plugins)}
