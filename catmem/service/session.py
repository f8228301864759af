"""A conversation of an agent, whose prompt stays as it was first asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from catmem.policy.prompt import Prompt
    from catmem.policy.styles import Style
    from catmem.service.workspace import Workspace


@dataclass(slots=True)
class Session:
    """One conversation of an agent: its prompt is built once and stays, whatever is written, until ``refresh``.

    So a provider's prefix cache holds over a whole conversation.
    """

    workspace: Workspace
    profile: str
    as_of: date | None = None
    style: Style | None = None
    _prompt: Prompt | None = field(default=None, init=False, repr=False)

    @property
    def prompt(self) -> Prompt:
        """The prompt as it was when it was first asked for, or at the last ``refresh``."""
        return self._prompt or self.refresh()

    def refresh(self) -> Prompt:
        """Build the prompt anew from what is on disk now."""
        self._prompt = self.workspace.prompt(self.profile, as_of=self.as_of, style=self.style)
        return self._prompt
