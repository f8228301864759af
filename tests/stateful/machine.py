"""Random calls, and random outsiders, on a real store and on the model of it, side by side."""

import contextlib
import os
import tempfile
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from catmem.digest import bytes_digest
from catmem.errors import OperationCollisionError, RefusedError, StoreError
from catmem.store.contract import EXTERNAL, Change, Current, Revision, Snapshot, Store, tips
from tests.stateful.model import Allowed, Beside, Branch, Entity, Kept
from tests.store.stores import Kind

ENTITIES = ("trinity/user", "trinity/memory", "neo/user")
ANYTHING = st.one_of(
    st.sampled_from([b"", b"\n", b"## A\nfact\n", b"## A\nfact\n\xc2\xa7\nother\n", b"\0\0\0\0", b"\xff\xfe"]),
    st.binary(max_size=60),
    st.lists(st.sampled_from([b"one\n", b"two\n", b"three\n"]), max_size=8).map(b"".join),
)
LINES = st.sampled_from([b"appended\n", b"again\n", b"\n", b"no end"])
WHOSE = st.sampled_from([ENTITIES[0], *ENTITIES])
HOW = st.sampled_from(["set", "set", "append", "nothing", "raise"])
VIEWS = st.sampled_from(["none", "none", "head", "digest", "old", "old digest", "branch", "branch digest", "0"])
ON_STALE = st.sampled_from(["refuse", "branch"])
ON_DRIFT = st.sampled_from(["adopt", "adopt", "refuse", "merge"])
EDITS = st.sampled_from(["append", "rewrite", "rename over", "delete", "empty", "cut", "touch", "put back"])
PICKS = st.integers(0, 1000)


class Failed(Exception):  # noqa: N818 - what an update raises here
    """An update gave up."""


