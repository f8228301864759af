"""What of a memory file goes into Hermes's system prompt: Hermes's scan, Hermes's words for what it takes out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from catmem.hermes.store_installed import memory_tool, threat_patterns
from catmem.hermes.store_scan import gate_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.errors import CatmemError

logger = logging.getLogger(__name__)


def first_threat(content: str) -> str | None:
    """Hermes's message for the first threat in a text that somebody wants to store; ``None`` if there is none."""
    tool = memory_tool()
    gate = gate_of(tool, threat_patterns())
    if gate is not None and gate.is_clean(content):
        return None
    message: str | None = tool._scan_memory_content(content)  # noqa: SLF001 - the store's own scan
    return message


def without_threats(pieces: Sequence[tuple[str, ...]], filename: str) -> list[str]:
    """The pieces of a prompt (headers and entry), each with a placeholder in the place of what holds a threat.

    Parts are looked at one by one, and then as they stand together.
    """
    tool, threats = memory_tool(), threat_patterns()
    gate = gate_of(tool, threats)
    if gate is not None:
        gate = gate.narrowed("\n".join(parts) for parts in pieces)
    shown: list[str] = []
    for parts in pieces:
        text = "\n".join(parts)
        if gate is not None and gate.is_clean(text):
            shown.append(text)
            continue
        kept = "\n".join(_looked_at(part, threats, filename) for part in parts)
        shown.append(_looked_at(kept, threats, filename) if len(parts) > 1 else kept)
    return shown


def unreadable(filename: str, error: CatmemError) -> str:
    """What stands in the prompt for a file that cannot be read: nobody is to take it for empty."""
    return (
        f"[UNREADABLE: {filename} cannot be read ({error.message}). Nothing of it is in this prompt, and it is "
        f"not empty; memory calls on it are refused until somebody has mended it.]"
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
