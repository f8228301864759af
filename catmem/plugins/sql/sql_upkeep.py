"""The upkeep of a database: what it gives the store, what is not right in it, and forgetting for good.

docs/errors.md says what the codes of the faults mean.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from catmem.digest import bytes_digest
from catmem.errors import BusyError, DamagedError, RefusedError, StoreError
from catmem.files import os_errors
from catmem.plugins.sql import entry_rows, log_rows
from catmem.plugins.sql.connections import Database, Link, Statement
from catmem.plugins.sql.log_rows import LogHistory, LogStep, Meta, chain_start, chained, columns_of
from catmem.plugins.sql.tables import is_counted, version_of
from catmem.store.changes import redacted
from catmem.store.contract import Erasure, Fault, Feature, Kept, Left, Revision, Rows, tips
from catmem.store.files.system import FOLDER, System, new_file
from catmem.store.table_rows import MOST_BYTES, FoundRow, copies, copy_text, numbered_copies, row_copy, rows_of
from catmem.workspace.rows import RowCodec

_OPEN_TO_ALL = (
    "SELECT 1 FROM pg_catalog.pg_namespace, "
    "pg_catalog.aclexplode(coalesce(nspacl, pg_catalog.acldefault('n', nspowner))) AS given "
    "WHERE nspname = current_schema() AND given.grantee = 0 AND given.privilege_type = 'CREATE'"
)


def examine(database: Database) -> tuple[str, Sequence[Feature]]:
    """The database's name and version, and its features. Raises ``StoreError``."""
    with database.looking() as link:
        return _sqlite(link) if database.kind == "sqlite" else _postgresql(link)


def _sqlite(link: Link) -> tuple[str, Sequence[Feature]]:
    version, mode = link.text("SELECT sqlite_version()")[0][0], link.text("PRAGMA journal_mode")[0][0]
    means = "readers and the one writer do not wait for each other"
    if mode != "wal":
        means = f"the journal mode is {mode}: readers and the writer wait for each other; is it a network disk?"
    return f"SQLite {version}", [Feature("write-ahead log", mode == "wal", means)]


def _postgresql(link: Link) -> tuple[str, Sequence[Feature]]:
    version, commit, syncs = (
        str(link.text(f"SHOW {name}")[0][0]) for name in ("server_version", "synchronous_commit", "fsync")
    )
    is_safe = commit != "off" and syncs == "on"
    means = f"a write is on the server's disk before it is acknowledged (synchronous_commit = {commit})"
    if not is_safe:
        means = f"fsync = {syncs}, synchronous_commit = {commit}: a power cut may lose acknowledged writes"
    is_open = bool(link.text(_OPEN_TO_ALL))
    may = "may make tables and functions where catmem has its own"
    schema = f"any user {may}: REVOKE CREATE ON SCHEMA … FROM PUBLIC" if is_open else f"not everybody {may}"
    return f"PostgreSQL {version}", [Feature("synchronous", is_safe, means), Feature("own schema", not is_open, schema)]


_RESTORE = "Restore the database from a backup."
_TAKE_IN = (
    "Nothing is lost. Did card_titles or an alias of a category change in catmem.yaml? Set it back: the rows are right "
    "by it. Else run 'catmem fsck --repair': it takes what the rows say into the history, as a revision of external."
)
_COUNT_AGAIN = (
    "Run 'catmem fsck --repair', or write anything: that makes them again, and compares all rows with the history. "
    "A program that rebuilds the table takes them away; find it."
)


def count_rows(link: Link) -> dict[str, int]:
    counts = link.text("SELECT entity, count(*) FROM user_memories GROUP BY entity")
    return {str(entity): int(count) for entity, count in counts}


def all_rows(link: Link) -> Rows:
    """All rows as they are, and how often those of each entity were changed."""
    rows = entry_rows.shown_rows(link)
    return Rows(rows, dict.fromkeys((str(row["entity"]) for row in rows), (0, 0)) | log_rows.generations(link))


def look_over(database: Database, codec: RowCodec, steps: Callable[[str], Iterator[LogStep]]) -> list[Fault]:
    """What is not right; ``steps`` gives the log of an entity."""
    faults: list[Fault] = []
    if database.kind == "sqlite":  # a server looks after its pages itself
        with database.looking() as link:
            pages = [str(said) for (said,) in link.text("PRAGMA quick_check(20)")]
        faults += [Fault("database_damaged", said, database.name, _RESTORE) for said in pages if said != "ok"]
    with database.reading() as link:
        version = version_of(link)
        known = {*log_rows.look_at_all(link), *entry_rows.entities(link)}
        if not is_counted(link):
            message = "the triggers of user_memories are not as they must be, so changes of its rows go unnoticed"
            faults.append(Fault("not_counted", message, database.name, _COUNT_AGAIN, repairable=True))
    store = "" if version is None else version[1]
    for entity in sorted(known):
        faults += _entity(database, codec, entity, store, steps(entity))
    return faults


