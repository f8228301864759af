"""What a write did, or would do: the one answer that every adapter shows in its way.

With it goes how long the file is, and what could leave when it is too long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem import clock
from catmem.config.config import Config
from catmem.config.profile import Profile
from catmem.errors import OverBudgetError
from catmem.model.document import Document, Entry
from catmem.staleness.freshness import Freshness, advice, freshness
from catmem.text import size_of
from catmem.workspace.seen_entry import preview

if TYPE_CHECKING:
    from catmem.store.contract import Snapshot
    from catmem.workspace.root import Root
    from catmem.writing.policy import WritePolicy


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did, or would do.

    ``before`` and ``after`` are whole texts, hidden categories included: they are for people, and ``digest`` is for
    the next write; its JSON leaves it out for an actor who is ``bounded``. ``entries`` were made or touched,
    as they are in ``after``; a removed one is as it was. After a dry run ``revision`` is that of what is there
    (``None``: not recorded yet), and ``digest`` that of what would be. ``notes`` say what was there already and what
    else there is to know, ``warnings`` what will not be in a prompt, or that git's conflict markers are. ``adopted``
    is the revision as which the store took in first what others had written to the file; the last of the notes says
    so. ``repeated``: this is the first answer to an ``op_id`` again, and what is there now may be newer. ``branch``:
    it was made on an older revision (``before``), and is kept beside the head, or would be; the last of the notes
    says so.
    """

    entity: str
    revision: str | None
    digest: str
    changed: bool
    before: str = field(repr=False)
    after: str = field(repr=False)
    entries: tuple[Entry, ...]
    usage: FileUsage
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    adopted: str | None = None
    bounded: bool = False
    repeated: bool = False
    branch: bool = False
    waiting: str | None = None

    def __json__(self) -> dict[str, Any]:
        """The result as JSON-ready data, without the whole texts."""
        return {
            "entity": self.entity,
            "revision": self.revision,
            "digest": None if self.bounded else self.digest,
            "changed": self.changed,
            "branch": self.branch,
            "waiting": self.waiting,
            "entries": self.entries,
            "usage": self.usage,
            "notes": self.notes,
            "warnings": self.warnings,
        }


def advice_on(workspace: Root, written: Written, actor: str) -> dict[str, str]:
    """``advice`` on the entries that a write shows the profile ``actor``."""
    profile, config, today = workspace.profile(actor), workspace.config, clock.today()
    return advice(freshness(entry, profile, config, as_of=today).state for entry in written.entries)


# --- notes ---------------------------------------------------------------------------------------------------------


def on_title(before: Document, after: Document) -> str | None:
    """What to know of a flat file whose leading heading, an entry so far, is its title since it has a section."""
    if before.scan.headers or before.title is not None or after.title is None or not before.entries:
        return None
    return (
        f"the heading at the head of the file ({after.title[:60]!r}) is its title now, and no entry: if it is a fact, "
        "add it without the #"
    )


def on_unshared(entity: str) -> str:
    """What to know of a file with sections that stock Hermes Agent edits, and that is not in the layout for that."""
    return (
        f"{entity} is not in the shared layout, so Hermes Agent's own tool may take neighbours and headers along with "
        "an entry; mend it, where its limit leaves room: catmem fmt --layout shared"
    )


def on_branch(entity: str, revision: str | None) -> str:
    """What to know of a write that was made on an older revision, and is kept as the branch ``revision``."""
    # It says nothing of the head: a profile may not see all of that.
    if revision is None or revision.isdecimal():
        return "it was made on an older revision, so it would be kept as a branch beside what is there now"
    return (
        f"it was made on an older revision, so it is kept as branch {revision} beside what is there now, and is not in "
        f"the file until it is merged (catmem merge {entity} {revision})"
    )


def on_adoption(revision: str) -> str:
    """What to know of a write before which the store took in what others had written, as that revision."""
    if revision == "1":
        return "what the file held before is kept as revision 1 of its history"
    return f"another program changed the file before; that is revision {revision} of its history"


