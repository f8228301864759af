"""What starting costs, counted in modules: time differs between machines, what is loaded does not."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

PARSERS = {"ahocorasick", "jsonschema", "mistune", "referencing", "rpds", "snowballstemmer", "yaml"}
LIBRARIES = PARSERS | {"click", "hypothesis", "rich"}
# Modules of the standard library that cost more than all of catmem at start, and that importing it has no use for.
SLOW_STANDARD = {
    "asyncio",
    "email",
    "http",
    "importlib.metadata",
    "inspect",
    "multiprocessing",
    "subprocess",
    "urllib.request",
}


def loaded(*command: str) -> tuple[set[str], str]:
    """The modules that a run of Python imports, as `-X importtime` reports them, and what the run prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    run = subprocess.run(
        [sys.executable, "-X", "importtime", *command], capture_output=True, text=True, check=True, env=environment
    )
    lines = [line for line in run.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip() for line in lines}, run.stdout


def within(found: set[str], wanted: set[str]) -> set[str]:
    """Which of `wanted` are among `found`, themselves or by a submodule."""
    return {name for name in wanted if any(f"{module}.".startswith(f"{name}.") for module in found)}


def test_the_report_is_read_right():
    found, _ = loaded("-c", "import yaml")
    assert within(found, LIBRARIES) == {"yaml"}


def test_import_catmem_loads_no_library():
    bare, _ = loaded("-c", "pass")
    found, _ = loaded("-c", "import catmem")
    assert "catmem" in found
    # Less what this Python loads before anything else, such as hooks of an editable install.
    assert within(found - bare, LIBRARIES | SLOW_STANDARD) == set()


def test_version_loads_neither_yaml_nor_jsonschema_nor_mistune():
    command = Path(sysconfig.get_path("scripts")) / "catmem"
    found, printed = loaded(str(command), "--version")
    assert printed.startswith("catmem")
    assert "click" in found
    assert within(found, PARSERS | {"rich", "hypothesis"}) == set()


def test_a_prompt_loads_nothing_of_the_network_and_neither_yaml_nor_jsonschema_for_what_was_read_once(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = str(Path(sysconfig.get_path("scripts")) / "catmem")
    root = tmp_path / "root"
    subprocess.run([command, "init", "--example", root], check=True, capture_output=True)
    asked = [command, "prompt", "trinity", "--root", str(root)]
    (first, printed), (again, _) = loaded(*asked), loaded(*asked)
    assert printed
    assert within(first, {"http", "socket", "ssl", "urllib.request"}) == set()
    assert {"jsonschema", "yaml"} <= first
    assert (
        within(again, {"jsonschema", "yaml", "catmem.search", "catmem.seeding", "catmem.store", "catmem.writing.write"})
        == set()
    )
    with (root / "profiles" / "trinity.yaml").open("a") as file:
        file.write("tier: 7\n")
    failed = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "tier" in failed.stderr
