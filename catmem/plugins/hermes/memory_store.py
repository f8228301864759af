"""A store in the place of Hermes Agent 0.19's own: ``MemoryStore`` with its constructor, attributes, answers and words.

::

    Hermes's memory tool ── add, replace, remove, apply_batch ──> MemoryStore ── store_text    entries of any file
                                                                      └──────── GuardedFiles  guarded, with a history

What differs is what used to hurt: docs/hermes-store.md has the list. The module is a plugin of Hermes Agent's, too (the
entry point ``hermes_agent.plugins``): ``hermes plugins enable catmem-store`` puts the store in place.

Parts of Hermes Agent are looked up at each call: it changes its home while it runs, and its tests put other functions
in the place of these. The threat scan, its findings and its messages are Hermes's.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from catmem.config.config import NO_ROOT
from catmem.errors import BusyError, CatmemError, ConfigError, NotUtf8Error, RefusedError, StoreError, UnreadableError
from catmem.files import read_bounded, take_lock
from catmem.names import HERMES_FOLDER
from catmem.plugins.hermes.store_text import (
    DELIMITER,
    FileText,
    HermesAnswer,
    HermesDraft,
    Refusal,
    aligned,
    apply,
    change_record,
    clean,
    drift,
    failure,
    full,
    given_up,
    one_match,
    read_text,
    refused,
    size_of,
    success,
    usage,
)
from catmem.resources import install_command
from catmem.store.contract import SIDECAR, Change
from catmem.store.files.file_store import LOCK_TIMEOUT, FileStore
from catmem.store.files.folder import Place
from catmem.text import MAX_FILE_BYTES, unmerged_warnings
from catmem.workspace.stores import merge_files

logger = logging.getLogger(__name__)

RELEASE = "0.19."
"""How the releases begin whose store this one can stand in for."""
AGENT = "hermes"
"""The agent on the record of what Hermes's tool wrote."""


def use_catmem_store() -> None:
    """Have Hermes Agent make catmem's ``MemoryStore`` from now on.

    Stores that exist already stay what they are. Calling it again changes nothing. Raises ``ConfigError``:
    ``no_hermes`` outside of Hermes Agent, ``unknown_hermes`` for a release whose store is another than the one that
    this class is for; nothing is changed then.
    """
    module = hermes_module("tools.memory_tool")
    release = getattr(hermes_module("hermes_cli"), "__version__", "unknown")
    if not str(release).startswith(RELEASE):
        raise ConfigError(
            f"the store is for Hermes Agent {RELEASE}x, and this one is {release}",
            code="unknown_hermes",
            hint="Hermes Agent's own store stays in use. In this release use the memory provider ('catmem hermes "
            "install') and slices ('catmem seed'); both leave Hermes Agent's own code as it is.",
        )
    module.MemoryStore = MemoryStore


def register(_: Any) -> None:  # noqa: ANN401 - whatever Hermes Agent passes
    """Put the store in place: what Hermes Agent calls when it loads the plugin ``catmem-store``."""
    use_catmem_store()


def hermes_module(name: str) -> Any:  # noqa: ANN401 - a module of Hermes's
    """A module of the installed Hermes Agent. Raises ``ConfigError`` (``no_hermes``)."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(
            f"this Python has no {error.name or name}, so there is no Hermes Agent to work for",
            code="no_hermes",
            hint=f"Install catmem into the Python of Hermes Agent: {install_command(python='PYTHON')}",
        ) from error


def memory_dir() -> Path:
    """The folder of the memory files, as Hermes says at this moment. Raises ``ConfigError`` (``no_hermes``)."""
    return Path(hermes_module("tools.memory_tool").get_memory_dir())


# --- the guarded way to the files: catmem's file store, under Hermes's own lock --------------------------------------


class GuardedFiles:
    """Memory files by their path. Safe to use from several threads and processes; one for a process is enough."""

    def __init__(self) -> None:
        """The disk confirms the journal before a call is answered, and the file a little later."""
        self.store = FileStore(lambda entity: _place(Path(entity)), merge=partial(merge_files, NO_ROOT), durable=False)
        self._settled: set[Path] = set()

    def read(self, path: Path) -> bytes:
        """The bytes of a file; none for a missing one. Raises ``UnreadableError`` and ``TooLargeError``."""
        self._settle(path)
        try:
            return read_bounded(path, MAX_FILE_BYTES)
        except UnreadableError as error:
            if error.code != "missing":
                raise
            return b""

    def write(self, path: Path, update: Callable[[bytes], bytes], note: dict[str, object]) -> bytes:
        """Write what ``update`` makes of the file, and give what is there then; see ``Store.commit``."""
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
        lock = path.with_name(f"{path.name}.lock")
        if path.is_symlink():
            return _held(lock)  # the store locks beside the file that the link leads to
        if not os.path.isdir(path.parent):  # noqa: PTH112 - before every write
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.name != HERMES_FOLDER:
            os.close(_opened_lock(lock))  # the store takes the lock of any folder where there is one
        return nullcontext()


def _place(path: Path) -> Place:
    """Where the file is: a link to a file stays a link, and the file that it leads to is written."""
    real = Path(os.path.realpath(path)) if path.is_symlink() else path
    return Place(real.parent, (), real.name)


def _opened_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the lock at ``path``. Raises ``BusyError`` if another process holds it too long."""
    descriptor = _opened_lock(path)
    try:
        try:
            take_lock(descriptor, LOCK_TIMEOUT)
        except BlockingIOError as error:
            message, hint = "another process holds the lock", "Nothing was written. Try again."
            raise BusyError(message, code="locked", path=path, hint=hint) from error
        yield
    finally:
        os.close(descriptor)


