"""How much is asked of a database for what is wanted often."""

from __future__ import annotations

import pytest

from catmem.plugins.sql.link import Link
from catmem.store.contract import Change

USER = "trinity/user"


@pytest.fixture
def filled(store):
    """A store with 300 revisions of an entity."""
    for number in range(300):
        store.commit(USER, str(number), lambda _, number=number: b"## Rules\nrule %d\n" % number, Change())
    return store


@pytest.fixture
def asked(monkeypatch):
    """The statements that were run."""
    statements = []
    for name in ("_execute", "text"):
        real = getattr(Link, name)

        def asking(link, statement, *values, real=real):
            statements.append(statement)
            return real(link, statement, *values)

        monkeypatch.setattr(Link, name, asking)
    return statements


def test_a_head_is_asked_for_in_one_statement(filled, asked):
    assert filled.head(USER).revision == "300"
    assert len(asked) == 1


def committed(store, seen, text):
    return store.commit(USER, seen, lambda _: text, Change()).revision


def test_a_change_of_one_row_takes_few_statements(store, asked, client):
    seen = committed(store, "0", b"## Rules\none\n\xc2\xa7\ntwo\n\xc2\xa7\nthree\n")
    most = 5 if client.kind == "postgresql" else 6  # begin, lock, places, row, and log and record, together on a server
    for text in (
        b"## Rules\none\n\xc2\xa7\n2\n\xc2\xa7\nthree\n",
        b"## Rules\none\n\xc2\xa7\n2\n\xc2\xa7\nthree\n\xc2\xa7\nfour\n",
        b"## Rules\none\n\xc2\xa7\n2.5\n\xc2\xa7\n2\n\xc2\xa7\nthree\n\xc2\xa7\nfour\n",
    ):
        asked.clear()
        seen = committed(store, seen, text)
        assert len(asked) == most
    assert store.read(USER).revision == seen
    assert store.verify() == []


@pytest.mark.parametrize("most", [0, 1, 7, 8, 9, 40, 41, 300])
def test_a_log_is_whole_wherever_its_pages_end(store, most):
    for number in range(most):
        store.commit(USER, str(number), lambda _, number=number: b"## Rules\nrule %d\n" % number, Change())
    assert [each.revision for each in store.log(USER)] == [str(number) for number in range(most, 0, -1)]
