"""The installed Hermes Agent: the parts that its store leans on, and its threat scan.

The parts are looked up at each call: Hermes changes its home while it runs, and its tests put other functions in the
place of these. The scan, its findings and its messages are Hermes's.
"""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catmem.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.errors import CatmemError

logger = logging.getLogger(__name__)


def memory_tool() -> Any:  # noqa: ANN401 - a module of Hermes's
    """Hermes's ``tools.memory_tool``. Raises ``ConfigError`` (``no_hermes``) outside of Hermes Agent."""
    module = _module("tools.memory_tool")
    if not hasattr(module, "get_memory_dir"):
        raise _missing("the module tools.memory_tool here is not Hermes Agent's")
    return module


def memory_dir() -> Path:
    """The folder of the memory files, as Hermes says at this moment. Raises ``ConfigError`` (``no_hermes``)."""
    return Path(memory_tool().get_memory_dir())


def _module(name: str) -> Any:  # noqa: ANN401
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing(f"this Python has no {error.name or name}") from error


def _missing(what: str) -> ConfigError:
    return ConfigError(
        f"{what}, so there is no Hermes Agent to work for",
        code="no_hermes",
        hint="Install catmem into the Python of Hermes Agent: PYTHON -m pip install catmem.",
    )


def first_threat(content: str) -> str | None:
    """Hermes's message for the first threat in a text to store; ``None`` if there is none."""
    message: str | None = memory_tool()._scan_memory_content(content)  # noqa: SLF001 - the store's own scan
    return message


def without_threats(pieces: Sequence[tuple[str, ...]], filename: str) -> list[str]:
    """The pieces of a prompt (headers and entry), each with a placeholder in the place of what holds a threat.

    Parts are looked at one by one, and then as they stand together.
    """
    threats = _module("tools.threat_patterns")
    shown: list[str] = []
    for parts in pieces:
        kept = "\n".join(_looked_at(part, threats, filename) for part in parts)
        shown.append(_looked_at(kept, threats, filename) if len(parts) > 1 else kept)
    return shown


def unreadable(filename: str, error: CatmemError) -> str:
    """What stands in the prompt for a file that cannot be read: it must not pass for empty."""
    return (
        f"[UNREADABLE: {filename} cannot be read ({error.message}). Nothing of it is in this prompt, and it is "
        f"not empty; memory calls on it are refused until it is mended.]"
    )


def _looked_at(text: str, threats: Any, filename: str) -> str:  # noqa: ANN401 - Hermes's module
    """The text, or Hermes's placeholder for it."""
    findings: Sequence[str] = threats.scan_for_threats(text, scope="strict")
    if not findings:
        return text
    logger.warning("Memory entry from %s blocked at load time: %s", filename, ", ".join(findings))
    return (
        f"[BLOCKED: {filename} entry contained threat pattern(s): "
        f"{', '.join(findings)}. Removed from system prompt; "
        f"use memory(action=remove) "
        f"to delete the original.]"
    )
