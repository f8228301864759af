"""``catmem lint`` for people: hints, and findings of copies."""

import json
import shutil
from pathlib import Path

from tests.end_to_end.terminal import run
from tests.golden.case import put


def test_hints_are_counted_for_people_and_shown_to_who_asks(tmp_path):
    def lint(*options):
        return run("lint", "--root", tmp_path, *options)

    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: [talk]\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\nseed_from: boss\n")
    put(tmp_path / "homes" / "boss" / "USER.md", "## Talk\n[created: 2020-01-01] The vendor for mail is Post Ltd.\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\n[created: 2020-01-01] The vendor for mail is Post Ltd.\n")
    assert (lint().stdout, "(see --min-severity hint)\n" in lint().stderr) == ("", True)
    for options in (("--select", "CM307"), ("--min-severity", "hint")):
        found = lint(*options).stdout
        # The fact and its copy are one finding, which stands at the source and names the copy.
        assert [Path(line.split(":")[0]).parts[-2] for line in found.splitlines() if "CM307" in line] == ["boss"]
        assert "neo/USER.md:2:" in found
    shown = lint("--format", "github").stdout
    assert [line.partition(" ")[2].split("/USER")[0][-4:] for line in shown.splitlines() if "CM307" in line] == ["boss"]
    results = json.loads(lint("--format", "sarif").stdout)["runs"][0]["results"]
    (related,) = (each["relatedLocations"] for each in results if each["ruleId"] == "CM307")
    assert related[0]["physicalLocation"]["artifactLocation"]["uri"].endswith("neo/USER.md")
    said = json.loads(lint("--format", "json").stdout)
    assert [Path(each["path"]).parts[-2] for each in said["diagnostics"] if each["code"] == "CM307"] == [
        "boss",
        "neo",
    ]


def test_a_root_that_lost_its_memory_files_is_not_clean(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\n")
    assert "nothing found" in run("lint", "--root", tmp_path).stderr  # a new root has none yet
    run("add", "-p", "neo", "-c", "talk", "Likes tea.", "--root", tmp_path)
    assert "nothing found" in run("lint", "--root", tmp_path).stderr
    shutil.rmtree(tmp_path / "homes")
    assert "CM901 the folders of all memory files are gone" in run("lint", "--root", tmp_path, status=1).stdout
