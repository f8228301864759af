"""The bytes of heads that were read or written lately: kept by digest, so they can never be old ones."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from catmem.digest import bytes_digest
from catmem.store.sql.history import damaged, rebuilt

if TYPE_CHECKING:
    from catmem.store.sql.database import Link
    from catmem.store.sql.meta import Meta

_MOST = 16
"""Heads that are at hand: those that came last."""


class Heads:
    """The heads of a store. Safe in threads."""

    def __init__(self) -> None:
        """None is at hand."""
        self._known: dict[str, bytes] = {}
        self._checked: dict[str, str] = {}
        self._lock = threading.Lock()

    def is_checked(self, entity: str, chain: str) -> bool:
        """Whether the log of an entity ends with the record that was written, or looked at, here last."""
        return self._checked.get(entity) == chain

    def check(self, entity: str, chain: str) -> None:
        """Say that the log of an entity ends with a record that is as it was written."""
        self._checked[entity] = chain

    def known(self, digest: str) -> bytes | None:
        """The bytes with this digest, if they are at hand."""
        return self._known.get(digest)

    def keep(self, digest: str, data: bytes) -> None:
        """Have some bytes at hand."""
        with self._lock:
            self._known[digest] = data
            if len(self._known) > _MOST:
                del self._known[next(iter(self._known))]

    def clear(self) -> None:
        """Have nothing at hand any more."""
        with self._lock:
            self._known.clear()

    def data(self, link: Link, entity: str, meta: Meta) -> bytes:
        """The bytes of an entity's head. Raises ``DamagedError``."""
        if not meta.head:
            return b""
        data = self.known(meta.digest)
        if data is None:
            data = rebuilt(link, entity, meta.head)
            if bytes_digest(data) != meta.digest:
                raise damaged(f"the head of {entity} is not what was recorded")
            self.keep(meta.digest, data)
        return data
