"""A store in each database, with what a direct client does to it."""

from contextlib import ExitStack, closing

import pytest

from catmem.model.document import parse
from catmem.plugins.sql.sql_store import SqlStore
from catmem.workspace.rows import RowCodec
from tests.unit.store.sql.clients import Client

KINDS = [
    pytest.param("sqlite", id="sqlite"),
    pytest.param("postgresql", id="postgresql", marks=pytest.mark.postgresql),
]


@pytest.fixture(params=KINDS)
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/memory.db"
    from tests.sql.server import url

    return url("unit")


@pytest.fixture
def opened():
    """Opens a store on a database, as a new process does; each is closed in the end."""
    with ExitStack() as stores:

        def open_it(url, **choices):
            return stores.enter_context(closing(SqlStore(url, RowCodec(parse), **choices)))

        yield open_it


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "root"
    place.mkdir()
    return place


@pytest.fixture
def store(opened, url, folder):
    return opened(url, folder=folder)


@pytest.fixture
def client(url):
    opened = Client(url)
    yield opened
    opened.close()


@pytest.fixture
def path(tmp_path):
    """Where a SQLite database is that its root keeps a mark of."""
    return tmp_path / "memory.db"


@pytest.fixture
def marked(opened, path):
    """Opens the database at ``path``."""
    return lambda: opened(f"sqlite:///{path}", folder=path.parent, root=path.parent, timeout=0.3)
