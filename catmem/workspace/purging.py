"""Forget an entry for good: from its file, its history, what lies beside, and the copies in other profiles' files.

Of a declared entity, which has no entries, words are forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, cast

from catmem.config.config import DeclaredEntity
from catmem.config.profile import profile_names
from catmem.digest import bytes_digest
from catmem.errors import BusyError, CatmemError, DamagedError, EditError, NoMatchError, UnreadableError
from catmem.files import real_path
from catmem.linting.renderers import mask_secrets
from catmem.model.document import Entry, Version
from catmem.names import FILE_NAMES, PURGED
from catmem.seeding.lockfile import SeedFile
from catmem.seeding.seed_lock import LOCK_NAME, SeedLock, SeedRecord
from catmem.store.contract import EXTERNAL, PERSON, Change, Erasure, Kept, LastingStore, writer_of
from catmem.store.files.retention import UNREADABLE
from catmem.store.table_rows import copies, rows_saying
from catmem.text import first_line, unify_newlines
from catmem.workspace.copying import store_at
from catmem.workspace.history import entity_of
from catmem.workspace.redaction import (
    ContentRedaction,
    Redaction,
    entries_with,
    is_purged,
    needle_of,
    read,
    refuse_mark,
    said_in,
    says,
    spelled,
)
from catmem.workspace.root import Root, audit_log, entities_of_each
from catmem.workspace.stores import CONTENT_FILES, backend_of, other_stores, store_of_file
from catmem.workspace.upkeep import lasting_store, path_from, unowned_homes
from catmem.writing import gate
from catmem.writing.matching import ambiguous, entries_holding, refuse_empty

_ROUNDS = 5
"""How often it is begun again, where another writer keeps writing or puts the text back."""

_UNERASABLE = frozenset({"journal_damaged", "log_damaged", "log_end"})
"""Damages of a history for which no store rewrites it: what is missing or broken may be the text itself."""

_OTHER = "another store of this root holds the words too; remove it, or name it in catmem.yaml and purge again"
_NO_PROFILE = "it belongs to no profile; give it one and purge again, or remove it"
_STRAY = "catmem did not make it; see to it yourself"
_BACK = "it was written again meanwhile; purge once more"
_BY_HAND = "take the text out by hand, or remove the file: a seed makes it again"
_IN_OP_ID = "the op_id of a write says it, and stays in the history"
_IN_NAME = "the name of who wrote a revision says it, and stays in the history"
_MADE_ID = re.compile("[0-9a-f]{32}")
_LOCK_COPY = re.compile(rf"\.{re.escape(LOCK_NAME)}-\w{{8}}|{re.escape(LOCK_NAME)}\.bak\.\d{{8}}T\d{{12}}Z")
_MEANWHILE = "another entry that holds the text was written meanwhile; look at it"


class LeftPlace(NamedTuple):
    """A place that holds what was to be forgotten, or may, as a path from the root; and why it was not reached."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class PurgedEntry:
    """An entry that was forgotten, or would be, in the file of an entity. JSON does not say its text once more."""

    entity: str
    entry: Entry
    __json__ = "entity category=entry.category id=entry.id"


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What was forgotten, or would be, and where: ``entries`` has one of each entity, body and category, the newest.

    ``files`` (rewritten), ``removed`` and the places of ``left`` are paths from the root. ``places`` names the
    revisions of a declared entity that went, and those in whose notes the words were.
    """

    entities: tuple[str, ...]
    entries: tuple[PurgedEntry, ...]
    places: tuple[str, ...]
    revisions: int
    files: tuple[str, ...]
    removed: tuple[str, ...]
    left: tuple[LeftPlace, ...]
    dry_run: bool


def purge(workspace: Root, entity: str, old_text: str, *, every: bool = False, dry_run: bool = False) -> PurgeReport:
    """Forget an entry for good: from the file, its history, retired files and backups, and wherever else it stands."""
    # A refusal is on record under the entity too.
    named = entity if "/" in entity or ":" in entity else f"{entity}/user"
    with gate.checks(workspace, named, op="purge", agent=PERSON, recorded=not dry_run):
        store = lasting_store(workspace)
        name = entity_of(workspace, entity)
        refuse_empty(old_text)
        _refuse_damaged(store, name)
        declared = workspace.config.entities.get(name)
        entries = [] if declared else _entries_to_forget(workspace, store, name, old_text, every=every)
        redaction = ContentRedaction(declared, old_text) if declared else _redaction(workspace, entries, old_text)
        rest = _without(redaction, name, store.peek(name))
        if not declared and (line := redaction.line_with_text(rest)):
            hint = "Nothing was forgotten. Change it, or move all entries below that heading away, and purge again."
            raise EditError(f"line {line} of {name} holds the text outside its entries", code="in_line", hint=hint)
        if not entries and not _is_in(store, name, redaction):
            message = f"nothing in {name} holds the words, and nothing ever did"
            hint = "Give the words as they are within one entry, value or text."
            raise NoMatchError(message, hint=f"Nothing was forgotten. {hint}")
    purging = _Purging(workspace, store, name, redaction, dry_run=dry_run)
    purging.entries += [PurgedEntry(name, entry) for entry in entries]
    purging.forget(name)
    others = purging.others
    if declared is None:
        for other in others.paths:
            purging.forget_elsewhere(other)
        purging.forget_in_lock()
    else:
        purging.name_other_kind(declared, old_text)
    for error in others.unreadable:
        # Where their files are is unknown, and whether they hold the text.
        path = Path(error.path or workspace.config.profiles_dir)
        why = f"this profile is not right, so its files were not looked at: {error.message}"
        purging.left.setdefault(path, why)
    for words in redaction.sought:
        purging.name_other_files(words)
        purging.name_others(words, [*workspace.config.entities, *(others.paths if redaction.text else ())])
        purging.name_rows(words)
    purging.verify()
    return purging.report()


def unsaid(text: str, words: str) -> str:
    """The beginning of a text that is to be forgotten, which says neither a secret nor the words once more."""
    return first_line(spelled(unify_newlines(words).strip()).sub("***", mask_secrets(text)), 60)


def _refuse_damaged(store: LastingStore, entity: str) -> None:
    """Raise ``DamagedError`` for a history that cannot be rewritten, before anything else of it is gone."""
    for fault in store.verify(entity):
        if fault.code in _UNERASABLE:
            hint = f"Nothing was erased there. {fault.hint}"
            raise DamagedError(f"the history of {entity} is damaged: {fault.message}", path=fault.path, hint=hint)


def _without(redaction: Redaction, entity: str, data: bytes) -> bytes:
    """The present text without what is to be forgotten. Raises ``UnreadableError`` for one that cannot be parsed."""
    try:
        return redaction.without(data)
    except UnreadableError as error:
        raise UnreadableError(
            f"{entity} holds the text, and cannot be taken apart: {error.message}",
            code=error.code,
            hint=f"Nothing was forgotten there. Purge again when it is mended. {error.hint}",
        ) from error


def _is_in(store: LastingStore, entity: str, redaction: Redaction) -> bool:
    """Whether the text that is there, any revision or what lies beside holds what is to be forgotten."""
    beside = _beside(store, entity, (True, None))
    return _is_said(store, entity, redaction) or any(redaction.holds(each.data) for each in beside)


def _is_said(store: LastingStore, entity: str, redaction: Redaction) -> bool:
    """Whether the text that is there, any revision or the note of one holds what is to be forgotten."""
    return redaction.holds(store.peek(entity)) or any(redaction.is_in(*each) for each in store.replay(entity))


def _texts(store: LastingStore, entity: str) -> Iterator[bytes]:
    """What an entity says now, and at every revision, the oldest first."""
    yield store.peek(entity)
    yield from (data for _, data in store.replay(entity))


def _beside(store: LastingStore, entity: str, own: tuple[bool | None, ...]) -> Iterator[Kept]:
    """What catmem keeps in the folder of an entity, of it (true), or of a file that is not known (``None``)."""
    return (each for each in store.kept(entity) if each.kind != "stray" and each.own in own)


# --- which entries ---------------------------------------------------------------------------------------------------


def _entries_to_forget(workspace: Root, store: LastingStore, entity: str, old_text: str, *, every: bool) -> list[Entry]:
    """One entry of each body and category, the newest; none where no text that can be parsed has one."""
    document = read(workspace.config.taxonomy.parse, store.peek(entity))
    now = [entry for entry in document.entries if not is_purged(entry)] if document else []
    named = [entry for entry in now if entry.id == old_text] if old_text.startswith("b2:") else []
    # An id is no text that any file holds: where no entry has it now, every revision is looked through.
    needle = needle_of(says(named[0])) if named else b"" if old_text.startswith("b2:") else needle_of(old_text)
    # Of what lies beside the age is unknown: the revisions count as newer.
    beside = (each.data for each in _beside(store, entity, (True,)))
    old = _newest_first(workspace, needle, chain(beside, (data for _, data in store.replay(entity))))
    if not _holding(old_text, [*now, *old]):
        # What a stopped process left, or a damaged journal, may be of any file of the folder: it is the last resort.
        old += _newest_first(workspace, needle, (each.data for each in _beside(store, entity, (None,))))
    bodies = {_known_by(entry, old_text) for entry in _holding(old_text, [*now, *old])}
    present = [entry for entry in now if {says(entry), entry.text} & bodies]
    if document and not every and len({says(entry) for entry in present}) > 1:
        error = ambiguous(document, "the words", present, entity, to_agent=False)
        error.candidates = tuple(unsaid(entry.body, old_text) for entry in present[: len(error.places)])
        error.hint = "Nothing was forgotten. --every forgets all. For one, give a longer piece of its text, or its id."
        raise error
    return _newest(entry for entry in (*present, *old) if {says(entry), entry.text} & bodies)


def _holding(old_text: str, entries: list[Entry]) -> list[Entry]:
    """The entries that hold a text, in their body or in their tags."""
    wanted = unify_newlines(old_text).strip()
    tagged = [entry for entry in entries if said_in(wanted, entry.text)]
    return list(dict.fromkeys([*entries_holding(old_text, entries), *tagged]))


def _known_by(entry: Entry, old_text: str) -> str:
    """What an entry that is to be forgotten is known by: its whole text where only its tags hold the words."""
    wanted = unify_newlines(old_text).strip()
    return entry.text if said_in(wanted, entry.text) and wanted not in says(entry) else says(entry)


def _newest(entries: Iterable[Entry]) -> list[Entry]:
    distinct: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        distinct.setdefault((entry.category, says(entry)), entry)
    return list(distinct.values())


def _newest_first(workspace: Root, needle: bytes, texts: Iterable[bytes]) -> list[Entry]:
    """The entries with a needle of texts that are given from the oldest, one of each form in each category."""
    found: dict[tuple[str, str], Entry] = {}
    for data in texts:
        document = read(workspace.config.taxonomy.parse, data) if said_in(needle, data) else None
        for entry in entries_with(document, needle):
            found.pop((entry.category, entry.raw), None)
            found[entry.category, entry.raw] = entry
    return list(reversed(found.values()))


def _redaction(workspace: Root, entries: Iterable[Entry], old_text: str) -> Redaction:
    bodies = {_known_by(entry, old_text) for entry in entries}
    texts = (old_text, unify_newlines(old_text), unify_newlines(old_text).strip())[0 if bodies else 2 :]
    text = next((text for text in texts if all(said_in(text, body) for body in bodies)), None)
    refuse_mark(text or old_text)
    needle = needle_of(text) if text is not None else needle_of(next(iter(bodies))) if len(bodies) == 1 else b""
    return Redaction(workspace.config.taxonomy.parse, bodies, needle=needle, text=text)


# --- where -----------------------------------------------------------------------------------------------------------


class _Purging:
    """Forgets, and notes what it reached: files that it rewrote, those that it ``removed``, and what is ``left``."""

    def __init__(self, workspace: Root, store: LastingStore, name: str, redaction: Redaction, *, dry_run: bool) -> None:
        self.workspace = workspace
        self.others = entities_of_each(workspace)
        self.store = store
        self.name = name
        self.redaction = redaction
        self.dry_run = dry_run
        self.entities: list[str] = []
        self.entries: list[PurgedEntry] = []
        places = []
        for revision, data in store.replay(name):
            if isinstance(redaction, ContentRedaction) and redaction.holds(data):
                places.append(f"revision {revision.revision}")
            if redaction.quoted_in(revision, data):
                places.append(f"a reason, evidence or category of revision {revision.revision}")
        self.places = tuple(places)
        self.revisions = 0
        self.files: dict[Path, None] = {}
        self.removed: dict[Path, None] = {}
        self.left: dict[Path, str] = {}
        self._elsewhere = redaction.elsewhere()

    @contextmanager
    def _noting(self, path: Path) -> Iterator[None]:
        """Note as left what cannot be read or changed: the path that the error names, or else this one."""
        try:
            yield
        except CatmemError as error:
            self.left.setdefault(path if error.path is None else Path(error.path), error.message)
        except OSError as error:
            self.left[Path(error.filename or path)] = f"it cannot be read or removed: {error.strerror}"

    def _of(self, entity: str) -> Redaction:
        return self.redaction if entity == self.name else self._elsewhere

    def forget_elsewhere(self, entity: str) -> None:
        """Forget the entries in another entity's file and history, if they are there. What fails is noted."""
        if entity == self.name:
            return
        with self._noting(self._path(entity)):
            if _is_said(self.store, entity, self._elsewhere) or self._is_beside(entity):
                _refuse_damaged(self.store, entity)
                now, *past = map(self._elsewhere.entries, _texts(self.store, entity))
                self.entries += [PurgedEntry(entity, entry) for entry in _newest(chain(now, *reversed(past)))]
                self.forget(entity)

    def name_others(self, words: str, entities: Iterable[str]) -> None:
        """Note the entities that still hold words, an ``op_id`` or a writer's name; also those that cannot be read."""
        for entity in entities:
            with self._noting(self._path(entity)):
                is_done = entity == self.name or (self.dry_run and entity in self.entities)
                if not is_done and self._is_said_in(self.store, entity, words):
                    self.left.setdefault(self._path(entity), f"{entity} holds the words too: purge it there")
                log, place = list(self.store.log(entity)), Path(self.store.history_place(entity))
                if any(words in _MADE_ID.sub("", each.op_id) for each in log):
                    self.left.setdefault(place, _IN_OP_ID)
                names = {str(name) for each in log for name in (each.agent, writer_of(each), each.person or "")}
                if any(words in name for name in names - {PERSON, EXTERNAL}):
                    self.left.setdefault(place, _IN_NAME)

    def _is_said_in(self, store: LastingStore, entity: str, words: str) -> bool:
        declared, redaction = self.workspace.config.entities.get(entity), self.redaction
        if declared or isinstance(redaction, ContentRedaction):
            redaction = ContentRedaction(declared or DeclaredEntity(entity, "text"), words)
        return _is_in(store, entity, redaction)

    def name_other_files(self, words: str) -> None:
        """Note files of another store of the root that hold words, and those of the audit log that name a writer so."""
        with self._noting(self.workspace.root):
            said = "the name of a writer there holds the words; take them out by hand"
            self.left |= dict.fromkeys(audit_log(self.workspace).saying(words), said)
        config, has_files = self.workspace.config, backend_of(self.workspace.config).has_files
        homes = [config.root.glob("*.db*"), (config.root / ".catmem").glob("*.db*")]
        if not has_files:
            homes = [config.home(name).rglob("*") for name in profile_names(config.profiles_dir)]
        for path in sorted(each for home in homes for each in home if each.is_file()):
            with suppress(OSError):  # what this user may not read is no store of this root
                if said_in(words, path.read_bytes()):
                    self.left.setdefault(path, _OTHER)
        for home in unowned_homes(config, self.others.profiles).values():
            for file in FILE_NAMES.values():
                with self._noting(home / file):
                    if self._is_said_in(cast("LastingStore", store_of_file(config, home / file)), file, words):
                        self.left.setdefault(home, _NO_PROFILE)
        for where, place in other_stores(config).items():  # what is packed shows no words
            with self._noting(place), closing(cast("LastingStore", store_at(self.workspace, where))) as store:
                for entity in sorted({*store.entities(), *self.others.paths, *config.entities}):
                    if self._is_said_in(store, entity, words):
                        own = (Path(each) for each in (store.history_place(entity), store.place(entity)))
                        self.left.setdefault(next(filter(Path.exists, own), place), _OTHER)

    def name_rows(self, words: str) -> None:
        """Note the rows that say words: they are no entries, or they say them in a column that no entry shows."""
        known = {*self.others.paths, *self.workspace.config.entities}
        # Of an entry that its id named, others may say more than its words.
        says = words.__eq__ if self.redaction.text is None else lambda value: words in value
        for entity, ids in rows_saying(says, self.store.all_rows(), known).items():
            if not (self.dry_run and entity in self.entities):
                said = f"row {', '.join(map(str, ids))} holds the words; change it, or delete it"
                self.left.setdefault(self._path(entity), said)

    def name_other_kind(self, declared: DeclaredEntity, words: str) -> None:
        """Note the file that an entity had while it was declared with another content, if that holds the words."""
        for kind, file in CONTENT_FILES.items() if backend_of(self.workspace.config).has_files else ():
            path = self._path(declared.name).with_name(file)
            redaction = ContentRedaction(declared._replace(content=kind), words)
            if kind != declared.content and _is_in(store_of_file(self.workspace.config, path), file, redaction):
                said = f"{declared.name} with content: {kind} holds the words too"
                self.left[path] = f"{said}; declare it so, and purge once more"

    def _is_beside(self, entity: str) -> bool:
        """Whether what is kept beside, of its file or of none that is known, holds them and was not noted yet."""
        noted = {*self.files, *self.removed, *self.left}
        beside = _beside(self.store, entity, (True, None))
        return any(each.path not in noted and self._holds(entity, each) for each in beside)

    def forget(self, entity: str) -> None:
        """Forget the entries in the file, the history and all that is kept of an entity."""
        redaction = self._of(entity)
        _without(redaction, entity, self.store.peek(entity))
        self.entities.append(entity)
        if self.dry_run:
            self._foretell(entity)
            return
        erasure = Erasure(redaction, partial(self._holds, entity), redaction.note)
        left: dict[Path, str] = {}
        for number in range(1, _ROUNDS + 1):
            try:
                # The file itself first, as a revision of its own.
                change = Change(op="purge", agent=PERSON)
                gate.commit(self.workspace, entity, None, lambda now: _without(redaction, entity, now.data), change)
                erased = self.store.erase(entity, erasure)
            except BusyError:
                if number == _ROUNDS:
                    raise
                continue
            except EditError:
                if number == 1:
                    raise
                break  # a writer of the whole content put the words back, which is named
            self.revisions += erased.revisions
            self.files |= dict.fromkeys(erased.rewritten)
            self.removed |= dict.fromkeys(erased.removed)
            left = {each.path: each.why for each in erased.left}
            if not _is_said(self.store, entity, redaction):
                break  # else it was written again
        self.left |= left

    def _foretell(self, entity: str) -> None:
        self.revisions += sum(self._of(entity).is_in(*each) for each in self.store.replay(entity))
        for each in self.store.kept(entity):
            is_copy, holds = each.kind == "backup", self._holds(entity, each)
            if is_copy and holds:
                self.files[each.path] = None
            elif each.kind != "stray" and (holds or not (each.whole or is_copy)):
                self.removed[each.path] = None

    def _holds(self, entity: str, each: Kept) -> bool:
        """Whether a text that is kept in the folder of an entity holds what is to be forgotten there."""
        redaction, data = self._of(entity), each.data
        if each.kind == "stray":
            return redaction.in_bytes(data)
        if each.own is not None or redaction.holds(data):
            return redaction.holds(data)
        # Half of a text, or one of an unknown file.
        return redaction.holds_text(data) or (each.kind == "left" and redaction.is_cut(data))

    # --- the lock of seeds --------------------------------------------------------------------------------------

    def forget_in_lock(self) -> None:
        """Take the entries that are forgotten out of the lock of the root, and remove copies of files beside it."""
        root, file = self.workspace.root, SeedFile(self.workspace)
        with self._noting(file.path):
            if self._without_texts(file):
                # A root that may not be written has a lock that need not be, too.
                with nullcontext() if self.dry_run else file.held():
                    if found := self._without_texts(file):
                        self.files[file.path] = None
                        if not self.dry_run:
                            file.write(*found)
            named = {each.category for record in file.read()[1].records.values() for each in record.entries}
            if PURGED in map(self.redaction.category, named):
                self.left.setdefault(file.path, "a category there says the words; seed once more")
        needles, rows = [needle_of(each) for each in self.redaction.sought], copies(root)
        for path in sorted({*root.glob("*.bak.*"), *root.glob(f".{LOCK_NAME}*")}):
            with self._noting(path):
                is_lock, data = _LOCK_COPY.fullmatch(path.name), path.read_bytes()
                if not is_lock and not any(said_in(each, data) for each in needles):
                    continue
                # A sync of other files calls the copies that it keeps there by what they hold.
                name = path.name.removesuffix(f".bak.{bytes_digest(data)[7:15]}")
                if is_lock or path in rows or name != path.name:
                    self.removed[path] = None
                    if not self.dry_run:
                        path.unlink()
                elif not self._is_of_an_entity(path):
                    self.left.setdefault(path, _STRAY)

    def _without_texts(self, file: SeedFile) -> tuple[bytes, SeedLock] | None:
        """The bytes of a lock, and the lock without what is forgotten; ``None`` if that is not in it, or cannot be."""
        data, lock = file.read()
        if lock.notes:
            self.left[file.path] = f"{lock.notes[0]}; {_BY_HAND}"
            return None
        records = lock.records.values()
        said = ((record, text) for record in records for each in record.entries for text in (each.text, each.kept))
        purged = lock.without({text for record, text in said if text is not None and self._is_one(record, text)})
        return (data, purged) if data and purged.to_text().encode() != data else None

    def _is_one(self, record: SeedRecord, text: str) -> bool:
        body, chosen = Version.read("", text).body, self.redaction.text
        is_own = self.name in {record.target, record.source}
        return bool({body or text, text} & self.redaction.bodies or (is_own and chosen and said_in(chosen, text)))

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
        redaction, where = self._of(entity), self._path(entity)
        for data in _texts(self.store, entity):
            if redaction.holds(data) or redaction.holds_text(data):
                is_other = redaction.bodies and not redaction.entries(data)
                self.left.setdefault(where, _MEANWHILE if is_other else _BACK)
            where = Path(self.store.history_place(entity))

    def _path(self, entity: str) -> Path:
        return Path(self.store.place(entity))

    def _is_of_an_entity(self, path: Path) -> bool:
        """Whether a file is a memory file, or was made beside one: then it is looked at with that entity."""
        name, folder = path.name, real_path(path.parent)
        files = [each.name for each in map(real_path, self.others.paths.values()) if each.parent == folder]
        return any(name in {each, f"{each}.lock"} or name.startswith(f"{each}.bak.") for each in files)

    def report(self) -> PurgeReport:
        return PurgeReport(
            entities=tuple(self.entities),
            entries=tuple(self.entries),
            places=self.places,
            revisions=self.revisions,
            files=self._paths(self.files),
            removed=self._paths(self.removed),
            left=tuple(map(LeftPlace, self._paths(self.left), self.left.values())),
            dry_run=self.dry_run,
        )

    def _paths(self, paths: Iterable[Path]) -> tuple[str, ...]:
        return tuple(path_from(self.workspace.root, path) for path in paths)
