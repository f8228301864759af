"""``catmem hook`` and ``catmem sync``: a profile's memory for harnesses that know nothing of catmem."""

from __future__ import annotations

from catmem.registry import Registry


def register(registry: Registry) -> None:
    """Add the commands."""
    registry.needs(1)
    place = "catmem.plugins.harnesses.operations"
    hook = "Answer a hook of Claude Code, Codex, Gemini CLI or VS Code with a profile's prompt."
    registry.add_operation("hook", place, heading="Connect agents", said=hook)
