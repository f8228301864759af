"""A root that is changed through the page, in files and in a database."""

from contextlib import contextmanager

from starlette.testclient import TestClient

from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.http_root import ADDRESS
from tests.roots import put_bytes

STORES = ["files", "sqlite:///memory.db"]
CONFIG = """\
taxonomy: {categories: {talk: {title: Talk, aliases: [speech]}, rules: {title: Rules}}}
domains: {finance: {stale_after: 30d}}
limits: {user: 1200}
"""
PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nwritable_categories: ['*']\n",
    "neo": "user_memory_categories: [talk, rules]\nwritable_categories: [talk]\n",
}
TEXT = """\
## Talk
[verified_date: 2020-01-01] Prefers short answers.
§
Never schedule calls before ten.
§
[created: 2020-01-01, expires: 2020-02-01, domain: finance] Book travel to cost centre 410.

## Rules
[verified_date: 2020-03-01] Signs mail with **both** names.
"""


def root(folder, store="files", *, text=TEXT, config=CONFIG, **profiles):
    """A root in which neo/user says ``text`` as revision 1."""
    put(folder / "catmem.yaml", f"{config}store: {store}\n")
    for name, profile in {**PROFILES, **profiles}.items():
        put(folder / "profiles" / f"{name}.yaml", profile)
    workspace = Workspace.open(folder, search=False)
    if text:
        put_bytes(workspace, "neo/user", text)
    return workspace


@contextmanager
def served(workspace, **settings):
    """A browser at the page of a root."""
    with TestClient(create_app(workspace, ServerSettings(**settings)), base_url=ADDRESS) as client:
        yield client


def revisions(workspace, entity="neo/user"):
    """How many revisions a file has."""
    return len(list(workspace.store.log(entity)))


def entry(workspace, words):
    """The entry of neo that holds these words."""
    return next(each for each in workspace.read("neo", "user").document.entries if words in each.body)
