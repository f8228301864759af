"""Anthropic's memory tool over a profile's memory: ``CatmemMemoryTool`` (extra ``anthropic``)."""

from __future__ import annotations

from typing import Any

__all__ = ["CatmemMemoryTool"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module has under that name
    """The class, when it is first asked for: the ``anthropic`` package takes a second to load."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    try:
        from catmem.plugins.anthropic.tool import CatmemMemoryTool
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "anthropic":
            raise
        from catmem.resources import install_command

        raise ImportError(
            f"Anthropic's memory tool needs the package anthropic: {install_command('anthropic')}"
        ) from error
    return CatmemMemoryTool
