"""When the journal first saw each entry that one reader may see, and who wrote it: revision by revision, oldest first.

What the reader may not see has no part in it: not its words, not its revisions. What is remembered is the words, by
digest: of every body that the reader could ever see in the file the moment that dates it. So what is taken out and
comes back (a restore, a file that was emptied for a while) is as old as it was. New words that come from older ones
(``origins``) take over their moment.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from copy import copy
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from catmem.clock import read_date
from catmem.errors import CatmemError, NotUtf8Error, TooLargeError
from catmem.model.pairing import alike, pair_entries, words_of
from catmem.staleness.freshness import DATED_BY
from catmem.store.contract import DECISION, EXTERNAL, writer_of
from catmem.store.files.external_changes import FILE_TIME
from catmem.text import equal_ends
from catmem.workspace.differing import Differing, changed_document, differing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
    from datetime import date
    from typing import TypeAlias

    from catmem.config.access import Rights
    from catmem.model.document import Document, Entry
    from catmem.store.contract import Revision, Store

    Parse: TypeAlias = Callable[[bytes], Document]
    """Reads a memory file as its root does."""

CLOCKS = "clocks"
"""In the note of a revision: moments that some of its entries bring from another entity, by ``body_key``."""

MOST = 50_000
"""Bodies that the file no longer has and that are known: those that went away last."""

KEPT = 100_000
"""Bodies that the histories of a root know together, beyond those of the history that was asked last."""

_FEW = 100
"""Up to so many new revisions are read one by one; for more it is quicker to go through all."""


class Moment(NamedTuple):
    """What dates an entry: a moment, UTC as records say it, and whether it is when it was seen or the file's time."""

    basis: Literal["first_seen", "file_time"]
    time: str


class Known(NamedTuple):
    """What is known of one body: what dates it, the days that its tags gave last, and all who wrote it or its tags."""

    moment: Moment
    days: tuple[date, ...] = ()
    writers: frozenset[str] = frozenset()


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

    def of(self, document: Document, entries: Sequence[Entry]) -> dict[int, Moment]:
        """The moment of each of some entries, by start; without those that no revision has and that come from none."""
        # `document` is what the file says now. It may be newer than the last revision.
        keys = {entry.start: body_key(entry.body) for entry in entries}
        found = {start: self.known[key].moment for start, key in keys.items() if key in self.known}
        if len(found) < len(keys) and self.document is not None:
            changed = self._in_sight(differing(self.document, document))
            for start, origin in origins(changed, keys.keys() - found.keys()).items():
                older = self.known.get(body_key(origin.body))
                if older is not None:
                    found[start] = older.moment
        return found

    def writers(self, body: str) -> frozenset[str]:
        """All who ever wrote these words in this file, or changed their tags; a move is neither."""
        known = self.known.get(body_key(body))
        return frozenset() if known is None else known.writers

    def take(self, revision: Revision, after: Document | None, found: Differing) -> None:
        """Look at the next revision, which makes ``after``; ``found`` may differ from the one before."""
        known = self.known
        self.last = revision
        if after is None or (revision.is_proposal and not self.rights.unbounded):
            return
        if not revision.is_branch:
            self.document = after
        changed = self._in_sight(found)
        keys = [body_key(entry.body) for entry in changed.new]
        fresh = {entry.start for entry, key in zip(changed.new, keys, strict=True) if key not in known}
        if fresh:
            come_from = origins(changed, fresh, reworded(revision)) if changed.old else {}
            moment, clocks = _moment(revision), revision.note.get(CLOCKS)
            for entry, key in zip(changed.new, keys, strict=True):
                if entry.start in fresh:
                    origin = come_from.get(entry.start)
                    older = None if origin is None else known.get(body_key(origin.body))
                    own = older.moment if older else _noted_moment(clocks, key, revision.timestamp) or moment
                    known.setdefault(key, Known(own))
        self._credit(revision, changed, keys, after)
        # Those that went away last are the last to be forgotten.
        for key in {body_key(entry.body) for entry in changed.old} - set(keys):
            if key in known:
                known[key] = known.pop(key)
        days: dict[str, tuple[date, ...]] = {}
        for entry, key in zip(changed.new, keys, strict=True):
            days[key] = (*days.get(key, ()), *_days(entry))
        known.update({key: known[key]._replace(days=own) for key, own in days.items() if own})
        if len(known) > 2 * MOST:
            self._forget(after)

    def _credit(self, revision: Revision, changed: Differing, keys: Sequence[str], after: Document) -> None:
        """Note whose the bodies are that a revision wrote, or whose tags it changed; a move is on both sides."""
        # Of a decision they are the proposer's, too; a seed brings what was written elsewhere. What waits is in no
        # file.
        if revision.is_proposal:
            return
        proposer = revision.note.get(DECISION, {}).get("proposed_by")
        by = {writer_of(revision), proposer, EXTERNAL if revision.op == "seed" else None} - {None}
        made = Counter((key, repr(sorted(entry.tags.items()))) for entry, key in zip(changed.new, keys, strict=True))
        made.subtract((body_key(entry.body), repr(sorted(entry.tags.items()))) for entry in changed.old)
        credited = {key for (key, _), times in made.items() if times > 0}
        if revision.is_branch:  # what it is based on was written before, and may differ from the head
            credited = {key for key in credited if not self.known[key].writers}
        elif revision.op == "verify" and not credited:  # on a day that the entry had: the record alone tells of it
            said = (each.get("id") for each in revision.note.get("actions", ()))
            ids = {entry.id: body_key(entry.body) for entry in after.entries}
            credited = self.known.keys() & {ids[each] for each in said if each in ids}
        for key in credited:
            self.known[key] = self.known[key]._replace(writers=self.known[key].writers | by)

    def _in_sight(self, found: Differing) -> Differing:
        """What differs for the reader: without what it may not see, and without what is equal at either end."""
        # So an entry is compared with the same others whatever the file says besides.
        old = self.rights.among(found.old)
        new = self.rights.among(found.new)
        first, behind = equal_ends(*([(entry.raw, entry.category) for entry in side] for side in (old, new)))
        return Differing(old[first : len(old) - behind], new[first : len(new) - behind])

    def _forget(self, document: Document) -> None:
        there = {body_key(entry.body) for entry in self.rights.in_sight(document)}
        gone = [key for key in self.known if key not in there]
        for key in gone[:-MOST]:
            del self.known[key]


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

    def of(self, store: Store, parse: Parse, entity: str, readers: Sequence[Rights]) -> list[EntryHistory]:
        """The history of an entity up to now, for each of its readers; empty ones where it cannot be read."""
        keys = [_key(entity, rights) for rights in readers]
        with self._lock:
            kept = [self._kept.get(key) or EntryHistory(rights) for key, rights in zip(keys, readers, strict=True)]
        try:
            found = followed(store, entity, kept, parse)
        except CatmemError as error:
            why = f"the history of {entity} cannot be read ({error})"
            self.notes[entity] = f"{why}, so what has no date of its own is as old as the file"
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
    head = store.head(entity)
    found, anew = list(histories), []
    for index, history in enumerate(histories):
        if head is None or history.last == head:
            continue
        since = _since(store, entity, history)
        found[index] = new = EntryHistory(history.rights) if since is None else copy(history)
        if since is None:
            anew.append(new)
        else:
            new.known = history.known.copy()
            pairs = ((each, store.read(entity, each.revision).data) for each in reversed(since))
            for step in steps(pairs, history.document, parse):
                new.take(*step)
    if anew:
        for step in steps(store.replay(entity), None, parse):
            for new in anew:
                new.take(*step)
    return found