FILES = GuardedFiles()
"""The files of every store in this process."""


# --- Hermes's threat scan --------------------------------------------------------------------------------------------


def without_threats(pieces: Sequence[tuple[str, ...]], filename: str) -> list[str]:
    """The pieces of a prompt (headers and entry), each with a placeholder in the place of what holds a threat."""
    threats, shown = hermes_module("tools.threat_patterns"), []
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


# --- the store -------------------------------------------------------------------------------------------------------


_HermesPlan = HermesDraft | Refusal | str | None
"""What an action makes of a file: a draft, a refusal, or the message of a success with nothing to write.

``None`` for what an agent may not write over: an entry longer than the whole limit, or one that it has not seen.
"""
_ADD_OVER = (
    "Memory at {size:,}/{limit:,} chars. Adding this entry ({length} chars) would exceed the limit. Consolidate now: "
    "use 'replace' to merge overlapping entries into shorter ones or 'remove' stale or less important entries (see "
    "current_entries below), then retry this add — all in this turn."
)
_REPLACE_OVER = (
    "Replacement would put memory at {new_size:,}/{limit:,} chars. Shorten the new content, or 'remove' other stale or "
    "less important entries to make room (see current_entries below), then retry — all in this turn."
)
_BATCH_OVER = (
    "After applying all {length} operations, memory would be at {new_size:,}/{limit:,} chars -- over the limit. Remove "
    "or shorten more entries in the same batch (see current_entries below), then retry."
)


