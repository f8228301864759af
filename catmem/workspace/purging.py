"""Forget an entry for good: from its file, its history, what lies beside, and the copies in other profiles' files.

Of a declared entity, which has no entries, words are forgotten.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.config.config import DeclaredEntity
from catmem.config.json_schema import shown
from catmem.entities.content_redaction import ContentRedaction
from catmem.errors import BusyError, CatmemError, NoMatchError, UnreadableError
from catmem.files import read_bounded
from catmem.model.version import Version
from catmem.search.usage import USAGE_NAME, drop_gone
from catmem.seeding.lockfile import LOCK_LIMIT, SeedFile
from catmem.seeding.seed_lock import LOCK_NAME
from catmem.store.contract import PERSON, SIDECAR, Change, Erasure
from catmem.store.files.retention import MOVED, UNREADABLE
from catmem.text import unify_newlines
from catmem.workspace.history import entity_of
from catmem.workspace.redaction import Redaction, entries_near, is_purged, lines_with, needle_of, read, says
from catmem.workspace.root import entities_of_each
from catmem.workspace.stores import CONTENT_FILES, backend_of, locate, store_of_file
from catmem.workspace.upkeep import lasting_store, path_from
from catmem.writing import gate
from catmem.writing.matching import ambiguous, entries_holding, refuse_empty

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catmem.model.document import Entry
    from catmem.seeding.seed_lock import SeedLock, SeedRecord
    from catmem.store.contract import Kept, LastingStore
    from catmem.store.files.folder import Place
    from catmem.workspace.root import Root


_ROUNDS = 5
"""How often it is begun again, where another writer keeps writing or puts the text back."""

_STRAY = "catmem did not make it; see to it yourself"
_BACK = "it was written again meanwhile; purge once more"
_MEANWHILE = "another entry that holds the text was written meanwhile; look at it"


class LeftPlace(NamedTuple):
    """A place that holds what was to be forgotten, or may, as a path from the root; and why it was not reached."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What was forgotten, or would be, and where: ``entries`` has one of each body and category, the newest.

    ``elsewhere`` are those of other entities, each with the entity's name. ``files`` (rewritten), ``removed`` and the
    places of ``left`` are paths from the root. Of a declared entity ``places`` says where the words were in its content
    before: JSON pointers, or lines.
    """

    entities: tuple[str, ...]
    entries: tuple[Entry, ...]
    elsewhere: tuple[tuple[str, Entry], ...]
    revisions: int
    files: tuple[str, ...]
    removed: tuple[str, ...]
    left: tuple[LeftPlace, ...]
    dry_run: bool
    places: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data, without the text that was forgotten."""
        own = [(self.entities[0], entry) for entry in self.entries]
        return {
            "entities": list(self.entities),
            "entries": [
                {"entity": entity, "category": entry.category, "id": entry.id}
                for entity, entry in (*own, *self.elsewhere)
            ],
            "places": list(self.places),
            "revisions": self.revisions,
            "files": list(self.files),
            "removed": list(self.removed),
            "left": [{"path": left.path, "why": left.why} for left in self.left],
            "dry_run": self.dry_run,
        }


def purge(workspace: Root, entity: str, old_text: str, *, every: bool = False, dry_run: bool = False) -> PurgeReport:
    """Forget an entry for good: from the file, its history, retired files and backups, and wherever else it stands.

    Every entry of the entity that holds ``old_text``, now or at any revision, is forgotten; for an id, those with the
    body of that entry. Entries with the same bodies in the files of other profiles (a seeded copy) go too. What could
    not be reached is named. Raises ``NoMatchError``, and, without ``every``, ``AmbiguousError`` if entries of several
    bodies hold the text now. Of a declared entity ``old_text`` is words that are forgotten: raises ``EditError``
    (``in_key``, ``in_mark``).
    """
    # A refusal is on record under the entity too.
    named = entity if "/" in entity or ":" in entity else f"{entity}/user"
    with gate.checks(workspace, named, op="purge", agent=PERSON, recorded=not dry_run):
        store = lasting_store(workspace)
        name = entity_of(workspace, entity)
        declared = workspace.config.entities.get(name)
        if declared is None:
            entries = _entries_to_forget(workspace, store, name, old_text, every=every)
            redaction = _redaction(workspace, entries, old_text)
        else:
            entries, redaction = [], _words_to_forget(store, declared, old_text)
    places = redaction.places(store.peek(name)) if isinstance(redaction, ContentRedaction) else ()
    purging = _Purging(workspace, store, name, redaction, dry_run=dry_run)
    purging.forget(name)
    others = entities_of_each(workspace)
    if declared is None:
        for other in others.names:
            purging.forget_if_held(other)
        for other in others.names:
            purging.forget_if_held(other, unsure=True)
        purging.drop_usage()
        purging.forget_in_lock()
    else:
        purging.name_other_kind(declared, old_text)
    purging.pass_over(others.unreadable)
    for words in redaction.bodies if redaction.text is None else [redaction.text]:
        purging.name_others(words, [*workspace.config.entities, *(others.names if declared else ())])
    purging.verify()
    return replace(purging.report(entries), places=places)


