"""What a search keeps of all that it finds: by state, by tags, and by what the threat scan says."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from catmem.errors import UnknownNameError
from catmem.policy.schema import suggestion
from catmem.policy.staleness import State
from catmem.policy.threats import BuiltinScanner, scan_each
from catmem.service.showing import value_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from catmem.model.document import Entry, TagValue

STATES: tuple[State, ...] = get_args(State)


def checked_states(given: Collection[State] | None) -> frozenset[str] | None:
    """The states that are wanted; ``None`` for any. Raises ``UnknownNameError`` (``unknown_state``)."""
    if given is None:
        return None
    states = frozenset([given] if isinstance(given, str) else given)
    for state in sorted(states.difference(STATES)):
        raise UnknownNameError(
            f"{state!r} is not a state", code="unknown_state", hint=suggestion(state, STATES, "states")
        )
    return states


def has_tags(tags: Mapping[str, TagValue], wanted: Mapping[str, str | Sequence[str] | None]) -> bool:
    """Whether an entry with these tags has all that are wanted; ``None`` wants that it has none of that name."""
    for key, value in wanted.items():
        there = tags.get(key)
        if value is None or there is None:
            if value is not there:
                return False
            continue
        texts = {there} if isinstance(there, str) else set(there)
        if not texts.issuperset([value] if isinstance(value, str) else value):
            return False
    return True


def texts_of(entry: Entry) -> list[str]:
    """All that an entry would show of itself: its body, and the names and values of its tags."""
    tags = entry.tags
    return [entry.body, *tags, *value_texts(tags.values())]


def threats_in(texts: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The rules of the threat scan that find something in each of some groups of texts."""
    found = iter(scan_each(BuiltinScanner(), [text for group in texts for text in group]))
    return [tuple(sorted({finding.rule for _ in group for finding in next(found)})) for group in texts]
