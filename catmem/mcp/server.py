"""The server itself: what each request of the protocol comes to.

Built on the SDK's low-level ``Server``: its ``MCPServer`` makes schemas from signatures, drops arguments that it does
not know and reads JSON out of texts. A call runs in a thread, one at a time, since a ``ToolSession`` is not for several
threads at once. MCP tells no turns, and a model tries again within seconds: so a quiet minute ends a turn.

Over standard input the SDK reads in a thread, which cannot be woken, so Ctrl-C would wait for one more line. Here the
loop waits itself.
"""

from __future__ import annotations

import json
import logging
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast
from urllib.parse import quote, unquote

import anyio
import mcp_types as types
from anyio import to_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter

from catmem import __version__
from catmem.errors import CatmemError
from catmem.mcp.tools import all_tools, call_tool, instructions, tools_of
from catmem.model.document import Entry
from catmem.names import TARGETS, UNCATEGORIZED
from catmem.ops.memory_tool import row_of
from catmem.ops.table import Call, call
from catmem.staleness.freshness import advice
from catmem.workspace.root import hide_names
from catmem.workspace.seen_entry import entry_dict, rules_in, texts_of
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import Sessions, ToolSession, words_of_entry

if TYPE_CHECKING:
    from anyio.abc import TaskStatus

_log = logging.getLogger("catmem.mcp")
_T = TypeVar("_T")

PROMPT = types.Prompt(
    name="context",
    title="What is remembered",
    description="The memory of this profile as text for a system prompt, as it is now.",
)
_OPENING = frozenset({"initialize", "server/discover"})
_EMPTY = "Nothing is remembered yet."
_FAILED = "catmem failed in a way that it does not know"
_UNEXPECTED: dict[str, Any] = {
    "success": False,
    "error": _FAILED,
    "reason": "internal",
    "remediation": "Do not try again now, and tell a person: the log of the server says more.",
}


def make_server(workspace: Workspace, profile: str, session: ToolSession | None = None) -> Server[Any]:
    """The server for the memory of ``profile``, which acts in every call. Raises ``UnknownNameError``, ``ConfigError``.

    The store is opened here, so that what is wrong with it is known before a client is served; closing it is the
    caller's. Without a ``session`` the server is that of one client, whose conversation begins here.
    """
    return _Memory(workspace, profile, session).server


_ServerContext: TypeAlias = "ServerRequestContext[Any]"
_Pages: TypeAlias = types.PaginatedRequestParams | None


