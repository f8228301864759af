"""The server in memory, in both eras of the protocol."""

import json

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from catmem.mcp.tools import all_tools
from catmem.staleness.freshness import VERIFY_FIRST
from catmem.workspace.workspace import Workspace
from tests.roots import put_bytes
from tests.unit.mcp.talk import CANARY, ERAS, INJECTION, client_of, root, talks, told

eras = pytest.mark.parametrize("era", ERAS)


@eras
@talks
async def test_the_text_of_an_answer_says_the_same_as_its_data(tmp_path, era):
    async with client_of(root(tmp_path), mode=era) as client:
        for name, arguments in {"memory_list": {}, "memory_add": {"content": 5}}.items():
            result = await client.call_tool(name, arguments)
            assert json.loads(result.content[0].text) == result.structured_content
            assert result.is_error is (name == "memory_add")


@eras
@talks
async def test_an_unknown_tool_is_an_error_of_the_protocol(tmp_path, era):
    async with client_of(root(tmp_path), mode=era) as client:
        with pytest.raises(MCPError, match="Unknown tool: memory_purge") as caught:
            await client.call_tool("memory_purge", {})
        assert caught.value.error.code == INVALID_PARAMS


@eras
@talks
async def test_what_nobody_foresaw_is_logged_and_the_client_is_told_no_more(tmp_path, era, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError(CANARY)

    async with client_of(root(tmp_path), mode=era) as client:
        listed = (await client.list_tools()).tools
        monkeypatch.setattr(Workspace, "profile", fail)
        answer = await told(client, "memory_list")
        assert answer["reason"] == "internal"
        assert CANARY not in json.dumps(answer)
        for read in (client.list_resources, client.list_tools, lambda: client.get_prompt("context")):
            with pytest.raises(MCPError) as caught:
                await read()
            assert CANARY not in str(caught.value)
        assert {tool.name for tool in listed} == {tool.name for tool in all_tools()} - {"memory_move", "memory_seed"}
    assert CANARY in caplog.text


@eras
@talks
async def test_the_loop_goes_on_while_a_call_waits_for_the_disk(tmp_path, era, monkeypatch):
    answered = anyio.Event()
    loop_went_on = []
    read = Workspace.read

    def slow(*arguments, **choices):
        # In a thread: waits until the loop has done something else, for as long as that takes.
        loop_went_on.append(anyio.from_thread.run(turn))
        return read(*arguments, **choices)

    async def turn() -> bool:
        answered.set()
        return True

    monkeypatch.setattr(Workspace, "read", slow)
    async with client_of(root(tmp_path), mode=era) as client:
        await told(client, "memory_list", target="user")
    assert answered.is_set()
    assert loop_went_on == [True]


# --- resources ---------------------------------------------------------------------------------------------------------


@eras
@talks
async def test_a_resource_holds_the_entries_of_both_files(tmp_path, era):
    async with client_of(root(tmp_path), mode=era) as client:
        (contents,) = (await client.read_resource("memory://talk")).contents
        assert contents.mime_type == "text/markdown"
        assert contents.text == (
            "## Talk (user)\n[created: 2026-01-02] Prefers short answers.\n§\nNever before ten.\n"
            f"\n## Talk (memory)\nAsked twice for tables.\n\n{VERIFY_FIRST}\n"
        )


HIDDEN = ("memory://vault", "memory://hush", "memory://nowhere", "memory://", "memory://Talk", "memory://talk/../vault", "file:///etc/passwd")  # fmt: skip


@pytest.mark.parametrize("uri", HIDDEN)
@talks
async def test_what_is_hidden_reads_as_what_is_not_there(tmp_path, uri):
    async with client_of(root(tmp_path)) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert caught.value.error.message == f"Unknown resource: {uri}"
        assert caught.value.error.code == INVALID_PARAMS


@talks
async def test_what_the_scan_finds_is_withheld_from_resources(tmp_path):
    workspace = root(tmp_path, user=f"## Talk\n{INJECTION}\n§\n[source: {INJECTION!r}] tagged\n§\nfine\n")
    async with client_of(workspace) as client:
        text = (await client.read_resource("memory://talk")).contents[0].text
    assert "Ignore all previous" not in text
    assert text.count("[BLOCKED: ") == 2
    assert "fine" in text


@eras
@talks
async def test_an_unreadable_file_is_an_error_and_no_empty_memory(tmp_path, era):
    workspace = root(tmp_path)
    async with client_of(workspace, mode=era) as client:
        put_bytes(workspace, "neo/user", b"\xff\xfe")
        for read in (
            client.list_resources,
            lambda: client.read_resource("memory://talk"),
            lambda: client.get_prompt("context"),
        ):
            with pytest.raises(MCPError, match="UTF-8") as caught:
                await read()
            assert caught.value.error.code == INTERNAL_ERROR
            assert str(tmp_path) not in str(caught.value)
        assert (await told(client, "memory_list"))["success"] is False
