"""A root that keeps its memory in SQLite, through the command line: every verb, and a shell beside it."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.commands import catmem


class Root:
    """A root with one profile, and what is run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: str, status: int = 0) -> str:
        ended = catmem(self.folder, words)
        assert ended.exit_code == status, ended.output
        return ended.stdout + ended.stderr

    def sql(self, statement: str, *values: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.folder / "catmem.db", isolation_level=None)) as connection:
            return connection.execute(statement, values).fetchall()


@pytest.fixture(scope="module")
def two_facts(tmp_path_factory):
    made = Root(tmp_path_factory.mktemp("root"))
    made.run("init", ".")
    config = made.folder / "catmem.yaml"
    config.write_text(f"store: sqlite:///catmem.db\n{config.read_text()}")
    made.run("add", "The vendor is Acme.", "-p", "orchestrator", "-c", "workflow-rules")
    made.run("add", "Tea at four.", "-p", "orchestrator", "-c", "communication-style")
    return made.folder


@pytest.fixture
def root(two_facts, tmp_path):
    return Root(shutil.copytree(two_facts, tmp_path / "root"))


INSERT = (
    "INSERT INTO user_memories (entity, category, content) "
    "VALUES ('orchestrator/user', 'workflow-rules', 'From a shell.')"
)


def test_what_is_written_is_rows_and_no_file(root):
    rows = root.sql("SELECT entity, category, tier, content FROM user_memories ORDER BY position")
    assert rows == [
        ("orchestrator/user", "workflow-rules", 1, "The vendor is Acme."),
        ("orchestrator/user", "communication-style", 1, "Tea at four."),
    ]
    assert "Tea at four." not in (root.folder / "homes/orchestrator/USER.md").read_text()


def test_history_verbs(root):
    root.sql(INSERT)
    assert "+From a shell." in root.run("diff", "orchestrator")
    assert "revision 3 of its history" in root.run("add", "More.", "-p", "orchestrator", "-c", "projects")
    log = json.loads(root.run("log", "orchestrator/user", "--format", "json"))
    assert [each["agent"] for each in log["revisions"]] == ["person", "external", "person", "person"]
    root.run("restore", "orchestrator", "2")
    assert "From a shell." not in root.run("list", "-p", "orchestrator")
    root.run("log", "--verify", "out")
    assert "From a shell." in (root.folder / "out/orchestrator/USER/3.md").read_text()


def test_a_stale_view_is_refused_and_a_copy_kept(root):
    root.sql(INSERT)
    said = root.run("add", "More.", "-p", "orchestrator", "-c", "projects", "--expected", "2", status=3)
    (copy,) = root.folder.glob("memory.bak.*.json")
    assert copy.name in said
    assert [each["content"] for each in json.loads(copy.read_text())["entries"]][-1] == "From a shell."
    assert f"{copy.name}: the newest of 1 recovery copy of all rows" in root.run("fsck")
    root.run("add", "More.", "-p", "orchestrator", "-c", "projects", "--expected", "3")


def test_formatting_is_for_files_and_says_so(root):
    assert "keeps its memory in a database" in root.run("fmt", status=2)


def test_fsck_doctor_and_anchors(root):
    assert "no damage" in root.run("fsck")
    assert "SQLite" in root.run("doctor")
    (root.folder / "anchors").write_text(root.run("fsck", "--anchors"))
    assert "hold every anchor" in root.run("fsck", "--check", "anchors")
    root.sql("UPDATE mem_log SET agent = 'nobody' WHERE sequence = 1")
    assert "log_damaged" in root.run("fsck", status=4)


@pytest.mark.parametrize("changed", ["card_titles", "alias"])
def test_a_setting_that_reads_the_rows_otherwise_is_named_and_can_be_set_back(root, changed):
    config = root.folder / "catmem.yaml"
    own = config.read_text().partition("taxonomy:")[0] + "taxonomy: {categories: {money: {aliases: [cash]}}}\n"
    new = (
        own.replace("{categories", "{card_titles: true, categories")
        if changed == "card_titles"
        else own[: own.index("tax")]
    )
    config.write_text(own)
    root.run("add", "Cash is counted on Fridays.", "-p", "orchestrator", "-c", "Other")
    root.sql("UPDATE user_memories SET category = 'money', title = 'Cash' WHERE category = 'other'")
    root.run("fsck", "--repair")
    assert "no damage" in root.run("fsck")
    config.write_text(new)
    assert "card_titles or an alias of a category" in root.run("fsck", status=4)
    config.write_text(own)
    assert "no damage" in root.run("fsck")


def test_purge_leaves_the_text_nowhere(root):
    root.sql(INSERT)
    root.run("add", "More.", "-p", "orchestrator", "-c", "projects")
    root.run("purge", "orchestrator", "From a shell.", "--yes")
    left = [path.name for path in root.folder.rglob("*") if path.is_file() and b"From a shell." in path.read_bytes()]
    assert left == []
    assert "no damage" in root.run("fsck")


def test_purge_of_a_damaged_log_is_refused_before_any_copy_goes(root):
    root.sql(INSERT)
    root.run("add", "More.", "-p", "orchestrator", "-c", "projects", "--expected", "2", status=3)
    root.run("add", "More.", "-p", "orchestrator", "-c", "projects", "--expected", "3")
    root.sql("UPDATE mem_log SET agent = 'nobody' WHERE sequence = 1")
    kept = root.sql("SELECT * FROM mem_log"), root.sql("SELECT * FROM user_memories")
    assert "Nothing was erased there." in root.run("purge", "orchestrator", "From a shell.", "--yes", status=4)
    assert len([*root.folder.glob("memory.bak.*.json")]) == 1
    assert (root.sql("SELECT * FROM mem_log"), root.sql("SELECT * FROM user_memories")) == kept


