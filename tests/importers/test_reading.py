"""What is read of the files of other programs; ``samples/README.md`` says what made them."""

import json
import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from catmem.errors import UnreadableError
from catmem.plugins.importers import read, source_files
from tests.golden.case import put
from tests.together import together

HERE = Path(__file__).parent
SAMPLES, PROGRAMS = HERE / "samples", HERE / "programs"


def told(imported):
    return [(entry.kind, entry.body, dict(entry.tags)) for entry in imported.entries]


def left_out(imported):
    return [(each.what, each.value) for each in imported.left_out]


# --- cheetahclaws --------------------------------------------------------------------------------------------------


def test_cheetahclaws():
    imported = read("cheetahclaws", SAMPLES / "cheetahclaws")
    assert told(imported) == [
        (
            "project",
            "## Freeze\nNo merges after Thursday.\n§\nThe mobile team cuts its branch then.",
            {"created": "2026-04-03", "verified_date": "2026-04-03", "source": "cheetahclaws/release_freeze.md"},
        ),
        (
            "feedback",
            "Integration tests hit a real database, never mocks.\n**Why:** a mocked migration passed and broke.\n**How to apply:** use the fixture `db`.",
            {"created": "2026-04-02", "verified_date": "2026-05-20", "source": "cheetahclaws/testing_preference.md (model)"},
        ),
        (
            "user",
            "The user is a data scientist and new to the frontend.",
            {"created": "2026-04-01", "verified_date": "2026-04-01", "source": "cheetahclaws/user_role.md"},
        ),
    ]  # fmt: skip
    assert imported.entries[1].fields == {
        "name": "Testing preference",
        "description": "integration tests hit a real database",
        "confidence": "0.80",
        "last_used_at": "2026-06-01",
        "conflict_group": "testing",
    }


@together("source", ["cheetahclaws", "claude", "basic-memory"])
@together(
    ("front", "lost"),
    [
        ("First Key: a\ntopic: b", [("text", "First Key: a")]),
        ("topic: b\nOdd Key: a", [("text", "Odd Key: a")]),
        ("topic: b\n# a comment", [("text", "# a comment")]),
        ("topic: a\ntopic: b", [("topic", "a")]),
        ("topic: b\nmeta:\n  topic: a", [("topic", "a")]),
        ("meta:\n  topic: a\ntopic: b", [("topic", "a")]),
    ],
)
def test_what_stands_in_front_and_is_no_field_is_left_out(tmp_path, source, front, lost):
    imported = read(source, put(tmp_path / "a.md", f"---\n{front}\n---\n- [fact] Text.\n"))
    (entry,) = imported.entries
    fields = dict(entry.fields) or dict(left_out(imported)[len(lost) :])
    assert fields["topic"] == "b"
    assert left_out(imported)[: len(lost)] == lost


def test_lines_of_the_index_that_lead_to_no_file_are_left_out(tmp_path):
    put(tmp_path / "a.md", "Text.\n")
    index = put(tmp_path / "MEMORY.md", "# Index\n- [A](a.md) - text\n- [B](b.md) - gone\nOnly here.\n")
    imported = read("cheetahclaws", tmp_path)
    assert [entry.body for entry in imported.entries] == ["Text."]
    lines = [("text", "# Index"), ("text", "- [B](b.md) - gone"), ("text", "Only here.")]
    assert left_out(imported) == lines
    alone = read("cheetahclaws", index)
    assert alone.entries == []
    assert left_out(alone) == [lines[0], ("text", "- [A](a.md) - text"), *lines[1:]]


def cheetahclaws_python():
    named = os.environ.get("CATMEM_CHEETAHCLAWS_PYTHON", str(HERE.parents[1] / ".venv-cheetahclaws" / "bin" / "python"))
    if not Path(named).exists():
        pytest.skip("NOT TESTED: there is no cheetahclaws here; CATMEM_CHEETAHCLAWS_PYTHON names a Python that has it")
    return named


def test_the_sample_is_what_cheetahclaws_writes(tmp_path):
    command = [cheetahclaws_python(), PROGRAMS / "remember_cheetahclaws.py"]
    subprocess.run(command, env={**os.environ, "HOME": str(tmp_path)}, cwd=tmp_path, check=True, capture_output=True)
    made = {path.name: path.read_bytes() for path in (tmp_path / ".cheetahclaws" / "memory").iterdir()}
    assert made == {path.name: path.read_bytes() for path in (SAMPLES / "cheetahclaws").iterdir()}


# --- the reference memory server -----------------------------------------------------------------------------------


