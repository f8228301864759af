"""What stands in a root whose store is a database, and nobody reads, is told to whoever comes near."""

import re
import shlex
import shutil
import sqlite3
from contextlib import closing

import pytest

from catmem.linting.root_lint import Linter
from catmem.store.contract import Change
from catmem.workspace import copying
from catmem.workspace.upkeep import fsck, row_notes, unread_note
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import run, run_json, write_root
from tests.golden.case import put

URL = "sqlite:///.catmem/memory.db"
REMEDY = f"catmem store copy files {URL}"


def opened(folder, store=URL):
    config = folder / "catmem.yaml"
    config.write_text(f"store: {store}\n" + config.read_text().replace(f"store: {URL}\n", ""))
    return Workspace.open(folder, search=False)


def client(folder, statement):
    with closing(sqlite3.connect(folder / ".catmem" / "memory.db", isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


@pytest.fixture
def root(tmp_path):
    """A root whose files have entries and a history, and whose store was changed to a new database."""
    write_root(tmp_path)
    with closing(Workspace.open(tmp_path, search=False).store):
        pass
    run("add", "Kept in files.", "-p", "neo", "-c", "rules", "--root", tmp_path)
    workspace = opened(tmp_path)
    yield workspace
    workspace.store.close()


def codes(workspace):
    return [fault.code for fault in fsck(workspace).faults]


def test_files_beside_a_new_database_are_told_with_the_way_out_which_works(root):
    assert "no profile reads the entries of homes/neo/USER.md" in unread_note(root)
    assert REMEDY in unread_note(root)
    assert codes(root) == ["unread_file"]
    assert not (root.root / ".catmem" / "memory.db").exists()
    command = re.search("'catmem (store copy .*?)'", unread_note(root))
    run(*shlex.split(command[1]), "--root", root.root)
    assert "Kept in files." in [entry.body for entry in root.read("neo").document.entries]
    assert unread_note(root) is None


def adding(root):
    return f"catmem import --from hermes -p neo -t user {root.root / 'homes' / 'neo' / 'USER.md'}"


def test_they_are_told_after_a_first_write_to_the_database_too(root):
    root.add("neo", "Into the database.", category="rules")
    # A copy into a database with a history would be refused.
    assert adding(root) in unread_note(root)
    assert codes(root) == ["unread_file"]


def test_a_seed_from_files_that_are_not_copied_names_the_copy(root):
    config = root.root / "catmem.yaml"
    in_database = config.read_text()
    put(config, in_database.replace(URL, "files"))
    run("add", "Fridays are free.", "-p", "boss", "-c", "rules", "--root", root.root)
    run("seed", "boss", "neo", "--root", root.root)
    put(config, in_database)
    refused = run("seed", "boss", "neo", "--root", root.root, status=2).stderr.partition("error[")[2]
    assert (REMEDY in refused, "catmem restore" in refused) == (True, False)


def test_what_is_said_of_a_file_beside_a_database_with_a_history_works(root):
    run("store", "copy", "files", URL, "--root", root.root)
    root.add("neo", "In the database.", category="rules")
    path = root.root / "homes" / "neo" / "USER.md"
    put(path, path.read_text() + "§\n[domain: home] By hand, to nobody.\n")
    command = re.search("'catmem (import .*?)'", unread_note(root))
    run(*shlex.split(command[1]), "--root", root.root)
    entries = {entry.body: entry for entry in root.read("neo").document.entries}
    assert {"Kept in files.", "In the database.", "By hand, to nobody."} <= set(entries)
    assert (entries["By hand, to nobody."].category, entries["By hand, to nobody."].tags["domain"]) == ("pay", "home")
    path.rename(path.with_name("USER.old.md"))
    assert unread_note(root) is None
    assert codes(root) == []


def test_files_that_were_copied_there_or_have_no_entries_are_no_news_and_what_is_written_there_later_is(root):
    path = root.root / "homes" / "neo" / "USER.md"
    text = path.read_text()
    put(path, "# About the user\n\n## Rules\n")
    assert (unread_note(root), codes(root)) == (None, [])
    put(path, text)
    run("store", "copy", "files", URL, "--root", root.root)
    root.add("neo", "Goes on in the database.", category="rules")
    assert (unread_note(root), codes(root)) == (None, [])
    put(path, text + "§\nWritten by hand, to nobody.\n")
    assert "homes/neo/USER.md" in unread_note(root)
    assert codes(root) == ["unread_file"]


COPY_BACK = f"catmem store copy {URL} files"


@pytest.fixture
def left(tmp_path, monkeypatch):
    """A root that was in a database, and whose catmem.yaml does not say so any more."""
    write_root(tmp_path)
    monkeypatch.chdir(tmp_path)
    config = (tmp_path / "catmem.yaml").read_text()
    run("add", "Kept in files.", "-p", "neo", "-c", "rules")
    run("store", "copy", "files", URL)
    put(tmp_path / "catmem.yaml", f"store: {URL}\n{config}")
    run("add", "Kept in the database.", "-p", "neo", "-c", "rules")
    put(tmp_path / "catmem.yaml", config)
    return tmp_path


@pytest.mark.parametrize("config", ["store: files\n", "", None], ids=["files", "nothing", "no file"])
def test_a_database_that_is_not_read_any_more_is_told_by_every_command(left, config):
    if config is None:
        (left / "catmem.yaml").unlink()
    else:
        put(left / "catmem.yaml", config)
    for command in (("prompt", "neo"), ("list", "neo"), ("status",), ("seed", "--all"), ("add", "X.", "-p", "neo")):
        said = run(*command, status=None).stderr
        assert f"warning: no profile reads what is in {URL}, where the memory was: the store is files." in said
        assert f"'store: {URL}'" in said
        assert COPY_BACK in said
    found = run_json("fsck", status=None)["faults"]
    assert [each["code"] for each in found if each["code"] != "changed_outside"] == ["unread_database"]


def test_a_move_to_files_ends_silent_and_the_next_write_to_the_database_is_told(left):
    config, text = left / "catmem.yaml", (left / "catmem.yaml").read_text()
    (left / "homes").rename(left / "before")
    run(*shlex.split(COPY_BACK)[1:])
    assert "warning" not in run("prompt", "neo").stderr
    assert "Kept in the database." in run("prompt", "neo").stdout
    assert run_json("fsck")["faults"] == []
    put(config, f"store: {URL}\n{text}")
    run("add", "Another one.", "-p", "neo", "-c", "rules")
    put(config, text)
    assert COPY_BACK in run("prompt", "neo").stderr


def test_only_a_whole_copy_settles_it(left):
    run(*shlex.split(COPY_BACK)[1:], status=2)  # the old files are there
    assert COPY_BACK in run("prompt", "neo").stderr


def test_a_write_during_the_copy_is_not_settled(left, monkeypatch):
    (left / "homes").rename(left / "before")
    real = copying.copy_entities

    def copied(*of):
        done = real(*of)
        with (
            closing(Workspace.open(left).store),
            closing(copying.store_at(Workspace.open(left), URL, is_own=True)) as own,
        ):
            own.commit("neo/memory", None, lambda now: now.data + b"Meanwhile.\n", Change())
        return done

    monkeypatch.setattr(copying, "copy_entities", copied)
    run(*shlex.split(COPY_BACK)[1:])
    assert COPY_BACK in run("prompt", "neo").stderr


def test_a_copy_to_a_database_that_is_not_used_is_no_news(tmp_path, monkeypatch):
    write_root(tmp_path)
    monkeypatch.chdir(tmp_path)
    run("add", "Kept in files.", "-p", "neo", "-c", "rules")
    run("store", "copy", "files", URL)
    assert "warning" not in run("prompt", "neo").stderr
    assert run_json("fsck")["faults"] == []


def test_a_move_over_another_database_ends_silent(left):
    other = "sqlite:///other.db"
    config, text = left / "catmem.yaml", (left / "catmem.yaml").read_text()
    (left / "homes").rename(left / "before")
    run("store", "copy", URL, other)
    put(config, f"store: {other}\n{text}")
    run("add", "In the other one.", "-p", "neo", "-c", "rules")
    put(config, text)
    assert f"in {other}," in run("prompt", "neo", status=4).stderr  # and no home is there
    run("store", "copy", other, "files")
    assert "warning" not in run("prompt", "neo").stderr


@pytest.mark.parametrize("said", ["{", '{"store": "x", "revisions": "1"}', "[]"])
def test_a_mark_that_does_not_name_its_database_is_told(left, said):
    (mark,) = (left / ".catmem").glob("database-*.json")
    put(mark, said)
    assert f"remove .catmem/{mark.name}" in run("prompt", "neo").stderr
    mark.unlink()
    assert "warning" not in run("prompt", "neo").stderr


def test_each_command_that_reads_or_writes_says_so_on_stderr(root, monkeypatch):
    monkeypatch.chdir(root.root)
    for command in (
        ("list", "-p", "neo"),
        ("list", "-p", "neo", "--format", "json"),
        ("prompt", "neo"),
        ("show", "-p", "neo"),
        ("search", "-p", "neo", "invoices"),
        ("log", "neo"),
        ("add", "To the database.", "-p", "neo", "-c", "rules"),
    ):
        result = run(*command)
        assert f"warning: no profile reads the entries of homes/neo/USER.md: the store is {URL}" in result.stderr
        assert "nobody reads" not in result.stdout


def test_no_password_is_shown(root):
    workspace = opened(root.root, "postgresql://somebody:hunter2@127.0.0.1:1/memory")
    assert unread_note(workspace) is None  # the server does not answer: the command says that itself
    workspace.store.close()


def test_lint_reads_the_rows_and_not_the_files_beside_them(root):
    put(root.root / "homes" / "neo" / "USER.md", "## Rules\nx\n§\nx\n")
    root.add("neo", "Into the database, at last.", category="rules")
    with closing(Linter.open(root.root)) as linter:
        found = [(each.path, each.code) for each in linter.run().diagnostics]
    assert [each for each in found if each[0].startswith("homes/")] == []


INSERT = "INSERT INTO user_memories (entity, category, content, tags) VALUES "


def test_rows_of_no_profile_are_told_in_true_words(root):
    root.add("neo", "Into the database.", category="rules")
    client(root.root, f"{INSERT} ('nea/user', 'rules', 'Lost.', '{{}}'), ('nea/user', 'rules', 'Bad.', '{{oops')")
    (fault,) = [each for each in fsck(root).faults if each.path == "sqlite:nea/user"]
    assert (fault.code, fault.damage) == ("unknown_entity", False)
    assert fault.message == "2 rows of 'nea/user', which no profile has, so nothing reads them"
    assert fault.hint.startswith("Did you mean 'neo/user'?")


def test_rows_that_are_no_entries_are_told_to_whoever_lists_them(root, monkeypatch):
    root.add("neo", "Into the database.", category="rules")
    assert row_notes(root, "neo") == []
    client(root.root, f"{INSERT} ('neo/user', 'rules', 'Bad.', '{{oops')")
    (note,) = row_notes(root, "neo")
    assert note == "sqlite:neo/user: 1 row without an entry, not shown: row 2: its tags are no JSON"
    assert row_notes(root, "neo", "memory") == []
    monkeypatch.chdir(root.root)
    for command in (("list", "-p", "neo"), ("prompt", "neo"), ("show", "-p", "neo"), ("search", "-p", "neo", "into")):
        assert f"warning: {note}" in run(*command).stderr


def test_a_root_that_lost_its_memory_files_is_damaged(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\n")
    assert "no damage" in run("fsck", "--root", tmp_path).stdout  # a new root has none yet
    run("add", "-p", "neo", "-c", "talk", "Likes tea.", "--root", tmp_path)
    assert "no damage" in run("fsck", "--root", tmp_path).stdout
    shutil.rmtree(tmp_path / "homes")
    assert "the folders of all memory files are gone" in run("fsck", "--root", tmp_path, status=4).stdout
