"""Imports go down only, nothing below the service touches the world, one name is one thing (docs/architecture.md).

All that looks at every module stands here: the package is parsed once.
"""

import ast
import gc
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, cached_property
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.docs.test_sentences import MOST_WORDS, words

GROUND = {
    "errors",
    "text",
    "digest",
    "jsonable",
    "clock",
    "names",
    "files",
    "resources",
    "commands",
    "registry",
}
# From the bottom up. The store stands beside syntax, model and the rules, and neither side knows the other: see below.
# A feature has its rules, which are pure, and its half on disk in one folder: `PURE` names the rules.
# The surface (`catmem/__init__.py`) gathers what the layers offer, so only adapters import it.
LAYERS = [
    "ground",
    "store",
    "syntax",
    "model",
    "rules",
    "service",
    "ops",
    "surface",
    "server",
    "mcp",
    "cli",
    "plugins",
]

FEATURES = {
    "config", "prompt", "threats", "linting", "search", "seeding", "staleness",
    "writing", "envelopes", "proposals", "entities", "merging", "audit", "workspace",
}  # fmt: skip
PURE = {
    "catmem.config", "catmem.prompt", "catmem.threats", "catmem.linting", "catmem.search.index", "catmem.search.query",
    "catmem.seeding.slices", "catmem.staleness.freshness",
}  # fmt: skip
"""Modules and packages of rules: values in, values out."""
ON_DISK = {
    "catmem.linting.root_lint",
}
"""The modules of pure packages that are no rules."""

READS = {"catmem.files", "catmem.resources"}
READING = {"os_errors", "permission_or_io", "read_bounded"}
"""What the layers below the service may take from `catmem.files`."""
CATALOGUE = {"catmem.errors"}
"""Reads what the package ships of codes; every layer raises errors."""
LOADERS = {"catmem.config.config", "catmem.config.profile", "catmem.config.yamlfile"}

WORLDLY_MODULES = {
    "asyncio", "ctypes", "fcntl", "fileinput", "ftplib", "glob", "http", "io", "mmap", "multiprocessing", "os",
    "pathlib", "pickle", "random", "secrets", "select", "shelve", "shutil", "signal", "smtplib", "socket",
    "socketserver", "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
WORLDLY_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}
CONTENT_METHODS = {
    "read_text", "read_bytes", "write_text", "write_bytes", "open", "touch", "mkdir", "rmdir", "unlink",
    "rename", "chmod", "symlink_to", "hardlink_to",
}  # fmt: skip
LOOKING_METHODS = {
    "exists", "is_file", "is_dir", "is_symlink", "iterdir", "glob", "rglob", "walk", "stat", "lstat", "resolve",
    "readlink", "expanduser", "absolute", "cwd", "home", "samefile",
}  # fmt: skip
CLOCK_METHODS = {"today", "now", "utcnow"}


class Module:
    """One module of the package: its name, its layer and its syntax tree."""

    def __init__(self, package: Path, path: Path) -> None:
        self.place = path.relative_to(package).as_posix()
        parts = ["catmem", *path.relative_to(package).with_suffix("").parts]
        self.is_package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.is_package else parts)
        self.text = path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def parts(self) -> list[ast.AST]:
        """All of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        return [part for part in self.parts if isinstance(part, ast.Import | ast.ImportFrom)]

    @property
    def layer(self) -> str:
        return layer_of(self.name)


def layer_of(name: str) -> str:
    """The layer of a dotted module name; KeyError for one that the architecture does not know."""
    parts = name.split(".")
    if len(parts) == 1:
        return "surface"
    if parts[1] in GROUND:
        return "ground"
    if parts[1] == "__main__":
        return "cli"
    if parts[1] in FEATURES:
        pure = any(".".join(parts[:length]) in PURE for length in range(2, len(parts) + 1)) and name not in ON_DISK
        return "rules" if pure else "service"
    if parts[1] in LAYERS:
        return parts[1]
    raise KeyError(name)


@cache
def modules(package: Path) -> list[Module]:
    """All of the package. Its half a million parts stay to the end, so the garbage collector need not look at them."""
    gc.disable()
    try:
        found = [Module(package, path) for path in sorted(package.rglob("*.py"))]
        assert all(module.parts for module in found)
    finally:
        gc.freeze()
        gc.enable()
    return found


def names(package: Path) -> set[str]:
    return {module.name for module in modules(package)}


def imports(module: Module, known: set[str]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each import, those inside functions and under TYPE_CHECKING too: all are dependencies."""
    for part in module.imports:
        if isinstance(part, ast.Import):
            yield from ((part.lineno, alias.name) for alias in part.names)
        else:
            base = part.module or ""
            if part.level:
                parents = module.name.split(".")
                parents = parents[: len(parents) - part.level + module.is_package]
                base = ".".join([*parents, *([part.module] if part.module else [])])
            for alias in part.names:
                full = f"{base}.{alias.name}"
                yield part.lineno, full if full in known else base


