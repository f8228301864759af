"""A fleet of 20 specialists over 2,000 facts, beside flat files that each of them loads whole.

The facts are notes of ``notes``, in the order of a fixed seed, each with a number that no other has, in 20 categories.
Every specialist names the two that all read and three others, drawn by lot: how few they are decides most of what is
saved. Of 2,000 facts 100 are old (half have expired, half were last verified a year ago), 40 are 20 pairs of which the
later one contradicts the earlier, and 20 hold a secret of one of ten kinds, made up by lot. All others were verified
within the last 80 days. No profile differs from the defaults.

What is served is looked for in the texts themselves, by numbers and secrets, not in what catmem says of them. A fact
counts as served for each specialist whose prompt holds it. Stale ones count when no note stands on their line.

A day is 40 writes into the orchestrator's files, by ``Workspace``: 20 new facts, 16 corrections, 4 removals. After
each, the bytes count that stand behind the first one that differs, in the prompts of all. The flat files get the same
changes: what is new at the end, as Hermes Agent puts it there.

Counts and no times, so that they are the same on every machine.
"""

from __future__ import annotations

import random
import re
import string
import tempfile
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import chain, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result, share
from benchmarks.notes import notes
from benchmarks.seed import put
from catmem.config.config import DEFAULT_STALE_AFTER
from catmem.plugins.sorting.tidying import list_tidy
from catmem.prompt.sizes import estimated_tokens
from catmem.workspace.workspace import Workspace

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

DAY = date(2026, 11, 21)
PROFILES = 20
FACTS = 2_000
OLD = 100
PAIRS = 20
SECRETS = 20
_SHARED = ("communication-style", "workflow-rules")
_CATEGORIES = (*_SHARED, *(f"topic-{number:02}" for number in range(18)))
_OWN = 3
_WRITES = ("add",) * 20 + ("replace",) * 16 + ("remove",) * 4
_TEAMS = (
    *("billing", "search", "payments", "onboarding", "mobile", "analytics", "checkout", "catalog", "shipping"),
    *("pricing", "reporting", "gateway", "loyalty", "inventory", "returns", "translation", "media", "fraud"),
    *("calendar", "identity"),
)
_DELIMITER = "\n§\n"

_MOST_TOKENS = 35.0
_MOST_CHANGED = 15.0


@dataclass(frozen=True, slots=True)
class Made:
    """A fact as it was made: ``mark`` is in no other; ``verified`` or ``expires`` is its date."""

    mark: str
    category: str
    target: str
    text: str
    verified: date
    expires: date | None = None
    secret: str | None = None
    contradicts: str | None = None
    """The mark of the earlier fact that this one replaces."""

    @property
    def is_old(self) -> bool:
        """Whether it is expired, or was last verified longer ago than profiles allow by default."""
        return (DAY - self.verified).days > DEFAULT_STALE_AFTER or (self.expires is not None and self.expires < DAY)

    def written(self) -> str:
        """The entry with its tags."""
        expires = f", expires: {self.expires}" if self.expires else ""
        return f"[verified_date: {self.verified}{expires}] {self.text}"


def made_up(kind: int, lot: random.Random) -> str:
    """A text that holds a secret of one of ten kinds; no service has issued it."""

    def drawn(size: int, letters: str = string.ascii_letters + string.digits) -> str:
        return "".join(lot.choices(letters, k=size))

    large = string.ascii_uppercase + string.digits
    return (
        f"AKIA{drawn(16, large)}",
        f"ghp_{drawn(36)}",
        f"glpat-{drawn(20)}",
        f"xoxb-{drawn(12, string.digits)}-{drawn(24)}",
        f"sk_live_{drawn(24)}",
        f"sk-ant-api03-{drawn(80)}",
        f"npm_{drawn(36)}",
        f"postgres://billing:{drawn(14)}@db.example.org/billing",
        f"password: {drawn(20)}",
        f"the gate opens at {drawn(6, string.digits)}",
    )[kind]


def facts(lot: random.Random) -> list[Made]:
    """The facts, in the order of their files."""
    texts = notes()
    lot.shuffle(texts)
    found: list[Made] = []
    for number in range(FACTS):
        mark = f"(n{number:04})"
        category = lot.choice(_CATEGORIES)
        target = "user" if category in _SHARED else "memory"
        said = f"{texts[number % len(texts)]} {mark}"
        verified = DAY - timedelta(days=lot.randrange(80))
        found.append(_kind(number, Made(mark, category, target, said, verified), found, lot))
    lot.shuffle(found)
    return found


