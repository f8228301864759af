"""Is a history of concurrent reads and compare-and-swaps on one entity linearizable?

Linearizable: each operation can be given one moment between its call and its answer so that, done one by one in that
order, every operation would have answered just what it did (Herlihy and Wing, 1990). That is hard to decide in general.
Here it is easy and exact, since every write has a value of its own and an answer that names its revision: there is only
one order that the writes can have had, and each read belongs behind the write whose revision it saw. What is left is
to see whether that order fits the clock.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["read", "write", "refused", "retry"]


UNKNOWN = -1
"""The revision of bytes that the store says it does not know. Nobody but the store's own writers writes here."""


class Operation(NamedTuple):
    """One call and its answer. ``invoked`` and ``returned`` are nanoseconds of one monotonic clock.

    ``revision`` and ``value`` are what was read or written; of a refused write, the revision that was found there, and no
    value. ``expected`` is the revision that a write was to replace, ``None`` for one without a view; ``seen`` is what
    its update was given. A ``retry`` repeats an acknowledged write of the same ``value``.
    """

    worker: str
    kind: Kind
    invoked: int
    returned: int
    revision: int
    value: str | None = None
    expected: int | None = None
    seen: tuple[int, str] | None = None

    def __str__(self) -> str:
        return f"{self.kind} of revision {self.revision} by {self.worker} ({self.invoked}..{self.returned})"


class Violation(NamedTuple):
    """What no correct store does: a word for it, and what happened."""

    code: Literal["lost", "twice", "foreign", "swap", "read", "refused", "retry", "order"]
    text: str


def check(operations: Sequence[Operation], replay: Sequence[str]) -> list[Violation]:
    """What is wrong with a history; ``replay`` are the values of the revisions 1, 2, 3 … as the store tells them later."""
    return [
        *_replayed(operations, replay),
        *_swaps(operations, replay),
        *_reads(operations, replay),
        *in_order([each for each in operations if each.kind != "retry" and each.revision != UNKNOWN]),
    ]


def _value(replay: Sequence[str], revision: int) -> str | None:
    """The value of a revision, that of 0 being nothing; ``None`` if there is no such revision."""
    if revision == 0:
        return ""
    return replay[revision - 1] if 0 < revision <= len(replay) else None


def _replayed(operations: Sequence[Operation], replay: Sequence[str]) -> Iterable[Violation]:
    """Every acknowledged value is in the replay, once, where the answer said; and no other value is."""
    written = {each.value for each in operations if each.kind == "write"}
    for each in operations:
        if each.kind == "write" and _value(replay, each.revision) != each.value:
            yield Violation("lost", f"{each}: the replay has {_value(replay, each.revision)!r}, not {each.value!r}")
    for value, times in Counter(replay).items():
        if times > 1:
            yield Violation("twice", f"{value!r} is {times} times in the replay")
        if value not in written:
            yield Violation("foreign", f"{value!r} is in the replay, and nobody was told that it was written")


def _swaps(operations: Sequence[Operation], replay: Sequence[str]) -> Iterable[Violation]:
    """A write replaced the revision that it expected and was shown; a refused one had something else before it."""
    firsts = {each.value: each.revision for each in operations if each.kind == "write"}
    for each in operations:
        before = each.revision - 1
        if each.kind == "write" and each.expected not in (None, before):
            yield Violation("swap", f"{each} expected revision {each.expected}")
        if each.kind == "write" and each.seen is not None and each.seen != (before, _value(replay, before)):
            yield Violation("swap", f"{each} was made on {each.seen}, not on {(before, _value(replay, before))}")
        if each.kind == "refused" and each.expected in (None, each.revision):
            yield Violation("refused", f"{each}, which is what it expected")
        if each.kind == "retry" and firsts.get(each.value) != each.revision:
            yield Violation("retry", f"{each}: the first answer was revision {firsts.get(each.value)}")


def _reads(operations: Sequence[Operation], replay: Sequence[str]) -> Iterable[Violation]:
    """A read gave the value of the revision that it named; a refusal named one that there is."""
    for each in operations:
        value = _value(replay, each.revision)
        if each.revision == UNKNOWN:
            yield Violation("read", f"{each.value!r}, read by {each.worker}, was said to be in no revision")
        elif each.kind in {"read", "retry"} and value != each.value:
            yield Violation("read", f"{each} gave {each.value!r}; the replay has {value!r}")
        if each.kind == "refused" and value is None:
            yield Violation("refused", f"{each}: there is no such revision in the replay")


def in_order(operations: Sequence[Operation]) -> Iterable[Violation]:
    """Each operation can have its moment, in the order of the revisions: a write first, then who saw it, in any order.

    Each takes the earliest moment that it can, which leaves most room to those that come later; so if one finds none,
    there is none.
    """
    writes: dict[int, list[Operation]] = defaultdict(list)
    looks: dict[int, list[Operation]] = defaultdict(list)
    for each in operations:
        (writes if each.kind == "write" else looks)[each.revision].append(each)
    moment, holder = 0, None
    for revision in sorted({*writes, *looks}):
        for each in writes[revision]:
            if moment > each.returned:
                yield Violation("order", f"{each} had its answer before {holder} began")
            elif each.invoked > moment:
                moment, holder = each.invoked, each
        latest, last = moment, holder
        for each in looks[revision]:
            if moment > each.returned:
                yield Violation("order", f"{each} had its answer before {holder} began")
            elif each.invoked > latest:
                latest, last = each.invoked, each
        moment, holder = latest, last
