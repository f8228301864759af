"""Whether a write of an agent has to wait for a person: what it changes, held against ``approval`` of catmem.yaml."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from catmem.config.approval import Writer
from catmem.errors import CatmemError
from catmem.names import is_declared
from catmem.store.contract import EXTERNAL, PERSON
from catmem.workspace.acting import interface
from catmem.workspace.differing import differing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from catmem.config.approval import Approval, Level
    from catmem.model.document import Document, Entry
    from catmem.store.contract import Change
    from catmem.workspace.root import Root


def writer_of(workspace: Root, change: Change) -> Writer | None:
    """The profile that makes a change; ``None`` for a person and for another program."""
    name = change.note.get("actor") if "actor" in change.note else change.agent
    if name is None or name in {PERSON, EXTERNAL}:
        return None
    return Writer(str(name), workspace.profile(str(name)).tier, interface.get())


def has_to_wait(workspace: Root, entity: str, change: Change, before: bytes, after: bytes) -> bool:
    """Whether ``change``, which makes ``after`` of ``before``, waits by the policy of the root.

    A person is free, and so is what is no memory file, or no text.
    """
    policy = workspace.config.approval
    if policy is None or is_declared(entity) or before == after:
        return False
    writer = writer_of(workspace, change)
    if writer is None:
        return False
    try:
        old, new = workspace.parse(before), workspace.parse(after)
    except CatmemError:  # what is no text cannot be changed by an agent; another check says so
        return False
    return _Judge(workspace, entity, policy, writer).waits(old, new, _actions(change))


def _actions(change: Change) -> frozenset[str]:
    """What a change does, as rules call it; empty where only the two texts tell."""
    if change.op == "seed":
        return frozenset({"seed"})
    said: Iterable[Mapping[str, Any]] = change.note.get("actions", ())
    return frozenset("replace" if each["action"] == "move" else str(each["action"]) for each in said)


class _Judge:
    def __init__(self, workspace: Root, entity: str, policy: Approval, writer: Writer) -> None:
        self._workspace, self._entity, self._policy, self._writer = workspace, entity, policy, writer

    def waits(self, old: Document, new: Document, actions: frozenset[str]) -> bool:
        gone, come = _only(*differing(old, new))
        on_old = (actions & {"replace", "remove", "verify", "seed"}) or {"replace", "remove"}
        if any(self._holds_back(action, each) for each in gone for action in on_old):
            return True
        left, dates = Counter(each.category for each in gone), {each.tags.get("verified_date") for each in gone}
        for entry in come:
            # What comes into a category is an addition there, whatever brings it.
            left[entry.category] -= 1
            on_new = {"add", *(actions & {"seed"})} if left[entry.category] < 0 else set(on_old)
            if entry.tags.get("verified_date") not in {None, *dates}:
                on_new.add("verify")
            if any("wait" in self._levels(action, entry) for action in on_new):
                return True
        return False

    def _levels(self, action: str, entry: Entry) -> set[Level]:
        said = entry.tags.get("domain")
        declared = self._workspace.config.taxonomy.categories.get(entry.category)
        domains: list[str | None] = [*([said] if isinstance(said, str) else said or [])]
        domains = domains or [declared.domain if declared else None]
        return {self._policy.level(action, self._writer, entry.category, each) for each in domains}

    def _holds_back(self, action: str, entry: Entry) -> bool:
        """Whether an action on an entry that is there waits."""
        levels = self._levels(action, entry)
        if "wait" in levels or "verified_date" not in entry.tags:
            return "wait" in levels
        return "verified" in levels or (action != "verify" and self._is_of_person(entry))

    def _is_of_person(self, entry: Entry) -> bool:
        """Whether a person wrote, dated, approved or verified a verified entry; yes for one that is there no more."""
        from catmem.workspace.blame import blame

        lines = blame(self._workspace, self._workspace.store, self._entity)
        same = [each for each in lines if (each.entry.category, each.entry.raw) == (entry.category, entry.raw)]
        made = [revision for each in same for revision in each.revisions]
        return not same or any(each is not None and each.agent == PERSON for each in made)


def _only(old: Sequence[Entry], new: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The entries that only one of two texts has; what merely stands elsewhere is in neither list."""
    left, was = (Counter((each.category, each.raw) for each in side) for side in (new, old))
    return [each for each in old if not _taken(left, each)], [each for each in new if not _taken(was, each)]


def _taken(counts: Counter[tuple[str, str]], entry: Entry) -> bool:
    counts[entry.category, entry.raw] -= 1
    return counts[entry.category, entry.raw] >= 0
