"""``catmem.seed.lock``: what was seeded last, from where, so that the next seed can tell edits from additions.

One JSON file at the root, sorted, a line for each entry, committed with the memory files. It may be lost, and git may
merge it badly: then less is known of what was seeded, and a seed adds what is missing and takes nothing away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from catmem.clock import read_date
from catmem.errors import ConfigError
from catmem.names import is_entity, slugify
from catmem.text import counted

LOCK_NAME = "catmem.seed.lock"
VERSION = 1

_ID = re.compile(r"b2:[0-9a-f]{8,128}")


class Seeded(NamedTuple):
    """An entry as it was seeded. ``text`` is that of the entry with its tag block, without the escapes of a file.

    ``kept`` is the text of the target's entry that a person keeps in the place of this one.
    """

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
    """What one entity was given from another, and when that last changed.

    ``revision`` is that of the source, ``None`` for a text that its store had not recorded; ``digest`` names its bytes.
    """

    target: str
    source: str
    revision: str | None
    digest: str
    date: date
    entries: tuple[Seeded, ...]


Records = dict[tuple[str, str], SeedRecord]


@dataclass(frozen=True, slots=True)
class SeedLock:
    """The records by ``(target, source)``, and what had to be left out of a file that is not whole (``notes``)."""

    records: Mapping[tuple[str, str], SeedRecord] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def put(self, records: Iterable[SeedRecord]) -> SeedLock:
        """The lock with some records in the place of those of the same target and source."""
        return replace(self, records={**self.records, **{(each.target, each.source): each for each in records}})

    def without(self, texts: Collection[str]) -> SeedLock:
        """The lock without some texts."""
        return self.put(
            replace(
                record,
                entries=tuple(
                    each._replace(kept=None if each.kept in texts else each.kept)
                    for each in record.entries
                    if each.text not in texts
                ),
            )
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
    """The lock in a file's bytes; none at all gives one without records.

    What cannot be read is left out and named in ``notes``. Raises ``ConfigError`` (``lock_version``) for one that a
    newer catmem wrote, which knows more than this one does.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return SeedLock(notes=(f"cannot be read: not UTF-8: byte {error.start}",))
    if not text.strip():
        return SeedLock()
    return _read(text, path)


def _read(text: str, path: str | None) -> SeedLock:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else "nested too deep"
        return SeedLock(notes=(f"cannot be read: {where}",))
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise ConfigError(
            f"is of version {version}, and this catmem knows version {VERSION}",
            code="lock_version",
            path=path,
            hint="Nothing was seeded. Use the newer catmem that wrote it.",
        )
    if not isinstance(data, dict) or not isinstance(data.get("seeds"), dict):
        return SeedLock(notes=("cannot be read: it has no seeds",))
    texts = data.get("texts")
    texts = texts if isinstance(texts, dict) else {}
    known = {each: said for each, said in texts.items() if _ID.fullmatch(each) and _is_text(said)}
    records: Records = {}
    bad, lost = list[str](), list[str]()
    for target, sources in data["seeds"].items():
        for source, said in sources.items() if isinstance(sources, dict) else ():
            found = _record(target, source, said, known)
            name = f"{target} from {source}"
            if found is None:
                bad.append(name[:120])
                continue
            records[target, source], missing = found
            lost += [name] * missing
    notes = [f"has records that cannot be read: {', '.join(bad[:5])}"] if bad else []
    if lost:
        where = ", ".join(list(dict.fromkeys(lost))[:5])
        notes.append(f"names {counted(len(lost), 'entry', 'entries')} of which it has no text ({where})")
    return SeedLock(records, tuple(notes))


@lru_cache(maxsize=1024)
def _is_category(name: str) -> bool:
    return name != "" and slugify(name) == name


def _is_text(said: Any) -> bool:  # noqa: ANN401 - JSON data
    """Whether it is a text that a file can hold: JSON may spell half a character."""
    return isinstance(said, str) and said.encode(errors="replace").decode() == said


def _record(target: str, source: str, data: Any, texts: Mapping[str, str]) -> tuple[SeedRecord, int] | None:  # noqa: ANN401 - JSON data
    """The record that the data are, if they are one, and of how many entries it has no text."""
    day = read_date(data.get("date")) if isinstance(data, dict) else None
    entries = data.get("entries") if isinstance(data, dict) else None
    if not (is_entity(target) and is_entity(source)) or day is None or not isinstance(entries, dict):
        return None
    revision, digest, kept = (data.get(key) for key in ("revision", "digest", "kept"))
    named = [(category, each) for category, ids in entries.items() for each in (ids if isinstance(ids, list) else ())]
    kept = kept if isinstance(kept, dict) else {}
    seeded = tuple(
        Seeded(category, each, texts[each], kept[each] if _is_text(kept.get(each)) else None)
        for category, each in named
        if isinstance(each, str) and each in texts and _is_category(category)
    )
    revision, digest = revision if _is_text(revision) else None, digest if _is_text(digest) else ""
    return SeedRecord(target, source, revision, digest, day, seeded), len(named) - len(seeded)


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
    return _agreed(newer, older)


def _agreed(record: SeedRecord, other: SeedRecord) -> SeedRecord:
    known = {each.key for each in other.entries}
    return replace(record, entries=tuple(each for each in record.entries if each.key in known))
