"""Forget an entry for good: from its file, its history, what lies beside, and the copies in other profiles' files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import BusyError, CatmemError, NoMatchError, UnreadableError
from catmem.policy.schema import shown
from catmem.service import gate
from catmem.service.history import entity_of
from catmem.service.profile_memory import parse_file
from catmem.service.profiles import entities_of_each
from catmem.service.purging.redaction import Redaction, entries_near, is_purged, lines_with, needle_of, read, says
from catmem.service.purging.seeds import purge_lock
from catmem.service.stores import locate
from catmem.service.upkeep import lasting_store, told_from
from catmem.service.usage import USAGE_NAME, drop_gone
from catmem.service.writing.matching import ambiguous, entries_holding, refuse_empty
from catmem.store.contract import Change
from catmem.store.files.erasing import UNREADABLE
from catmem.store.files.kept import MOVED
from catmem.store.lasting import SIDECAR, Erasure
from catmem.text import unify_newlines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catmem.model.document import Entry
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Current
    from catmem.store.files.folder import Place
    from catmem.store.lasting import Kept, LastingStore

_ROUNDS = 5
"""How often it is begun again, where somebody keeps writing or puts the text back."""

_STRAY = "catmem did not make it; see to it yourself"
_BACK = "it was written again meanwhile; purge once more"
_MEANWHILE = "another entry that holds the text was written meanwhile; look at it"


class Left(NamedTuple):
    """A place that holds what was to be forgotten, or may, told from the root; and why it was not reached."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What was forgotten, or would be, and where: ``entries`` has one of each body and category, the newest.

    ``elsewhere`` are those of other entities, each with the entity's name. ``files`` (rewritten), ``removed`` and the
    places of ``left`` are told from the root.
    """

    entities: tuple[str, ...]
    entries: tuple[Entry, ...]
    elsewhere: tuple[tuple[str, Entry], ...]
    revisions: int
    files: tuple[str, ...]
    removed: tuple[str, ...]
    left: tuple[Left, ...]
    dry_run: bool

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data, without the text that was forgotten."""
        own = [(self.entities[0], entry) for entry in self.entries]
        return {
            "entities": list(self.entities),
            "entries": [
                {"entity": entity, "category": entry.category, "id": entry.id}
                for entity, entry in (*own, *self.elsewhere)
            ],
            "revisions": self.revisions,
            "files": list(self.files),
            "removed": list(self.removed),
            "left": [{"path": left.path, "why": left.why} for left in self.left],
            "dry_run": self.dry_run,
        }


def purge(workspace: Workspace, entity: str, old_text: str, *, dry_run: bool = False) -> PurgeReport:
    """Forget an entry for good: from the file, its history, retired files and backups, and wherever else it stands.

    Every entry of the entity that holds ``old_text``, now or at any revision, is forgotten; for an id, those with the
    body of that entry. Entries with the same bodies in the files of other profiles (a seeded copy) go too. What could
    not be reached is named. Raises ``NoMatchError``, and ``AmbiguousError`` if entries of several bodies hold the text
    now.
    """
    with gate.checks(workspace, entity, op="purge", agent="person", recorded=not dry_run):
        store = lasting_store(workspace)
        name = entity_of(workspace, entity)
        entries = _entries_to_forget(workspace, store, name, old_text)
    purging = _Purging(workspace, store, name, _redaction(workspace, entries, old_text), dry_run=dry_run)
    purging.forget(name)
    others = entities_of_each(workspace)
    for other in others.names:
        purging.forget_if_held(other)
    for other in others.names:
        purging.forget_if_held(other, unsure=True)
    purging.pass_over(others.unreadable)
    purging.drop_usage()
    purging.forget_in_lock()
    purging.verify()
    return purging.report(entries)


# --- which entries ------------------------------------------------------------------------------------------------


