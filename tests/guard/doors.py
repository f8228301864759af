"""The doors through which an agent reaches its memory, each by its real interface.

What comes with an extra is loaded when a door is opened: Hermes Agent's Python has not all of it.
"""

import json
import re
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self

from catmem import memory_tool
from catmem.plugins.hermes.memory_store import FILES, MemoryStore
from catmem.plugins.hermes.provider import TOOL_NAME, Provider
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import ToolSession
from tests.golden.case import put
from tests.guard.scripts import AGENT, HIDDEN, TITLES, Script
from tests.guard.sessions import Answer, Wish

OF_TOOL = frozenset(AGENT) - {"text", "head"}
NEWER = "2026-07-28"
"""The version of MCP from which on a client shakes no hands."""


def as_json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)


class Door:
    """One session of an agent at one interface, over a root of its own that is made first."""

    name: ClassVar[str]
    can: ClassVar[frozenset[str]] = OF_TOOL
    """What of ``scripts.AGENT`` an agent can do here."""
    names_more: ClassVar[frozenset[str]] = frozenset()
    """Those of it that mean more entries than the one that is named."""
    strict: ClassVar[bool] = True
    begins_at_opening: ClassVar[bool] = True
    """Whether the session begins when the door opens, or else with its first call."""
    states_base: ClassVar[bool] = False
    """Whether each change has to name what it is made on, so that one on an older text is refused by right."""

    def __init__(self, folder: Path, script: Script) -> None:
        self.folder, self.script, self.stack = folder, script, ExitStack()
        self.root, setting = folder / "root", script.setting
        self.profile = "orchestrator" if setting.by_init else "neo"
        self.path = self.root / "homes" / self.profile / "USER.md"
        make_root(self.root, script)
        if setting.last is not None:
            maker = Workspace.open(self.root, search=False)
            maker.add(self.profile, setting.last, target="user", category=setting.category)
            maker.store.close()

    def __enter__(self) -> Self:
        self.workspace = Workspace.open(self.root, search=False)
        self.stack.callback(self.workspace.store.close)
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def open(self) -> Answer:
        """Begin the session; what it shows before the first call."""
        return Answer("")

    def call(self, wish: Wish) -> Answer:
        raise NotImplementedError


def make_root(root: Path, script: Script) -> None:
    """A root with the file of a script, made by hand or by ``catmem init --start``."""
    setting = script.setting
    if setting.by_init:
        from tests.end_to_end.terminal import run

        run("init", root, "--start", put(root.with_name("start") / "USER.md", setting.text))
        return
    sees = "tier: 1\nuser_memory_categories: ['*']\n"
    if setting.tier > 1:
        writes = ", ".join([*TITLES, "__uncategorized__"])
        sees = (
            f"user_memory_categories: ['*', '!{HIDDEN.lower()}']\nwritable_categories: [{writes}]\nmay_verify: true\n"
        )
    limits = "" if setting.limit is None else f"limits: {{user: {setting.limit}}}\n"
    put(root / "catmem.yaml", f"version: 1\n{limits}")
    put(root / "profiles" / "neo.yaml", f"{sees}include_uncategorized: true\n")
    put(root / "homes" / "neo" / "USER.md", setting.text)


def of_tool(data: Mapping[str, Any]) -> Answer:
    """An answer of the ``memory`` tool."""
    return Answer(as_json(data), data["success"], data.get("reason", ""), data.get("found"), data.get("revision"))


class ToolDoor(Door):
    """``catmem.memory_tool`` with a session."""

    name = "tool"
    begins_at_opening = False

    def open(self) -> Answer:
        self.session = ToolSession()
        return Answer("")

    def call(self, wish: Wish) -> Answer:
        return of_tool(memory_tool(self.workspace, self.profile, wish, session=self.session))


class ProviderDoor(Door):
    """The memory provider of Hermes Agent, which shows the prompt first."""

    name = "provider"

    def open(self) -> Answer:
        home, self.provider = self.folder / "hermes", Provider()
        put(home / "catmem.json", as_json({"version": 1, "root": str(self.root), "profile": self.profile}))
        self.provider.initialize("one", hermes_home=str(home), agent_context="primary")
        self.stack.callback(self.provider.shutdown)
        return Answer(self.provider.system_prompt_block())

    def call(self, wish: Wish) -> Answer:
        return of_tool(json.loads(self.provider.handle_tool_call(TOOL_NAME, wish)))


# --- MCP --------------------------------------------------------------------------------------------------------------


