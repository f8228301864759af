"""What a server answers is what it would answer if it had just been started."""

import os
import subprocess
import sys
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from catmem.envelopes.tokens import new_token
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace
from tests.envelopes import PROFILES, TEXT, make_files
from tests.http_root import ADDRESS, AGENTS
from tests.unit.store.sql.clients import Client

READ = "/mem/read?entity_id=neo/user"
HEAD = "/mem/head?entity_id=neo/user"
PROMPT = "/prompt/neo"
PATHS = (READ, HEAD, PROMPT)


class Root:
    """A root that is served; ``path`` is its folder."""

    def __init__(self, folder: Path, store: str) -> None:
        self.path = folder / "root"
        self.tokens = folder / "tokens" / "tokens.json"
        make_files(self.path, f"version: 1\nstore: {store}\n{AGENTS}")
        self.workspace = Workspace.open(self.path, search=False)
        self.put(TEXT)
        self.app = create_app(self.workspace, ServerSettings(tokens=self.tokens))

    def put(self, text: str) -> None:
        """Write the whole file of neo through a workspace of its own."""
        other = Workspace.open(self.path, search=False)
        with closing(other.store):
            other.store.commit("neo/user", None, lambda _: text.encode(), Change())

    def client(self, agent: str | None) -> TestClient:
        name = agent or "somebody"
        _, token = new_token(self.workspace.config, self.tokens, name, person=agent is None)
        return TestClient(self.app, base_url=ADDRESS, headers={"Authorization": f"Bearer {token}"})

    @property
    def file(self) -> Path | None:
        """The file of neo, if it is one."""
        return self.path / "homes" / "neo" / "USER.md" if self.workspace.config.store == "files" else None

    def direct(self, statement: str) -> None:
        client = Client(f"sqlite:///{self.path}/memory.db")
        client.run(statement)
        client.close()


FILES, SQLITE = "files", "sqlite:///memory.db"


@pytest.fixture(params=[FILES, SQLITE])
def root(request, tmp_path):
    made = Root(tmp_path, request.param)
    yield made
    made.workspace.store.close()


def asked(client) -> list[tuple[int, bytes]]:
    """The answers to all that may be kept; a prompt is not for every caller."""
    return [(answer.status_code, answer.content) for answer in map(client.get, PATHS)]


def made_anew(root, client) -> list[tuple[int, bytes]]:
    """What a server answers that never answered anything."""
    other = Workspace.open(root.path, search=False)
    with closing(other.store):
        app = create_app(other, ServerSettings(tokens=root.tokens))
        return asked(TestClient(app, base_url=ADDRESS, headers=client.headers))


# --- never stale ----------------------------------------------------------------------------------------------------


def write_here(root):
    root.workspace.add("neo", "be quick", category="talk")


def write_through_another_store(root):
    root.put(TEXT.replace("short answers", "long answers"))


def write_in_another_process(root):
    command = ["add", "-p", "neo", "be quick", "--category", "talk", "--root", str(root.path)]
    subprocess.run([sys.executable, "-m", "catmem", *command], check=True, capture_output=True)


def change_it_directly(root):
    if root.file:
        root.file.write_text(TEXT.replace("short answers", "long answers"), encoding="utf-8")
        return
    root.direct("UPDATE user_memories SET content = 'long answers' WHERE content = 'short answers'")


def remove_it_directly(root):
    if root.file:
        root.file.unlink()
        return
    root.direct("DELETE FROM user_memories")


def narrow_the_profile(root):
    (root.path / "profiles" / "neo.yaml").write_text("user_memory_categories: [talk]\n", encoding="utf-8")


def narrow_the_profile_within_the_tick_of_a_clock(root):
    """As many bytes, and the same times, as far as they can be set."""
    file = root.path / "profiles" / "neo.yaml"
    before = file.stat()
    file.write_text(PROFILES["neo"].replace("rules]", "vault]"), encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_mtime_ns, file.stat().st_size) == (before.st_mtime_ns, before.st_size)


def remove_the_profile(root):
    (root.path / "profiles" / "neo.yaml").unlink()


def spoil_the_profile(root):
    (root.path / "profiles" / "neo.yaml").write_text("tier: [\n", encoding="utf-8")


TO_FILES = [
    write_here,
    write_through_another_store,
    change_it_directly,
    remove_it_directly,
]
TO_PROFILES = [
    narrow_the_profile,
    narrow_the_profile_within_the_tick_of_a_clock,
    remove_the_profile,
    spoil_the_profile,
]
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
    (root.path / "profiles" / "boss.yaml").write_text("user_memory_categories: ['*']\n", encoding="utf-8")
    assert client.get(READ).status_code == 404


def test_on_a_new_day_states_are_those_of_that_day(root, monkeypatch):
    client = root.client("neo")
    states = []
    for day in (date(2026, 1, 2), date(2029, 1, 2)):
        calendar = type("Calendar", (date,), {"today": staticmethod(lambda day=day: day)})
        monkeypatch.setattr("catmem.clock.date", calendar)
        states += [client.get(READ).json()["entries"][0]["state"] for _ in range(2)]
    assert states == ["fresh", "fresh", "stale", "stale"]
