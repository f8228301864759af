"""A root with one profile whose file people and other programs write to as well."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from catmem.workspace.workspace import Workspace
from tests.golden.case import put

TEXT = "## Facts\nThe office is in Lyon.\n§\nThe vendor is Acme.\n"


@pytest.fixture(scope="session")
def hermes_python():
    """A Python that has both Hermes Agent and catmem. Not by itself where there is one: its tests take minutes."""
    named = os.environ.get("CATMEM_HERMES_PYTHON", "")
    asked = [named, "-c", "import agent.memory_provider, tools.memory_tool, catmem"]
    if not Path(named).is_file() or subprocess.run(asked, capture_output=True, check=False, cwd="/").returncode:
        pytest.skip("NOT TESTED: no hermes-agent with catmem was named; 'make hermes-test' installs it")
    return named


@pytest.fixture
def workspace(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\nwritable_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", TEXT)
    opened = Workspace.open(tmp_path, search=False)
    yield opened
    opened.store.close()


@pytest.fixture
def file(workspace):
    return workspace.path("neo", "user")


@pytest.fixture
def program():
    """Finds a program, or skips the test and says which one is missing."""

    def find(name):
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"NOT TESTED: {name} is not installed on this machine")
        return found

    return find


def run(*command, cwd=None, **choices):
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, check=True, capture_output=True, text=True, **choices
    )


def bodies(workspace):
    return [entry.body for entry in workspace.read("neo").document.entries]


def backups(file):
    return sorted(file.parent.glob(f"{file.name}.bak.*"))


def history(workspace):
    """All that ever stood in the file."""
    return b"\0".join(data for _, data in workspace.store.replay("neo/user")).decode()
