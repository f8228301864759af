"""The long run over a damaged journal: cut at every byte, and every bit flipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import DamagedError
from tests.torture import Outcome, Task, row
from tests.unit.store.journals import fill, journal_in, segments

if TYPE_CHECKING:
    from pathlib import Path


@row("journal", seconds=60)
def cut_and_flip(task: Task) -> Outcome:
    """A journal of two segments: its newest one cut at every byte, and every bit of both flipped."""
    with journal_in(task.folder, segment_records=4) as journal:
        texts = [b"", *fill(journal, 6)]
    wrong: list[str] = []
    damages = list(_damages(task.folder))[:: 97 if task.quick else 1]
    for number in task.steps():
        if number >= len(damages):
            break
        path, data = damages[number]
        good = path.read_bytes()
        path.write_bytes(data)
        if _head(task.folder) not in (None, *texts):
            wrong.append(f"{path.name}, damage {number}")
        for tail in task.folder.glob("*.tail-*"):
            tail.unlink()
        path.write_bytes(good)
    asked = None if task.left() else len(damages)
    failed = f"a head that never was: {wrong[:3]}" if wrong else ""
    return Outcome(task.done, failed, f"of {len(damages):,} damages; each left a true head, or was refused", asked)


def _damages(folder: Path) -> list[tuple[Path, bytes]]:
    found = []
    for path in segments(folder):
        data = path.read_bytes()
        for place in range(8 * len(data)):
            flipped = bytearray(data)
            flipped[place // 8] ^= 1 << place % 8
            found.append((path, bytes(flipped)))
    newest = segments(folder)[-1]
    data = newest.read_bytes()
    return [*found, *((newest, data[:size]) for size in range(len(data)))]


def _head(folder: Path) -> bytes | None:
    """The bytes at the head; ``None`` where the damage is refused."""
    with journal_in(folder) as journal:
        try:
            journal.refresh(repair=True)
            return journal.head_data("USER.md")
        except DamagedError:
            return None
