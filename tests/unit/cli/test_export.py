"""``catmem export`` and ``catmem import``: what comes out, what of it comes back, and what is said of it."""

import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given

from catmem.jsonable import jsonable
from catmem.model.document import Version, parse
from catmem.model.splice import composed
from catmem.plugins.importers import read
from catmem.syntax import tags as tag_blocks
from catmem.workspace.exporting import flat
from tests.end_to_end.terminal import run as command
from tests.end_to_end.terminal import snapshot
from tests.golden.case import put
from tests.property.strategies import texts
from tests.together import together

USER = """\
# About

Loose.

## Finance
[verified_date: 2026-05-01, domain: [a, b]] Acme is the vendor.
\\§
Second line.
§
```sh
# code
```
"""
MEMORY = "Flat.\n§\nFile.\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    for name in ("neo", "trinity"):
        put(tmp_path / "profiles" / f"{name}.yaml", "user_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", USER)
    put(tmp_path / "homes" / "neo" / "MEMORY.md", MEMORY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


run = partial(command, "export")


def rebuilt(said):
    """A document made of the JSON form of another."""
    versions = [
        Version(category, entry["body"], entry["tags"], tag_blocks.write(entry["tags"], entry["body"]))
        for category, entries in said["categories"].items()
        for entry in entries
    ]
    return composed(versions, {}, parse(""))


@given(texts())
def test_json_comes_back(text):
    document = parse(text)
    said = json.loads(json.dumps(jsonable(document)))
    again = rebuilt(said)
    assert {c: [(e.body, e.tags) for e in es] for c, es in again.by_category.items()} == {
        c: [(e.body, e.tags) for e in es] for c, es in document.by_category.items()
    }


def test_a_flat_file_says_what_it_has_no_place_for(folder):
    result = run("-p", "neo", "-t", "user", "--format", "hermes")
    assert result.stdout == flat(parse(USER))
    assert "neo/user: this form has no place for the categories of 2 entries and the title" in result.stderr


def test_an_import_of_the_flat_file_has_every_entry(folder):
    run("-p", "neo", "--format", "hermes", "-o", "home/memories")
    imported = read("hermes", folder / "home" / "memories" / "neo")
    assert [(each.target, each.body, each.tags) for each in imported.entries] == [
        (target, entry.body, entry.tags)
        for target, text in (("user", USER), ("memory", MEMORY))
        for entry in parse(text).entries
    ]


def test_markdown(folder):
    assert run("-p", "neo", "-t", "user", "--format", "markdown").stdout == (
        "# About\n\n- Loose.\n\n## Finance\n\n- Acme is the vendor.\n  §\n  Second line.\n\n"
        "  *(verified_date: 2026-05-01, domain: a, b)*\n- ```sh\n  # code\n  ```\n"
    )
    assert "# neo: memory\n\n- Flat.\n- File.\n" in run("--format", "markdown").stdout  # whose they are


def test_other_files_stay(folder):
    put(folder / "out" / "neo" / "USER.md", "mine")
    assert "would_overwrite" in run("--format", "hermes", "-o", "out", status=2).stderr
    assert (folder / "out" / "neo" / "USER.md").read_text() == "mine"
    assert not (folder / "out" / "neo" / "MEMORY.md").exists()
    (folder / "out" / "neo" / "USER.md").unlink()
    assert "wrote out/neo/USER.md" in run("--format", "hermes", "-o", "out").stderr
    assert (folder / "out" / "neo" / "USER.md").read_text() == flat(parse(USER))
    assert "wrote" not in run("--format", "hermes", "-o", "out").stderr  # it says the same


def test_memory_files_of_the_root_are_never_overwritten(folder):
    (folder / "link").symlink_to("homes")
    for output in ("homes", "link"):
        assert "would_overwrite" in run("--format", "hermes", "-o", output, status=2).stderr
    assert (folder / "homes" / "neo" / "USER.md").read_text() == USER


# --- import ---

SAMPLES = Path(__file__).parents[2] / "importers" / "samples"


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """A root with one category."""
    config = "version: 1\ntaxonomy:\n  closed: true\n  categories:\n    project: {title: Project}\n"
    put(tmp_path / "catmem.yaml", config)
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


bring = partial(command, "import", "-p", "neo")
CLAWS = ("--from", "cheetahclaws", SAMPLES / "cheetahclaws")


@together("more", [("--dry-run",), ()])
def test_entries_without_a_category_are_told_with_the_next_command(closed, more):
    args = (*CLAWS, "-t", "memory", "--map", "user=project", *more)
    said = json.loads(bring(*args, "--format", "json", "--dry-run").stdout)
    loose = sum(each["category"] == "__uncategorized__" for each in said["entries"])
    assert 0 < loose < len(said["entries"])
    assert said["uncategorized"] == {"memory": loose}
    assert said["next"] == ["catmem sort -p neo -t memory"]
    why, following = bring(*args).stderr.splitlines()[-2:]
    assert why.startswith(f"{loose} entry without a category in neo/memory: a profile that names")
    assert following == "Next: catmem sort -p neo -t memory"
    assert "catmem sort" not in bring(*args, "--map", "*=project").stderr  # all of it has a category then, or is there


@together(
    ("arguments", "said"),
    [
        ((*CLAWS, "--map", "fedback=project"), "Did you mean 'feedback'?"),
        (("--from", "claude", "x", "--map", "project"), "project"),
        (("--from", "claude", "x", "--map", "a=b", "--map", "a=c"), "--map"),
        (("--from", "claude", ".", "--map", "a=unknown"), "unknown"),
        (("memory.db",), "Missing option '--from'"),
        (("--from", "hermes"), "Missing argument 'PATH'"),
        (("--snapshot", "s.json", "memory.db"), "--snapshot does not go with PATH"),
        (("--snapshot", "s.json", "--from", "hermes"), "--snapshot does not go with --from"),
    ],
)
def test_a_wrong_import_is_refused(closed, arguments, said):
    refused = bring(*arguments, status=2)
    assert refused.stdout == ""
    assert said in refused.stderr
    assert not (closed / "homes").exists()


def test_an_import_says_what_it_brought_and_left_out(closed):
    assert "Missing option '-p'" in command("import", "--from", "hermes", "memory.db", status=2).stderr
    result = bring(*CLAWS, "--map", "user=project")
    assert result.stdout == "added 3 to neo/user (revision 1)\n"
    assert (
        "no category is called 'feedback': 1 entry of that kind in __uncategorized__; --map 'feedback=CATEGORY'"
        in result.stderr
    )
    assert "9 left out" in result.stderr
    assert "confidence" in result.stderr


def test_a_file_that_is_no_text_stops_an_export_which_says_that_nothing_was_written(folder):
    (folder / "homes" / "neo" / "MEMORY.md").write_bytes(b"Caf\xe9\n")
    before = snapshot(folder)
    result = command("export", "--format", "markdown", "-o", "backup", status=2)
    assert "Nothing was written. The file is as it was. 'catmem fsck neo/memory --repair'" in result.stderr
    assert snapshot(folder) == before


def test_an_option_in_place_of_a_value_is_named(folder):
    del folder
    for words in (("--snapshot", "-o", "s.json"), ("--snapshot", "--format")):
        result = command("export", *words, status=2)
        assert f"{words[0]} takes PATH, and {words[1]} is an option." in result.stderr
