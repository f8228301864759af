"""Whatever a model makes of a category's text, the entries are then those of the text, and no others have changed."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from catmem.errors import EditError
from catmem.plugins.anthropic.tool import category_file, entries_of, operations_for
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.property.strategies import texts

WORDS = st.lists(
    st.sampled_from(["acme", "is", "the", "vendor", "of", "cloud", "billing", "15th", "§x", "# y", "- z"]),
    min_size=1,
    max_size=6,
)
LINES = WORDS.map(" ".join)
FILES = st.lists(LINES, min_size=1, max_size=6, unique=True)
OTHERS = "## Other\nNobody's business.\n§\n[created: 2026-01-01] The same.\n"


def opened(folder, entries):
    put(folder / "catmem.yaml", "version: 1\n")
    put(folder / "profiles" / "neo.yaml", "user_memory_categories: [facts]\nwritable_categories: [facts]\n")
    put(folder / "homes" / "neo" / "USER.md", OTHERS)
    workspace = Workspace.open(folder, search=False)
    for body in entries:
        workspace.add("neo", body, category="facts", tags={"source": "a test"})
    return workspace


def bodies(workspace, category):
    return [(entry.body, entry.tags) for entry in workspace.read("neo").document.entries if entry.category == category]


@settings(max_examples=40, deadline=None)
@given(FILES, st.one_of(FILES.map("\n§\n".join), texts()))
@example(["acme"], "- [a: b]")
@example(["acme"], "acme\n§\n[a: b]")
def test_the_entries_are_those_of_the_text(before, text):
    with tempfile.TemporaryDirectory() as name:
        workspace = opened(Path(name), before)
        others = bodies(workspace, "other")
        file = category_file("facts", workspace.view("neo", "user").entries)
        operations = operations_for(file, text)
        if any(not entry.body for entry in entries_of(text)):
            # A tag block with no words behind it.
            with pytest.raises(EditError) as refused:
                workspace.write("neo", operations)
            assert refused.value.code == "empty"
            workspace.store.close()
            return
        if operations:
            # A person writes: what a profile may not store is looked at elsewhere.
            workspace.write("neo", operations)
        assert {body for body, _ in bodies(workspace, "facts")} == {entry.body for entry in entries_of(text)}
        assert bodies(workspace, "other") == others
        workspace.store.close()


@settings(max_examples=30, deadline=None)
@given(FILES)
def test_the_same_text_changes_nothing(before):
    with tempfile.TemporaryDirectory() as name:
        workspace = opened(Path(name), before)
        file = category_file("facts", workspace.view("neo", "user").entries)
        assert [entry.body for entry in file.document.entries] == [entry.body for entry in file.entries]
        assert operations_for(file, file.text) == []
        workspace.store.close()
