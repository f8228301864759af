"""One name, one thing: no public class and no module of the package has the name of another (docs/architecture.md)."""

from __future__ import annotations

import ast
from collections import defaultdict


def test_no_public_class_has_the_name_of_another(package):
    places = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for part in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(part, ast.ClassDef) and not part.name.startswith("_"):
                places[part.name].append(path.relative_to(package).as_posix())
    assert len(places) > 300
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


OF_GROUPS = {"ops", "cli/texts", "cli/dialogues"}
"""A group of operations has one name here, that of what it is on: `ops/branches` is on what `merging/branches` knows."""
OF_PLUGINS = {"operations.py", "texts.py"}
"""What every plugin may have (`docs/first-change.md`)."""


def test_no_module_has_the_name_of_another(package):
    places = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        folder, of_plugin = path.parent.relative_to(package).as_posix(), path.name in OF_PLUGINS
        if path.name not in {"__init__.py", "__main__.py"} and folder not in OF_GROUPS and not of_plugin:
            places[path.name].append(path.relative_to(package).as_posix())
    assert len(places) > 200
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