class Machine(RuleBasedStateMachine):
    """``kind`` is the store under test. Two stores on one place take turns where the store is one that lasts."""

    kind: ClassVar[Kind]
    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory(prefix="catmem-stateful-")
        self.folder = Path(self.temporary.name)
        self.stores = [self.kind.make(self.folder) for _ in range(2 if self.kind.lasting else 1)]
        self.entities = {entity: Entity() for entity in ENTITIES}
        self.operations: list[tuple[str, Change, Snapshot]] = []
        self.held: dict[str, FileIO] = {}
        self.out: set[str] = set()
        """Entities whose held file the store has taken out of its place."""
        self.late: dict[str, list[bytes]] = {}
        """What was written to such files and no commit has seen yet."""
        self.turn = 0

    def teardown(self) -> None:
        for held in self.held.values():
            held.close()
        for store in self.stores:
            store.close()
        self.temporary.cleanup()

    @property
    def store(self) -> Store:
        """One of the stores, in turn."""
        self.turn += 1
        return self.stores[self.turn % len(self.stores)]

    @initialize(data=st.data())
    def some_files_are_there_before_the_store(self, data: Any) -> None:
        for entity in ENTITIES if self.kind.file else ():
            if data.draw(st.booleans(), label=f"{entity} is there before"):
                self._outside(entity, data.draw(ANYTHING), "rewrite")

    @invariant()
    def count(self) -> None:
        type(self).steps += 1

    # --- calls --------------------------------------------------------------------------------------------------

    @rule(
        entity=WHOSE,
        data=ANYTHING,
        how=HOW,
        view=VIEWS,
        on_drift=ON_DRIFT,
        on_stale=ON_STALE,
        named=st.booleans(),
        pick=PICKS,
    )
    def commit(  # noqa: PLR0917 - a commit has so many sides
        self,
        entity: str,
        data: bytes,
        how: str = "set",
        view: str = "none",
        on_drift: Any = "adopt",
        on_stale: Any = "refuse",
        *,
        named: bool = False,
        pick: int = 0,
        merges: tuple[str, ...] = (),
    ) -> None:
        model = self.entities[entity]
        expected = self._view(model, view, pick)
        if expected == "0" and on_drift == "merge":
            on_drift = "adopt"
        op_id = f"op-{len(self.operations)}" if named else None
        request = bytes_digest(data)
        change = Change("put", "machine", op_id, request, on_drift=on_drift, on_stale=on_stale, merges=merges)
        seen: list[Current] = []

        def update(current: Current) -> bytes:
            seen.append(current)
            if how == "raise":
                raise Failed
            return {"set": data, "append": current.data + data, "nothing": current.data}[how]

        if self.late.get(entity):
            self._commit_with_late_bytes(entity, expected, update, change)
            return
        there, drifted = model.data, model.data != model.known
        allowed = model.attempt(expected, on_drift, on_stale)
        try:
            answer = self.store.commit(entity, expected, update, change)
        except Failed:
            assert how == "raise"
        except RefusedError as refusal:
            self._is_right(refusal, allowed, model)
            assert not seen
        else:
            assert isinstance(allowed, tuple), f"should have been refused: {allowed}"
            revision, base = model.head, None
            if isinstance(allowed, Beside):
                there, revision = allowed.data, allowed.parent
            else:
                base = allowed.base
            assert answer.adopted == (model.head if drifted else None)
            assert {(current.data, current.revision, current.base) for current in seen} == {(there, revision, base)}
            assert answer.data == {"set": data, "append": there + data, "nothing": there}[how]
            assert answer.digest == bytes_digest(answer.data)
            self._written(entity, allowed, change, answer, changed=answer.data != there)
        self._holds(entity)

    def _written(
        self, entity: str, allowed: Allowed | Beside, change: Change, answer: Snapshot, *, changed: bool
    ) -> None:
        """Tell the model of a write, which must say the same of it."""
        model = self.entities[entity]
        if change.op_id and (changed or change.merges):
            self.operations.append((entity, change, answer))
        if isinstance(allowed, Beside):
            assert answer.revision == model.branch(allowed, answer.data)
            assert answer.branch == changed
            return
        if changed:
            self._taken_out(entity)
        model.write(answer.data, change.merges)
        assert (answer.revision, answer.branch) == (model.head, False)

    @rule(entity=WHOSE, data=ANYTHING, how=HOW, on_drift=ON_DRIFT, named=st.booleans(), pick=PICKS)
    def merge(self, entity: str, data: bytes, how: str, on_drift: Any, pick: int, *, named: bool) -> None:
        branches = list(self.entities[entity].branches)
        if branches:
            self.commit(entity, data, how, "none", on_drift, named=named, merges=(branches[pick % len(branches)],))

    @rule(entity=WHOSE, data=ANYTHING, pick=PICKS, digest=st.booleans())
    def branch(self, entity: str, data: bytes, pick: int, *, digest: bool) -> None:
        """A write with an old view, which a rule for all writes would seldom make."""
        self.commit(entity, data, "append", "old digest" if digest else "old", on_stale="branch", named=True, pick=pick)

    def _view(self, model: Entity, view: str, pick: int) -> str | None:
        revision = (
            pick % len(model.revisions) + 1 if model.revisions and view.startswith("old") else len(model.revisions)
        )
        if view.startswith("branch") and model.branches:
            name = list(model.branches)[pick % len(model.branches)]
            return bytes_digest(model.bytes_of(name)) if "digest" in view else name
        named = {"none": None, "0": "0"}
        return named.get(view, bytes_digest(model.bytes_of(revision)) if "digest" in view else str(revision))

    def _is_right(self, refusal: RefusedError, allowed: object, model: Entity) -> None:
        """The refusal is the one that the model gives; what an outsider wrote last is in the copy that it names."""
        assert type(refusal) is allowed, f"{refusal!r}: {allowed}"
        theirs = next((each.data for each in reversed(model.revisions) if each.outside), b"")
        if refusal.code == "drift" and theirs:
            assert refusal.drift_backup is not None
            assert Path(refusal.drift_backup).read_bytes() == theirs

    @rule(entity=WHOSE, data=ANYTHING)
    def write(self, entity: str, data: bytes) -> None:
        """The plainest commit, so that there are many revisions."""
        self.commit(entity, data, named=True)

    @precondition(lambda self: self.operations)
    @rule(pick=PICKS, old_view=st.booleans())
    def retry(self, pick: int, *, old_view: bool) -> None:
        entity, change, first = self.operations[pick % len(self.operations)]
        answer = self.store.commit(entity, "0" if old_view else None, _never, change)
        assert replace(answer, adopted=None) == replace(first, adopted=None)

    @precondition(lambda self: self.operations)
    @rule(pick=PICKS)
    def use_an_op_id_twice(self, pick: int) -> None:
        entity, change, _ = self.operations[pick % len(self.operations)]
        try:
            self.store.commit(
                entity, None, _never, Change(agent=change.agent, op_id=change.op_id, request="something else")
            )
        except OperationCollisionError:
            return
        raise AssertionError("no collision")

    @rule(entity=WHOSE)
    def read(self, entity: str) -> None:
        model, store = self.entities[entity], self.store
        snapshot = store.read(entity)
        assert (snapshot.data, snapshot.revision) == (model.data, model.read_as)
        assert snapshot.digest == bytes_digest(model.data)
        assert store.peek(entity) == model.data
        head = store.head(entity)
        assert (head.revision if head else "0") == model.head

    @rule(entity=WHOSE, pick=PICKS)
    def read_an_old_revision(self, entity: str, pick: int) -> None:
        model = self.entities[entity]
        revision = pick % (len(model.revisions) + 1)
        assert self.store.read(entity, str(revision)).data == model.bytes_of(revision)

    @rule(entity=WHOSE, pick=PICKS)
    def read_a_branch(self, entity: str, pick: int) -> None:
        branches = self.entities[entity].branches
        if branches:
            name = list(branches)[pick % len(branches)]
            assert self.store.read(entity, name).data == branches[name].data

    @rule(entity=WHOSE)
    def bring_where_something_is(self, entity: str) -> None:
        if not self.entities[entity].revisions:
            return
        try:
            self.store.import_history(entity, [])
        except StoreError as error:
            assert error.code == "not_empty", f"{error!r}"
            return
        raise AssertionError("a history was brought over another")

    @precondition(lambda self: not self.held and not self.late and self.turn % 3 == 0)
    @rule()
    def move(self) -> None:
        """Bring every history to new stores, and go on with those. What outsiders wrote since stays behind.

        A third as often as other rules: on a database it takes longer than all of them.
        """
        folder = Path(tempfile.mkdtemp(dir=self.temporary.name))
        stores = [self.kind.make(folder) for _ in self.stores]
        for entity, model in self.entities.items():
            assert stores[0].import_history(entity, self.store.replay(entity)) == len(model.history)
            model.there = model.known if model.revisions else None
        for store in self.stores:
            store.close()
        self.folder, self.stores = folder, stores
        for entity in self.entities:
            self._holds(entity)

    @rule()
    def reopen(self) -> None:
        self.stores = [self.kind.reopen(store, self.folder) for store in self.stores]

    # --- outsiders ----------------------------------------------------------------------------------------------

    @precondition(lambda self: self.kind.file)
    @rule(entity=WHOSE, data=ANYTHING, edit=EDITS, pick=PICKS)
    def outsider(self, entity: str, data: bytes, edit: str, pick: int) -> None:
        model = self.entities[entity]
        told = {
            "append": model.data + data,
            "delete": None,
            "empty": b"",
            "cut": model.data[: len(model.data) // 2],
            "touch": model.data,
            "put back": model.bytes_of(pick % (len(model.revisions) + 1)),
        }
        if entity in self.held and entity not in self.out and edit not in {"append", "touch"}:
            self._let_go(entity)  # what a held file is overwritten with is the outsiders' own affair
        self._outside(entity, told.get(edit, data), edit)

    @precondition(lambda self: self.kind.file)
    @rule(entity=WHOSE, data=ANYTHING, edit=EDITS, how=HOW, view=VIEWS, on_drift=ON_DRIFT, pick=PICKS)
    def outsider_then_commit(  # noqa: PLR0917 - both of the above
        self,
        entity: str,
        data: bytes,
        edit: str,
        how: str,
        view: str,
        on_drift: Any,
        pick: int,
    ) -> None:
        """Drift, which two rules one after the other would seldom make."""
        self.outsider(entity, data, edit, pick)
        self.commit(entity, data + b"mine\n", how, view, on_drift, pick=pick)

    @precondition(lambda self: self.kind.file)
    @rule(entity=WHOSE, data=ANYTHING, line=LINES, edit=EDITS, pick=PICKS, drift=st.booleans())
    def late_append(self, entity: str, data: bytes, line: bytes, edit: str, pick: int, *, drift: bool) -> None:
        """An outsider opens, the store writes, the outsider appends to what it has open; then the store looks again."""
        self.hold_open(entity)
        self.commit(entity, data + b"mine\n")
        if entity in self.out:
            self._append_to_held(entity, line)
        if drift:
            self.outsider(entity, data, edit, pick)
        self.commit(entity, b"after\n", "append")

    def _outside(self, entity: str, data: bytes | None, how: str) -> None:
        assert self.kind.file is not None
        path = self.kind.file(self.folder, entity)
        path.parent.mkdir(exist_ok=True)
        if data is None:
            path.unlink(missing_ok=True)
        elif how == "rename over":
            other = path.with_name("written-beside")
            other.write_bytes(data)
            other.replace(path)
        elif how == "append":
            with path.open("ab") as file:
                file.write(data[len(self.entities[entity].data) :])
        else:
            path.write_bytes(data)
        self.entities[entity].there = data

    @precondition(lambda self: self.kind.file)
    @rule(entity=WHOSE)
    def hold_open(self, entity: str) -> None:
        """An outsider opens a file to append to it, and keeps it open, as a log is kept."""
        assert self.kind.file is not None
        model = self.entities[entity]
        if entity in self.held or not model.known or not model.data.startswith(model.known):
            return  # a file open for writing whose text is not the known one and more is busy: nobody writes to it
        path = self.kind.file(self.folder, entity)
        path.parent.mkdir(exist_ok=True)
        self.held[entity] = path.open("ab", buffering=0)
        model.there = model.data

    @precondition(lambda self: self.held)
    @rule(pick=PICKS, line=LINES)
    def append_to_held(self, pick: int, line: bytes) -> None:
        self._append_to_held(sorted(self.held)[pick % len(self.held)], line)

    def _append_to_held(self, entity: str, line: bytes) -> None:
        self.held[entity].write(line)
        if entity in self.out:
            self.late.setdefault(entity, []).append(line)
        else:
            self.entities[entity].there = self.entities[entity].data + line

    @precondition(lambda self: self.held)
    @rule(pick=PICKS)
    def close_held(self, pick: int) -> None:
        self._let_go(sorted(self.held)[pick % len(self.held)])

    def _let_go(self, entity: str) -> None:
        self.held.pop(entity).close()
        self.out.discard(entity)

    def _taken_out(self, entity: str) -> None:
        """The store put a new file in place: who holds the old one writes to nowhere, unless the store looks there."""
        if entity in self.held:
            self.out.add(entity)

    def _commit_with_late_bytes(self, entity: str, expected: str | None, update: Any, change: Change) -> None:
        """Late bytes become revisions before anything else happens. Which and how many is the store's affair; not whether."""
        model = self.entities[entity]
        lines = self.late.pop(entity)
        answer = None
        with contextlib.suppress(Failed, RefusedError):
            answer = self.store.commit(entity, expected, update, change)
        replay = list(self.store.replay(entity))
        heads = [(recorded, data) for recorded, data in replay if not recorded.is_branch]
        kept = [data for _, data in heads]
        assert kept[: len(model.revisions)] == [each.data for each in model.revisions]
        new = kept[len(model.revisions) :]
        assert any(data.endswith(b"".join(lines)) for data in new), f"{lines} is in none of {new}"
        tail = b"".join(lines)
        assert model.data + tail in new or model.data.endswith(tail), "not joined with what is visible"
        if model.data != model.known:
            assert model.data in new
        if answer is not None:
            assert answer.data in {b"", *(data for _, data in replay)}
            if change.op_id and (replay[-1][0].revision, replay[-1][0].op_id) == (answer.revision, change.op_id):
                self.operations.append((entity, change, answer))
        assert self.kind.file is not None
        path = self.kind.file(self.folder, entity)
        branches = _branches_of(replay)
        assert list(branches.items())[: len(model.branches)] == list(model.branches.items())
        model.revisions = [Kept(data, recorded.agent == EXTERNAL, (), recorded.parents) for recorded, data in heads]
        model.branches = branches
        model.there = path.read_bytes() if os.path.lexists(path) else None
        assert model.data == model.known
        self._holds(entity)

    # --- what holds after every write ---------------------------------------------------------------------------

    def _holds(self, entity: str) -> None:
        """The replay is what the model says, and the file is as the outsiders and the store left it."""
        model, store = self.entities[entity], self.store
        replay = list(store.replay(entity))
        assert [(recorded.revision, data, recorded.parents) for recorded, data in replay] == model.history
        heads = [recorded for recorded, _ in replay if not recorded.is_branch]
        assert [recorded.revision for recorded in heads] == [str(n) for n in range(1, len(heads) + 1)]
        assert [recorded.agent == EXTERNAL for recorded in heads] == [each.outside for each in model.revisions]
        assert list(store.log(entity)) == [recorded for recorded, _ in replay][::-1]
        assert [recorded.revision for recorded in store.branches(entity)] == model.tips
        assert list(store.branches(entity)) == tips(store.log(entity))
        if self.kind.file:
            path = self.kind.file(self.folder, entity)
            assert (path.read_bytes() if os.path.lexists(path) else None) == model.there


def _branches_of(replay: list[tuple[Revision, bytes]]) -> dict[str, Branch]:
    """The branches of a replay as the model has them."""
    found: dict[str, Branch] = {}
    heads = 0
    for recorded, data in replay:
        if recorded.is_branch:
            found[recorded.revision] = Branch(data, recorded.parents[0] if recorded.parents else "0", heads)
        heads += not recorded.is_branch
    return found


def _never(current: Current) -> bytes:
    raise AssertionError("the update of a retry was called")


def machine_of(kind: Kind) -> type[Machine]:
    """The machine for one kind of store. Its ``steps`` count what was done."""
    return type(f"Machine_{kind.name}", (Machine,), {"kind": kind, "steps": 0})
