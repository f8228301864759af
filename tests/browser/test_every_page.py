"""Every address of the page in a real browser: open to everybody, nothing from elsewhere, no complaint."""

import re

import pytest

from catmem.server.app import POLICY
from tests.browser.serving import opened
from tests.unit.server.page import test_pages

PAGES = [
    *(each for each in test_pages.PAGES if "nowhere" not in each and "%22" not in each),
    "/page/queue?entry={entry}",
    "/page/files/neo/memory",
    "/proposals/{proposal}",
]
"""Those of the tests without a browser, in which every address is; and what is shown of one entry and one proposal."""


@pytest.fixture(scope="module")
def ids(calm_server):
    """The ids of an entry of neo and of a proposal."""
    with opened(calm_server.root) as workspace:
        entry = workspace.parse(workspace.store.peek("neo/user")).entries[0].id
        return {"entry": entry, "proposal": workspace.proposals()[0].id}


@pytest.mark.parametrize("address", PAGES)
def test_a_page_is_open_to_everybody_and_asks_nobody_else(calm, ids, address):
    calm.open(address.format(**ids))
    assert calm.status == 200
    calm.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert calm.header("content-security-policy") == POLICY
    assert [each for each in calm.loaded() if not each.startswith(calm.url)] == []
    calm.look_over(re.sub(r"\W+", "-", address).strip("-") or "overview")
