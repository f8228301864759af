"""What one write over HTTP does, counted: nothing is read, parsed or asked of the database a second time."""

from collections import Counter

import pytest

from catmem import Workspace
from catmem.config import profile
from catmem.envelopes import envelope, papers
from catmem.jsonable import jsonable
from catmem.model import document
from catmem.plugins.sql.connections import Link, _Pool
from tests.http_root import plain, served_root
from tests.roots import put_bytes

CONFIG = "agents: {planner: neo}\nstore: sqlite:///memory.db\n"
TEXT = "## Talk\n[verified_date: 2026-01-01] short answers\n§\nno calls before ten\n"


@pytest.fixture
def served(tmp_path):
    for served in served_root(tmp_path, CONFIG):
        put_bytes(served.workspace, "neo/user", TEXT)
        yield served


@pytest.fixture
def counted(monkeypatch):
    """How often each of these was done."""
    done: Counter[str] = Counter()

    def count(where, name, what):
        real = getattr(where, name)

        def counting(*args, **how):
            done[what] += 1
            return real(*args, **how)

        monkeypatch.setattr(where, name, counting)

    count(document, "parse", "documents parsed")
    count(profile, "profile_files", "profiles listed")
    count(envelope, "_refuse_deep", "envelopes read")
    count(papers, "envelope_of", "envelopes checked")
    count(papers, "read_envelope", "envelopes made")
    for name in ("_execute", "text"):
        count(Link, name, "statements")
    count(_Pool, "acquire", "connections borrowed")
    return done


def written(served, counted, agent, kind, client=None):
    """What the second of two writes on the newest revision did; the first one finds everything cold."""
    client = client or served.client(agent)
    for _ in range(2):
        revision = int(served.workspace.store.head("neo/user").revision)
        body = plain(f"fact {revision}", prev_rev=revision)
        if kind == "envelope":
            made = served.workspace.envelope("neo", body["content"], agent=agent, prev=revision, signed=False)
            body = jsonable(made)
        counted.clear()
        assert client.post("/mem/write", json=body).json()["revision"] == str(revision + 1)
    return counted


ASKED = {
    None: (1, 8),
    # Words that come back are as old as they were: for that it looks at what is new in the history.
    "neo": (4, 14),
}
"""Connections that a write borrows of the database, and statements that it runs, by who writes."""


@pytest.mark.parametrize("agent", ASKED, ids=["person", "agent"])
@pytest.mark.parametrize(("kind", "read"), [("envelope", 1), ("plain", 2)])
def test_a_write_does_nothing_a_second_time(served, counted, agent, kind, read):
    """A plain write is read once, and so is the envelope that is made of it."""
    done = written(served, counted, agent, kind)
    assert (done["documents parsed"], done["profiles listed"]) == (0, 0)
    assert (done["envelopes read"], done["envelopes checked"], done["envelopes made"]) == (read, 1, 0)
    assert (done["connections borrowed"], done["statements"]) == ASKED[agent]


def test_a_write_parses_once_what_another_program_wrote(served, counted):
    other = Workspace.open(served.workspace.root)
    other.add("neo", "said elsewhere", category="talk")
    other.store.close()
    counted.clear()
    body = plain("said here", prev_rev=int(served.workspace.store.head("neo/user").revision))
    assert served.client(None).post("/mem/write", json=body).status_code == 200
    assert counted["documents parsed"] == 1
