"""The memory provider of Hermes Agent: a profile's prompt as a block of the system prompt, and one tool.

::

    Hermes Agent ── system_prompt_block() ──> Workspace.prompt   built once, the same bytes for a whole conversation
                 ── handle_tool_call() ─────> memory_tool        within the rights of the profile

Hermes Agent calls ``register``, from the plugin in its home or by the entry point ``hermes_agent.memory_providers``.
``Provider`` works without Hermes Agent, of which only ``made_for_hermes`` and the question for the home import a part.

Releases differ in what they call. Each method is there for all; what only later ones know (``unavailable_reason``,
``recall_status``, ``identity_signature``, the author of a turn, what an entry was before) earlier ones never ask for.
The provider starts no thread, so no thread of it can lose the home and the secrets that belong to a context.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from catmem import clock
from catmem.config.config import CONFIG_NAME
from catmem.digest import content_digest
from catmem.errors import CatmemError, ConfigError, UnreadableError
from catmem.model.document import parse
from catmem.names import TARGETS
from catmem.ops.memory_tool import TOOL_SCHEMA, memory_tool
from catmem.plugins.hermes import homes
from catmem.plugins.hermes.homes import HermesConfig, HermesSettings, Home
from catmem.prompt.prompt import build_prompt
from catmem.workspace.profile_memory import read_memory
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import ToolSession, shown_by_prompt, words_of_entry

TOOL_NAME = "catmem_memory"

_DESCRIPTION = (
    "Your memory over conversations, in categories. Use it, and not the tool memory, to add, replace, remove, move, "
    "verify, list and search facts. What you know is in the system prompt, as it was when the conversation began; what "
    "you write is there in the next one. Write short facts that will still matter then, each under the category that "
    "it belongs to."
)
_UNREADABLE = "Your memory (catmem) could not be read ({code}), so nothing of it is here. Do not take it for empty."
_NO_WRITES = "memory is read only in this kind of session ({context})"
_LOOKING = ("list", "search", "prompt", "proposals")

log = logging.getLogger("catmem.plugins.hermes")


def register(ctx: Any) -> None:  # noqa: ANN401 - whatever Hermes Agent passes
    """Hand the memory provider to Hermes Agent."""
    ctx.register_memory_provider(made_for_hermes())


def made_for_hermes() -> Provider:
    """A provider that Hermes Agent takes for one of its own. Raises ``ImportError`` outside of Hermes Agent."""
    from agent.memory_provider import MemoryProvider  # type: ignore[import-not-found]

    class CatmemProvider(Provider, MemoryProvider):  # type: ignore[misc]
        """``Provider``, of the class that Hermes Agent asks for."""

    return CatmemProvider()


class Provider:
    """One agent's memory. Hermes Agent makes one for each agent, and calls it from several threads."""

    pre_compress_checkpoint_api_version = 1
    """Nothing has to be saved before a conversation is shortened: a write is on the disk before it is answered."""

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._settings: HermesSettings | None = None
        self._workspace: Workspace | None = None
        self._error: CatmemError | None = None
        self._context = "primary"
        self._shown_by_hermes: tuple[str, ...] = ()
        self._frozen: str | None = None
        self._session = ToolSession()
        self._home: Home | None = None

    @property
    def name(self) -> str:
        """What ``memory.provider`` in ``config.yaml`` says to have this one."""
        return "catmem"

    # --- what it is set up for -----------------------------------------------------------------------------------

    def is_available(self) -> bool:
        """Whether a root and a profile are set and can be read; if not, the log says why."""
        reason = self.unavailable_reason()
        if reason:
            log.warning("catmem is not available: %s", reason)
        return not reason

    def unavailable_reason(self) -> str:
        """Why the memory cannot be read, and what to do; empty if it can."""
        try:
            settings, workspace = _opened(_current_home())
            workspace.profile(settings.profile)
        except CatmemError as error:
            return f"{error}. {error.hint or ''}".strip()
        return ""

    def identity_signature(self) -> str:
        """Whose memory it is: another root or profile has another signature; empty where none is set."""
        try:
            settings = homes.read_settings(self._home or _current_home())
        except CatmemError:
            return ""
        return "" if settings is None else content_digest([str(settings.root), settings.profile])

    def initialize(self, session_id: str, **kwargs: object) -> None:
        """Open the root. What is wrong with it is logged, and every call from then on says so."""
        named = kwargs.get("hermes_home")
        home = homes.home_at(str(named)) if named else _current_home()
        self._context = str(kwargs.get("agent_context") or "primary")
        self._frozen, self._error, self._session, self._home = None, None, ToolSession(), home
        try:
            self._settings, self._workspace = _opened(home)
            config = homes.read_config(home)
            self._shown_by_hermes = shown_by_hermes(home, config, self._workspace, self._settings.profile)
            self._session.begin(self._workspace, self._settings.profile)
        except CatmemError as error:
            self._error = error
            log.error("catmem has no memory for session %s: %s. %s", session_id, error, error.hint or "")  # noqa: TRY400
            return
        try:
            for said in unfiltered(self._workspace, self._settings.profile, self._shown_by_hermes):
                log.warning(said)
        except CatmemError as error:
            # The block will say so too, unless the file is mended by then.
            log.warning("catmem could not look into its files: %s", error)

    def get_config_schema(self) -> list[dict[str, Any]]:
        """What ``hermes memory setup`` asks for."""
        home = _current_home()
        return [
            {"key": "root", "description": "Folder with catmem.yaml", "required": True, "default": str(home.root)},
            {"key": "profile", "description": "Profile of catmem", "required": True, "default": home.name},
        ]

    def save_config(self, values: dict[str, Any], hermes_home: str) -> None:
        """Keep the answers that ``hermes memory setup`` got. Raises ``ConfigError`` and ``UnreadableError``."""
        home = homes.home_at(hermes_home)
        said = {"version": 1, "root": values.get("root") or str(home.root), "profile": values.get("profile", home.name)}
        homes.write_settings(home, homes.parse_settings(json.dumps(said).encode(), home))

    def get_status_config(self, provider_config: Any) -> dict[str, Any]:  # noqa: ANN401 - from Hermes Agent's config
        """What ``hermes memory status`` shows."""
        del provider_config
        reason = self.unavailable_reason()
        settings = None if reason else homes.read_settings(_current_home())
        return {"problem": reason} if settings is None else {"root": str(settings.root), "profile": settings.profile}

    def backup_paths(self) -> list[str]:
        """What ``hermes backup`` is to take along: configuration, profiles and this profile's memory, with history."""
        home = _current_home()
        try:
            settings, workspace = _opened(home)
            folder = workspace.path(settings.profile, "user").parent
        except CatmemError as error:
            log.warning("catmem does not know what to back up: %s", error)
            return []
        inside = home.path.resolve()
        found = {settings.root / CONFIG_NAME, workspace.config.profiles_dir, folder}
        return sorted(str(path) for path in {each.resolve() for each in found} if not path.is_relative_to(inside))

    # --- the system prompt ---------------------------------------------------------------------------------------

    def system_prompt_block(self) -> str:
        """The profile's prompt as it was when this conversation first asked for it: the same bytes each time."""
        with self._turn:
            if self._frozen is None:
                try:
                    self._frozen = self._block()
                except CatmemError as error:
                    # Not kept: it may be readable when Hermes Agent asks again.
                    log.error("catmem's block is missing from a prompt: %s. %s", error, error.hint or "")  # noqa: TRY400
                    return _UNREADABLE.format(code=error.code)
            return self._frozen

    def _block(self) -> str:
        settings, workspace = self._at_hand()
        memory = read_memory(workspace, settings.profile)
        # What stands in the prompt already is not said twice.
        documents = {name: each for name, each in memory.documents.items() if name not in self._shown_by_hermes}
        prompt = build_prompt(documents, memory.profile, as_of=clock.today(), config=workspace.config)
        self._session.learn(shown_by_prompt(prompt.manifest, documents))
        for warning in prompt.warnings:
            log.warning(warning)
        return prompt.text

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Nothing: what the profile may know is in the system prompt, and search is a tool."""
        del query, session_id
        return ""

    def on_turn_start(self, turn_number: int, message: str, **kwargs: object) -> None:
        """The user has spoken: refusals are counted anew."""
        del turn_number, message, kwargs
        self._session.new_turn()

    def recall_status(self) -> None:
        """No turn brings in memory of its own, so there is nothing to tell the user of it."""

    def sync_turn(self, user_content: str, assistant_content: str, **kwargs: object) -> None:
        """A turn of any author leaves nothing in memory: what is worth keeping the agent writes with its tool."""

    def on_session_switch(self, new_session_id: str, *, reset: bool = False, **kwargs: object) -> None:
        """Another session id; only with ``reset`` another conversation, which gets a prompt of its own."""
        del new_session_id, kwargs
        if reset:
            with self._turn:
                self._frozen, self._session = None, ToolSession()
                if self._settings is not None and self._workspace is not None:
                    self._session.begin(self._workspace, self._settings.profile)

    # --- the tool ------------------------------------------------------------------------------------------------

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The one tool, in the form of function calling."""
        return [{"name": TOOL_NAME, "description": _DESCRIPTION, "parameters": TOOL_SCHEMA}]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: object) -> str:
        """What ``memory_tool`` answers, as JSON."""
        del kwargs
        with self._turn:
            return json.dumps(self._answer(tool_name, args), ensure_ascii=False)

    def _answer(self, tool_name: str, args: Any) -> dict[str, Any]:  # noqa: ANN401 - a model may send anything
        if tool_name != TOOL_NAME:
            return _refusal(f"there is no tool {tool_name}", "unknown_tool", f"Use {TOOL_NAME}.")
        action = args.get("action") if isinstance(args, dict) else None
        if self._context != "primary" and action not in _LOOKING:
            why = _NO_WRITES.format(context=self._context)
            return _refusal(why, "read_only", "Say what is worth keeping in your answer.")
        try:
            settings, workspace = self._at_hand()
            # Read anew: '/memory approval on' may come at any time.
            self._session.proposes = self._home is not None and homes.read_config(self._home).write_approval
            return memory_tool(workspace, settings.profile, args, session=self._session)
        except CatmemError as error:
            return _refusal(error.message, error.code, "Do not try again; tell the user.")

    def on_memory_write(self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None) -> None:
        """The agent wrote with Hermes Agent's own tool: it knows what it wrote, if that is in the same file."""
        del action, target
        before = (metadata or {}).get("previous_content")
        with self._turn:
            self._session.wrote(parse(content or "", ()).entries)
            if isinstance(before, str):
                self._session.learn(words_of_entry(each) for each in parse(before, ()).entries)

    def shutdown(self) -> None:
        with self._turn:
            workspace, self._workspace = self._workspace, None
            if workspace is not None:
                workspace.store.close()

    def _at_hand(self) -> tuple[HermesSettings, Workspace]:
        """The settings and the open root. Raises ``CatmemError`` if there are none."""
        if self._error is not None:
            raise self._error
        if self._settings is None or self._workspace is None:
            raise ConfigError("the session has ended", code="no_session", hint="Start a new one.")
        return self._settings, self._workspace


