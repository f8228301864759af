"""The interface of programs: any operation by its name, with the JSON that other interfaces give.

``library.pyi`` has the types of each operation; `make docs` writes it from the table.
"""

from __future__ import annotations

from typing import Any

from catmem.ops.table import OPERATIONS, STREAMED, Call, Interface, call, load_all
from catmem.workspace.workspace import Workspace


def ask(root: Workspace, operation: str, actor: str | None = None, /, **values: Any) -> Any:  # noqa: ANN401 - JSON-ready data
    """What an operation gives the profile ``actor``, or a person: as the API or a tool does, or ``--format json``."""
    if operation not in OPERATIONS:
        load_all()
    row = OPERATIONS[operation]
    interface: Interface = "http" if row.http else "tool" if row.tool else "command"
    if actor is None and row.command:
        interface = "command"
    place = str(root.root)
    asked = Call(row, lambda _: root, interface, actor, actor, frozenset(values), for_program=True, named_root=place)
    done = call(asked, values)
    if done.data is STREAMED:  # for a renderer that prints as it comes
        done.data = None
    return done.seen_by(asked)