def upward(module: Module, known: set[str]) -> list[str]:
    """The imports of a module that go up, or that go to a module which does not exist."""
    found = []
    for line, name in imports(module, known):
        if name != "catmem" and not name.startswith("catmem."):
            continue
        if name not in known:
            found.append(f"{module.name}:{line} imports {name}, which does not exist")
        elif LAYERS.index(layer_of(name)) > LAYERS.index(module.layer):
            found.append(f"{module.name}:{line} ({module.layer}) imports {name} ({layer_of(name)})")
    return found


def worldly(module: Module, known: set[str]) -> list[str]:
    """Where a module below the service does input or output, or asks for the day."""
    may_look = module.name in READS | LOADERS | CATALOGUE
    found = []
    for line, name in imports(module, known):
        top = name.split(".")[0]
        typing_only = top == "pathlib" or name in {"os", "os.PathLike"}
        if top in WORLDLY_MODULES and not may_look and not (typing_only and line in _typing_lines(module)):
            found.append(f"{module.name}:{line} imports {name}")
        if name in READS and module.layer in {"syntax", "model"}:
            found.append(f"{module.name}:{line} imports {name}")
        if name == "catmem.files" and module.layer == "rules" and module.name not in LOADERS:
            found.append(f"{module.name}:{line} imports {name}: only the loaders of profiles and configuration read")
    writes = {
        (part.lineno, each.name)
        for part in module.imports
        if isinstance(part, ast.ImportFrom) and part.module == "catmem.files"
        for each in part.names
        if each.name not in READING
    }
    found += [f"{module.name}:{line} imports catmem.files.{name}" for line, name in writes]
    for part in module.parts:
        if not isinstance(part, ast.Call):
            continue
        if isinstance(part.func, ast.Name) and part.func.id in WORLDLY_CALLS:
            found.append(f"{module.name}:{part.lineno} calls {part.func.id}()")
        elif isinstance(part.func, ast.Attribute):
            called = part.func.attr
            content = called in CONTENT_METHODS and module.name not in READS | CATALOGUE
            looking = called in LOOKING_METHODS and not may_look
            if content or looking or (called in CLOCK_METHODS and module.name != "catmem.clock"):
                found.append(f"{module.name}:{part.lineno} calls .{called}()")
    return found


@cache
def _typing_lines(module: Module) -> set[int]:
    """The lines under ``if TYPE_CHECKING:``, where an import names a type and does nothing."""
    return {
        part.lineno
        for branch in module.parts
        if isinstance(branch, ast.If) and isinstance(branch.test, ast.Name) and branch.test.id == "TYPE_CHECKING"
        for part in ast.walk(branch)
        if isinstance(part, ast.Import | ast.ImportFrom)
    }


def test_every_module_has_a_layer(package):
    for module in modules(package):
        assert module.layer in LAYERS, module.name


def test_imports_go_down_only(package):
    known = names(package)
    assert [line for module in modules(package) for line in upward(module, known)] == []


def test_documents_know_no_store(package):
    known = names(package)
    pillar = [module for module in modules(package) if module.layer in {"syntax", "model", "rules"}]
    assert pillar
    met = [(m.name, line, name) for m in pillar for line, name in imports(m, known) if name.startswith("catmem.store")]
    assert met == []


def test_no_code_but_the_table_knows_the_kinds_of_stores(package):
    """Others ask the table of `workspace/stores`, or the store; a name of a kind alone is what such a question needs."""
    found = [
        f"{module.name}:{part.lineno}"
        for module in modules(package)
        if not module.name.startswith(("catmem.store.", "catmem.plugins.sql", "catmem.workspace.stores"))
        for part in module.parts
        if isinstance(part, ast.Constant) and re.fullmatch(r"(sqlite|postgresql):?/*", str(part.value))
        if module.name != "catmem.linting.rules.entries"  # what facts are of
    ]
    assert found == []