def _words_to_forget(store: LastingStore, declared: DeclaredEntity, words: str) -> ContentRedaction:
    """What takes words out of a declared entity, if it may be done and anything ever held them."""
    refuse_empty(words)
    redaction = ContentRedaction(declared, words)
    redaction.without(store.peek(declared.name))
    if not _is_in(store, declared.name, redaction):
        message = f"nothing in {declared.name} holds {shown(words)}, and nothing ever did"
        raise NoMatchError(message, hint="Nothing was forgotten. Give the words as they are within one value or text.")
    return redaction


def _is_in(store: LastingStore, entity: str, redaction: Redaction) -> bool:
    """Whether the text that is there, any revision or what lies beside holds what is to be forgotten."""
    file = store.kept_name(entity)
    beside = (each.data for each in store.kept(entity) if each.kind != "stray" and each.file in {None, file})
    texts = chain([store.peek(entity)], (data for _, data in store.replay(entity)), beside)
    return any(map(redaction.holds, texts))


# --- which entries ------------------------------------------------------------------------------------------------


def _entries_to_forget(workspace: Root, store: LastingStore, entity: str, old_text: str, *, every: bool) -> list[Entry]:
    """One entry of each body and category, the newest."""
    refuse_empty(old_text)
    found = read(workspace.config.taxonomy.parse, store.peek(entity))
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
    if found and not every and len({says(entry) for entry in present}) > 1:
        error = ambiguous(found.document, old_text, present, entity, to_agent=False)
        error.hint = "Nothing was forgotten. --every forgets all. For one, give a longer piece of its text, or its id."
        raise error
    return _newest(entry for entry in (*present, *old) if says(entry) in bodies)


def _old_entries(  # noqa: PLR0913, PLR0917 - what is looked for, and where
    workspace: Root, store: LastingStore, entity: str, old_text: str, now: list[Entry], needle: bytes
) -> list[Entry]:
    """Entries that may have held the text at any time, the newest first."""
    known, unsure, moved = _past_entries(workspace, store, entity, needle)
    old = known
    if not entries_holding(old_text, [*now, *old]):
        # What a stopped process left, or a damaged journal, may be of any file of the folder: it is the last resort.
        old = [*old, *unsure]
    bodies = [says(entry) for entry in entries_holding(old_text, [*now, *old])]
    text = unify_newlines(old_text).strip()
    lines = (line for data in moved for line in lines_with(text, data))
    return [*old, *(line for line in lines if not any(line.raw in body for body in bodies))]


def _newest(entries: Iterable[Entry]) -> list[Entry]:
    distinct: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        distinct.setdefault((entry.category, says(entry)), entry)
    return list(distinct.values())


def _past_entries(
    workspace: Root, store: LastingStore, entity: str, needle: bytes
) -> tuple[list[Entry], list[Entry], list[bytes]]:
    """The entries with the needle that are kept of an entity, the newest first, one of each form in each category.

    First those that were in its file, then others of its folder, and files beside, which hold lines and no entries.
    """
    known, unsure = _Entries(workspace, needle), _Entries(workspace, needle)
    moved: list[bytes] = []
    file = store.kept_name(entity)
    for each in store.kept(entity):
        if each.kind == "moved":
            moved.append(each.data)
        elif each.kind != "stray" and each.file in {None, file}:
            # Its age is unknown: the revisions count as newer.
            (known if each.file else unsure).add(each.data)
    for _, data in store.replay(entity):
        known.add(data)
    return known.newest_first(), unsure.newest_first(), moved


