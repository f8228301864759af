r"""catmem: memory that agents and people share, in Markdown files.

A memory file is Markdown: sections of entries, with tags that say what is still true. catmem reads such files without
losing a byte, shows each specialist agent only the categories that its profile names, and says where a file is not
right.

>>> import catmem
>>> doc = catmem.parse("## Communication Style\n[verified_date: 2026-05-01] Prefers short answers.\n")
>>> doc.by_category["communication-style"][0].body
'Prefers short answers.'

Names are loaded when they are first used, so that importing this package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from catmem.config.profile import Profile, load_profile
    from catmem.envelopes.envelope import Envelope
    from catmem.errors import (
        AmbiguousError,
        BusyError,
        CatmemError,
        ConfigError,
        DamagedError,
        DriftError,
        EditError,
        EnvelopeError,
        ForbiddenError,
        MergeConflictError,
        NoMatchError,
        NotUtf8Error,
        OperationCollisionError,
        OverBudgetError,
        ProposalError,
        QueryError,
        RefusedError,
        StaleError,
        StoreError,
        TooLargeError,
        UnknownNameError,
        UnknownRevisionError,
        UnreadableError,
    )
    from catmem.linting.linted import lint
    from catmem.linting.rule import Diagnostic
    from catmem.model.document import Document, Entry, Problem, Section, Tags, parse
    from catmem.model.merge import Conflict, Merge, merge
    from catmem.ops.memory_tool import memory_tool
    from catmem.prompt.prompt import Prompt, build_prompt
    from catmem.workspace.workspace import Workspace
    from catmem.writing.request import Operation
    from catmem.writing.written import Written

__version__ = "0.1.0"

_HOMES = {
    "catmem.model.document": ("Document", "Entry", "Problem", "Section", "Tags", "parse"),
    "catmem.model.merge": ("Conflict", "Merge", "merge"),
    "catmem.linting.rule": ("Diagnostic",),
    "catmem.linting.linted": ("lint",),
    "catmem.config.profile": ("Profile", "load_profile"),
    "catmem.prompt.prompt": ("Prompt", "build_prompt"),
    "catmem.writing.request": ("Operation",),
    "catmem.ops.memory_tool": ("memory_tool",),
    "catmem.workspace.workspace": ("Workspace",),
    "catmem.writing.written": ("Written",),
    "catmem.envelopes.envelope": ("Envelope",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
"""Where each name is; those of errors are in ``catmem.errors``."""

__all__ = [  # noqa: RUF022 - the functions first, as a reader meets them
    "parse",
    "load_profile",
    "build_prompt",
    "merge",
    "lint",
    "memory_tool",
    "Workspace",
    "Operation",
    "Written",
    "Envelope",
    "Document",
    "Section",
    "Entry",
    "Tags",
    "Problem",
    "Profile",
    "Prompt",
    "Merge",
    "Conflict",
    "Diagnostic",
    "CatmemError",
    "UnreadableError",
    "NotUtf8Error",
    "TooLargeError",
    "ConfigError",
    "UnknownNameError",
    "EditError",
    "NoMatchError",
    "AmbiguousError",
    "OverBudgetError",
    "ProposalError",
    "EnvelopeError",
    "QueryError",
    "ForbiddenError",
    "RefusedError",
    "StaleError",
    "DriftError",
    "BusyError",
    "MergeConflictError",
    "OperationCollisionError",
    "UnknownRevisionError",
    "StoreError",
    "DamagedError",
    "__version__",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the names are of many types
    home = _HOME_OF.get(name, "catmem.errors")
    if name not in __all__:
        message = f"module 'catmem' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
