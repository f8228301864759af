"""The real server in a process of its own, and a root for it with something to show on every page."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from catmem.workspace.workspace import Workspace
from catmem.writing.request import Operation
from tests.unit.server.page import conftest as page

SECONDS = 30
LOG = "serve.log"
CONFIG = """\
taxonomy:
  categories:
    talk: {title: Talk}
    rules: {title: Rules}
    vault: {}
    notes: {title: Notes}
limits: {user: 2000}
"""
NEO = page.NEO.replace("\n\n## Rules", "\n§\n[verified_date: 2020-03-01] Signs mail with **both** names.\n\n## Rules")
PROPOSED = {"Signs mail": "Signs mail with **one** name.", "Book travel": "Book travel to cost centre 411."}


def make_root(folder: Path) -> Path:
    """The root of the tests of the page, with two proposals of neo."""
    page.make_root(folder, NEO, CONFIG)
    with opened(folder) as workspace:
        for old, new in PROPOSED.items():
            change = Operation("replace", new, old)
            workspace.write("neo", [change], actor="neo", proposes=True, reason="He said so.")
    return folder


@contextmanager
def opened(folder: Path) -> Iterator[Workspace]:
    """The root by way of the library: another writer than the server."""
    workspace = Workspace.open(folder, search=False)
    try:
        yield workspace
    finally:
        workspace.store.close()


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs: its root and its address, ``http://127.0.0.1:…``."""

    root: Path
    url: str

    def requests(self, method: str) -> list[str]:
        """The addresses that were asked for with a method, each with the status of its answer, in order."""
        log = (self.root.parent / LOG).read_text(encoding="utf-8")
        return re.findall(rf" {method} (\S+ \d+)", log)

    def text(self, entity: str = "neo/user") -> str:
        """What is on file now."""
        with opened(self.root) as workspace:
            return workspace.store.peek(entity).decode()


@contextmanager
def serving(root: Path, *options: str) -> Iterator[Server]:
    """``catmem serve`` over a root. It has to end well, and to have said nothing of an error of its own."""
    command = [sys.executable, "-m", "catmem", "serve", "--port", "0", "--format", "json", "--root", str(root)]
    # Its home is the test's, so that it finds the tokens of the test and no others.
    surroundings = {**os.environ, "XDG_CONFIG_HOME": str(root.parent / "config")}
    log = root.parent / LOG
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=errors, text=True, env=surroundings
        ) as process,
    ):
        try:
            said = "".join(process.stdout.readline() for _ in range(5))
            assert said, log.read_text(encoding="utf-8")
            yield Server(root, json.loads(said)["url"])
            process.terminate()
            assert process.wait(timeout=SECONDS) == 0
        finally:
            if process.poll() is None:
                process.kill()
    assert "Traceback" not in log.read_text(encoding="utf-8")