def notes_on(made: Snapshot, notes: Iterable[str] = ()) -> tuple[str, ...]:
    """The notes of a write, between those on what the store did to the file before it."""
    stopped = "a stop of the machine may have cut the file, so its last text was put back as revision"
    restored = (f"{stopped} {made.restored}; if you cut it yourself, do so again",) if made.restored else ()
    return (*restored, *notes, *((on_adoption(made.adopted),) if made.adopted else ()))


# --- room ----------------------------------------------------------------------------------------------------------

_NAMED = 20
_FIRST_TO_GO = ("expired", "stale", "unverified", "fresh")


class FileUsage(NamedTuple):
    """Characters (code points) of a file, and how many it may have; ``None`` is no limit."""

    size: int
    limit: int | None

    def __str__(self) -> str:
        """``1,074/1,375 characters``."""
        return f"{self.size:,}{'' if self.limit is None else f'/{self.limit:,}'} characters"


def over_budget(entity: str, before: int, size: int, limit: int, named: Sequence[dict[str, Any]]) -> OverBudgetError:
    """The refusal of a write after which a file would be over its limit; ``named`` are entries that could go."""
    return OverBudgetError(
        f"{entity} would have {size:,} characters, {size - limit:,} over its limit of {limit:,}; it has {before:,} now",
        size=size,
        limit=limit,
        could_go=named,
        hint="Nothing was written. The limit stands in limits of the profile, else of catmem.yaml: a person can raise "
        "it. Shorten or remove other entries first, or do both in one batch: the limit is checked on the result.",
    )


def refuse_over_budget(old: Document, new: Document, policy: WritePolicy, is_made: Callable[[Entry], bool]) -> None:
    """Raise ``OverBudgetError`` for a text over the limit of the file that is not shorter than the old one."""
    before, size, limit = size_of(old.text), size_of(new.text), policy.limit
    # What shortens a file that is over its limit already is a step to the better.
    if limit is None or size <= max(limit, before):
        return
    # A person who looks at a fact or moves it brings no words: the day in its tags, or a heading, must not make that
    # fail. Where Hermes Agent edits the file too, it has to fit there.
    bodies, kept = [each.body for each in new.entries], [each.body for each in old.entries]
    moved = not policy.hermes_edits and sorted(bodies) == sorted(kept)
    if not policy.to_agent and (moved or bodies == kept):
        return
    there = [each for each in policy.visible_entries(new) if policy.may_write(each.category) and not is_made(each)]
    own = None
    if policy.actor is not None:
        writers = policy.history().writers
        own = {each.id for each in there if writers(each.body) == {policy.actor.name}}
    named = could_go(there, policy.owner, policy.config, policy.today, own)
    error = over_budget(policy.entity, before, size, limit, named)
    longest = max((size_of(each.raw) for each in new.entries if is_made(each)), default=0)
    if longest > limit:  # no other entry could make room for it
        way = f"This entry alone would have {longest:,} characters: shorten it, or split it and keep a part elsewhere."
        error.hint = f"Nothing was written. The limit stands in limits of the profile, else of catmem.yaml. {way}"
        error.could_go = ()
    raise error


def could_go(
    entries: Sequence[Entry], owner: Profile, config: Config, as_of: date, own: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """The entries that might leave, as JSON-ready data: expired, stale, unverified, then the oldest; at most 20."""

    # Before all others come those of the ids `own`, which the profile wrote that asks; `None` for a person.
    def rank(found: tuple[Freshness, Entry]) -> tuple[bool, int, date]:
        now, entry = found
        return entry.id not in (own or ()), _FIRST_TO_GO.index(now.state), now.day or date.min

    rated = sorted(((freshness(entry, owner, config, as_of=as_of), entry) for entry in entries), key=rank)
    return [
        {
            "id": entry.id,
            "category": entry.category,
            "state": now.state,
            "date": now.day.isoformat() if now.day else None,
            "text": preview(entry, to_agent=own is not None),
            "size": len(entry.raw),
        }
        for now, entry in rated[:_NAMED]
    ]
