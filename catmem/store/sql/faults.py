"""What a database says, as errors that say what to do. No message holds a URL, and so none a password."""

from __future__ import annotations

from catmem.errors import BusyError, CatmemError, DamagedError, StoreError

# https://www.sqlite.org/rescode.html
_BUSY, _LOCKED, _READ_ONLY, _FULL, _CANNOT_OPEN = 5, 6, 8, 13, 14
_CORRUPT, _NOT_A_DATABASE = 11, 26
# https://www.postgresql.org/docs/current/errcodes-appendix.html
_SERIALIZATION, _DEADLOCK, _LOCK_TIMEOUT, _DISK_FULL, _NO_RIGHT, _READ_ONLY_STATE = (
    "40001",
    "40P01",
    "55P03",
    "53100",
    "42501",
    "25006",
)
_AGAIN = (_SERIALIZATION, _DEADLOCK, _LOCK_TIMEOUT)
_NOTHING = "Nothing was written."
_PATIENCE = 1.0
"""Seconds for which a server that cannot be reached is asked again."""


class DriverError(Exception):
    """What a driver raised. ``is_lost``: there is no connection any more; ``is_connecting``: there was none yet."""

    def __init__(self, error: BaseException | None, *, is_lost: bool = False, is_connecting: bool = False) -> None:
        """``error`` is the driver's own."""
        super().__init__(str(error))
        self.is_lost = is_lost
        self.is_connecting = is_connecting
        self.code: int | None = getattr(error, "sqlite_errorcode", None)
        self.state: str | None = getattr(error, "sqlstate", None)


class TransientError(Exception):
    """The database asks to try again. Nothing was written; ``error`` is for when that was often enough."""

    def __init__(self, error: CatmemError, *, patience: float | None = None) -> None:
        """``error`` says that nothing was written; ``patience`` is in seconds, where trying longer makes no sense."""
        super().__init__(str(error))
        self.error = error
        self.patience = patience


def is_read_only(error: DriverError) -> bool:
    """Whether SQLite has opened the file to read it alone."""
    return error.code is not None and error.code & 0xFF == _READ_ONLY


def fault_of(error: DriverError, name: str) -> CatmemError | TransientError:
    """What a failed statement before the commit means; ``name`` is that of the database."""
    code, state = None if error.code is None else error.code & 0xFF, error.state
    if error.is_lost or (error.is_connecting and code is None):
        return TransientError(_not_available(error, name), patience=_PATIENCE if error.is_connecting else None)
    if state in _AGAIN or code in {_BUSY, _LOCKED}:
        return TransientError(
            BusyError(
                "somebody else keeps writing to the database",
                code="locked",
                path=name,
                hint=f"{_NOTHING} Try again when they are done.",
            )
        )
    return _of_code(error, name, code, state)


def _of_code(error: DriverError, name: str, code: int | None, state: str | None) -> CatmemError:
    said = first_line(error)
    if code == _FULL or state == _DISK_FULL:
        return StoreError(f"no space is left: {said}", code="no_space", path=name, hint=f"{_NOTHING} Make room.")
    if code == _READ_ONLY or state in {_NO_RIGHT, _READ_ONLY_STATE}:
        hint = f"{_NOTHING} Give whoever runs catmem the right to write."
        return StoreError(f"the database may not be written: {said}", code="not_writable", path=name, hint=hint)
    if code in {_CORRUPT, _NOT_A_DATABASE}:
        hint = f"{_NOTHING} Restore the database from a backup; 'catmem fsck' says more."
        return DamagedError(f"this is no database, or a damaged one: {said}", path=name, hint=hint)
    if code == _CANNOT_OPEN:
        return StoreError(
            f"the database file cannot be opened: {said}",
            code="not_available",
            path=name,
            hint=f"{_NOTHING} Its folder must be there, and may be written; 'store' in catmem.yaml says the path.",
        )
    return StoreError(f"the database says: {said}", path=name, hint=f"{_NOTHING} 'catmem fsck' looks the store over.")


def fault_in_commit(error: DriverError, name: str, op_id: str | None) -> CatmemError | TransientError:
    """What a commit that failed means. Where the connection was lost, nobody knows whether it was made."""
    if not error.is_lost:
        return fault_of(error, name)
    again = f"Repeat it with the op_id {op_id!r}" if op_id else "Read again before you repeat it"
    return StoreError(
        "the connection to the database was lost in the very moment of a commit",
        code="connection_lost",
        path=name,
        hint=f"Nobody knows whether it was made. {again}: what was made is not made twice.",
    )


def _not_available(error: DriverError, name: str) -> StoreError:
    return StoreError(
        f"the database cannot be reached: {first_line(error)}",
        code="not_available",
        path=name,
        hint=f"{_NOTHING} Start it, or see 'store' in catmem.yaml; its password comes from PGPASSWORD or ~/.pgpass. "
        "A server on another host must prove its name by TLS and ask for SCRAM; PGSSLMODE, PGREQUIREAUTH allow less.",
    )


def first_line(error: DriverError) -> str:
    """The first line of what the driver says, without the statement and its values."""
    return (str(error).strip().splitlines() or ["nothing"])[0]


def missing(module: str, extra: str) -> StoreError:
    """The error where a library is not installed."""
    return StoreError(
        f"this store needs {module}, which is not installed",
        code="missing_extra",
        hint=f"Run: pip install 'catmem[{extra}]'",
    )
