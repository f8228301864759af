"""Where a simulation happens: a root, and databases or schemas, that are made for one race and removed after it."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from uuid import uuid4

from catmem.errors import StoreError
from catmem.policy.config import Config
from catmem.service.simulating.shards import shard_of
from catmem.service.store_names import database_file, shown_store, store_at
from catmem.service.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.store.contract import Store

SCHEMA = "catmem_simulation_"
"""How the name of a schema begins that a simulation makes in a PostgreSQL database."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of a race, the shards; each entity is in one of them."""

    shards: dict[str, Store]

    def of(self, entity: str) -> Store:
        """The store that has an entity."""
        return self.shards[shard_of(entity, list(self.shards))]


@contextmanager
def open_stores(root: str, places: Sequence[str]) -> Iterator[Stores]:
    """The stores at some places, for the entities of a root."""
    workspace = Workspace.open(root, search=False)
    with ExitStack() as stack:
        shards: dict[str, Store] = {}
        for number, where in enumerate(places, 1):
            store = store_at(workspace, where)
            stack.callback(store.close)
            shards[f"shard-{number}"] = store
        yield Stores(shards)


@contextmanager
def throw_away(places: Sequence[str], entities: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """A new root with the profiles of ``entities``, and a new store for each of the places, all removed in the end.

    Gives the root's folder and where the stores are. A SQLite database must not exist; in a PostgreSQL database, which
    must hold no entities, everything happens in a schema of its own. Raises ``StoreError`` (``not_empty``).
    """
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="catmem-simulation-")))
        (root / "profiles").mkdir()
        (root / "catmem.yaml").write_text("version: 1\n", encoding="utf-8")
        for entity in entities:
            (root / "profiles" / f"{entity.partition('/')[0]}.yaml").write_text("{}\n", encoding="utf-8")
        yield str(root), [stack.enter_context(_store(root, where)) for where in places]


@contextmanager
def _store(root: Path, where: str) -> Iterator[str]:
    if where.startswith("postgresql://"):
        with _schema(where) as inside:
            yield inside
        return
    path = database_file(Config(root), where)
    if path is None:
        yield where
        return
    if path.exists():
        raise _not_empty(where, "exists")
    try:
        yield where
    finally:
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)


@contextmanager
def _schema(where: str) -> Iterator[str]:
    """A schema of its own in a PostgreSQL database, and the URL by which it is what a client sees."""
    import psycopg
    from psycopg import sql

    name = sql.Identifier(plain := SCHEMA + uuid4().hex)
    try:
        connection = psycopg.connect(where, autocommit=True)
    except psycopg.OperationalError as error:
        raise StoreError(
            f"{shown_store(where)} cannot be reached: {str(error).strip().splitlines()[0]}",
            code="not_available",
            hint="Nothing was done. Check the address, and whether the server runs.",
        ) from error
    with connection:
        table = connection.execute("SELECT to_regclass('memory_meta')").fetchone()
        if table and table[0] and connection.execute("SELECT 1 FROM memory_meta LIMIT 1").fetchone():
            raise _not_empty(where, "holds entities")
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        try:
            parts = urlsplit(where)
            query = urlencode({**dict(parse_qsl(parts.query)), "options": f"-csearch_path={plain}"}, quote_via=quote)
            yield parts._replace(query=query).geturl()
        finally:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(name))


def _not_empty(where: str, why: str) -> StoreError:
    return StoreError(
        f"{shown_store(where)} {why}, and a simulation never works where somebody's data is",
        code="not_empty",
        hint="Nothing was done. Name a database that does not exist (sqlite) or has no entities (postgresql).",
    )
