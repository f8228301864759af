"""Sessions by chance: a memory file, and the steps of an agent and of an outsider who share it.

A number gives the same session again. A step draws from its own number and not from the steps before it, so that a
session without some of its steps does in the others what it did before.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from random import Random
from typing import NamedTuple

TITLES = {"communication-style": "Communication Style", "workflow-rules": "Workflow Rules", "projects": "Projects"}
HIDDEN = "Vault"
"""A section that a profile of tier 2 does not see."""

FIRST = {"grow on the line": 5, "grow below": 4, "rewrite": 3, "clean file": 1}
OUTSIDER = FIRST | {"new entry": 2, "crlf": 1, "rename section": 1, "move": 1, "delete": 1}
APART = OUTSIDER.keys() - {"rename section"}
"""What an outsider can do to entries of its own alone."""

LOOKS = {"list": 5, "list category": 2, "list offset": 2, "search": 4, "search nothing": 2, "prompt": 2, "head": 2}
WRITES = {"add": 3, "replace": 10, "remove": 5, "move": 2, "verify": 2, "batch": 3, "text": 3}
REFUSED = {"no match": 3, "ambiguous": 1, "over budget": 2, "bad arguments": 1, "forbidden category": 1}
AGENT = LOOKS | WRITES | REFUSED
EXPECTED = {"none": 12, "found": 4, "current": 2, "next": 1, "id": 1, "stale": 1, "wrong": 1, "malformed": 1}
"""What a change says that it is made on."""

SIZES = {60: 6, 400: 2, 2_500: 2, 9_000: 2}
"""Characters of an entry; lists show 2,000 of one, and 8,000 in all."""
_WORDS = "plain words of a calm day about tea rain trains and the long way home that nobody has to hurry along with"
_FILLER = " ".join([_WORDS] * 100)


class Setting(NamedTuple):
    """The file and its root before anybody comes. ``limit`` is that of the file, in characters."""

    text: str
    last: str | None
    """An entry that catmem adds, which gives the file a history."""
    category: str | None
    tier: int
    limit: int | None
    by_init: bool
    """Whether ``catmem init --start`` makes the root; else the files of a root are written by hand."""


class Step(NamedTuple):
    """What the outsider does, or the agent, who may do the very same several times."""

    number: int
    who: str
    what: str
    times: int = 1
    on: str = "none"


class Script(NamedTuple):
    """``mode`` is ``mixed``; ``alone``, without an outsider; or ``apart``, where each keeps to entries of its own."""

    seed: int
    mode: str
    setting: Setting
    before: tuple[Step, ...]
    """Of the outsider, before the session begins, where the file has a history."""
    steps: tuple[Step, ...]

    def chance(self, step: Step) -> Random:
        return Random(f"{self.seed}/{step.number}")

    def named(self) -> str:
        """Its steps in short, such as ``0,2,5x3:found``."""
        return ",".join(
            f"{step.number}" + f"x{step.times}" * (step.times > 1) + f":{step.on}" * (step.on != "none")
            for step in (*self.before, *self.steps)
        )

    def of(self, named: str) -> Script:
        """The same with these steps alone, as ``named`` says them."""
        found = re.findall(r"(\d+)(?:x(\d))?(?::(\w+))?", named)
        kept = {int(number): {"times": int(times or 1), "on": on or "none"} for number, times, on in found}
        before, steps = (
            tuple(step._replace(**kept[step.number]) for step in some if step.number in kept)
            for some in (self.before, self.steps)
        )
        return self._replace(before=before, steps=steps)


def filler(size: int, chance: Random) -> str:
    """Words of about this length."""
    start = chance.randrange(len(_WORDS))
    return _FILLER[start : start + max(size, 1)].strip()


def draw(seed: int, can: Collection[str], names_more: Collection[str] = ()) -> Script:
    """The session of a number, for a door through which an agent can do these of ``AGENT``.

    Those that ``names_more`` has mean other entries than the one that is named, so where each keeps apart they are not
    among them.
    """
    chance = Random(seed)
    mode = _drawn({"mixed": 8, "alone": 1, "apart": 1}, chance)
    setting = _setting(chance)
    left_out = {"ambiguous", "text", *names_more} if mode == "apart" else ()
    agent = {what: weight for what, weight in AGENT.items() if what in can and what not in left_out}
    outsider = OUTSIDER if mode == "mixed" else {what: weight for what, weight in OUTSIDER.items() if what in APART}
    before = mode == "mixed" and setting.last is not None and chance.random() < 0.2
    steps: list[Step] = []
    for number in range(1, chance.randint(3, 12) + 1):
        if mode != "alone" and chance.random() < 0.35:
            steps.append(Step(number, "outsider", _drawn(outsider, chance)))
            continue
        what, on = _drawn(agent, chance), _drawn(EXPECTED, chance)
        steps.append(Step(number, "agent", what, chance.choice([1, 1, 1, 2, 3]), on if what in WRITES else "none"))
    return Script(seed, mode, setting, (Step(0, "outsider", _drawn(FIRST, chance)),) if before else (), tuple(steps))


def _drawn(weights: dict, chance: Random):
    return chance.choices(list(weights), list(weights.values()))[0]


def _setting(chance: Random) -> Setting:
    limit = chance.choice([None, None, 40_000, 2_200])
    by_init, history, flat = chance.random() < 0.15, chance.random() < 0.5, chance.random() < 0.4
    small = limit == 2_200 or (by_init and chance.random() < 0.7)
    facts = [_fact(number, small, chance) for number in range(chance.randint(2, 3 if small else 5))]
    last = _fact(len(facts), small or by_init, chance).rpartition("] ")[2] if history else None
    parts: dict[str, list[str]] = {title: [] for title in chance.sample(list(TITLES.values()), chance.randint(1, 3))}
    for fact in facts:
        parts[chance.choice(list(parts))].append(fact)
    if chance.random() < 0.2 and not by_init:
        parts[HIDDEN] = ["Nobody is told of this."]
    text = "\n\n".join(f"## {title}\n" + "\n§\n".join(entries) for title, entries in parts.items())
    text = ("\n§\n".join(facts) if flat else text) + "\n"
    if by_init:  # which takes the limit of Hermes Agent for a file that has room
        limit = 1_375 if len(text) <= 1_375 else None
        last = None if limit is not None and len(f"{text}{last}") > 1_300 else last
    if limit == 40_000 and len(f"{text}{last}") > limit - 100:
        last = None  # there is no room for it
    return Setting(text, last, None if flat else chance.choice(list(TITLES)), chance.choice([1, 2]), limit, by_init)


def _fact(number: int, small: bool, chance: Random) -> str:  # noqa: FBT001
    size = chance.choice([60, 200]) if small else _drawn(SIZES, chance)
    tags = chance.choice(["", "", "[verified_date: 2026-05-01] ", "[domain: project] "])
    lines = filler(size, chance)
    if chance.random() < 0.3:
        lines = f"{lines[: len(lines) // 2]}\nand {lines[len(lines) // 2 :].strip()}"
    return f"{tags}Fact zqf{number} is shared: {lines}."
