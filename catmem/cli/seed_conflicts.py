"""The conflicts of a seed: shown from where the sides differ, and settled by a person, by options or one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import click

from catmem.cli.dialogue import ConflictDialogue
from catmem.cli.output import columns, emit, printable
from catmem.errors import UnknownNameError
from catmem.seeding.slices import conflict_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from catmem.model.version import Conflict, Reason, Version
    from catmem.seeding.plan import SeedPlan
    from catmem.seeding.slices import Choice, FilePlan

Settlements: TypeAlias = tuple["Choice | None", "Mapping[str, Choice]"]
"""What is said of all conflicts, and of some by the beginning of their ids."""

_WIDTH = 60
_BEFORE = 20
"""Characters of what both sides say that stand before the place where they differ."""
_HELP = """\
  t        target: its entry stays for good
  s        source: its entry is taken
  b        both: the two stand one after the other (of tags, categories and titles: the target's)
  e WORDS  edit: the entry says WORDS instead of either
  l        leave it open for now
  q        quit: this conflict and all later ones stay open, those before it are settled"""
_CHOICES: dict[str, Choice] = {"t": "target", "s": "source", "b": "both"}


def settlements(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> Settlements:
    """Read the values of --resolve. Raises ``BadParameter``."""
    for_all: Choice | None = None
    by_id: dict[str, Choice] = {}
    for value in values:
        beginning, found, word = value.rpartition("=")
        side = next((each for each in _CHOICES.values() if each == word), None)
        if side is None or (found and not beginning):
            raise click.BadParameter(f"{value!r} is none of target, source, both, ID=target, ID=source and ID=both")
        if beginning in by_id or (not found and for_all not in {None, side}):
            raise click.BadParameter("says two things of one conflict")
        if found:
            by_id[beginning] = side
        else:
            for_all = side
    return for_all, by_id


def settled(how: SeedDialogue | Settlements, planned: Callable[..., SeedPlan]) -> SeedPlan:
    """The plan with the conflicts settled of which a person says what becomes of them; the others are open in it.

    Raises ``UnknownNameError`` (``unknown_conflict``) for an id that no open conflict has.
    """
    if not isinstance(how, SeedDialogue) and not how[1]:
        return planned(resolve=how[0])
    plan = planned()
    found = {conflict_id(each.target, conflict): (each, conflict) for each in plan.files for conflict in each.conflicts}
    chosen: dict[str, Choice | Version] = {}
    if isinstance(how, SeedDialogue):
        answers = {name: how.ask(name, *conflict) for name, conflict in found.items()}
        chosen = {name: answer for name, answer in answers.items() if answer is not None}
    else:
        for_all, by_id = how
        chosen = {} if for_all is None else dict.fromkeys(found, for_all)
        for beginning, side in by_id.items():
            named = [name for name in found if name.startswith(beginning)]
            if len(named) != 1:
                there = ", ".join(named or found)
                raise UnknownNameError(
                    f"{beginning!r} fits the ids of {len(named) or 'no'} open conflicts",
                    code="unknown_conflict",
                    hint=f"Nothing was seeded. {f'Name one of {there}.' if there else 'No conflict is open.'}",
                )
            chosen[named[0]] = side
    # A dialogue has asked about each secret in words of its own.
    return planned(resolve=chosen, allow_secret=isinstance(how, SeedDialogue)) if chosen else plan


class SeedDialogue(ConflictDialogue):
    """Shows one conflict after the other, and asks what becomes of it."""

    keys = "tsblq?"
    letters = "t, s, b, e WORDS, l, q or ?"
    explained = _HELP
    refused = "Nothing was seeded from this source."
    _is_over = False

    def ask(self, name: str, plan: FilePlan, conflict: Conflict) -> Choice | Version | None:
        """The answer to one conflict, ``None`` to leave it. Raises ``ConfigError`` (``bad_answer``) off a terminal."""
        if self._is_over:
            return None
        emit(_conflict_head(name, plan, conflict))
        for side, text in _sides(conflict):
            first, *more = (_GONE if text is None else text).split("\n")
            emit(printable("\n".join([f"     {side:<6}  {first}", *(f"{'':<13}{line}" for line in more), ""])))
        while True:
            line = self.read()
            self._is_over = line is None or line.letter == "q"
            if line is None or line.letter in {"q", "l"}:
                return None
            if line.letter in _CHOICES and not line.rest:
                return _CHOICES[line.letter]
            if line.letter != "e" or conflict.reason == "title":
                self.explain(line)
                continue
            own = self.own_words(line, conflict)
            if own is not None:
                return own


def conflict_lines(plan: FilePlan) -> str:
    """The conflicts of one file, with what both sides say and said, from where they differ; empty if none is open."""
    said = ""
    for conflict in plan.conflicts:
        said += _conflict_head(conflict_id(plan.target, conflict), plan, conflict)
        names, texts = zip(*_sides(conflict), strict=True)
        common = _common(texts)
        # What both sides say otherwise than before in the same words is no difference between them.
        apart = common if None in texts[1:] else _common(texts[1:])
        begins = (common, apart, apart)
        shown = [_GONE if text is None else _excerpt(text, at) for text, at in zip(texts, begins, strict=True)]
        said += columns([("   ", *row) for row in zip(names, shown, strict=True)])
    return said


def _conflict_head(name: str, plan: FilePlan, conflict: Conflict) -> str:
    either = conflict.ours or conflict.theirs
    where = f" in {either.category}" if either is not None and either.category else ""
    return printable(f"  {plan.target}: conflict {name}{where}: {_REASONS[conflict.reason]}\n")


def _sides(conflict: Conflict) -> list[tuple[str, str | None]]:
    """The whole texts of what both come from, of the target and of the source."""
    sides = (("base", conflict.base), ("target", conflict.ours), ("source", conflict.theirs))
    return [(name, None if side is None else _text(side, conflict.reason)) for name, side in sides]


def _common(texts: Sequence[str | None]) -> int:
    """How many characters the texts that are there have in common at their beginning; 0 of a single one."""
    there = [text for text in texts if text is not None]
    if len(there) < 2:  # noqa: PLR2004 - nothing to differ from
        return 0
    found = (at for at, letters in enumerate(zip(*there, strict=False)) if len(set(letters)) > 1)
    return next(found, min(map(len, there)))


def _excerpt(text: str, begin: int) -> str:
    """A text as one line of about ``_WIDTH`` characters, from a word before ``begin`` where that would not be in it."""
    first = 0 if begin < _WIDTH - _BEFORE else max(text.rfind(" ", 0, begin - _BEFORE) + 1, begin - 2 * _BEFORE)
    shown = printable(text[first : first + _WIDTH])
    return f"{'…' if first else ''}{shown}{'…' if first + _WIDTH < len(text) else ''}"


_GONE = "(not there)"
_REASONS = {
    "body": "both sides reworded it",
    "removed": "one side changed what the other removed",
    "tags": "both sides changed one tag",
    "category": "it stands in two categories",
    "title": "two titles",
}


def _text(side: Version, reason: Reason) -> str:
    text = side.text if reason == "tags" else side.body
    return f"{side.category}: {text}" if reason == "category" else text


def next_steps(plans: Iterable[FilePlan]) -> list[str]:
    """How to settle the conflicts that are open after a sync, a line for each source."""
    names: dict[str, dict[str, None]] = {}
    for plan in plans:
        if plan.conflicts:
            source, target = (each.partition("/")[0] for each in (plan.source, plan.target))
            names.setdefault(source, {})[target] = None
    return [
        f"Conflicts are left to you: 'catmem hermes sync {source} {' '.join(targets)} --interactive' asks who wins; "
        "--resolve target keeps what is there for good, --resolve source takes the source's."
        for source, targets in names.items()
    ]
