"""docs/errors.md names every error class and code of the source, each code under its class, and no other."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import catmem
from catmem.errors import CatmemError, ConfigError, UnreadableError
from catmem.files import os_errors
from tests.docs.pages import ROOT

_CODE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_UNUSED = ("never raised", "not raised in this version")


def error_classes() -> dict[str, type[CatmemError]]:
    """Every error class of the package by its name."""
    for module in pkgutil.walk_packages(catmem.__path__, "catmem."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return {cls.__name__: cls for cls in subclasses(CatmemError) if cls.__module__.startswith("catmem.")}


def subclasses(cls: type[CatmemError]) -> list[type[CatmemError]]:
    """The class and everything below it."""
    return [cls, *(each for below in cls.__subclasses__() for each in subclasses(below))]


def codes_in(source: str) -> set[tuple[str, str]]:
    """`(class, code)` for each code in a module: `code = "…"` in a class, `Error(code="…")`, `fault(place, "…")`.

    The methods `fault`, of the readers of YAML, make a ConfigError; `os_errors` makes what its `kind` says.
    """
    found: set[tuple[str, str]] = set()
    for part in ast.walk(ast.parse(source)):
        if isinstance(part, ast.ClassDef):
            for line in part.body:
                if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "code":
                    found |= {(part.name, code) for code in constants(line.value)}
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "fault":
            found |= {(ConfigError.__name__, code) for code in constants(*part.args[1:2])}
        elif isinstance(part, ast.Call):
            name, given = ast.unparse(part.func), {keyword.arg: keyword.value for keyword in part.keywords}
            if name == os_errors.__name__:
                name = ast.unparse(given["kind"]) if "kind" in given else UnreadableError.__name__
                given.setdefault("code", ast.Constant(inspect.signature(os_errors).parameters["code"].default))
            found |= {(name, code) for code in constants(*([given["code"]] if "code" in given else []))}
    return found


def constants(*values: ast.expr) -> set[str]:
    """The codes that stand in some expressions as they are."""
    parts = [part.value for value in values for part in ast.walk(value) if isinstance(part, ast.Constant)]
    return {part for part in parts if isinstance(part, str) and _CODE.fullmatch(part)}


def sections_of(page: str) -> dict[str, str]:
    """What stands below each heading, up to the next."""
    parts = re.split(r"(?m)^#{1,6} (.+)$", page)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows_of(section: str) -> list[list[str]]:
    """The cells of each row about a code: code, when, example, the way out."""
    rows = re.findall(r"(?m)^\| `[a-z0-9_]+` \|.*$", section)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


CLASSES = error_classes()
SECTIONS = sections_of((ROOT / "docs" / "errors.md").read_text(encoding="utf-8"))
ROWS = [(name, row) for name in CLASSES for row in rows_of(SECTIONS.get(name, ""))]


def test_every_code_stands_under_its_class_and_no_other_does():
    files = Path(catmem.__file__).parent.rglob("*.py")
    in_source = {pair for path in files for pair in codes_in(path.read_text(encoding="utf-8"))}
    assert {(name, row[0].strip("`")) for name, row in ROWS} == in_source


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_a_section_with_its_status(name):
    said = re.search(r"(?m)^Status (\d)", SECTIONS[name])
    assert said
    assert int(said[1]) == CLASSES[name].exit_status


@pytest.mark.parametrize(("name", "row"), ROWS, ids=[f"{name}-{row[0]}" for name, row in ROWS])
def test_every_code_has_a_case_an_example_and_a_way_out(name, row):
    code, when, example, way_out = row
    assert when
    assert (bool(example) and bool(way_out)) != any(unused in when for unused in _UNUSED), code


def test_codes_in_a_source_are_seen():
    source = """
class OddError(Exception):
    code = "odd"

def work(self, path, code):
    raise OddError("a message", code="very_odd" if path else "less_odd")
    raise self.fault(path, "at_fault", "a_message")
    raise OddError("not_a_code", code=code)
"""
    pairs = {("OddError", "odd"), ("OddError", "very_odd"), ("OddError", "less_odd"), ("ConfigError", "at_fault")}
    assert codes_in(source) == pairs
