"""What catmem puts into Hermes Agent: a memory provider, and a store in the place of its own."""

from __future__ import annotations

from catmem.registry import Registry


def register(registry: Registry) -> None:
    registry.needs(1)
    registry.add_operation(
        "hermes",
        "catmem.plugins.hermes.operations",
        heading="Connect agents",
        said="Put catmem into Hermes Agent as its memory provider.",
        is_first=True,
    )
    registry.add_root("hermes", "catmem.plugins.hermes.homes:make_root")
