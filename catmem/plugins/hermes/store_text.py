r"""A memory file as Hermes Agent's store sees it, and what its four actions make of it; nothing is written here.

It is a flat list of entries, whatever sections the file has. An entry is what stands between two boundaries, stripped,
its tag block included, its escapes undone. In a file without sections that is exactly what Hermes splits at
``\n§\n``. Headers are no entries: they stay where they are. A new entry goes to ``__uncategorized__``, and no tag is
added.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

from catmem.errors import CatmemError
from catmem.model.document import Document, Version, parse
from catmem.names import UNCATEGORIZED
from catmem.text import decode, unify_newlines

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