class _Entries:
    """Collects the entries with a needle of texts that are given from the oldest to the newest."""

    def __init__(self, workspace: Root, needle: bytes) -> None:
        self._parse = workspace.config.taxonomy.parse
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
            held = (entry for entry in near if self._needle in entry.raw.encode())
            self._known[digest] = [entry for entry in held if not is_purged(entry)]
        for entry in self._known[digest]:
            self._found.pop((entry.category, entry.raw), None)
            self._found[entry.category, entry.raw] = entry

    def newest_first(self) -> list[Entry]:
        return list(reversed(self._found.values()))


def _redaction(workspace: Root, entries: Iterable[Entry], old_text: str) -> Redaction:
    bodies = {says(entry) for entry in entries}
    texts = (old_text, unify_newlines(old_text), unify_newlines(old_text).strip())
    text = next((text for text in texts if all(text in body for body in bodies)), None)
    needle = needle_of(text) if text is not None else needle_of(next(iter(bodies))) if len(bodies) == 1 else b""
    return Redaction(workspace.config.taxonomy.parse, bodies, needle=needle, text=text)


# --- where --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reached:
    """What a purge reached: files that it rewrote, those that it ``removed``, and what is ``left``, with the reason."""

    files: dict[Path, None] = field(default_factory=dict)
    removed: dict[Path, None] = field(default_factory=dict)
    left: dict[Path, str] = field(default_factory=dict)


