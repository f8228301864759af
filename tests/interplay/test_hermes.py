"""Hermes Agent's own MemoryStore works on the same files: the real package, from an environment of its own.

``make hermes-test`` makes that environment; ``CATMEM_HERMES_PYTHON`` names the Python of another.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from catmem.workspace.workspace import Workspace
from tests.golden.case import put

PROGRAM = Path(__file__).parent / "programs" / "hermes_store.py"


@pytest.fixture
def home(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\nhomes: '{name}/memories'\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    (tmp_path / "neo" / "memories").mkdir(parents=True)
    return tmp_path / "neo"


@pytest.fixture
def workspace(home):
    opened = Workspace.open(home.parent, search=False)
    yield opened
    opened.store.close()


@pytest.fixture
def hermes(hermes_python, home):
    """Calls one method of Hermes's store on ``user``."""

    def call(action, *arguments):
        done = subprocess.run(
            [hermes_python, PROGRAM, action, "user", *arguments],
            env={**os.environ, "HERMES_HOME": str(home)},
            check=True,
            capture_output=True,
            text=True,
        )
        return json.loads(done.stdout.split("\n")[-2])

    return call


def bodies(workspace):
    return [entry.body for entry in workspace.read("neo").document.entries]


def test_both_write_in_turn(workspace, hermes):
    assert hermes("add", "Hermes one.")["success"]
    workspace.add("neo", "Catmem one.")
    assert hermes("add", "Hermes two.")["success"]
    assert hermes("replace", "Hermes one.", "Hermes one, changed.")["success"]
    seen = workspace.read("neo")
    workspace.replace("neo", "Hermes two.", "Hermes two, changed by catmem.", expected=seen.digest)
    assert hermes("remove", "Catmem one.")["success"]
    assert bodies(workspace) == ["Hermes one, changed.", "Hermes two, changed by catmem."]
    assert list(workspace.path("neo", "user").parent.glob("*.bak.*")) == []


def test_both_write_at_once_and_every_entry_is_there(workspace, home, hermes_python):
    number = 60
    with subprocess.Popen(
        [hermes_python, PROGRAM, "add-many", "user", "Hermes", str(number)],
        env={**os.environ, "HERMES_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "ready\n"
        other.stdin.write("go\n")
        other.stdin.flush()
        for count in range(number):
            workspace.add("neo", f"Catmem {count}")
        assert json.loads(other.stdout.readline()) == [True] * number
    expected = {f"{who} {count}" for who in ("Hermes", "Catmem") for count in range(number)}
    assert set(bodies(workspace)) == expected
