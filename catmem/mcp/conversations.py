"""Who is speaking: one ``ToolSession`` for each MCP session, and when a turn of it ends.

MCP tells no turns: a server sees calls, and nothing of what the user says between them. A model that tries again after
a refusal does so within seconds; the user's next message takes longer. So a quiet minute ends a turn. A write that
succeeds starts the count of refusals anew anyway.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from catmem.service.tool import ToolSession

if TYPE_CHECKING:
    from collections.abc import Callable

QUIET_SECONDS = 60.0
"""Without a call for so long, the next one belongs to a new turn."""

MOST_SESSIONS = 256
"""Conversations that are remembered; the one that was quiet longest is forgotten first."""


class Conversations:
    """The sessions of one server by the id that its transport gives them; ``None`` is the one peer of a pipe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` counts seconds and never goes back."""
        self._clock = clock
        self._known: OrderedDict[str | None, tuple[ToolSession, float]] = OrderedDict()

    def session(self, session_id: str | None) -> ToolSession:
        """The session of that id, in a new turn if it was quiet for long."""
        now = self._clock()
        session, before = self._known.pop(session_id, (ToolSession(), now))
        if now - before >= QUIET_SECONDS:
            session.new_turn()
        self._known[session_id] = session, now
        if len(self._known) > MOST_SESSIONS:
            self._known.popitem(last=False)
        return session
