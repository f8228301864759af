"""A store in each database, with what a direct client does to it."""

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
def folder(tmp_path):
    place = tmp_path / "root"
    place.mkdir()
    return place


@pytest.fixture
def store(url, folder):
    opened = SqlStore(url, RowCodec(parse), folder=folder)
    yield opened
    opened.close()


@pytest.fixture
def client(url):
    opened = Client(url)
    yield opened
    opened.close()
