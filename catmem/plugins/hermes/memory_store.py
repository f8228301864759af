"""A store in the place of Hermes Agent 0.19's own: ``MemoryStore`` with its constructor, attributes, answers and words.

::

    Hermes's memory tool ── add, replace, remove, apply_batch ──> MemoryStore ── HermesDraft   entries of any file
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
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from catmem.config.config import NO_ROOT
from catmem.errors import BusyError, CatmemError, ConfigError, NotUtf8Error, RefusedError, StoreError, UnreadableError
from catmem.files import read_bounded, take_lock
from catmem.model.document import Document, Version, parse
from catmem.names import HERMES_FOLDER, UNCATEGORIZED
from catmem.resources import install_command
from catmem.store.contract import SIDECAR, Change
from catmem.store.files.file_store import LOCK_TIMEOUT, FileStore
from catmem.store.files.folder import Place
from catmem.text import MAX_FILE_BYTES, decode, unify_newlines, unmerged_warnings
from catmem.workspace.stores import merge_files

HermesAnswer = dict[str, Any]

DELIMITER = "\n§\n"
_PREVIEW = 80

_BOUNDARY = re.compile(r"(?:\A|\n)(?:##[ \t]|§[ \t]*(?:\n|\Z))")


@dataclass(slots=True)
class HermesDraft:
    """The entries that a file is to have: their texts, and which of the old ones each was (``None``: a new one).

    ``shown`` are the entries that the agent has seen: what another program appended to one of these since is no part of
    what the agent names, and stays as an entry of its own. ``unseen`` says that a change would take any other text that
    the agent has not seen. ``fresh`` are the texts that were put in, ``kept`` those of them that were appended,
    ``gone`` what the agent has seen go, ``done`` what was done: action, old entry and text.
    """

    texts: list[str]
    origins: list[int | None]
    shown: Collection[str] = ()
    fresh: list[str] = field(default_factory=list)
    done: list[tuple[str, int | None, str]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    unseen: bool = False

    def add(self, text: str) -> None:
        self.texts.append(text)
        self.origins.append(None)
        self.fresh.append(text)
        self.done.append(("add", None, text))

    def replace(self, place: int, text: str, old_text: str) -> None:
        self.done.append(("replace", self.origins[place], text))
        self._put(place, old_text, [text])

    def remove(self, place: int, old_text: str) -> None:
        self.done.append(("remove", self.origins[place], self.texts[place]))
        self._put(place, old_text, [])

    def _put(self, place: int, old_text: str, texts: list[str]) -> None:
        """Put texts in the place of an entry, and what was appended to it behind them."""
        entry = self.texts[place]
        seen = entry if entry in self.shown or entry in self.fresh else self._seen(entry)
        self.unseen |= not seen or old_text not in seen
        appended = entry[len(seen) :].strip()
        if appended and appended not in self.texts and not any(appended in text for text in texts):
            self.kept.append(appended)
            texts = [*texts, appended]
        self.gone += [entry, seen]
        self.fresh += texts
        origin = self.origins[place]
        self.texts[place : place + 1] = texts
        self.origins[place : place + 1] = [origin] * len(texts)

    def _seen(self, entry: str) -> str:
        """The entry that the agent has seen and that this one begins with, in the place of which it stands."""
        there = {*self.texts, *self.gone}
        return max((seen for seen in self.shown if entry.startswith(seen) and seen not in there), key=len, default="")


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of one file and its entries.

    ``entries`` are without exact repetitions, as Hermes drops them (in a file with sections those of one section);
    ``origins`` says which entry of the text each of them is. ``document`` is ``None`` for a plain text: a flat list in
    exactly the form that Hermes writes, perhaps with a newline at the end.
    """

    text: str
    entries: list[str]
    origins: tuple[int, ...]
    document: Document | None = None

    @property
    def pieces(self) -> list[tuple[str, ...]]:
        """What a prompt shows of each entry: its headers, if any, and its text, where a delimiter keeps its escape."""
        if self.document is None:
            return [(entry,) for entry in self.entries]
        return _pieces(self.document, self.origins)

    @property
    def size(self) -> int:
        return size_of(["\n".join(parts) for parts in self.pieces])

    def category(self, origin: int | None) -> str:
        """The category of one of ``entries``, or of a new one."""
        if self.document is None or origin is None:
            return UNCATEGORIZED
        return self.document.entries[self.origins[origin]].category

    def draft(self, shown: Collection[str] = ()) -> HermesDraft:
        """The entries as they are, to be changed by an agent that has seen those that are ``shown``."""
        return HermesDraft(self.entries.copy(), [*range(len(self.entries))], shown)

    def written(self, draft: HermesDraft) -> FileText:
        """The file with these entries. An old one that is not among them goes, and so do repetitions."""
        if self.document is None and all(map(is_plain, draft.fresh)):
            body = DELIMITER.join(draft.texts)
            newline = "\n" if body and self.text.endswith("\n") else ""
            return FileText(body + newline, draft.texts, tuple(range(len(draft.texts))))
        return read_text(_spliced(self, draft).encode(), repeated=True)


