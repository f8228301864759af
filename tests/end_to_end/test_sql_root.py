"""A root that keeps its memory in SQLite, through the command line: every verb, and a shell beside it."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.end_to_end.terminal import run, run_json, said


def sql(statement, *values):
    """What a shell gets of the database beside catmem."""
    with closing(sqlite3.connect("catmem.db", isolation_level=None)) as connection:
        return connection.execute(statement, values).fetchall()


@pytest.fixture(scope="module")
def two_facts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    run("init", folder)
    config = folder / "catmem.yaml"
    config.write_text(f"store: sqlite:///catmem.db\n{config.read_text()}")
    for words, category in (("The vendor is Acme.", "workflow-rules"), ("Tea at four.", "communication-style")):
        run("add", words, "-p", "orchestrator", "-c", category, "--root", folder)
    return folder


@pytest.fixture
def root(two_facts, tmp_path, monkeypatch):
    """A root with one profile, which is the working folder."""
    monkeypatch.chdir(shutil.copytree(two_facts, tmp_path / "root"))
    return tmp_path / "root"


def rename_category(root):
    """Give workflow-rules another name, of which the old one is an alias."""
    config = root / "catmem.yaml"
    before = config.read_text()
    config.write_text(before.replace("workflow-rules: {", "house-rules: {aliases: [workflow-rules], "))
    assert config.read_text() != before


INSERT = (
    "INSERT INTO user_memories (entity, category, content) "
    "VALUES ('orchestrator/user', 'workflow-rules', 'From a shell.')"
)


def test_what_is_written_is_rows_and_no_file(root):
    rows = sql("SELECT entity, category, tier, content FROM user_memories ORDER BY position")
    assert rows == [
        ("orchestrator/user", "workflow-rules", 1, "The vendor is Acme."),
        ("orchestrator/user", "communication-style", 1, "Tea at four."),
    ]
    assert "Tea at four." not in (root / "homes/orchestrator/USER.md").read_text()


def test_history_verbs(root):
    sql(INSERT)
    assert "+From a shell." in said("diff", "orchestrator")
    assert "revision 3 of its history" in said("add", "More.", "-p", "orchestrator", "-c", "projects")
    log = run_json("log", "orchestrator/user")
    assert [each["agent"] for each in log["revisions"]] == ["person", "external", "person", "person"]
    said("restore", "orchestrator", "2")
    assert "From a shell." not in said("list", "-p", "orchestrator")
    assert "orchestrator/user at revision 5" in said("log", "--verify")


def test_a_stale_view_is_refused_and_a_copy_kept(root):
    sql(INSERT)
    told = said("add", "More.", "-p", "orchestrator", "-c", "projects", "--expected", "2", status=3)
    (copy,) = root.glob("memory.bak.*.json")
    assert copy.name in told
    assert [each["content"] for each in json.loads(copy.read_text())["entries"]][-1] == "From a shell."
    assert f"{copy.name}: the newest of 1 recovery copy of all rows" in said("fsck")
    said("add", "More.", "-p", "orchestrator", "-c", "projects", "--expected", "3")


def test_fsck_doctor_and_anchors(root):
    assert "no damage" in said("fsck")
    assert "SQLite" in said("doctor")
    assert "keeps its memory in a database" in said("fmt", status=2)  # that is for files
    (root / "anchors").write_text(said("fsck", "--anchors"))
    assert "hold every anchor" in said("fsck", "--check", "anchors")
    sql("UPDATE mem_log SET agent = 'nobody' WHERE sequence = 1")
    assert "log_damaged" in said("fsck", status=4)


@pytest.mark.parametrize("changed", ["card_titles", "alias"])
def test_a_setting_that_reads_the_rows_otherwise_is_named_and_can_be_set_back(root, changed):
    config = root / "catmem.yaml"
    own = config.read_text().partition("taxonomy:")[0] + "taxonomy: {categories: {money: {aliases: [cash]}}}\n"
    new = (
        own.replace("{categories", "{card_titles: true, categories")
        if changed == "card_titles"
        else own[: own.index("tax")]
    )
    config.write_text(own)
    said("add", "Cash is counted on Fridays.", "-p", "orchestrator", "-c", "Other")
    sql("UPDATE user_memories SET category = 'money', title = 'Cash' WHERE category = 'other'")
    said("fsck", "--repair")
    assert "no damage" in said("fsck")
    config.write_text(new)
    assert "card_titles or an alias of a category" in said("fsck", status=4)
    config.write_text(own)
    assert "no damage" in said("fsck")


def test_purge_leaves_the_text_nowhere(root):
    sql(INSERT)
    said("add", "More.", "-p", "orchestrator", "-c", "projects")
    said("purge", "orchestrator", "From a shell.", "--yes")
    left = [path.name for path in root.rglob("*") if path.is_file() and b"From a shell." in path.read_bytes()]
    assert left == []
    assert "no damage" in said("fsck")


def test_purge_of_a_damaged_log_is_refused_before_any_copy_goes(root):
    sql(INSERT)
    said("add", "More.", "-p", "orchestrator", "-c", "projects", "--expected", "2", status=3)
    said("add", "More.", "-p", "orchestrator", "-c", "projects", "--expected", "3")
    sql("UPDATE mem_log SET agent = 'nobody' WHERE sequence = 1")
    kept = sql("SELECT * FROM mem_log"), sql("SELECT * FROM user_memories")
    assert "Nothing was erased there." in said("purge", "orchestrator", "From a shell.", "--yes", status=4)
    assert len([*root.glob("memory.bak.*.json")]) == 1
    assert (sql("SELECT * FROM mem_log"), sql("SELECT * FROM user_memories")) == kept


def test_rows_that_are_no_entries_stop_writes_and_nothing_else(root):
    sql(INSERT.replace("content)", "content, tags)").replace("'From a shell.')", "'Bad.', '{')"))
    assert "bad_rows" in said("add", "More.", "-p", "orchestrator", "-c", "projects", status=3)
    assert "Tea at four." in said("prompt", "orchestrator")
    assert "bad_rows" in said("fsck", status=4)
    sql("DELETE FROM user_memories WHERE content = 'Bad.'")
    said("add", "More.", "-p", "orchestrator", "-c", "projects")


# --- a copy ----------------------------------------------------------------------------------------------------------

ROW = "INSERT INTO user_memories (entity, category, content, tags) VALUES (?, 'workflow-rules', ?, ?)"


@pytest.mark.parametrize("target", ["files", "sqlite:///copy.db"])
@pytest.mark.parametrize(
    ("entity", "tags"), [("orchestrator/User", "{}"), ("O'Brien/user", "{}"), ("orchestrator/user", "{oops")]
)
def test_a_copy_is_refused_while_it_would_leave_rows_behind(root, target, entity, tags):
    (root / "homes/orchestrator/USER.md").unlink()
    sql(ROW, entity, "x", tags)
    told = said("store", "copy", "sqlite:///catmem.db", target, status=2)
    assert f"error[bad_rows]: rows of {entity} are of no profile, or no entries" in told
    sql("DELETE FROM user_memories WHERE content = 'x'")
    assert "copied" in said("store", "copy", "sqlite:///catmem.db", target)


def test_a_category_that_gets_another_name_keeps_its_rows(root):
    rename_category(root)
    rows = sql("SELECT id, category FROM user_memories ORDER BY position")
    assert "no damage" in said("fsck")
    said("replace", "-p", "orchestrator", "The vendor", "The vendor is Example Ltd.")
    assert sql("SELECT id, category FROM user_memories ORDER BY position") == [
        (rows[0][0], "house-rules"),
        rows[1],
    ]
    sql("UPDATE user_memories SET content = 'Tea at five.' WHERE content = 'Tea at four.'")
    assert "Example Ltd." in said("prompt", "orchestrator")
    said("remove", "-p", "orchestrator", "The vendor")
    assert [each["op"] for each in run_json("log", "orchestrator/user")["revisions"]] == [
        "put", "adopt", "put", "put", "put",
    ]  # fmt: skip
    assert "no damage" in said("fsck")


@pytest.mark.parametrize("store", ["sqlite:///catmem.db", "files"])
def test_a_snapshot_from_before_a_category_got_another_name_comes_back_whole(root, store):
    config = root / "catmem.yaml"
    (root / "homes/orchestrator/USER.md").unlink()
    said("store", "copy", "sqlite:///catmem.db", "files")
    config.write_text(config.read_text().replace("store: sqlite:///catmem.db", f"store: {store}"))
    before = said("prompt", "orchestrator")
    said("export", "--snapshot", "before.json")
    rename_category(root)
    assert "all is as in the snapshot" in said("import", "--snapshot", "before.json")
    said("remove", "-p", "orchestrator", "The vendor")
    assert "left out" not in said("import", "--snapshot", "before.json")
    assert said("prompt", "orchestrator") == before
    assert "house-rules" in said("list", "orchestrator")


def test_a_purge_tells_an_entry_of_a_copy_by_the_new_name_of_its_category(root):
    sql("UPDATE user_memories SET content = 'Tea at five.' WHERE content = 'Tea at four.'")
    said("add", "More.", "-p", "orchestrator", "-c", "projects")
    assert [*root.glob("memory.bak.*.json")] != []
    rename_category(root)
    told = said("purge", "orchestrator", "The vendor", "--yes")
    assert ("house-rules" in told, "__uncategorized__" in told) == (True, False)
    assert [*root.glob("memory.bak.*.json")] == []


def test_a_client_may_write_the_old_name_of_a_category(root):
    rename_category(root)
    sql(INSERT)
    assert "From a shell." in said("prompt", "orchestrator")
    said("add", "Another.", "-p", "orchestrator", "-c", "house-rules")
    assert {category for (category,) in sql("SELECT category FROM user_memories")} == {
        "house-rules", "communication-style",
    }  # fmt: skip
