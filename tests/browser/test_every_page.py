"""Every address of the page in a real browser: open to everybody, nothing from elsewhere, no complaint."""

import re

import pytest

from catmem.plugins.page.site import VIEWS
from catmem.server.app import POLICY
from tests.browser.serving import opened
from tests.browser.window import NARROW, WIDE

PAGES = {
    "overview": "/",
    "queue": "/page/queue",
    "queue-open": "/page/queue?entry={entry}",
    "queue-of-one": "/page/queue?profile=neo&state=stale",
    "prompt": "/page/profiles/neo",
    "prompt-empty": "/page/profiles/pupil",
    "file": "/page/files/neo/user",
    "file-drifted": "/page/files/neo/memory",
    "file-empty": "/page/files/pupil/memory",
    "sort-empty": "/page/sort/neo/user",
    "tidy-empty": "/page/tidy",
    "promote-empty": "/page/promote",
    "edit": "/page/edit/neo/user?entry={entry}",
    "history": "/page/history/neo/user",
    "revision": "/page/history/neo/user/2",
    "drift": "/page/history/neo/memory/now",
    "branches": "/page/branches",
    "branch-in-conflict": "/page/branches/neo/user/3a",
    "branch": "/page/branches/neo/user/3b",
    "proposals": "/proposals",
    "proposal": "/proposals/{proposal}",
    "seeds": "/page/seeds",
    "seed": "/page/seeds/pupil",
    "seeds-of-one": "/page/seeds/from/boss",
    "lint": "/page/lint",
    "access": "/page/access",
    "access-explained": "/page/access/neo/talk",
    "search": "/page/search?q=calls",
    "search-empty": "/page/search",
}


@pytest.fixture(scope="module")
def ids(calm_server):
    """The ids of an entry of neo and of a proposal."""
    with opened(calm_server.root) as workspace:
        entry = workspace.parse(workspace.store.peek("neo/user")).entries[0].id
        return {"entry": entry, "proposal": workspace.proposals()[0].id}


def test_every_address_is_looked_at():
    shown = [re.sub(r"\?.*", "", each) for each in PAGES.values()]
    patterns = [re.sub(r"\{[a-z]+\}", "[^/]+", address) for address in VIEWS]
    assert [pattern for pattern in patterns if not any(re.fullmatch(pattern, each) for each in shown)] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_open_to_everybody_and_asks_nobody_else(calm, ids, name):
    calm.open(PAGES[name].format(**ids))
    assert calm.status == 200
    calm.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert calm.header("content-security-policy") == POLICY
    assert [each for each in calm.loaded() if not each.startswith(calm.url)] == []
    for width, colours in [(WIDE, "light"), (NARROW, "dark")]:
        calm.look(width, colours)
        assert calm.barriers() == []
        assert calm.run("return document.documentElement.scrollWidth") <= width
        calm.shot(f"{name}-{width}-{colours}")


def test_a_page_that_is_not_there_says_so(calm):
    with calm.turning(404):
        calm.open("/page/nowhere")
    assert calm.barriers() == []
