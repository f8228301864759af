"""The installed Hermes Agent: the parts that its store leans on, and its threat scan.

The parts are looked up at each call: Hermes changes its home while it runs, and its tests put other functions in the
place of these.

The scan, its findings and its messages are Hermes's.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from catmem.config.config import NO_ROOT
from catmem.errors import BusyError, CatmemError, ConfigError, UnreadableError
from catmem.files import read_bounded, take_lock
from catmem.names import HERMES_FOLDER
from catmem.store.contract import SIDECAR, Change
from catmem.store.files.file_store import LOCK_TIMEOUT, FileStore
from catmem.store.files.folder import Place
from catmem.text import DEFAULT_LIMITS
from catmem.workspace.stores import merge_files

logger = logging.getLogger(__name__)


def memory_tool() -> Any:  # noqa: ANN401 - a module of Hermes's
    """Hermes's ``tools.memory_tool``. Raises ``ConfigError`` (``no_hermes``) outside of Hermes Agent."""
    module = _module("tools.memory_tool")
    if not hasattr(module, "get_memory_dir"):
        raise _missing("the module tools.memory_tool here is not Hermes Agent's")
    return module


def threat_patterns() -> Any:  # noqa: ANN401
    """Hermes's ``tools.threat_patterns``. Raises ``ConfigError`` (``no_hermes``)."""
    return _module("tools.threat_patterns")


def memory_dir() -> Path:
    """The folder of the memory files, as Hermes says at this moment. Raises ``ConfigError`` (``no_hermes``)."""
    return Path(memory_tool().get_memory_dir())


def _module(name: str) -> Any:  # noqa: ANN401
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing(f"this Python has no {error.name or name}") from error


def _missing(what: str) -> ConfigError:
    from catmem.resources import install_command

    return ConfigError(
        f"{what}, so there is no Hermes Agent to work for",
        code="no_hermes",
        hint=f"Install catmem into the Python of Hermes Agent: {install_command(python='PYTHON')}",
    )


def first_threat(content: str) -> str | None:
    """Hermes's message for the first threat in a text to store; ``None`` if there is none."""
    message: str | None = memory_tool()._scan_memory_content(content)  # noqa: SLF001 - the store's own scan
    return message


def without_threats(pieces: Sequence[tuple[str, ...]], filename: str) -> list[str]:
    """The pieces of a prompt (headers and entry), each with a placeholder in the place of what holds a threat.

    Parts are looked at one by one, and then as they stand together.
    """
    threats, shown = threat_patterns(), []
    for parts in pieces:
        kept = "\n".join(_looked_at(part, threats, filename) for part in parts)
        shown.append(_looked_at(kept, threats, filename) if len(parts) > 1 else kept)
    return shown


def unreadable(filename: str, error: CatmemError) -> str:
    """What stands in the prompt for a file that cannot be read: it must not pass for empty."""
    return (
        f"[UNREADABLE: {filename} cannot be read ({error.message}). Nothing of it is in this prompt, and it is "
        f"not empty; memory calls on it are refused until it is mended.]"
    )


def _looked_at(text: str, threats: Any, filename: str) -> str:  # noqa: ANN401 - Hermes's module
    """The text, or Hermes's placeholder for it."""
    findings: Sequence[str] = threats.scan_for_threats(text, scope="strict")
    if not findings:
        return text
    logger.warning("Memory entry from %s blocked at load time: %s", filename, ", ".join(findings))
    return (
        f"[BLOCKED: {filename} entry contained threat pattern(s): "
        f"{', '.join(findings)}. Removed from system prompt; "
        f"use memory(action=remove) "
        f"to delete the original.]"
    )


# --- the guarded way to the files of Hermes Agent's store: catmem's file store, under Hermes's own lock --------------


AGENT = "hermes"
"""The agent on the record of what Hermes's tool wrote."""


class GuardedFiles:
    """Memory files by their path. Safe to use from several threads and processes; one for a process is enough."""

    def __init__(self, *, durable: bool = False) -> None:
        """``durable``: have the disk confirm each file and its name too, not the journal alone."""
        self.store = FileStore(
            lambda entity: _place(Path(entity)),
            merge=partial(merge_files, NO_ROOT),
            durable=durable,
        )
        self._settled: set[Path] = set()

    def read(self, path: Path) -> bytes:
        """The bytes of a file; none for a missing one. Raises ``UnreadableError`` and ``TooLargeError``."""
        self._settle(path)
        try:
            return read_bounded(path, DEFAULT_LIMITS.file_bytes)
        except UnreadableError as error:
            if error.code != "missing":
                raise
            return b""

    def write(self, path: Path, update: Callable[[bytes], bytes], note: dict[str, object]) -> bytes:
        """Write what ``update`` makes of the file, and give what is there then; see ``Store.commit``.

        ``note`` is kept with the revision, and is read after the update. Raises ``RefusedError`` and ``StoreError``.
        """
        change = Change(agent=AGENT, note=note)
        with self._hermes_lock(path):
            written = self.store.commit(str(path), None, lambda current: update(current.data), change)
        if written.adopted not in {None, "1"}:  # the first is the file as it was found
            said = "%s was changed by another program; what it held is revision %s ('catmem log %s')"
            logger.warning(said, path.name, written.adopted, path)
        return written.data

    def backup(self, path: Path) -> str:
        """Keep a copy of the file beside it, one for each content, and say where. Raises ``StoreError``."""
        with self._hermes_lock(path):
            return str(self.store.backup(str(path)))

    def close(self) -> None:
        """Close what is open; the next call opens it again."""
        self.store.close()
        self._settled.clear()

    def _settle(self, path: Path) -> None:
        """Before the first read: finish what a stopped machine left half done, if the store was ever at work here."""
        if path in self._settled:
            return
        self._settled.add(path)
        if not os.path.lexists(_place(path).path.parent / SIDECAR):
            return
        try:
            self.write(path, lambda data: data, {})
        except CatmemError as error:
            logger.warning("%s is read as it is: %s", path.name, error)

    def _hermes_lock(self, path: Path) -> AbstractContextManager[None]:
        """Hermes's lock, where the store does not take it by itself."""
        if path.is_symlink():
            return _held(path.with_name(f"{path.name}.lock"))  # the store locks beside the file that the link leads to
        if not os.path.isdir(path.parent):  # noqa: PTH112 - before every write
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.name != HERMES_FOLDER:
            # The store takes the lock of any folder where there is one.
            _lock_file(path.with_name(f"{path.name}.lock"))
        return nullcontext()


def _place(path: Path) -> Place:
    """Where the file is: a link to a file stays a link, and the file that it leads to is written."""
    real = Path(os.path.realpath(path)) if path.is_symlink() else path
    return Place(real.parent, (), real.name)


def _lock_file(path: Path) -> None:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the lock at ``path``. Raises ``BusyError`` if another process holds it too long."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            take_lock(descriptor, LOCK_TIMEOUT)
        except BlockingIOError as error:
            message, hint = "another process holds the lock", "Nothing was written. Try again."
            raise BusyError(message, code="locked", path=path, hint=hint) from error
        yield
    finally:
        os.close(descriptor)
