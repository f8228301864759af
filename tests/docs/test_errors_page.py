"""The catalogue has every error class and code of the source, each code under its class, and no other.

docs/errors.md is made from it.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import catmem
from catmem.errors import CatmemError, ConfigError, RequestError, UnreadableError, catalogue
from catmem.files import os_errors
from tests.docs.errors_page import PAGE
from tests.together import together

_CODE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


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
    """`(class, code)` for each code in a module: `code = "…"` in a class, `Error(code="…")`, `fault(…, code="…")`.

    `YamlFile.fault` makes a ConfigError, which has the code `schema` by default; `os_errors` makes what its `kind` says.
    """
    found: set[tuple[str, str]] = set()
    for part in ast.walk(ast.parse(source)):
        if isinstance(part, ast.ClassDef):
            for line in part.body:
                if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "code":
                    found |= {(part.name, code) for code in constants(line.value)}
        elif isinstance(part, ast.Call):
            name, given = ast.unparse(part.func), {keyword.arg: keyword.value for keyword in part.keywords}
            if name.endswith(".fault"):
                name = ConfigError.__name__
            if name == os_errors.__name__:
                name = ast.unparse(given["kind"]) if "kind" in given else UnreadableError.__name__
                given.setdefault("code", ast.Constant(inspect.signature(os_errors).parameters["code"].default))
            found |= {(name, code) for code in constants(*([given["code"]] if "code" in given else []))}
    return found


def constants(*values: ast.expr) -> set[str]:
    """The codes that stand in some expressions as they are."""
    parts = [part.value for value in values for part in ast.walk(value) if isinstance(part, ast.Constant)]
    return {part for part in parts if isinstance(part, str) and _CODE.fullmatch(part)}


FILES = [*Path(catmem.__file__).parent.rglob("*.py")]
CLASSES = error_classes()
ROWS = [(name, code, row) for name, listed in catalogue().items() for code, row in listed["codes"].items()]


def test_every_class_is_listed():
    assert set(catalogue()) == set(CLASSES)


def test_every_code_stands_under_its_class_and_no_other_does():
    in_source = {pair for path in FILES for pair in codes_in(path.read_text(encoding="utf-8"))}
    assert {(name, code) for name, code, _ in ROWS} == in_source


def fault_codes(source: str) -> set[str]:
    """The codes of each `Fault` of a module, also behind a name that it gives to one."""
    tree = ast.parse(source)
    named = {ast.unparse(part.targets[0]): part.value for part in tree.body if isinstance(part, ast.Assign)}
    calls = [part for part in ast.walk(tree) if isinstance(part, ast.Call) and ast.unparse(part.func) == "Fault"]
    return {code for call in calls for code in constants(named.get(ast.unparse(call.args[0]), call.args[0]))}


def test_every_code_of_a_fault_stands_in_the_table_of_fsck():
    in_source = {code for path in FILES for code in fault_codes(path.read_text(encoding="utf-8"))}
    table = PAGE.read_text(encoding="utf-8").partition("## What `catmem fsck` reports")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(in_source)


@together(("name", "code", "row"), ROWS, ids=[f"{name}-{code}" for name, code, _ in ROWS])
def test_every_code_has_a_case_an_example_and_a_way_out(name, code, row):
    assert row["when"]
    assert (bool(row["message"]) and bool(row["remedy"])) != (row["when"] == "never raised"), (name, code)


def test_a_status_stands_with_a_code_only_where_it_is_not_that_of_the_class():
    listed = catalogue()
    for name, code, row in ROWS:
        given = {kind: row[kind] for kind in ("http", "exit") if kind in row and name != RequestError.__name__}
        assert all(listed[name][kind] != status for kind, status in given.items()), (name, code)
        assert set(row) <= {"when", "message", "remedy", "http", "exit"}
