"""``catmem simulate``: agents that race on shared memory."""

from __future__ import annotations

from catmem.registry import Registry


def register(registry: Registry) -> None:
    registry.needs(1)
    registry.add_operation(
        "simulate",
        "catmem.plugins.simulate.operations",
        heading="Many writers and control",
        said="Race agents on shared memory, with and without guards.",
    )
