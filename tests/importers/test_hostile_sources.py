"""Files of other programs as somebody hostile would make them: no hang, no traceback, nothing half read, a clear error."""

import json

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.errors import CatmemError, UnreadableError
from catmem.plugins.importers import SOURCES, read, source_files
from tests.golden.case import put
from tests.together import together


def refused(source, path):
    with pytest.raises(CatmemError) as caught:
        read(source, path)
    assert caught.value.hint
    return caught.value


# --- text ----------------------------------------------------------------------------------------------------------

MANY = 200_000
"""With work that grows as the square of this, a test would not end."""


@pytest.mark.parametrize(
    ("source", "name", "text", "entries"),
    [
        ("basic-memory", "a.md", "- " + "[[" * MANY, 0),
        ("basic-memory", "a.md", "-" + " " * MANY + "x", 0),
        ("claude", "a.md", "# a" + " " * MANY + "x", 0),
        ("claude", "a.md", "# " + "# " * MANY + "x", 0),
        ("claude", "MEMORY.md", "x\n" * MANY, 1),
        ("claude", "MEMORY.md", "- [](" + ".md" * MANY, 1),
        ("cheetahclaws", "a.md", "---\na: b\n" + " x\n" * MANY + "---\ny", 1),
        ("cheetahclaws", "a.md", "---\na" + " " * MANY + "b\n---\ny", 1),
    ],
)
def test_work_grows_with_the_text_and_not_with_its_square(tmp_path, source, name, text, entries):
    assert len(read(source, put(tmp_path / name, text)).entries) == entries


@together(
    ("source", "name", "text"),
    [
        ("hermes", "USER.md", "a\n§\nb\n§\nc"),
        ("claude", "MEMORY.md", "- a\n- b\n- c"),
        ("basic-memory", "a.md", "- [x y] a\n- [x y] b\n- [x y] c"),
        ("mcp-memory", "memory.jsonl", '{"type":"entity","name":"A","observations":["a","b","c"]}'),
    ],
)
def test_too_many_entries(tmp_path, monkeypatch, source, name, text):
    monkeypatch.setattr(source_files, "MOST_ENTRIES", 2)
    assert refused(source, put(tmp_path / name, text)).code == "too_many"


# --- JSON ----------------------------------------------------------------------------------------------------------


def test_half_characters_are_left_out_and_printed_as_escapes(tmp_path):
    half = "\\ud800"
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    put(
        tmp_path / "memory.jsonl",
        f'{{"type":"entity","name":"{half}","entityType":"{half}","observations":["a{half}"],"{half}":"{half}"}}',
    )
    for form in ("text", "json"):
        arguments = ["import", "--from", "mcp-memory", "-p", "neo", "--format", form, "--root", str(tmp_path)]
        result = CliRunner().invoke(group, [*arguments, str(tmp_path / "memory.jsonl")])
        assert (result.exit_code, result.exception) == (0, None)
        assert "\\ud800" in result.stdout + result.stderr


# --- paths ---------------------------------------------------------------------------------------------------------


def test_nothing_a_device_and_a_circle_of_links(tmp_path):
    (tmp_path / "circle").symlink_to("circle")
    for source in SOURCES:
        assert refused(source, tmp_path / "nothing").code == "missing"
        assert refused(source, "/dev/zero").code == "not_a_file"
        assert refused(source, tmp_path / "circle").code == "symlink"


@together(
    ("source", "link"),
    [
        ("hermes", "USER.md"),
        ("hermes", "memories"),
        ("cheetahclaws", ".cheetahclaws"),
        ("cheetahclaws", ".cheetahclaws/memory"),
        ("claude", "memory"),
        ("mcp-memory", "memory.jsonl"),
    ],
)
def test_a_link_out_of_the_folder_is_not_followed(tmp_path, source, link):
    outside, folder = tmp_path / "outside", tmp_path / f"{source} {link.replace('/', ' ')}"
    for name in ("USER.md", "memory/a.md", "a.md", "memory.jsonl"):
        put(outside / name, '{"type":"entity","name":"secret","observations":["secret"]}')
    path = folder / link
    path.parent.mkdir(parents=True)
    path.symlink_to(outside / "USER.md" if path.suffix else outside)
    error = refused(source, folder)
    assert (type(error), error.code) == (UnreadableError, "symlink")


def test_a_long_line_of_what_is_left_out_is_cut(tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    put(tmp_path / "g" / "memory.jsonl", json.dumps({"type": "t" * 9000, "k": "v"}))
    arguments = ["import", "--from", "mcp-memory", "-p", "neo", "--root", str(tmp_path), str(tmp_path / "g")]
    result = CliRunner().invoke(group, arguments)
    assert (result.exit_code, max(map(len, result.stderr.split("\n"))) < 300) == (0, True)
