"""Why a form was refused, and what its next try has to say: for the page that shows it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from catmem.errors import (
    CatmemError,
    DriftError,
    OperationCollisionError,
    StaleError,
    UnknownRevisionError,
)
from catmem.model.pairing import pair_entries
from catmem.plugins.page.csrf import naming
from catmem.plugins.page.formats import Diff, diff_of, text_of
from catmem.server.error_responses import unforeseen
from catmem.writing.matching import is_digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.model.document import Entry
    from catmem.plugins.page.writing import Sent
    from catmem.store.contract import Revision, Snapshot
    from catmem.workspace.workspace import Workspace

Fate: TypeAlias = Literal["same", "changed", "gone"]
"""What became of the entry that a form is on."""

_MOST_SHOWN = 20
_ONE_BETWEEN = 2
_OLD_VIEW = (StaleError, DriftError, OperationCollisionError, UnknownRevisionError)
_NOT_WRITTEN = "This was not written"


class Since(NamedTuple):
    """What became of a file since a person saw it.

    ``now`` is the name of its revision, ``None`` for a text that has none. ``done`` are the revisions in between, the
    newest first; ``more`` says that there are others. ``diff`` is ``None`` where it is unknown what was seen. ``fate``
    is that of the form's entry, ``entry`` what it is now.
    """

    now: str | None
    done: Sequence[Revision]
    more: bool
    diff: Diff | None
    fate: Fate | None
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class FormRefusal:
    """Why a form was refused. ``since`` is ``None`` unless it was for what changed.

    ``expected``, ``entry`` and ``op_id`` are what the form says when it is sent again: those of what is there now if
    that was the reason, else the same as before. ``entry`` is ``None`` for an entry that is gone.
    """

    heading: str
    error: CatmemError
    since: Since | None
    expected: str | None
    entry: str | None
    op_id: str | None


def refusal_of(sent: Sent, error: Exception, status: int) -> FormRefusal:
    """What the page of a refused form says. Raises what reading the store raises."""
    plain = plain_refusal(sent, error, status)
    if sent.entity is None or not isinstance(error, _OLD_VIEW):
        return plain
    now = sent.workspace.store.read(sent.named)
    base = now.revision or now.digest
    if base == sent.expected:  # refused for what stands in the file, and not for an old view
        return replace(plain, heading=_NOT_WRITTEN)
    since = _since(sent, now, plain.entry)
    entry = None if since.entry is None else since.entry.id
    op_id = naming(sent.workspace)(sent.named, base, sent.address, entry or sent.get("about"))
    return replace(plain, since=since, expected=base, entry=entry, op_id=op_id)


def plain_refusal(sent: Sent, error: Exception, status: int) -> FormRefusal:
    """The same without a look at the store: the form as it was sent."""
    known = error if isinstance(error, CatmemError) else unforeseen()
    heading = "It has changed in the meantime" if status == 409 else _NOT_WRITTEN  # noqa: PLR2004
    return FormRefusal(heading, known, None, sent.expected, sent.fields.get("entry"), sent.fields.get("op_id"))


def seen_text(workspace: Workspace, entity: str, expected: str | None) -> bytes | None:
    """The bytes that a form was made on; ``None`` where they are no longer known."""
    if expected is None:
        return None
    store = workspace.store
    if is_digest(expected):
        now = store.read(entity)
        if now.digest == expected:
            return now.data
        expected = next((each.revision for each in store.log(entity) if each.digest == expected), None)
    try:
        return None if expected is None else store.read(entity, expected).data
    except UnknownRevisionError:
        return None


def _since(sent: Sent, now: Snapshot, entry: str | None) -> Since:
    workspace, entity = sent.workspace, sent.named
    seen = seen_text(workspace, entity, sent.expected)
    log = workspace.store.log(entity)
    if seen is None:
        done = list(islice(log, 1))  # without a known beginning, only the newest is sure to have come after it
    else:
        later = takewhile(lambda each: sent.expected not in {each.revision, each.digest}, log)
        done = list(islice((each for each in later if not each.is_branch), _MOST_SHOWN + 1))
    fate, counterpart = (None, None) if entry is None else fates(workspace, seen, now.data, [entry])[0]
    diff = None if seen is None else diff_of(text_of(seen), text_of(now.data))
    return Since(now.revision, done[:_MOST_SHOWN], len(done) > _MOST_SHOWN, diff, fate, counterpart)


def fates(
    workspace: Workspace, seen: bytes | None, now: bytes, named: Sequence[str]
) -> list[tuple[Fate | None, Entry | None]]:
    """What became of entries of the text ``seen``, by their ids, and what each is ``now``.

    ``None`` for those of a text that no tool can read.
    """
    try:
        after = workspace.parse(now).entries
        before = () if seen is None else workspace.parse(seen).entries
    except CatmemError:
        return [(None, None)] * len(named)  # the refusal says so
    same = {each.id: each for each in reversed(after)}
    places = {each.id: index for index, each in reversed(list(enumerate(before)))}
    pairs = pair_entries(before, after)
    found: list[tuple[Fate | None, Entry | None]] = []
    for each in named:
        if each in same:
            found.append(("same", same[each]))
            continue
        place = None if each not in places else _counterpart(before, after, pairs, places[each])
        found.append(("gone", None) if place is None else ("changed", after[place]))
    return found


def _counterpart(before: Sequence[Entry], after: Sequence[Entry], pairs: Mapping[int, int], place: int) -> int | None:
    """Which entry it is now: the one that it pairs with, or the only new one between the same neighbours."""
    if place in pairs:
        return pairs[place]
    left = pairs.get(place - 1) if place else -1
    right = pairs.get(place + 1) if place + 1 < len(before) else len(after)
    if left is None or right is None or right - left != _ONE_BETWEEN:
        return None
    return left + 1 if after[left + 1].category == before[place].category else None
