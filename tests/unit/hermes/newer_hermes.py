"""A stand-in for the memory part of Hermes Agent after 0.20, made of its documented facts. It is not Hermes Agent.

No release after 0.19.0 was on the package index when this was written. Here is what is known of later ones: what the
abstract class asks for and has defaults for, how the folder of a plugin is found and loaded, what the manager hands to
a provider, and what a catalog admits.
"""

import hashlib
import importlib.util
import inspect
import re
import sys
import threading
from abc import ABC, abstractmethod
from types import ModuleType

import yaml

SECRET = re.compile(r"sk-[a-z0-9]{16,}")
CORE_TOOLS = {"memory", "read_file", "terminal"}
SEEN_OF_A_PLUGIN = 8192


class MemoryProvider(ABC):
    """Four things are asked for; the rest has defaults."""

    pre_compress_checkpoint_api_version = 1

    @property
    @abstractmethod
    def name(self): ...

    @abstractmethod
    def is_available(self): ...

    @abstractmethod
    def initialize(self, session_id, **kwargs): ...

    @abstractmethod
    def get_tool_schemas(self): ...

    def unavailable_reason(self):
        return ""

    def prefetch(self, query, *, session_id=""):
        return ""

    def recall_status(self):
        return None

    def backup_paths(self):
        return []

    def identity_signature(self):
        return None

    def on_pre_compress(self, messages):
        return ""

    def on_session_end(self, messages):
        return None


class ToolModule(ModuleType):
    """``tools.memory_tool``, whose class no plugin of the catalog may replace."""

    class MemoryStore:
        """Hermes Agent's own."""


def modules():
    """The modules of Hermes Agent that a plugin may import, by name."""
    made = {name: ModuleType(name) for name in ("agent", "agent.memory_provider", "tools", "hermes_cli")}
    setattr(made["agent.memory_provider"], "MemoryProvider", MemoryProvider)  # noqa: B010 - it has no such name yet
    setattr(made["hermes_cli"], "__version__", "0.21.3")  # noqa: B010
    return made | {"tools.memory_tool": ToolModule("tools.memory_tool")}


def load(folder):
    """The provider that the plugin in a folder registers; ``None`` where the folder does not look like one."""
    source = (folder / "__init__.py").read_text(encoding="utf-8")[:SEEN_OF_A_PLUGIN]
    if "register_memory_provider" not in source and "MemoryProvider" not in source:
        return None
    place = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    name = f"_hermes_user_memory.{folder.name}__source_{place}"
    spec = importlib.util.spec_from_file_location(name, folder / "__init__.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        context = Context()
        module.register(context)
    finally:
        del sys.modules[name]
    return context.provider


class Context:
    provider = None

    def register_memory_provider(self, provider):
        self.provider = provider


class Manager:
    """What it hands to its one provider has no secrets in it, and as much as the provider's signatures take."""

    def __init__(self, provider):
        schemas = [each.get("function", each) for each in provider.get_tool_schemas()]
        assert isinstance(provider, MemoryProvider)
        assert not CORE_TOOLS & {each["name"] for each in schemas}
        self.provider = provider

    def turn(self, number, message, **more):
        self._call("on_turn_start", number, message, **more)
        return self.provider.prefetch(message), self.provider.recall_status()

    def turn_ends(self, user, assistant, **more):
        worker = threading.Thread(target=self._call, args=("sync_turn", user, assistant), kwargs=more)
        worker.start()
        worker.join()

    def tool_wrote(self, answer, action, target, content, **metadata):
        """The agent's own memory tool has answered; of a replaced or removed entry the answer has the old text."""
        if answer["success"] and not answer.get("staged"):
            old = answer.get("replaced_entry") or answer.get("removed_entry")
            known = {**metadata, **({"previous_content": old} if old else {})}
            self._call("on_memory_write", action, target, content, metadata=known)

    def _call(self, method, *arguments, **named):
        called = getattr(self.provider, method)
        takes = inspect.signature(called).parameters.values()
        open_ended = any(each.kind is each.VAR_KEYWORD for each in takes)
        fitting = {key: value for key, value in named.items() if open_ended or key in {each.name for each in takes}}
        called(*(SECRET.sub("[REDACTED]", each) if isinstance(each, str) else each for each in arguments), **fitting)


def catalog_faults(folder, entry):
    """What keeps a folder and its entry out of the catalog of plugins."""
    manifest = yaml.safe_load((folder / "plugin.yaml").read_text(encoding="utf-8"))
    keys = {"name", "repo", "sha", "description", "maintainer", "category", "requires_hermes", "version"}
    faults = [f"the entry has no {key}" for key in sorted(keys - entry.keys())]
    faults += [f"{key} differs" for key in ("name", "version", "requires_hermes") if manifest[key] != entry[key]]
    faults += [] if re.fullmatch(r"[0-9a-f]{40}", entry["sha"]) else ["sha is no commit"]
    faults += [] if entry["repo"].startswith("https://") else ["repo is no https"]
    before = sys.modules["tools.memory_tool"].MemoryStore
    load(folder)
    return faults + ([] if sys.modules["tools.memory_tool"].MemoryStore is before else ["no core override"])
