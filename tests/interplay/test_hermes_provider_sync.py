"""``catmem seed`` and stock Hermes Agent write the same files in turn; the real store of the real package.

No provider is in place here: nothing in Hermes Agent changes but the content of its two files.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.model.document import parse
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

STORE = Path(__file__).parent / "programs" / "hermes_store.py"
SOURCE = "## Tastes\nTea.\n§\nNo sugar.\n§\n## Tools\nUses vim.\n§\n## Payroll\nCANARY\n"
PROFILE = "seed_from: default\nuser_memory_categories: [tastes, tools]\ninclude_uncategorized: true\n"
FLEET = ("aide", "coder")


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    """Two profiles of Hermes Agent that are seeded from its default one."""
    hermes = tmp_path / ".hermes"
    put(hermes / "memories" / "USER.md", SOURCE)
    for name in FLEET:
        put(hermes / "profiles" / name / "config.yaml", "memory: {}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HERMES_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    catmem("init", "--from-hermes")
    for name in FLEET:
        put(hermes / "catmem-profiles" / f"{name}.yaml", PROFILE)
    return hermes


@pytest.fixture
def hermes(hermes_python, fleet):
    """Calls one method of Hermes Agent's own store on the user file of ``coder``; it has to succeed."""

    def call(action, *arguments, name="coder"):
        done = subprocess.run(
            [hermes_python, STORE, action, "user", *arguments],
            env={**os.environ, "HERMES_HOME": str(fleet if name == "default" else fleet / "profiles" / name)},
            check=True,
            capture_output=True,
            text=True,
        )
        answer = json.loads(done.stdout.split("\n")[-2])
        assert answer["success"], answer

    return call


def catmem(*arguments):
    done = CliRunner().invoke(group, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def user_file(fleet, name="coder"):
    if name == "default":
        return fleet / "memories" / "USER.md"
    return fleet / "profiles" / name / "memories" / "USER.md"


def facts(fleet, name="coder"):
    entries = parse(user_file(fleet, name).read_bytes()).entries
    return {entry.body: entry.category for entry in entries}


def test_stock_hermes_edits_a_synced_file_and_nothing_is_lost(fleet, hermes):
    catmem("seed", "--all", "--root", ".hermes")
    assert facts(fleet) == {"Tea.": "tastes", "No sugar.": "tastes", "Uses vim.": "tools"}
    hermes("add", "By Hermes.")
    hermes("replace", "No sugar", "Two sugars.")
    hermes("remove", "Uses vim")
    edited = user_file(fleet).read_bytes()
    assert facts(fleet) == {"Tea.": "tastes", "Two sugars.": "tastes", "By Hermes.": "__uncategorized__"}
    put(fleet / "memories" / "USER.md", SOURCE.replace("Tea.", "Green tea."))
    assert "/user: 1 changed (revision " in catmem("seed", "--all", "--root", ".hermes")
    # The source's edit arrived, and what Hermes Agent changed, removed and added is as it left it.
    assert facts(fleet) == {"Green tea.": "tastes", "Two sugars.": "tastes", "By Hermes.": "__uncategorized__"}
    assert facts(fleet, "aide") == {"Green tea.": "tastes", "No sugar.": "tastes", "Uses vim.": "tools"}
    workspace = Workspace.open(fleet, search=False)
    assert edited in [data for _, data in workspace.store.replay("coder/user")]
    workspace.store.close()
    hermes("add", "Still works.")
    assert "Still works." in facts(fleet)
    assert list(user_file(fleet).parent.glob("*.bak.*")) == []


def test_a_profile_that_hermes_cloned_gets_its_slice_in_the_place_of_the_clone(fleet, hermes_python, tmp_path):
    flat = ["Tea.", "No sugar.", "Uses vim.", "CANARY."]
    put(user_file(fleet, "default"), "\n§\n".join(flat))
    put(fleet / "config.yaml", "memory: {}\n")
    program = str(Path(hermes_python).parent / "hermes")
    subprocess.run([program, "profile", "create", "clone", "--clone"], check=True, capture_output=True, timeout=120)
    assert facts(fleet, "clone") == dict.fromkeys(flat, "__uncategorized__")
    catmem("init", "--from-hermes")
    put(fleet / "catmem-profiles" / "clone.yaml", PROFILE)
    put(tmp_path / "list.txt", "1 +Tastes\n2 tastes\n3 +Tools\n4 +Payroll\n")
    catmem("sort", "--root", str(fleet), "-p", "default", "-t", "user", "--read", str(tmp_path / "list.txt"))
    catmem("seed", "--root", ".hermes", "default", "clone", "--replace-cloned")
    assert facts(fleet, "clone") == {"Tea.": "tastes", "No sugar.": "tastes", "Uses vim.": "tools"}
    assert b"CANARY" not in user_file(fleet, "clone").read_bytes()


def test_both_at_once_lose_nothing(fleet, hermes_python):
    number = 40
    environment = {**os.environ, "HERMES_HOME": str(fleet / "profiles" / "coder")}
    with subprocess.Popen(
        [hermes_python, STORE, "add-many", "user", "Hermes", str(number)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        put(fleet / "catmem.yaml", "version: 1\nprofiles: catmem-profiles\nhomes: profiles/{name}/memories\n")
        put(fleet / "profiles" / "coder" / "config.yaml", "memory:\n  user_char_limit: 1000000\n")
        process.stdin.write("\n")
        process.stdin.flush()
        for turn in range(5):
            put(fleet / "memories" / "USER.md", SOURCE.replace("Tea.", f"Tea {turn}."))
            catmem("seed", "--root", ".hermes", "default", "coder")
        answers = json.loads(process.stdout.readline())
    assert all(answers)
    found = facts(fleet)
    assert [f"Hermes {count}" for count in range(number) if f"Hermes {count}" not in found] == []
    assert found["Tea 4."] == found["No sugar."] == "tastes"
