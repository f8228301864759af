"""A store in the place of Hermes Agent's own: ``MemoryStore`` with its constructor, attributes, answers and words.

::

    Hermes's memory tool ── add, replace, remove, apply_batch ──> MemoryStore ── store_text    entries of any file
                                                                      └──────── store_files   guarded, with a history

What differs is what used to hurt: docs/hermes-store.md has the list. ``store_switch`` puts it in place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from catmem.errors import CatmemError, NotUtf8Error, RefusedError, StoreError
from catmem.plugins.hermes import store_answers as answers
from catmem.plugins.hermes.store_answers import Answer
from catmem.plugins.hermes.store_scan import (
    GuardedFiles,
    first_threat,
    memory_dir,
    memory_tool,
    unreadable,
    without_threats,
)
from catmem.plugins.hermes.store_text import (
    DELIMITER,
    FileText,
    HermesDraft,
    Refusal,
    aligned,
    apply,
    clean,
    encoded,
    fields_of,
    one_match,
    read_text,
    said,
    size_of,
)
from catmem.text import unmerged_warnings

logger = logging.getLogger(__name__)

FILES = GuardedFiles()
"""The files of every store in this process."""


_Plan = HermesDraft | Refusal | str | None
"""What an action makes of a file: a draft, a refusal, or the message of a success with nothing to write.

