"""One round of a review, kept in ``.catmem/review.json`` of the root, so that it can be stopped and gone on with.

It names facts by entity and id (a digest) and revisions by number, and holds no text.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import CatmemError
from catmem.files import read_bounded, replace_json
from catmem.store.contract import SIDECAR

if TYPE_CHECKING:
    from pathlib import Path

NAME = "review.json"

_FORMAT = 2
_LIMIT = 1 << 26


class LastAnswer(NamedTuple):
    """The last answer, as far as taking it back needs it.

    ``revision`` is what it wrote, ``None`` if it wrote nothing; ``passed`` the id that is not asked about again for it.
    """

    answer: str
    entity: str
    revision: str | None
    passed: str | None
    digest: str | None = None
    """That of the file afterwards: in another history the same number may name another text."""


@dataclass(slots=True)
class Round:
    """Which facts are not asked about again, with how many of each (two entries may say the same), and what was last.

    ``note`` is what a person should know: that it was begun anew, or that it cannot be kept.
    """

    folder: Path
    passed: Counter[tuple[str, str]] = field(default_factory=Counter)
    last: LastAnswer | None = None
    note: str | None = None

    @classmethod
    def read(cls, root: Path) -> Round:
        """The round that is going on in a root, or a new one."""
        path = root / SIDECAR / NAME
        try:
            data = read_bounded(path, _LIMIT, follow_symlink=False)
        except CatmemError as error:
            note = None if error.code == "missing" else f"the round of this review cannot be read: {error.message}"
            return cls(root / SIDECAR, note=note and f"{note}; it begins anew")
        try:
            passed, last = _parts(json.loads(data))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            return cls(root / SIDECAR, note=f"{SIDECAR}/{NAME} is damaged, so the round begins anew")
        return cls(root / SIDECAR, passed, last)

    def begin_anew(self) -> None:
        """Forget what was passed over and answered."""
        self.passed.clear()
        self.last = None

    def write(self) -> None:
        """Keep the round. A root that cannot be written to gives a ``note``: answers are written all the same."""
        value = {
            "format": _FORMAT,
            "passed": [[*key, count] for key, count in sorted(self.passed.items()) if count > 0],
            "last": self.last,
        }
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            replace_json(self.folder / NAME, value)
        except OSError as error:
            self.note = (
                f"what was passed over cannot be kept for the next run ({error.strerror or error}); answers are written"
            )


def _parts(said: Any) -> tuple[Counter[tuple[str, str]], LastAnswer | None]:  # noqa: ANN401 - JSON data
    """Raises ``ValueError``, ``TypeError``, ``KeyError`` and ``AttributeError`` for what is no round."""
    if said["format"] != _FORMAT:
        raise ValueError("another format")
    passed = Counter({(str(entity), str(entry_id)): int(count) for entity, entry_id, count in said["passed"]})
    if said["last"] is None:
        return passed, None
    answer, entity, revision, left, digest = said["last"]
    if not all(isinstance(each, str) for each in (answer, entity)) or not all(
        each is None or isinstance(each, str) for each in (revision, left, digest)
    ):
        raise ValueError("no answer")
    return passed, LastAnswer(answer, entity, revision, left, digest)