def _since(store: Store, entity: str, history: EntryHistory) -> list[Revision] | None:
    """The revisions behind the last that was looked at, newest first; ``None`` if all have to be looked at."""
    last = history.last
    if last is None:
        return None
    since: list[Revision] = []
    for revision in store.log(entity):
        if revision.sequence <= last.sequence:
            return since if revision == last else None
        since.append(revision)
        if revision.op == "purge" or len(since) > _FEW:
            return None
    return None


def steps(
    revisions: Iterable[tuple[Revision, bytes]], document: Document | None, parse: Parse
) -> Iterator[tuple[Revision, Document | None, Differing]]:
    """What ``take`` wants of each. Bytes that are no text change nothing; a branch is compared with the head."""
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


def _days(entry: Entry) -> tuple[date, ...]:
    tags = entry.tags
    return tuple(day for key in DATED_BY if (day := read_date(tags.get(key))) is not None) if tags else ()


def reworded(revision: Revision) -> frozenset[str]:
    """The ids of entries that a revision says to have replaced others."""
    actions = revision.note.get("actions")
    listed = [each for each in actions if isinstance(each, dict)] if isinstance(actions, list) else []
    return frozenset(str(each.get("id")) for each in listed if each.get("action") == "replace")


def _moment(revision: Revision) -> Moment:
    """What dates the entries that a revision brings: an external writer's are as old as the file was that held them."""
    written = revision.note.get(FILE_TIME)
    if revision.agent == EXTERNAL and isinstance(written, str) and written <= revision.timestamp:
        return Moment("file_time", written)
    return Moment("first_seen", revision.timestamp)


def _noted_moment(clocks: object, key: str, before: str) -> Moment | None:
    """The moment that a note tells of an entry, if it does and it is not later than the note."""
    said = clocks.get(key) if isinstance(clocks, dict) else None
    basis, time = said if isinstance(said, list) and len(said) == len(Moment._fields) else (None, None)
    if basis not in {"first_seen", "file_time"} or not isinstance(time, str) or time > before:
        return None
    return Moment(basis, time)


_RARE, _REACH = 4, 64
"""By how many of its rarest words, and among how many entries, the origin of an entry in a new category is sought."""


def origins(found: Differing, wanted: Collection[int], reworded: Collection[str] = ()) -> dict[int, Entry]:
    """The old entry that each of the ``wanted`` new ones (by start) comes from, for those that come from any."""
    # By equal body or similar words as `pair_entries` has it; then those whose ids are `reworded`, of which catmem
    # itself says that they replaced an entry; then similar words in another category; then a piece of an old entry.
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
    by_start |= _by_words(gone, {entry.start for entry in free}, [each for each in left if each.start not in by_start])
    return {start: entry for start, entry in by_start.items() if start in wanted}


def _by_words(gone: Sequence[Entry], free: Collection[int], left: Sequence[Entry]) -> dict[int, Entry]:
    """For each entry that is left a gone one that holds all of it, or a ``free`` one that shares half of its words."""
    holding: dict[str, list[int]] = defaultdict(list)
    words = [words_of(entry.body) for entry in gone]
    for index, own in enumerate(words):
        for word in own:
            holding[word].append(index)
    by_start: dict[int, Entry] = {}
    for entry in left:
        own, body = words_of(entry.body), entry.body
        rarest = sorted((word for word in own if word in holding), key=lambda word: (len(holding[word]), word))
        near = dict.fromkeys(index for word in rarest[:_RARE] for index in holding[word][:_REACH])
        for index in near:
            if (gone[index].start in free and alike(own, words[index])) or body in gone[index].body:
                by_start[entry.start] = gone[index]
                break
    return by_start
