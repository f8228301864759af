"""What Hermes Agent calls when it loads the plugin: ``register``, which hands over the memory provider.

It is also what the entry point ``hermes_agent.memory_providers`` names, for versions of Hermes Agent that look there.
This is the one module that needs Hermes Agent, and only when ``register`` is called (``register_memory_provider``).
"""

from __future__ import annotations

from typing import Any

from catmem.plugins.hermes.provider import Provider


def register(ctx: Any) -> None:  # noqa: ANN401 - whatever Hermes Agent passes
    """Hand the memory provider to Hermes Agent."""
    ctx.register_memory_provider(provider())


def provider() -> Provider:
    """A provider that Hermes Agent takes for one of its own. Raises ``ImportError`` outside of Hermes Agent."""
    from agent.memory_provider import MemoryProvider  # type: ignore[import-not-found]

    class CatmemProvider(Provider, MemoryProvider):  # type: ignore[misc]
        """``Provider``, of the class that Hermes Agent asks for."""

    return CatmemProvider()
