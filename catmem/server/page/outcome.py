"""What a write did to the one entry that it was on, as the texts before and after it tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import CatmemError
from catmem.model.pairing import pair_entries
from catmem.policy.access import visible_categories
from catmem.policy.staleness import DATED_BY, read_date
from catmem.server.page.shown import category, day
from catmem.service.clock import today
from catmem.service.reviewing.operations import is_expired
from catmem.service.showing import findings_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from catmem.model.document import Document, Entry
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Revision

_STEPS = 2
"""Operations that a form makes on one entry: it is moved, and reworded."""


class Became(NamedTuple):
    """An entry before and after a revision; ``None`` for one that was not there. ``document`` is the text after it."""

    was: Entry | None
    entry: Entry | None
    document: Document

    @property
    def body(self) -> str:
        """Its words: the new ones, or those of a removed one."""
        found = self.entry or self.was
        return "" if found is None else found.body


def became(workspace: Workspace, record: Revision, before: str) -> Became | None:
    """What became of the one entry that a revision was on; ``None`` where it was on several, or on none.

    ``before`` is the revision before it. Raises what reading the store raises.
    """
    last = _only_action(record)
    if last is None:
        return None
    first: Mapping[str, Any] = record.note["actions"][0]
    store = workspace.store
    after = workspace.parse(store.read(record.entity, record.revision).data)
    old = workspace.parse(store.read(record.entity, before).data)
    if last.get("action") == "remove":
        return Became(_found(old, last), None, after)
    entry = _found(after, last)
    if entry is None:
        return None
    is_new = first.get("action") == "add"
    return Became(None if is_new else _found(old, first) or _partner(old, after, entry), entry, after)


def words_of(workspace: Workspace, records: Sequence[Revision], most: int) -> dict[str, str]:
    """The words of the one entry that each revision was on, by its name; of ``most`` bytes of texts, the first ones.

    What cannot be read any more has no words here: its own page says why.
    """
    found: dict[str, str] = {}
    documents: dict[str, Document] = {}
    for record in records:
        action = _only_action(record)
        if action is None:
            continue
        # What was removed stands in the text before it.
        text = (record.parents or ("0",))[0] if action.get("action") == "remove" else record.revision
        if text not in documents:
            most -= record.size
            if most < 0:
                break
            try:
                documents[text] = workspace.parse(workspace.store.read(record.entity, text).data)
            except CatmemError:
                continue
        entry = _found(documents[text], action)
        if entry is not None:
            found[record.revision] = entry.body
    return found


def _only_action(record: Revision) -> Mapping[str, Any] | None:
    """The last operation of a revision that was on one entry."""
    actions: Sequence[Mapping[str, Any]] = record.note.get("actions", ())
    if not 0 < len(actions) <= _STEPS or (len(actions) > 1 and actions[0].get("action") != "move"):
        return None
    return actions[-1]


def verb(one: Became, record: Revision) -> str | None:
    """What happened to it, where its tags tell more than the operation does."""
    was, entry = one.was, one.entry
    if was is None or entry is None or (was.body, was.category) != (entry.body, entry.category):
        return None
    if was.tags.get("verified_date") != entry.tags.get("verified_date") and "verified_date" in entry.tags:
        return f"Verified in {category(entry.category)}"
    changed = was.tags.get("expires") != entry.tags.get("expires")
    if changed and is_expired(entry.tags, today()) and len(record.note["actions"]) == 1:
        return f"Expired in {category(entry.category)}"
    return None


def remarks(workspace: Workspace, entity: str, one: Became) -> tuple[str, ...]:
    """What a person should know of it now: dates that were put right or have gone by, and who does not see it."""
    return () if one.entry is None else tuple(_remarks(workspace, entity, one, one.entry))


def _remarks(workspace: Workspace, entity: str, one: Became, entry: Entry) -> Iterator[str]:
    owner, _, target = entity.partition("/")
    profile, config = workspace.profile(owner), workspace.config
    was = {} if one.was is None else one.was.tags
    if "expires" in was and "expires" not in entry.tags:
        date = read_date(was.get("expires"))
        yield f"Its expires ({day(date) if date else was['expires']}) was dropped."
    for key in DATED_BY:
        date, now = read_date(was.get(key)), read_date(entry.tags.get(key))
        if date is not None and now is not None and now < date and date > today():
            yield f"Its {key} was {day(date)}, in the future, and is {day(now)} now."
    if not visible_categories(one.document, [entry.category], target, profile, config.taxonomy):
        yield f"{owner} does not read {category(entry.category)}, so its prompt does not show this."
    elif is_expired(entry.tags, today()):
        shows = "do not show it" if profile.prompt.expired == "drop" else "call it expired"
        expired = day(read_date(entry.tags.get("expires")))
        yield f"It expired on {expired}: prompts {shows}, and it stays in Review until it is verified or removed."
    rules = sorted({each.rule for each in findings_in([entry.body])})
    if rules:
        yield f"Prompts withhold it: {', '.join(rules)}."


def _found(document: Document, action: Mapping[str, Any]) -> Entry | None:
    same = [each for each in document.entries if each.id == action.get("id")]
    return next((each for each in same if each.category == action.get("category")), same[0] if same else None)


def _partner(old: Document, after: Document, entry: Entry) -> Entry | None:
    """The entry that was reworded to this one."""
    place = next(index for index, each in enumerate(after.entries) if each is entry)
    pairs = {new: index for index, new in pair_entries(old.entries, after.entries).items()}
    return old.entries[pairs[place]] if place in pairs else None
