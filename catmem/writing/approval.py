"""Which changes wait for a person: decided on the entries before and after, of those that the agent sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from catmem.clock import read_date
from catmem.errors import CatmemError
from catmem.model.document import Entry, gone_entries
from catmem.names import is_declared
from catmem.staleness.lineage import differing, histories_of
from catmem.store.contract import EXTERNAL, PERSON, Change, writer_of
from catmem.workspace.root import Root


class EntryState(NamedTuple):
    """What makes an entry another one, wherever it stands and however it is laid out."""

    category: str
    body: str
    tags: str
    verified: date | None


def has_to_wait(workspace: Root, entity: str, change: Change, before: bytes, after: bytes) -> bool:
    """Whether ``change``, which makes ``after`` of ``before``, waits by the policy of the root."""
    policy, writer = workspace.config.approval, writer_of(change)
    if policy is None or is_declared(entity) or writer in {PERSON, EXTERNAL}:
        return False
    closes = policy.agents != "off" and _closes_unmerged(workspace, entity, change, writer)
    if closes or before == after or policy.agents == "all":
        return closes or before != after
    try:
        found = differing(workspace.parse(before), workspace.parse(after))
    except CatmemError:  # what is no text cannot be changed by an agent; another check says so
        return False
    old = _states(gone_entries(found.old, found.new))
    new = _states(gone_entries(found.new, found.old))
    gone, come = old - new, new - old
    if any(policy.categories.matches(each.category) for each in gone | come):
        return True
    taken = _taken(gone, come)
    if policy.agents == "off" or not taken:
        return False
    (history,) = histories_of(workspace, entity, [workspace.profile(writer)])
    return any(history.writers(each.body) != {writer} for each in taken)


def _states(entries: Iterable[Entry]) -> Counter[EntryState]:
    found: Counter[EntryState] = Counter()
    for entry in entries:
        day = read_date(entry.tags.get("verified_date"))
        tags = sorted((key, value) for key, value in entry.tags.items() if day is None or key != "verified_date")
        found[EntryState(entry.category, entry.body, repr(tags), day)] += 1
    return found


def _taken(gone: Counter[EntryState], come: Counter[EntryState]) -> list[EntryState]:
    """What is gone, but for what only has a later day of verification now: each such entry stands for one."""
    dated = sorted((each for each in come.elements() if each.verified), key=lambda each: each.verified or date.min)
    taken = []
    for each in sorted(gone.elements(), key=lambda each: each.verified or date.min):
        later = (other for other in dated if other[:3] == each[:3] and str(other.verified) >= str(each.verified or ""))
        now = next(later, None)
        if now is None:
            taken.append(each)
        else:
            dated.remove(now)
    return taken


def _closes_unmerged(workspace: Root, entity: str, change: Change, writer: str) -> bool:
    """Whether it closes a branch of another writer and need not bring in its text."""
    is_merge = change.op == "merge" and "dropped" not in change.note
    return not is_merge and any(
        each.is_branch and each.revision in change.merges and writer_of(each) != writer
        for each in (workspace.store.log(entity) if change.merges else ())
    )
