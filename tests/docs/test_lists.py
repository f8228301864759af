"""Every list has all that it is of: the tags of the format, the schemas, and the programs that are read."""

import re

from benchmarks.__main__ import LONG, NAMES
from catmem.mcp.tools import all_tools
from catmem.ops.memory_tool import TOOL_SCHEMA
from catmem.plugins.importers import SOURCES
from catmem.resources import SCHEMA_NAMES, schema
from tests.docs.pages import ROOT
from tests.together import together

TAGS = list(schema("tags")["properties"])
SET_BY_ITSELF = {"verified_date", "created"}
"""What a write dates itself, so that no model is told to give it."""


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def part(text, start, end):
    """What stands between two texts, of which each is there once after the one before."""
    _, found, rest = text.partition(start)
    assert found, start
    inside, found, _ = rest.partition(end)
    assert found, end
    return inside


def test_the_table_of_the_format():
    rows = part(page("format.md"), "| tag | value | meaning |\n|---|---|---|\n", "\n\n").splitlines()
    assert [row.split("|")[1].strip(" `") for row in rows] == TAGS


TOLD = {
    "the memory tool": (TOOL_SCHEMA["properties"]["tags"]["description"], "Known ones: "),
    "memory_add": (next(t for t in all_tools() if t.name == "memory_add").input_schema["properties"]["tags"]["description"],
                   "By name: "),
}  # fmt: skip


@together("said", TOLD.values(), ids=TOLD)
def test_what_a_model_is_told(said):
    text, start = said
    assert re.sub(r" \(.*?\)", "", part(text, start, ".")).split(", ") == [
        tag for tag in TAGS if tag not in SET_BY_ITSELF
    ]


def test_the_table_of_the_schemas():
    rows = part(page("schemas.md"), "| file | what it describes |\n|---|---|\n", "\n\n").splitlines()
    files = [row.split("|")[1].strip(" `") for row in rows]
    assert sorted(files) == [f"{name}.schema.json" for name in SCHEMA_NAMES]


def test_the_programs_that_are_read():
    rows = part(page("import.md"), "| `--from` | PATH | an entry is | its category |\n|---|---|---|---|\n", "\n\n")
    assert [row.split("|")[1].strip(" `") for row in rows.splitlines()] == list(SOURCES)


def test_the_page_of_the_benchmarks_names_all_of_them():
    lines = part(page("benchmarks.md"), "## Times\n", "## The threat scan\n").splitlines()
    rows = {line.split("`")[1] for line in lines if line.startswith("| `")}
    assert rows | {"fleet"} == {*NAMES, *LONG}
    assert "python -m benchmarks fleet" in page("benchmarks.md")
