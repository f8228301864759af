"""``catmem purge`` leaves the words nowhere in a root, or names the place and ends with 1."""

import pytest

from tests.commands import catmem
from tests.golden.case import put

WORDS = "zebra4711"


@pytest.fixture(params=["files", "sqlite"])
def root(request, tmp_path):
    put(tmp_path / "catmem.yaml", f"store: {'files' if request.param == 'files' else 'sqlite:///memory.db'}\n")
    for name in ("neo", "ann"):
        put(tmp_path / "profiles" / f"{name}.yaml", "user_memory_categories: ['*']\nwritable_categories: ['*']\n")
    return tmp_path


def run(root, *words, status=0):
    ended = catmem(root, words)
    assert ended.exit_code == status, ended.output
    return ended.stdout + ended.stderr


def take_heading_away(root):
    """What a person does whom the refusal ``in_line`` asks for it; no row has the heading by itself."""
    path = root / "homes" / "neo" / "USER.md"
    if path.exists():
        path.write_text(path.read_text().replace(f"## Merger {WORDS}", "## Merger"))
    else:
        run(root, "restore", "neo", "1")


def holding(root):
    files = [path for path in root.rglob("*") if path.is_file()]
    return [path.name for path in files if WORDS.encode() in path.read_bytes()]


def test_the_name_of_a_category_goes_from_the_history(root):
    run(root, "add", "Tea at four.", "-p", "neo", "-c", "rules")
    run(root, "add", "The offer is confidential.", "-p", "neo", "-c", f"Merger {WORDS}")
    run(root, "purge", "neo/user", WORDS, "--yes", status=2)
    take_heading_away(root)
    run(root, "purge", "neo/user", WORDS, "--yes")
    assert holding(root) == []
    assert "[purged]" in run(root, "log", "neo/user")
    assert "no damage" in run(root, "fsck")
    assert "ever did" in run(root, "purge", "neo/user", WORDS, "--yes", status=2)


def test_what_another_entity_keeps_of_such_a_category_is_named(root):
    run(root, "add", "The offer is confidential.", "-p", "ann", "-c", f"Merger {WORDS}")
    run(root, "add", f"The code is {WORDS}.", "-p", "neo", "-c", "rules")
    said = run(root, "purge", "neo/user", WORDS, "--yes", status=1)
    assert "ann/user holds the words too: purge it there" in said


def test_a_category_whose_heading_does_not_say_the_words_stays(root):
    run(root, "add", "Ask for the merger first.", "-p", "neo", "-c", "Merger Rules")
    run(root, "purge", "neo/user", "merger", "--yes")
    assert "merger-rules" in run(root, "log", "neo/user")
