"""Who gave an entry its words, since when it is there, and who verified it: what the revisions tell, oldest first.

One walk over the revisions (``steps``) says in which entries each differs from the one before, and ``origins`` which
entry became which. What a reader may not see has no part in its answers. What is taken out and comes back is as old as
it was; new words take over the moment of those that they come from. A fact is as old as it was verified, created, or
first written by catmem; a date in the future dates nothing, nor does what another program wrote.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from catmem import clock
from catmem.clock import read_date
from catmem.config.access import Rights
from catmem.config.profile import Profile
from catmem.errors import CatmemError, EditError, NotUtf8Error, TooLargeError
from catmem.model.document import Document, Entry
from catmem.model.pairing import pair_entries
from catmem.names import TARGETS, is_declared, parts_of
from catmem.staleness.freshness import DATED_BY, UNVERIFIED, Freshness, freshness, is_ahead
from catmem.store.contract import DECISION, EXTERNAL, Revision, Store, writer_of
from catmem.syntax.scan import rescan, touched_region
from catmem.text import equal_ends
from catmem.writing.matching import entries_holding, no_match, parse_for_write, refuse_empty

if TYPE_CHECKING:
    from catmem.workspace.root import Root

Parse: TypeAlias = Callable[[bytes], Document]
"""Reads a memory file as its root does."""


# --- the entries in which two documents differ, found from where their texts do -------------------------------------


class Differing(NamedTuple):
    """The entries of two texts in the stretches in which they differ, in file order."""

    old: Sequence[Entry]
    new: Sequence[Entry]


def changed_document(old: Document, data: bytes) -> tuple[Document, Differing]:
    """The document that ``data`` is, read off ``old`` where the two are equal, and what differs."""
    text = data.decode()
    new = Document(rescan(old.scan, text, *_changed(old.text, text)))
    return new, differing(old, new)


def differing(old: Document, new: Document) -> Differing:
    """The entries that differ, and perhaps some beside them that do not."""
    start, end = differing_stretches(old, new)
    behind = end + len(new.text) - len(old.text)
    return Differing(old.entries_between(start, end), new.entries_between(start, behind))


def differing_stretches(old: Document, new: Document) -> tuple[int, int]:
    """Where in the old text the stretches lie in which the two differ; the entries around them are the same."""
    if bool(old.scan.title) != bool(new.scan.title) or _categories(old) != _categories(new):
        return old.scan.start, len(old.text)  # the title is an entry in one of them, or a section has moved
    return new.scan.changed_stretches(old.scan) or touched_region(old.scan, *_changed(old.text, new.text))


def _categories(document: Document) -> list[str]:
    return [header.category for header in document.scan.headers]


def _changed(old: str, new: str) -> tuple[int, int]:
    """Where ``old`` gives way to something else: the offsets of its first and behind its last other character."""
    start, end = equal_ends(old, new)
    return start, len(old) - end


# --- when each entry was first seen, by whom it was written ---------------------------------------------------------


CLOCKS = "clocks"
"""In the note of a revision: since when catmem has those entries that come from another entity, by ``body_key``."""

KEPT = 100_000
"""Bodies that the histories of a root know together, beyond those of the history that was asked last."""

_FEW = 100
"""Up to so many new revisions are read one by one; for more it is quicker to go through all."""


class Known(NamedTuple):
    """What is known of one body: since when, the days that its tags gave last, and all who wrote it or its tags.

    ``since`` is when catmem wrote it first, UTC as records say it; ``None`` for what another program wrote.
    ``by_another``: another program did, after the history began.
    """

    since: str | None
    days: tuple[date, ...] = ()
    writers: frozenset[str] = frozenset()
    by_another: bool = False


def body_key(body: str) -> str:
    """What the words of an entry are remembered by: a digest, so that no text is kept twice."""
    return blake2b(body.encode(errors="surrogatepass"), digest_size=12).hexdigest()


class EntryHistory:
    """The moments of one entity's entries for one reader, up to the revision ``last``.

    Nothing changes it once ``followed`` has given it, so several threads may ask it. ``document`` is the whole file at
    that revision; it is compared with what comes next.
    """

    def __init__(self, rights: Rights) -> None:
        """Nothing has been looked at."""
        self.rights = rights
        self.known: dict[str, Known] = {}
        self.last: Revision | None = None
        self.document: Document | None = None
        self._branches: OnBranches = {}

    def since(self, document: Document, entries: Sequence[Entry]) -> dict[int, str | None]:
        """Since when catmem has each of some entries, by start; none that no revision has and that come from none."""
        # `document` is what the file says now. It may be newer than the last revision.
        keys = {entry.start: body_key(entry.body) for entry in entries}
        found = {start: self.known[key].since for start, key in keys.items() if key in self.known}
        if len(found) < len(keys) and self.document is not None:
            changed = self._visible(differing(self.document, document))
            for start, origin in origins(changed, keys.keys() - found.keys()).items():
                older = self.known.get(body_key(origin.body))
                if older is not None:
                    found[start] = older.since
        return found

    def writers(self, body: str) -> frozenset[str]:
        """All who ever wrote these words in this file, or changed their tags; a move is neither."""
        known = self.known.get(body_key(body))
        return frozenset() if known is None else known.writers

    def by_another(self, body: str) -> bool:
        """Whether another program wrote these words in this file, or changed their tags, after the history began."""
        known = self.known.get(body_key(body))
        return known is not None and known.by_another

    def add_step(self, revision: Revision, after: Document | None, found: Differing) -> None:
        """Look at the next revision, which makes ``after``; ``found`` may differ from the one before."""
        self.last = revision
        if after is None or (revision.is_proposal and not self.rights.unbounded):
            return
        if not revision.is_branch:
            self.document = after
        changed = self._visible(found)
        self._date_new_words(revision, changed)
        if not revision.is_proposal:  # what waits is in no file
            self._credit_writers(revision, changed, after)
        days: dict[str, tuple[date, ...]] = {}
        for entry in changed.new:
            key = body_key(entry.body)
            days[key] = (*days.get(key, ()), *_days(entry))
        self.known.update({key: self.known[key]._replace(days=own) for key, own in days.items() if own})

    def _date_new_words(self, revision: Revision, changed: Differing) -> None:
        """Words that the file never had are as old as those that they come from, as a note says, or as the revision."""
        fresh = {entry.start: key for entry in changed.new if (key := body_key(entry.body)) not in self.known}
        if not fresh:
            return
        come_from = origins(changed, fresh, reworded(revision)) if changed.old else {}
        for start, key in fresh.items():
            older = self.known.get(body_key(come_from[start].body)) if start in come_from else None
            noted = _noted(revision.note.get(CLOCKS, {}).get(key, revision.timestamp))
            if older is not None:
                since = older.since
            elif noted is None or revision.agent == EXTERNAL:
                since = None
            else:
                since = min(noted, revision.timestamp)
            self.known.setdefault(key, Known(since))

    def _credit_writers(self, revision: Revision, changed: Differing, after: Document) -> None:
        """Note whose the bodies are that a revision wrote, or whose tags it changed; a move is on both sides."""
        # Of a decision they are the proposer's, too; a seed brings what was written elsewhere.
        proposer = revision.note.get(DECISION, {}).get("proposed_by")
        by = {writer_of(revision), proposer, EXTERNAL if revision.op == "seed" else None} - {None}
        made = Counter(map(_words_and_tags, changed.new))
        made.subtract(map(_words_and_tags, changed.old))
        merged = _on_branches(self._branches, revision, changed.new)
        # Where a merge joined words of a branch with tags of the file, they are of both.
        credited = [(each[0], by) for each in +made if each not in merged]
        wrote = ((each[0], merged.get(each) or merged.get(each[0])) for each in +made)
        credited += [(key, {writer_of(each)}) for key, each in wrote if each is not None]
        if revision.is_branch:  # what it is based on was written before, and may differ from the head
            credited = [each for each in credited if not self.known[each[0]].writers]
        elif said := reworded(revision, "verify"):  # also on a day that it had: then the record alone tells of it
            there = {body_key(entry.body) for entry in after.entries if entry.id in said}
            credited += [(key, by) for key in self.known.keys() & there]
        is_another = revision.agent == EXTERNAL and bool(revision.parents)
        for key, writers in credited:
            known = self.known[key]
            self.known[key] = known._replace(writers=known.writers | writers, by_another=known.by_another or is_another)

    def _visible(self, found: Differing) -> Differing:
        """What differs for the reader: without what it may not see, and without what is equal at either end."""
        # So an entry is compared with the same others whatever the file says besides.
        old = self.rights.filter_visible(found.old)
        new = self.rights.filter_visible(found.new)
        first, behind = equal_ends(*([(entry.raw, entry.category) for entry in side] for side in (old, new)))
        return Differing(old[first : len(old) - behind], new[first : len(new) - behind])


class EntryHistories:
    """What was worked out of histories lately, so that the next question looks at what is new alone.

    By entity and by what the reader may see, those that were asked last at the end. Safe to use from several threads.
    """

    def __init__(self) -> None:
        """None yet."""
        self.notes: dict[str, str] = {}
        """Whose history could not be read, and why, by entity."""
        self._kept: dict[Hashable, EntryHistory] = {}
        self._lock = threading.Lock()

    def histories(self, store: Store, parse: Parse, entity: str, readers: Sequence[Rights]) -> list[EntryHistory]:
        """The history of an entity up to now, for each of its readers; empty ones where it cannot be read."""
        keys = [_key(entity, rights) for rights in readers]
        with self._lock:
            kept = [self._kept.get(key) or EntryHistory(rights) for key, rights in zip(keys, readers, strict=True)]
        try:
            found = followed(store, entity, kept, parse)
        except CatmemError as error:
            why = f"the history of {entity} cannot be read ({error})"
            self.notes[entity] = f"{why}, so what has no date of its own has none"
            return [EntryHistory(rights) for rights in readers]
        self.notes.pop(entity, None)
        with self._lock:
            for key, history in zip(keys, found, strict=True):
                self._kept.pop(key, None)
                self._kept[key] = history
            size = sum(len(history.known) for history in self._kept.values())
            while size > KEPT and len(self._kept) > 1:
                size -= len(self._kept.pop(next(iter(self._kept))).known)
        return found


def _key(entity: str, rights: Rights) -> Hashable:
    """What makes one history another: whose it is, and what is seen of it."""
    actor = rights.actor
    if actor is None:
        return entity
    selectors = actor.selectors(rights.target, rights.taxonomy)
    return entity, rights.target, rights.unbounded, selectors, actor.sees_uncategorized


def followed(store: Store, entity: str, histories: Sequence[EntryHistory], parse: Parse) -> list[EntryHistory]:
    """The histories up to the newest revision. Raises what reading the store raises."""
    # Where something was purged, and in another journal than that of the last time, all is worked out anew.
    found, anew = list(histories), []
    for index, history in enumerate(histories):
        since = _since(store, entity, history.last)
        if since == []:
            continue
        found[index] = new = EntryHistory(history.rights) if since is None else copy(history)
        if since is None:
            anew.append(new)
        else:
            new.known = history.known.copy()
            pairs = ((each, store.read(entity, each.revision).data) for each in reversed(since))
            for step in steps(pairs, history.document, parse):
                new.add_step(*step)
    if anew:
        for step in steps(store.replay(entity), None, parse):
            for new in anew:
                new.add_step(*step)
    return found


def _since(store: Store, entity: str, last: Revision | None) -> list[Revision] | None:
    """The revisions behind the last that was looked at, newest first; ``None`` if all have to be looked at."""
    since: list[Revision] = []
    for revision in store.log(entity):
        if last is not None and revision.sequence <= last.sequence:
            return since if revision == last else None
        since.append(revision)
        if last is None or revision.op == "purge" or len(since) > _FEW:
            return None
    return None if since else []


def steps(
    revisions: Iterable[tuple[Revision, bytes]], document: Document | None, parse: Parse
) -> Iterator[tuple[Revision, Document | None, Differing]]:
    """Revisions, the document after each, and what it changed: nothing if it is no text, a branch beside the head."""
    for revision, data in revisions:
        try:
            if document is None:
                after = parse(data)
                found = Differing((), after.entries)
            else:
                after, found = changed_document(document, data)
        except (NotUtf8Error, TooLargeError, UnicodeDecodeError):
            yield revision, document, Differing((), ())
            continue
        yield revision, after, found
        if not revision.is_branch:
            document = after


OnBranches: TypeAlias = dict[str, dict[Hashable, Revision]]
"""By revision of a branch: what it holds and the head did not, by its words, its tags and its place (``_marks``)."""


def _on_branches(known: OnBranches, revision: Revision, entries: Sequence[Entry]) -> dict[Hashable, Revision]:
    """Who wrote on branches what a revision has of them; one of a branch is noted, with its ``entries``."""
    brought = {mark: by for parent in reversed(revision.parents) for mark, by in known.get(parent, {}).items()}
    if revision.is_branch:
        known[revision.revision] = {mark: brought.get(mark, revision) for each in entries for mark in _marks(each)}
    return brought


def _marks(entry: Entry) -> tuple[Hashable, ...]:
    """The words, these with the tags, on the day of their verification, and the entry as it stands."""
    key = body_key(entry.body)
    return key, _words_and_tags(entry), (key, entry.tags.get("verified_date")), (entry.category, entry.raw)


def _words_and_tags(entry: Entry) -> tuple[str, str]:
    return body_key(entry.body), entry.text if entry.repeated_tags else repr(sorted(entry.tags.items()))


def _noted(clock: str | Sequence[str] | None) -> str | None:
    """Since when a note says that words were known; an older build noted ``[CLOCK, TIME]``, also the time of a file."""
    if clock is None or isinstance(clock, str):
        return clock
    return clock[1] if clock[0] == "first_seen" else None


def _days(entry: Entry) -> tuple[date, ...]:
    tags = entry.tags
    return tuple(day for key in DATED_BY if (day := read_date(tags.get(key))) is not None) if tags else ()


def reworded(revision: Revision, action: str = "replace") -> frozenset[str]:
    """The ids of entries that a revision says to have replaced others, or to have another ``action``."""
    return frozenset(str(each.get("id")) for each in revision.note.get("actions", ()) if each.get("action") == action)


_COMPARED = 1_000_000
"""Up to so many pairs of entries are looked at for those that are a piece of one that is gone."""


def origins(found: Differing, wanted: Collection[int], reworded: Collection[str] = ()) -> dict[int, Entry]:
    """The old entry that each of the ``wanted`` new ones (by start) comes from, for those that come from any."""
    # By equal body or similar words as `pair_entries` has it; then those whose ids are `reworded`, of which catmem
    # itself says that they replaced an entry; then a piece of an old entry, in whatever category.
    pairs = pair_entries(found.old, found.new)
    by_start = {found.new[there].start: found.old[here] for here, there in pairs.items()}
    free = [entry for index, entry in enumerate(found.old) if index not in pairs]
    left = [entry for entry in found.new if entry.start in wanted and entry.start not in by_start]
    for entry in left:
        if free and reworded and entry.id in reworded:
            same = [each for each in free if each.category == entry.category]
            by_start[entry.start] = (same or free)[0]
            free.remove(by_start[entry.start])
    there = {entry.body for entry in found.new}
    gone = [entry for entry in found.old if entry.body not in there]
    pieces = [each for each in left if each.start not in by_start]
    if len(gone) * len(pieces) <= _COMPARED:
        for piece in pieces:
            if whole := next((entry for entry in gone if piece.body in entry.body), None):
                by_start[piece.start] = whole
    return {start: entry for start, entry in by_start.items() if start in wanted}


# --- blame: the revisions of each entry -----------------------------------------------------------------------------


def entry_in(document: Document, entry_id: str | None, category: str | None) -> Entry | None:
    """The entry of an id; of several that say the same, the one of the category if it is there."""
    same = [each for each in document.entries if each.id == entry_id]
    return next((each for each in same if each.category == category), same[0] if same else None)


def found_by(document: Document, action: Mapping[str, Any]) -> Entry | None:
    """The entry that an operation of a record names."""
    return entry_in(document, action.get("id"), document.scan.categories.category(action.get("category", "")))


@dataclass(frozen=True, slots=True)
class Blamed:
    """An entry and its revisions; ``None`` in the place of one is an external change that no revision has yet.

    ``earlier`` are the entries that it was, in other words.
    """

    entry: Entry
    worded: Revision | None
    verified: Revision | None
    revisions: tuple[Revision | None, ...]
    earlier: tuple[Entry, ...] = ()
    line: int = 0

    def __json__(self) -> dict[str, Any]:
        """The entry with its revisions, as JSON-ready data."""
        day = self.entry.tags.get("verified_date")
        return {
            "line": self.line,
            "category": self.entry.category,
            "id": self.entry.id,
            "body": self.entry.body,
            **_revision_dict(self.worded),
            "verified": None if day is None else {"date": day, **_revision_dict(self.verified)},
            "revisions": [None if each is None else each.revision for each in self.revisions],
        }


def _revision_dict(revision: Revision | None) -> dict[str, Any]:
    """The revision, who made it and when; nulls for a change that is not recorded yet."""
    if revision is None:
        return dict.fromkeys(("revision", "agent", "person", "proposed_by", "timestamp"))
    return {
        "revision": revision.revision,
        "agent": revision.agent,
        "person": revision.person,
        "proposed_by": revision.note.get(DECISION, {}).get("proposed_by"),
        "timestamp": revision.timestamp,
    }


def blame(workspace: Root, store: Store, entity: str) -> list[Blamed]:
    """The entries of an entity as it is now, in file order, each with its revisions."""
    return _Lines(workspace, store, entity).now()


def revisions_of(workspace: Root, store: Store, entity: str, wanted: str) -> set[str]:
    """The revisions that changed the entries that hold a text; if there are none now, of those that held it before."""
    refuse_empty(wanted)
    lines = _Lines(workspace, store, entity)
    entries, now = lines.document.entries, lines.now()
    held = {each.start for each in entries_holding(wanted, entries, to_agent=False)}
    found = [each for each in now if each.entry.start in held]
    gone, holding = lines.gone.values(), partial(entries_holding, wanted, to_agent=False)
    found = found or [each for each in gone if holding(among=[each.entry])]
    found = found or [each for each in (*now, *gone) if holding(among=each.earlier)]
    if not found:
        raise no_match(wanted, entries, entity, to_agent=False)
    return {each.revision for blamed in found for each in blamed.revisions if each is not None}


class _Lines:
    """The entries that there are and those that are gone, as one revision after the other is looked at."""

    def __init__(self, workspace: Root, store: Store, entity: str) -> None:
        if is_declared(entity):
            raise EditError(
                f"{entity} has no entries to look at: it is a text or a JSON value",
                code="no_entries",
                hint=f"Its revisions are those of catmem log {entity}.",
            )
        self._live: dict[tuple[str, str], list[Blamed]] = defaultdict(list)
        self.gone: dict[str, Blamed] = {}
        """By their words: what comes back goes on from where it was."""
        self._branches: OnBranches = {}
        next(iter(store.log(entity)), None)  # which refuses a history whose end is lost
        self.document: Document = parse_for_write(workspace.parse, entity, store.read(entity).data)
        last = None
        for revision, after, found in steps(store.replay(entity), None, workspace.parse):
            if revision.is_proposal or after is None:
                continue
            if revision.is_branch:
                _on_branches(self._branches, revision, found.new)
            else:
                self._take(revision, found)
                self._verify(revision, after)
                last = after
        if last is None:
            self._take(None, Differing((), self.document.entries))
        elif last.text != self.document.text:
            self._take(None, changed_document(last, self.document.to_bytes())[1])

    def now(self) -> list[Blamed]:
        """The entries that there are, in file order."""
        left = {key: list(lines) for key, lines in self._live.items()}
        return [
            replace(left[entry.category, entry.raw].pop(0), entry=entry, line=self.document.line(entry.start))
            for entry in self.document.entries
        ]

    def _take(self, revision: Revision | None, found: Differing) -> None:
        before = {each.start: self._live[each.category, each.raw].pop(0) for each in found.old}
        wanted = {each.start for each in found.new}
        come_from = origins(found, wanted, () if revision is None else reworded(revision)) if before else {}
        merged = {} if revision is None else _on_branches(self._branches, revision, ())
        for entry in found.new:
            origin = come_from.get(entry.start)
            older = self.gone.pop(entry.body, None) if origin is None else before[origin.start]
            made = _next(older, entry, revision, merged, is_there=origin is not None)
            self._live[entry.category, entry.raw].append(made)
        for start in before.keys() - {each.start for each in come_from.values()}:
            line = before[start]
            self.gone[line.entry.body] = replace(line, revisions=(*line.revisions, revision))

    def _verify(self, revision: Revision, document: Document) -> None:
        """A verification on a day that the entry had already changes no text; the record alone tells of it."""
        for action in revision.note.get("actions", ()):
            entry = found_by(document, action) if action.get("action") == "verify" else None
            lines = [] if entry is None else self._live[entry.category, entry.raw]
            if lines and lines[0].verified is not revision:
                lines[0] = replace(lines[0], verified=revision, revisions=(*lines[0].revisions, revision))


def _next(
    older: Blamed | None, entry: Entry, revision: Revision | None, merged: dict[Hashable, Revision], *, is_there: bool
) -> Blamed:
    """What becomes of an entry by a revision that made it ``entry``; ``is_there``: it was not gone."""
    words, _, verification, place = _marks(entry)
    was, day = older and older.entry, entry.tags.get("verified_date")
    if older and was and is_there and (was.category, was.raw) == (entry.category, entry.raw):
        return older
    # What a merge brings in is of the branch that wrote it.
    brought = {each.sequence: each for mark in (words, verification, place) if (each := merged.get(mark))}
    is_same, is_day = was and was.body == entry.body, was and was.tags.get("verified_date") == day
    return Blamed(
        entry,
        older.worded if older and is_same else merged.get(words, revision),
        None if day is None else older.verified if older and is_day else merged.get(verification, revision),
        (*(older.revisions if older else ()), *(brought[each] for each in sorted(brought)), revision),
        (*older.earlier, *(() if is_same else (older.entry,))) if older else (),
    )


# --- how old facts are by three clocks ------------------------------------------------------------------------------


def freshness_of(  # noqa: PLR0913 - whose entries of what, who asks, and the day
    workspace: Root,
    profile: Profile,
    entity: str,
    document: Document,
    entries: Sequence[Entry],
    *,
    as_of: date,
    reader: Profile | None,
) -> list[Freshness]:
    """The freshness of some ``entries`` of ``document``, the text of ``entity`` as it is now, in their order."""
    # Thresholds are those of `profile`. `reader` is the profile that the answer is for, `None` for a person. The
    # history is read only if there are entries without a date of their own.
    found = [freshness(entry, profile, workspace.config, as_of=as_of) for entry in entries]
    undated = [entry for entry, age in zip(entries, found, strict=True) if age.day is None]
    if not undated:
        return found
    (history,) = histories_of(workspace, entity, [reader])
    since, unverified = history.since(document, undated), cache(partial(_unverified_since, as_of=as_of))
    return [
        unverified(since.get(entry.start)) if own.day is None else own
        for entry, own in zip(entries, found, strict=True)
    ]


def notes_of(workspace: Root) -> tuple[str, ...]:
    """What a person should know of the ages that were asked for: whose history could not be read, and why."""
    return tuple(workspace._cache.histories.notes.values())  # noqa: SLF001 - the workspace keeps them


def known_days(workspace: Root, owner: str, actor: Profile | None, body: str) -> list[date | None]:
    """The day that dated some words when a file of ``owner`` last had them, by their tags then, else by the journal."""
    # One for each file that ever had the words; `None` where nothing dated them. For an actor who may not verify: to
    # take an entry out and put it back, here or in the other file, must not make it young. Only what the actor may be
    # shown counts, or a date would tell of a text that is hidden. A day in the future dates nothing.
    days: list[date | None] = []
    for target in TARGETS:
        (history,) = histories_of(workspace, f"{owner}/{target}", [actor])
        known = history.known.get(body_key(body))
        if known is not None:
            past = [day for day in known.days if not is_ahead(day, clock.today())]
            days.append(min(past) if past else _day(known.since))
    return days


def histories_of(workspace: Root, entity: str, readers: Sequence[Profile | None]) -> list[EntryHistory]:
    """What the history of an entity tells each reader; empty ones where it cannot be read."""
    taxonomy, target = workspace.config.taxonomy, parts_of(entity).target
    rights = [Rights(each, target, taxonomy) for each in readers]
    histories = workspace._cache.histories  # noqa: SLF001 - the workspace keeps them
    return histories.histories(workspace.store, taxonomy.parse, entity, rights)


def _unverified_since(moment: str | None, as_of: date) -> Freshness:
    """The age of a fact without a date of its own on a day; none by a moment after it."""
    day = _day(moment)
    return UNVERIFIED if day is None or day > as_of else Freshness("unverified", "first_seen", day)


def _day(moment: str | None) -> date | None:
    """The day of a moment where the person is; ``None`` for what is no moment."""
    try:
        return None if moment is None else datetime.fromisoformat(moment).astimezone().date()
    except (ValueError, OverflowError):
        return None
