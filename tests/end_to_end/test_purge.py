"""``catmem purge`` leaves the words nowhere in a root, or names the place and ends with 1."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.end_to_end.terminal import run_json, said
from tests.golden.case import put

WORDS = "zebra4711"
RIGHTS = "user_memory_categories: ['*']\nwritable_categories: ['*']\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The working folder, with two profiles."""
    monkeypatch.chdir(tmp_path)
    for name in ("neo", "ann"):
        put(tmp_path / "profiles" / f"{name}.yaml", RIGHTS)
    return tmp_path


@pytest.fixture(params=["files", "sqlite"])
def root(request, folder):
    put(folder / "catmem.yaml", f"store: {'files' if request.param == 'files' else 'sqlite:///memory.db'}\n")
    return folder


def add_code(name="neo", words=WORDS):
    said("add", f"The code is {words}.", "-p", name, "-c", "rules")


def purge(choice="--yes", status=0):
    return said("purge", "neo/user", WORDS, choice, status=status)


def sql(root, statement):
    with closing(sqlite3.connect(root / "memory.db", isolation_level=None)) as connection:
        connection.execute(statement)


def take_heading_away(root):
    """What a person does whom the refusal ``in_line`` asks for it; no row has the heading by itself."""
    path = root / "homes" / "neo" / "USER.md"
    if path.exists():
        path.write_text(path.read_text().replace(f"## Merger {WORDS}", "## Merger"))
    else:
        said("restore", "neo", "1")


def holding(root):
    files = [path for path in root.rglob("*") if path.is_file()]
    return [path.name for path in files if WORDS.encode() in path.read_bytes()]


@pytest.mark.parametrize("place", ["memory.db", "data/old.sqlite"])
def test_a_database_of_the_root_that_is_not_in_use_is_looked_at(tmp_path, place):
    put(tmp_path / place, "").unlink()
    add_code()
    said("replace", f"The code is {WORDS}.", "The code is gone.", "-p", "neo")
    said("store", "copy", "files", f"sqlite:///{place}")
    with closing(sqlite3.connect(tmp_path / "own.db")) as connection:
        connection.execute("CREATE TABLE diary (day TEXT)")
    assert WORDS.encode() not in (tmp_path / place).read_bytes()
    told = purge(status=1)
    assert f"{place}: another store of this root holds the words too; remove it" in told
    assert "own.db" not in told
    (tmp_path / place).unlink()
    add_code()
    purge()


def test_files_of_the_root_that_are_not_in_use_are_looked_at(tmp_path):
    add_code()
    said("store", "copy", "files", "sqlite:///memory.db")
    put(tmp_path / "catmem.yaml", "store: sqlite:///memory.db\n")
    home = tmp_path / "homes" / "neo"
    (home / "USER.md").unlink()
    told = purge(status=1)
    assert "homes/neo/.catmem/journal: another store of this root holds the words too; remove it" in told
    add_code()
    shutil.rmtree(home / ".catmem")
    purge()


@pytest.mark.parametrize("root", ["files"], indirect=True)
def test_a_folder_of_a_profile_that_is_gone_is_named(root):
    for name, words in (("old", WORDS), ("ann", WORDS), ("bob", "Tea.")):
        put(root / "profiles" / f"{name}.yaml", RIGHTS)
        add_code(name, words)
    said("remove", WORDS, "-p", "old")  # its history alone has them
    for name in ("old", "ann", "bob"):
        (root / "profiles" / f"{name}.yaml").rename(root / "profiles" / f"new-{name}.yaml")
    add_code()
    for choice, status in (("--dry-run", 0), ("--yes", 1)):
        told = purge(choice, status)
        for name in ("old", "ann"):
            assert f"homes/{name}: it belongs to no profile; give it one and purge again, or remove it" in told
        assert "homes/bob" not in told
    for name in ("old", "ann"):
        (root / "profiles" / f"new-{name}.yaml").rename(root / "profiles" / f"{name}.yaml")
    add_code()
    purge()
    assert holding(root) == []


def test_the_name_of_a_category_goes_from_the_history(root):
    said("add", "Tea at four.", "-p", "neo", "-c", "rules")
    said("add", "The offer is confidential.", "-p", "neo", "-c", f"Merger {WORDS}")
    purge(status=2)
    take_heading_away(root)
    purge()
    assert holding(root) == []
    assert "[purged]" in said("log", "neo/user")
    assert "no damage" in said("fsck")
    assert "ever did" in purge(status=2)


def test_a_heading_without_entries_that_says_the_words_goes_out_of_the_text_of_now(root):
    said("add", "Tea at four.", "-p", "neo", "-c", "rules")
    said("add", "The offer is confidential.", "-p", "neo", "-c", f"Merger {WORDS}")
    told = purge(status=2)
    assert "move all entries below that heading away" in told
    said("move", "The offer", "-p", "neo", "-c", "rules")
    purge()
    assert holding(root) == []
    assert "The offer is confidential." in said("list", "-p", "neo")
    assert "no damage" in said("fsck")


def test_what_another_entity_keeps_of_such_a_category_is_named(root):
    said("add", "The offer is confidential.", "-p", "ann", "-c", f"Merger {WORDS}")
    add_code()
    told = purge(status=1)
    assert "ann/user holds the words too: purge it there" in told