def _entries_to_forget(workspace: Workspace, store: LastingStore, entity: str, old_text: str) -> list[Entry]:
    """One entry of each body and category, the newest."""
    refuse_empty(old_text)
    found = read(partial(parse_file, workspace.config), store.peek(entity))
    now = [entry for entry in found.document.entries if not is_purged(entry)] if found else []
    named = [entry for entry in now if entry.id == old_text] if old_text.startswith("b2:") else []
    # An id is no text that any file holds: where no entry has it now, every revision is looked through.
    needle = needle_of(says(named[0])) if named else b"" if old_text.startswith("b2:") else needle_of(old_text)
    old = _old_entries(workspace, store, entity, old_text, now, needle)
    holding = entries_holding(old_text, [*now, *old])
    if not holding:
        raise NoMatchError(
            f"no entry of {entity} holds {shown(old_text)}, and none ever did", hint="Nothing was forgotten."
        )
    bodies = {says(entry) for entry in holding}
    present = [entry for entry in now if says(entry) in bodies]
    if found and len({says(entry) for entry in present}) > 1:
        error = ambiguous(found.document, old_text, present, entity, to_agent=False)
        error.hint = "Nothing was forgotten. Give a longer piece of the text, or the id of the entry."
        raise error
    return _newest(entry for entry in (*present, *old) if says(entry) in bodies)


def _old_entries(  # noqa: PLR0913, PLR0917 - what is looked for, and where
    workspace: Workspace, store: LastingStore, entity: str, old_text: str, now: list[Entry], needle: bytes
) -> list[Entry]:
    """Entries that may have held the text at any time, the newest first."""
    past = _past_entries(workspace, store, entity, needle)
    old = past.known
    if not entries_holding(old_text, [*now, *old]):
        # What a stopped process left, or a damaged journal, may be of any file of the folder: it is the last resort.
        old = [*old, *past.unsure]
    bodies = [says(entry) for entry in entries_holding(old_text, [*now, *old])]
    text = unify_newlines(old_text).strip()
    moved = [line for data in past.moved for line in lines_with(text, data)]
    return [*old, *(line for line in moved if not any(line.raw in body for body in bodies))]


def _newest(entries: Iterable[Entry]) -> list[Entry]:
    """The first entry of each category and body."""
    distinct: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        distinct.setdefault((entry.category, says(entry)), entry)
    return list(distinct.values())


class _Past(NamedTuple):
    """Entries that are no longer in the file, the newest first: those ``known`` to have been in it, and others.

    ``moved`` are files beside, which hold lines and no entries.
    """

    known: list[Entry]
    unsure: list[Entry]
    moved: list[bytes]


def _past_entries(workspace: Workspace, store: LastingStore, entity: str, needle: bytes) -> _Past:
    """The entries of all that is kept of an entity and has the needle: one of each form in each category."""
    known, unsure = _Entries(workspace, needle), _Entries(workspace, needle)
    moved: list[bytes] = []
    file = store.kept_name(entity)
    for each in store.kept(entity):
        if each.kind == "moved":
            moved.append(each.data)
        elif each.kind != "stray" and each.file in {None, file}:
            # Nobody knows how old it is: the revisions count as newer.
            (known if each.file else unsure).add(each.data)
    for _, data in store.replay(entity):
        known.add(data)
    return _Past(known.newest_first(), unsure.newest_first(), moved)


class _Entries:
    """Collects the entries with a needle of texts that are given from the oldest to the newest."""

    def __init__(self, workspace: Workspace, needle: bytes) -> None:
        self._parse = partial(parse_file, workspace.config)
        self._needle = needle
        self._found: dict[tuple[str, str], Entry] = {}
        self._known: dict[bytes, list[Entry]] = {}

    def add(self, data: bytes) -> None:
        if self._needle not in data:
            return
        digest = sha256(data).digest()
        if digest not in self._known:
            found = read(self._parse, data)
            near = entries_near(found.document, self._needle) if found else ()
            self._known[digest] = [
                entry for entry in near if self._needle in entry.raw.encode() and not is_purged(entry)
            ]
        for entry in self._known[digest]:
            self._found.pop((entry.category, entry.raw), None)
            self._found[entry.category, entry.raw] = entry

    def newest_first(self) -> list[Entry]:
        return list(reversed(self._found.values()))


def _redaction(workspace: Workspace, entries: Iterable[Entry], old_text: str) -> Redaction:
    bodies = {says(entry) for entry in entries}
    texts = (old_text, unify_newlines(old_text), unify_newlines(old_text).strip())
    text = next((text for text in texts if all(text in body for body in bodies)), None)
    needle = needle_of(text) if text is not None else needle_of(next(iter(bodies))) if len(bodies) == 1 else b""
    return Redaction(partial(parse_file, workspace.config), bodies, needle=needle, text=text)


