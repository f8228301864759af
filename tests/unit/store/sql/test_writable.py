"""Whether a database takes writes: told by trying, without a change, and again when that changes."""

import shutil
import sqlite3
import subprocess
from contextlib import closing, contextmanager
from itertools import count
from urllib.parse import urlsplit

import pytest

from catmem.errors import StoreError
from catmem.store.contract import Change
from tests.sql.postgres import MISSING

TEXT = b"## Rules\nOne.\n"
NUMBERS = count()


def write(store):
    return store.commit("neo/user", None, lambda _: TEXT + b"%d\n" % next(NUMBERS), Change()).revision


def refusal_of(store):
    with pytest.raises(StoreError) as caught:
        store.check_writable()
    assert caught.value.code == "not_writable"
    return caught.value


@contextmanager
def immutable(path):
    """A file that not even root may write, as on a disk that is mounted to be read."""
    if (
        shutil.which("chattr") is None
        or subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode
    ):
        pytest.skip("no file can be made immutable here")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", path], check=True)


def writes(store):
    return {feature.name: feature.there for feature in store.examine()[0].features}["writes"]


def test_a_connection_of_a_time_when_it_could_only_be_read_is_let_go(opened, path):
    another, store = opened(f"sqlite:///{path}"), opened(f"sqlite:///{path}")
    write(another)
    another.close()
    with immutable(path):
        assert store.peek("neo/user")  # by a connection that stays as it is
    store.check_writable()
    assert write(store) == "2"


def test_asking_changes_nothing(opened, path):
    store = opened(f"sqlite:///{path}")
    store.check_writable()
    assert not path.exists()
    write(store)
    with closing(sqlite3.connect(path)) as other:
        before = other.execute("PRAGMA data_version").fetchone()
        store.check_writable()
        assert other.execute("PRAGMA data_version").fetchone() == before


# --- PostgreSQL ----------------------------------------------------------------------------------------------------


@pytest.fixture
def server(opened):
    """A store on a database of its own, and a way to talk to that."""
    if MISSING:
        pytest.skip(MISSING)
    import psycopg

    from tests.sql.server import url

    place = url("unit")
    store = opened(place)
    with psycopg.connect(place, autocommit=True) as connection:
        yield store, connection
        store.close()
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f'ALTER DATABASE "{connection.info.dbname}" RESET default_transaction_read_only')


def test_a_database_that_can_only_be_read_is_told(server):
    store, connection = server
    write(store)
    connection.execute(f'ALTER DATABASE "{connection.info.dbname}" SET default_transaction_read_only = on')
    store.close()  # who connects from now on can only read
    assert "read-only transaction" in refusal_of(store).message
    assert not writes(store)
    connection.execute(f'ALTER DATABASE "{connection.info.dbname}" RESET default_transaction_read_only')
    store.close()
    store.check_writable()


def test_a_user_without_rights_is_told_which(server, opened):
    store, connection = server
    write(store)
    user = f"reader_{next(NUMBERS)}"
    schema = connection.execute("SELECT current_schema()").fetchone()[0]
    connection.execute(f"CREATE ROLE {user} LOGIN PASSWORD 'reads'")
    try:
        connection.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO {user}')
        connection.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {user}')
        parts = urlsplit(store._database._url)
        place = parts._replace(netloc=f"{user}:reads@{parts.netloc.rpartition('@')[2]}").geturl()
        reader = opened(place)
        assert reader.peek("neo/user")
        assert "mem_log" in refusal_of(reader).message
        reader.close()
    finally:
        connection.execute(f"DROP OWNED BY {user}")
        connection.execute(f"DROP ROLE {user}")
