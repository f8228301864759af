"""Outside of a root nobody is told that all is well there, and nothing is made."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from catmem.cli.main import group

COMMANDS = [
    ["anchor"],
    ["audit"],
    ["branches"],
    ["branches", "neo"],
    ["diff", "neo"],
    ["doctor"],
    ["fsck"],
    ["key", "list"],
    ["key", "new", "person"],
    ["key", "remove", "person"],
    ["log", "neo"],
    ["merge", "neo"],
    ["merge", "neo", "8a", "--drop"],
    ["replay", "--to", "out"],
    ["replay", "neo", "--to", "out"],
    ["restore", "neo", "1"],
    ["review", "--list"],
    ["rollout"],
    ["rollout", "report"],
    ["rollout", "bypass", "--end"],
    ["rollout", "bypass", "--reason", "why", "--for", "1h"],
    ["serve", "--port", "0"],
    ["store", "copy", "files", "sqlite:///memory.db"],
    ["store", "info"],
    ["token", "list"],
    ["token", "new", "anna", "--person"],
    ["token", "remove", "anna"],
    ["watch"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_folder_that_is_no_root_is_told(tmp_path, monkeypatch, arguments):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    result = CliRunner().invoke(group, arguments)
    assert result.exit_code == 2, result.output
    assert "error[no_root]" in result.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["elsewhere"]