def read_text(data: bytes, *, repeated: bool = False) -> FileText:
    """The entries of a file's bytes, with ``repeated`` every one. Raises ``NotUtf8Error`` and ``TooLargeError``."""
    text = decode(data)
    if not text.strip():
        return FileText("", [], ())
    pieces = _flat_pieces(text.removesuffix("\n"))
    if pieces is not None:
        if repeated or len(set(pieces)) == len(pieces):
            return FileText(text, pieces, tuple(range(len(pieces))))
        origins = _first_places(pieces)
        return FileText(text, [pieces[place] for place in origins], origins)
    document = parse(text)
    entries = document.entries
    origins = tuple(range(len(entries)))
    if not repeated:
        origins = _first_places([(entry.category, entry.text) for entry in entries])
    return FileText(text, [entries[place].text for place in origins], origins, document)


def _first_places(values: Sequence[object]) -> tuple[int, ...]:
    first = {value: place for place, value in reversed(list(enumerate(values)))}
    return tuple(sorted(first.values()))


def size_of(entries: Sequence[str]) -> int:
    """The characters of entries with delimiters between them, as Hermes counts."""
    return sum(map(len, entries)) + len(DELIMITER) * max(0, len(entries) - 1)


def is_plain(text: str) -> bool:
    """Whether a stripped text is stored as it is: nothing in it reads as a boundary or as an escape of one."""
    return not _may_escape(text) and not _has_boundary(text)


def _flat_pieces(body: str) -> list[str] | None:
    """The entries of a text that is just these and the delimiters between them, for Hermes and for catmem alike."""
    pieces = body.split(DELIMITER)
    is_flat = all(piece and piece == piece.strip() and not _has_boundary(piece) for piece in pieces)
    return pieces if is_flat and not _may_escape(body) else None


def _has_boundary(text: str) -> bool:
    """Whether something in a text reads as a boundary; a look for its signs is much quicker than the search."""
    return ("##" in text or "§" in text) and _BOUNDARY.search(text) is not None


def _may_escape(text: str) -> bool:
    """Whether a line of a text begins like an escape, or what a text cannot keep (a BOM, another newline) is in it."""
    return text[0] in "\\\ufeff" or "\n\\" in text or "\r" in text


def _pieces(document: Document, origins: Sequence[int]) -> list[tuple[str, ...]]:
    shown = [document.entries[place] for place in origins]
    marks = [(entry.start, entry.raw) for entry in shown]
    lines = {section.start: document.text[section.start : section.header_end] for section in document.sections}
    if document.scan.title:
        lines[document.scan.title.start] = document.text[document.scan.title.start : document.scan.title.end]
    pieces: list[tuple[str, ...]] = []
    waiting: list[str] = []
    for start, text in sorted([*marks, *lines.items()]):
        waiting.append(unify_newlines(text).rstrip() if start in lines else unify_newlines(text))
        if start not in lines:
            pieces.append(tuple(waiting))
            waiting = []
    return [*pieces, tuple(waiting)] if waiting else pieces


def _spliced(file: FileText, draft: HermesDraft) -> str:
    """The text with the entries that are wanted, verified by reading it again."""
    from catmem.model.splice import Slot, spliced

    document = file.document or parse(file.text)
    texts: dict[int, list[str]] = {}
    added: list[Version] = []
    for text, old in zip(draft.texts, draft.origins, strict=True):
        if old is None:
            added.append(Version.read(UNCATEGORIZED, text))
        else:
            texts.setdefault(file.origins[old], []).append(text)
    slots = [
        Slot(entry, [Version.read(entry.category, text) for text in texts.get(place, ())])
        for place, entry in enumerate(document.entries)
    ]
    last = next((slot for slot in reversed(slots) if slot.entry.category == UNCATEGORIZED), None)
    if last is not None:
        last.behind.extend(added)
    return spliced(document, slots, {UNCATEGORIZED: added} if added and last is None else {}, {}, document.title)


class Refusal(NamedTuple):
    """Why nothing is written. ``counted``: one of the failures that end a turn's tries."""

    answer: HermesAnswer
    counted: bool = True


def clean(text: str) -> str:
    """A text as it comes back from a file: stripped, its lines ending in LF."""
    return unify_newlines(text).strip()


def one_match(file: FileText, old_text: str, action: str) -> int | Refusal:
    """Which entry holds a text: the first of several that are the same."""
    matches = [place for place, entry in enumerate(file.entries) if old_text in entry]
    if not matches:
        error = (
            f"No entry matched '{old_text}'. Check current_entries below and retry with the exact text of the entry "
            f"you want to {action}."
        )
        return Refusal(failure(error, current_entries=[*file.entries]))
    texts = [file.entries[place] for place in matches]
    if len(set(texts)) > 1:
        previews = [entry[:_PREVIEW] + ("..." if len(entry) > _PREVIEW else "") for entry in texts]
        error = f"Multiple entries matched '{old_text}'. Be more specific."
        return Refusal(failure(error, matches=previews), counted=False)
    return matches[0]