def test_mcp_memory():
    imported = read("mcp-memory", SAMPLES / "mcp-memory")
    source = {"source": "mcp-memory/John_Smith"}
    assert told(imported) == [
        ("person", "John_Smith: Speaks fluent Spanish", source),
        ("person", "John_Smith: Graduated in 2019", source),
        ("person", "John_Smith: Prefers morning meetings", source),
    ]
    assert left_out(imported) == [("entity", "Anthropic"), ("relation", "John_Smith works_at Anthropic")]


def test_the_sample_is_what_the_memory_server_writes(tmp_path):
    server, node = os.environ.get("CATMEM_SERVER_MEMORY"), shutil.which("node")
    if not (server and node):
        pytest.skip("NOT TESTED: CATMEM_SERVER_MEMORY names no dist/index.js of @modelcontextprotocol/server-memory")
    file = tmp_path / "memory.jsonl"
    subprocess.run([sys.executable, PROGRAMS / "remember_server_memory.py", node, server, file], check=True)
    assert file.read_bytes() == (SAMPLES / "mcp-memory" / "memory.jsonl").read_bytes()


@together(
    ("text", "code"),
    [
        ('{"type":"entity","name":"A","observations":["cut', "damaged"),
        ("[" * 100_000, "damaged"),
        ("[]", "other_schema"),
        ('{"nodes": []}', "other_schema"),
        ('{"type": "entity", "name": 3, "observations": []}', "other_schema"),
        ('{"type": "entity", "name": "A"}', "other_schema"),
    ],
)
def test_a_graph_that_is_none(tmp_path, text, code):
    file = put(tmp_path / "memory.jsonl", '{"type":"entity","name":"B","entityType":"x","observations":["y"]}\n' + text)
    with pytest.raises(UnreadableError) as caught:
        read("mcp-memory", file)
    assert (caught.value.code, caught.value.path, caught.value.line) == (code, str(file), 2)
    assert "Nothing was changed" in caught.value.hint
    assert "mend the line, or remove it" in caught.value.hint.lower()


def test_odd_parts_of_a_graph_are_left_out(tmp_path):
    said = [
        {"type": "entity", "name": "A", "entityType": 3, "observations": ["x", 4], "extra": True},
        {"type": "note", "text": "hi"},
    ]
    put(tmp_path / "memory.jsonl", "\n".join(json.dumps(each) for each in said))
    imported = read("mcp-memory", tmp_path)
    assert told(imported) == [(None, "A: x", {"source": "mcp-memory/A"})]
    assert [what for what, _ in left_out(imported)] == ["extra", "observation", "note"]


# --- hermes --------------------------------------------------------------------------------------------------------


def test_hermes(tmp_path):
    put(tmp_path / "memories" / "USER.md", "Prefers short answers.\n§\n[verified_date: 2026-05-01] In Lyon.")
    put(tmp_path / "memories" / "MEMORY.md", "# Facts\n\n## Workflow Rules (Finance)\nDue on the 15th.\n")
    imported = read("hermes", tmp_path)
    assert [(entry.target, entry.place) for entry in imported.entries] == [
        ("user", "USER.md:1"), ("user", "USER.md:3"), ("memory", "MEMORY.md:4"),
    ]  # fmt: skip
    assert told(imported) == [
        (None, "Prefers short answers.", {}),
        (None, "In Lyon.", {"verified_date": "2026-05-01"}),
        ("Workflow Rules (Finance)", "Due on the 15th.", {}),
    ]
    assert left_out(imported) == [("title", "Facts")]
    assert told(read("hermes", tmp_path / "memories" / "USER.md")) == told(imported)[:2]


# --- claude --------------------------------------------------------------------------------------------------------


def test_claude():
    imported = read("claude", SAMPLES / "claude")
    assert [(entry.kind, entry.body) for entry in imported.entries] == [
        ("Build", "Build with `make dist`."),
        ("Build", "Tests need Redis:\n  `docker compose up redis`"),
        ("Style", "Two spaces, no tabs.\n\n```sh\n# not a heading\n- not a bullet\n```"),
        ("debugging", "### Flaky login test\nIt fails when the clock passes midnight."),
        ("feedback", "Integration tests hit a real database."),
    ]
    assert [entry.place for entry in imported.entries][:3] == ["MEMORY.md:7", "MEMORY.md:8", "MEMORY.md:12"]
    assert [what for what, _ in left_out(imported)] == ["heading", "link", "link", "heading", "heading"]


