"""A source without categories gives nothing, and the seed says what to do."""

from __future__ import annotations

from tests.end_to_end.terminal import run, run_json
from tests.golden.case import put


def test_a_source_without_categories_is_named(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(tmp_path / "profiles" / "neo.yaml", "seed_from: boss\nuser_memory_categories: [talk]\n")
    put(tmp_path / "homes" / "boss" / "USER.md", "Short answers.\n§\nNo calls before ten.\n")
    said = run("seed", "--all", "--check", "--root", tmp_path, status=1).stderr
    assert "no entry of boss/user has a category, so nothing of it goes to neo/user: catmem sort -p boss" in said
    assert run_json("seed", "--all", "--dry-run", "--root", tmp_path)["in_sync"] is False
    put(tmp_path / "homes" / "boss" / "USER.md", "## Talk\nShort answers.\n")
    assert "has a category" not in run("seed", "--all", "--root", tmp_path).stderr
