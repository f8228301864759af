"""How large the package is, and how much of it a job passes: ``python -m benchmarks.shape``.

Counts and no times, so that they are the same on every machine. "Passed" are the files of the package in which some
function ran, "loaded" the modules that a process of the command line imports. A read is an ``open`` of a Markdown or
YAML file for reading; the number is that of the name that is opened most often.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from starlette.testclient import TestClient

import catmem
from catmem.cli.main import group
from catmem.envelopes.tokens import new_token
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

PACKAGE = Path(catmem.__file__).parent

WANTED = {
    "lines": 58_000,
    "asks for the store's kind": 0,
    "prompt: files": 28,
    "add: files": 60,
    "HTTP write: files": 62,
    "add: modules loaded": 75,
}

_KIND = re.compile(
    r"\b(sql_store|keeps_files|has_one_writer)\(|\.keeps_files\b|isinstance\([^)]*(SqlStore|FileStore|MemoryStore)\b"
    r"|\.store\.(startswith|partition)\(|\.store [!=]= "
)

_LOADED = """
import sys
from catmem.cli.main import group
try:
    group(["add", "-p", "neo", "-c", "dev-workflow", "Uses tabs."])
except SystemExit:
    pass
print(sum(name.partition(".")[0] == "catmem" for name in sys.modules), file=sys.stderr)
"""


def size() -> dict[str, int]:
    """Lines, files, classes, and public names of classes that mean two things."""
    files = sorted(PACKAGE.rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in files]
    names = Counter(node.name for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))
    asking = [
        line
        for path, text in zip(files, texts, strict=True)
        if "store" not in path.relative_to(PACKAGE).parts[:1]
        for line in text.splitlines()
        if _KIND.search(line) and not line.lstrip().startswith("def ")
    ]
    return {
        "lines": sum(text.count("\n") for text in texts),
        "files": len(files),
        "classes": sum(names.values()),
        "public names of two classes": sum(count > 1 for name, count in names.items() if not name.startswith("_")),
        "asks for the store's kind": len(asking),
    }


class Watched:
    """The files of the package that run, and how often files of a root are opened for reading."""

    def __init__(self) -> None:
        """Nothing is watched before the first job."""
        self.codes: set[CodeType] = set()
        self.reads: Counter[str] = Counter()
        self.is_on = False
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_on and event == "open" and not (arguments[2] or 0) & os.O_ACCMODE:
            name = Path(str(arguments[0])).name
            self.reads[name] += name.endswith((".md", ".yaml"))

    def _call(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self.codes.add(frame.f_code)

    def job(self, name: str, work: Callable[[], object]) -> dict[str, int]:
        """What the work passes, in all threads that it begins; its modules were loaded before."""
        self.codes.clear()
        self.reads.clear()
        self.is_on = True
        threading.setprofile(self._call)
        sys.setprofile(self._call)
        try:
            work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self.is_on = False
        files = {code.co_filename for code in self.codes if code.co_filename.startswith(str(PACKAGE))}
        functions = sum(code.co_filename in files for code in self.codes)
        most = max(self.reads.values(), default=0)
        return {f"{name}: files": len(files), f"{name}: functions": functions, f"{name}: reads of one file": most}


def _command(*arguments: str) -> None:
    done = CliRunner().invoke(group, arguments)
    if done.exit_code:
        raise RuntimeError(done.output)


def _jobs(root: Path) -> dict[str, Callable[[], object]]:
    workspace = Workspace.open(root)
    tokens = root.parent / "tokens.json"
    _, token = new_token(workspace.config, tokens, "somebody", person=True)
    app = create_app(workspace, ServerSettings(tokens=tokens))
    client = TestClient(app, base_url="http://127.0.0.1:8428", headers={"Authorization": f"Bearer {token}"})
    change = {"action": "add", "category": "dev-workflow", "content": "Runs tests on save."}
    seen = workspace.store.read("neo/user").revision
    form = {"entity_id": "neo/user", "prev_rev": seen, "content": [change]}
    here = ["--root", str(root)]
    return {
        "prompt": lambda: _command("prompt", "trinity", *here),
        "HTTP write": lambda: client.post("/mem/write", json=form).raise_for_status(),
        "add": lambda: _command("add", "-p", "neo", "-c", "dev-workflow", "Uses tabs.", *here),
        "seed, nothing to do": lambda: _command("seed", "--all", *here),
    }


def jobs() -> dict[str, int]:
    """What each job passes: the second time, on a fresh root, so that what is loaded once is not counted."""
    watched = Watched()
    found: dict[str, int] = {}
    for is_second in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "root"
            _command("init", "--example", str(root))
            _command("add", "-p", "neo", "-c", "dev-workflow", "Uses an ergonomic keyboard.", "--root", str(root))
            for name, work in _jobs(root).items():
                found.update(watched.job(name, work) if is_second else {})
                if not is_second:
                    work()
    return found


def loaded() -> int:
    """How many modules of the package a process of ``catmem add`` loads."""
    with tempfile.TemporaryDirectory() as folder:
        _command("init", "--example", folder)
        done = subprocess.run([sys.executable, "-c", _LOADED], cwd=folder, capture_output=True, text=True, check=True)
    return int(done.stderr.splitlines()[-1])


def main() -> None:
    """Print each figure, beside what is wanted of it."""
    found = {**size(), **jobs(), "add: modules loaded": loaded()}
    for name, value in found.items():
        wanted = f"   at most {WANTED[name]:,}" if name in WANTED else ""
        print(f"{name:38} {value:>8,}{wanted}")


if __name__ == "__main__":
    main()