``None`` for what an agent may not write over: an entry longer than the whole limit, or one that it has not seen.
"""


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
        self._known: dict[str, tuple[bytes, FileText]] = {}
        """The bytes of each file as this store last read or wrote them, with what they read as."""
        self._shown: dict[str, set[str]] = {"memory": set(), "user": set()}
        """The entries that the agent has seen: in the prompt, in an answer, or in its own writes."""
        self._begun: set[str] = set()
        """The targets of which there was something to see; with another one its first call begins."""

    # --- reading ---------------------------------------------------------------------------------------------------

    def load_from_disk(self) -> None:
        """Read both files, and freeze what of them goes into the system prompt.

        An unreadable file is reported there, and in the log. Raises ``ConfigError`` (``no_hermes``) and ``OSError``.
        """
        memory_dir().mkdir(parents=True, exist_ok=True)
        self._system_prompt_snapshot = {target: self._load(target) for target in ("memory", "user")}

    def _load(self, target: str) -> str:
        path = self._path_for(target)
        try:
            file = self._read(target, FILES.read(path))
        except CatmemError as error:
            logger.warning("Memory file %s cannot be read: %s", path.name, error.message)
            self._take(target, FileText("", [], ()))
            return self._render_block(target, [unreadable(path.name, error)])
        self._take(target, file)
        self._shown[target] = set()
        self._begun.discard(target)
        self._begin(target, file)
        for warning in unmerged_warnings(path.name, file.text):
            logger.warning(warning)
        return self._render_block(target, without_threats(file.pieces, path.name))

    def _begin(self, target: str, file: FileText) -> None:
        """Take what stands in a file for seen, once: when it is loaded, or else at the first call that finds some."""
        if target not in self._begun and file.entries:
            self._begun.add(target)
            self._shown[target].update(file.entries)

    def _read(self, target: str, data: bytes) -> FileText:
        """What the bytes of a file read as. Raises ``NotUtf8Error`` and ``TooLargeError``."""
        known = self._known.get(target)
        if known is None or known[0] != data:
            known = self._known[target] = data, read_text(data)
        return known[1]

    def format_for_system_prompt(self, target: str) -> str | None:
        """The block of the system prompt, as it was at ``load_from_disk``; ``None`` for no entries."""
        return self._system_prompt_snapshot.get(target, "") or None

    @staticmethod
    def _read_file(path: Path) -> list[str]:
        """The entries of a file. Raises ``ValueError``, for which Hermes looks, where its own store may find none."""
        try:
            return read_text(FILES.read(path), repeated=True).entries
        except CatmemError as error:
            raise ValueError(f"{path.name} cannot be read: {error.message}") from error

    def _reload_target(self, target: str, *, skip_drift: bool = False) -> str | None:
        """Read the entries again; where the file was drifted, a copy of it is kept, and its path returned."""
        self._take(target, self._read(target, FILES.read(self._path_for(target))))
        return None if skip_drift else self._detect_external_drift(target)

    def _detect_external_drift(self, target: str) -> str | None:
        """The path of a copy of the file, if it has an entry over the whole limit or is not UTF-8; else ``None``."""
        path = self._path_for(target)
        try:
            drifted = self._is_drifted(target, self._read(target, FILES.read(path)))
        except NotUtf8Error:
            drifted = True
        return _backup(path) if drifted else None

    def _is_drifted(self, target: str, file: FileText) -> bool:
        return max(map(len, file.entries), default=0) > self._char_limit(target)

    # --- the four actions --------------------------------------------------------------------------------------------

    def add(self, target: str, content: str) -> Answer:
        """Append an entry; refused if it is over the limit."""
        content = clean(content)
        if not content:
            return answers.failure("Content cannot be empty.")
        refusal = _unfit(content)
        if refusal:
            return answers.failure(refusal)

        def plan(file: FileText) -> _Plan:
            if content in file.entries:
                return "Entry already exists (no duplicate added)."
            draft = file.draft()
            draft.add(content)
            return draft

        def over(size: int, _: int) -> str:
            return answers.add_over_limit(content, size, self._char_limit(target))

        return self._write(target, "add", plan, over, "Entry added.")

    def replace(self, target: str, old_text: str, new_content: str) -> Answer:
        """Put another text in the place of the entry that holds ``old_text``."""
        old_text, new_content = clean(old_text), clean(new_content)
        if not old_text:
            return answers.failure("old_text cannot be empty.")
        if not new_content:
            return answers.failure("new_content cannot be empty. Use 'remove' to delete entries.")
        refusal = _unfit(new_content)
        if refusal:
            return answers.failure(refusal)
        change = partial(HermesDraft.replace, text=new_content, old_text=old_text)
        plan = _of_match(old_text, "replace", self._shown[target], change)

        def over(_: int, new_size: int) -> str:
            return answers.replace_over_limit(new_size, self._char_limit(target))

        return self._write(target, "replace", plan, over, "Entry replaced.")

    def remove(self, target: str, old_text: str) -> Answer:
        """Take out the entry that holds ``old_text``."""
        old_text = clean(old_text)
        if not old_text:
            return answers.failure("old_text cannot be empty.")
        change = partial(HermesDraft.remove, old_text=old_text)
        plan = _of_match(old_text, "remove", self._shown[target], change)
        return self._write(target, "remove", plan, None, "Entry removed.")

    def apply_batch(self, target: str, operations: Sequence[Mapping[str, Any] | None]) -> Answer:
        """Make several changes, all or none; the limit holds for what they come to."""
        if not operations:
            return answers.failure("operations list is empty.")
        for number, operation in enumerate(operations, start=1):
            fields = fields_of(operation)
            if fields.get("action") in {"add", "replace"} and fields.get("content"):
                refusal = _unfit(fields["content"])
                if refusal:
                    return answers.failure(f"Operation {number}: {refusal}")

        def plan(file: FileText) -> _Plan:
            draft = file.draft(self._shown[target])
            for number, operation in enumerate(operations, start=1):
                problem = apply(draft, fields_of(operation), number)
                if problem is not None:
                    said = f"{problem} No operations were applied (batch is all-or-nothing)."
                    return Refusal(answers.full(said, file.entries, file.size, self._char_limit(target)))
            return draft

        def over(_: int, new_size: int) -> str:
            return answers.batch_over_limit(len(operations), new_size, self._char_limit(target))

        return self._write(target, "batch", plan, over, f"Applied {len(operations)} operation(s).")

    def _write(
        self,
        target: str,
        action: str,
        plan: Callable[[FileText], _Plan],
        over: Callable[[int, int], str] | None,
        message: str,
    ) -> Answer:
        """Have the store write what ``plan`` makes of the file as it is now; ``over`` says that it is too long."""
        path, limit = self._path_for(target), self._char_limit(target)
        found: _Plan = message
        written, data_written, made = FileText("", [], ()), b"", HermesDraft([], [])
        note: dict[str, object] = {"target": target, "actor": None}

        def update(data: bytes) -> bytes:
            nonlocal found, written, data_written, made
            written, data_written = self._read(target, data), data
            self._begin(target, written)
            found = None if action != "add" and self._is_drifted(target, written) else plan(written)
            if not isinstance(found, HermesDraft):
                return data
            if found.unseen:
                found = None
                return data
            draft, after = found, written.written(found)
            if over is not None and after.size > limit:
                size = written.size
                found = Refusal(answers.full(over(size, after.size), written.entries, size, limit))
                return data
            note["actions"] = said(written, draft)
            found, written, data_written, made = message, after, encoded(after, written, data), draft
            if all(after.entries.count(text) == 1 for text in draft.fresh):  # what is there twice is read as once
                self._known[target] = data_written, after
            return data_written

        try:
            # Adding rewrites nothing, so what others put there does not matter to it.
            backup = None if action == "add" else self._reload_target(target)
            if backup is not None:
                return answers.drift(path, backup)
            found_after = FILES.write(path, update, note)
        except CatmemError as error:
            kept = error.drift_backup if isinstance(error, RefusedError) else None
            return answers.refused(path, error, _backup(path) if isinstance(error, NotUtf8Error) else kept)
        if found_after != data_written:
            written = self._read(target, found_after)  # another writer's text was joined at the very moment
        self._take(target, written)
        answer = self._answer(target, found)
        shown = self._shown[target]
        shown.difference_update(set(made.gone).difference(written.entries))
        shown.update(made.fresh, answer.get("current_entries", ()))
        warnings = list(unmerged_warnings(path.name, written.text))
        for text in without_threats([(text,) for text in made.kept], path.name) if made.kept else ():
            warnings.append(answers.kept(text))
            logger.warning("%s: %s", path.name, warnings[-1])
        return {**answer, "warning": " ".join(warnings)} if warnings else answer

    def _answer(self, target: str, found: _Plan) -> Answer:
        if found is None:
            path = self._path_for(target)
            return answers.drift(path, _backup(path))
        if isinstance(found, Refusal):
            return self._consolidation_failure(found.answer) if found.counted else found.answer
        self._consolidation_failures = 0
        entries = self._entries_for(target)
        return answers.success(target, str(found), len(entries), self._char_count(target), self._char_limit(target))

    # --- a turn ------------------------------------------------------------------------------------------------------

    def reset_consolidation_failures(self) -> None:
        """Forget the failures of the last turn."""
        self._consolidation_failures = 0

    def _consolidation_failure(self, response: Answer) -> Answer:
        """Count a failure; after too many in one turn the answer is to stop trying."""
        self._consolidation_failures += 1
        if self._consolidation_failures <= self._MAX_CONSOLIDATION_FAILURES_PER_TURN:
            return response
        return answers.given_up(self._consolidation_failures)

    # --- what Hermes reaches into ------------------------------------------------------------------------------------

    def save_to_disk(self, target: str) -> None:
        """Write the entries as they are in memory. Raises ``RuntimeError``."""
        memory_dir().mkdir(parents=True, exist_ok=True)
        self._write_file(self._path_for(target), self._entries_for(target))

    @staticmethod
    def _write_file(path: Path, entries: Sequence[str]) -> None:
        """Give a file just these entries; headers, and what an entry that stays is written like, stay.

        Raises ``RuntimeError``.
        """

        def update(data: bytes) -> bytes:
            file = read_text(data, repeated=True)
            return file.written(aligned(file, [text for text in map(clean, entries) if text])).text.encode()

        try:
            if not FILES.write(path, update, {}):
                path.touch(mode=0o600)  # to the store an empty file and none are the same; Hermes leaves a file
        except (CatmemError, OSError) as error:
            raise RuntimeError(f"Failed to write memory file {path}: {error}") from error

    @staticmethod
    def _path_for(target: str) -> Path:
        return memory_dir() / ("USER.md" if target == "user" else "MEMORY.md")

    def _entries_for(self, target: str) -> list[str]:
        return self.user_entries if target == "user" else self.memory_entries

    def _set_entries(self, target: str, entries: list[str]) -> None:
        if target == "user":
            self.user_entries = entries
        else:
            self.memory_entries = entries

    def _take(self, target: str, file: FileText) -> None:
        self._set_entries(target, file.entries.copy())
        self._headers[target] = file.size - size_of(file.entries) if file.document else 0

    def _char_count(self, target: str) -> int:
        return size_of(self._entries_for(target)) + self._headers.get(target, 0)

    def _char_limit(self, target: str) -> int:
        return self.user_char_limit if target == "user" else self.memory_char_limit

    def _render_block(self, target: str, entries: Sequence[str]) -> str:
        if not entries:
            return ""
        limit = self._char_limit(target)
        content = DELIMITER.join(entries)
        title = memory_tool().MEMORY_BLOCK_HEADERS["user" if target == "user" else "memory"]
        line = "═" * 46
        usage = f"{answers.percent(len(content), limit)}% — {len(content):,}/{limit:,} chars"
        return f"{line}\n{title} [{usage}]\n{line}\n{content}"


def _backup(path: Path) -> str:
    try:
        return FILES.backup(path)
    except StoreError:
        return f"{path.name}.bak (BACKUP FAILED — file unchanged on disk)"


def _of_match(
    old_text: str, action: str, shown: Collection[str], change: Callable[[HermesDraft, int], None]
) -> Callable[[FileText], _Plan]:
    """The plan that changes the one entry which holds a text."""

    def plan(file: FileText) -> _Plan:
        found = one_match(file, old_text, action)
        if isinstance(found, Refusal):
            return found
        draft = file.draft(shown)
        change(draft, found)
        return draft

    return plan


def _unfit(content: str) -> str | None:
    """Why a text may not be stored: Hermes's message for a threat, or that no file can hold it."""
    if not content.isascii() and any("\ud800" <= character <= "\udfff" for character in content):
        return "Content holds a lone surrogate, half of a character, which no file can hold. Leave it out."
    return first_threat(content)
