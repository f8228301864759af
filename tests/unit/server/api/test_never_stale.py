"""What a server answers is what it would answer if it had just been started."""

import os
import subprocess
import sys
from contextlib import closing
from datetime import date

import pytest
from starlette.testclient import TestClient

from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace
from tests.envelopes import PROFILES, TEXT
from tests.http_root import ADDRESS, AGENTS, served_root
from tests.unit.store.sql.clients import Client

READ = "/mem/read?entity_id=neo/user"
PATHS = (READ, "/mem/head?entity_id=neo/user", "/prompt/neo")
FILES, SQLITE = "files", "sqlite:///memory.db"


@pytest.fixture(params=[FILES, SQLITE])
def root(request, tmp_path):
    for made in served_root(tmp_path, f"version: 1\nstore: {request.param}\n{AGENTS}"):
        put(made.workspace.root, TEXT)
        yield made


def put(folder, text):
    """Write the whole file of neo through a workspace of its own."""
    other = Workspace.open(folder, search=False)
    with closing(other.store):
        other.store.commit("neo/user", None, lambda _: text.encode(), Change())


def asked(client) -> list[tuple[int, bytes]]:
    """The answers to all that may be kept; a prompt is not for every caller."""
    return [(answer.status_code, answer.content) for answer in map(client.get, PATHS)]


def made_anew(root, client) -> list[tuple[int, bytes]]:
    """What a server answers that never answered anything."""
    other = Workspace.open(root.workspace.root, search=False)
    with closing(other.store):
        app = create_app(other, ServerSettings(tokens=root.tokens))
        return asked(TestClient(app, base_url=ADDRESS, headers=client.headers))


# --- never stale ----------------------------------------------------------------------------------------------------


def write_here(root):
    root.workspace.add("neo", "be quick", category="talk")


def write_through_another_store(root):
    put(root.workspace.root, TEXT.replace("short answers", "long answers"))


def write_in_another_process(root):
    command = ["add", "-p", "neo", "be quick", "--category", "talk", "--root", str(root.workspace.root)]
    subprocess.run([sys.executable, "-m", "catmem", *command], check=True, capture_output=True)


def change_it_directly(root):
    if root.workspace.config.store == FILES:
        path = root.workspace.path("neo", "user")
        path.write_text(TEXT.replace("short answers", "long answers"), encoding="utf-8")
    else:
        run(root, "UPDATE user_memories SET content = 'long answers' WHERE content = 'short answers'")


def remove_it_directly(root):
    if root.workspace.config.store == FILES:
        root.workspace.path("neo", "user").unlink()
    else:
        run(root, "DELETE FROM user_memories")


def run(root, statement):
    with closing(Client(f"sqlite:///{root.workspace.root}/memory.db")) as client:
        client.run(statement)


def profile(root, name="neo"):
    return root.workspace.root / "profiles" / f"{name}.yaml"


def narrow_the_profile(root):
    profile(root).write_text("user_memory_categories: [talk]\n", encoding="utf-8")


def narrow_the_profile_within_the_tick_of_a_clock(root):
    """As many bytes, and the same times, as far as they can be set."""
    file = profile(root)
    before = file.stat()
    file.write_text(PROFILES["neo"].replace("rules]", "vault]"), encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_mtime_ns, file.stat().st_size) == (before.st_mtime_ns, before.st_size)


def remove_the_profile(root):
    profile(root).unlink()


def spoil_the_profile(root):
    profile(root).write_text("tier: [\n", encoding="utf-8")


TO_FILES = [write_here, write_through_another_store, change_it_directly, remove_it_directly]
TO_PROFILES = [narrow_the_profile, narrow_the_profile_within_the_tick_of_a_clock, remove_the_profile, spoil_the_profile]
"""These are files, whatever the store is."""
CASES = [(store, change) for store in (FILES, SQLITE) for change in TO_FILES]
CASES += [(FILES, change) for change in (write_in_another_process, *TO_PROFILES)]


@pytest.mark.parametrize(("root", "change"), CASES, indirect=["root"], ids=lambda each: getattr(each, "__name__", None))
def test_what_changed_is_answered_as_it_is_now(root, change):
    everybody = {agent: root.client(agent) for agent in ("neo", "boss", None)}
    before = {agent: asked(client) for agent, client in everybody.items()}
    assert {agent: asked(client) for agent, client in everybody.items()} == before
    change(root)
    for agent, client in everybody.items():
        now = asked(client)
        assert now == made_anew(root, client), agent
        # Who sees all sees it, whoever sees less.
        assert now != before[agent] or (agent == "boss" and "narrow" in change.__name__)
        assert asked(client) == now


def test_a_profile_that_loses_its_tier_is_shown_no_file_of_others_any_more(root):
    client = root.client("boss")
    assert client.get(READ).status_code == 200
    profile(root, "boss").write_text("user_memory_categories: ['*']\n", encoding="utf-8")
    assert client.get(READ).status_code == 404


def test_on_a_new_day_states_are_those_of_that_day(root, monkeypatch):
    client = root.client("neo")
    states = []
    for day in (date(2026, 1, 2), date(2029, 1, 2)):
        calendar = type("Calendar", (date,), {"today": staticmethod(lambda day=day: day)})
        monkeypatch.setattr("catmem.clock.date", calendar)
        states += [client.get(READ).json()["entries"][0]["state"] for _ in range(2)]
    assert states == ["fresh", "fresh", "stale", "stale"]
