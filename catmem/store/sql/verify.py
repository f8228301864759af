"""Look at every record and row of a database, and say what is not right.

Codes: ``database_damaged`` (SQLite's own check), ``log_damaged`` (a record is not what was written, or does not follow
from the one before), ``log_end`` (records are missing at the end), ``branches_differ`` (``mem_branches`` is not what
the log says), ``rows_differ`` (rows are not what was recorded, though nothing counted a change), ``bad_rows`` (rows
that are no entries), ``not_counted`` (triggers are missing); and for information ``changed_outside``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from catmem.errors import DamagedError, RefusedError
from catmem.store.contract import Fault
from catmem.store.graph import tips
from catmem.store.sql import entries, history, meta
from catmem.store.sql.database import Statement
from catmem.store.sql.history import Past, Rebuilding, chained
from catmem.store.sql.schema import is_counted, version_of
from catmem.store.sql.tables import ENTRIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.store.contract import Revision
    from catmem.store.sql.codec import Codec, FoundRow
    from catmem.store.sql.database import Database
    from catmem.store.sql.meta import Meta

_RESTORE = "Restore the database from a backup."
_REPAIR = "Run 'catmem fsck --repair': it makes them again from the log."
_TAKE_IN = "Run 'catmem fsck --repair': it takes what the rows say into the history, as a revision of external."
_COUNT_AGAIN = (
    "Run 'catmem fsck --repair', or write anything: that makes them again, and compares all rows with the history. "
    "A program that rebuilds the table takes them away; find it."
)


_COUNT = Statement(select(ENTRIES.c.entity, func.count()).group_by(ENTRIES.c.entity))


def count_rows(database: Database) -> dict[str, int]:
    """How many rows each entity has."""
    with database.looking() as link:
        return {str(entity): int(count) for entity, count in link.rows(_COUNT)}


def look_over(database: Database, codec: Codec) -> list[Fault]:
    """What is not right."""
    faults = list(_whole(database))
    with database.reading() as link:
        version = version_of(link)
        known = {*meta.look_at_all(link), *entries.entities(link)}
        if not is_counted(link):
            message = "the triggers of user_memories are not as they must be, so changes of its rows go unnoticed"
            faults.append(Fault("not_counted", message, database.name, _COUNT_AGAIN, repairable=True))
    store = "" if version is None else version[1]
    for entity in sorted(known):
        faults += _entity(database, codec, entity, store)
    return faults


def _whole(database: Database) -> Iterator[Fault]:
    """SQLite's own look at every page; a server looks after its pages itself."""
    if database.kind != "sqlite":
        return
    with database.looking() as link:
        for (said,) in link.text("PRAGMA quick_check(20)"):
            if said != "ok":
                yield Fault("database_damaged", str(said), database.name, _RESTORE)


def _entity(database: Database, codec: Codec, entity: str, store: str) -> list[Fault]:
    from catmem.store.sql.history import chain_start

    place = f"{database.kind}:{entity}"
    faults: list[Fault] = []
    with database.reading() as link:
        there, past = meta.look(link, entity), Past(link, entity)
        rows = entries.found_rows(link, entity)
        open_branches = [each.revision for each in past.tips()]
    rebuilding = Rebuilding(database, entity)
    chain, head = chain_start(store, entity), b""
    log: list[Revision] = []
    try:
        for step in _steps(database, entity, there.sequence):
            if step.revision.sequence != len(log) + 1 or chained(chain, step) != step.chain:
                message = f"record {step.revision.sequence} does not follow from the one before"
                return [Fault("log_damaged", message, place, _RESTORE)]
            data = rebuilding.data(step)
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
        message = f"the open branches are {_list(branches)}, and mem_branches has {_list(open_branches)}"
        faults.append(Fault("branches_differ", message, place, _REPAIR, repairable=True))
    return [*faults, *_rows(codec, entity, there, head, rows, place)]


def _steps(database: Database, entity: str, last: int) -> Iterator[history.Step]:
    after = -1
    while page := history.page_after(database, entity, after):
        for step in page:
            if step.revision.sequence > last:
                return  # it was written meanwhile
            yield step
        after = page[-1].revision.sequence


def _rows(  # noqa: PLR0913, PLR0917 - what there is, and what there should be
    codec: Codec, entity: str, there: Meta, head: bytes, rows: list[FoundRow], place: str
) -> Iterator[Fault]:
    if not there.is_drifted:
        if entries.differ(rows, codec.rows(entity, head)):
            message = "the rows are not what was recorded, though nothing counted a change"
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
    if edited.data != head:
        message = f"somebody changed the rows since revision {there.revision}"
        hint = "The next write takes it into the history."
        yield Fault("changed_outside", message, place, hint, damage=False)


def _list(names: list[str]) -> str:
    return ", ".join(names) or "none"


def mend(database: Database, entity: str) -> list[str]:
    """Make the open branches of an entity again from its log; says what was done."""
    done: list[str] = []
    with database.writing() as link:
        meta.lock(link, entity)
        past = Past(link, entity)
        log = [each for page in _pages(past) for each in page]
        branches = [each for each in tips(log) if each.is_branch]
        if [each.revision for each in branches] != [each.revision for each in past.tips()]:
            past.set_tips(branches)
            done.append(f"{entity}: mem_branches was made again from the log")
    return done


def _pages(past: Past) -> Iterator[list[Revision]]:
    before = 1 << 62
    while page := past.before(before):
        yield page
        before = page[-1].sequence
