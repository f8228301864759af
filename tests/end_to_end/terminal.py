"""A root on disk, and the command line on it: in this process, or as a process of its own."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from tests.golden.case import put

CONFIG = """
taxonomy:
  closed: true
  categories:
    talk: {title: Talk, aliases: [speech]}
    rules: {}
    pay: {}
tags: {owner: {type: string}}
"""
PROFILES = {
    "neo": "user_memory_categories: [talk, rules]\nmemory_categories: [rules]\nwritable_categories: [rules]\n",
    "boss": "tier: 1\nuser_memory_categories: [talk, rules, pay]\n",
}
USER = """\
## Talk
[verified_date: 2026-05-01] Prefers short answers.
§
Never before ten.

## Rules
[created: 2026-01-02] Invoices are due on the 15th.

## Pay
The pay is a secret.
"""


def write_root(folder, limits=""):
    """A root with the profiles neo, bounded, and boss, of tier 1; neo has a USER.md with four entries."""
    put(folder / "catmem.yaml", CONFIG + limits)
    for name, text in PROFILES.items():
        put(folder / "profiles" / f"{name}.yaml", text)
    return put(folder / "homes" / "neo" / "USER.md", USER)


@contextmanager
def begun(factory, limits=""):
    """A new root as the working folder, in which a module does what each of its tests begins with; see ``copied``."""
    folder = factory.mktemp("begun")
    write_root(folder, limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def copied(folder, place, monkeypatch):
    """Copy a root, which becomes the working folder; the USER.md of neo in it."""
    shutil.copytree(folder, place, dirs_exist_ok=True)
    monkeypatch.chdir(place)
    return place / "homes" / "neo" / "USER.md"


def run(*arguments, status=0, **choices):
    """The command in this process, which ends with ``status`` (``None``: any)."""
    result = CliRunner().invoke(group, [str(argument) for argument in arguments], **choices)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert status in {None, result.exit_code}, result.output
    return result


def said(*arguments, **choices):
    """All that the command prints."""
    return run(*arguments, **choices).output


def run_json(*arguments, status=0, **choices):
    """The one JSON object that the command prints."""
    return json.loads(run(*arguments, "--format", "json", status=status, **choices).stdout)


def error_of(*arguments, status=2, **choices):
    """The error that the command prints as JSON."""
    result = run(*arguments, "--format", "json", status=status, **choices)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return json.loads(line)["error"]


def process(*arguments, cwd, status=0, line=None, **choices):
    """The real command, as a process of its own; ``line`` is one of the shell that calls it as ``"$@"``."""
    around = [] if line is None else ["sh", "-c", line, "sh"]
    found = subprocess.run(
        [*around, sys.executable, "-m", "catmem", *arguments],
        cwd=cwd,
        capture_output=True,
        check=False,
        timeout=60,
        **choices,
    )
    assert b"Traceback" not in found.stderr, found.stderr
    assert found.returncode == status, found.stderr
    return found


def user_text(folder, name="neo"):
    """What the USER.md of a profile says."""
    return (folder / "homes" / name / "USER.md").read_text(encoding="utf-8")


def snapshot(folder):
    """Every file below a folder with its bytes and the time of its last change; not the audit log: it has refusals."""
    return {
        Path(where) / name: ((Path(where) / name).read_bytes(), (Path(where) / name).stat().st_mtime_ns)
        for where, _, names in os.walk(folder)
        for name in names
        if name != "audit.jsonl"
    }
