"""What a caller may have seen of a document, to tell what somebody else has changed since."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from catmem.model.document import Document, Entry

Says = tuple[str, str, tuple[Any, ...]]
"""What an entry says: category, body, tags."""


class Base:
    """What a caller may have seen, to tell the entries that somebody else changed since."""

    def __init__(self, now: Document, seen: Document | None) -> None:
        """``seen`` is ``None`` where it cannot be read: then every entry counts as changed."""
        self._now = Counter(map(says, now.entries))
        self._seen = Counter(map(says, seen.entries)) if seen else Counter()

        self._readable = seen is not None

    def differs(self, entry: Entry) -> bool:
        """Whether somebody changed the entry since the caller saw it.

        One that is only new is not changed: who means it has seen it. An entry is taken for new where nothing that the
        caller saw of its category is gone, for then it cannot be another one in new words.
        """
        what = says(entry)
        if self._now[what] == self._seen[what]:
            return False
        if not self._readable or self._seen[what]:
            return True
        return any(self._now[each] < count for each, count in self._seen.items() if each[0] == entry.category)


def says(entry: Entry) -> Says:
    """What an entry says, to be compared and counted."""
    tags = tuple((key, value if isinstance(value, str) else tuple(value)) for key, value in entry.tags.items())
    return entry.category, entry.body, tags
