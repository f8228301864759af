"""The page: what a person sees of the memory, rendered here, readable without JavaScript.

It is for people: a caller that is bound to a profile is refused, whatever it asks for.
"""

from __future__ import annotations

from catmem.registry import Registry


def register(registry: Registry) -> None:
    registry.needs(1)
    registry.add_pages("catmem.plugins.page.site")
