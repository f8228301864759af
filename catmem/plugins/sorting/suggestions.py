"""What is suggested for the entries of a root, and the operations that each suggestion would take."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from catmem.linting.linted import LintedEntry
from catmem.names import UNCATEGORIZED
from catmem.plugins.sorting.likeness import alike_pairs, plain_words, same_words
from catmem.writing.operation import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catmem.model.document import Entry
    from catmem.plugins.sorting.likeness import Alike

Kind: TypeAlias = Literal["same", "contradiction", "together"]
"""``same``: two entries say the same; ``together``: a person should look at both. The rest is what a model finds."""

ENTRIES_A_PAIR = 5
"""For so many entries of a profile at most one pair is listed to look at; of fewer entries one."""


class TidyEntry(LintedEntry):
    """An entry with its place. ``copied``: the profile that this one is seeded from has it too."""

    def __init__(self, entity: str, line: int, entry: Entry, *, copied: bool = False) -> None:
        """``entity`` is such as ``trinity/user``; ``line`` counts from 1."""
        super().__init__(entry)
        self.entity, self.line, self.copied = entity, line, copied
        self.owner = entity.partition("/")[0]

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON-ready data."""
        named = {"entity": self.entity, "category": self.category, "line": self.line, "id": self.id}
        return {**named, "tags": dict(self.tags), "text": self.body}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Two entries that say one thing twice, or may. ``operations`` are on ``entity``; without any they are only shown.

    Of the ``entries`` the first one stays, if one goes.
    """

    kind: Kind
    entity: str
    operations: tuple[Operation, ...]
    reason: str
    entries: tuple[TidyEntry, TidyEntry]

    def to_dict(self) -> dict[str, Any]:
        """The suggestion as JSON-ready data."""
        said = {"kind": self.kind, "entity": self.entity, "reason": self.reason}
        operations = [operation.to_dict() for operation in self.operations]
        return {**said, "operations": operations, "entries": [entry.to_dict() for entry in self.entries]}


def suggestions(entries: Iterable[TidyEntry]) -> list[Suggestion]:
    """Of each profile the entries that say the same, and then those to look at together, the most alike first."""
    by_owner: defaultdict[str, defaultdict[tuple[str, ...], list[TidyEntry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        by_owner[entry.owner][same_words(entry.body) or (entry.body,)].append(entry)
    found: list[Suggestion] = []
    for own in by_owner.values():
        groups = [sorted(some, key=_worth, reverse=True) for some in own.values()]
        same = [_same(kept, gone) for kept, *others in groups for gone in others]
        each_once = [some[0] for some in groups]
        most = max(1, sum(map(len, groups)) // ENTRIES_A_PAIR - len(same))
        alike = alike_pairs([each.body for each in each_once], most)
        found += [*same, *(_together(each_once, pair) for pair in alike)]
    shown = (each for each in found if not all(entry.copied for entry in each.entries))
    return sorted(shown, key=lambda each: each.kind != "same")


def _worth(entry: TidyEntry) -> tuple[bool, bool, str]:
    """What makes an entry stay: its source has it too, it is verified, it is newer."""
    return entry.copied, "verified_date" in entry.dates, str(entry.day or "")


def _same(kept: TidyEntry, gone: TidyEntry) -> Suggestion:
    order = "" if plain_words(kept.body) == plain_words(gone.body) else ", in another order"
    return joined("same", kept, gone, f"they have the same words{order}")


def joined(kind: Kind, kept: TidyEntry, gone: TidyEntry, reason: str) -> Suggestion:
    """Two entries of which the second goes, if no reader and no tag loses by it; else both are only shown."""
    places = ((each.category, None if each.category == UNCATEGORIZED else each.entity) for each in (kept, gone))
    tags = gone.tags.keys() - kept.tags.keys() - {"created"}
    why = None
    if gone.copied:
        why = "the source has the one that would go: change it there"
    elif kind == "same" and len({*places}) > 1:
        why = "in another file or category: each may have its readers"
    elif kind == "same" and (tags or kept.tags.get("expires") != gone.tags.get("expires")):
        why = "the tags of the one that would go say more, or another day"
    if why:
        return Suggestion(kind, kept.entity, (), f"{reason}; {why}", (kept, gone))
    operation = Operation("remove", old_text=gone.id, category=gone.category)
    return Suggestion(kind, gone.entity, (operation,), reason, (kept, gone))


def _together(entries: Sequence[TidyEntry], pair: Alike) -> Suggestion:
    """A pair to look at, the newer one first."""
    one, other = entries[pair.first], entries[pair.second]
    values = pair.values
    if str(other.day or "") > str(one.day or ""):
        one, other, values = other, one, values and (values[1], values[0])
    reason = f"both speak of {', '.join(pair.shared)}{f': {values[0]} or {values[1]}?' if values else ''}"
    return Suggestion("together", one.entity, (), reason, (one, other))
