"""What could be tidier in a root on disk: its files read, and all that is suggested for them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem import clock
from catmem.config.profile import ORCHESTRATOR_TIER, limit_of, refuse_no_root
from catmem.errors import CatmemError
from catmem.threats import BuiltinScanner, scan, scan_each
from catmem.tidying.suggestions import TidyEntry, suggestions, untouched
from catmem.workspace.everywhere import list_everywhere
from catmem.workspace.root import load_each
from catmem.workspace.seen_entry import preview
from catmem.writing.terms import MOST_REASON
from catmem.writing.write import write_operations

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import date

    from catmem.config.config import Config
    from catmem.config.profile import Profile
    from catmem.tidying.suggestions import Kind, Suggestion
    from catmem.workspace.root import Root
    from catmem.workspace.seen_entry import SeenEntry


class TidyList(NamedTuple):
    """What is suggested, how many entries have a secret or hostile text and are left out, and what cannot be read.

    ``entries`` are those of the profile that was asked about which no suggestion would change.
    """

    suggestions: list[Suggestion]
    entries: list[TidyEntry]
    private: int
    problems: list[CatmemError]


def list_tidy(
    workspace: Root, name: str | None = None, *, kinds: Collection[Kind] = (), as_of: date | None = None
) -> TidyList:
    """What could be tidier in the files of the profile ``name``, else of all. Nothing is written.

    All files are read in any case: what all specialists hold shows in the whole root.
    Raises ``ConfigError``, ``UnknownNameError``, and ``UnreadableError`` if the folder of profiles cannot be listed.
    """
    refuse_no_root(workspace.config)
    if name is not None:
        workspace.profile(name)
    profiles = load_each(workspace)[0]
    seen, problems = list_everywhere(workspace)
    entries = _entries(seen, profiles)
    threats = scan_each(BuiltinScanner(), [each.entry.text for each in entries])
    harmless = [each for each, found in zip(entries, threats, strict=True) if not found]
    over, seeded = _over(seen, profiles, workspace.config), _seeded(profiles)
    found = suggestions(harmless, as_of or clock.today(), seeded, over)
    asked = [each for each in found if name in {None, each.entity.partition("/")[0]}]
    private = sum(name in {None, each.owner} for each in {*entries} - {*harmless})
    left = untouched([each for each in harmless if name in {None, each.owner}], asked)
    return TidyList([each for each in asked if not kinds or each.kind in kinds], left, private, problems)


def _entries(seen: Sequence[SeenEntry], profiles: Sequence[Profile]) -> list[TidyEntry]:
    """The entries, of which some are copies: the profile that seeds theirs says the same in the same category."""
    said = {(each.entity, each.entry.category, each.entry.body) for each in seen}
    sources = {profile.name: profile.seed_from for profile in profiles}
    found = []
    for each in seen:
        source = f"{sources[each.entity.partition('/')[0]]}/{each.target}"
        copied = (source, each.entry.category, each.entry.body) in said
        found.append(TidyEntry(each.entity, each.line, each.entry, copied=copied))
    return found


def _seeded(profiles: Sequence[Profile]) -> dict[str, list[str]]:
    """The specialists of each orchestrator: those that it seeds; if there is one alone, those without a source too."""
    sources = [each.name for each in profiles if each.tier == ORCHESTRATOR_TIER]
    only = sources[0] if len(sources) == 1 else None
    others = [each for each in profiles if each.tier != ORCHESTRATOR_TIER]
    return {source: [each.name for each in others if (each.seed_from or only) == source] for source in sources}


def _over(seen: Sequence[SeenEntry], profiles: Sequence[Profile], config: Config) -> dict[str, int]:
    """By how many characters files are over their limit, or over the budget of their part of a prompt."""
    owners = {profile.name: profile for profile in profiles}
    found: Counter[str] = Counter()
    for each in seen:
        owner = owners[each.entity.partition("/")[0]]
        bounds = (limit_of(owner, each.target, config), owner.prompt.budget.get(each.target))
        least = min((bound for bound in bounds if bound is not None), default=each.entry.end)
        found[each.entity] = max(found[each.entity], each.entry.end - least)
    return +found


class ProposedTidying(NamedTuple):
    """A suggestion and the id under which it waits for a person; ``None`` where it was refused, with the ``error``."""

    suggestion: Suggestion
    proposal: str | None
    error: CatmemError | None = None

    def to_dict(self) -> dict[str, Any]:
        """The suggestion with its fate, as JSON-ready data."""
        error = None if self.error is None else self.error.to_dict()
        return {**self.suggestion.to_dict(), "proposal": self.proposal, "error": error}


def propose_tidy(workspace: Root, found: Sequence[Suggestion]) -> list[ProposedTidying]:
    """Have every suggestion that has operations wait as a proposal; no file changes.

    One that was rejected is not proposed again, and one that waits already is not either: so it may run every night.
    """
    proposed = []
    for each in found:
        owner, _, target = each.entity.partition("/")
        try:
            reason = _reason(each)
            written = write_operations(workspace, owner, each.operations, target=target, reason=reason, proposes=True)
            proposed.append(ProposedTidying(each, written.waiting))
        except CatmemError as error:
            proposed.append(ProposedTidying(each, None, error))
    return proposed


def _reason(found: Suggestion) -> str:
    """Why, for who sees the entry alone: with words of the one that stays, if that has no other readers."""
    kept, gone, why = found.entries[0], found.entries[-1], f"tidy, {found.kind}: {found.reason}"
    if found.kind in {"duplicate", "contradiction"}:
        if (kept.entity, kept.category) != (gone.entity, gone.category):
            return f"tidy, {found.kind}: another entry of {kept.owner} says otherwise, and was verified later"
        lost = f"; words that would go: {', '.join(found.lost)}" if found.lost else ""
        why = f'{why}; what stays: "{preview(kept.entry, to_agent=False)}"{lost}'[:MOST_REASON]
    return f"tidy, {found.kind}" if scan(why) else why
