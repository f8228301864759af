"""The conflicts of a seed: shown from where the sides differ, and settled by a person, by options or one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import click

from catmem.cli.dialogue import ConflictDialogue
from catmem.cli.output import columns, emit, printable, show_written
from catmem.errors import UnknownNameError
from catmem.model.version import Version
from catmem.seeding.slices import conflict_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from catmem.model.version import Conflict, Reason
    from catmem.seeding.plan import SeedPlan
    from catmem.seeding.slices import Choice, FilePlan
    from catmem.workspace.root import Root
    from catmem.writing.operation import Operation
    from catmem.writing.written import How

Settlements: TypeAlias = tuple["Choice | None", "Mapping[str, Choice]"]
"""What is said of all conflicts, and of some by the beginning of their ids."""

_WIDTH = 60
_BEFORE = 20
"""Characters of what both sides say that stand before the place where they differ."""
_HELP = """\
  t        target: its entry stays for good
  s        source: its entry is taken
  b        both: the two stand one after the other (of tags, categories and titles: the target's)
  e WORDS  edit: both sides say WORDS instead
  l        leave it open for now
  q        quit: this conflict and all later ones stay open, those before it are settled"""
_CHOICES: dict[str, Choice] = {"t": "target", "s": "source", "b": "both"}


def settlements(values: Sequence[str]) -> Settlements:
    """Read the values of --resolve. Raises ``BadParameter``."""
    for_all: Choice | None = None
    by_id: dict[str, Choice] = {}
    for value in values:
        beginning, found, word = value.rpartition("=")
        side = next((each for each in _CHOICES.values() if each == word), None)
        if side is None or (found and not beginning):
            said = f"{value!r} is none of target, source, both, ID=target, ID=source and ID=both"
            raise click.BadParameter(said, param_hint="'--resolve'")
        if beginning in by_id or (not found and for_all not in {None, side}):
            raise click.BadParameter("says two things of one conflict", param_hint="'--resolve'")
        if found:
            by_id[beginning] = side
        else:
            for_all = side
    return for_all, by_id


def settled(how: SeedDialogue | Settlements, planned: Callable[..., SeedPlan]) -> SeedPlan:
    """The plan with the conflicts settled of which a person says what becomes of them; the others are open in it.

    Raises ``UnknownNameError`` (``unknown_conflict``) for an id that no open conflict has.
    """
    if isinstance(how, SeedDialogue):
        return how.plan(planned)
    for_all, by_id = how
    if not by_id:
        return planned(resolve=for_all)
    found = [name for name, _, _ in _conflicts(planned())]
    chosen: dict[str, Choice] = {} if for_all is None else dict.fromkeys(found, for_all)
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
    return planned(resolve=chosen)


def _conflicts(plan: SeedPlan) -> list[tuple[str, FilePlan, Conflict]]:
    """The open conflicts of a plan by their ids."""
    return [(conflict_id(each.target, found), each, found) for each in plan.files for found in each.conflicts]


class SeedDialogue(ConflictDialogue):
    """Shows one conflict after the other, and asks what becomes of it. Own words go to both sides."""

    keys = "tsblq?"
    letters = "t, s, b, e WORDS, l, q or ?"
    explained = _HELP
    refused = "Nothing was seeded from this source."
    _is_over = False

    def __init__(self, workspace: Root, how: How) -> None:
        """Own words are written to the sources in ``workspace``."""
        super().__init__(workspace.config, how)
        self._workspace = workspace

    def plan(self, planned: Callable[..., SeedPlan]) -> SeedPlan:
        """The plan by the answers. Own words are written to the source, and the target takes them from there.

        Raises what a write to the source raises; nothing is seeded then.
        """
        plan = planned()
        answers: dict[str, Choice | Version | None] = {}
        own: dict[str, Version] = {}
        operations: dict[str, list[Operation]] = {}
        for name, file, found in _conflicts(plan):
            answer = self.ask(name, file, found)
            if isinstance(answer, Version):
                entry = _side(file.source, found, ours=None)
                if entry not in own:
                    operations.setdefault(file.source, []).extend(_in_source(found, answer))
                # The source holds one wording: where other words were given for another target, that is asked again.
                answer = answer if own.setdefault(entry, answer).body == answer.body else None
            answers[_side(file.target, found, theirs=None)] = answer
        for source, each in operations.items():
            if not self._write(source, each, plan.read[source].digest):
                return plan
        plan = planned() if operations else plan
        chosen: dict[str, Choice] = {}
        for name, file, found in _conflicts(plan):
            answer = answers.get(_side(file.target, found, theirs=None))
            if answer is not None:
                chosen[name] = "source" if isinstance(answer, Version) else answer
        return planned(resolve=chosen) if chosen else plan

    def _write(self, source: str, operations: Sequence[Operation], digest: str) -> bool:
        """Write own words to a file of the source; false if they wait for a person."""
        from catmem.writing.write import write_operations

        name, _, target = source.partition("/")
        written = write_operations(
            self._workspace,
            name,
            operations,
            target=target,
            expected=digest,
            actor=self.how["actor"],
            allow_secret=self.how["allow_secret"],
        )
        show_written(written, "settled in", self.how)
        return written.waiting is None

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


def _side(entity: str, conflict: Conflict, **other: None) -> str:
    """An id of a conflict that names one of its sides alone."""
    return conflict_id(entity, replace(conflict, reason="body", **other))


def _in_source(conflict: Conflict, own: Version) -> list[Operation]:
    """What makes the entry of the source say ``own``; one that the source removed comes back."""
    from catmem.writing.operation import Operation

    theirs = conflict.theirs
    if theirs is None:
        return [Operation("add", content=own.body, category=own.category, tags={"created": None, **own.tags})]
    tags = {**dict.fromkeys(theirs.tags), **own.tags}
    place = theirs.category
    done = [Operation("replace", content=own.body, old_text=theirs.id, category=place, tags=tags, confirm=True)]
    moved = Operation("move", old_text=own.body, category=place, to_category=own.category)
    return done if place == own.category else [*done, moved]


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
