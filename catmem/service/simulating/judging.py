"""What became of all that was acknowledged, told from the log; and how far the agents agree in the end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from catmem.service.simulating.facts import facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catmem.service.simulating.agent import Told
    from catmem.store.contract import Store

_ABSENT = ""


class History(NamedTuple):
    """What the log and the head of one entity say."""

    recorded: frozenset[str]
    """The values that some revision says it wrote."""
    removed: frozenset[str]
    """The values that some revision says it put another in the place of: somebody saw them and meant it."""
    head: Mapping[str, tuple[str, ...]]
    """The values of each subject now."""
    branches: int
    merges: int
    rebuilt: bool
    """Whether the head that the log alone gives is, byte for byte, what the store shows."""

    def kept(self, value: str) -> bool:
        """Whether a value is in the head, or was taken away by somebody who had seen it."""
        return value in self.removed or any(value in values for values in self.head.values())


def history_of(store: Store, entity: str) -> History:
    """Read the log and the head of an entity."""
    recorded: set[str] = set()
    removed: set[str] = set()
    branches = merges = 0
    newest = b""
    for revision, data in store.replay(entity):
        branches += revision.is_branch
        merges += revision.op == "merge"
        newest = newest if revision.is_branch else data
        if "wrote" in revision.note:
            recorded.add(revision.note["wrote"])
            removed.update(revision.note["removed"])
    now = store.read(entity)
    return History(frozenset(recorded), frozenset(removed), facts(now.data), branches, merges, newest == now.data)


def silent_overwrites(told: Iterable[Told], histories: Mapping[str, History]) -> int:
    """The acknowledged facts that no later write meant to remove, and that are not in the head."""
    acknowledged = [(entity, value) for each in told for entity, _, value in each.acknowledged]
    return sum(not histories[entity].kept(value) for entity, value in acknowledged)


def unrecorded(told: Iterable[Told], histories: Mapping[str, History]) -> int:
    """The acknowledged facts of which the log knows nothing."""
    acknowledged = [(entity, value) for each in told for entity, _, value in each.acknowledged]
    return sum(value not in histories[entity].recorded for entity, value in acknowledged)


def views(told: Sequence[Told], histories: Mapping[str, History]) -> list[dict[tuple[str, str], str]]:
    """What each agent holds true in the end, by entity and subject.

    That is what the memory says, but for its own last word on a subject that vanished without anybody's meaning it:
    the agent was told that it is kept, and nothing in the log says otherwise.
    """
    found = []
    for each in told:
        own = {(entity, subject): value for entity, subject, value in each.acknowledged}
        vanished = {place: value for place, value in own.items() if not histories[place[0]].kept(value)}
        found.append(vanished)
    subjects = {(entity, subject) for entity, history in histories.items() for subject in history.head}
    subjects.update(place for vanished in found for place in vanished)
    return [
        {(e, s): vanished.get((e, s), " ".join(histories[e].head.get(s, ()))) or _ABSENT for e, s in subjects}
        for vanished in found
    ]


def fleiss_kappa(ratings: Sequence[Mapping[tuple[str, str], str]]) -> float:
    """Agreement of several raters beyond chance (Fleiss 1971): 1 where all agree on everything.

    ``ratings`` has a mapping for each rater, all with the same keys: of each subject the category, here the value that
    the rater holds true. 1 for fewer than two raters, or if nothing else was to be expected.
    """
    raters, subjects = len(ratings), list(ratings[0]) if ratings else []
    if raters <= 1 or not subjects:
        return 1.0
    counts = [Counter(rating[subject] for rating in ratings) for subject in subjects]
    pairs = raters * (raters - 1)
    agreement = sum(sum(n * (n - 1) for n in count.values()) / pairs for count in counts) / len(subjects)
    shares: Counter[str] = Counter()
    for count in counts:
        shares.update(count)
    by_chance = sum((n / (raters * len(subjects))) ** 2 for n in shares.values())
    return 1.0 if by_chance == 1 else (agreement - by_chance) / (1 - by_chance)
