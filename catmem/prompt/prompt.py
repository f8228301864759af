"""The prompt builder: a profile's categories, and nothing else, as text for a system prompt.

Pure and deterministic: the same documents, profile, configuration and day give the same bytes, on every machine. The
steps, each of which only ever takes away: what the profile may see, what its dates leave in, what fits the budget; then
the frame of the style, and a scan of the text. What it finds is withheld, and the last two steps are done again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import accumulate
from typing import NamedTuple

from catmem.clock import checked_day
from catmem.config.access import View, visible
from catmem.config.config import Config
from catmem.config.profile import Profile
from catmem.digest import bytes_digest
from catmem.errors import ConfigError, wrong_type
from catmem.model.document import Document, Entry
from catmem.names import TARGETS, UNCATEGORIZED
from catmem.prompt.styles import (
    BETWEEN,
    STYLES,
    Block,
    Fact,
    Piece,
    Style,
    StyledCategory,
    budgeted_text,
    is_plain,
    render,
    text_of,
)
from catmem.staleness.freshness import UNVERIFIED, Freshness, freshness
from catmem.text import few, plural
from catmem.threats import Candidates, Threat, scan, scan_each

_PREVIEW = 80


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt's text, and what it was made of."""

    text: str
    _draft: _Draft = field(repr=False, compare=False)
    __json__ = "text digest manifest"

    @property
    def digest(self) -> str:
        """The SHA-256 of the text's bytes (``sha256:…``)."""
        return bytes_digest(self.text.encode())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user of the text should know of the files that it was made of."""
        return (*self._draft.warnings, *self.gaps)

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the text lacks of what the profile sees: entries without room in the budget, or all of it."""
        cut, kept = without_room(self), {fact.entry.category for fact in self._draft.facts if fact.out is None}
        full = dict(fact.over_budget for fact in cut if fact.over_budget)
        room = ", ".join(f"{name} {limit:,}" for name, limit in full.items())
        said = f"{len(cut):,} {plural(len(cut), 'entry')} left out: no room in the budget ({room})"
        gone = [name for name in dict.fromkeys(fact.entry.category for fact in cut) if name not in kept]
        said += f"; nothing is left of {few(gone)}" if gone and self.text else ""
        return (*([said] if cut else []), *([] if self.text else ["the prompt is empty"]))

    @property
    def manifest(self) -> Manifest:
        """What the text is made of; worked out when it is asked for."""
        return self._draft.manifest()


