"""How long a profile's prompt is beside flat files of the same facts, and what it keeps out that they show.

*Flat* files are what an agent without catmem loads: the texts of all entries with delimiters between them, and neither
tags nor section headers, which catmem asks for. Beside them stand the *files* as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cached_property
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple

from catmem.config.config import Config
from catmem.config.profile import Profile, limit_of
from catmem.model.document import Document
from catmem.prompt.prompt import Prompt, Row, build_prompt
from catmem.staleness.freshness import freshness
from catmem.text import size_of
from catmem.threats import SECRETS, scan_each

STATES = ("fresh", "stale", "expired", "unverified")
LEFT_OUT = ("expired", "stale", "no_text", "blocked", "over_budget")
MARKED = ("stale", "expired")
UNWANTED = (*MARKED, "blocked", "secrets")
_DELIMITER = "\n§\n"


class Size(NamedTuple):
    """How long a text is: in characters (code points), and in tokens (an estimate)."""

    characters: int
    tokens: int

    @classmethod
    def from_text(cls, text: str) -> Size:
        """The size of a text."""
        return cls(len(text), estimated_tokens(text))


class Use(NamedTuple):
    """How much of what it may have something takes: ``used`` of ``of`` characters."""

    name: str
    used: int
    of: int


class Sizes(NamedTuple):
    """The sizes of one profile's prompt, or of several together.

    ``seen`` of ``entries`` are those that the profile may see, ``states`` how fresh these are, and ``left_out`` how
    many of them the prompt does not show as they stand, and why; ``secrets`` are those of the blocked that hold one.
    ``marked`` are the stale and expired ones that the prompt shows with a note.
    ``in_flat`` is what flat files show without a word: facts that are stale or expired, those that the threat scan
    blocks, and of these the secrets. ``budgets`` are those of the prompt, ``limits`` those of the files.
    """

    prompt: Size
    files: Size
    flat: Size
    seen: int
    entries: int
    secrets: int = 0
    states: Mapping[str, int] = MappingProxyType({})
    left_out: Mapping[str, int] = MappingProxyType({})
    marked: Mapping[str, int] = MappingProxyType({})
    in_flat: Mapping[str, int] = MappingProxyType({})
    budgets: tuple[Use, ...] = ()
    limits: tuple[Use, ...] = ()

    @property
    def percent(self) -> float | None:
        """The characters of the prompt in percent of flat files, to one decimal; ``None`` without any."""
        return percent_of(self.prompt.characters, self.flat.characters)

    @property
    def tokens_percent(self) -> float | None:
        """The same of the tokens."""
        return percent_of(self.prompt.tokens, self.flat.tokens)

    def __json__(self) -> dict[str, Any]:
        sizes = {"prompt": self.prompt, "files": self.files, "flat": self.flat}
        return {
            **{name: size.characters for name, size in sizes.items()},
            "percent": self.percent,
            "tokens": {**{name: size.tokens for name, size in sizes.items()}, "percent": self.tokens_percent},
            "seen": self.seen,
            "entries": self.entries,
            "states": {name: self.states.get(name, 0) for name in STATES},
            "left_out": {name: self.left_out.get(name, 0) for name in LEFT_OUT},
            "secrets": self.secrets,
            "marked": {name: self.marked.get(name, 0) for name in MARKED},
            "in_flat": {name: self.in_flat.get(name, 0) for name in UNWANTED},
            "budgets": self.budgets,
            "limits": self.limits,
        }


def percent_of(part: int, whole: int) -> float | None:
    """A part in percent, to one decimal; ``None`` of nothing."""
    return round(100 * part / whole, 1) if whole else None


def flat_size(documents: Iterable[Document]) -> Size:
    """The size of the flat files of the same facts."""
    return _sum(
        Size.from_text(_DELIMITER.join(entry.body for entry in document.entries if entry.body))
        for document in documents
    )


class WholeSizes:
    """The files of one profile on one day, flat and as they are: the same for all who read them."""

    def __init__(self, owner: Profile, documents: Mapping[str, Document], config: Config, as_of: date) -> None:
        """``documents`` are by target."""
        self.owner, self.documents, self.config, self.as_of = owner, documents, config, as_of
        self.size = _sum(Size(size_of(each.text), estimated_tokens(each.text)) for each in documents.values())
        self.entries = sum(len(document.entries) for document in documents.values())
        self.facts = [entry for document in documents.values() for entry in document.entries if entry.body]
        self.flat = flat_size(documents.values())

    @cached_property
    def _blocked(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for threats in scan_each([entry.body for entry in self.facts]):
            found["blocked"] += bool(threats)
            found["secrets"] += any(threat.rule in SECRETS for threat in threats)
        return found

    def in_flat(self, profile: Profile) -> Counter[str]:
        """How many facts the flat files show that are stale or expired for a profile, or that the scan blocks."""
        states: Counter[str] = Counter(
            freshness(entry, profile, self.config, as_of=self.as_of).state for entry in self.facts
        )
        return Counter({name: states[name] for name in MARKED}) + self._blocked


def measure(whole: WholeSizes, profile: Profile, beside: WholeSizes | None = None) -> Sizes:
    """The sizes of the prompt that ``profile`` has of some files, and of the flat files that stand ``beside`` it."""
    beside = beside or whole
    prompt = build_prompt(whole.documents, profile, as_of=whole.as_of, config=whole.config)
    manifest = prompt.manifest
    return Sizes(
        prompt=Size.from_text(prompt.text),
        files=whole.size,
        flat=beside.flat,
        seen=len(manifest.rows),
        entries=beside.entries,
        secrets=sum(not SECRETS.keys().isdisjoint(_rules(row)) for row in manifest.rows),
        states=Counter(row.state for row in manifest.rows),
        left_out=Counter(filter(None, map(left_out, manifest.rows))),
        marked=Counter(row.state for row in manifest.rows if row.status == "in" and row.state in MARKED),
        in_flat=beside.in_flat(profile),
        budgets=budget_uses(prompt),
        limits=limit_uses(whole.documents, whole.owner, whole.config),
    )


def budget_uses(prompt: Prompt) -> tuple[Use, ...]:
    """How much of each of its budgets a prompt takes."""
    sizes = {**prompt.manifest.sizes, "total": len(prompt.text)}
    return tuple(Use(name, sizes.get(name, 0), budget) for name, budget in sorted(prompt.manifest.budget.items()))


def limit_uses(documents: Mapping[str, Document], owner: Profile, config: Config) -> tuple[Use, ...]:
    """How much of the limit that it has each file takes."""
    found = ((target, size_of(each.text), limit_of(owner, target, config)) for target, each in documents.items())
    return tuple(Use(target, used, limit) for target, used, limit in found if limit is not None)


def _rules(row: Row) -> list[str]:
    return row.reason.split(", ") if row.status == "blocked" and row.reason else []


def total(measured: Iterable[Sizes]) -> Sizes:
    """The sizes of several prompts added up. Files that several profiles read count each time, as they are loaded."""
    each = list(measured)

    def counted(name: str) -> Counter[str]:
        return sum((Counter(getattr(sizes, name)) for sizes in each), Counter())

    return Sizes(
        prompt=_sum(sizes.prompt for sizes in each),
        files=_sum(sizes.files for sizes in each),
        flat=_sum(sizes.flat for sizes in each),
        seen=sum(sizes.seen for sizes in each),
        entries=sum(sizes.entries for sizes in each),
        secrets=sum(sizes.secrets for sizes in each),
        states=counted("states"),
        left_out=counted("left_out"),
        marked=counted("marked"),
        in_flat=counted("in_flat"),
    )


def _sum(sizes: Iterable[Size]) -> Size:
    return Size(*map(sum, zip((0, 0), *sizes, strict=True)))


def left_out(row: Row) -> str | None:
    """Why an entry is not in a prompt as it stands; ``None`` for one that is in."""
    if row.status == "in":
        return None
    if row.status == "blocked":
        return "blocked"
    if row.reason == "no text":
        return "no_text"
    return "over_budget" if (row.reason or "").startswith("over the ") else row.state


def estimated_tokens(text: str) -> int:
    """About how many tokens a model reads for a text: one for each four bytes begun."""
    return ceil(len(text.encode()) / 4)
