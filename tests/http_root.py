"""A root that is served to a person and to agents, without a socket in between."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from catmem.envelopes.tokens import new_token
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.workspace.workspace import Workspace
from tests.envelopes import make_files

ADDRESS = "http://127.0.0.1:8428"
AGENTS = "agents: {planner: neo}\n"


class Served:
    """A root and its application; ``client(agent)`` is an agent's way in, ``client()`` that of a person."""

    def __init__(self, workspace: Workspace, tokens: Path) -> None:
        self.workspace = workspace
        self.tokens = tokens
        self._app = create_app(workspace, ServerSettings(tokens=tokens))

    def client(self, agent: str | None = None, label: str = "somebody", **how: Any) -> TestClient:
        name = agent or label
        _, token = new_token(self.workspace.config, self.tokens, name, person=agent is None, **how)
        return TestClient(self._app, base_url=ADDRESS, headers={"Authorization": f"Bearer {token}"})


def served_root(folder: Path, config: str = AGENTS) -> Iterator[Served]:
    """A root on disk with the files of ``tests.envelopes``, of which ``neo`` has one."""
    make_files(folder / "root", config)
    yield from served(Workspace.open(folder / "root", search=False), folder / "tokens" / "tokens.json")


def served(workspace: Workspace, tokens: Path) -> Iterator[Served]:
    """The application over a workspace, as long as the caller wants it."""
    try:
        workspace.store  # noqa: B018 - as the server does, before a thread asks for it
        yield Served(workspace, tokens)
    finally:
        workspace.store.close()


def plain(content: str, category: str = "talk", **fields: Any) -> dict[str, Any]:
    """A plain write that adds an entry to the user file of ``neo``."""
    change = {"action": "add", "content": content, "category": category}
    return {"entity_id": "neo/user", "content": [change], **fields}


def tag(client: TestClient) -> str:
    """What ``If-Match`` says of a write on what the client reads of the user file of ``neo`` now."""
    return client.get("/mem/read", params={"entity_id": "neo/user"}).headers["etag"]
