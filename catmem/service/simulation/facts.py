"""Facts in a memory file, each an entry such as ``vendor is 3-17.``: what became of them, and who believes what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from catmem.model.document import parse

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from catmem.store.contract import Store

SUBJECTS = ("vendor", "invoice day", "budget", "contact", "cost centre", "currency", "approver", "office")
"""What several agents write about; each entity has a fact of each from the start."""


class Fact(NamedTuple):
    """What an agent writes: to which entity, about what, and a value that nobody else writes."""

    entity: str
    subject: str
    value: str


def first_text() -> bytes:
    """The memory file that an entity starts with."""
    return _text({subject: ["start"] for subject in SUBJECTS})


def facts(data: bytes) -> dict[str, list[str]]:
    """The values of each subject, sorted; two where a merge has kept both sides."""
    found: dict[str, list[str]] = {}
    for entry in parse(data).entries:
        subject, _, value = entry.body.removesuffix(".").partition(" is ")
        found[subject] = sorted((*found.get(subject, ()), value))
    return found


def with_fact(data: bytes, subject: str, value: str) -> tuple[bytes, list[str]]:
    """The file with a fact instead of what it said about the subject, and the values that had to go for it."""
    said = facts(data)
    return _text({**said, subject: [value]}), said.get(subject, [])


def _text(said: Mapping[str, Sequence[str]]) -> bytes:
    entries = "\n§\n".join(f"{subject} is {value}." for subject, values in said.items() for value in values)
    return f"## Shared Facts\n{entries}\n".encode()


@dataclass(slots=True)
class History:
    """What the logs and the heads of some entities say.

    ``recorded`` are the values that some revision says it wrote; ``removed`` those that some revision says it replaced:
    somebody saw them and meant it. ``heads`` has what each entity says. ``rebuilt``: the logs alone give the heads,
    byte for byte.
    """

    recorded: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    heads: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    branches: int = 0
    merges: int = 0
    rebuilt: bool = True

    def read(self, store: Store, entity: str) -> None:
        """Read the log and the head of an entity."""
        newest = b""
        for revision, data in store.replay(entity):
            self.branches += revision.is_branch
            self.merges += revision.op == "merge"
            newest = newest if revision.is_branch else data
            self.recorded.update(revision.note.get("wrote", ()))
            self.removed.update(revision.note.get("removed", ()))
        now = store.read(entity).data
        self.heads |= {(entity, subject): values for subject, values in facts(now).items()}
        self.rebuilt &= newest == now

    def lost(self, told: Collection[Fact]) -> list[Fact]:
        """Those of some acknowledged facts that are in no head, and that nobody meant to remove."""
        there = self.removed.union(*self.heads.values())
        return [fact for fact in told if fact.value not in there]

    def kappa(self, agents: Sequence[Collection[Fact]]) -> float:
        """How far agents agree in the end, by the facts that were acknowledged to each.

        Each holds true what the memory says, but for its own last word on a subject that was lost: it was told that
        this is kept, and nothing in the logs says otherwise.
        """
        last = [{fact[:2]: fact for fact in told}.values() for told in agents]
        own = [{fact[:2]: fact.value for fact in self.lost(facts)} for facts in last]
        said = {place: " ".join(values) for place, values in self.heads.items()}
        places = said.keys() | {place for one in own for place in one}
        return fleiss_kappa([[one.get(place, said.get(place, "")) for place in places] for one in own])


def fleiss_kappa(ratings: Sequence[Sequence[str]]) -> float:
    """Agreement of several raters beyond chance (Fleiss 1971): 1 where all agree on everything.

    ``ratings`` has for each rater the category of each subject. 1 for fewer than two raters, or if nothing else was to
    be expected.
    """
    raters, subjects = len(ratings), len(ratings[0]) if ratings else 0
    if raters <= 1 or not subjects:
        return 1.0
    counts = [Counter(subject) for subject in zip(*ratings, strict=True)]
    agreement = sum(n * (n - 1) for count in counts for n in count.values()) / (raters * (raters - 1) * subjects)
    shares = Counter(category for rating in ratings for category in rating)
    by_chance = sum((n / (raters * subjects)) ** 2 for n in shares.values())
    return 1.0 if by_chance == 1 else (agreement - by_chance) / (1 - by_chance)