def build_prompt(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    documents: Mapping[str, Document],
    profile: Profile,
    *,
    as_of: date,
    config: Config | None = None,
    style: Style | None = None,
    counter: Callable[[str], int] = len,
    missing: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Prompt:
    """Assemble the prompt of ``profile`` from its documents (``{"user": …, "memory": …}``; either may be missing).

    ``config`` brings titles, thresholds and the closed taxonomy of a root; ``style`` overrides the profile's.
    ``missing`` are the targets whose empty document stands for a file that is not there: the manifest names them.
    ``warnings`` are what the caller knows of them; the prompt has them with its own.
    ``counter`` is what a budget is counted in (characters; or a caller's tokens). Raises ``ConfigError``
    (``unknown_target``, ``unknown_style``), and ``EditError`` (``wrong_type``) if ``as_of`` is no date.
    """
    for target in documents:
        if target not in TARGETS:
            raise ConfigError(f"{target!r} is not a target", code="unknown_target", hint="Use 'user' or 'memory'.")
    if not isinstance(profile, Profile):
        raise wrong_type("the profile", profile, "a Profile")
    for each in documents.values():
        if not isinstance(each, Document):
            raise wrong_type("a document", each, "a Document (parse makes one)")
    checked_day(as_of)
    style = style or profile.prompt.style
    if style not in STYLES:
        raise ConfigError(f"{style!r} is not a style", code="unknown_style", hint=f"Use {', '.join(STYLES)}.")
    absent = tuple(target for target in TARGETS if target in missing or target not in documents)
    draft = _Draft(profile, as_of, config, style, counter, absent, warnings=[*warnings])
    for target in TARGETS:
        if target in documents:
            draft.add_view(visible(documents[target], target, profile, config.taxonomy if config else None))
    return Prompt(draft.settle(), draft)


def pieces_of(prompt: Prompt) -> list[tuple[str, Fact | None]]:
    """The text in its pieces, each with the fact that it is of: ``None`` for the frame and for titles."""
    draft = prompt._draft  # noqa: SLF001 - of this module
    return [(text, draft.facts[owner] if isinstance(owner, int) else None) for text, owner in draft.pieces()]


def without_room(prompt: Prompt) -> list[Fact]:
    """The entries that have no room in the budget."""
    return [fact for fact in prompt._draft.facts if fact.over_budget is not None]  # noqa: SLF001 - of this module


@dataclass(slots=True, eq=False)
class _Draft:
    """A prompt in the making: what the caller chose, facts in prompt order, and what has been decided about them."""

    profile: Profile
    as_of: date
    config: Config | None
    style: Style
    counter: Callable[[str], int]
    missing: tuple[str, ...]
    facts: list[Fact] = field(default_factory=list)
    titles: dict[tuple[str, str], str] = field(default_factory=dict)
    blocked_titles: set[str] = field(default_factory=set)
    views: dict[str, View] = field(default_factory=dict)
    rendered: dict[str, list[Piece]] = field(default_factory=dict)
    """What is in, by target, but for targets of which nothing is."""
    warnings: list[str] = field(default_factory=list)

    def add_view(self, view: View) -> None:
        """Bring in what the profile sees of one target, in the order that it asks for."""
        self.views[view.target] = view
        self.warnings += view.warnings(self.profile.name)
        seen = set(view.categories)
        for section in reversed(view.document.sections):
            if section.category in seen:
                self.titles[view.target, section.category] = section.title
        rank = {category: index for index, category in enumerate(view.categories)}
        entries: Iterable[Entry] = view.entries
        if self.profile.prompt.order == "profile" and len(rank) > 1:
            entries = sorted(entries, key=lambda entry: rank[entry.category])
        first, target = len(self.facts), view.target
        note = None if self.profile.prompt.unverified == "plain" else UNVERIFIED.note
        changes_nothing = self.style != "xml"
        self.facts += [
            # Nearly every entry: its text as it stands, without tags.
            Fact(row, entry, target, entry.raw, UNVERIFIED, note, True)  # noqa: FBT003
            if changes_nothing and is_plain(entry.raw) and "\\" not in entry.raw
            else self._fact(row, entry, target)
            for row, entry in enumerate(entries, first)
        ]

    def _fact(self, row: int, entry: Entry, target: str) -> Fact:
        """An entry; left out if it has no text, or if the profile does not want it expired or too old as it is."""
        policy, body = self.profile.prompt, entry.body
        state = freshness(entry, self.profile, self.config, as_of=self.as_of)
        note = None if state.state == "unverified" and policy.unverified == "plain" else state.note
        unwanted = state.overdue and (policy.expired if state.state == "expired" else policy.stale) == "drop"
        fact = Fact(row, entry, target, body, state, note)
        fact.dated_out = "no text" if not body else state.note if unwanted else None
        return fact

    def settle(self) -> str:
        """The text within its budget, in which the scan finds nothing: what a finding touches is withheld before."""
        while True:
            self.fit_budget()
            pieces = self.pieces()
            text = text_of(pieces)
            if not text or not self._scan_text(pieces, text):
                return text

    def fit_budget(self) -> None:
        """Render, and leave out whole entries until each target, and then the whole, is within its budget."""
        # What an earlier call left out has its chance again: a long entry may have been withheld since.
        for fact in self.facts:
            fact.over_budget = None
        self.rendered = self._render()
        budget = self.profile.prompt.budget
        for name in (*TARGETS, "total"):
            if name in budget and self.size(name) > budget[name]:
                self._leave_out(name, budget[name])

    def _leave_out(self, name: str, budget: int) -> None:
        """Leave out as few as must be; halving finds how many in few renderings."""
        staying = [fact for fact in self._staying() if name in {fact.target, "total"}]
        # A long entry that is hostile takes no more than the line that says so.
        self._scan_entries([fact for fact in staying if self.counter(fact.body) > budget])

        def rank(fact: Fact) -> tuple[bool, int, int]:
            # What cannot fit whatever else leaves goes before all others: it would only take them along. Within one
            # kind the last in the prompt leaves first.
            fits = fact.blocked is not None or self.counter(fact.body) <= budget
            return fits, leaving_rank(fact.freshness, fact.entry.category), -fact.row

        leaving = sorted(staying, key=rank)

        def leave(count: int) -> bool:
            for place, fact in enumerate(leaving):
                fact.over_budget = (name, budget) if place < count else None
            self.rendered = self._render()
            return self.size(name) <= budget

        leave(bisect_left(range(len(leaving)), 1, key=leave))

    def size(self, name: str) -> int:
        """What the text of one target counts, in the ``hermes`` style without its frame, as Hermes counts; or all."""
        if name in TARGETS:
            return self.counter(budgeted_text(self.rendered[name], self.style)) if name in self.rendered else 0
        return self.counter(text_of(self.pieces()))

    def pieces(self) -> list[Piece]:
        """The rendered pieces of what is in."""
        joined: list[Piece] = []
        for pieces in self.rendered.values():
            joined += [(BETWEEN[self.style], None)] if joined else []
            joined += pieces
        return joined

    def _staying(self) -> list[Fact]:
        """What is not left out, as far as is decided."""
        return [fact for fact in self.facts if fact.dated_out is None and fact.over_budget is None]

    def _render(self) -> dict[str, list[Piece]]:
        grouped: dict[str, dict[str, list[Fact]]] = {target: {} for target in self.views}
        for fact in self._staying():
            grouped[fact.target].setdefault(fact.entry.category, []).append(fact)
        rendered: dict[str, list[Piece]] = {}
        for target, by_category in grouped.items():
            categories = tuple(
                StyledCategory(slug, self._title(target, slug), tuple(facts)) for slug, facts in by_category.items()
            )
            if pieces := render(Block(target, categories, self.profile.prompt.budget.get(target)), self.style):
                rendered[target] = pieces
        return rendered

    def _title(self, target: str, category: str) -> str | None:
        if category in self.blocked_titles:
            return None
        declared = self.config.taxonomy.categories.get(category) if self.config else None
        if declared is not None and declared.title:
            return declared.title
        if category == UNCATEGORIZED:
            return "Uncategorized"
        return self.titles.get((target, category), category)

    def _scan_text(self, pieces: Sequence[Piece], text: str) -> bool:
        """Withhold what the scan finds, each entry by itself and then across them; whether that changed anything."""
        # One look at the whole text finds where anything could start. An entry that the style shows otherwise than it
        # is stored could hide that: it is looked at by itself too.
        found, suspects = Candidates(text), self._staying()
        if found.places is not None:
            ends = _ends(pieces) if found.places else []
            held = {pieces[bisect_right(ends, place)][1] for place in found.places}
            suspects = [fact for fact in suspects if not (fact.is_plain or fact.is_as_stored) or fact.row in held]
        if self._scan_entries(suspects):
            return True
        return self._withhold(pieces, found.findings() if found else [])

    def _scan_entries(self, facts: Sequence[Fact]) -> bool:
        """Withhold each entry in which the scan finds something, and that was not looked at before; whether any was."""
        new = [fact for fact in facts if not fact.scanned]
        for fact, findings in zip(new, scan_each([fact.body for fact in new]), strict=True):
            fact.scanned = True
            if findings:
                fact.withhold(findings)
        return any(fact.blocked for fact in new)

    def _withhold(self, pieces: Sequence[Piece], findings: Sequence[Threat]) -> bool:
        """Withhold what the findings touch; whether that changed anything."""
        ends = _ends(pieces) if findings else []
        touching: dict[int | str, list[Threat]] = {}
        for finding in findings:
            last = min(bisect_left(ends, finding.end) + 1, len(pieces))
            for index in range(bisect_right(ends, finding.start), last):
                owner = pieces[index][1]
                if owner is not None:
                    touching.setdefault(owner, []).append(finding)
        titles = {owner for owner in touching if isinstance(owner, str)} - self.blocked_titles
        self.blocked_titles |= titles
        rows = [owner for owner in touching if isinstance(owner, int) and self.facts[owner].blocked is None]
        for row in rows:
            self.facts[row].withhold(touching[row])
        return bool(titles or rows)

    def manifest(self) -> Manifest:
        """What became of every entry."""
        return Manifest(
            profile=self.profile.name,
            as_of=self.as_of,
            style=self.style,
            rows=tuple(map(self._row, self.facts)),
            hidden={target: view.hidden for target, view in self.views.items()},
            hidden_uncategorized={target: view.hidden_uncategorized for target, view in self.views.items()},
            sizes={target: self.size(target) for target in self.views},
            budget=dict(self.profile.prompt.budget),
            warnings=tuple(self.warnings),
            missing=self.missing,
        )

    def _row(self, fact: Fact) -> Row:
        # An entry that is out was not scanned for the text, so it is here, where it would show.
        is_hidden = fact.blocked or (fact.out and scan(fact.body))
        return Row(
            target=fact.target,
            category=fact.entry.category,
            line=self.views[fact.target].document.line(fact.entry.start),
            id=fact.entry.id,
            state=fact.freshness.state,
            day=fact.freshness.day,
            status="out" if fact.out else "blocked" if fact.blocked else "in",
            reason=fact.out or fact.blocked,
            preview="" if is_hidden else fact.body.partition("\n")[0][:_PREVIEW],
            budget=None if fact.dated_out or fact.over_budget is None else fact.over_budget[0],
        )


def leaving_rank(state: Freshness, category: str) -> int:
    """Which entries leave first when a budget is too small: expired, too old, uncategorized, the others."""
    if state.state == "expired":
        return 0
    if state.overdue:
        return 1
    return 2 if category == UNCATEGORIZED else 3


def _ends(pieces: Sequence[Piece]) -> list[int]:
    return list(accumulate([len(text) for text, _ in pieces]))


class Row(NamedTuple):
    """What became of one entry of the profile's categories."""

    target: str
    category: str
    line: int
    id: str
    state: str
    """``fresh``, ``stale``, ``expired`` or ``unverified``."""
    day: date | None
    """The date that decides the state."""
    status: str
    """``in``, ``blocked`` (a line in its place says so) or ``out``."""
    reason: str | None
    """Why an entry is not in as it stands."""
    preview: str
    """The beginning of its body; empty for a blocked entry."""
    budget: str | None = None
    """The budget that keeps it out: ``user``, ``memory`` or ``total``."""

    @property
    def __json__(self) -> str:
        return "target category line id state date=day status reason preview"


class Manifest(NamedTuple):
    """What a prompt is made of, in its order. Entries of other categories appear as a number only."""

    profile: str
    as_of: date
    style: str
    rows: tuple[Row, ...]
    hidden: Mapping[str, int]
    """How many entries of each target the profile may not see."""
    hidden_uncategorized: Mapping[str, int]
    """How many of those have no category: ``include_uncategorized`` decides on them."""
    sizes: Mapping[str, int]
    """Characters (or what the counter counts) that each target takes in the text."""
    budget: Mapping[str, int]
    warnings: tuple[str, ...] = ()
    """What to know of the files, such as conflict markers of git in one of them."""
    missing: tuple[str, ...] = ()
    """The targets that have no file yet."""

    @property
    def __json__(self) -> str:
        return "profile as_of style entries=rows hidden hidden_uncategorized sizes budget warnings missing"
