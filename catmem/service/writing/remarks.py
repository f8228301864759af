"""What to know of a change that is made all the same: it stands in the notes and warnings of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.policy.access import hidden_by_sections
from catmem.policy.staleness import freshness, read_date
from catmem.policy.tagnames import known_tags, meant_tag
from catmem.service.showing import preview
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from catmem.model.document import Document, Entry, TagValue
    from catmem.model.version import Version
    from catmem.service.writing.terms import Terms
    from catmem.store.contract import Snapshot

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
    found = freshness(tags, as_of=terms.today, stale_after=0)
    if found.state != "expired":
        return None
    kept_out = terms.owner.prompt.expired == "drop"
    effect = "stays out of prompts until its tag expires is changed" if kept_out else "prompts say so"
    return f"expired on {found.day}, and {effect}"


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
