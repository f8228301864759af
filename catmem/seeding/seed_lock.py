"""``catmem.seed.lock``: what was seeded last, from where, so that the next seed can tell edits from additions.

One JSON file at the root, sorted, a line for each entry, committed with the memory files. It may be lost, and git may
merge it badly: then less is known of what was seeded, and a seed adds what is missing and takes nothing away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from catmem.clock import read_date
from catmem.digest import ID_PREFIX
from catmem.errors import ConfigError
from catmem.names import is_entity, slugify

LOCK_NAME = "catmem.seed.lock"
VERSION = 1


class Seeded(NamedTuple):
    """An entry as it was seeded, with its tag block; ``kept`` is the target's text that a person keeps in its place."""

    category: str
    id: str
    text: str
    kept: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What it says, and where."""
        return self.category, self.id


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