class McpDoor(Door):
    """MCP over pipes: a server of its own for each session, in this process, and the official client."""

    name = "mcp"
    can = OF_TOOL - {"batch"}

    def server(self) -> Any:
        from catmem.mcp.server import make_server

        return make_server(self.workspace, self.profile)

    def open(self) -> Answer:
        from anyio.from_thread import start_blocking_portal
        from mcp import Client

        client = Client(self.server(), mode=("legacy", "auto")[self.script.seed % 2])
        self.portal = self.stack.enter_context(start_blocking_portal())
        self.client = self.stack.enter_context(self.portal.wrap_async_context_manager(client))
        return Answer(self.client.instructions or "")

    def call(self, wish: Wish) -> Answer:
        from mcp.shared.exceptions import MCPError

        asked = {name: value for name, value in wish.items() if name != "action"}
        method, params = "tools/call", {"name": f"memory_{wish['action']}", "arguments": asked}
        if wish["action"] == "prompt":
            method, params = "prompts/get", {"name": "context", "arguments": {}}
            if "categories" in wish:
                method, params = "resources/read", {"uri": f"memory://{wish['categories'][0]}"}
        try:
            result = self.ask(method, params)
        except MCPError as error:
            return Answer(str(error), succeeded=False, reason="protocol", sent=f"{method} {as_json(params)}")
        answer = of_tool(result["structuredContent"]) if method == "tools/call" else Answer(as_json(result))
        return answer._replace(sent=f"{method} {as_json(params)}")

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        verb = {"tools/call": "call_tool", "prompts/get": "get_prompt", "resources/read": "read_resource"}[method]
        return self.portal.call(partial(getattr(self.client, verb), **params)).model_dump(mode="json", by_alias=True)


class McpProcessDoor(McpDoor):
    """MCP over standard input and output, with ``catmem mcp`` in a process of its own."""

    name = "mcp-process"

    def server(self) -> Any:
        from mcp import StdioServerParameters

        command = ["-m", "catmem", "mcp", "-p", self.profile, "--root", str(self.root)]
        return StdioServerParameters(command=sys.executable, args=command)


class ServeDoor(Door):
    """``catmem serve``, to which an agent sends its token."""

    def __enter__(self) -> Self:
        from starlette.testclient import TestClient

        from catmem.envelopes.tokens import new_token
        from catmem.mcp import http
        from catmem.server.app import create_app
        from catmem.server.guard import ServerSettings
        from tests.http_root import ADDRESS

        super().__enter__()
        tokens = self.folder / "tokens" / "tokens.json"
        _, token = new_token(self.workspace.config, tokens, self.profile)
        app = create_app(self.workspace, ServerSettings(tokens=tokens, page=False), more=http.routes())
        client = TestClient(app, base_url=ADDRESS, headers={"Authorization": f"Bearer {token}"})
        self.http = self.stack.enter_context(client)
        return self


class McpServeDoor(ServeDoor, McpDoor):
    """MCP at ``/mcp`` of ``catmem serve``, in the older protocol and in the newer one."""

    name = "mcp-serve"

    def open(self) -> Answer:
        self.newer = self.script.seed % 2 == 0
        self.headers = {"accept": "application/json, text/event-stream"}
        if self.newer:
            self.headers |= {"mcp-protocol-version": NEWER}
        return Answer("")

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        from mcp.shared.exceptions import MCPError

        if self.newer:
            self.headers |= {"mcp-method": method, "mcp-name": params.get("name") or params["uri"]}
            meta = {"protocolVersion": NEWER, "clientInfo": {"name": "t", "version": "1"}, "clientCapabilities": {}}
            params = params | {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()}}
        sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        said = self.http.post("/mcp", json=sent, headers=self.headers).json()
        if "error" in said:
            raise MCPError(said["error"]["code"], said["error"]["message"])
        return said["result"]


# --- others -----------------------------------------------------------------------------------------------------------


class HttpDoor(ServeDoor):
    """The HTTP API. A change is made on what the last answer named, unless it names something else."""

    name = "http"
    can = frozenset(AGENT) - {"search", "search nothing"}
    states_base = True

    def open(self) -> Answer:
        self.base: dict[str, str] = {}
        return self.call({"action": ("list", "head")[self.script.seed % 2]})

    def call(self, wish: Wish) -> Answer:
        entity = {"entity_id": f"{self.profile}/user"}
        shown = {name: wish[name] for name in ("category", "offset") if name in wish}
        looks = {
            "prompt": (f"/prompt/{self.profile}", {"categories": ",".join(wish.get("categories", TITLES))}),
            "list": ("/mem/read", entity | shown),
            "head": ("/mem/head", entity),
        }
        where, params = looks.get(wish.get("action"), ("", {}))
        response = self.http.get(where, params=params) if where else self.write(entity, wish)
        asked, succeeded = response.request, response.status_code in {200, 202}
        sent = (
            f"{asked.method} {asked.url.raw_path.decode()} {asked.headers.get('if-match', '')} {asked.content.decode()}"
        )
        if wish.get("action") == "prompt":
            return Answer(response.text, succeeded, sent=sent)
        if response.status_code == 200 and "etag" in response.headers:
            self.base = {"If-Match": response.headers["etag"]}
        data = response.json()
        return Answer(response.text, succeeded, data.get("code", ""), data.get("found"), data.get("revision"), sent)

    def write(self, entity: dict[str, Any], wish: Wish) -> Any:
        changes, expected, headers = [], wish.get("expected"), self.base
        for change in wish.get("operations", [wish]):
            names = {"category": "to_category"} if change["action"] == "move" else {}
            names |= {"expected": None, "target": None}
            changes.append({names.get(name, name): value for name, value in change.items() if names.get(name, name)})
        body = entity | {"content": wish["content"] if wish.get("action") == "text" else changes}
        if expected is not None and re.fullmatch("[0-9]+", expected):
            body, headers = body | {"prev_rev": int(expected)}, {}
        elif expected is not None:
            body |= {"expected": expected}
        return self.http.post("/mem/write", json=body, headers=headers)


