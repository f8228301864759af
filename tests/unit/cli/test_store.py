"""``catmem store``."""

import pytest

from catmem.workspace.stores import shown_store
from tests.end_to_end.terminal import run
from tests.golden.case import put
from tests.together import together


@pytest.fixture
def root(tmp_path):
    """A root with two revisions of one file, and one of another that no store has seen."""
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "{}\n")
    for text in ("One.", "Two."):
        run("add", text, "-p", "neo", "--root", tmp_path)
    put(tmp_path / "homes" / "neo" / "MEMORY.md", "by hand\n")
    return tmp_path


@together(
    ("where", "shown"),
    [
        ("files", "files"),
        ("sqlite:///a@b.db", "sqlite:///a@b.db"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://me:secret@host/db", "postgresql://me@host/db"),
        ("postgresql://me:sec@ret@host/db", "postgresql://me@host/db"),
        ("postgresql://host/db?user=me&password=secret", "postgresql://host/db?user=me&password=***"),
        ("postgresql://host/db?sslpassword=secret&x=1", "postgresql://host/db?sslpassword=***&x=1"),
    ],
)
def test_no_password_is_shown(where, shown):
    assert shown_store(where) == shown


def test_a_copy_says_what_to_do_next(root):
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    result = run("store", "copy", "files", "sqlite:///new.db", "--root", root)
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        ["copied", "neo/memory"],
        ["copied", "neo/user"],
    ]
    assert "let catmem.yaml say `store: sqlite:///new.db`" in result.stderr
    assert "catmem.seed.lock" in result.stderr
    assert {path: path.read_bytes() for path in before} == before
