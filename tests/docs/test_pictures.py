"""The two pictures in docs/architecture.md: each command passes the modules that stand below it, in their order."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import catmem
from catmem.cli.main import group
from tests.docs.pages import ROOT

PACKAGE = Path(catmem.__file__).parent
PICTURE = re.compile(r"```\ncatmem (?P<command>.+)\n(?P<lines>(?: +\S+ .*\n)+)```")


def pictures() -> dict[str, list[str]]:
    """Command to the modules below it."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return {
        found["command"]: [line.split()[0] for line in found["lines"].splitlines()] for found in PICTURE.finditer(page)
    }


def passed(arguments: list[str]) -> list[str]:
    """The modules of the package in which a function runs, in the order of their first calls."""
    modules: dict[str, None] = {}

    def call(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            modules.setdefault(path.relative_to(PACKAGE).with_suffix("").as_posix())

    before = sys.getprofile()
    sys.setprofile(call)
    try:
        done = CliRunner().invoke(group, arguments)
    finally:
        sys.setprofile(before)
    assert done.exit_code == 0, done.output
    return list(modules)


def test_there_are_two_pictures():
    assert [command.split()[0] for command in pictures()] == ["prompt", "add"]


@pytest.mark.parametrize("command", pictures())
def test_a_command_passes_its_modules_in_order(command, tmp_path, monkeypatch):
    CliRunner().invoke(group, ["init", "--example", str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    arguments = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', command)]
    passed(arguments)  # what is made once in a process
    drawn = pictures()[command]
    order = passed([*arguments[:-1], "Uses spaces."] if command.startswith("add") else arguments)
    assert [module for module in order if module in drawn] == drawn
