"""Forget an entry for good: from its file, its history, what lies beside, and the copies in other profiles' files.

Of a declared entity, which has no entries, words are forgotten. A plan names all places that hold them; when it is
carried out it is made once more, and what holds them still is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, cast

from catmem.config.profile import profile_names
from catmem.digest import bytes_digest
from catmem.errors import BusyError, CatmemError, DamagedError, EditError, NoMatchError
from catmem.files import real_path, shown_path
from catmem.linting.renderers import mask_secrets
from catmem.model.document import Entry, Version
from catmem.names import FILE_NAMES, PURGED
from catmem.seeding.seed_lock import LOCK_NAME, SeedFile, SeedLock, SeedRecord
from catmem.store.contract import EXTERNAL, PERSON, Change, Erasure, LastingStore, Revision, writer_of
from catmem.store.files.retention import UNREADABLE
from catmem.store.table_rows import copies, rows_saying
from catmem.text import first_line, unify_newlines
from catmem.workspace.copying import store_at
from catmem.workspace.history import entity_of
from catmem.workspace.redaction import Redaction, choose, content_redaction, needle_of, said_in, says, spelled
from catmem.workspace.root import Root, audit_log, entities_of_each
from catmem.workspace.stores import CONTENT_FILES, ENTITIES, backend_of, other_stores, store_of_file
from catmem.workspace.upkeep import lasting_store, path_from, unowned_homes
from catmem.writing import gate
from catmem.writing.matching import ambiguous, refuse_empty

_ROUNDS = 5
"""How often it is begun again, where another writer keeps writing or puts the text back."""

_UNERASABLE = frozenset({"journal_damaged", "log_damaged", "log_end"})
"""Damages of a history for which no store rewrites it: what is missing or broken may be the text itself."""

_OTHER = "another store of this root holds the words too; remove it, or name it in catmem.yaml and purge again"
_NO_PROFILE = "it belongs to no profile; give it one and purge again, or remove it"
_UNDECLARED = "no entity with this content is declared; declare it so, and purge once more"
_STRAY = "catmem did not make it; see to it yourself"
_BACK = "it was written again meanwhile; purge once more"
_BY_HAND = "take the text out by hand, or remove the file: a seed makes it again"
_IN_OP_ID = "the op_id of a write says it, and stays in the history"
_IN_NAME = "the name of who wrote a revision says it, and stays in the history"
_IN_AUDIT = "the name of a writer there holds the words; take them out by hand"
_IN_CATEGORY = "a category there says the words; seed once more"
_MADE_ID = re.compile("[0-9a-f]{32}")
_LOCK_COPY = re.compile(rf"\.{re.escape(LOCK_NAME)}-\w{{8}}|{re.escape(LOCK_NAME)}\.bak\.\d{{8}}T\d{{12}}Z")

_REWRITTEN, _REMOVED = "rewritten", "removed"
"""What becomes of a place; of any other it is said why it is left."""


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
        redaction = _redaction(workspace, store, name, unify_newlines(old_text).strip(), every=every)
        if line := redaction.line_with_text(redaction.without(store.peek(name), name)):
            hint = "Nothing was forgotten. Change it, or move all entries below that heading away, and purge again."
            raise EditError(f"line {line} of {name} holds the text outside its entries", code="in_line", hint=hint)
        plan = _Purge(workspace, store, name, redaction)
        if name not in plan.entities:
            raise plan.no_match()
    revisions, fates = (plan.revisions, plan.fates) if dry_run else plan.carry_out()
    shown = [(path_from(workspace.root, path), fate) for path, fate in fates.items()]
    return PurgeReport(
        entities=tuple(plan.entities),
        entries=tuple(plan.entries),
        places=tuple(plan.whole),
        revisions=revisions,
        files=tuple(path for path, fate in shown if fate == _REWRITTEN),
        removed=tuple(path for path, fate in shown if fate == _REMOVED),
        left=tuple(LeftPlace(path, fate) for path, fate in shown if fate not in {_REWRITTEN, _REMOVED}),
        dry_run=dry_run,
    )


def unsaid(text: str, words: str) -> str:
    """The beginning of a text that is to be forgotten, which says neither a secret nor the words once more."""
    return first_line(spelled(unify_newlines(words).strip()).sub("***", mask_secrets(text)), 60)


def _refuse_damaged(store: LastingStore, entity: str) -> None:
    """Raise ``DamagedError`` for a history that cannot be rewritten, before anything else of it is gone."""
    for fault in store.verify(entity):
        if fault.code in _UNERASABLE:
            hint = f"Nothing was erased there. {fault.hint}"
            raise DamagedError(f"the history of {entity} is damaged: {fault.message}", path=fault.path, hint=hint)


def _redaction(workspace: Root, store: LastingStore, entity: str, words: str, *, every: bool) -> Redaction:
    """What is to be forgotten by words or an id."""
    declared, parse = workspace.config.entities.get(entity), workspace.config.taxonomy.parse
    if declared:
        redaction = content_redaction(words, declared.content)
    else:
        past = (data for _, data in store.replay(entity))
        redaction = choose(parse, words, chain([store.peek(entity)], past, _beside(store, entity, (True,))))
        if not redaction.bodies:
            # The last resort: what a stopped process or a damaged journal left may be of any file of the folder.
            redaction = choose(parse, words, _beside(store, entity, (None,)))
    if not redaction.is_exact and said_in(words, redaction.mark):
        message = f"{PURGED} is what stands for words, and these are a piece of it"
        raise EditError(message, code="in_mark", hint="Nothing was forgotten. Give a longer piece of the text.")
    now = store.peek(entity)
    present = redaction.taken_from(now)[1]
    if not every and len({says(entry) for entry in present}) > 1:
        error = ambiguous(parse(now), "the words", present, entity, to_agent=False)
        error.candidates = tuple(unsaid(entry.body, words) for entry in present[: len(error.places)])
        error.hint = "Nothing was forgotten. --every forgets all. For one, give a longer piece of its text, or its id."
        raise error
    return redaction


def _beside(store: LastingStore, entity: str, own: tuple[bool | None, ...]) -> Iterator[bytes]:
    """What catmem keeps in the folder of an entity, of it (true), or of a file that is not known (``None``)."""
    return (each.data for each in store.kept(entity) if each.kind != "stray" and each.own in own)


def _is_in(store: LastingStore, entity: str, redaction: Redaction) -> bool:
    """Whether the text that is there, any revision or what lies beside holds what goes."""
    return _is_said(store, entity, redaction) or any(map(redaction.holds, _beside(store, entity, (True, None))))


def _is_said(store: LastingStore, entity: str, redaction: Redaction) -> bool:
    """Whether the text that is there, any revision or the note of one holds what goes."""
    return redaction.holds(store.peek(entity)) or any(redaction.is_in(*each) for each in store.replay(entity))


@contextmanager
def _noting(fates: dict[Path, str], path: Path) -> Iterator[None]:
    """Note as left what cannot be read or changed: the path that the error names, or else this one."""
    try:
        yield
    except CatmemError as error:
        fates.setdefault(path if error.path is None else Path(error.path), error.message)
    except OSError as error:
        fates[Path(error.filename or path)] = f"it cannot be read or removed: {error.strerror}"


# --- where it is, and what becomes of it -----------------------------------------------------------------------------


class _Purge:
    """The places of what is to be forgotten, each with its fate: rewritten, removed, or why it is left."""

    def __init__(self, workspace: Root, store: LastingStore, name: str, redaction: Redaction) -> None:
        self.workspace, self.store, self.name, self.redaction = workspace, store, name, redaction
        self.others = entities_of_each(workspace)
        self.entities: list[str] = []
        self.entries: list[PurgedEntry] = []
        self.whole: list[str] = []  # what goes of the history that is no entry
        self.revisions = 0
        self.fates: dict[Path, str] = {}
        self._copies: list[Path] = []
        self._holding: set[str] = set()
        self._staying: set[str] = set()  # the entities that say the words in what does not go
        self._look_at(name)
        others = [*workspace.config.entities, *self.others.paths]
        for entity in filter(name.__ne__, others):
            with _noting(self.fates, self._path(entity)):
                self._look_at(entity)
        if redaction.parse:
            self._look_at_lock()
            self._look_at_copies()
        for entity in others:
            if entity in self._staying | (self._holding - {*self.entities}):
                self.fates.setdefault(self._path(entity), f"{entity} holds the words too: purge it there")
        self._look_at_other_files()
        self._look_at_rows()
        for error in self.others.unreadable:
            # Where their files are is unknown, and whether they hold the text.
            why = f"this profile is not right, so its files were not looked at: {error.message}"
            self.fates.setdefault(Path(error.path or workspace.config.profiles_dir), why)

    def no_match(self) -> NoMatchError:
        """The error for an entity that holds nothing of it; it names what else does."""
        left = self._left()
        for each in sorted(self._holding | self._staying):
            left[self._path(each)] = f"'catmem purge {each} - --yes' erases the words there"
        there = [f"{shown_path(path)}: {said}." for path, said in left.items()]
        hint = " ".join(there) or "Give the words as they are within one entry, value or text."
        message = f"nothing in {self.name} holds the words, and nothing ever did"
        return NoMatchError(message, hint=f"Nothing was forgotten. {hint}")

    def _left(self) -> dict[Path, str]:
        return {path: fate for path, fate in self.fates.items() if fate not in {_REWRITTEN, _REMOVED}}

    def _path(self, entity: str) -> Path:
        return Path(self.store.place(entity))

    def _sought_in(self, entity: str) -> Redaction:
        """What is to be forgotten in an entity; of another kind than the named one whatever says the words."""
        declared, words = self.workspace.config.entities.get(entity), self.redaction.words
        if declared or self.redaction.parse is None:
            return content_redaction(words, declared.content if declared else "text")
        return self.redaction

    def _of(self, entity: str) -> Redaction:
        return self.redaction if entity == self.name else self._sought_in(entity).elsewhere()

    def _look_at(self, entity: str) -> None:
        """Look at the file of an entity, its history, and all that is kept of it."""
        is_own, redaction = entity == self.name, self._of(entity)
        now = self.store.peek(entity)
        entries = [self._note(entity, redaction, now)[1]]
        revisions = 0
        for revision, data in self.store.replay(entity):
            quotes = redaction.quoted_in(revision, data)
            holds, chosen = self._note(entity, redaction, data, goes=quotes)
            revisions += holds or quotes
            entries.insert(1, chosen)
            self._look_at_names(entity, revision)
            if is_own and holds and redaction.parse is None:
                self.whole.append(f"revision {revision.revision}")
            if is_own and quotes:
                self.whole.append(f"a reason, evidence or category of revision {revision.revision}")
        fates = self._look_beside(entity, redaction, entries)
        if entity in self._holding and (is_own or redaction.parse):
            if not is_own:
                _refuse_damaged(self.store, entity)
                redaction.without(now, entity)
            self.entities.append(entity)
            self.revisions += revisions
            self.fates = fates | self.fates
            distinct: dict[tuple[str, str], Entry] = {}
            for entry in chain.from_iterable(entries):
                distinct.setdefault((entry.category, says(entry)), entry)
            self.entries += [PurgedEntry(entity, entry) for entry in distinct.values()]

    def _look_beside(self, entity: str, redaction: Redaction, entries: list[list[Entry]]) -> dict[Path, str]:
        """The fates of all that is kept in the folder of an entity; what it has of entries is added to them."""
        fates: dict[Path, str] = {}
        for each in self.store.kept(entity):
            goes = redaction.holds_kept(each)
            if each.kind == "stray":
                if (goes or not each.whole) and not self._is_of_an_entity(each.path):
                    fates[each.path] = _STRAY
                continue
            # What is of no known file is erased with one entity of the folder alone.
            if each.own is not False and each.path not in self.fates:
                entries.append(self._note(entity, redaction, each.data, goes=goes)[1])
            if goes or (each.kind == "journal" and not each.whole):
                fates[each.path] = _REWRITTEN if each.kind == "backup" else _REMOVED
            elif not each.whole:
                fates[each.path] = UNREADABLE
        return fates

    def _note(self, entity: str, redaction: Redaction, data: bytes, *, goes: bool = False) -> tuple[bool, list[Entry]]:
        """Note whether a text of an entity holds what goes, or says the words in what stays; gives what it holds."""
        rest, entries = redaction.taken_from(data)
        if goes or rest != data:
            self._holding.add(entity)
        if redaction.stays(rest):
            self._staying.add(entity)
        return rest != data, entries

    def _look_at_names(self, entity: str, revision: Revision) -> None:
        """Note a history in which an ``op_id`` or the name of a writer says the words."""
        words, place = self.redaction.words, Path(self.store.history_place(entity))
        if words in _MADE_ID.sub("", revision.op_id):
            self.fates.setdefault(place, _IN_OP_ID)
        names = {str(revision.agent), writer_of(revision), revision.person or ""} - {PERSON, EXTERNAL}
        if any(words in name for name in names):
            self.fates.setdefault(place, _IN_NAME)

    # --- beside the entities ----------------------------------------------------------------------------------------

    def _look_at_lock(self) -> None:
        """The lock of seeds."""
        file = SeedFile(self.workspace)
        with _noting(self.fates, file.path):
            data, lock = file.read()
            if lock.notes:
                self.fates[file.path] = f"{lock.notes[0]}; {_BY_HAND}"
            elif data and self._without_texts(lock).to_text().encode() != data:
                self.fates[file.path] = _REWRITTEN
            named = {each.category for record in lock.records.values() for each in record.entries}
            if PURGED in map(self.redaction.category, named):
                self.fates.setdefault(file.path, _IN_CATEGORY)

    def _without_texts(self, lock: SeedLock) -> SeedLock:
        records = lock.records.values()
        said = ((record, text) for record in records for each in record.entries for text in (each.text, each.kept))
        return lock.without({text for record, text in said if text is not None and self._is_one(record, text)})

    def _is_one(self, record: SeedRecord, text: str) -> bool:
        body, redaction = Version.read("", text).body, self.redaction
        is_own = self.name in {record.target, record.source} and not redaction.is_exact
        return bool({body or text, text} & redaction.bodies) or (is_own and said_in(redaction.words, text))

    def _look_at_copies(self) -> None:
        """Copies of files that lie in the root."""
        root, needle = self.workspace.root, needle_of(self.redaction.words)
        rows = copies(root)
        for path in sorted({*root.glob("*.bak.*"), *root.glob(f".{LOCK_NAME}*")}):
            with _noting(self.fates, path):
                is_lock, data = _LOCK_COPY.fullmatch(path.name), path.read_bytes()
                if not is_lock and not said_in(needle, data):
                    continue
                # A sync of other files calls the copies that it keeps there by what they hold.
                if is_lock or path in rows or path.name.endswith(f".bak.{bytes_digest(data)[7:15]}"):
                    self.fates[path] = _REMOVED
                    self._copies.append(path)
                elif not self._is_of_an_entity(path):
                    self.fates.setdefault(path, _STRAY)

    def _is_of_an_entity(self, path: Path) -> bool:
        """Whether a file is a memory file, or was made beside one: then it is looked at with that entity."""
        name = path.name.partition(".bak.")[0].removesuffix(".lock")
        return real_path(path.parent) / name in map(real_path, self.others.paths.values())

    def _look_at_other_files(self) -> None:
        """What says the words and is changed by none: the audit log, files of no profile, other stores of the root."""
        workspace, words, fates = self.workspace, self.redaction.words, self.fates
        config, has_files = workspace.config, backend_of(workspace.config).has_files
        with _noting(fates, workspace.root):
            for path in audit_log(workspace).saying(words):
                fates.setdefault(path, _IN_AUDIT)
        homes = [config.root.glob("*.db*"), (config.root / ".catmem").glob("*.db*")]
        if not has_files:
            homes = [config.home(name).rglob("*") for name in profile_names(config.profiles_dir)]
        for path in sorted(each for home in homes for each in home if each.is_file()):
            with suppress(OSError):  # what this user may not read is no store of this root
                if said_in(words, path.read_bytes().decode(errors="replace")):
                    fates.setdefault(path, _OTHER)
        for path, place, why in self._files_of_none():
            with _noting(fates, path):
                if _is_in(store_of_file(config, path), path.name, self._sought_in(path.name)):
                    fates.setdefault(place, why)
        for where, place in other_stores(config).items():  # what is packed shows no words
            with _noting(fates, place), closing(cast("LastingStore", store_at(workspace, where))) as store:
                for entity in sorted({*store.entities(), *self.others.paths, *config.entities}):
                    if _is_in(store, entity, self._sought_in(entity)):
                        own = (Path(each) for each in (store.history_place(entity), store.place(entity)))
                        fates.setdefault(next(filter(Path.exists, own), place), _OTHER)

    def _files_of_none(self) -> Iterator[tuple[Path, Path, str]]:
        """Files with a history that are of no profile and no declared entity, as it is declared now."""
        config = self.workspace.config
        for home in unowned_homes(config, self.others.profiles).values():
            yield from ((home / file, home, _NO_PROFILE) for file in FILE_NAMES.values())
        declared = {self._path(entity) for entity in config.entities}
        for path in sorted((config.root / ENTITIES).glob("*/content.*")) if backend_of(config).has_files else ():
            if path not in declared and path.name in CONTENT_FILES.values():
                yield path, path, _UNDECLARED

    def _look_at_rows(self) -> None:
        """Rows that are no entries, or that say the words in a column that no entry shows."""
        words, known = self.redaction.words, {*self.others.paths, *self.workspace.config.entities}
        # Of an entry that its id named, others may say more than its words.
        is_one = words.__eq__ if self.redaction.is_exact else partial(said_in, words)
        for entity, ids in rows_saying(is_one, self.store.all_rows(), known).items():
            if entity not in self.entities:
                said = f"row {', '.join(map(str, ids))} holds the words; change it, or delete it"
                self.fates.setdefault(self._path(entity), said)

    # --- carried out ------------------------------------------------------------------------------------------------

    def carry_out(self) -> tuple[int, dict[Path, str]]:
        """Forget it; gives how many revisions were rewritten, and the fates of all places."""
        revisions, done = 0, self._left()
        for entity in self.entities:
            with nullcontext() if entity == self.name else _noting(done, self._path(entity)):
                revisions += self._erase(entity, done)
        file = SeedFile(self.workspace)
        if self.fates.get(file.path) == _REWRITTEN:
            with _noting(done, file.path), file.held():
                data, lock = file.read()
                file.write(data, self._without_texts(lock))
                done[file.path] = _REWRITTEN
        for path in self._copies:
            with _noting(done, path):
                path.unlink(missing_ok=True)
                done[path] = _REMOVED
        still = _Purge(self.workspace, self.store, self.name, self.redaction)
        back = [self._path(each) for each in still.entities if _is_said(self.store, each, self._of(each))]
        for path, fate in (dict.fromkeys(back, _BACK) | still.fates).items():
            if done.get(path, _REMOVED) in {_REWRITTEN, _REMOVED}:
                done[path] = _BACK if fate in {_REWRITTEN, _REMOVED} else fate
        return revisions, done

    def _erase(self, entity: str, done: dict[Path, str]) -> int:
        """Forget it in the file, the history and all that is kept of an entity; gives the number of revisions."""
        redaction, count = self._of(entity), 0
        erasure = Erasure(redaction, redaction.holds_kept, redaction.note)
        for number in range(1, _ROUNDS + 1):
            try:
                # The file itself first, as a revision of its own.
                change = Change(op="purge", agent=PERSON)
                gate.commit(self.workspace, entity, None, lambda now: redaction.without(now.data, entity), change)
                erased = self.store.erase(entity, erasure)
            except BusyError:
                if number == _ROUNDS:
                    raise
                continue
            except EditError:
                if number == 1:
                    raise
                break  # a writer of the whole content put the words back, which is named
            count += erased.revisions
            done |= dict.fromkeys(erased.rewritten, _REWRITTEN) | dict.fromkeys(erased.removed, _REMOVED)
            done |= {each.path: each.why for each in erased.left}
            if not _is_said(self.store, entity, redaction):
                break  # else it was written again
        return count
