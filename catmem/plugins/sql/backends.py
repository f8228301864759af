"""How a root opens its database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from catmem.config.config import Config, expand_user
from catmem.store.contract import Store
from catmem.workspace.stores import Backend, Opening, tier_of

_SQLITE = "sqlite:///"
_BEGINNINGS = {b"SQLi", b"7\x7f\x06\x82", b"7\x7f\x06\x83"}
"""Of a database, and of its log."""


def _open_database(opening: Opening, url: str) -> Store:
    config = opening.config
    from catmem.plugins.sql.sql_store import SqlStore
    from catmem.workspace.rows import RowCodec

    codec = RowCodec(opening.parse, tier_of(opening.profile))
    return SqlStore(url, codec, folder=config.root, root=config.root if opening.is_own else None)


def _sqlite_url(config: Config) -> str:
    """The URL with a whole path: that in catmem.yaml is taken from the root."""
    path, mark, options = config.store.removeprefix(_SQLITE).partition("?")
    return f"{_SQLITE}{config.root / expand_user(path)}{mark}{options}"


def _sqlite_file(config: Config) -> Path:
    return Path(_sqlite_url(config).removeprefix(_SQLITE).partition("?")[0]).resolve()


def _others_below(config: Config) -> dict[str, Path]:
    """The databases of catmem below a root that it does not use. New tables are in the log beside one alone."""
    own = _sqlite_file(config) if config.store.startswith(_SQLITE) else None
    found: dict[str, Path] = {}
    for path in filter(Path.is_file, config.root.rglob("*")):
        file = path.with_name(path.name.removesuffix("-wal"))
        with suppress(OSError), path.open("rb") as opened:  # what this user may not read is no store of this root
            if opened.read(4) in _BEGINNINGS and b"catmem_schema" in opened.read() and file.resolve() != own:
                found[f"{_SQLITE}{file}"] = file
    return found


@contextmanager
def _new_file(config: Config) -> Iterator[str]:
    """A database that does not exist yet, for a moment: it is removed with the files beside it."""
    try:
        yield config.store
    finally:
        for end in ("", "-wal", "-shm"):
            Path(f"{_sqlite_file(config)}{end}").unlink(missing_ok=True)


def _new_schema(config: Config) -> AbstractContextManager[str]:
    from catmem.plugins.sql.connections import new_schema

    return new_schema(config.store)


SQLITE = Backend(
    lambda opening: _open_database(opening, _sqlite_url(opening.config)),
    file=_sqlite_file,
    below=_others_below,
    scratch=_new_file,
)
POSTGRESQL = Backend(lambda opening: _open_database(opening, opening.config.store), scratch=_new_schema)
