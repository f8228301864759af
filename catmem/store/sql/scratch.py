"""A place in a database for a moment: what a store makes there is gone afterwards."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def new_file(path: Path) -> Iterator[None]:
    """A SQLite database that does not exist yet; it is removed with the files beside it."""
    try:
        yield
    finally:
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)


@contextmanager
def new_schema(url: str) -> Iterator[str]:
    """A schema of its own in a PostgreSQL database, and the URL by which it is what a client sees."""
    import psycopg

    name = f"catmem_simulation_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
        try:
            parts = urlsplit(url)
            query = urlencode({**dict(parse_qsl(parts.query)), "options": f"-csearch_path={name}"}, quote_via=quote)
            yield parts._replace(query=query).geturl()
        finally:
            connection.execute(f"DROP SCHEMA {name} CASCADE".encode())
