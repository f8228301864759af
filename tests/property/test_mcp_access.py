"""Whatever a client of the MCP server asks, it sees nothing of hidden categories, and changes nothing in them."""

import json
import re

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

from catmem.mcp.server import make_server
from catmem.mcp.tools import all_tools
from tests.property.canaries import CANARY, text_with
from tests.property.test_tool_access import (
    batches,
    calls,
    folder,
    names,
    nothing_hidden_changes,
    opened,
    well_formed,
)

__all__ = ["folder"]  # the fixture: a root with an open or a closed taxonomy

TAKES = {tool.name: set(tool.input_schema["properties"]) for tool in all_tools()}


def fitting(call: dict) -> tuple[str, str, dict]:
    """A call of the tool that a call of the memory tool comes to, with what that one takes."""
    name = f"memory_{call['action']}"
    return "tool", name, {key: value for key, value in call.items() if key in TAKES.get(name, ())}


asked = st.one_of(
    well_formed.map(fitting),
    well_formed.map(fitting),
    st.tuples(st.just("tool"), st.sampled_from(sorted(TAKES)), st.one_of(calls, batches)),
    st.tuples(st.just("resource"), names.map("memory://{}".format), st.just({})),
    st.tuples(
        st.just("prompt"),
        st.sampled_from(["context", "vault"]),
        st.fixed_dictionaries(
            {},
            optional={
                "categories": names,
                "budget": st.sampled_from(["1", "90", "x"]),
                "from": st.sampled_from(["neo", "other", "x"]),
            },
        ),
    ),
    st.tuples(st.sampled_from(["resources", "tools"]), st.just(""), st.just({})),
)
sequences = st.lists(asked, min_size=1, max_size=6)
# A client that connects takes its time, so there are fewer of them.
fewer = settings(max_examples=settings().max_examples // 4)
eras = st.sampled_from(["legacy", "auto"])


async def answer_to(client: Client, kind: str, name: str, arguments: dict) -> str:
    """All that the client is told."""
    try:
        match kind:
            case "tool":
                answer = await client.call_tool(name, arguments)
            case "resource":
                answer = await client.read_resource(name)
            case "prompt":
                answer = await client.get_prompt(name, arguments)
            case "resources":
                answer = await client.list_resources()
            case _:
                answer = await client.list_tools()
    except MCPError as error:
        return json.dumps([error.error.code, error.error.message, error.error.data])
    return answer.model_dump_json(exclude={"meta"})


def answers(workspace, sequence, era) -> list[str]:
    async def talk() -> list[str]:
        async with Client(make_server(workspace, "neo"), mode=era) as client:
            return [await answer_to(client, *each) for each in sequence]

    return anyio.run(talk)


@fewer
@given(sequence=sequences, era=eras)
def test_hidden_entries_are_never_shown_and_never_changed(folder, sequence, era):
    workspace = opened(folder, text_with(CANARY))
    with nothing_hidden_changes(workspace):
        told = answers(workspace, sequence, era)
    for each, said in zip(sequence, told, strict=True):
        # What the client itself said may come back; what it guessed, it knew.
        if CANARY.lower() not in json.dumps(each).lower():
            assert CANARY.lower() not in said.lower(), each
        assert not re.search("sha256:[0-9a-f]{6}", said), each