class AnthropicDoor(Door):
    """Anthropic's memory tool, in which a category is a file."""

    name = "anthropic"
    can = OF_TOOL - {"search", "search nothing", "verify", "batch", "over budget"}
    names_more = frozenset({"add", "remove", "move"})
    begins_at_opening = False

    def open(self) -> Answer:
        from catmem.plugins.anthropic import CatmemMemoryTool

        self.tool = CatmemMemoryTool(self.workspace, self.profile)
        return Answer("")

    def call(self, wish: Wish) -> Answer:
        from anthropic.lib.tools import ToolError

        command = self.command(wish)
        try:
            return Answer(str(self.tool.call(command)), sent=as_json(command))
        except ToolError as error:
            reason = "drift" if re.search("from outside|another writer", str(error)) else "refused"
            return Answer(str(error), succeeded=False, reason=reason, sent=as_json(command))

    def command(self, wish: Wish) -> dict[str, Any]:
        old, new, category = wish.get("old_text", ""), wish.get("content", ""), wish.get("category")
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        stands, slugs = bool(old) and old in text, {title: slug for slug, title in TITLES.items()}
        headers = re.findall(r"(?m)^## (.*?)\s*$", text[: text.index(old)] if stands else text)
        at = f"/memories/user/{slugs.get(headers[-1], 'notes') if headers else '__uncategorized__'}.md"
        named = f"/memories/user/{category or 'projects'}.md"
        lines = {"view_range": [wish["offset"], wish["offset"]]} if "offset" in wish else {}
        replaced = {"command": "str_replace", "path": at, "old_str": old, "new_str": new}
        added = {"command": "create", "path": named, "file_text": new}
        if f"## {TITLES.get(category)}" in text:
            added = {"command": "insert", "path": named, "insert_line": 0, "insert_text": new}
        return {
            "list": {"command": "view", "path": named if category else at, **lines},
            "prompt": {"command": "view", "path": "/memories"},
            "add": added,
            "remove": {"command": "delete", "path": at} if stands else replaced,
            "move": {"command": "rename", "old_path": at, "new_path": named} if stands else replaced,
        }.get(wish["action"], replaced)


class DropInDoor(Door):
    """The store in the place of Hermes Agent's own. It has no action that reads, so refusals count as shown.

    Outside of Hermes Agent's Python two modules stand in for what the store asks of it: a folder, a heading, a scan.
    """

    name = "drop-in"
    can = frozenset(
        {"prompt", "add", "replace", "remove", "batch", "no match", "ambiguous", "over budget", "bad arguments"}
    )
    strict = False

    def __init__(self, folder: Path, script: Script) -> None:
        self.script, self.stack = script, ExitStack()
        self.path = put(folder / "memories" / "USER.md", script.setting.text)
        if script.setting.last is not None:
            with self:
                self.open()
                self.store.add("user", script.setting.last)

    def __enter__(self) -> Self:
        try:
            from tools import memory_tool as of_hermes
        except ImportError:
            of_hermes = SimpleNamespace(MEMORY_BLOCK_HEADERS={"user": "USER", "memory": "MEMORY"})
            of_hermes._scan_memory_content = of_hermes._first_threat_message = lambda _: None
            threats = SimpleNamespace(scan_for_threats=lambda _, scope: [])
            for name, module in (("memory_tool", of_hermes), ("threat_patterns", threats)):
                sys.modules[f"tools.{name}"] = module
                self.stack.callback(sys.modules.pop, f"tools.{name}")
        of_hermes.get_memory_dir = lambda: self.path.parent
        self.stack.callback(FILES.close)
        return self

    def open(self) -> Answer:
        limit = self.script.setting.limit or 100_000
        self.store = MemoryStore(limit, limit)
        self.store.load_from_disk()
        return self.call({"action": "prompt"})

    def call(self, wish: Wish) -> Answer:
        action, old, new = wish.get("action", "apply_batch"), wish.get("old_text", ""), wish.get("content", "")
        if action == "prompt":
            return Answer(self.store.format_for_system_prompt("user") or "")
        given = {"add": (new,), "replace": (old, new), "remove": (old,), "apply_batch": (wish.get("operations"),)}
        said = getattr(self.store, action)("user", *given[action])
        reason = "" if said["success"] else "drift" if "drift_backup" in said else "refused"
        return Answer(as_json(said), said["success"], reason)


_MCP = (McpDoor, McpServeDoor, McpProcessDoor)
DOORS = {door.name: door for door in (ToolDoor, *_MCP, HttpDoor, ProviderDoor, DropInDoor, AnthropicDoor)}


def needed(name: str) -> str:
    """The package without which a door cannot be opened."""
    return {"mcp": "mcp", "http": "starlette", "anthropic": "anthropic"}.get(name.partition("-")[0], "catmem")
