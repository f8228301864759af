"""When the journal first saw each entry of a file, worked out revision by revision from the oldest on.

What is remembered is the words: of every body that the file ever had, by digest, the moment that dates it. So what is
taken out and comes back (a restore, a file that was emptied for a while) is as old as it was. New words that come from
older ones (``ages.origin``) take over their moment. What the file no longer has is put away (``ages.gone``), where it
takes little room.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from catmem.errors import NotUtf8Error, TooLargeError
from catmem.service.ages.gone import Gone, Known, Moment
from catmem.service.ages.origin import changed_document, differing, origins
from catmem.store.contract import EXTERNAL
from catmem.store.files.file_time import FILE_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from catmem.model.document import Document, Entry
    from catmem.service.ages.origin import Differing
    from catmem.store.contract import Revision, Store

CLOCKS = "clocks"
"""In the note of a revision: moments that some of its entries bring with them from elsewhere, by ``body_key``."""

_SPARE = 250
"""So many new bodies, and as many again as the file has, are seen before those that it no longer has are put away."""

_FEW = 100
"""Up to so many new revisions are read one by one; for more it is quicker to go through all."""


class Seen(NamedTuple):
    """The revision that was looked at last, so that it is found again in the journal."""

    sequence: int
    op_id: str
    revision: str


def body_key(body: str) -> str:
    """What the words of an entry are remembered by: a digest, so that no text is kept twice."""
    return blake2b(body.encode(errors="surrogatepass"), digest_size=12).hexdigest()


class FirstSeen:
    """The moments of one entity's entries, up to the revision ``last``.

    ``known`` has the bodies of the file as it was last, and some that are gone; ``gone`` the others.
    """

    def __init__(self, parse: Callable[[bytes], Document]) -> None:
        """Nothing has been looked at."""
        self.known: dict[str, Known] = {}
        self.gone = Gone()
        self.last: Seen | None = None
        self.looked_at = 0
        """Bytes of the revisions that were looked at since it was made or kept."""
        self._parse = parse
        self._fresh = 0
        """Bodies that came to ``known`` since those that are gone were put away."""
        self._document: Document | None = None
        self._keys: tuple[Document, dict[int, str]] | None = None
        """The keys of entries by start, of the document that was asked about last."""

    def bring(self, known: Mapping[str, Known]) -> None:
        """Begin with what was known before, those that are gone first."""
        self.known.update(known)
        self._fresh += len(known)

    def follow(self, store: Store, entity: str) -> None:
        """Look at the revisions since the last time. Raises what reading the store raises.

        In another journal than that of the last time (``fsck --repair`` began a new one) what is remembered stays;
        where something was purged nothing does.
        """
        head, last = store.head(entity), self.last
        if head is None or last == _seen(head):
            return
        since: list[Revision] | None = None
        if last is not None:
            since = self._since(last, store.log(entity))
            if since is None or any(each.op == "purge" for each in since):
                if since is not None:
                    self.known.clear()
                    self.gone = Gone()
                self.last = self._document = since = None
        if since is None:
            revisions: Iterable[tuple[Revision, bytes]] = store.replay(entity)
        else:
            self._catch_up(store, entity)
            newest = last.sequence if last else 0
            revisions = ((each, store.read(entity, each.revision).data) for each in reversed(since))
            if len(since) > _FEW:
                revisions = dropwhile(lambda pair: pair[0].sequence <= newest, store.replay(entity))
        for revision, data in revisions:
            self.take(revision, data)

    @staticmethod
    def _since(last: Seen, newest_first: Iterator[Revision]) -> list[Revision] | None:
        """The revisions behind the one that was looked at last; ``None`` if that is not in this history."""
        since: list[Revision] = []
        for revision in newest_first:
            if revision.sequence <= last.sequence:
                return since if _seen(revision) == last else None
            since.append(revision)
        return None

    def _catch_up(self, store: Store, entity: str) -> None:
        """Have the document of the last revision at hand."""
        if self._document is None and self.last is not None:
            self._document = self._read(store.read(entity, self.last.revision).data)

    def take(self, revision: Revision, data: bytes) -> None:
        """Look at the next revision. Bytes that are no text are passed over."""
        old, self.last = self._document, _seen(revision)
        self.looked_at += len(data)
        document = self._read(data) if old is None else self._read_changed(old, data)
        if document is None:
            return
        self._document = document
        reworded = {
            action.get("id")
            for action in _listed(revision.note.get("actions"))
            if isinstance(action, dict) and action.get("action") == "replace"
        }
        told = revision.note.get(CLOCKS)
        moment = _moment(revision)
        found = None if old is None else differing(old, document)
        moments: dict[str, Moment] = {}
        for entry, origin in self._new_entries(found, document, cast("set[str]", reworded)):
            brought = _told(told, body_key(entry.body), revision.timestamp)
            older = None if origin is None else self.find(body_key(origin.body))
            moments[body_key(entry.body)] = (None if older is None else older.moment) or brought or moment
        for entry in document.entries if found is None else found.new:
            key = body_key(entry.body)
            known = self._at_hand(key) or Known(moments[key], frozenset())
            self._fresh += key not in self.known
            self.known[key] = Known(known.moment, known.categories | {entry.category})
        self._put_away(document)

    def find(self, key: str) -> Known | None:
        """What is known of a body, by ``body_key``; ``None`` for one that the file never had."""
        return self.known.get(key) or self.gone.find(key)

    def all(self) -> dict[str, Known]:
        """What is known of all bodies, those that are gone before the others."""
        gone = {key: known for key, known in self.gone.all() if key not in self.known}
        return gone | self.known

    def of(self, document: Document, entries: Sequence[Entry], store: Store, entity: str) -> dict[int, Moment]:
        """The moment of each of some entries, by start; without those that no revision has and that come from none.

        ``document`` is what the file says now. It may be newer than the last revision.
        """
        if self._keys is None or self._keys[0] is not document:
            self._keys = document, {}
        known = self._keys[1]
        for entry in entries:
            if entry.start not in known:
                known[entry.start] = body_key(entry.body)
        keys = {entry.start: known[entry.start] for entry in entries}
        found = {start: here.moment for start, key in keys.items() if (here := self._at_hand(key)) is not None}
        if len(found) < len(keys) and self.last is not None:
            self._catch_up(store, entity)
            found_new = None if self._document is None else differing(self._document, document)
            for entry, origin in self._new_entries(found_new, document, ()):
                older = self.find(body_key(origin.body)) if origin is not None and entry.start in keys else None
                if older is not None:
                    found.setdefault(entry.start, older.moment)
        self._put_away(document)
        return found

    def _new_entries(
        self, found: Differing | None, new: Document, reworded: Iterable[str]
    ) -> list[tuple[Entry, Entry | None]]:
        """The entries whose words were never seen, and what each of them comes from."""
        if found is None:
            return [(entry, None) for entry in new.entries if self.find(body_key(entry.body)) is None]
        fresh = [entry for entry in found.new if self.find(body_key(entry.body)) is None]
        if not fresh:
            return []
        by_start = origins(found, {entry.start for entry in fresh}, frozenset(reworded))
        return [(entry, by_start.get(entry.start)) for entry in fresh]

    def _read(self, data: bytes) -> Document | None:
        try:
            return self._parse(data)
        except (NotUtf8Error, TooLargeError):
            return None  # what is no text has no entries; the next revision is compared with the one before it

    def _read_changed(self, old: Document, data: bytes) -> Document | None:
        try:
            return changed_document(old, data)
        except UnicodeDecodeError:
            return None

    def _at_hand(self, key: str) -> Known | None:
        """What is known of a body that the file has now: it is asked for again, so it is not left with what is gone."""
        found = self.known.get(key)
        if found is None and (found := self.gone.find(key)) is not None:
            self.known[key] = found
            self._fresh += 1
        return found

    def _put_away(self, document: Document) -> None:
        """Put away what is not in the document, if that may be much. It is found there whatever document is next."""
        if self._fresh <= _SPARE + len(document.entries):
            return
        there = {body_key(entry.body) for entry in document.entries}
        gone = {key: known for key, known in self.known.items() if key not in there}
        for key in gone.keys() - set(self.gone.add(gone)):
            del self.known[key]
        self._fresh = 0


def _seen(revision: Revision) -> Seen:
    return Seen(revision.sequence, revision.op_id, revision.revision)


def _moment(revision: Revision) -> Moment:
    """What dates the entries that a revision brings: an outsider's are as old as the file was that held them."""
    written = revision.note.get(FILE_TIME)
    if revision.agent == EXTERNAL and isinstance(written, str) and written <= revision.timestamp:
        return Moment("file_time", written)
    return Moment("first_seen", revision.timestamp)


def _told(told: object, key: str, before: str) -> Moment | None:
    """The moment that a note tells of an entry, if it does and it is not later than the note."""
    said = told.get(key) if isinstance(told, dict) else None
    basis, time = said if isinstance(said, list) and len(said) == len(Moment._fields) else (None, None)
    if basis not in {"first_seen", "file_time"} or not isinstance(time, str) or time > before:
        return None
    return Moment(basis, time)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