class _Purging:
    def __init__(self, workspace: Root, store: LastingStore, name: str, redaction: Redaction, *, dry_run: bool) -> None:
        self.workspace = workspace
        self.store = store
        self.name = name
        self.redaction = redaction
        self.dry_run = dry_run
        self.entities: list[str] = []
        self.elsewhere: list[tuple[str, Entry]] = []
        self.revisions = 0
        self.reached = _Reached()

    def forget_if_held(self, entity: str, *, unsure: bool = False) -> None:
        """Forget the entries in another entity's file and history, if they are there. What fails is noted.

        With ``unsure`` for what lies beside and is of an unknown entity, so that it is looked at last.
        """
        if entity in self.entities:
            return
        try:
            if self._is_beside(entity, None) if unsure else self._note_elsewhere(entity):
                self.forget(entity)
        except CatmemError as error:
            path = self._path(entity) if error.path is None else Path(error.path)
            self.reached.left.setdefault(path, error.message)

    def pass_over(self, unreadable: Iterable[CatmemError]) -> None:
        """Note the profiles that are not right: where their files are is unknown, and whether they hold the text."""
        for error in unreadable:
            path = Path(error.path or self.workspace.config.profiles_dir)
            why = f"this profile is not right, so its files were not looked at: {error.message}"
            self.reached.left.setdefault(path, why)

    def _note_elsewhere(self, entity: str) -> bool:
        """Whether an entity has such entries, or had; its newest of each are noted."""
        found: list[Entry] = []
        in_notes = False
        for recorded, data in self.store.replay(entity):
            found[:0] = self.redaction.entries(data)
            in_notes = in_notes or self.redaction.note(recorded.note, data) != recorded.note
        found[:0] = self.redaction.entries(self.store.peek(entity))
        self.elsewhere += [(entity, entry) for entry in _newest(found)]
        return bool(found) or in_notes or self._is_beside(entity, self.store.kept_name(entity))

    def name_others(self, words: str, entities: Iterable[str]) -> None:
        """Note the entities that hold words and are not purged here; also those that cannot be read."""
        for entity in entities:
            declared = self.workspace.config.entities.get(entity, DeclaredEntity(entity, "text"))
            try:
                if entity not in self.entities and _is_in(self.store, entity, ContentRedaction(declared, words)):
                    self.reached.left.setdefault(self._path(entity), f"{entity} holds the words too: purge it there")
            except CatmemError as error:
                self.reached.left.setdefault(self._path(entity), error.message)

    def name_other_kind(self, declared: DeclaredEntity, words: str) -> None:
        """Note the file that an entity had while it was declared with another content, if that holds the words."""
        for kind, file in CONTENT_FILES.items() if backend_of(self.workspace.config).has_files else ():
            path = self._path(declared.name).with_name(file)
            redaction = ContentRedaction(declared._replace(content=kind), words)
            if kind != declared.content and _is_in(store_of_file(self.workspace.config, path), file, redaction):
                said = f"{declared.name} with content: {kind} holds the words too"
                self.reached.left[path] = f"{said}; declare it so, and purge once more"

    def _is_beside(self, entity: str, file: str | None) -> bool:
        """Whether what is kept beside, and is of ``file``, holds them and was not noted yet."""
        noted = {*self.reached.files, *self.reached.removed, *self.reached.left}
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
        erasure = Erasure(self.redaction, moved, partial(self._holds, entity), self.redaction.note)
        left: dict[Path, str] = {}
        for number in range(1, _ROUNDS + 1):
            try:
                # The file itself first, as a revision of its own.
                change = Change(op="purge", agent=PERSON)
                gate.commit(self.workspace, entity, None, lambda now: self.redaction.without(now.data), change)
                erased = self.store.erase(entity, erasure)
            except BusyError:
                if number == _ROUNDS:
                    raise
                continue
            self.revisions += erased.revisions
            self.reached.files |= dict.fromkeys(erased.rewritten)
            self.reached.removed |= dict.fromkeys(erased.removed)
            left = {each.path: each.why for each in erased.left}
            if not self._is_back(entity):
                break
        self.reached.left |= left

    def _is_back(self, entity: str) -> bool:
        """Whether the text was written again, to the file or into the history."""
        texts = chain([self.store.peek(entity)], (data for _, data in self.store.replay(entity)))
        return any(self.redaction.holds(data) for data in texts)

    def _foretell(self, entity: str) -> None:
        self.revisions += sum(self.redaction.holds(data) for _, data in self.store.replay(entity))
        for each in self.store.kept(entity):
            holds = self._holds(entity, each)
            if each.kind in {"backup", "moved"} and holds:
                self.reached.files[each.path] = None
            elif each.kind == "torn" or (each.kind not in {"backup", "moved", "stray"} and (holds or not each.whole)):
                self.reached.removed[each.path] = None

    def _holds(self, entity: str, each: Kept) -> bool:
        """Whether a text that is kept in the folder of an entity holds what is to be forgotten there."""
        data, own = each.data, entity == self.name
        if each.kind in {"moved", "stray"}:
            return self.redaction.lines(data, with_text=own and each.kind == "moved") != data
        if self.redaction.holds(data):
            return True
        if each.file is not None:
            return False
        # Half of a text, or one of an unknown file.
        return (own and self.redaction.holds_text(data)) or (each.kind == "left" and self.redaction.is_cut(data))

    def drop_usage(self) -> None:
        parse = self.workspace.config.taxonomy.parse
        for entity in () if self.dry_run else self.entities:
            found = read(parse, self.store.peek(entity))
            try:
                drop_gone(self.workspace, entity, found.document if found else parse(b""))
            except (OSError, UnreadableError) as error:
                why = f"it cannot be written: {error.strerror}" if isinstance(error, OSError) else error.message
                self.reached.left.setdefault(self.workspace.root / SIDECAR / USAGE_NAME, why)

    def forget_in_lock(self) -> None:
        """Take the entries out of what the root keeps of its seeds."""
        _purge_lock(self.workspace.root, self.name, self.redaction, self.reached, dry_run=self.dry_run)

    # --- afterwards ---------------------------------------------------------------------------------------------

    def verify(self) -> None:
        """Look through all files of the folders once more, and name what still holds the text."""
        for entity in self.entities:
            if not self.dry_run:
                self._verify_texts(entity)
            for each in self.store.kept(entity):
                if each.kind == "stray":
                    if not self._is_of_an_entity(each.path) and (not each.whole or self._holds(entity, each)):
                        self.reached.left.setdefault(each.path, _STRAY)
                elif not self.dry_run and (not each.whole or self._holds(entity, each)):
                    self.reached.left.setdefault(each.path, _BACK if each.whole else UNREADABLE)

    def _verify_texts(self, entity: str) -> None:
        path, journal = self._path(entity), self.store.history_place(entity)
        texts = chain([(path, self.store.peek(entity))], ((journal, data) for _, data in self.store.replay(entity)))
        for where, data in texts:
            if self.redaction.holds(data):
                self.reached.left.setdefault(where, _BACK)
            elif entity == self.name and self.redaction.holds_text(data):
                self.reached.left.setdefault(where, _MEANWHILE)

    def _path(self, entity: str) -> Path:
        return Path(self.store.place(entity))

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
        config, profile = self.workspace.config, self.workspace.profile
        return [locate(config, profile, entity) for entity in entities_of_each(self.workspace).names]

    def report(self, entries: list[Entry]) -> PurgeReport:
        return PurgeReport(
            entities=tuple(self.entities),
            entries=tuple(entries),
            elsewhere=tuple(self.elsewhere),
            revisions=self.revisions,
            files=self._paths(self.reached.files),
            removed=self._paths(self.reached.removed),
            left=tuple(map(LeftPlace, self._paths(self.reached.left), self.reached.left.values())),
            dry_run=self.dry_run,
        )

    def _paths(self, paths: Iterable[Path]) -> tuple[str, ...]:
        return tuple(path_from(self.workspace.root, path) for path in paths)


