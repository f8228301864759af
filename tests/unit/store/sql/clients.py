"""A program that knows nothing of catmem and writes to its tables, by the driver of each database."""

import sqlite3
from typing import Any


class Client:
    """A connection of its own; each statement is a transaction."""

    def __init__(self, url: str) -> None:
        self.kind = url.partition(":")[0]
        self.path = url.removeprefix("sqlite:///")
        self._url = url
        self._connection: Any = None

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = self._connect()
        cursor = self._connection.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []

    def _connect(self) -> Any:
        if self.kind == "sqlite":
            return sqlite3.connect(self.path, isolation_level=None)
        import psycopg

        return psycopg.connect(self._url, autocommit=True)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
