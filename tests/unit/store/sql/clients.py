"""Programs that know nothing of catmem and write to its tables: the driver of each database, and the real sqlite3 shell."""

import shutil
import sqlite3
import subprocess
from typing import Any

import pytest


class Client:
    """A connection of its own; each statement is a transaction."""

    def __init__(self, url: str) -> None:
        self.kind = url.partition(":")[0]
        self.path = url.removeprefix("sqlite:///")
        self._url = url
        self._connection: Any = None

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement as it is."""
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


def shell(path: str, *lines: str) -> None:
    """Run lines in the sqlite3 shell."""
    if shutil.which("sqlite3") is None:
        pytest.skip("there is no sqlite3 shell here")
    subprocess.run(["sqlite3", "-bail", path], input="\n".join(lines), text=True, check=True)