class MemoryStore:
    """Hermes's two memory files. The prompt is frozen at ``load_from_disk``; every call works on what is on disk."""

    _MAX_CONSOLIDATION_FAILURES_PER_TURN = 3

    def __init__(self, memory_char_limit: int = 2200, user_char_limit: int = 1375) -> None:
        """Limits in characters, of the entries with their delimiters. Nothing is read yet."""
        self.memory_entries: list[str] = []
        self.user_entries: list[str] = []
        self.memory_char_limit = memory_char_limit
        self.user_char_limit = user_char_limit
        self._system_prompt_snapshot: dict[str, str] = {"memory": "", "user": ""}
        self._consolidation_failures = 0
        self._headers: dict[str, int] = {}
        """Characters of each file's headers and escapes, which count too."""
        self._shown: dict[str, set[str]] = {"memory": set(), "user": set()}
        """The entries that the agent has seen: in the prompt, in an answer, or in its own writes."""
        self._begun: set[str] = set()
        """The targets of which there was something to see; with another one its first call begins."""

    # --- the prompt --------------------------------------------------------------------------------------------------

    def load_from_disk(self) -> None:
        """Read both files, and freeze what of them goes into the system prompt."""
        memory_dir().mkdir(parents=True, exist_ok=True)
        self._system_prompt_snapshot = {target: self._load(target) for target in ("memory", "user")}

    def _load(self, target: str) -> str:
        path = _path_for(target)
        try:
            file = read_text(FILES.read(path))
        except CatmemError as error:
            logger.warning("Memory file %s cannot be read: %s", path.name, error.message)
            self._take(target, FileText("", [], ()))
            return self._block(target, [unreadable(path.name, error)])
        self._take(target, file)
        self._shown[target] = set()
        self._begun.discard(target)
        self._begin(target, file)
        for warning in unmerged_warnings(path.name, file.text):
            logger.warning(warning)
        return self._block(target, without_threats(file.pieces, path.name))

    def _begin(self, target: str, file: FileText) -> None:
        """Take what stands in a file for seen, once: when it is loaded, or else at the first call that finds some."""
        if target not in self._begun and file.entries:
            self._begun.add(target)
            self._shown[target].update(file.entries)

    def _block(self, target: str, entries: Sequence[str]) -> str:
        if not entries:
            return ""
        limit, content = self._char_limit(target), DELIMITER.join(entries)
        title = hermes_module("tools.memory_tool").MEMORY_BLOCK_HEADERS["user" if target == "user" else "memory"]
        line = "═" * 46
        return f"{line}\n{title} [{usage(len(content), limit)}]\n{line}\n{content}"

    def format_for_system_prompt(self, target: str) -> str | None:
        """The block of the system prompt, as it was at ``load_from_disk``; ``None`` for no entries."""
        return self._system_prompt_snapshot.get(target, "") or None

    # --- the four actions --------------------------------------------------------------------------------------------

    def add(self, target: str, content: str) -> HermesAnswer:
        content = clean(content)
        refusal = _unfit(content) if content else "Content cannot be empty."
        if refusal:
            return failure(refusal)

        def plan(file: FileText) -> _HermesPlan:
            if content in file.entries:
                return "Entry already exists (no duplicate added)."
            draft = file.draft()
            draft.add(content)
            return draft

        return self._write(target, "add", plan, "Entry added.", (_ADD_OVER, len(content)))

    def replace(self, target: str, old_text: str, new_content: str) -> HermesAnswer:
        """Put another text in the place of the entry that holds ``old_text``."""
        old_text, new_content = clean(old_text), clean(new_content)
        if not old_text:
            return failure("old_text cannot be empty.")
        if not new_content:
            return failure("new_content cannot be empty. Use 'remove' to delete entries.")
        refusal = _unfit(new_content)
        if refusal:
            return failure(refusal)
        change = partial(HermesDraft.replace, text=new_content, old_text=old_text)
        plan = partial(self._change_one, target, old_text, "replace", change)
        return self._write(target, "replace", plan, "Entry replaced.", (_REPLACE_OVER, 0))

    def remove(self, target: str, old_text: str) -> HermesAnswer:
        old_text = clean(old_text)
        if not old_text:
            return failure("old_text cannot be empty.")
        plan = partial(self._change_one, target, old_text, "remove", partial(HermesDraft.remove, old_text=old_text))
        return self._write(target, "remove", plan, "Entry removed.")

    def _change_one(
        self, target: str, old_text: str, action: str, change: Callable[[HermesDraft, int], None], file: FileText
    ) -> _HermesPlan:
        found = one_match(file, old_text, action)
        if isinstance(found, Refusal):
            return found
        draft = file.draft(self._shown[target])
        change(draft, found)
        return draft

    def apply_batch(self, target: str, operations: Sequence[Mapping[str, Any] | None]) -> HermesAnswer:
        """Make several changes, all or none; the limit holds for what they come to."""
        if not operations:
            return failure("operations list is empty.")
        fields = [operation if isinstance(operation, dict) else {} for operation in operations]
        for number, each in enumerate(fields, start=1):
            if each.get("action") in {"add", "replace"} and each.get("content"):
                refusal = _unfit(each["content"])
                if refusal:
                    return failure(f"Operation {number}: {refusal}")

        def plan(file: FileText) -> _HermesPlan:
            draft = file.draft(self._shown[target])
            for number, each in enumerate(fields, start=1):
                problem = apply(draft, each, number)
                if problem is not None:
                    refusal = f"{problem} No operations were applied (batch is all-or-nothing)."
                    return Refusal(full(refusal, file, self._char_limit(target)))
            return draft

        done = f"Applied {len(operations)} operation(s)."
        return self._write(target, "batch", plan, done, (_BATCH_OVER, len(operations)))

    def _write(
        self,
        target: str,
        action: str,
        plan: Callable[[FileText], _HermesPlan],
        message: str,
        over: tuple[str, int] | None = None,
    ) -> HermesAnswer:
        """Have the store write what ``plan`` makes of the file as it is now; ``over`` says that it is too long."""
        path, limit = _path_for(target), self._char_limit(target)
        found: _HermesPlan = message
        file, made = FileText("", [], ()), HermesDraft([], [])
        note: dict[str, object] = {"target": target, "actor": None}

        def update(data: bytes) -> bytes:
            nonlocal found, file, made
            file = read_text(data)
            self._begin(target, file)
            # Adding rewrites nothing, so what others put there does not matter to it.
            drifted = action != "add" and max(map(len, file.entries), default=0) > limit
            draft = found = None if drifted else plan(file)
            if not isinstance(draft, HermesDraft):
                return data
            if draft.unseen:
                found = None
                return data
            after = file.written(draft)
            if over is not None and after.size > limit:
                too_long = over[0].format(size=file.size, new_size=after.size, limit=limit, length=over[1])
                found = Refusal(full(too_long, file, limit))
                return data
            note["actions"] = change_record(file, draft)
            found, file, made = message, after, draft
            return after.text.encode()

        try:
            file = read_text(FILES.write(path, update, note))  # where another writer's text may have been joined
        except CatmemError as error:
            kept = error.drift_backup if isinstance(error, RefusedError) else None
            return refused(path, error, _backup(path) if isinstance(error, NotUtf8Error) else kept)
        self._take(target, file)
        answer = self._answer(target, found)
        shown = self._shown[target]
        shown.difference_update(set(made.gone).difference(file.entries))
        shown.update(made.fresh, answer.get("current_entries", ()))
        warnings = list(unmerged_warnings(path.name, file.text))
        for text in without_threats([(text,) for text in made.kept], path.name) if made.kept else ():
            warnings.append(f"Another program had added this to the entry. It stays, as a separate entry: {text}")
            logger.warning("%s: %s", path.name, warnings[-1])
        return {**answer, "warning": " ".join(warnings)} if warnings else answer

    def _answer(self, target: str, found: _HermesPlan) -> HermesAnswer:
        if found is None:
            path = _path_for(target)
            return drift(path, _backup(path))
        if not isinstance(found, Refusal):
            self._consolidation_failures = 0
            entries = len(self._entries_for(target))
            return success(target, str(found), entries, usage(self._char_count(target), self._char_limit(target)))
        self._consolidation_failures += found.counted
        if found.counted and self._consolidation_failures > self._MAX_CONSOLIDATION_FAILURES_PER_TURN:
            return given_up(self._consolidation_failures)
        return found.answer

    # --- what Hermes reaches into ------------------------------------------------------------------------------------

    def reset_consolidation_failures(self) -> None:
        self._consolidation_failures = 0

    @staticmethod
    def _read_file(path: Path) -> list[str]:
        """The entries of a file. Raises ``ValueError``, for which Hermes looks, where its own store may find none."""
        try:
            return read_text(FILES.read(path), repeated=True).entries
        except CatmemError as error:
            raise ValueError(f"{path.name} cannot be read: {error.message}") from error

    @staticmethod
    def _write_file(path: Path, entries: Sequence[str]) -> None:
        """Give a file just these entries; headers, and what an entry that stays is written like, stay."""

        def update(data: bytes) -> bytes:
            file = read_text(data, repeated=True)
            return file.written(aligned(file, [text for text in map(clean, entries) if text])).text.encode()

        try:
            if not FILES.write(path, update, {}):
                path.touch(mode=0o600)  # to the store an empty file and none are the same; Hermes leaves a file
        except (CatmemError, OSError) as error:
            raise RuntimeError(f"Failed to write memory file {path}: {error}") from error

    def _entries_for(self, target: str) -> list[str]:
        return self.user_entries if target == "user" else self.memory_entries

    def _take(self, target: str, file: FileText) -> None:
        setattr(self, "user_entries" if target == "user" else "memory_entries", file.entries.copy())
        self._headers[target] = file.size - size_of(file.entries) if file.document else 0

    def _char_count(self, target: str) -> int:
        return size_of(self._entries_for(target)) + self._headers.get(target, 0)

    def _char_limit(self, target: str) -> int:
        return self.user_char_limit if target == "user" else self.memory_char_limit


def _path_for(target: str) -> Path:
    return memory_dir() / ("USER.md" if target == "user" else "MEMORY.md")


def _backup(path: Path) -> str:
    try:
        return FILES.backup(path)
    except StoreError:
        return f"{path.name}.bak (BACKUP FAILED — file unchanged on disk)"


def _unfit(content: str) -> str | None:
    """Why a text may not be stored: Hermes's message for a threat, or that no file can hold it."""
    if not content.isascii() and any("\ud800" <= character <= "\udfff" for character in content):
        return "Content holds a lone surrogate, half of a character, which no file can hold. Leave it out."
    found: str | None = hermes_module("tools.memory_tool")._scan_memory_content(content)  # noqa: SLF001 - its own scan
    return found
