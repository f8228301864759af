"""The sizes of prompts in the README are those that the commands give on the example."""

from __future__ import annotations

import json
import re

from click.testing import CliRunner

from catmem.cli.main import group
from tests.docs.pages import ROOT

ROW = re.compile(r"\| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+)% \|")
# The day for which the dates of the example were chosen.
DAY = "2026-11-21"


def test_the_table_of_prompt_sizes_is_what_stats_says(tmp_path):
    def run(*arguments):
        result = CliRunner().invoke(group, list(arguments), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    root = str(tmp_path / "demo")
    run("init", "--example", root)
    said = json.loads(run("stats", "--from", "orchestrator", "--as-of", DAY, "--root", root, "--format", "json"))
    measured = {
        each["profile"]: (f"{each['prompt']:,}", f"{each['files']:,}", str(each["percent"]))
        for each in said["profiles"]
        if each["tier"] == 2 and each["seen"]
    }
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {name: tuple(figures) for name, *figures in ROW.findall(text)} == measured
    assert set(measured) == {"morpheus", "neo", "trinity"}
    # And the prompts are as long as that when they are printed.
    for name, (prompt, _, _) in measured.items():
        text = run("prompt", name, "--from", "orchestrator", "--as-of", DAY, "--root", root)
        assert f"{len(text):,}" == prompt
