"""What could be tidier in a root on disk: its files read, and all that is suggested for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.config.profile import refuse_no_root
from catmem.errors import CatmemError
from catmem.plugins.sorting.proposals import threats_of
from catmem.plugins.sorting.suggestions import TidyEntry, suggestions
from catmem.threats import scan
from catmem.workspace.everywhere import list_everywhere
from catmem.workspace.root import load_each
from catmem.workspace.seen_entry import preview
from catmem.writing.write import write_operations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.plugins.sorting.suggestions import Suggestion
    from catmem.workspace.root import Root


class TidyList(NamedTuple):
    """What is suggested, how many entries have a secret or hostile text and are left out, and what cannot be read.

    ``digests`` are those of the files that it was made of, by entity.
    """

    suggestions: list[Suggestion]
    private: int
    problems: list[CatmemError]
    digests: Mapping[str, str]


def list_tidy(workspace: Root, name: str | None = None) -> TidyList:
    """What could be tidier in the files of the profile ``name``, else of all. Nothing is written.

    All files are read in any case, since a copy is looked at where it comes from. Raises ``ConfigError``,
    ``UnknownNameError``, and ``UnreadableError`` if the folder of profiles cannot be listed.
    """
    refuse_no_root(workspace.config)
    if name is not None:
        workspace.profile(name)
    seen, problems, digests = list_everywhere(workspace)
    said = {(each.entity, each.entry.category, each.entry.body) for each in seen}
    sources = {profile.name: profile.seed_from for profile in load_each(workspace)[0]}
    entries = []
    for each in seen:
        owner, _, target = each.entity.partition("/")
        copied = (f"{sources[owner]}/{target}", each.entry.category, each.entry.body) in said
        if name in {None, owner}:
            entries.append(TidyEntry(each.entity, each.line, each.entry, copied=copied))
    threats = threats_of([each.entry for each in entries])
    harmless = [each for each, found in zip(entries, threats, strict=True) if not found]
    return TidyList(suggestions(harmless), len(entries) - len(harmless), problems, digests)


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

    One that was rejected, or waits already, is not proposed again: so it may run every night.
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
    kept, gone = found.entries
    if (kept.entity, kept.category) != (gone.entity, gone.category):
        return f"tidy, {found.kind}: another entry of {kept.owner} is to stay"
    why = f'tidy, {found.kind}: {found.reason}; what stays: "{preview(kept.entry, to_agent=False)}"'
    return f"tidy, {found.kind}" if scan(why) else why