def _kind(number: int, fact: Made, before: list[Made], lot: random.Random) -> Made:
    """What the fact with this number is to be: old, one of a pair, a secret, or as it is."""
    place = number - OLD
    if number < OLD // 2:
        return replace(fact, verified=DAY - timedelta(days=365))
    if place < 0:
        return replace(fact, expires=DAY - timedelta(days=1 + lot.randrange(200)))
    if place < 2 * PAIRS:
        day = lot.choice(("Monday", "Thursday") if place % 2 else ("Tuesday", "Friday"))
        text = f"The {_TEAMS[place // 2]} team hands its release over to the support desk every {day}."
        fact = replace(fact, mark=text, text=text)
        if place % 2 == 0:
            # No date says that the earlier fact is outdated: it was verified on any day of the last ten months.
            return replace(fact, verified=DAY - timedelta(days=20 + lot.randrange(280)))
        earlier = before[-1]
        return replace(
            fact,
            category=earlier.category,
            target=earlier.target,
            verified=DAY - timedelta(days=lot.randrange(20)),
            contradicts=earlier.mark,
        )
    if place < 2 * PAIRS + SECRETS:
        secret = made_up(place % 10, lot)
        return replace(fact, text=f"Access for the nightly job {fact.mark}: {secret}", secret=secret)
    return fact


def make(root: Path, made: list[Made], lot: random.Random) -> dict[str, tuple[str, ...]]:
    """The root on disk; the categories of each specialist."""
    put(root / "catmem.yaml", "version: 1\n")
    put(root / "profiles/orchestrator.yaml", "tier: 1\nuser_memory_categories: ['*']\nmemory_categories: ['*']\n")
    readers = {}
    for number in range(PROFILES):
        named = (*_SHARED, *lot.sample(_CATEGORIES[len(_SHARED) :], _OWN))
        readers[f"agent{number:02}"] = named
        lists = ", ".join(named)
        put(
            root / f"profiles/agent{number:02}.yaml",
            f"tier: 2\nuser_memory_categories: [{lists}]\nmemory_categories: [{lists}]\n",
        )
    for target in ("user", "memory"):
        sections = []
        for category in _CATEGORIES:
            entries = [fact.written() for fact in made if (fact.category, fact.target) == (category, target)]
            if entries:
                sections.append(f"## {category}\n" + _DELIMITER.join(entries))
        put(root / f"homes/orchestrator/{target.upper()}.md", "\n\n".join(sections) + "\n")
    return readers


class Flat:
    """The flat files: the texts of the facts, those of USER.md before those of MEMORY.md."""

    def __init__(self, made: Iterable[Made]) -> None:
        """The facts in the order of their files."""
        each = list(made)
        self.texts = {target: [fact.text for fact in each if fact.target == target] for target in ("user", "memory")}

    def text(self) -> str:
        """What every specialist loads."""
        return _DELIMITER.join(chain(*self.texts.values()))


def behind(before: str, after: str) -> int:
    """How many bytes of a new text come behind the first that is another than in the old; none for the same text."""
    old, new = before.encode(), after.encode()
    if old == new:
        return 0
    return len(new) - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def prompts(workspace: Workspace, names: Iterable[str]) -> dict[str, str]:
    """The prompt of each specialist from the orchestrator's files."""
    return {name: workspace.prompt(name, source="orchestrator", as_of=DAY).text for name in names}


def day_of_writes(
    workspace: Workspace, flat: Flat, made: list[Made], names: list[str], lot: random.Random
) -> tuple[int, int]:
    """The bytes that a day of writes changes, over all specialists: of prompts, and of flat files."""
    there = [fact for fact in made if fact.secret is None and fact.contradicts is None and not fact.is_old]
    lot.shuffle(there)
    before, flat_before = prompts(workspace, names), flat.text()
    today = {"verified_date": str(DAY)}
    ours = theirs = 0
    for number, what in enumerate(lot.sample(_WRITES, len(_WRITES))):
        if what == "add":
            category = lot.choice(_CATEGORIES)
            target = "user" if category in _SHARED else "memory"
            text = f"What was agreed on that day, as number {number} of the list (w{number:02})"
            workspace.add("orchestrator", text, category=category, target=target, tags=today, as_of=DAY)
            flat.texts[target].append(text)
        else:
            fact = there.pop()
            place = flat.texts[fact.target].index(fact.text)
            if what == "replace":
                text = f"{fact.text[: len(fact.text) // 2]}, as corrected (w{number:02})"
                workspace.replace("orchestrator", fact.mark, text, target=fact.target, tags=today)
                flat.texts[fact.target][place] = text
            else:
                workspace.remove("orchestrator", fact.mark, target=fact.target)
                del flat.texts[fact.target][place]
        after, flat_after = prompts(workspace, names), flat.text()
        ours += sum(behind(before[name], after[name]) for name in names)
        theirs += len(names) * behind(flat_before, flat_after)
        before, flat_before = after, flat_after
    return ours, theirs


