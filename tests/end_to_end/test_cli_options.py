"""Options that leave each other nothing to do are refused, by their names, before anything happens."""

from __future__ import annotations

import pytest

from tests.end_to_end.terminal import run, write_root
from tests.unit.seeding.seeds import everything

APART = [
    (("log", "neo", "--graph", "--format", "json"), "--graph draws for people"),
    (("diff", "--git", "homes/neo/USER.md", "--root", "."), "--git goes with the path of one file"),
    (("export", "--format", "json", "--overwrite"), "--overwrite is for the files of a folder"),
    (("review", "--list", "--answers", "-"), "--answers is for a review that asks"),
    (("review", "--undo", "--answers", "-"), "--answers is for a review that asks"),
    (("access", "-t", "user", "--format", "json"), "-t is for the table"),
    (("lint", "--unsafe-fixes"), "--unsafe-fixes goes with --fix or --diff"),
    (("lint", "--statistics", "--format", "json"), "--statistics goes with --format text"),
    (("lint", "--diff", "--fix"), "--diff does not go with --fix"),
    (("lint", "--diff", "--output", "out.txt"), "--diff does not go with --output"),
    (("lint", "--diff", "--format", "json"), "--diff does not go with --format"),
    (("lint", "--diff", "--baseline", "base.json"), "--diff does not go with --baseline"),
    (("lint", "--write-baseline", "--output", "out.txt"), "--write-baseline does not go with --output"),
    (("merge", "neo", "8a", "--drop", "--ours"), "exclude each other"),
]


@pytest.mark.parametrize(
    ("arguments", "said"), APART, ids=lambda each: " ".join(each) if isinstance(each, tuple) else ""
)
def test_options_that_do_not_apply_together_are_refused(tmp_path, monkeypatch, arguments, said):
    write_root(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = everything(tmp_path)
    assert said in run(*arguments, status=2).stderr
    assert everything(tmp_path) == before
