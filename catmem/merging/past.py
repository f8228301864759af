"""The past of one entity: its revisions and what they say, each read once, and what is ahead of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count, pairwise
from typing import Any

from catmem.digest import bytes_digest
from catmem.entities.contents import ContentConflict, says_at
from catmem.errors import CatmemError, EditError
from catmem.model.document import Document, Version
from catmem.model.merge import Conflict, Merge, Precedence, Side, merge_linked
from catmem.model.pairing import Links, equal_entries, pair_entries
from catmem.store.contract import EXTERNAL, Revision, merge_bases, unknown_revision
from catmem.workspace.root import Root
from catmem.writing.matching import parse_for_write

_LONGEST_WAY = 256
"""So many revisions are looked through at most for what became of an entry; beyond, the texts alone tell."""

NOW = "now"
"""The name of what is there and in no record yet."""


class MergeHistory:
    """What one merge looks at. Revisions that are not recorded yet can stand before the others."""

    def __init__(self, workspace: Root, entity: str) -> None:
        """The past as the store has it now. ``head`` names what is there, ``data`` are its bytes."""
        self.entity = entity
        self._store, self._parse = workspace.store, workspace.parse
        now, head = self._store.read(entity), self._store.head(entity)
        self.data, self.digest = now.data, now.digest
        self._rest = self._store.log(entity)
        self._recorded: list[Revision] = []
        self._ahead: list[Revision] = []
        self._by_name: dict[str, Revision] = {}
        self._documents: dict[str, Document] = {}
        self.head = now.revision if now.revision is not None else NOW
        if now.revision is None:
            self.put(NOW, () if head is None else (head.revision,), EXTERNAL, now.data)

    def put(self, name: str, parents: tuple[str, ...], agent: str, data: bytes) -> None:
        """Set a revision that is not recorded before all others."""
        newest = next(self.log(), None)
        revision = Revision(
            entity=self.entity,
            revision=name,
            parents=parents,
            sequence=1 if newest is None else newest.sequence + 1,
            timestamp="",
            op="merge",
            agent=agent,
            op_id="",
            digest=bytes_digest(data),
            size=len(data),
        )
        self._ahead.insert(0, revision)
        self._by_name[name] = revision
        self._documents[name] = parse_for_write(self._parse, self.entity, data)

    def log(self) -> Iterator[Revision]:
        """All revisions, the newest first, each read from the store once."""
        yield from list(self._ahead)
        for place in count():
            if place == len(self._recorded):
                revision = next(self._rest, None)
                if revision is None:
                    return
                self._recorded.append(revision)
                self._by_name[revision.revision] = revision
            yield self._recorded[place]

    def record(self, name: str) -> Revision:
        """One revision. Raises ``UnknownRevisionError``."""
        if name not in self._by_name and all(each.revision != name for each in self.log()):
            raise unknown_revision(self.entity, name)
        return self._by_name[name]

    def document(self, name: str) -> Document:
        """What a revision says. Raises ``DriftError`` for what is no text, and ``UnknownRevisionError``."""
        if name not in self._documents:
            data = self.data if name == self.head else self._store.read(self.entity, name).data
            self._documents[name] = parse_for_write(self._parse, self.entity, data)
        return self._documents[name]

    def bases(self, one: str, other: str) -> list[str]:
        """The best common ancestors of two revisions."""
        return merge_bases(self.log(), one, other)

    def base(self, one: str, other: str) -> Document:
        """What two revisions come from. Raises ``EditError`` (``not_possible``) if that is several, none the newer."""
        names = self.bases(one, other)
        if len(names) > 1:
            raise EditError(
                f"{one} and {other} of {self.entity} were merged crosswise, and come from {' and '.join(names)} alike",
                code="not_possible",
                hint="Nothing was written. Write what is to be there, and drop the branch (--drop).",
            )
        return self.document(names[0]) if names else self._parse(b"")

    def merge(self, one: str, other: str, precedence: Precedence | None = None) -> Merge:
        """The merge of two revisions. Raises ``DriftError`` for what is no text; ``EditError`` (``not_possible``)."""
        base, ours, theirs = self.base(one, other), self.document(one), self.document(other)
        return merge_linked(base, ours, theirs, self.links(one, other), precedence=precedence)

    def links(self, one: str, other: str) -> tuple[Links | None, Links | None]:
        """What became of the entries of the base in each of two revisions, as far as their histories tell."""
        bases = self.bases(one, other)
        return (self._links(bases[0], one), self._links(bases[0], other)) if bases else (None, None)

    def _links(self, base: str, tip: str) -> Links | None:
        """What became of the entries of ``base`` on the way to ``tip``, as far as the records of the edits tell."""
        names = self._way(base, tip)
        if names is None:
            return None
        links: dict[int, int | None] = {index: index for index in range(len(self.document(base).entries))}
        for before, name in pairwise(names):
            step = _step(self.document(before), self.document(name), self.record(name).note)
            links = {
                index: None if place is None else step[place]
                for index, place in links.items()
                if place is None or place in step
            }
        return links

    def _way(self, base: str, tip: str) -> list[str] | None:
        """The revisions from ``base`` to ``tip`` by first parents; ``None`` if these lead elsewhere, or are many."""
        names = [tip]
        while names[-1] != base:
            parents = self.record(names[-1]).parents
            if not parents or len(names) == _LONGEST_WAY:
                return None
            names.append(parents[0])
        return names[::-1]

    def last_change(self, tip: str, so: Callable[[Document], bool]) -> Revision:
        """The oldest revision from which on something was so without a break, along any line that leads to ``tip``."""
        revision = self.record(tip)
        while True:
            before = next((name for name in revision.parents if self._was(so, name)), None)
            if before is None:
                return revision
            revision = self.record(before)

    def _was(self, so: Callable[[Document], bool], name: str) -> bool:
        try:
            return so(self.document(name))
        except CatmemError:
            return False  # it is no longer kept, or says nothing that can be read


def _step(before: Document, after: Document, note: Mapping[str, Any]) -> Links:
    """What became of the entries of one revision in the next: by its actions, else by what is sure without them."""
    pairs: dict[int, int | None] = {**equal_entries(before.entries, after.entries)}
    put = set(pairs.values())
    gone = [index for index in range(len(before.entries)) if index not in pairs]
    come = [index for index in range(len(after.entries)) if index not in put]
    actions = note.get("actions", ())
    is_one = len(actions) == 1 and "envelope" not in note  # of several, none tells which entry it was made on
    if is_one and actions[0]["action"] == "replace" and len(gone) == len(come) == 1:
        pairs[gone[0]] = come[0]
    elif come and not is_one:
        return pair_entries(before.entries, after.entries)
    return {index: pairs.get(index) for index in range(len(before.entries))}


def is_so(conflict: Conflict | ContentConflict, side: Side, base: Document) -> Callable[[Document], bool]:
    """Whether a document says of the entry, or at the place, what one side of a conflict does."""
    if isinstance(conflict, ContentConflict):
        said = getattr(conflict, side)
        return lambda document: says_at(document.to_bytes(), conflict.place) == said
    version: Version | None = getattr(conflict, side)
    if conflict.reason == "title":
        title = None if version is None else version.text
        return lambda document: document.title == title
    if version is not None:
        wanted = version
        return lambda document: any(
            entry.category == wanted.category and entry.body == wanted.body and entry.tags == wanted.tags
            for entry in document.entries
        )
    places = [index for index, entry in enumerate(base.entries) if Version.from_entry(entry) == conflict.base]
    return lambda document: any(index not in pair_entries(base.entries, document.entries) for index in places)
