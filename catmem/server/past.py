"""The events that streams were told of lately, for who comes back, and the ids by which it says what it has.

An id is a number that nobody but this server can read, and another one each time that it is given: it tells nobody how
much has happened, or whether anything has. What a bounded profile has missed is looked up among the events that it
hears of; how many there were of others makes no difference to it.
"""

from __future__ import annotations

import hmac
import secrets
from collections import deque
from heapq import merge
from typing import TYPE_CHECKING, NamedTuple

from catmem.service.watching.news import is_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.service.watching.news import News

KEPT = 1024
"""Events of all that are kept."""
KEPT_OF_ONE = 256
"""Events that are kept of one profile's files, and of the whole root."""
_NONCE = _NUMBER = _MARK = 8
"""Bytes of the parts of an id."""


class Event(NamedTuple):
    """Some news, and their place in the row of all."""

    number: int
    news: News


class _Row:
    """The last events of one kind. ``lost`` is the number of the newest one that is kept no longer."""

    def __init__(self, most: int, lost: int = 0) -> None:
        self.events: deque[Event] = deque(maxlen=most)
        self.lost = lost

    def add(self, event: Event) -> None:
        if len(self.events) == self.events.maxlen:
            self.lost = self.events[0].number
        self.events.append(event)

    def since(self, number: int) -> list[Event] | None:
        return None if number < self.lost else [each for each in self.events if each.number > number]


class Past:
    """What was told, by all and by each profile that hears of its own files only."""

    def __init__(self) -> None:
        """Nothing has happened."""
        self.last = 0
        """The number of the last event."""
        self._key = secrets.token_bytes(32)
        self._all = _Row(KEPT)
        self._root = _Row(KEPT_OF_ONE)
        self._own: dict[str, _Row] = {}

    def add(self, news: News) -> Event:
        """The event that these news are."""
        self.last += 1
        event = Event(self.last, news)
        self._all.add(event)
        owner = news.owner
        if owner is None:
            self._root.add(event)
        elif is_of(news, owner):
            self._own.setdefault(owner, _Row(KEPT_OF_ONE)).add(event)
        return event

    def since(self, after: str, owner: str | None) -> Sequence[Event] | None:
        """What came after the event with an id; ``None`` where nobody knows any more.

        ``owner`` is a profile that hears of its own files only, ``None`` for who hears of all.
        """
        number = self._number_of(after)
        if number is None:
            return None
        if owner is None:
            return self._all.since(number)
        root, own = self._root.since(number), self._own.get(owner, _Row(0)).since(number)
        return None if root is None or own is None else list(merge(root, own, key=lambda each: each.number))

    def id_of(self, number: int) -> str:
        """An id for the event with this number, or for the beginning (0)."""
        nonce = secrets.token_bytes(_NONCE)
        hidden = bytes(a ^ b for a, b in zip(number.to_bytes(_NUMBER), self._mixed(b"n", nonce), strict=True))
        return (nonce + hidden + self._mixed(b"m", nonce + hidden)).hex()

    def _number_of(self, text: str) -> int | None:
        try:
            data = bytes.fromhex(text)
        except ValueError:
            return None
        nonce, hidden, mark = data[:_NONCE], data[_NONCE : _NONCE + _NUMBER], data[_NONCE + _NUMBER :]
        if not hmac.compare_digest(mark, self._mixed(b"m", nonce + hidden)):
            return None  # that of another server, or of none
        return int.from_bytes(bytes(a ^ b for a, b in zip(hidden, self._mixed(b"n", nonce), strict=True)))

    def _mixed(self, use: bytes, data: bytes) -> bytes:
        return hmac.digest(self._key, use + data, "sha256")[:_MARK]
