"""How long a profile's prompt is beside what it would be without its filters.

Three sizes in characters (code points): the prompt; the same prompt with every entry of the same files in it
(*unfiltered*: no selectors, dates, scan or budget); and the *files* as they are, which is what an agent without catmem
loads.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.config.profile import limit_of
from catmem.names import TARGETS
from catmem.prompt.prompt import build_prompt
from catmem.text import size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from catmem.config.config import Config
    from catmem.config.profile import Profile
    from catmem.model.document import Document
    from catmem.prompt.prompt import Row
    from catmem.threats import Threat

STATES = ("fresh", "stale", "expired", "unverified")
LEFT_OUT = ("expired", "stale", "no_text", "blocked", "over_budget")
_NUMBERS = ("prompt", "unfiltered", "files", "seen", "entries")


class Use(NamedTuple):
    """How much of what it may have something takes: ``used`` of ``of`` characters."""

    name: str
    used: int
    of: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one profile's prompt, or of several together, in characters.

    ``seen`` of ``entries`` are those that the profile may see, ``states`` how fresh these are, and ``left_out`` how
    many of them the prompt does not show as they stand, and why. ``budgets`` are those of the prompt, ``limits`` those
    of the files.
    """

    prompt: int
    unfiltered: int
    files: int
    seen: int
    entries: int
    states: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    budgets: tuple[Use, ...] = ()
    limits: tuple[Use, ...] = ()

    @property
    def percent(self) -> float | None:
        """The size of the prompt in percent of the files, to one decimal; ``None`` without any."""
        return round(100 * self.prompt / self.files, 1) if self.files else None

    def to_dict(self) -> dict[str, Any]:
        """The sizes as JSON-ready data."""
        return {
            "prompt": self.prompt,
            "unfiltered": self.unfiltered,
            "files": self.files,
            "percent": self.percent,
            "seen": self.seen,
            "entries": self.entries,
            "states": {name: self.states.get(name, 0) for name in STATES},
            "left_out": {name: self.left_out.get(name, 0) for name in LEFT_OUT},
            "budgets": [use._asdict() for use in self.budgets],
            "limits": [use._asdict() for use in self.limits],
        }


class WholeSizes:
    """The files of one profile, and what their prompt would be unfiltered: the same for all who read them alike."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        """``documents`` are by target."""
        self.documents = documents
        self.size = sum(size_of(document.text) for document in documents.values())
        self.entries = sum(len(document.entries) for document in documents.values())
        self._unfiltered: dict[tuple[object, ...], int] = {}

    def unfiltered(self, profile: Profile, as_of: date, config: Config) -> int:
        """The characters of the prompt in the profile's style with every entry in it."""
        notes = "note" if profile.prompt.stale == "drop" else profile.prompt.stale
        key = (profile.prompt.style, notes, None if notes == "plain" else profile.stale_after, as_of)
        if key not in self._unfiltered:
            # By their names: in a closed taxonomy no pattern selects what it does not declare.
            every = {
                target: tuple({entry.category: None for entry in document.entries})
                for target, document in self.documents.items()
            }
            reader = replace(
                profile,
                user_memory_categories=every.get("user", ()),
                memory_categories=every.get("memory", ()),
                prompt=replace(profile.prompt, order="file", stale=notes, expired="note", budget={}),
            )
            prompt = build_prompt(self.documents, reader, as_of=as_of, config=config, scanner=_NoScanner())
            self._unfiltered[key] = len(prompt.text)
        return self._unfiltered[key]


class _NoScanner:
    """A scanner that finds nothing: what would be withheld counts in full."""

    def scan(self, text: str) -> list[Threat]:
        del text
        return []


def measure(whole: WholeSizes, profile: Profile, owner: Profile, *, as_of: date, config: Config) -> Sizes:
    """The sizes of the prompt of ``profile`` from the files of ``owner``."""
    prompt = build_prompt(whole.documents, profile, as_of=as_of, config=config)
    manifest = prompt.manifest
    sizes = {**manifest.sizes, "total": len(prompt.text)}
    limits = [
        (target, size_of(whole.documents[target].text), limit_of(owner, target, config))
        for target in TARGETS
        if target in whole.documents
    ]
    return Sizes(
        prompt=len(prompt.text),
        unfiltered=whole.unfiltered(profile, as_of, config),
        files=whole.size,
        seen=len(manifest.rows),
        entries=whole.entries,
        states=Counter(row.state for row in manifest.rows),
        left_out=Counter(filter(None, map(_left_out, manifest.rows))),
        budgets=tuple(Use(name, sizes.get(name, 0), budget) for name, budget in sorted(manifest.budget.items())),
        limits=tuple(Use(target, used, limit) for target, used, limit in limits if limit is not None),
    )


def total(measured: Iterable[Sizes]) -> Sizes:
    """The sizes of several prompts added up. Files that several profiles read count each time, as they are loaded."""
    each = list(measured)
    numbers = {name: sum(getattr(sizes, name) for sizes in each) for name in _NUMBERS}
    states: Counter[str] = sum((Counter(sizes.states) for sizes in each), Counter())
    left_out: Counter[str] = sum((Counter(sizes.left_out) for sizes in each), Counter())
    return Sizes(**numbers, states=states, left_out=left_out)


def _left_out(row: Row) -> str | None:
    """Why an entry is not in a prompt as it stands; ``None`` for one that is in."""
    if row.status == "in":
        return None
    if row.status == "blocked":
        return "blocked"
    if row.reason == "no text":
        return "no_text"
    return "over_budget" if (row.reason or "").startswith("over the ") else row.state
