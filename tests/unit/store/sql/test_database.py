"""Connections that go from one to the next."""

import pytest

from catmem.plugins.sql.connections import Database


@pytest.fixture
def database(url):
    opened = Database(url, timeout=0.2)
    yield opened
    opened.close()


def test_what_nobody_ended_does_not_go_on_in_the_next_transaction(database):
    with database.writing() as link:
        link.text("CREATE TABLE facts (fact INTEGER)")
    with database.looking() as link:
        link.text("BEGIN")
        link.text("INSERT INTO facts VALUES (1)")
    with database.writing() as link:
        link.text("INSERT INTO facts VALUES (2)")
    with database.looking() as link:
        assert [tuple(row) for row in link.text("SELECT fact FROM facts")] == [(2,)]
