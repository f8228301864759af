"""``catmem purge`` leaves the words nowhere in a root, or names the place and ends with 1."""

import json
import shutil
import sqlite3
from contextlib import closing

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


@pytest.fixture
def database(root):
    run(root, "add", f"The code is {WORDS}.", "-p", "neo", "-c", "rules")
    return root


def run(root, *words, status=0):
    ended = catmem(root, words)
    assert ended.exit_code == status, ended.output
    return ended.stdout + ended.stderr


def sql(root, statement):
    with closing(sqlite3.connect(root / "memory.db", isolation_level=None)) as connection:
        connection.execute(statement)


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


@pytest.mark.parametrize("place", ["memory.db", "data/old.sqlite"])
def test_a_database_of_the_root_that_is_not_in_use_is_looked_at(tmp_path, place):
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\nwritable_categories: ['*']\n")
    put(tmp_path / place, "").unlink()
    run(tmp_path, "add", f"The code is {WORDS}.", "-p", "neo", "-c", "rules")
    run(tmp_path, "replace", f"The code is {WORDS}.", "The code is gone.", "-p", "neo")
    run(tmp_path, "store", "copy", "files", f"sqlite:///{place}")
    with closing(sqlite3.connect(tmp_path / "own.db")) as connection:
        connection.execute("CREATE TABLE diary (day TEXT)")
    assert WORDS.encode() not in (tmp_path / place).read_bytes()
    said = run(tmp_path, "purge", "neo/user", WORDS, "--yes", status=1)
    assert f"{place}: another store of this root holds the words too; remove it" in said
    assert "own.db" not in said
    (tmp_path / place).unlink()
    run(tmp_path, "add", f"The code is {WORDS}.", "-p", "neo", "-c", "rules")
    run(tmp_path, "purge", "neo/user", WORDS, "--yes")


