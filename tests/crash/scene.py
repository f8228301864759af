"""One file in a folder, the store on it, and a list of what was acknowledged: what every proof here begins with.

Each write adds a line that no other write adds, so that a lost or doubled write can be seen in the file.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from catmem.store.contract import Change, Current, Merged, MergeFunction, Snapshot
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from catmem.store.files.journal import Journal
from catmem.store.files.publication import Publication
from catmem.store.files.system import System
from tests.merges import merge_appended

ENTITY = "neo/user"
FIRST = b"- first\n"


def line(name: str) -> bytes:
    """The line that a write of this name adds."""
    return f"- {name}\n".encode()


class Scene:
    """The folder `root`, with one entity in it.

    `acknowledged` are the revisions that the store said it wrote, with their bytes; `visible` the lines that must be in
    the file now, `recorded` those that must at least be in the history.
    """

    def __init__(self, root: Path, merge: MergeFunction = merge_appended) -> None:
        self.root = root
        self.merge = merge
        self.path = root / "neo" / "USER.md"
        self.side = root / "neo" / ".catmem"
        self.acknowledged: dict[str, bytes] = {}
        self.visible: set[bytes] = set()
        self.recorded: set[bytes] = set()
        self.seen: list[bytes] = []
        """What the updates of commits were given to work on."""
        self.leased: set[int] = set()
        """The leases that the store holds, where a test keeps the list."""
        root.mkdir(exist_ok=True)

    def place(self, entity: str) -> Place:
        folder, name = entity.split("/")
        return Place(self.root, (folder,), f"{name.upper()}.md")

    def store(self, system: System | None = None, publication: type[Publication] = Publication) -> FileStore:
        """A store on the folder. Nobody holds its lock for long, so a lock that is left behind shows at once."""
        return FileStore(
            self.place, [ENTITY], merge=self.merge, system=system, publication=publication, lock_timeout=1.0
        )

    def read(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    def outside(self, name: str) -> None:
        self.path.parent.mkdir(exist_ok=True)
        with self.path.open("ab") as file:
            file.write(line(name))
        self.visible.add(line(name))

    def add(self, store: FileStore, name: str, **change: str) -> Snapshot:
        """Commit one line more at the end."""
        return self.write(store, name, lambda current: current.data + line(name), Change(**change))

    def insert(self, store: FileStore, name: str) -> Snapshot:
        """Commit one line more at the beginning: every byte of the file moves."""
        return self.write(store, name, lambda current: line(name) + current.data, Change())

    def write(self, store: FileStore, name: str, update, change: Change) -> Snapshot:
        def told(current: Current) -> bytes:
            self.seen.append(current.data)
            return update(current)

        answer = store.commit(ENTITY, None, told, change)
        self.acknowledged[str(answer.revision)] = answer.data
        self.visible.add(line(name))
        return answer

    def begin(self, commits: int = 1) -> None:
        """A file with some history."""
        store = self.store()
        for number in range(commits):
            self.add(store, f"begun {number}")
        store.close()

    def tree(self) -> dict[str, bytes]:
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder) / name
                found[str(path.relative_to(self.root))] = path.read_bytes()
        return found


def merge_lines(_file: str, base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """A merge by line, that joins any two versions: what one side removed is gone, what one side added is there."""
    before, mine, other = (data.splitlines(keepends=True) for data in (base, ours, theirs))
    merged = [each for each in mine if each in other or each not in before]
    place = 0
    for each in other:
        if each in merged:
            place = merged.index(each) + 1
        elif each not in before:
            merged.insert(place, each)
            place += 1
    return Merged(b"".join(merged), 0)


@contextmanager
def quick_folder(otherwise: Path) -> Iterator[Path]:
    """A folder in memory, where waiting for the disk takes no time; `otherwise` where the machine has none."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield otherwise
        return
    with TemporaryDirectory(dir=memory, prefix="catmem-crash-") as made:
        yield Path(made)


@contextmanager
def trial_in(folder: Path) -> Iterator[Path]:
    """A folder for one trial, that is gone afterwards."""
    root = folder / "trial"
    root.mkdir()
    try:
        yield root
    finally:
        shutil.rmtree(root)


@contextmanager
def small_segments(records: int = 4) -> Iterator[None]:
    """Journals that begin a new segment after a few records."""

    class Small(Journal):
        def __init__(self, system: System, folder: int, where: Path) -> None:
            super().__init__(system, folder, where, segment_records=records)

    with patch("catmem.store.files.folder.Journal", Small):
        yield
