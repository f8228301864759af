"""A write as a caller asks for it: what, to which entity, on which view, by whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catmem.errors import wrong_type
from catmem.names import TARGETS
from catmem.store.contract import PERSON, OnDrift, OnStale
from catmem.writing.operation import Operation, finds_its_file, placed_expected, refuse_no_text

if TYPE_CHECKING:
    from catmem.envelopes.papers import Papers
    from catmem.writing.drift_guard import ToolSession
    from catmem.writing.entry_write import Write


@dataclass(frozen=True, slots=True)
class Request:
    """One write, as it is asked for: what, to which entity, on which view, by whom.

    ``entity`` is ``PROFILE/TARGET``, or the name of a declared entity; ``content`` is what its ``kind`` takes, by
    default a tuple of operations. ``How`` (``writing/written.py``) says what the rest are. ``papers`` are the envelope
    that it came in: what that says is filled in when it is read.
    """

    entity: str
    content: Any
    actor: str | None = None
    expected: str | int | None = None
    dry_run: bool = False
    on_drift: OnDrift | None = None
    """``None`` for what the root says; rows that another program changed refuse an agent once (docs/sql.md)."""
    on_stale: OnStale | None = None
    op_id: str | None = None
    merges: tuple[str, ...] = ()
    """Branches that the content brings together with what was there."""
    allow_secret: bool = False
    confirm: bool = False
    """Whether it may have little in common with what is there."""
    reason: str | None = None
    proposes: bool = False
    on_behalf: str | None = None
    """The profile that proposes it, where a person brings it up."""
    session: ToolSession | None = None
    """What an agent knows who writes in a conversation."""
    profile: str = ""
    target: str | None = None
    """The file that operations name. Without a target and a view it is found by what they say."""
    papers: Papers | None = None
    kind: type[Write] | None = None
    """The kind of its content, by default operations."""

    def __post_init__(self) -> None:
        """Raises ``EditError`` (``wrong_type``) for what a program gives in the place of a text."""
        refuse_no_text(self, ("entity", "profile", "target", "actor", "op_id", "reason"))
        if not isinstance(self.expected, int):
            refuse_no_text(self, ("expected",))

    @property
    def agent(self) -> str:
        """Who asks, as the record says it where no envelope says more."""
        return self.actor or PERSON

    @classmethod
    def of_operations(
        cls,
        name: str,
        operations: Sequence[Operation],
        **how: Any,  # noqa: ANN401 - fields of a request
    ) -> Request:
        """What operations ask of a file of the profile ``name``; without a target and a view it is to be found."""
        if not (isinstance(operations, list | tuple) and all(isinstance(each, Operation) for each in operations)):
            raise wrong_type("operations", operations, "a list of catmem.Operation, as [Operation('add', content=...)]")
        placed, how["expected"] = placed_expected(operations, how.get("expected"))
        target = how.get("target")
        is_open = target is None and how["expected"] is None
        named = "*" if is_open and finds_its_file(placed) else TARGETS[0] if target is None else target
        return cls(f"{name}/{named}", placed, profile=name, **how)
