"""Whether a write of an agent has to wait for a person: what it changes, held against ``approval`` of catmem.yaml.

It is decided on the entries before and after, whatever brings the one to the other. What the agent may not see has no
part in it, or to wait would tell of a text that is hidden.
"""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from catmem.clock import read_date
from catmem.errors import CatmemError
from catmem.names import is_declared
from catmem.store.contract import EXTERNAL, PERSON, writer_of
from catmem.workspace.differing import differing

if TYPE_CHECKING:
    from catmem.model.document import Entry
    from catmem.store.contract import Change
    from catmem.workspace.root import Root


class _Said(NamedTuple):
    """What makes an entry another one, wherever it stands and however it is laid out."""

    category: str
    body: str
    tags: str
    verified: date | None

    @classmethod
    def of(cls, entry: Entry) -> _Said:
        day = read_date(entry.tags.get("verified_date"))
        tags = sorted((key, value) for key, value in entry.tags.items() if day is None or key != "verified_date")
        return cls(entry.category, entry.body, repr(tags), day)


def has_to_wait(workspace: Root, entity: str, change: Change, before: bytes, after: bytes) -> bool:
    """Whether ``change``, which makes ``after`` of ``before``, waits by the policy of the root.

    A person is free, and so is what is no memory file, or no text.
    """
    policy, writer = workspace.config.approval, writer_of(change)
    if policy is None or is_declared(entity) or before == after or writer in {PERSON, EXTERNAL}:
        return False
    if policy.agents == "all":
        return True
    try:
        changed = differing(workspace.parse(before), workspace.parse(after))
    except CatmemError:  # what is no text cannot be changed by an agent; another check says so
        return False
    old, new = (Counter(map(_Said.of, side)) for side in changed)
    gone, come = old - new, new - old
    if any(policy.categories.matches(each.category) for each in gone | come):
        return True
    # What only has a later day of verification now does not wait.
    dated = {each[:3]: each for each in come if each.verified}
    taken = [each for each in gone if not _is_later(dated.get(each[:3]), each) or come[dated[each[:3]]] < gone[each]]
    if policy.agents == "off" or not taken:
        return False
    from catmem.staleness.ages import histories_of

    (history,) = histories_of(workspace, entity, [workspace.profile(writer)])
    return any(history.writers(each.body) != {writer} for each in taken)


def _is_later(now: _Said | None, was: _Said) -> bool:
    return now is not None and now.verified is not None and now.verified >= (was.verified or date.min)
