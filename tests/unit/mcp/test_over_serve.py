"""`/mcp` in the application itself: what ends a stream."""

import anyio

from catmem.envelopes.tokens import new_token, remove_tokens
from catmem.mcp import http
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import write_root
from tests.unit.mcp.talk import talks
from tests.unit.mcp.test_over_http import HELLO, ask


@talks
async def test_a_stream_ends_well_after_its_token(tmp_path, monkeypatch):
    monkeypatch.setattr(http, "_LOOK_SECONDS", 0.01)
    write_root(tmp_path / "root")
    workspace, file = Workspace.open(tmp_path / "root", search=False), tmp_path / "tokens" / "tokens.json"
    _, text = new_token(workspace.config, file, "neo")
    app = create_app(workspace, ServerSettings(tokens=file), more=http.routes())
    headers = {"authorization": f"Bearer {text}"}
    status, session = await ask(app, HELLO, **headers)
    assert status == 200
    ended: list[int] = []

    async def listen():
        found, _ = await ask(app, HELLO, session, method="GET", **headers)
        ended.append(found)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await anyio.sleep(0.1)
            assert ended == []
            remove_tokens(file, "neo")
    assert ended == [200]
    await app.state.mcp.close()
    workspace.store.close()