def shown_by_hermes(home: Home, config: HermesConfig, workspace: Workspace, profile: str) -> tuple[str, ...]:
    """The targets whose whole file Hermes Agent itself puts into the prompt, and that catmem reads from that file."""
    ours = {target: workspace.path(profile, target) for target in TARGETS}
    return tuple(
        target
        for target, path in ours.items()
        if config.shows(target) and os.path.realpath(home.memories / path.name) == os.path.realpath(path)
    )


def unfiltered(workspace: Workspace, profile: str, shown: Iterable[str]) -> list[str]:
    """What to say of each target that Hermes Agent shows itself, and that holds what the profile is not to see."""
    return [
        f"Hermes Agent shows its whole {target} file itself, so the agent sees categories that are hidden from it; "
        "'catmem hermes install' leaves it to catmem"
        for target in shown
        if workspace.view(profile, target).hidden
    ]


def _opened(home: Home) -> tuple[HermesSettings, Workspace]:
    settings = homes.read_settings(home)
    if settings is None:
        raise ConfigError(
            "no root is set for this home of Hermes Agent",
            code="hermes_no_root",
            path=home.path,
            hint="Make one over it with 'catmem init --from-hermes', or name one: catmem hermes install --root DIR",
        )
    try:
        return settings, Workspace.open(settings.root, search=False)
    except UnreadableError as error:
        error.hint = f"It is the root that {home.path} names. {error.hint or ''}".rstrip()
        raise


def _current_home() -> Home:
    with suppress(ImportError):
        from hermes_constants import get_hermes_home  # type: ignore[import-not-found]

        return homes.home_at(get_hermes_home())
    return homes.usual_home()


def _refusal(error: str, reason: str, remediation: str) -> dict[str, Any]:
    return {"success": False, "error": error, "reason": reason, "remediation": remediation}