def apply(draft: HermesDraft, fields: Mapping[str, Any], number: int) -> str | None:
    """Make one change of a batch; says why not, if it cannot be made."""
    action = fields.get("action")
    content, old_text = clean(fields.get("content") or ""), clean(fields.get("old_text") or "")
    problem = _lacking(action, content, old_text)
    if problem is None and action == "add":
        if content not in draft.texts:
            draft.add(content)
    elif problem is None:
        matches = [place for place, text in enumerate(draft.texts) if old_text in text]
        if not matches:
            problem = f"no entry matched '{old_text}'."
        elif len({draft.texts[place] for place in matches}) > 1:
            problem = f"'{old_text}' matched multiple distinct entries -- be more specific."
        elif action == "remove":
            draft.remove(matches[0], old_text)
        else:
            draft.replace(matches[0], content, old_text)
    return problem and f"Operation {number} ({action or 'unknown'}): {problem}"


def _lacking(action: object, content: str, old_text: str) -> str | None:
    if action not in {"add", "replace", "remove"}:
        return "unknown action. Use add, replace, or remove."
    if action != "add" and not old_text:
        return "old_text is required."
    if action == "add" and not content:
        return "content is required."
    if action == "replace" and not content:
        return "content is required (use action='remove' to delete)."
    return None


def aligned(file: FileText, texts: Sequence[str]) -> HermesDraft:
    """A draft with just these texts: what stays, stays itself, and a text in the place of another one replaces it."""
    draft = HermesDraft([], [])
    for action, old, old_end, new, new_end in SequenceMatcher(None, file.entries, texts, autojunk=False).get_opcodes():
        origins = [*range(old, old_end), *([None] * (new_end - new))]
        for text, origin in zip(texts[new:new_end], origins, strict=False):
            draft.texts.append(text)
            draft.origins.append(origin)
            draft.fresh += [] if action == "equal" else [text]
    return draft


def change_record(file: FileText, draft: HermesDraft) -> list[dict[str, str]]:
    """What a change does, for the record: actions, categories and the ids of the entries."""
    return [
        {"action": action, "category": category, "id": Version.read(category, text).id}
        for action, category, text in ((action, file.category(origin), text) for action, origin, text in draft.done)
    ]


# --- the answers of Hermes's store, word for word, and those for what it has no answer to ----------------------------


def failure(error: str, **more: object) -> HermesAnswer:
    return {"success": False, "error": error, **more}


def success(target: str, message: str, count: int, used: str) -> HermesAnswer:
    note = "Write saved. This update is complete — do not repeat it."
    return {
        "success": True,
        "done": True,
        "target": target,
        "usage": used,
        "entry_count": count,
        "message": message,
        "note": note,
    }


def usage(size: int, limit: int) -> str:
    percent = min(100, int((size / limit) * 100)) if limit > 0 else 0
    return f"{percent}% — {size:,}/{limit:,} chars"


def given_up(failures: int) -> HermesAnswer:
    """The end of a turn's tries to make room."""
    error = (
        f"Memory consolidation failed {failures} times this turn. Stop retrying memory calls — leave memory unchanged "
        "for now and continue with your reply to the user. The fact can be saved in a later turn."
    )
    return {"success": False, "done": True, "error": error}


def full(error: str, file: FileText, limit: int) -> HermesAnswer:
    """A call that was refused with the file before the agent's eyes, so that it makes room."""
    return failure(error, current_entries=[*file.entries], usage=f"{file.size:,}/{limit:,}")


def drift(path: Path, backup: str) -> HermesAnswer:
    """Another writer put more into one entry than the tool writes."""
    return failure(
        f"Refusing to write {path.name}: file on disk has content that wouldn't round-trip through the memory tool "
        "(likely added by the patch tool, a shell append, a manual edit, or a concurrent session). "
        f"A snapshot was saved to {backup}. Resolve the drift first — either rewrite the file as a clean §-delimited "
        "list of entries, or move the extra content out — then retry. This guard exists to prevent silent data loss "
        "(issue #26045).",
        drift_backup=backup,
        remediation="Open the .bak file, integrate the missing entries into the memory tool one at a time via "
        "memory(action=add, content=...), then remove or rewrite the original file to a clean state.",
    )


def refused(path: Path, error: CatmemError, backup: str | None) -> HermesAnswer:
    """The file cannot be read, or not be written: what Hermes's own store takes for empty, or raises."""
    said = f"Refusing to write {path.name}: {error.message}. The file is as it was."
    if error.hint and "in place" in error.hint:
        said = f"{path.name}: {error.message}. {error.hint}"
    elif backup:
        said += f" A snapshot was saved to {backup}."
    more: HermesAnswer = {"drift_backup": backup} if backup else {}
    remediation = error.hint or "Nothing was written. Have a person look at the file, then retry."
    return failure(said, **more, remediation=remediation, reason=error.code)


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