def _entity(database: Database, codec: RowCodec, entity: str, store: str, steps: Iterator[LogStep]) -> list[Fault]:
    place = f"{database.kind}:{entity}"
    faults: list[Fault] = []
    with database.reading() as link:
        there, past = log_rows.look(link, entity), LogHistory(link, entity)
        rows = entry_rows.found_rows(link, entity, codec)
        open_branches = [each.revision for each in past.tips()]
    chain, head = chain_start(store, entity), b""
    log: list[Revision] = []
    try:
        for step, _, data in log_rows.contents(entity, steps):
            if step.revision.sequence > there.sequence:
                break  # it was written meanwhile
            if step.revision.sequence != len(log) + 1 or chained(chain, step) != step.chain:
                message = f"record {step.revision.sequence} does not follow from the one before"
                return [Fault("log_damaged", message, place, _RESTORE)]
            chain = step.chain
            log.append(step.revision)
            if not step.revision.is_branch:
                head = data
    except DamagedError as error:
        return [Fault("log_damaged", error.message, place, _RESTORE)]
    if (len(log), chain if log else "") != (there.sequence, there.chain):
        message = f"the log ends with record {len(log)}, and {there.sequence} were written"
        return [Fault("log_end", message, place, _RESTORE)]
    branches = [each.revision for each in tips(reversed(log)) if each.is_branch]
    if branches != open_branches:
        message = f"the open branches are {_list(branches)}, and memory_meta has {_list(open_branches)}"
        hint = f"Set the column branches of {entity} in memory_meta to '{json.dumps(branches[::-1])}'."
        faults.append(Fault("branches_differ", message, place, hint))
    return [*faults, *_rows(codec, entity, there, head, rows, place)]


def _rows(  # noqa: PLR0913, PLR0917 - what there is, and what there should be
    codec: RowCodec, entity: str, there: Meta, head: bytes, rows: list[FoundRow], place: str
) -> Iterator[Fault]:
    if not there.is_drifted:
        if entry_rows.differ(rows, codec.rows(entity, head)):
            message = "the rows are not what the recorded text says by catmem.yaml, though nothing counted a change"
            yield Fault("rows_differ", message, place, _TAKE_IN, repairable=True)
        return
    try:
        edited = codec.edited(entity, head, rows)
    except RefusedError as error:
        yield Fault("bad_rows", error.message, place, error.hint or "")
        return
    for id_, what in edited.bad:
        hint = "No write is made until the row is mended or deleted, with the program that wrote it."
        yield Fault("bad_rows", f"row {id_} is no entry: {what}", place, hint)
    if edited.data != head or (not edited.bad and entry_rows.set_back(rows, codec.rows(entity, head))):
        message = f"the rows were changed by another program since revision {there.revision}"
        hint = "The next write takes it into the history."
        yield Fault("changed_outside", message, place, hint, damage=False)


def _list(names: list[str]) -> str:
    return ", ".join(names) or "none"


ERASED = "erased"
"""In the note of a record: the link that it had before something was erased from it."""

_SERVER = "the server's write-ahead log, its backups and its copies may hold it; see to them yourself"
_OPEN = "a program has the database open; end that and purge once more"

_CHANGED = ("digest", "size", "note", "base", "depth", "offset", "removed", "data", "chain")
_REWRITE = Statement(
    f"""UPDATE mem_log SET {", ".join(f'"{name}" = :{name}' for name in _CHANGED)} """
    "WHERE entity = :entity AND sequence = :sequence"
)


def erase_log(database: Database, entity: str, steps: Iterator[LogStep], erasure: Erasure, start: str) -> int:
    """Rewrite what holds the text in a log; raises ``BusyError`` for what was written meanwhile."""
    count = 0
    with database.writing() as link:
        there = log_rows.lock(link, entity, start)
        if there.is_drifted:
            message = f"another program changed the rows of {entity} meanwhile"
            raise BusyError(message, hint="Nothing was erased. Try again.")
        chain = start
        last: LogStep | None = None
        for old, before, data in log_rows.contents(entity, steps):
            new = _erased(old, before, data, erasure, chain)
            chain = new.chain
            if new != old:
                was, now = old.revision, new.revision
                count += was.digest != now.digest or erasure.redact_note(was.note, data) != was.note
                link.run(_REWRITE, **columns_of(new))
            if new.revision.sequence == there.head and new.revision.digest != old.revision.digest:
                raise BusyError(f"{entity} was written meanwhile", hint="Nothing was erased. Try again.")
            last = new
        if last is not None and chain != there.chain:
            log_rows.record(link, there, there._replace(chain=chain), last.revision)
    return count