def test_a_heading_below_which_nothing_stands_is_left_out(tmp_path):
    index = "## Alone\n## Above\n### Inner\n- fact\n### Empty\n## Links\n- [x](y.md)\n## Last\n"
    imported = read("claude", put(tmp_path / "MEMORY.md", index))
    assert [(entry.kind, entry.body) for entry in imported.entries] == [("Above", "### Inner\nfact")]
    assert sorted(left_out(imported)) == [
        ("heading", "Alone"), ("heading", "Empty"), ("heading", "Last"), ("heading", "Links"), ("link", "- [x](y.md)"),
    ]  # fmt: skip


# --- basic-memory --------------------------------------------------------------------------------------------------


def test_basic_memory():
    imported = read("basic-memory", SAMPLES / "basic-memory")
    tags = {"created": "2026-03-01", "source": "basic-memory/people/ada.md"}
    assert told(imported) == [
        ("preference", "Prefers short answers #style #answers", tags),
        ("role", "Runs finance in Lyon (since 2024)", tags),
    ]
    assert [entry.place for entry in imported.entries] == ["people/ada.md:14", "people/ada.md:15"]
    assert left_out(imported) == [
        ("title", "Ada"),
        ("type", "note"),
        ("permalink", "people/ada"),
        ("tags", "people, finance"),
        ("heading", "# Ada"),
        ("heading", "## Observations"),
        ("text", "- [ ] call her"),
        ("text", "- [link](https://example.org) is no observation"),
        ("heading", "## Relations"),
        ("relation", "- works_with [[Grace]]"),
        ("relation", "- part of the [[Lyon Office]] (finance)"),
    ]


def test_of_a_note_text_with_a_mark_in_front_and_a_bad_date_are_left_out(tmp_path):
    note = "---\ncreated: yesterday\n---\n#todo buy milk\n####### seven\n```\n# in code\n```\n- [fact] one\n"
    imported = read("basic-memory", put(tmp_path / "n.md", note))
    assert [entry.body for entry in imported.entries] == ["one"]
    assert left_out(imported) == [
        ("created", "yesterday"),
        ("text", "#todo buy milk"),
        ("text", "####### seven"),
        ("text", "```"),
        ("text", "# in code"),
        ("text", "```"),
    ]


def test_a_fence_that_holds_a_shorter_one_ends_with_its_own_mark(tmp_path):
    note = "````\n```\n- [fact] in code\n````\n- [fact] one\n"
    assert [entry.body for entry in read("basic-memory", put(tmp_path / "n.md", note)).entries] == ["one"]


# --- how old it is ---------------------------------------------------------------------------------------------------

OLD = {
    "hermes": ("USER.md", "One.\n"),
    "cheetahclaws": ("a.md", "---\nname: A\n---\nOne.\n"),
    "claude": ("MEMORY.md", "- One.\n"),
    "basic-memory": ("a.md", "- [fact] One.\n"),
    "mcp-memory": ("memory.jsonl", '{"type":"entity","name":"A","entityType":"x","observations":["One."]}\n'),
}


@together("source", OLD)
def test_the_time_of_the_file_dates_what_has_no_date_and_that_of_today_nothing(tmp_path, source):
    name, text = OLD[source]
    file = put(tmp_path / source / name, text)
    assert [entry.day for entry in read(source, file).entries] == [None]
    day = datetime(2024, 5, 1, 12).astimezone()
    os.utime(file, (day.timestamp(), day.timestamp()))
    for place in (tmp_path / source, file):
        (entry,) = read(source, place).entries
        assert (entry.day, "created" in entry.tags) == (day.date(), False)


# --- whatever is there ---------------------------------------------------------------------------------------------


@together("source", ["cheetahclaws", "claude", "basic-memory"])
def test_a_file_of_a_folder_that_is_no_text_is_left_out(tmp_path, source):
    (tmp_path / "x.md").write_bytes(b"caf\xe9\n")
    assert [what for what, _ in left_out(read(source, tmp_path))] == ["a file"]


def test_links_and_hidden_files_are_passed_over(tmp_path):
    outside = put(tmp_path / "outside" / "secret.md", "- [x y] secret\n")
    folder = tmp_path / "folder"
    put(folder / ".hidden.md", "- [x y] hidden\n")
    put(folder / ".git" / "a.md", "- [x y] hidden\n")
    (folder / "link.md").symlink_to(outside)
    (folder / "linked").symlink_to(outside.parent)
    for source in ("cheetahclaws", "claude", "basic-memory"):
        assert read(source, folder).entries == []


def test_a_folder_of_too_many_files(tmp_path, monkeypatch):
    monkeypatch.setattr(source_files, "MOST_FILES", 3)
    for number in range(4):
        put(tmp_path / f"{number}.md", "x\n")
    with pytest.raises(UnreadableError) as caught:
        read("basic-memory", tmp_path)
    assert caught.value.code == "too_many"
