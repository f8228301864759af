"""A root goes from files to SQLite, to PostgreSQL and back to files, and nothing of its history changes on the way."""

import json
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import pytest

from catmem.errors import StoreError, UnknownNameError
from catmem.store.contract import Change
from catmem.workspace.copying import copy_root, store_at
from catmem.workspace.stores import shown_store
from catmem.workspace.workspace import Workspace
from tests.commands import catmem
from tests.golden.case import contents, put
from tests.sql import server
from tests.together import together

BYTES = b"## Notes\r\nCRLF, and no newline at the end; \xc3\xa9"


def make_root(folder):
    put(folder / "catmem.yaml", "version: 1\n")
    for name in ("neo", "trinity"):
        put(folder / "profiles" / f"{name}.yaml", '{user_memory_categories: ["*"], writable_categories: ["*"]}\n')
    return Workspace.open(folder, search=False)


@pytest.fixture
def workspace(tmp_path):
    """A root with what a history can have: several agents, an op_id, outsiders, a branch that is merged and one not."""
    workspace = make_root(tmp_path / "root")
    store = workspace.store
    for number in range(40):
        workspace.add("neo", f"Fact number {number}.", category="notes", op_id=f"op-{number}")
    with workspace.path("neo", "user").open("ab") as file:
        file.write("§\nfrom a shell\n".encode())
    workspace.replace("neo", "Fact number 7.", "Fact seven.", actor="neo")
    for fact in (b"beside\n", b"left alone\n"):
        store.commit("neo/user", "3", lambda now, f=fact: now.data + "§\n".encode() + f, Change(on_stale="branch"))
    store.commit("neo/user", None, lambda now: now.data, Change(op="merge", merges=("4a",)))
    store.commit("neo/memory", None, lambda _: BYTES, Change(agent="neo", note={"why": ["bytes", {"are": "kept"}]}))
    put(tmp_path / "root" / "homes" / "trinity" / "USER.md", "never recorded\n")
    yield workspace
    store.close()


def everything(workspace, where):
    """Every revision with its bytes, without the sequences, and without when a text was adopted on the way."""
    with closing(store_at(workspace, where)) as store:
        return {
            entity: [(replace(recorded, sequence=0), data) for recorded, data in store.replay(entity)]
            for entity in ("neo/user", "neo/memory", "trinity/user")
        }


def texts(workspace, where):
    with closing(store_at(workspace, where)) as store:
        return {entity: store.peek(entity) for entity in ("neo/user", "neo/memory", "trinity/user")}


def test_from_files_to_sqlite_and_back(workspace, tmp_path):
    go_round([workspace, workspace, make_root(tmp_path / "second")], ["files", f"sqlite:///{tmp_path}/a.db", "files"])


@pytest.mark.postgresql
def test_over_all_stores_and_back(workspace, tmp_path):
    places = ["files", f"sqlite:///{tmp_path}/a.db", server.url("copy"), "files"]
    go_round([workspace] * 3 + [make_root(tmp_path / "second")], places)


def go_round(roots, places):
    """Copy from each place to the next, each asked from its root, and compare all with the first."""
    before = contents(roots[0].root)
    for (_, source), (root, target) in pairwise(zip(roots, places, strict=True)):
        # The last root is another folder, which reads the database and writes its own files.
        copied = copy_root(root, source, target)
        assert [each.entity for each in copied] == ["neo/memory", "neo/user", "trinity/user"]
    # The mark of a new database is all that a copy adds to its root.
    after = contents(roots[0].root)
    assert {name: data for name, data in after.items() if not name.startswith(".catmem/database-")} == before
    first = everything(roots[0], "files")
    assert [recorded.revision for recorded, _ in first["neo/user"]][-3:] == ["4a", "4b", "43"]
    first["trinity/user"] = everything(roots[1], places[1])["trinity/user"]
    for root, where in zip(roots[1:], places[1:], strict=True):
        assert everything(root, where) == first
        assert texts(root, where) == texts(roots[0], "files")
        with closing(store_at(root, where)) as store:
            assert store.verify() == []
            assert [each.revision for each in store.branches("neo/user")] == ["43", "4b"]
    with pytest.raises(StoreError, match="a history already"):
        copy_root(roots[-1], places[-2], "files")


def test_a_profile_that_is_gone_keeps_the_copy_to_files_from_losing_its_memory(workspace, tmp_path):
    copy_root(workspace, "files", f"sqlite:///{tmp_path}/a.db")
    second = make_root(tmp_path / "second")
    (second.root / "profiles" / "neo.yaml").unlink()
    with pytest.raises(UnknownNameError):
        copy_root(second, f"sqlite:///{tmp_path}/a.db", "files")
    assert not (second.root / "homes").exists()


@pytest.mark.parametrize("store", ["files", "sqlite:///.catmem/memory.db"])
def test_a_purge_names_what_the_other_store_still_holds(tmp_path, store):
    config = "version: 1\n"
    put(tmp_path / "catmem.yaml", config)
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\nThe code is 4711-2209.\n")
    assert catmem(tmp_path, ["store", "copy", "files", "sqlite:///.catmem/memory.db"]).exit_code == 0
    put(tmp_path / "catmem.yaml", f"{config}store: {store}\n")
    done = catmem(tmp_path, ["purge", "neo/user", "4711-2209", "--yes", "--format", "json"])
    left = {each["path"] for each in json.loads(done.stdout)["left"]}
    holding = {
        path.relative_to(tmp_path).as_posix()
        for path in tmp_path.rglob("*")
        if path.is_file() and b"4711-2209" in path.read_bytes()
    }
    assert (done.exit_code, left) == (1, holding)
    assert holding


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


def test_a_copy_says_what_to_do_next(workspace):
    before = contents(workspace.root)
    result = catmem(workspace.root, ["store", "copy", "files", "sqlite:///new.db"])
    copied = [line.split()[:2] for line in result.stdout.splitlines()]
    assert copied == [["copied", name] for name in ("neo/memory", "neo/user", "trinity/user")]
    assert "let catmem.yaml say `store: sqlite:///new.db`" in result.stderr
    assert "catmem.seed.lock" in result.stderr
    assert {name: data for name, data in contents(workspace.root).items() if name in before} == before


def test_a_copy_that_is_lost_before_its_first_write_counts_as_lost(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\nUses tabs.\n")
    copy = ["store", "copy", "files", "sqlite:///.catmem/memory.db"]
    assert catmem(tmp_path, copy).exit_code == 0
    put(tmp_path / "catmem.yaml", "version: 1\nstore: sqlite:///.catmem/memory.db\n")
    for end in ("", "-wal", "-shm"):
        (tmp_path / ".catmem" / f"memory.db{end}").unlink(missing_ok=True)
    for command in (["prompt", "neo"], ["fsck"], ["add", "-p", "neo", "-c", "talk", "Uses spaces."]):
        result = catmem(tmp_path, command)
        assert result.exit_code, command
        assert "the database is not there any more" in result.output, command
    assert catmem(tmp_path, copy).exit_code == 0  # a copy makes it anew, and the root knows that one
    assert "Uses tabs." in catmem(tmp_path, ["prompt", "neo"]).output
