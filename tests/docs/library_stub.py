"""The types of `catmem.ops.library.ask`, made from the table: an overload for each operation that has a path or a tool."""

import typing
from pathlib import Path

import catmem
from catmem.ops.table import OPERATIONS, OperationRow, Parameter, load_all

PAGE = Path(catmem.__file__).parent / "ops" / "library.pyi"
HEAD = """\
# Made from the table of operations by `make docs`; what to change is a row.
from datetime import date
from typing import Any, Literal, overload

from catmem.workspace.workspace import Workspace

"""


def _type(each: Parameter) -> str:
    kind = f"Literal[{', '.join(map(repr, typing.get_args(each.kind)))}]".replace("'", '"')
    if typing.get_origin(each.kind) is not typing.Literal:
        kind = {dict: "dict[str, Any]"}.get(each.kind, each.kind.__name__)
    kind = f"list[{kind}]" if each.many else kind
    return f"{kind} | list[str]" if "anyOf" in each.param.form else kind


def _overload(row: OperationRow) -> str:
    offered = [each for each in row.parameters.values() if each.name not in {"form", "actor"}]
    said = []
    for each in offered:
        # Whom a token names need not be given.
        needed = each.required and not each.param.caller
        said.append(f"    {each.name}: {_type(each)}," if needed else f"    {each.name}: {_type(each)} | None = ...,")
    start = [f'    root: Workspace,\n    operation: Literal["{row.name}"],\n    actor: str | None = ...,\n    /,']
    return "\n".join(["@overload", "def ask(", *start, *(["    *,", *said] if said else []), ") -> Any: ..."]) + "\n"


def page() -> str:
    """The stub."""
    load_all()
    rows = [row for row in OPERATIONS.values() if (row.http or row.tool) and not (row.http and row.http.conditional)]
    own = [row for row in rows if row.run.__module__.startswith("catmem.ops.") and " " not in row.name]
    last = (
        "@overload\ndef ask(root: Workspace, operation: str, actor: str | None = ..., /, **values: Any) -> Any: ...\n"
    )
    return HEAD + "".join(map(_overload, sorted(own, key=lambda row: row.name))) + last
