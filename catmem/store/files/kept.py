"""All that lies in a folder besides a file and its journal, and may hold what the file said once.

Copies beside the file, files that were taken out of their place, what stopped processes left, journals that were moved
aside, broken ends of lines: each is unpacked into the texts that it holds.
"""

from __future__ import annotations

import json
import os
import re
import stat
import zlib
from base64 import b64decode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import DamagedError
from catmem.store.files.folder import SIDECAR
from catmem.store.files.journal_disk import MAX_SEGMENT
from catmem.store.files.retired import named_digest
from catmem.store.files.segments import Segment
from catmem.store.lasting import Kept

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from catmem.store.files.folder import Folder
    from catmem.store.files.system import System
    from catmem.store.lasting import Kind

MOVED = ".moved.md"
"""What the name of a file beside ends with, to which a repair moves what does not fit."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_ASIDE = re.compile(r"damaged-.+|journal\.new")
_SEGMENT = re.compile(r"[0-9]{12}\.log")
_TORN = re.compile(r"[0-9]{12}\.log\.(new|tail-.+)")
_OWN = {"lock", "published"}
_GEN = re.compile(r"(?P<sequence>\d{12})-")
_PART = 64

# What a line of the journal says, however broken the line is. Its keys are sorted: a file is named before its bytes.
_SAID = re.compile(
    rb'"file":(?P<file>"(?:[^"\\\x1e\n]|\\.)*")'
    rb'|"whole":"(?P<whole>[A-Za-z0-9+/]*)'
    rb'|"splice":\[\d+,\d+,"(?P<splice>[A-Za-z0-9+/]*)'
)


class _Drawer(NamedTuple):
    """An open folder that is looked through."""

    path: Path
    descriptor: int
    part: str


def kept(folder: Folder, name: str) -> Generator[Kept, None, None]:
    """Every text that is kept of the file ``name``, and what may be one. What goes away meanwhile is left out."""
    files: dict[int, str] | None = None
    with _drawers(folder) as drawers:
        for drawer in drawers:
            for each in folder.system.names(drawer.descriptor):
                if _is_skipped(drawer.part, each, name):
                    continue
                if drawer.part == "gen" and files is None:
                    files = _files_by_sequence(folder)
                found = _read(folder.system, each, drawer)
                if found is not None:
                    yield from _texts(found, drawer, each, name, files or {})


@contextmanager
def _drawers(folder: Folder) -> Iterator[list[_Drawer]]:
    drawers = [_Drawer(folder.path, folder.descriptor, "beside")]
    opened: list[int] = []
    side, system = folder.path / SIDECAR, folder.system
    try:
        if folder.side >= 0:
            drawers.append(_Drawer(side, folder.side, "side"))
            for each in system.names(folder.side):
                try:
                    if not stat.S_ISDIR(system.look(each, folder=folder.side).st_mode):
                        continue
                    opened.append(system.open(each, _FOLDER, folder=folder.side))
                except FileNotFoundError:
                    continue
                part = each if each in {"journal", "tmp", "gen"} else "aside" if _ASIDE.fullmatch(each) else "stray"
                drawers.append(_Drawer(side / each, opened[-1], part))
        yield drawers
    finally:
        for descriptor in opened:
            system.close(descriptor)


def _is_skipped(part: str, each: str, name: str) -> bool:
    """Whether this is no place for old texts: the file itself, its locks, and the journal, which is read by itself."""
    if part == "beside":
        return each in {name, f"{name}.lock"}
    return (part == "side" and each in _OWN) or (part == "journal" and bool(_SEGMENT.fullmatch(each)))


def _files_by_sequence(folder: Folder) -> dict[int, str]:
    """Which file each record is of."""
    records = folder.journal.records() if folder.journal else ()
    return {record.sequence: record.owner for record in records}


def _read(system: System, name: str, drawer: _Drawer) -> tuple[bytes, bool] | None:
    """The bytes of a file, and whether they are all; ``None`` for what is none, or no longer there."""
    try:
        status = system.look(name, folder=drawer.descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > MAX_SEGMENT:
            return b"", False
        descriptor = system.open(name, os.O_RDONLY | os.O_NONBLOCK, folder=drawer.descriptor)
    except FileNotFoundError:
        return None
    except PermissionError:
        return b"", False
    try:
        parts: list[bytes] = []
        done = 0
        while done <= MAX_SEGMENT and (part := system.read_at(descriptor, 1 << 20, done)):
            parts.append(part)
            done += len(part)
        return b"".join(parts), done <= MAX_SEGMENT
    finally:
        system.close(descriptor)


def _texts(found: tuple[bytes, bool], drawer: _Drawer, each: str, name: str, files: dict[int, str]) -> Iterator[Kept]:
    """What one file of a drawer holds."""
    data, whole = found
    path = drawer.path / each
    if drawer.part == "gen":
        match = _GEN.match(each) if named_digest(each) else None
        yield Kept(
            path, data, "retired" if match else "left", files.get(int(match["sequence"])) if match else None, whole
        )
    elif drawer.part == "tmp":
        yield Kept(path, data, "left", None, whole)
    elif drawer.part == "journal" or (drawer.part == "aside" and not drawer.path.name.endswith("-gen")):
        if drawer.part == "journal" and not _TORN.fullmatch(each):
            yield Kept(path, data, "stray", None, whole)
            yield from _said(path, data, "stray")
        else:
            yield from _journal_texts(path, data, "torn" if drawer.part == "journal" else "aside", whole=whole)
    elif drawer.part == "aside":
        yield Kept(path, data, "aside", None, whole)
    elif drawer.part == "beside" and each.startswith(f"{name}.bak."):
        yield Kept(path, data, "backup", name, whole)
    elif drawer.part == "beside" and each == Path(name).stem + MOVED:
        yield Kept(path, data, "moved", name, whole)
    else:
        yield Kept(path, data, "stray", None, whole)


def _journal_texts(path: Path, data: bytes, kind: Kind, *, whole: bool) -> Iterator[Kept]:
    """Every revision in a segment; where it is damaged, every text that a line of it still shows."""
    try:
        segment = Segment.read(path.name, path, data)
        for file in segment.files():
            yield Kept(path, segment.data_before(file), kind, file.partition("/")[0])
        for record, content in segment.contents():
            yield Kept(path, content, kind, record.owner)
        whole = whole and not segment.torn
    except DamagedError:
        whole = False
    if not whole:
        yield Kept(path, b"", kind, None, whole=False)
        for line in data.split(b"\x1e"):
            yield from _said(path, line, kind)


def _said(path: Path, line: bytes, kind: Kind) -> Iterator[Kept]:
    file: str | None = None
    for match in _SAID.finditer(line):
        if match["file"] is not None:
            try:
                file = str(json.loads(match["file"])).partition("/")[0]
            except ValueError:
                file = None
        elif match["whole"] is not None:
            yield Kept(path, _unpacked(_decoded(match["whole"])), kind, file)
        else:
            yield Kept(path, _decoded(match["splice"]), kind, file)


def _decoded(text: bytes) -> bytes:
    """What the beginning of a base64 text says."""
    if len(text) % 4 == 1:
        text = text[:-1]
    return b64decode(text + b"=" * (-len(text) % 4))


def _unpacked(packed: bytes) -> bytes:
    """As much as can be unpacked of packed bytes that may be cut or damaged."""
    unpacking = zlib.decompressobj()
    parts: list[bytes] = []
    for start in range(0, len(packed), _PART):
        try:
            parts.append(unpacking.decompress(packed[start : start + _PART]))
        except zlib.error:
            break
    return b"".join(parts)
