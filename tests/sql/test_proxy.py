"""The proxy cuts where it is told to."""

from __future__ import annotations

import pytest

from tests.sql import server
from tests.sql.proxy import WHERE, Cut, proxied

pytestmark = pytest.mark.postgresql


@pytest.fixture
def url():
    made = server.url("proxy")
    with server.admin(made) as connection:
        connection.execute("CREATE TABLE told (word text)")
    return made


def words(url):
    with server.admin(url) as connection:
        return [row[0] for row in connection.execute("SELECT word FROM told ORDER BY 1").fetchall()]


def say(url, *told):
    import psycopg

    with psycopg.connect(url) as connection:
        for word in told:
            connection.execute("INSERT INTO told VALUES (%s)", [word])


def test_everything_goes_through(url):
    with proxied(url) as proxy:
        say(proxy.url, "a", "b")
        assert [b"INSERT" in request for request in proxy.requests] == [False, True, True, False]
    assert words(url) == ["a", "b"]


@pytest.mark.parametrize(("where", "expected"), [("before", []), ("unseen", ["a"]), ("after", ["a"])])
def test_a_commit_is_cut_off(url, where, expected):
    import psycopg

    with proxied(url) as proxy:
        proxy.cut(Cut(where, word=b"COMMIT"))
        with pytest.raises(psycopg.OperationalError):
            say(proxy.url, "a")
        assert proxy.cuts == 1
        say(proxy.url, "b")
    assert waited_words(url, [*expected, "b"])


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_request_is_cut_off_by_its_number(url, where, at):
    import psycopg

    with proxied(url) as proxy:
        proxy.cut(Cut(where, at))
        with pytest.raises(psycopg.OperationalError):
            say(proxy.url, "a", "b", "c", "d")
        assert len(proxy.requests) == at
    assert words(url) == []


def waited_words(url, expected):
    """Whether that is there soon: nobody waited for the answer."""
    from tests.sql.test_server import waited_for

    return waited_for(lambda: words(url) == expected)
