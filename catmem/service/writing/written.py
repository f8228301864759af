"""What a write did, or would do: the one answer that every adapter shows in its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from catmem.names import FILE_NAMES
from catmem.policy.access import hidden_by_sections
from catmem.policy.schema import known_tags, meant_tag
from catmem.policy.staleness import expired_on, read_date
from catmem.service.seen_entry import preview
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catmem.model.document import Document, Entry, TagValue
    from catmem.model.version import Version
    from catmem.policy.manifest import Row
    from catmem.service.writing.budget import Usage
    from catmem.service.writing.terms import Terms
    from catmem.store.contract import OnDrift, OnStale, Snapshot

_FILES = {**FILE_NAMES, "total": "both files together"}
_MOST = 10
"""Entries that an answer names at most."""


class How(TypedDict, total=False):
    """How a write is made; each may be left out.

    ``expected`` is what the caller saw last, a revision (``7`` or ``"7"``) or a ``sha256:…`` digest: if that is no
    longer what is there, the write is refused. ``actor`` is the profile that acts, ``None`` a person. ``dry_run``
    writes nothing. ``on_drift`` is what to do when somebody else changed the file (``adopt``, ``refuse``, ``merge``).
    ``on_stale`` is what becomes of a write that was made on an older revision: refused (``refuse``), or kept beside the
    head as a ``branch``. ``op_id`` makes a retry safe: the same operations under the same one are made once.
    """

    expected: str | int | None
    actor: str | None
    dry_run: bool
    on_drift: OnDrift | None
    on_stale: OnStale | None
    op_id: str | None


@dataclass(frozen=True, slots=True)
class Crowded:
    """Entries that a write has a prompt leave out for its budget.

    ``budget`` is ``user``, ``memory`` or ``total``, and ``limit`` its characters; ``size`` is what the prompt would
    take of them with nothing left out. ``entries`` are those that the write leaves out anew, ``left_out`` counts all
    that budgets keep out. ``written``: what was just written is among them.
    """

    profile: str
    budget: str
    limit: int
    size: int
    entries: tuple[Row, ...]
    left_out: int
    written: bool

    def to_dict(self) -> dict[str, Any]:
        """The whole as JSON-ready data. No more than the prompt itself tells: entries that its profile sees."""
        return {
            "profile": self.profile,
            "budget": self.budget,
            "limit": self.limit,
            "size": self.size,
            "over_by": self.size - self.limit,
            "left_out": self.left_out,
            "written": self.written,
            "entries": [
                {"target": row.target, "category": row.category, "id": row.id, "preview": row.preview}
                for row in self.entries[:_MOST]
            ],
        }

    def over(self) -> str:
        """How far the prompt is over its budget, and how many entries that costs: the end of a sentence."""
        over = f"{self.size - self.limit:,} characters over the budget of {self.limit:,} for {_FILES[self.budget]}"
        stay = "stays" if self.left_out == 1 else "stay"
        entries = f"{self.left_out:,} {'entry' if self.left_out == 1 else 'entries'}"
        too = ", what was written too" if self.written and self.left_out > 1 else ""
        return f"{over}; {entries} {stay} out{too}."


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did, or would do.

    ``before`` and ``after`` are whole texts, hidden categories included: they are for people, and ``digest`` is for
    whoever writes next; ``to_dict`` leaves it out for an actor who is ``bounded``. ``entries`` were made or touched,
    as they are in ``after``; a removed one is as it was. After a dry run ``revision`` is that of what is there
    (``None``: not recorded yet), and ``digest`` that of what would be. ``notes`` say what was there already and what
    else there is to know, ``warnings`` what will not be in a prompt, or that git's conflict markers are. ``adopted``
    is the revision as which the store took in first what others had written to the file; the last of the notes says
    so. ``repeated``: this is the first answer to an ``op_id`` again, and what is there now may be newer. ``branch``:
    it was made on an older revision (``before``), and is kept beside the head, or would be; the last of the notes
    says so. ``crowded``: entries that the prompt of the profile has to leave out for it.
    """

    entity: str
    revision: str | None
    digest: str
    changed: bool
    before: str
    after: str
    entries: tuple[Entry, ...]
    usage: Usage
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    adopted: str | None = None
    bounded: bool = False
    repeated: bool = False
    branch: bool = False
    crowded: Crowded | None = None

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data, without the whole texts."""
        return {
            "entity": self.entity,
            "revision": self.revision,
            "digest": None if self.bounded else self.digest,
            "changed": self.changed,
            "branch": self.branch,
            "entries": [
                {"category": entry.category, "body": entry.body, "tags": entry.tags, "id": entry.id}
                for entry in self.entries
            ],
            "usage": {"size": self.usage.size, "limit": self.usage.limit},
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "prompt": None if self.crowded is None else self.crowded.to_dict(),
        }


FIRST_REVISION = "1"
_SHOWN = 60
"""Characters of an entry that a remark on a merge shows."""
_NAME_SHOWN = 80
"""Characters of a tag's name that a note shows."""


