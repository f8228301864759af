"""Rows of a database that nobody's memory has: `catmem store copy` names what it leaves out."""

import json
import sqlite3

import pytest

from tests.end_to_end.terminal import run as run_command
from tests.golden.case import put


@pytest.fixture
def root(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\nstore: sqlite:///memory.db\n")
    put(tmp_path / "profiles" / "neo.yaml", '{user_memory_categories: ["*"], writable_categories: ["*"]}\n')
    run(tmp_path, "add", "One.", "-p", "neo", "-c", "notes")
    return tmp_path


def run(root, *words, status=0):
    return run_command(*words, "--root", str(root), status=status)


def insert(root, *rows):
    connection = sqlite3.connect(root / "memory.db", isolation_level=None)
    connection.executemany(
        "INSERT INTO user_memories (entity, category, content, tags) VALUES (?, 'notes', ?, ?)", rows
    )
    connection.close()


LEFT_OUT = {
    "an entity that no profile has": ([("neo/User", "x", "{}"), ("neo/User", "y", "{}")], "neo/User", 2, "no profile"),
    "an odd name": ([("O'Brien/user", "x", "{}")], "O'Brien/user", 1, "no profile"),
    "rows that are no entries": ([("neo/user", "x", "{oops")], "neo/user", 1, "no entries"),
}


@pytest.mark.parametrize("target", ["files", "sqlite:///copy.db"])
def test_what_is_left_out_is_named_with_its_number_and_status_1(root, target):
    insert(root, *(row for rows, *_ in LEFT_OUT.values() for row in rows))
    done = run(root, "store", "copy", "sqlite:///memory.db", target, status=1)
    for _, entity, count, why in LEFT_OUT.values():
        (line,) = (line for line in done.stderr.splitlines() if line.startswith(f"warning: {entity}: {count} row"))
        assert why in line


def test_a_copy_that_leaves_nothing_out_has_status_0(root):
    insert(root, ("neo/memory", "x", "{}"))
    done = run(root, "store", "copy", "sqlite:///memory.db", "files", "--format", "json")
    assert (json.loads(done.stdout)["left_out"], "left out" in done.stderr) == ([], False)