def served(made: Iterable[Made], text: str) -> int:
    """How many of the facts stand in a text without a note on their line."""
    lines = text.split("\n")
    found = [next((line for line in lines if fact.mark in line), None) for fact in made]
    return sum(line is not None and not re.match(r"- \((stale|expired)", line) for line in found)


def run(options: Namespace) -> list[Result]:
    """The figures of one fleet, which the seed makes the same everywhere."""
    del options
    with tempfile.TemporaryDirectory() as folder:
        return list(figures(Path(folder)))


def figures(root: Path) -> Iterator[Result]:
    """The figures of a fleet that is made in an empty folder; the last, of a day of writes, takes most of the time."""
    lot = random.Random(20261121)  # noqa: S311 - nothing secret is drawn
    made = facts(lot)
    readers = make(root, made, lot)
    workspace = Workspace.open(root, search=False)
    texts = prompts(workspace, readers)
    flat = Flat(sorted(made, key=lambda fact: _CATEGORIES.index(fact.category)))
    yield from _of_prompts(made, readers, texts, flat.text())
    yield from _of_contradictions(workspace, made, texts)
    ours, theirs = day_of_writes(workspace, flat, made, list(readers), lot)
    workspace.store.close()
    yield share("bytes to be read again in a day of 40 writes", ours, theirs, _MOST_CHANGED)


def _of_prompts(
    made: list[Made], readers: dict[str, tuple[str, ...]], texts: dict[str, str], whole: str
) -> Iterable[Result]:
    tokens = sum(map(estimated_tokens, texts.values()))
    yield share("tokens of all prompts (estimated)", tokens, PROFILES * estimated_tokens(whole), _MOST_TOKENS)
    yield share("characters of all prompts", sum(map(len, texts.values())), PROFILES * len(whole))
    old = [fact for fact in made if fact.is_old]
    yield share(
        "stale and expired facts served without a note",
        sum(served(old, text) for text in texts.values()),
        PROFILES * served(old, whole),
        0.0,
    )
    known = [fact for fact in made if fact.secret and "gate opens at" not in fact.secret]
    yield share("secrets of known forms served", _leaks(known, texts.values()), PROFILES * len(known), 0.0)
    unknown = [fact for fact in made if fact.secret and fact not in known]
    yield share("  secrets in plain words served", _leaks(unknown, texts.values()), PROFILES * len(unknown))
    others = sum(
        fact.mark in texts[name] for name, named in readers.items() for fact in made if fact.category not in named
    )
    foreign = sum(fact.category not in named for named in readers.values() for fact in made)
    yield share("facts of other categories served", others, foreign, 0.0)
    # What a specialist should have: all that is fresh, harmless and of its categories.
    wanted = [
        (fact.mark, name)
        for name, named in readers.items()
        for fact in made
        if fact.category in named and not fact.is_old and not fact.secret
    ]
    lost = sum(mark not in texts[name] for mark, name in wanted)
    yield share("fresh facts of its own categories that a prompt lacks", lost, len(wanted), 0.0)


def _leaks(secrets: Iterable[Made], texts: Iterable[str]) -> int:
    each = list(texts)
    return sum(fact.secret in text for fact in secrets for text in each if fact.secret)


def _of_contradictions(workspace: Workspace, made: list[Made], texts: dict[str, str]) -> Iterable[Result]:
    by_mark = {fact.mark: fact for fact in made}
    pairs = [(by_mark[fact.contradicts], fact) for fact in made if fact.contradicts]
    both = sum(served(pair, text) == len(pair) for pair in pairs for text in texts.values())
    yield share("  pairs that contradict each other served as both true", both, PROFILES * len(pairs))
    listed = [{entry.body for entry in each.entries} for each in list_tidy(workspace, "orchestrator").suggestions]
    missed = sum({earlier.text, later.text} not in listed for earlier, later in pairs)
    yield share("  pairs that tidy does not list", missed, len(pairs))
