"""Whether a write of an agent has to wait for a person: what it changes, held against ``approval`` of catmem.yaml.

It is decided on the entries before and after, whatever brings the one to the other. What the agent may not see has no
part in it, or to wait would tell of a text that is hidden.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from catmem.clock import read_date
from catmem.errors import CatmemError
from catmem.names import is_declared
from catmem.store.contract import EXTERNAL, PERSON, writer_of
from catmem.workspace.differing import differing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.model.document import Entry
    from catmem.store.contract import Change
    from catmem.workspace.root import Root


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
        old, new = workspace.parse(before), workspace.parse(after)
    except CatmemError:  # what is no text cannot be changed by an agent; another check says so
        return False
    changed = differing(old, new)
    gone, come = _only(changed.old, changed.new), _only(changed.new, changed.old)
    if any(policy.categories.matches(each.category) for each in (*gone, *come)):
        return True
    taken = _not_verified(gone, come) if policy.agents == "others" else []
    if not taken:
        return False
    from catmem.staleness.ages import history_for

    history = history_for(workspace, entity, workspace.profile(writer))
    known = set() if history.document is None else {_says(each) for each in history.document.entries}
    return not all(_says(each) in known and history.writers(each) == {writer} for each in taken)


def _says(entry: Entry, *without: str) -> tuple[str, str, str]:
    """What makes an entry another one, wherever it stands and however it is laid out."""
    tags: dict[str, Any] = {key: value for key, value in sorted(entry.tags.items()) if key not in without}
    return entry.category, entry.body, repr(tags)


def _only(some: Sequence[Entry], others: Sequence[Entry]) -> list[Entry]:
    """Those that the others do not have."""
    left = Counter(map(_says, others))
    found = []
    for each in some:
        left[_says(each)] -= 1
        found += [each] if left[_says(each)] < 0 else []
    return found


def _not_verified(gone: Sequence[Entry], come: Sequence[Entry]) -> list[Entry]:
    """Those that are gone, without those that only have a later day of verification now."""
    later: dict[tuple[str, str, str], list[Entry]] = {}
    for each in come:
        later.setdefault(_says(each, "verified_date"), []).append(each)
    found = []
    for each in gone:
        same = later.get(_says(each, "verified_date"), [])
        was, now = (read_date(one.tags.get("verified_date")) for one in (each, same[0] if same else each))
        if same and now is not None and (was is None or was <= now):
            same.pop(0)
        else:
            found.append(each)
    return found
