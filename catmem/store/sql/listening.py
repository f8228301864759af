"""Hear of each commit as it is made: PostgreSQL tells whoever listens."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING

from catmem.errors import StoreError
from catmem.store.sql.database import CHANNEL, LISTENER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from catmem.store.sql.database import Database

_AT_ONCE = 0.25
"""Seconds until a listener sees that it is to stop."""


def heard(database: Database, seconds: float, stopped: Callable[[], bool]) -> Iterator[tuple[str, str]]:
    """Entity and revision of each commit, as they come, for so many ``seconds`` or until it is ``stopped``.

    Raises ``StoreError``.
    """
    if database.kind != "postgresql":
        raise StoreError(
            "SQLite does not tell of writes",
            code="not_available",
            path=database.name,
            hint="Read the entity again now and then; that takes no lock.",
        )
    import psycopg

    with closing(database.raw()) as connection:
        try:
            connection.execute("SELECT pg_advisory_lock_shared(%s, %s)", LISTENER)
            connection.execute(f"LISTEN {CHANNEL}")
            ends = time.monotonic() + seconds
            while (left := ends - time.monotonic()) > 0 and not stopped():
                for news in connection.notifies(timeout=min(left, _AT_ONCE)):
                    said = json.loads(news.payload)
                    yield str(said["entity"]), str(said["revision"])
        except psycopg.Error as error:
            raise StoreError(
                "the connection to the database was lost while listening",
                code="not_available",
                path=database.name,
                hint="Listen again, and read what you know of once more.",
            ) from error
