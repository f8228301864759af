"""The parts of an installed Hermes Agent that its store leans on, looked up at each call.

Hermes changes its home while it runs, and its tests put other functions in the place of these, so nothing is kept.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from catmem.errors import ConfigError


def memory_tool() -> Any:  # noqa: ANN401 - a module of Hermes's
    """Hermes's ``tools.memory_tool``. Raises ``ConfigError`` (``no_hermes``) outside of Hermes Agent."""
    module = _module("tools.memory_tool")
    if not hasattr(module, "get_memory_dir"):
        raise _missing("the module tools.memory_tool here is not Hermes Agent's")
    return module


def threat_patterns() -> Any:  # noqa: ANN401
    """Hermes's ``tools.threat_patterns``. Raises ``ConfigError`` (``no_hermes``)."""
    return _module("tools.threat_patterns")


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
