"""``catmem.seed.lock``: what was seeded last, from where, so that the next seed can tell edits from additions.

One JSON file at the root, sorted, a line for each entry, committed with the memory files. It may be lost, and git may
merge it badly: then less is known of what was seeded, and a seed adds what is missing and takes nothing away. One seed
at a time writes it. From it follows which entries are copies that stand as they were seeded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, lru_cache
from typing import Any

from catmem import clock
from catmem.clock import read_date
from catmem.digest import ID_PREFIX
from catmem.errors import BusyError, CatmemError, ConfigError, UnreadableError
from catmem.files import os_errors, read_bounded, rewrite_file, take_lock
from catmem.names import is_entity, parts_of, slugify
from catmem.seeding.slices import Seeded
from catmem.workspace.root import Root

LOCK_NAME = "catmem.seed.lock"
VERSION = 1
LOCK_LIMIT = 256 << 20
"""Bytes of a lock, which has the texts of many files."""
_PATIENCE = 60.0
"""Seconds that a seed waits for another to end."""
_HINT = "A seed keeps there what it seeded. Check the rights of the folder and the space on the disk."


@dataclass(frozen=True, slots=True)
class SeedRecord:
    """What one entity was given from another, when that last changed, and of which text of the source."""

    target: str
    source: str
    revision: str | None
    digest: str
    date: date
    entries: tuple[Seeded, ...]


Records = dict[tuple[str, str], SeedRecord]


@dataclass(frozen=True, slots=True)
class SeedLock:
    """The records by ``(target, source)``, and why a file is not whole (``notes``)."""

    records: Mapping[tuple[str, str], SeedRecord] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def put(self, records: Iterable[SeedRecord]) -> SeedLock:
        """The lock with some records in the place of those of the same target and source."""
        return replace(self, records={**self.records, **{(each.target, each.source): each for each in records}})

    def renamed(self, category: Callable[[str], str]) -> SeedLock:
        """The lock with other names of its categories."""
        named = {each.category for record in self.records.values() for each in record.entries}
        if all(category(each) == each for each in named):
            return self
        return self._changed(lambda each: each._replace(category=category(each.category)))

    def without(self, texts: Collection[str]) -> SeedLock:
        """The lock without some texts."""

        def left(each: Seeded) -> Seeded | None:
            return None if each.text in texts else each._replace(kept=None if each.kept in texts else each.kept)

        return self._changed(left)

    def _changed(self, change: Callable[[Seeded], Seeded | None]) -> SeedLock:
        """The lock with what ``change`` makes of each entry, without those of which it makes nothing."""
        return self.put(
            replace(record, entries=tuple(filter(None, map(change, record.entries))))
            for record in self.records.values()
        )

    def to_text(self) -> str:
        """The file: the same records give the same text."""
        texts: dict[str, str] = {}
        seeds: dict[str, Any] = {}
        for (target, source), record in sorted(self.records.items()):
            grouped: dict[str, list[str]] = {}
            for each in record.entries:
                grouped.setdefault(each.category, []).append(each.id)
                texts[each.id] = each.text
            seeds.setdefault(target, {})[source] = {
                "revision": record.revision,
                "digest": record.digest,
                "date": record.date.isoformat(),
                "entries": grouped,
            }
            kept = {each.id: each.kept for each in record.entries if each.kept is not None}
            seeds[target][source] |= {"kept": kept} if kept else {}
        whole = {"version": VERSION, "seeds": seeds}
        head = json.dumps(whole, ensure_ascii=False, indent=1)
        # Texts are a line each: so git shows, and merges, one entry at a time.
        lines = ",\n".join(
            f"  {json.dumps(each)}: {json.dumps(texts[each], ensure_ascii=False)}" for each in sorted(texts)
        )
        return f'{head[:-2]},\n "texts": {{\n{lines}\n }}\n}}\n' if lines else f'{head[:-2]},\n "texts": {{}}\n}}\n'


def read_lock(data: bytes, *, path: str | None = None) -> SeedLock:
    """The lock in a file's bytes; ``notes`` say why it is not whole. Raises ``ConfigError`` for a newer catmem's."""
    try:
        said = json.loads(data) if data.strip() else {"version": VERSION, "seeds": {}}
        version = said.get("version") if isinstance(said, dict) else None
        if isinstance(version, int) and version > VERSION:
            raise ConfigError(
                f"is of version {version}, and this catmem knows version {VERSION}",
                code="lock_version",
                path=path,
                hint="Nothing was seeded. Use the newer catmem that wrote it.",
            )
        return SeedLock(_records(said))
    except json.JSONDecodeError as error:
        why = f"line {error.lineno}: {error.msg}"
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        why = "it is not what a seed wrote"
    return SeedLock(notes=(f"cannot be read: {why}",))


def _records(said: Any) -> Records:  # noqa: ANN401 - JSON data
    """The records of the data of a lock. Raises one of the errors of wrong data for what no seed writes."""
    texts, records = said.get("texts", {}), Records()
    if not all(_is_text(each) and _is_text(text) and each.startswith(ID_PREFIX) for each, text in texts.items()):
        raise ValueError("texts")
    for target, sources in said["seeds"].items():
        for source, record in sources.items():
            kept, day = record.get("kept", {}), read_date(record["date"])
            entries = tuple(
                Seeded(category, each, texts[each], kept.get(each))
                for category, ids in record["entries"].items()
                for each in ids
            )
            names = [*kept.values(), *(name for name in (record["revision"], record["digest"]) if name is not None)]
            is_right = is_entity(target) and is_entity(source) and all(map(_is_category, record["entries"]))
            if day is None or not is_right or not all(map(_is_text, names)):
                raise ValueError(target)
            records[target, source] = SeedRecord(target, source, record["revision"], record["digest"], day, entries)
    return records


@lru_cache(maxsize=1024)
def _is_category(name: str) -> bool:
    return name != "" and slugify(name) == name


def _is_text(said: object) -> bool:
    """Whether it is a text that a file can hold: JSON may spell half a character."""
    return isinstance(said, str) and said.encode(errors="replace").decode() == said


# --- merging --------------------------------------------------------------------------------------------------------


def merge_locks(base: SeedLock, ours: SeedLock, theirs: SeedLock) -> SeedLock:
    """The lock that both sides stand behind: of a record that both changed, the entries count that both hold."""
    keys = {**ours.records, **theirs.records}
    merged = (_merged(base.records.get(key), ours.records.get(key), theirs.records.get(key)) for key in keys)
    return SeedLock().put(record for record in merged if record is not None)


def _merged(base: SeedRecord | None, ours: SeedRecord | None, theirs: SeedRecord | None) -> SeedRecord | None:
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    if ours is None or theirs is None:
        return None  # one side dropped what the other changed
    # The newer one names the revision; of two of one day the digest decides, so that both directions agree.
    newer, older = sorted((ours, theirs), key=lambda record: (record.date, record.digest), reverse=True)
    known = {each.key for each in older.entries}
    return replace(newer, entries=tuple(each for each in newer.entries if each.key in known))


# --- the file, and the copies that it tells of -----------------------------------------------------------------------


class SeedFile:
    """The lock file of a root, as bytes and as what they say."""

    def __init__(self, workspace: Root) -> None:
        """The file need not exist."""
        self.root = workspace.root
        self.path = workspace.root / LOCK_NAME
        self._category = workspace.config.taxonomy.of_slug

    def read(self) -> tuple[bytes, SeedLock]:
        """The bytes, none for a missing file, and the records. Raises ``UnreadableError``, ``ConfigError``."""
        # A category may have another name by now, of which the one on record is an alias.
        data = self.data()
        return data, read_lock(data, path=str(self.path)).renamed(self._category)

    def data(self) -> bytes:
        """The bytes alone."""
        try:
            # It is written as well, and a link would lead a write out of the root.
            return read_bounded(self.path, LOCK_LIMIT, follow_symlink=False)
        except UnreadableError as error:
            # Another seed may have written it since; a link that leads nowhere is refused.
            if error.code == "missing" and not self.path.is_symlink():
                return b""
            raise

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other seeds and syncs of this root out. Raises ``BusyError`` (``locked``) and ``UnreadableError``."""
        with self._writing():
            folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not os.access(self.root, os.W_OK):
                raise UnreadableError(
                    "cannot be written: its folder may not be written", code="not_writable", path=self.path, hint=_HINT
                )
            try:
                take_lock(folder, _PATIENCE)
            except BlockingIOError as error:
                said = "another seed or sync of this root is running"
                hint = "Nothing was written. Try again when it has ended."
                raise BusyError(said, code="locked", path=self.path, hint=hint) from error
            yield
        finally:
            os.close(folder)

    def write(self, old: bytes, lock: SeedLock) -> str | None:
        """Put ``lock`` in the place of the bytes ``old``; the name of the copy, if those were not whole."""
        new = lock.to_text().encode()
        if new == old:
            return None
        kept = None
        with self._writing():
            if lock.notes and old:
                kept = f"{LOCK_NAME}.bak.{clock.now().strftime('%Y%m%dT%H%M%S%fZ')}"
                with (self.root / kept).open("xb") as stream:
                    stream.write(old)
            if not os.path.lexists(self.path):
                self.path.open("xb").close()  # an empty file says the same as none
        rewrite_file(self.path, old, new)
        return kept

    def _writing(self) -> AbstractContextManager[None]:
        return os_errors("cannot be written", path=self.path, hint=_HINT)


