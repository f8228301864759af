"""Put catmem's store in the place of Hermes Agent's, and take it out again.

The module is a plugin of Hermes Agent's too (the entry point ``hermes_agent.plugins``), so that ``hermes plugins enable
catmem-store``, or the same in ``config.yaml``, is all that it takes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from catmem.errors import ConfigError
from catmem.plugins.hermes.memory_store import MemoryStore
from catmem.plugins.hermes.store_scan import memory_tool

_LIMITS = ("memory_char_limit", "user_char_limit")
_METHODS = (
    *("load_from_disk", "add", "replace", "remove", "apply_batch", "format_for_system_prompt", "save_to_disk"),
    *("reset_consolidation_failures", "_path_for", "_entries_for", "_set_entries", "_char_count", "_char_limit"),
    *("_read_file", "_write_file", "_detect_external_drift", "_reload_target"),
)


def use_catmem_store() -> Callable[[], None]:
    """Have Hermes Agent make catmem's ``MemoryStore`` from now on; gives the function that undoes it.

    Stores that exist already stay what they are. Calling it again changes nothing. Raises ``ConfigError``:
    ``no_hermes`` outside of Hermes Agent, ``unknown_hermes`` for a version whose store is another than the one that
    this class is for; nothing is changed then.
    """
    module = memory_tool()
    theirs = getattr(module, "MemoryStore", None)
    if theirs is MemoryStore:
        return lambda: None
    _check(theirs)
    module.MemoryStore = MemoryStore

    def undo() -> None:
        if module.MemoryStore is MemoryStore:
            module.MemoryStore = theirs

    return undo


def register(_: Any) -> None:  # noqa: ANN401 - whatever Hermes Agent passes
    """Put the store in place: what Hermes Agent calls when it loads the plugin ``catmem-store``."""
    use_catmem_store()


def _check(theirs: Any) -> None:  # noqa: ANN401 - whatever stands there
    """Raise ``ConfigError`` unless the installed store is one that this class can stand in for."""
    problem = None
    if not isinstance(theirs, type):
        problem = "it has no class MemoryStore"
    elif tuple(inspect.signature(theirs).parameters) != _LIMITS:
        problem = f"its MemoryStore takes other arguments than {' and '.join(_LIMITS)}"
    else:
        gone = [name for name in _METHODS if not hasattr(theirs, name)]
        problem = f"its MemoryStore has no {gone[0]}" if gone else None
    if problem:
        raise ConfigError(
            f"this version of Hermes Agent is not known: {problem}",
            code="unknown_hermes",
            hint="Hermes Agent's own store stays in use. Use a version that catmem was tested with: 0.19.0.",
        )