def test_files_of_the_root_that_are_not_in_use_are_looked_at(tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\nwritable_categories: ['*']\n")
    run(tmp_path, "add", f"The code is {WORDS}.", "-p", "neo", "-c", "rules")
    run(tmp_path, "store", "copy", "files", "sqlite:///memory.db")
    put(tmp_path / "catmem.yaml", "store: sqlite:///memory.db\n")
    home = tmp_path / "homes" / "neo"
    (home / "USER.md").unlink()
    said = run(tmp_path, "purge", "neo/user", WORDS, "--yes", status=1)
    assert "homes/neo/.catmem/journal: another store of this root holds the words too; remove it" in said
    run(tmp_path, "add", f"The code is {WORDS}.", "-p", "neo", "-c", "rules")
    shutil.rmtree(home / ".catmem")
    run(tmp_path, "purge", "neo/user", WORDS, "--yes")


@pytest.mark.parametrize("root", ["files"], indirect=True)
def test_a_folder_of_a_profile_that_is_gone_is_named(root):
    for name, words in (("old", WORDS), ("ann", WORDS), ("bob", "Tea.")):
        put(root / "profiles" / f"{name}.yaml", "user_memory_categories: ['*']\nwritable_categories: ['*']\n")
        run(root, "add", f"The code is {words}.", "-p", name, "-c", "rules")
    run(root, "remove", WORDS, "-p", "old")  # its history alone has them
    for name in ("old", "ann", "bob"):
        (root / "profiles" / f"{name}.yaml").rename(root / "profiles" / f"new-{name}.yaml")
    run(root, "add", f"The code is {WORDS}.", "-p", "neo", "-c", "rules")
    for choice, status in (("--dry-run", 0), ("--yes", 1)):
        said = run(root, "purge", "neo/user", WORDS, choice, status=status)
        for name in ("old", "ann"):
            assert f"homes/{name}: it belongs to no profile; give it one and purge again, or remove it" in said
        assert "homes/bob" not in said
    for name in ("old", "ann"):
        (root / "profiles" / f"new-{name}.yaml").rename(root / "profiles" / f"{name}.yaml")
    run(root, "add", f"The code is {WORDS}.", "-p", "neo", "-c", "rules")
    run(root, "purge", "neo/user", WORDS, "--yes")
    assert holding(root) == []


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


def test_a_heading_without_entries_that_says_the_words_goes_out_of_the_text_of_now(root):
    run(root, "add", "Tea at four.", "-p", "neo", "-c", "rules")
    run(root, "add", "The offer is confidential.", "-p", "neo", "-c", f"Merger {WORDS}")
    said = run(root, "purge", "neo/user", WORDS, "--yes", status=2)
    assert "move all entries below that heading away" in said
    run(root, "move", "The offer", "-p", "neo", "-c", "rules")
    run(root, "purge", "neo/user", WORDS, "--yes")
    assert holding(root) == []
    assert "The offer is confidential." in run(root, "list", "-p", "neo")
    assert "no damage" in run(root, "fsck")


def test_what_another_entity_keeps_of_such_a_category_is_named(root):
    run(root, "add", "The offer is confidential.", "-p", "ann", "-c", f"Merger {WORDS}")
    run(root, "add", f"The code is {WORDS}.", "-p", "neo", "-c", "rules")
    said = run(root, "purge", "neo/user", WORDS, "--yes", status=1)
    assert "ann/user holds the words too: purge it there" in said


def test_a_category_in_the_lock_of_seeds_is_named(root):
    run(root, "add", "Tea at four.", "-p", "neo", "-c", "rules")
    run(root, "add", "The offer is confidential.", "-p", "neo", "-c", f"Merger {WORDS}")
    run(root, "seed", "neo", "ann")
    take_heading_away(root)
    said = run(root, "purge", "neo/user", WORDS, "--yes", status=1)
    assert "catmem.seed.lock: a category there says the words; seed once more" in said


def test_a_category_whose_heading_does_not_say_the_words_stays(root):
    run(root, "add", "Ask for the merger first.", "-p", "neo", "-c", "Merger Rules")
    run(root, "seed", "neo", "ann")
    run(root, "purge", "neo/user", "merger", "--yes")
    assert "merger-rules" in run(root, "log", "neo/user")


def test_a_note_in_a_log_of_an_older_build_is_named(root):
    run(root, "add", f"The code is {WORDS}.", "-p", "neo", "-c", "rules")
    with (root / ".catmem" / "audit.jsonl").open("a") as log:
        log.write(f'{{"op":"bypass","note":"because of {WORDS}"}}\n')
    assert ".catmem/audit.jsonl" in run(root, "purge", "neo/user", WORDS, "--yes", status=1)
    assert holding(root) == ["audit.jsonl"]


@pytest.mark.parametrize("root", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "columns",
    [
        "(entity, category, content, tags) VALUES ('ann/user', 'rules', 'zebra4711', 'not json')",
        "(entity, category, content) VALUES ('nobody/user', 'rules', 'zebra4711')",
        "(entity, category, content) VALUES ('nobody/user', 'zebra4711', 'plain')",
        "(entity, category, content, title) VALUES ('ann/user', 'rules', 'plain', 'zebra4711')",
        "(entity, category, content, tier) VALUES ('ann/user', 'rules', 'plain', 'zebra4711')",
    ],
)
def test_a_row_that_keeps_the_words_is_named(database, columns):
    sql(database, f"INSERT INTO user_memories {columns}")
    entity = columns.partition("'")[2].partition("'")[0]
    for choice, status in (("--dry-run", 0), ("--yes", 1)):
        said = run(database, "purge", "neo/user", WORDS, choice, status=status)
        assert f"sqlite:{entity}: row 2 holds the words" in said
    assert holding(database) == ["memory.db"]


@pytest.mark.parametrize("root", ["sqlite"], indirect=True)
def test_a_row_with_more_words_than_the_entry_of_an_id_is_not_named(root):
    run(root, "add", "Tea.", "-p", "neo", "-c", "rules")
    (tea,) = json.loads(run(root, "list", "neo", "--format", "json"))["entries"]
    run(root, "add", "Tea. At four.", "-p", "neo", "-c", "rules")
    run(root, "purge", "neo/user", tea["id"], "--yes")
