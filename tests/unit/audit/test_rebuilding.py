"""Heads rebuilt from the log of revisions alone are those of the store, byte for byte; what is not is told."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from catmem.audit import Mismatch, replay
from catmem.digest import bytes_digest
from catmem.errors import CatmemError
from catmem.store.contract import Change, Snapshot
from catmem.workspace.upkeep import fsck
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.store.memory import InMemoryStore
from tests.unit.audit.audited import make_audited


class Lying(InMemoryStore):
    """A store whose answers can be bent; its record stays as it is."""

    def __init__(self):
        super().__init__()
        self.bent = {}

    def head(self, entity):
        return self.bent.get("head", lambda head: head)(super().head(entity))

    def read(self, entity, revision=None):
        return self.bent.get(f"read {revision}", lambda now: now)(super().read(entity, revision))

    def branches(self, entity):
        return self.bent.get("branches", lambda found: found)(super().branches(entity))

    def replay(self, entity):
        return self.bent.get("replay", lambda history: history)(super().replay(entity))


@pytest.fixture(params=["files", "memory"])
def workspace(request, tmp_path):
    make_audited(tmp_path / "root")
    store = InMemoryStore() if request.param == "memory" else None
    made = Workspace.open(tmp_path / "root", search=False, store=store)
    for text in ("one", "two", "three"):
        made.add("neo", text, category="work")
    made.add("boss", "naïve\r\ntext", target="memory")
    return made


@pytest.fixture
def branched(tmp_path):
    make_audited(tmp_path / "root")
    made = Workspace.open(tmp_path / "root", search=False, store=Lying())
    made.add("neo", "one", category="work")
    made.add("neo", "two", category="work")
    made.add("neo", "three", category="work", expected=1, on_stale="branch")
    return made


def test_every_revision_is_rebuilt_and_compared(workspace):
    done = replay(workspace)
    assert (done.revisions, done.mismatches) == (4, ())
    assert {head.entity: head.revision for head in done.heads} == {"neo/user": "3", "boss/memory": "1"}
    assert {head.digest for head in done.heads} == {
        bytes_digest(workspace.store.peek(entity)) for entity in ("neo/user", "boss/memory")
    }


def test_branches_are_rebuilt_too(branched):
    done = replay(branched)
    assert (done.revisions, done.heads[0].branches, done.mismatches) == (3, ("2a",), ())


def test_a_change_by_other_means_is_told_and_is_no_mismatch(tmp_path):
    workspace = make_audited(tmp_path / "root")
    workspace.add("neo", "one", category="work")
    recorded = workspace.store.peek("neo/user")
    put(workspace.path("neo", "user"), recorded + b"by hand\n")
    done = replay(workspace)
    assert (done.heads[0].unrecorded, done.mismatches) == (True, ())
    assert done.heads[0].digest == bytes_digest(recorded)


def test_a_file_that_cannot_be_read_is_a_mismatch(tmp_path):
    workspace = make_audited(tmp_path / "root")
    workspace.add("neo", "one", category="work")
    path = workspace.path("neo", "user")
    path.unlink()
    path.mkdir()
    (found,) = replay(workspace).mismatches
    assert found.what == "what stands there now"
    assert "nothing that can be read" in found.found


OTHER = Snapshot.from_bytes(b"other bytes\n", "2")
BENT = {
    "the head": ("head", lambda head: replace(head, revision="1")),
    "the digest of the head": ("head", lambda head: replace(head, digest="sha256:0")),
    "the bytes that stand there now": ("read None", lambda _: OTHER),
    "the revision that stands there now": ("read None", lambda now: replace(now, revision="1")),
    "the branches": ("branches", lambda found: found[:1]),
    "the digest of branch 2a": ("branches", lambda found: [found[0], replace(found[1], digest="sha256:0")]),
    "the bytes of branch 2a": ("read 2a", lambda _: OTHER),
    "the digest of revision 1": (
        "replay",
        lambda history: [(each, b"other bytes\n" if each.revision == "1" else data) for each, data in history],
    ),
}


@pytest.mark.parametrize("what", BENT)
def test_whatever_the_log_and_the_store_do_not_agree_on_is_told(branched, what):
    name, bend = BENT[what]
    branched.store.bent[name] = bend
    (found,) = replay(branched, "neo").mismatches
    assert (found.entity, found.what) == ("neo/user", what)
    assert found.rebuilt != found.found


def test_a_log_that_lost_everything_is_told(branched):
    branched.store.bent["replay"] = lambda _: []
    assert replay(branched, "neo").mismatches == (Mismatch("neo/user", "the head", "none", "2"),)


def test_after_many_racing_writes_the_log_gives_the_very_head(workspace):
    for number in range(60):
        try:
            workspace.add("boss", f"entry {number}", expected=number // 3, on_drift="merge" if number % 2 else None)
        except CatmemError:
            continue
    workspace.store.commit("neo/user", None, lambda _: b"", Change())
    done = replay(workspace)
    assert done.mismatches == ()
    for head in done.heads:
        assert head.digest == bytes_digest(workspace.store.peek(head.entity))


def test_a_history_that_lost_its_end_is_told_before_a_repair(tmp_path):
    workspace = make_audited(tmp_path / "root")
    for text in ("one", "two"):
        workspace.add("neo", text, category="work")
    workspace.add("boss", "elsewhere", target="memory")
    (segment,) = (workspace.path("neo", "user").parent / ".catmem" / "journal").iterdir()
    segment.write_bytes(segment.read_bytes()[:-3])
    done = replay(workspace)
    assert ([fault.code for fault in done.faults], done.damaged) == (["lost_records"], True)
    fsck(workspace, repair=True)
    done = replay(workspace)
    assert (done.revisions, done.faults, done.damaged) == (2, (), False)
    assert replay(workspace, "boss/memory").faults == ()


def test_a_write_that_was_cut_short_is_no_loss(tmp_path):
    workspace = make_audited(tmp_path / "root")
    workspace.add("neo", "one", category="work")
    (segment,) = (workspace.path("neo", "user").parent / ".catmem" / "journal").iterdir()
    segment.write_bytes(segment.read_bytes() + segment.read_bytes()[-40:])
    assert replay(workspace).faults == ()


def test_a_log_in_a_database_whose_chain_is_broken_is_told(tmp_path):
    make_audited(tmp_path / "root")
    config = tmp_path / "root" / "catmem.yaml"
    config.write_text(f"store: sqlite:///memory.db\n{config.read_text()}")
    workspace = Workspace.open(tmp_path / "root", search=False)
    for text in ("one", "two"):
        workspace.add("neo", text, category="work")
    assert replay(workspace).faults == ()
    with closing(sqlite3.connect(tmp_path / "root" / "memory.db", isolation_level=None)) as client:
        client.execute("UPDATE mem_log SET agent = 'somebody' WHERE sequence = 1")
    done = replay(workspace)
    workspace.store.close()
    assert ([fault.code for fault in done.faults], done.damaged) == (["log_damaged"], True)
