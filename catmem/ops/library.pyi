# Made from the table of operations by `make docs`; what to change is a row.
from datetime import date
from typing import Any, Literal, overload

from catmem.workspace.workspace import Workspace

@overload
def ask(
    root: Workspace,
    operation: Literal["add"],
    actor: str | None = ...,
    /,
    *,
    content: str,
    profile: str | None = ...,
    target: Literal["user", "memory"] | None = ...,
    category: str | None = ...,
    tags: dict[str, Any] | None = ...,
    as_of: date | None = ...,
    allow_secret: bool | None = ...,
    expected: str | None = ...,
    on_stale: Literal["refuse", "branch"] | None = ...,
    op_id: str | None = ...,
    reason: str | None = ...,
    proposes: bool | None = ...,
    dry_run: bool | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["approve"],
    actor: str | None = ...,
    /,
    *,
    name: str,
    words: str | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["branches"],
    actor: str | None = ...,
    /,
    *,
    entity: str | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["changes"],
    actor: str | None = ...,
    /,
    *,
    since: list[str] | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["head"],
    actor: str | None = ...,
    /,
    *,
    entity_id: str,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["log"],
    actor: str | None = ...,
    /,
    *,
    entity: str | None = ...,
    limit: int | None = ...,
    wanted: str | None = ...,
    verify: bool | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["merge"],
    actor: str | None = ...,
    /,
    *,
    entity: str | None = ...,
    branches: list[str] | None = ...,
    precedence: str | list[str] | None = ...,
    interactive: bool | None = ...,
    drop: bool | None = ...,
    every: bool | None = ...,
    numbers: list[int] | None = ...,
    allow_secret: bool | None = ...,
    dry_run: bool | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["move"],
    actor: str | None = ...,
    /,
    *,
    old: str,
    profile: str | None = ...,
    target: Literal["user", "memory"] | None = ...,
    category: str,
    expected: str | None = ...,
    on_stale: Literal["refuse", "branch"] | None = ...,
    op_id: str | None = ...,
    reason: str | None = ...,
    proposes: bool | None = ...,
    dry_run: bool | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["prompt"],
    actor: str | None = ...,
    /,
    *,
    profile: str | None = ...,
    explain: bool | None = ...,
    style: Literal["markdown", "xml", "hermes"] | None = ...,
    source: str | None = ...,
    categories: list[str] | None = ...,
    budget: int | None = ...,
    as_of: date | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["proposal"],
    actor: str | None = ...,
    /,
    *,
    name: str,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["proposals"],
    actor: str | None = ...,
    /,
    *,
    which: list[str] | None = ...,
    interactive: bool | None = ...,
    approve: bool | None = ...,
    reject: bool | None = ...,
    edit: bool | None = ...,
    ended: bool | None = ...,
    reason: str | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["read"],
    actor: str | None = ...,
    /,
    *,
    entity_id: str,
    category: str | None = ...,
    revision: str | None = ...,
    offset: int | None = ...,
    limit: int | None = ...,
    as_of: date | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["reject"],
    actor: str | None = ...,
    /,
    *,
    name: str,
    reason: str | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["remove"],
    actor: str | None = ...,
    /,
    *,
    old: str,
    profile: str | None = ...,
    target: Literal["user", "memory"] | None = ...,
    category: str | None = ...,
    expected: str | None = ...,
    on_stale: Literal["refuse", "branch"] | None = ...,
    op_id: str | None = ...,
    reason: str | None = ...,
    proposes: bool | None = ...,
    dry_run: bool | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["replace"],
    actor: str | None = ...,
    /,
    *,
    old: str,
    new: str | None = ...,
    profile: str | None = ...,
    target: Literal["user", "memory"] | None = ...,
    category: str | None = ...,
    tags: dict[str, Any] | None = ...,
    confirm: bool | None = ...,
    allow_secret: bool | None = ...,
    expected: str | None = ...,
    on_stale: Literal["refuse", "branch"] | None = ...,
    op_id: str | None = ...,
    reason: str | None = ...,
    proposes: bool | None = ...,
    dry_run: bool | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["seed"],
    actor: str | None = ...,
    /,
    *,
    source: str | None = ...,
    targets: list[str] | None = ...,
    everybody: bool | None = ...,
    dry_run: bool | None = ...,
    check: bool | None = ...,
    target: Literal["user", "memory"] | None = ...,
    categories: list[str] | None = ...,
    settle: list[str] | None = ...,
    interactive: bool | None = ...,
    replace_cloned: bool | None = ...,
    as_of: date | None = ...,
) -> Any: ...
@overload
def ask(
    root: Workspace,
    operation: Literal["verify"],
    actor: str | None = ...,
    /,
    *,
    old: str,
    profile: str | None = ...,
    target: Literal["user", "memory"] | None = ...,
    category: str | None = ...,
    as_of: date | None = ...,
    evidence: str | None = ...,
    allow_secret: bool | None = ...,
    expected: str | None = ...,
    on_stale: Literal["refuse", "branch"] | None = ...,
    op_id: str | None = ...,
    reason: str | None = ...,
    proposes: bool | None = ...,
    dry_run: bool | None = ...,
) -> Any: ...
@overload
def ask(root: Workspace, operation: str, actor: str | None = ..., /, **values: Any) -> Any: ...
