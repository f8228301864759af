"""The long run over a damaged journal: cut at every byte, and every bit flipped."""

from collections.abc import Iterator
from pathlib import Path

from catmem.errors import DamagedError
from tests.torture import Outcome, Task, row
from tests.unit.store.journals import fill, journal_in, segments


@row("journal", seconds=10)
def cut_and_flip(task: Task) -> Outcome:
    """A journal of two segments: its newest one cut at every byte, and every bit of both flipped."""
    with journal_in(task.folder, segment_records=4) as journal:
        texts = [b"", *fill(journal, 6)]
    wrong: list[str] = []
    damages = task.part(list(_damages(task.folder)))
    for number in task.steps():
        path, bit, size = damages[number]
        good = path.read_bytes()
        path.write_bytes(_flipped(good, bit)[:size])
        if _head(task.folder) not in (None, *texts):
            wrong.append(f"{path.name}, bit {bit}, size {size}")
        path.write_bytes(good)
    failed = f"a head that never was: {wrong[:3]}" if wrong else ""
    return task.outcome(failed=failed, note="each left a true head, or was refused")


def _damages(folder: Path) -> Iterator[tuple[Path, int | None, int | None]]:
    """Each a file, and the bit of it that is flipped, or the size that it is cut to."""
    for path in segments(folder):
        yield from ((path, bit, None) for bit in range(8 * path.stat().st_size))
    newest = segments(folder)[-1]
    yield from ((newest, None, size) for size in range(newest.stat().st_size))


def _flipped(data: bytes, bit: int | None) -> bytes:
    if bit is None:
        return data
    flipped = bytearray(data)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


def _head(folder: Path) -> bytes | None:
    """The bytes at the head; ``None`` where the damage is refused."""
    with journal_in(folder) as journal:
        try:
            journal.refresh()
            journal.cut_tail()
            return journal.head_data("USER.md")
        except DamagedError:
            return None