_BY_HAND = "take the text out by hand, or remove the file: a seed makes it again"

_ESCAPES = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+")


# --- the lock of seeds ---------------------------------------------------------------------------------------------


def _purge_lock(root: Path, entity: str, redaction: Redaction, reached: _Reached, *, dry_run: bool) -> None:
    """Take the entries that are forgotten out of the lock of ``root``, and remove copies of it that hold them.

    An entry goes if its body is one of those; of what was seeded from or to ``entity`` also if it holds the text by
    which they were chosen. A lock that is not whole cannot be taken apart: it is left, and named.
    """
    file = SeedFile(root)
    try:
        if dry_run:
            _purge_records(file, entity, redaction, reached, dry_run=True)
        elif _concerns(*file.read(), entity, redaction):
            with file.held():  # a root that may not be written has a lock that need not be, too
                _purge_records(file, entity, redaction, reached, dry_run=False)
    except CatmemError as error:
        reached.left[file.path] = error.message
    for path in sorted([*root.glob(f"{LOCK_NAME}.bak.*"), *root.glob(f".{LOCK_NAME}*")]):
        _purge_copy(path, redaction, reached, dry_run=dry_run)


def _concerns(data: bytes, lock: SeedLock, entity: str, redaction: Redaction) -> bool:
    """Whether a lock has something that is forgotten, however its JSON spells it."""
    return bool(_texts(lock, entity, redaction)) or _holds(data, redaction)


def _purge_records(file: SeedFile, entity: str, redaction: Redaction, reached: _Reached, *, dry_run: bool) -> None:
    data, lock = file.read()
    if not _concerns(data, lock, entity, redaction):
        return
    if lock.notes:
        reached.left[file.path] = f"{lock.notes[0]}; {_BY_HAND}"
        return
    purged = lock.without(_texts(lock, entity, redaction))
    if purged.to_text().encode() == data:
        return
    if not dry_run:
        file.write(data, purged)
    reached.files[file.path] = None


def _texts(lock: SeedLock, entity: str, redaction: Redaction) -> set[str]:
    return {
        text
        for record in lock.records.values()
        for each in record.entries
        for text in (each.text, each.kept)
        if text is not None and _is_one(record, text, entity, redaction)
    }


def _is_one(record: SeedRecord, text: str, entity: str, redaction: Redaction) -> bool:
    body = Version.read("", text).body
    own = entity in {record.target, record.source}
    return (body or text) in redaction.bodies or (own and redaction.text is not None and redaction.text in body)


def _holds(data: bytes, redaction: Redaction) -> bool:
    """Whether a file may hold the text, as it is or as JSON writes it."""
    written = json.dumps(redaction.needle.decode(errors="replace"), ensure_ascii=False)[1:-1].encode()
    # Any character may be spelled as an escape, also in a file that is not whole.
    plain = _ESCAPES.sub(_unescaped, data)
    return bool(data) and any(needle in each for needle in (redaction.needle, written) for each in (data, plain))


def _unescaped(found: re.Match[bytes]) -> bytes:
    r"""What a run of ``\u`` escapes stands for; as ``json.dumps`` writes it, where it must write an escape."""
    units = bytes.fromhex(found[0].replace(b"\\u", b"").decode())
    return json.dumps(units.decode("utf-16-be", "replace"), ensure_ascii=False)[1:-1].encode()


def _purge_copy(path: Path, redaction: Redaction, reached: _Reached, *, dry_run: bool) -> None:
    """Remove a copy that catmem made of a lock, or left of one, if it may hold the text."""
    try:
        if not _holds(read_bounded(path, LOCK_LIMIT), redaction):
            return
        if not dry_run:
            path.unlink()
    except (CatmemError, OSError) as error:
        reached.left[path] = error.message if isinstance(error, CatmemError) else str(error.strerror)
    else:
        reached.removed[path] = None
