"""The checker takes a right compare-and-swap on a database, and catches the wrong ones."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.lengths import at_length
from tests.linearizability.checker import check
from tests.linearizability.plain_sql import BROKEN_SQL, SQLITE_FORBIDS, PlainPostgresql, PlainSqlite
from tests.linearizability.work import in_threads, replayed

pytestmark = pytest.mark.torture

OPERATIONS = at_length(1_000, 500)
STORES = [
    PlainSqlite,
    pytest.param(PlainPostgresql, marks=pytest.mark.postgresql),
]


def checked(store):
    with closing(store):
        return check(in_threads(store, OPERATIONS), replayed(store))


@pytest.mark.parametrize("store", STORES)
def test_the_right_way_is_taken(store, tmp_path):
    assert checked(store.on(tmp_path)) == []


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("way", "codes"), BROKEN_SQL.items(), ids=lambda part: getattr(part, "__name__", None))
def test_a_wrong_way_is_caught(store, way, codes, tmp_path):
    if store is PlainSqlite and way in SQLITE_FORBIDS:
        pytest.skip("SQLite forbids it")
    assert codes & {violation.code for violation in checked(store.on(tmp_path, way))}