def test_nothing_below_the_service_touches_the_world(package):
    known = names(package)
    below = [m for m in modules(package) if m.layer != "store" and LAYERS.index(m.layer) < LAYERS.index("service")]
    assert below
    assert [line for module in below for line in worldly(module, known)] == []


def test_no_modules_import_each_other_in_a_circle(package):
    """Imports inside functions count too; what only names a type does nothing."""
    known = names(package)
    needs = {
        module.name: {
            name
            for line, name in imports(module, known)
            if name in known - {"catmem", module.name} and line not in _typing_lines(module)
        }
        for module in modules(package)
    }
    assert len([*TopologicalSorter(needs).static_order()]) > 100


def test_all_layers_of_the_architecture_exist(package):
    assert {module.layer for module in modules(package)} == set(LAYERS)


def test_the_architecture_page_names_every_ground_module(root):
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("ground "))
    assert set(line.split()[1:]) == GROUND


def test_only_the_gate_commits_to_the_store_of_a_root(package):
    """Others commit to other stores: of files that are no entity, of Hermes Agent's files, of a simulation."""
    found = {
        module.place
        for module in modules(package)
        if not module.place.startswith(("store/", "plugins/sql/"))
        for part in module.parts
        if isinstance(part, ast.Attribute) and part.attr == "commit" and _may_be_a_store(part.value)
    }
    assert found == {
        "writing/gate.py",
        "workspace/change_plan.py",
        "plugins/hermes/memory_store.py",
        "plugins/simulate/operations.py",
    }


def _may_be_a_store(value: ast.expr) -> bool:
    """Whether a value that has a ``commit`` is one; writers have attempts, and the gate itself."""
    return ast.unparse(value).split(".")[-1] not in {"gate", "trying", "attempt", "a", "self", "super()"}


def test_each_module_says_in_one_short_sentence_what_it_is(package):
    first = {each.place: (ast.get_docstring(each.tree) or "").partition("\n")[0] for each in modules(package)}
    assert {place: line for place, line in first.items() if not line or words(line) > MOST_WORDS} == {}


def more_than_one(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_class_and_no_alias_has_the_name_of_another(package):
    """Private ones too: a name that is met twice is looked up twice."""
    places = defaultdict(list)
    for module in modules(package):
        for part in module.parts:
            if isinstance(part, ast.ClassDef):
                places[part.name.lstrip("_")].append(module.place)
        for part in module.tree.body:
            if isinstance(part, ast.Assign | ast.AnnAssign):
                name = ast.unparse(part.target if isinstance(part, ast.AnnAssign) else part.targets[0]).lstrip("_")
                if name[:1].isupper() and not name.isupper():
                    places[name].append(module.place)
    assert len(places) > 400
    assert more_than_one(places) == {}


OF_GROUPS = {"ops"}
"""A group of operations has one name here, that of what it is on: `ops/branches` is on what `merging/branches` knows."""
OF_PLUGINS = {"operations.py", "texts.py"}
"""What every plugin may have (`docs/first-change.md`)."""


def test_no_module_has_the_name_of_another(package):
    places = defaultdict(list)
    for module in modules(package):
        folder, _, name = module.place.rpartition("/")
        if name not in {"__init__.py", "__main__.py", *OF_PLUGINS} and folder not in OF_GROUPS:
            places[name].append(module.place)
    assert len(places) > 100
    assert more_than_one(places) == {}


@pytest.fixture
def fake(tmp_path):
    """Makes a module of a pretended package from its place and its text."""

    def make(place: str, text: str) -> Module:
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return Module(tmp_path, path)

    return make


KNOWN = {"catmem", "catmem.text", "catmem.errors", "catmem.files", "catmem.model", "catmem.model.edit", "catmem.cli"}


@pytest.mark.parametrize(
    "line",
    [
        "from catmem.model.edit import add",
        "from catmem.model import edit",
        "from catmem import parse",
        "import catmem.cli",
        "from ..model import edit",
        "from catmem.nowhere import thing",
        "def f():\n    from catmem.model import edit",
    ],
)
def test_the_walk_sees_an_upward_import(fake, line):
    assert upward(fake("syntax/scan.py", line), KNOWN)


@pytest.mark.parametrize(
    "line",
    [
        "open('x')",
        "path.read_text()",
        "path.exists()",
        "import subprocess",
        "import os",
        "import os.path",
        "from socket import socket",
        "from catmem.files import read_bounded",
        "date.today()",
        "print('x')",
    ],
)
def test_the_walk_sees_input_and_output(fake, line):
    assert worldly(fake("model/document.py", line), KNOWN)
