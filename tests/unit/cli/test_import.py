"""``catmem import``: what it prints."""

import json
from functools import partial
from pathlib import Path

import pytest

from tests.end_to_end.terminal import run as command
from tests.golden.case import put
from tests.together import together

SAMPLES = Path(__file__).parents[2] / "importers" / "samples"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    put(
        tmp_path / "catmem.yaml",
        "version: 1\ntaxonomy:\n  closed: true\n  categories:\n    project: {title: Project}\n",
    )
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


run = partial(command, "import", "-p", "neo")


def test_a_kind_that_is_not_there_is_refused_with_the_nearest(folder):
    result = run("--from", "cheetahclaws", SAMPLES / "cheetahclaws", "--map", "fedback=project", status=2)
    assert "Did you mean 'feedback'?" in result.stderr
    assert not (folder / "homes").exists()


@together("more", [("--dry-run",), ()])
def test_entries_without_a_category_are_told_with_the_next_command(more):
    args = ("--from", "cheetahclaws", SAMPLES / "cheetahclaws", "-t", "memory", "--map", "user=project", *more)
    said = json.loads(run(*args, "--format", "json", "--dry-run").stdout)
    loose = sum(each["category"] == "__uncategorized__" for each in said["entries"])
    assert 0 < loose < len(said["entries"])
    assert said["uncategorized"] == {"memory": loose}
    assert said["next"] == ["catmem sort -p neo -t memory"]
    why, following = run(*args).stderr.splitlines()[-2:]
    assert why.startswith(f"{loose} entry without a category in neo/memory: a profile that names")
    assert following == "Next: catmem sort -p neo -t memory"
    assert "catmem sort" not in run(*args, "--map", "*=project").stderr  # all of it has a category then, or is there


@pytest.mark.parametrize(
    "arguments",
    [
        ["--from", "claude", "x", "--map", "project"],
        ["--from", "claude", "x", "--map", "a=b", "--map", "a=c"],
        ["--from", "claude", ".", "--map", "a=unknown"],
    ],
)
def test_wrong_use(folder, arguments):
    assert run(*arguments, status=2).stdout == ""
    assert not (folder / "homes").exists()


def test_what_it_says():
    result = run("--from", "cheetahclaws", SAMPLES / "cheetahclaws", "--map", "user=project")
    assert result.stdout == "added 3 to neo/user (revision 1)\n"
    assert (
        "no category is called 'feedback': 1 entry of that kind in __uncategorized__; --map 'feedback=CATEGORY'"
        in result.stderr
    )
    assert "9 left out" in result.stderr
    assert "confidence" in result.stderr
