"""What the readers of streams hear of some events, found out for all of them at once.

Many streams ask for the same at the same moment. What they ask while an answer is being made is answered together, in
one thread that is there for nothing else: so no stream takes a thread from a request, and a profile is read once.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import CatmemError
from catmem.server.running import stopping
from catmem.service.watching.news import rights_of, told_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.server.past import Event
    from catmem.service.workspace import Workspace


class Heard(NamedTuple):
    """What a profile hears of some events, and whether it hears of its own files only (``bounded``)."""

    said: Sequence[tuple[Event, dict[str, Any]]]
    bounded: bool


class _Asked(NamedTuple):
    workspace: Workspace
    profile: str
    events: Sequence[Event]
    answer: asyncio.Future[Heard]


class Teller:
    """The one who knows what profiles hear. Belongs to the thread of the loop, but for ``close``."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self.turns = 0
        """How often it was found out."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="catmem-telling")
        self._asked: list[_Asked] = []
        self._task: asyncio.Task[None] | None = None

    async def told(self, workspace: Workspace, profile: str, events: Sequence[Event]) -> Heard:
        """What a profile hears of some events, by the rights that it has now. Raises ``ServerError`` 503 in the end."""
        loop = asyncio.get_running_loop()
        asked = _Asked(workspace, profile, events, loop.create_future())
        self._asked.append(asked)
        if self._task is None:
            self._task = loop.create_task(self._answer_all())
        return await asked.answer

    async def _answer_all(self) -> None:
        await asyncio.sleep(0)  # whoever is told in the same turn of the loop asks together
        loop = asyncio.get_running_loop()
        while self._asked:
            asked, self._asked = self._asked, []
            self.turns += 1
            try:
                found: Sequence[Heard | Exception] = await loop.run_in_executor(self._pool, _found, asked)
            except RuntimeError:
                found = [stopping()] * len(asked)  # the thread has ended with the server
            for each, answer in zip(asked, found, strict=True):
                if each.answer.done():
                    continue  # its stream has ended
                if isinstance(answer, Exception):
                    each.answer.set_exception(answer)
                else:
                    each.answer.set_result(answer)
        self._task = None

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown(cancel_futures=True)


def _found(asked: Sequence[_Asked]) -> list[Heard | Exception]:
    """The answers to all who asked: one profile after the other, each with the rights that it has as it is read."""
    profiles: dict[str, list[int]] = {}
    for position, each in enumerate(asked):
        profiles.setdefault(each.profile, []).append(position)
    answers: dict[int, Heard | Exception] = {}
    for profile, positions in profiles.items():
        try:
            answers |= _heard(profile, {position: asked[position] for position in positions})
        except Exception as error:  # noqa: BLE001 - it is raised where it was asked, and nowhere else
            answers |= dict.fromkeys(positions, error)
    return [answers[position] for position in range(len(asked))]


def _heard(profile: str, asked: dict[int, _Asked]) -> dict[int, Heard]:
    try:
        rights = rights_of(next(iter(asked.values())).workspace, profile)
    except CatmemError:
        return dict.fromkeys(asked, Heard([], bounded=True))  # nobody knows what a profile may hear that is not right
    known: dict[int, dict[str, Any] | None] = {}
    found: dict[int, Heard] = {}
    for position, each in asked.items():
        said = []
        for event in each.events:
            if id(event.news) not in known:
                known[id(event.news)] = told_by(rights, event.news, profile)
            told = known[id(event.news)]
            if told is not None:
                said.append((event, told))
        found[position] = Heard(said, not rights.unbounded)
    return found