class _Memory:
    def __init__(self, workspace: Workspace, profile: str, session: ToolSession | None) -> None:
        self.workspace, self.profile = workspace, workspace.profile(profile).name
        workspace.store  # noqa: B018 - opens it
        self._sessions = Sessions(workspace)
        self._of_caller = session
        self._session()
        self._one_at_a_time = anyio.CapacityLimiter(1)
        self.server = Server(
            "catmem",
            title=f"Memory of {self.profile}",
            version=__version__,
            instructions=instructions(workspace, self.profile) if session is None else None,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )
        self.server.middleware.append(self.introduced)

    async def introduced(self, ctx: _ServerContext, call_next: CallNext) -> HandlerResult:
        """Say what is on file as it is when a client connects."""
        if ctx.method in _OPENING:
            work = partial(instructions, self.workspace, self.profile)
            self.server.instructions = await self._off_the_loop(work)
        return await call_next(ctx)

    def _session(self) -> ToolSession:
        """The conversation of a call: that of the caller, or else of the one client, in a new turn after a pause."""
        return self._of_caller or self._sessions.session(None, self.profile)

    # --- tools -----------------------------------------------------------------------------------------------------

    async def list_tools(self, _: _ServerContext, __: _Pages) -> types.ListToolsResult:
        return types.ListToolsResult(tools=await self._read(lambda: tools_of(self.workspace, self.profile)))

    async def call_tool(self, _: _ServerContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in {tool.name for tool in all_tools()}:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        session = self._session()
        try:
            answer = await self._off_the_loop(
                lambda: call_tool(self.workspace, self.profile, params.name, params.arguments or {}, session)
            )
        except Exception:  # noqa: BLE001 - logged, and answered
            # Its text may tell of what the profile does not see, so the log has it and the client has not.
            _log.exception("the tool %s failed", params.name)
            answer = _UNEXPECTED
        return types.CallToolResult(
            content=[types.TextContent(text=json.dumps(answer, ensure_ascii=False))],
            structured_content=answer,
            is_error=not answer["success"],
        )

    # --- resources and the prompt ----------------------------------------------------------------------------------

    async def list_resources(self, _: _ServerContext, __: _Pages) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=await self._read(lambda: _resources(self.workspace, self.profile)))

    async def read_resource(
        self, _: _ServerContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        session = self._session()
        text = await self._read(lambda: _category(self.workspace, self.profile, params.uri, session))
        if text is None:
            raise MCPError(INVALID_PARAMS, f"Unknown resource: {params.uri}", {"uri": params.uri})
        contents = types.TextResourceContents(uri=params.uri, text=text, mime_type=_MARKDOWN)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, _: _ServerContext, __: _Pages) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[PROMPT])

    async def get_prompt(self, _: _ServerContext, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        session = self._session()
        if params.name != PROMPT.name:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {params.name}")
        prompt = await self._read(lambda: self._prompt(session))
        said = [PROMPT.description, *(f"Warning: {warning}." for warning in prompt["warnings"])]
        said += [prompt["advice"]] if "advice" in prompt else []
        message = types.PromptMessage(role="user", content=types.TextContent(text=prompt["text"] or _EMPTY))
        return types.GetPromptResult(description=" ".join(map(str, said)), messages=[message])

    def _prompt(self, session: ToolSession) -> dict[str, Any]:
        asked = Call(row_of("prompt"), lambda _: self.workspace, "http", self.profile, self.profile)
        done = call(asked, {"profile": self.profile})
        answer: dict[str, Any] = done.seen_by(asked)
        session.learn(done.shows(answer))
        return answer

    async def _read(self, work: Callable[[], _T]) -> _T:
        """What ``work`` gives. An error reaches the client without its path, and one that is unforeseen as such."""
        try:
            with hide_names(self.workspace, self.profile):
                return await self._off_the_loop(work)
        except CatmemError as error:
            raise _protocol_error(error) from error
        except Exception as error:
            _log.exception("reading failed")
            raise MCPError(types.INTERNAL_ERROR, _FAILED, {"reason": "internal"}) from error

    async def _off_the_loop(self, work: Callable[[], _T]) -> _T:
        # A call that has begun is finished even if its client goes away: what it writes is whole, and known here.
        return await to_thread.run_sync(work, limiter=self._one_at_a_time)


def _protocol_error(error: CatmemError) -> MCPError:
    said = " ".join(part for part in (f"{error.message}.", error.hint) if part)
    return MCPError(types.INTERNAL_ERROR, said, {"reason": error.code})


# --- resources -------------------------------------------------------------------------------------------------------

_MARKDOWN = "text/markdown"
_SCHEME = "memory://"


def _categories(workspace: Workspace, profile: str) -> tuple[str, ...]:
    """The categories with entries that the profile sees, those of its ``user`` file first, each in its own order."""
    seen = [name for target in TARGETS for name in workspace.view(profile, target).categories]
    return tuple(sorted(dict.fromkeys(seen), key=lambda name: name == UNCATEGORIZED))


def _resources(workspace: Workspace, profile: str) -> list[types.Resource]:
    return [
        types.Resource(
            uri=_SCHEME + quote(category, safe=""),
            name=category,
            title=_title(workspace, category),
            description=f"What {profile} sees of this category, in both of its files.",
            mime_type=_MARKDOWN,
        )
        for category in _categories(workspace, profile)
    ]


def _category(workspace: Workspace, profile: str, uri: str, session: ToolSession) -> str | None:
    """The entries of a category as Markdown, a part for each file; ``None`` where there is nothing to see."""
    if not uri.startswith(_SCHEME):
        return None
    category = unquote(uri.removeprefix(_SCHEME))
    parts: list[str] = []
    listed = [each for each in workspace.list(profile) if each.entry.category == category]
    session.learn(words_of_entry(each.entry) for each in listed if not rules_in(texts_of(each.entry)))
    for target in TARGETS:
        entries = [each.entry for each in listed if each.target == target]
        if entries:
            body = "\n§\n".join(map(_shown, entries))
            parts.append(f"## {_title(workspace, category)} ({target})\n{body}\n")
    parts += [f"{said}\n" for said in advice(each.freshness.state for each in listed).values()]
    return "\n".join(parts) or None


def _shown(entry: Entry) -> str:
    shown = entry_dict(entry, to_agent=True)
    return str(shown["body"]) if "threats" in shown else entry.raw


def _title(workspace: Workspace, category: str) -> str:
    if category == UNCATEGORIZED:
        return "Without a category"
    declared = workspace.config.taxonomy.categories.get(category)
    return declared.title if declared else category


# --- standard input and output ---------------------------------------------------------------------------------------

_STDIN = 0
_AT_ONCE = 1 << 16


def serve_stdio(server: Server[Any], client: int) -> None:
    """Serve one client; ``client`` is the descriptor that answers go to, which is closed at the end.

    Returns when its pipe ends, and on SIGINT and SIGTERM, after the call that is under way.
    """
    try:
        anyio.run(_serve, server, client)
    except* BrokenPipeError:
        _log.info("the client has gone without reading all answers")
    finally:
        os.close(client)


async def _serve(server: Server[Any], client: int) -> None:
    pipe = _Pipe(client)
    async with anyio.create_task_group() as tasks:
        await tasks.start(_stop_on_signal, tasks.cancel_scope)
        ends = cast("anyio.AsyncFile[str]", pipe.lines()), cast("anyio.AsyncFile[str]", pipe)
        async with stdio_server(*ends) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _stop_on_signal(scope: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        task_status.started()
        async for _ in received:
            scope.cancel()
            return


class _Pipe:
    """Standard input, and the client's end, to which nothing else in the process writes.

    The SDK drops the requests that were not answered when the input ends. So the end comes when they are answered.
    """

    def __init__(self, client: int) -> None:
        self._client = client
        self._open: Counter[str] = Counter()
        """The ids of requests. The SDK takes ``7`` and ``"7"`` for the same where one is cancelled."""
        self._answered = anyio.Event()

    async def lines(self) -> AsyncIterator[str]:
        """The lines of standard input."""
        pending: list[bytes] = []
        while chunk := await _read():
            *whole, rest = chunk.split(b"\n")
            for end in whole:
                yield self._noted(b"".join([*pending, end]))
                pending.clear()
            pending.append(rest)
        yield self._noted(b"".join(pending))
        while self._open:
            self._answered = anyio.Event()
            await self._answered.wait()

    def _noted(self, data: bytes) -> str:
        """A line, which may be anything; a request in it is waited for. The SDK passes over what is none."""
        line = data.decode(errors="replace")
        with suppress(ValueError):
            # In the way in which the SDK reads it a moment later.
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            if isinstance(message, JSONRPCRequest):
                self._open[str(message.id)] += 1
            elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                self._settle((message.params or {}).get("requestId"))
        return line

    def _settle(self, asked: object) -> None:
        """A request was answered, or the client waits for its answer no more."""
        self._open -= Counter([str(asked)])
        self._answered.set()

    async def write(self, text: str) -> None:
        """Write it all: the client reads what it asked for."""
        data = text.encode(errors="replace")
        while data:
            data = data[os.write(self._client, data) :]
        message = json.loads(text)
        if "method" not in message:
            self._settle(message.get("id"))

    async def flush(self) -> None:
        """Nothing is held back."""


async def _read() -> bytes:
    """What standard input has, as soon as it has something; nothing at its end."""
    with suppress(PermissionError):  # a file, for which the loop cannot wait, and need not
        await anyio.wait_readable(_STDIN)
    return os.read(_STDIN, _AT_ONCE)
