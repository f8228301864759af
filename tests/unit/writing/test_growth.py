"""What an addition to a SQLite store does, counted: it must not grow with the file."""

import sys
from collections import Counter
from contextlib import contextmanager

import pytest

from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

FEW, MANY = 300, 3_000
CATEGORIES = ("talk", "rules", "plans")
ADDED = 5


def root_with(folder, entries):
    """A root with so many entries in a SQLite store, to which something has been added."""
    put(folder / "catmem.yaml", "version: 1\nstore: sqlite:///memory.db\n")
    put(folder / "profiles" / "neo.yaml", 'user_memory_categories: ["*"]\nwritable_categories: ["*"]\n')
    each = range(entries // len(CATEGORIES))
    sections = (
        f"## {category}\n" + "\n§\n".join(f"[created: 2026-11-02] fact {number} of {category} — §5" for number in each)
        for category in CATEGORIES
    )
    data = ("\n\n".join(sections) + "\n").encode()
    workspace = Workspace.open(folder, search=False)
    workspace.store.commit("neo/user", "0", lambda _: data, Change())
    for actor in (None, "neo"):  # the first time, the file and its history are read
        workspace.add("neo", f"the first one of {actor}", category="talk", actor=actor)
    return workspace


@contextmanager
def counting():
    """Counts the calls of Python's and C's functions, and the statements of SQLite."""
    counts = Counter()

    def called(frame, event, argument):
        if event == "call":
            counts["calls"] += 1
        elif event == "c_call":
            counts["calls into C"] += 1
            if getattr(argument, "__name__", "") == "execute":
                counts["statements"] += 1

    sys.setprofile(called)
    try:
        yield counts
    finally:
        sys.setprofile(None)


def added(workspace, category, actor):
    with counting() as counts:
        for number in range(ADDED):
            workspace.add("neo", f"something new, number {number}, by {actor}", category=category, actor=actor)
    return counts


@pytest.mark.parametrize("actor", [None, "neo"])
@pytest.mark.parametrize("category", CATEGORIES)
def test_an_addition_costs_the_same_in_a_long_file(tmp_path, category, actor):
    few, many = (added(root_with(tmp_path / str(size), size), category, actor) for size in (FEW, MANY))
    assert few["statements"] == many["statements"] > ADDED
    # Binary searches are a little longer; a look at each entry would be ten times as many calls.
    assert many["calls"] < 1.2 * few["calls"]
    assert many["calls into C"] < 1.2 * few["calls into C"]


def test_an_addition_by_turns_to_the_ends_of_a_file_costs_little_more(tmp_path):
    few, many = (root_with(tmp_path / str(size), size) for size in (FEW, MANY))
    for category in (*CATEGORIES, *CATEGORIES):
        short, long = (added(workspace, category, None) for workspace in (few, many))
        assert long["calls"] < 1.2 * short["calls"]