def test_a_category_in_the_lock_of_seeds_is_named(root):
    said("add", "Tea at four.", "-p", "neo", "-c", "rules")
    said("add", "The offer is confidential.", "-p", "neo", "-c", f"Merger {WORDS}")
    said("seed", "neo", "ann")
    take_heading_away(root)
    told = purge(status=1)
    assert "catmem.seed.lock: a category there says the words; seed once more" in told


def test_a_category_whose_slug_says_the_words_goes_from_the_history_alone(root):
    said("add", "Ask for the merger (a) first.", "-p", "neo", "-c", "Merger A")
    said("seed", "neo", "ann")
    said("purge", "neo/user", "merger (a)", "--yes")
    assert "merger-a" not in said("log", "neo/user")


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
def test_a_row_that_keeps_the_words_is_named(root, columns):
    add_code()
    sql(root, f"INSERT INTO user_memories {columns}")
    entity = columns.partition("'")[2].partition("'")[0]
    for choice, status in (("--dry-run", 0), ("--yes", 1)):
        told = purge(choice, status)
        assert f"sqlite:{entity}: row 2 holds the words" in told
    assert holding(root) == ["memory.db"]


@pytest.mark.parametrize("root", ["sqlite"], indirect=True)
def test_a_row_with_more_words_than_the_entry_of_an_id_is_not_named(root):
    said("add", "Tea.", "-p", "neo", "-c", "rules")
    (tea,) = run_json("list", "neo")["entries"]
    said("add", "Tea. At four.", "-p", "neo", "-c", "rules")
    said("purge", "neo/user", tea["id"], "--yes")


# --- what could pass for an all-clear --------------------------------------------------------------------------------

ODD = {
    "Windows-1252": lambda text: f"caf\xe9 {text}\n".encode("cp1252"),
    "UTF-16": lambda text: f"caf\xe9 {text}\n".encode("utf-16"),
}


@pytest.mark.parametrize("encoded", ODD.values(), ids=ODD)
@pytest.mark.parametrize("words", [WORDS, "K\xf6nig 4711"])
def test_a_file_of_another_profile_that_is_no_utf_8_is_named(folder, encoded, words):
    add_code(words=words)
    path = put(folder / "homes" / "ann" / "USER.md", "")
    path.write_bytes(encoded(f"I know it: {words}, too."))
    for choice, status in (("--dry-run", 0), ("--yes", 1)):
        told = said("purge", "neo/user", words, choice, status=status)
        assert "homes/ann/USER.md: ann/user holds the text, and cannot be taken apart: not UTF-8" in told
    path.write_bytes(encoded("I know nothing."))
    add_code(words=words)
    said("purge", "neo/user", words, "--yes")


FORMS = {
    "single quotes": "---\nabout:\n  it: 'Ann''s  zebra4711'\n---\n",
    "folded": "---\nabout:\n  it: >-\n    It is Ann's\n    zebra4711\n---\n",
    "double quotes": '---\nabout:\n  it: "Ann\'s \\u007aebra4711"\n---\n',
    "wrapped": "I know of Ann's\r\nzebra4711.\n",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["ann", "neo"])
def test_words_in_another_plain_form_are_found(folder, form, name):
    said("add", "Ann's zebra4711 is the code.", "-p", "neo", "-c", "rules")
    path = put(folder / "homes" / name / "MEMORY.md", f"{form}Look here.\n§\nTea.\n")
    told = said("purge", "neo/user", "Ann's zebra4711", "--yes", status=1)
    assert f"homes/{name}/MEMORY.md: {name}/memory holds the words too: purge it there" in told
    said("purge", f"{name}/memory", "Ann's zebra4711", "--yes")
    assert path.read_text() == "Tea.\n"


@pytest.mark.parametrize("root", ["files"], indirect=True)
def test_a_purge_of_the_wrong_entity_names_the_one_that_holds_the_words(root):
    add_code("ann")
    put(root / "catmem.yaml", "version: 1\nentities:\n  'notes:a': {content: text, writers: [ann]}\n")
    put(root / "entities" / "notes%3Aa" / "content.txt", f"{WORDS}\n")
    (code,) = run_json("list", "ann")["entries"]
    for words in (WORDS, code["id"]):
        told = said("purge", "neo/user", words, "--yes", status=2)
        assert "nothing in neo/user holds the words" in told
        assert "homes/ann/USER.md: 'catmem purge ann/user - --yes' erases the words there" in told
    assert "entities/notes%3Aa/content.txt: 'catmem purge notes:a - --yes' erases" in purge(status=2)
    assert "4711" not in purge(status=2)
    assert "homes/ann" in said("purge", "notes:a", "The code is", "--yes", status=2)
    (root / "homes" / "ann" / "USER.md").write_text("Tea.\n")  # its history alone has them
    assert "homes/ann/USER.md: 'catmem purge ann/user - --yes'" in said(
        "purge", "neo/user", "The code is", "--yes", status=2
    )


def test_a_purge_of_what_no_file_holds_names_none(folder):
    add_code()
    told = said("purge", "neo/user", "giraffe", "--yes", status=2)
    assert "Nothing was forgotten. Give the words as they are within one entry, value or text." in told
