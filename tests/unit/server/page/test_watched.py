"""Pages that show a file say so to the script that tells when it changes, with what they show of it."""

from __future__ import annotations

from catmem.digest import bytes_digest
from catmem.model.document import parse
from tests.together import together
from tests.unit.server.page.conftest import NEO
from tests.unit.server.page.markup import Markup

ONE, BOTH = ["neo/user"], ["neo/memory", "neo/user"]
SEED = ["boss/user", "pupil/user"]


def watched(client, address):
    """The files that a page names as shown, with their digests."""
    answer = client.get(address)
    assert answer.status_code == 200
    return {
        each["data-entity"]: each["data-revision"] for each in Markup(answer.text).all("div") if "data-entity" in each
    }


@together(
    ("address", "entities"),
    [
        ("/page/files/neo/user", ONE),
        ("/page/sort/neo/user", ONE),
        (f"/page/edit/neo/user?entry={parse(NEO).entries[0].id}", ONE),
        ("/page/profiles/neo", BOTH),
        ("/page/history/neo/user", ONE),
        ("/page/history/neo/user/2", ONE),
        ("/page/history/neo/memory/now", ["neo/memory"]),
        ("/page/branches/neo/user/3a", ONE),
        ("/page/seeds/pupil", SEED),
        ("/page/seeds/from/boss", SEED),
    ],
)
def test_a_page_names_the_files_that_it_shows_as_they_are(client, workspace, address, entities):
    shown = watched(client, address)
    assert set(entities) <= set(shown)
    assert shown == {each: bytes_digest(workspace.store.peek(each)) for each in shown}