def _place(workspace: Workspace, entity: str) -> Place:
    return locate(workspace.config, workspace.profile, entity)


# --- where --------------------------------------------------------------------------------------------------------


class _Purging:
    """One purge: goes through the entities, and notes what goes and what is left."""

    def __init__(
        self, workspace: Workspace, store: LastingStore, name: str, redaction: Redaction, *, dry_run: bool
    ) -> None:
        self.workspace = workspace
        self.store = store
        self.name = name
        self.redaction = redaction
        self.dry_run = dry_run
        self.entities: list[str] = []
        self.elsewhere: list[tuple[str, Entry]] = []
        self.revisions = 0
        self.files: dict[Path, None] = {}
        self.removed: dict[Path, None] = {}
        self.left: dict[Path, str] = {}

    def forget_if_held(self, entity: str, *, unsure: bool = False) -> None:
        """Forget the entries in another entity's file and history, if they are there. What fails is noted.

        With ``unsure`` for what lies beside and nobody knows of which entity, so that it is looked at last.
        """
        if entity in self.entities:
            return
        try:
            if self._is_beside(entity, None) if unsure else self._note_elsewhere(entity):
                self.forget(entity)
        except CatmemError as error:
            path = self._path(entity) if error.path is None else Path(error.path)
            self.left.setdefault(path, error.message)

    def pass_over(self, unreadable: Iterable[CatmemError]) -> None:
        """Note the profiles that are not right: nobody knows where their files are, or whether the text is there."""
        for error in unreadable:
            path = Path(error.path or self.workspace.config.profiles_dir)
            why = f"this profile is not right, so its files were not looked at: {error.message}"
            self.left.setdefault(path, why)

    def _note_elsewhere(self, entity: str) -> bool:
        """Whether an entity has such entries, or had; its newest of each are noted."""
        found: list[Entry] = []
        for _, data in self.store.replay(entity):
            found[:0] = self.redaction.entries(data)
        found[:0] = self.redaction.entries(self.store.peek(entity))
        self.elsewhere += [(entity, entry) for entry in _newest(found)]
        return bool(found) or self._is_beside(entity, self.store.kept_name(entity))

    def _is_beside(self, entity: str, file: str | None) -> bool:
        """Whether what is kept beside, and is of ``file``, holds them and was not noted yet."""
        noted = {*self.files, *self.removed, *self.left}
        return any(
            each.kind != "stray" and each.file == file and each.path not in noted and self._holds(entity, each)
            for each in self.store.kept(entity)
        )

    def forget(self, entity: str) -> None:
        """Forget the entries in the file, the history and all that is kept of an entity."""
        self.entities.append(entity)
        if self.dry_run:
            self._foretell(entity)
            return
        moved = self.redaction.lines if entity != self.name else partial(self.redaction.lines, with_text=True)
        erasure = Erasure(self.redaction, moved, partial(self._holds, entity))
        left: dict[Path, str] = {}
        for number in range(1, _ROUNDS + 1):
            try:
                self._remove(entity)
                erased = self.store.erase(entity, erasure)
            except BusyError:
                if number == _ROUNDS:
                    raise
                continue
            self.revisions += erased.revisions
            self.files |= dict.fromkeys(erased.rewritten)
            self.removed |= dict.fromkeys(erased.removed)
            left = {each.path: each.why for each in erased.left}
            if not self._is_back(entity):
                break
        self.left |= left

    def _remove(self, entity: str) -> None:
        """Take the entries out of the file itself, as a revision of their own."""

        def update(current: Current) -> bytes:
            return self.redaction.without(current.data)

        gate.commit(self.workspace, entity, None, update, Change(op="purge", agent="person"))

    def _is_back(self, entity: str) -> bool:
        """Whether somebody wrote the text again, to the file or into the history."""
        texts = chain([self.store.peek(entity)], (data for _, data in self.store.replay(entity)))
        return any(self.redaction.holds(data) for data in texts)

    def _foretell(self, entity: str) -> None:
        """Note what would go."""
        self.revisions += sum(self.redaction.holds(data) for _, data in self.store.replay(entity))
        for each in self.store.kept(entity):
            holds = self._holds(entity, each)
            if each.kind in {"backup", "moved"} and holds:
                self.files[each.path] = None
            elif each.kind == "torn" or (each.kind not in {"backup", "moved", "stray"} and (holds or not each.whole)):
                self.removed[each.path] = None

    def _holds(self, entity: str, each: Kept) -> bool:
        """Whether a text that is kept in the folder of an entity holds what is to be forgotten there."""
        data, own = each.data, entity == self.name
        if each.kind in {"moved", "stray"}:
            return self.redaction.lines(data, with_text=own and each.kind == "moved") != data
        if self.redaction.holds(data):
            return True
        if each.file is not None:
            return False
        # Half of a text, or one of nobody knows which file.
        return (own and self.redaction.holds_text(data)) or (each.kind == "left" and self.redaction.is_cut(data))

    def drop_usage(self) -> None:
        """Remove how often the entries were used."""
        parse = partial(parse_file, self.workspace.config)
        for entity in () if self.dry_run else self.entities:
            found = read(parse, self.store.peek(entity))
            try:
                drop_gone(self.workspace, entity, found.document if found else parse(b""))
            except (OSError, UnreadableError) as error:
                why = f"it cannot be written: {error.strerror}" if isinstance(error, OSError) else error.message
                self.left.setdefault(self.workspace.root / SIDECAR / USAGE_NAME, why)

    def forget_in_lock(self) -> None:
        """Take the entries out of what the root keeps of its seeds."""
        done = purge_lock(self.workspace.root, self.name, self.redaction, dry_run=self.dry_run)
        self.files |= dict.fromkeys(done.files)
        self.removed |= dict.fromkeys(done.removed)
        self.left |= done.left

    # --- afterwards ---------------------------------------------------------------------------------------------

    def verify(self) -> None:
        """Look through all files of the folders once more, and name what still holds the text."""
        for entity in self.entities:
            if not self.dry_run:
                self._verify_texts(entity)
            for each in self.store.kept(entity):
                if each.kind == "stray":
                    if not self._is_of_an_entity(each.path) and (not each.whole or self._holds(entity, each)):
                        self.left.setdefault(each.path, _STRAY)
                elif not self.dry_run and (not each.whole or self._holds(entity, each)):
                    self.left.setdefault(each.path, _BACK if each.whole else UNREADABLE)

    def _verify_texts(self, entity: str) -> None:
        path, journal = self._path(entity), self.store.history_place(entity)
        texts = chain([(path, self.store.peek(entity))], ((journal, data) for _, data in self.store.replay(entity)))
        for where, data in texts:
            if self.redaction.holds(data):
                self.left.setdefault(where, _BACK)
            elif entity == self.name and self.redaction.holds_text(data):
                self.left.setdefault(where, _MEANWHILE)

    def _path(self, entity: str) -> Path:
        owner, _, target = entity.partition("/")
        return self.workspace.path(owner, target)

    def _is_of_an_entity(self, path: Path) -> bool:
        """Whether a file is a memory file, or was made beside one: then it is looked at with that entity."""
        name = path.name
        places = [place.name for place in self._places if place.path.parent == path.parent]
        return any(
            name in {each, f"{each}.lock", Path(each).stem + MOVED} or name.startswith(f"{each}.bak.")
            for each in places
        )

    @cached_property
    def _places(self) -> list[Place]:
        return [_place(self.workspace, entity) for entity in entities_of_each(self.workspace).names]

    def report(self, entries: list[Entry]) -> PurgeReport:
        """What was done, or would be."""
        return PurgeReport(
            entities=tuple(self.entities),
            entries=tuple(entries),
            elsewhere=tuple(self.elsewhere),
            revisions=self.revisions,
            files=self._told(self.files),
            removed=self._told(self.removed),
            left=tuple(Left(path, why) for path, why in zip(self._told(self.left), self.left.values(), strict=True)),
            dry_run=self.dry_run,
        )

    def _told(self, paths: Iterable[Path]) -> tuple[str, ...]:
        return tuple(told_from(self.workspace.root, path) for path in paths)