def seeded_copies(workspace: Root, entity: str | None = None) -> dict[tuple[str, str], frozenset[str]]:
    """The copies that targets left as they were, by entity and entry id, with the entities they were seeded from."""
    records = SeedFile(workspace).read()[1].records.values()
    return copies_among([each for each in records if entity in {None, each.target}], _ids_of(workspace))


def copies_among(
    records: Iterable[SeedRecord], ids: Callable[[str], Collection[str] | None]
) -> dict[tuple[str, str], frozenset[str]]:
    """The same by some records; ``ids`` gives those of an entity's entries, ``None`` if it cannot be read."""
    copies: dict[tuple[str, str], frozenset[str]] = {}
    for record in records:
        # Nothing follows a source that cannot be read: there no question would be asked.
        there = () if ids(record.source) is None else ids(record.target) or ()
        for key in ((record.target, each.id) for each in record.entries if each.id in there):
            copies[key] = copies.get(key, frozenset()) | {record.source}
    return copies


def _ids_of(workspace: Root) -> Callable[[str], Collection[str] | None]:
    @cache
    def ids(entity: str) -> Collection[str] | None:
        try:
            workspace.profile(parts_of(entity).owner)
            document = workspace.parse(workspace.store.peek(entity))
        except CatmemError:
            return None
        return frozenset(entry.id for entry in document.entries)

    return ids