def on_same_text(old: Mapping[str, TagValue], given: Mapping[str, TagValue]) -> str:
    """Why a text was not added again, to an entry with the tags ``old``; tags that were ``given`` need another verb."""
    said = "is already there, so no second copy was made"
    if any(old.get(key) != value for key, value in given.items()):
        said += "; to give it these tags, use replace OLD --tag KEY=VALUE"
    return said


def on_tags(given: Iterable[str], terms: Terms) -> list[str]:
    """What to know of the names of tags that are ``given``: of those that are nearly a known one, and so do nothing."""
    known = known_tags(terms.config.tag_schemas)
    meant = {name: meant_tag(name, known) for name in given if name not in known}
    return [
        f"the tag {name[:_NAME_SHOWN]} is not declared and has no effect; {near} may be meant"
        for name, near in meant.items()
        if near is not None
    ]


def on_verification(tags: Mapping[str, TagValue]) -> str | None:
    """What to know of an entry whose words were changed, where its tags say that it was verified."""
    day = read_date(tags.get("verified_date"))
    return None if day is None else f"was changed, and its last verification ({day}) is older than these words"


def on_alike(entry: Entry, count: int) -> str:
    """What to know of an entry that was meant, where ``count`` entries say the same."""
    return f"is in {entry.category} {count} times, word for word; the first of them was meant"


def on_first_section(before: Document, after: Document, terms: Terms) -> str | None:
    """What to know of a flat file's first section, where its owner no longer sees the entries before it."""
    if not hidden_by_sections(before, after, terms.target, terms.owner, terms.config.taxonomy):
        return None
    return (
        "the entries before the first section have no category now, and are not shown to profiles without "
        "include_uncategorized: true; move them to a category"
    )


def on_title(before: Document, after: Document) -> str | None:
    """What to know of a flat file whose leading heading, an entry so far, is its title since it has a section."""
    if before.scan.headers or not before.entries or before.title is not None or after.title is None:
        return None
    return (
        f"the heading at the head of the file ({after.title[:60]!r}) is its title now, and no entry: if it is a fact, "
        "add it without the #"
    )


def on_double(category: str) -> str:
    """What to know of an entry whose words its category had already."""
    return f"is in {category} twice now"


def on_nearly_same(like: Entry, *, to_agent: bool) -> str:
    """What to know of an addition that looks like one fact with an entry that is there."""
    return f"is nearly what {preview(like, to_agent=to_agent)!r} says; if it is the same fact, replace that one"


def on_two_wordings(double: tuple[Version, Version]) -> str:
    """What to know of two entries that came from the two sides of a merge, and look like one fact."""
    ours, theirs = (each.body.split("\n", 1)[0][:_SHOWN] for each in double)
    return f"{ours!r} and {theirs!r} in {double[0].category} came from the two sides and may be one fact: keep one"


def on_expiry(tags: Mapping[str, TagValue], terms: Terms) -> str | None:
    """What to know of an entry that is expired today and is verified."""
    day = expired_on(tags, terms.today)
    if day is None:
        return None
    kept_out = terms.owner.prompt.expired == "drop"
    effect = "stays out of prompts until its tag expires is changed" if kept_out else "prompts say so"
    return f"expired on {day}, and {effect}"


def on_unread(category: str, document: Document, terms: Terms) -> str | None:
    """What a person should know who wrote into a category of which its owner's prompt has nothing."""
    if terms.to_agent or _is_read(category, document, terms):
        return None
    where = "entries without a category" if category == UNCATEGORIZED else f"the category {category}"
    return f"the profile {terms.owner.name} does not read {where} ({terms.target}), so this will not be in its prompt"


def _is_read(category: str, document: Document, terms: Terms) -> bool:
    """What ``policy.access.visible`` says of one category, without a look at every entry of a large file."""
    selectors = terms.owner.selectors(terms.target, terms.config.taxonomy)
    if selectors.position(category) is not None:
        return True
    if category != UNCATEGORIZED or selectors.takes_away(category):
        return False
    included = terms.owner.include_uncategorized
    return not document.scan.headers if included is None else included


def on_branch(entity: str, revision: str | None) -> str:
    """What to know of a write that was made on an older revision, and is kept as the branch ``revision``.

    It says nothing of the head: a profile may not see all of that.
    """
    if revision is None or revision.isdecimal():
        return "it was made on an older revision, so it would be kept as a branch beside what is there now"
    return (
        f"it was made on an older revision, so it is kept as branch {revision} beside what is there now, and is not in "
        f"the file until it is merged (catmem merge {entity} {revision})"
    )


def on_restoration(written: Snapshot) -> tuple[str, ...]:
    """What to know of a write before which the store put back what a stop of the machine had taken out of the file."""
    if written.restored is None:
        return ()
    what = f"a stop of the machine may have cut the file, so its last text was put back as revision {written.restored}"
    return (f"{what}; if you cut it yourself, do so again",)


def on_adoption(revision: str) -> str:
    """What to know of a write before which the store took in what others had written, as that revision."""
    if revision == FIRST_REVISION:
        return "what the file held before is kept as revision 1 of its history"
    return f"the file had been changed by other means; that is revision {revision} of its history"