def test_rows_that_are_no_entries_stop_writes_and_nothing_else(root):
    root.sql(INSERT.replace("content)", "content, tags)").replace("'From a shell.')", "'Bad.', '{')"))
    assert "bad_rows" in root.run("add", "More.", "-p", "orchestrator", "-c", "projects", status=3)
    assert "Tea at four." in root.run("prompt", "orchestrator")
    assert "bad_rows" in root.run("fsck", status=4)
    root.sql("DELETE FROM user_memories WHERE content = 'Bad.'")
    root.run("add", "More.", "-p", "orchestrator", "-c", "projects")


# --- a copy ----------------------------------------------------------------------------------------------------------

ROW = "INSERT INTO user_memories (entity, category, content, tags) VALUES (?, 'workflow-rules', ?, ?)"


@pytest.mark.parametrize("target", ["files", "sqlite:///copy.db"])
def test_a_copy_names_what_it_leaves_out_with_its_number_and_status_1(root, target):
    (root.folder / "homes/orchestrator/USER.md").unlink()
    for row in (
        ("orchestrator/User", "x", "{}"),
        ("orchestrator/User", "y", "{}"),
        ("O'Brien/user", "x", "{}"),
        ("orchestrator/user", "x", "{oops"),
    ):
        root.sql(ROW, *row)
    said = root.run("store", "copy", "sqlite:///catmem.db", target, status=1).splitlines()
    for entity, count, why in (
        ("orchestrator/User", 2, "no profile"),
        ("O'Brien/user", 1, "no profile"),
        ("orchestrator/user", 1, "no entries"),
    ):
        (line,) = (line for line in said if line.startswith(f"warning: {entity}: {count} row"))
        assert why in line


def test_a_copy_that_leaves_nothing_out_has_status_0(root):
    (root.folder / "homes/orchestrator/USER.md").unlink()
    root.sql(ROW, "orchestrator/memory", "x", "{}")
    told = json.loads(root.run("store", "copy", "sqlite:///catmem.db", "files", "--format", "json"))
    assert told["left_out"] == []


def test_a_category_that_gets_another_name_keeps_its_rows(root):
    config = root.folder / "catmem.yaml"
    said = config.read_text()
    config.write_text(said.replace("workflow-rules: {", "house-rules: {aliases: [workflow-rules], "))
    assert config.read_text() != said
    rows = root.sql("SELECT id, category FROM user_memories ORDER BY position")
    assert "no damage" in root.run("fsck")
    root.run("replace", "-p", "orchestrator", "The vendor", "The vendor is Example Ltd.")
    assert root.sql("SELECT id, category FROM user_memories ORDER BY position") == [
        (rows[0][0], "house-rules"),
        rows[1],
    ]
    root.sql("UPDATE user_memories SET content = 'Tea at five.' WHERE content = 'Tea at four.'")
    assert "Example Ltd." in root.run("prompt", "orchestrator")
    root.run("remove", "-p", "orchestrator", "The vendor")
    assert [each["op"] for each in json.loads(root.run("log", "orchestrator/user", "--format", "json"))["revisions"]] == [
        "put", "adopt", "put", "put", "put",
    ]  # fmt: skip
    assert "no damage" in root.run("fsck")


@pytest.mark.parametrize("store", ["sqlite:///catmem.db", "files"])
def test_a_snapshot_from_before_a_category_got_another_name_comes_back_whole(root, store):
    config = root.folder / "catmem.yaml"
    (root.folder / "homes/orchestrator/USER.md").unlink()
    root.run("store", "copy", "sqlite:///catmem.db", "files")
    config.write_text(config.read_text().replace("store: sqlite:///catmem.db", f"store: {store}"))
    before = root.run("prompt", "orchestrator")
    root.run("export", "--snapshot", "before.json")
    config.write_text(config.read_text().replace("workflow-rules: {", "house-rules: {aliases: [workflow-rules], "))
    assert "all is as in the snapshot" in root.run("import", "--snapshot", "before.json")
    root.run("remove", "-p", "orchestrator", "The vendor")
    assert "left out" not in root.run("import", "--snapshot", "before.json")
    assert root.run("prompt", "orchestrator") == before
    assert "house-rules" in root.run("list", "orchestrator")


def test_a_purge_tells_an_entry_of_a_copy_by_the_new_name_of_its_category(root):
    config = root.folder / "catmem.yaml"
    root.sql("UPDATE user_memories SET content = 'Tea at five.' WHERE content = 'Tea at four.'")
    root.run("add", "More.", "-p", "orchestrator", "-c", "projects")
    assert [*root.folder.glob("memory.bak.*.json")] != []
    config.write_text(config.read_text().replace("workflow-rules: {", "house-rules: {aliases: [workflow-rules], "))
    said = root.run("purge", "orchestrator", "The vendor", "--yes")
    assert ("house-rules" in said, "__uncategorized__" in said) == (True, False)
    assert [*root.folder.glob("memory.bak.*.json")] == []


def test_a_client_may_write_the_old_name_of_a_category(root):
    config = root.folder / "catmem.yaml"
    config.write_text(config.read_text().replace("workflow-rules: {", "house-rules: {aliases: [workflow-rules], "))
    root.sql(INSERT)
    assert "From a shell." in root.run("prompt", "orchestrator")
    root.run("add", "Another.", "-p", "orchestrator", "-c", "house-rules")
    assert {category for (category,) in root.sql("SELECT category FROM user_memories")} == {
        "house-rules", "communication-style",
    }  # fmt: skip
