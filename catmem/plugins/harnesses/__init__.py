"""``catmem hook`` and ``catmem sync``: a profile's memory for harnesses that know nothing of catmem."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what answers a hook is quick, and lies in this package
    from catmem.registry import Registry


def register(registry: Registry) -> None:
    registry.needs(1)
    place = "catmem.plugins.harnesses.operations"
    hook = "Answer a hook of Claude Code, Codex, Gemini CLI or VS Code with a profile's prompt."
    sync = "Write what profiles see into files that other harnesses read."
    registry.add_operation("sync", place, heading="Connect agents", said=sync)
    registry.add_operation("hook", place, heading="Connect agents", said=hook)