def _erased(old: LogStep, before: bytes, data: bytes, erasure: Erasure, chain: str) -> LogStep:
    rest = erasure.redact(data)
    recorded, change = old.revision, redacted(old.change, (before, erasure.redact(before)), (data, rest))
    note = erasure.redact_note(recorded.note, data)
    if rest != data or change != old.change or note != recorded.note:
        note = {**note, ERASED: old.chain}
        recorded = replace(recorded, digest=bytes_digest(rest), size=len(rest), note=note)
    new = old._replace(revision=recorded, change=change)
    return new._replace(chain=chained(chain, new))


def clean_up(database: Database, entity: str) -> list[Left]:
    """Give back the room that erased bytes took, so that they are in no free page; says where they may be still."""
    if database.kind == "postgresql":
        with database.looking() as link:
            link.text("VACUUM FULL mem_log")
            link.text("VACUUM FULL user_memories")
        return [Left(Path(f"{database.kind}:{entity}"), _SERVER)]
    with database.looking() as link:
        link.text("VACUUM")
        ((busy, *_),) = link.text("PRAGMA wal_checkpoint(TRUNCATE)")
    return [Left(Path(f"{database.path}-wal"), _OPEN)] if busy else []


def kept(folder: Path, entity: str, codec: RowCodec) -> Iterator[Kept]:
    """What copies of rows say, as memory files."""
    for path in copies(folder):
        rows = codec.known([_row(number, each) for number, each in enumerate(rows_of(read_copy(path) or {}, entity))])
        if not rows:
            continue
        edited = codec.edited(entity, b"", rows)
        yield Kept(path, edited.data, "left", own=True)
        bad = {id_ for id_, _ in edited.bad}
        for row in rows:
            if row.id in bad:
                yield Kept(path, str(row.content).encode(errors="backslashreplace"), "left", own=True)


def _row(number: int, said: dict[str, object]) -> FoundRow:
    tags = said.get("tags")
    tags = tags if isinstance(tags, str) else json.dumps(tags)
    return FoundRow(
        number, number, said.get("category"), said.get("title"), None, said.get("content"), tags, None, None
    )


def erase_copies(folder: Path, entity: str, codec: RowCodec, erasure: Erasure) -> list[Path]:
    holding = dict.fromkeys(each.path for each in kept(folder, entity, codec) if erasure.holds(each))
    for path in holding:
        with suppress(FileNotFoundError):
            path.unlink()
    return list(holding)


# --- a copy of all rows for each external change of them ---

KEPT = 100
"""How many copies are kept."""
KEPT_FOR = 30 * 24 * 3600
"""For how many seconds; the newest of all stays whatever its age."""


def keep_rows(folder: Path, entity: str, rows: Rows) -> Path:
    """Keep rows as they were found after an external change of those of an entity, and say where."""
    with os_errors(
        "no copy of the external change could be kept",
        path=folder,
        hint="So nothing else was written. Make the folder writable.",
        kind=StoreError,
    ):
        there = find_copy(folder, entity, rows.generations[entity])
        if there is not None and rows_of(read_copy(there) or {}, entity) == rows_of({"entries": rows.rows}, entity):
            return there
        path = _write_copy(folder, copy_text(row_copy(rows, entity)))
        _remove_old(folder)
    return path


def find_copy(folder: Path, entity: str, generations: tuple[int, int]) -> Path | None:
    """The newest copy that was made of an external change, by the generations of its entity before and after."""
    wanted = (entity, *generations)
    for path in reversed(copies(folder)):
        said = read_copy(path) or {}
        if tuple(map(said.get, ("entity", "generation_observed", "generation_actual"))) == wanted:
            return path
    return None


def _remove_old(folder: Path) -> None:
    oldest = time.time() - KEPT_FOR
    for number, path in enumerate(reversed(copies(folder))):
        with suppress(FileNotFoundError):  # another process removed it just now
            if number and (number >= KEPT or path.stat().st_mtime < oldest):
                path.unlink()


def read_copy(path: Path) -> dict[str, Any] | None:
    """What a copy says; ``None`` for a file that only has the name of one."""
    try:
        if path.is_symlink() or path.stat().st_size > MOST_BYTES:
            return None
        there = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None  # it is left alone, and another one written
    return there if isinstance(there, dict) else None


def _write_copy(folder: Path, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    # Its name comes behind all others, also in the same second, and whatever the clock says.
    stamp, number = max([(int(time.time()), 0), *(place for place, _ in numbered_copies(folder)[-1:])])
    system, descriptor = System(), os.open(folder, FOLDER | os.O_CLOEXEC)
    try:
        while True:
            number += 1
            name = f"memory.bak.{stamp}.json" if number == 1 else f"memory.bak.{stamp}-{number}.json"
            with suppress(FileExistsError):
                new_file(system, name, descriptor, data, mode=0o600, sync=system.fsync)
                system.fsync(descriptor)
                return folder / name
    finally:
        system.close(descriptor)
