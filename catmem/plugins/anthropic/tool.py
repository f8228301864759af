"""The class that the ``anthropic`` package calls when a model uses its memory tool.

It is bound to one profile: what that does not see is not there, and what it may not write is refused. Every refusal is
a ``ToolError``, which the model reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

from catmem import clock
from catmem.config.access import Rights, visible
from catmem.config.config import Taxonomy, is_pattern
from catmem.config.json_schema import faults_by, shown
from catmem.errors import CatmemError, DriftError, EditError, NoMatchError
from catmem.model.document import Document, Entry, Version, parse
from catmem.model.pairing import pair_entries
from catmem.model.splice import composed
from catmem.names import TARGETS, UNCATEGORIZED, slugify
from catmem.ops.memory_tool import stop_after
from catmem.prompt.styles import blocked_line
from catmem.proposals.proposal import disclosed_all
from catmem.staleness.freshness import advice, freshness
from catmem.threats import scan_each
from catmem.workspace.root import hide_names
from catmem.workspace.seen_entry import texts_of
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import ToolSession, words_of_entry
from catmem.writing.request import Operation
from catmem.writing.write import write_operations

if TYPE_CHECKING:
    from anthropic.types import beta


ROOT = "/memories"
_PATH = re.compile(rf"{ROOT}(?:/({'|'.join(TARGETS)})(?:/([^/]+)\.md)?)?/?")


def bad_arguments(message: str, hint: str) -> EditError:
    return EditError(message, code="bad_arguments", hint=hint)


class MemoryPath(NamedTuple):
    """What a path names: all (no target), one target's folder (no category), or one category's file."""

    target: str = ""
    category: str = ""
    alias: str = ""
    """The other name of the category that was typed, if one was."""

    @property
    def name(self) -> str:
        """The category's name as it was typed: answers do not tell which category another name is of."""
        return self.alias or self.category

    @property
    def path(self) -> str:
        return "/".join(part for part in (ROOT, self.target, self.name and f"{self.name}.md") if part)


def place_of(path: str, taxonomy: Taxonomy) -> MemoryPath:
    """The place that a path names. Raises ``EditError`` (``bad_arguments``); nothing on a disk is looked at."""
    found = _PATH.fullmatch(path)
    if found is None or (found[2] is not None and path.endswith("/")):
        raise bad_arguments(
            f"{shown(path)} is no path of this memory",
            "There are /memories/user/<category>.md and /memories/memory/<category>.md, and no other folders.",
        )
    target, name = found[1], found[2]
    if name is None:
        return MemoryPath(target or "")
    slug = slugify(name)
    if slug != name:
        raise bad_arguments(
            f"{shown(name)} cannot be the name of a category",
            f"Did you mean {ROOT}/{target}/{slug}.md?" if slug else "Use small letters, digits and -.",
        )
    category = taxonomy.category(name)
    return MemoryPath(target, category, "" if category == name else name)


# --- a category as text ---------------------------------------------------------------------------------------------

_LINE_END = re.compile(r"\r+\n")
"""Each reading would take one CR more away from it."""


@dataclass(frozen=True, slots=True)
class CategoryFile:
    """A category's entries, and the text that stands for them."""

    category: str
    """Its name, as the caller wrote it."""
    entries: tuple[Entry, ...]
    document: Document
    """The text of the file, read as one without sections: its entries are ``entries``, one by one."""
    withheld: tuple[str, ...]
    """The lines that stand for entries that are withheld."""

    @property
    def text(self) -> str:
        return self.document.text


def category_file(category: str, entries: Sequence[Entry]) -> CategoryFile:
    texts = ["\n".join(texts_of(entry)) for entry in entries]
    scanned = scan_each(texts)
    versions: list[Version] = []
    withheld: list[str] = []
    for entry, findings in zip(entries, scanned, strict=True):
        version = Version.from_entry(entry)._replace(category=UNCATEGORIZED)
        if findings:
            line = f"{blocked_line(', '.join(sorted({finding.rule for finding in findings})))} (id {entry.id})"
            version = Version(UNCATEGORIZED, line, {}, line)
            withheld.append(line)
        versions.append(version)
    return CategoryFile(category, tuple(entries), composed(versions, {}, _read("")), tuple(withheld))


def _read(text: str) -> Document:
    """A text in which no heading opens a section, and in which a line ends with LF."""
    return parse(_LINE_END.sub("\n", text), ())


def operations_for(file: CategoryFile, new_text: str, *, block_of: int | None = None) -> list[Operation]:
    """What makes the entries of ``file`` those of a text. An entry in other words keeps its tags."""
    old, new = file.document.entries, _read(new_text).entries
    _refuse_withheld_in_texts(file, new)
    _refuse_blocks_in_texts(old, new)
    pairs = _pairs(old, new)
    operations: list[Operation] = []
    for index, entry in enumerate(file.entries):
        after = pairs.get(index)
        if after is None:
            operations.append(Operation("remove", old_text=entry.id, category=file.category))
        elif old[index].text != new[after].text:
            operations.append(_replacement(file.category, entry, old[index], new[after]))
    for index in sorted(set(range(len(new))) - set(pairs.values())):
        without = old[index].tags if index == block_of else {}
        operations += additions(file.category, [new[index]], without=without)
    return operations


def entry_across(file: CategoryFile, line: int) -> int | None:
    """The index of the entry that has lines on both sides of the place behind ``line`` (0: in front of the first)."""
    for index, entry in enumerate(file.document.entries):
        first = file.text.count("\n", 0, entry.start) + 1
        if first <= line < first + entry.raw.count("\n"):
            return index
    return None


def entries_in_lines(file: CategoryFile, first: int, last: int) -> Iterator[Entry]:
    """The entries of which the lines from ``first`` to ``last`` show everything."""
    for entry, shown_as in zip(file.entries, file.document.entries, strict=True):
        line = file.text.count("\n", 0, shown_as.start) + 1
        if first <= line and line + shown_as.raw.count("\n") <= last and shown_as.text not in file.withheld:
            yield entry


def block_before(file: CategoryFile, position: int) -> int | None:
    """The index of the entry of which only the tag block stands in front of ``position``, a character's index."""
    for index, entry in enumerate(file.document.entries):
        block = _block(entry)
        words = entry.raw[len(block) :].lstrip()
        if block and entry.start + len(block) <= position <= entry.end - len(words):
            return index
    return None


def _block(entry: Entry) -> str:
    """The tag block of an entry as it is written; empty for none."""
    return entry.text.removesuffix(entry.body).rstrip() if entry.tags else ""


def entries_of(text: str) -> tuple[Entry, ...]:
    return _read(text).entries


def additions(
    category: str, entries: Sequence[Entry], *, without: Mapping[str, Any] | None = None
) -> Iterator[Operation]:
    """The operations that add entries to a category; tags that stand in ``without`` alike are left out."""
    for entry in entries:
        tags = {key: value for key, value in entry.tags.items() if (without or {}).get(key) != value}
        yield Operation("add", content=entry.body, category=category, tags=tags or None)


def _replacement(category: str, entry: Entry, old: Entry, new: Entry) -> Operation:
    body = None if new.body == old.body else new.body
    tags = {key: value for key, value in new.tags.items() if value != entry.tags.get(key)}
    if body is None and not tags:
        # A tag block that was only taken away stays: other interfaces take tags away one by one.
        return Operation("replace", content=entry.body, old_text=entry.id, category=category)
    return Operation("replace", content=body, old_text=entry.id, category=category, tags=tags or None)


def _pairs(old: Sequence[Entry], new: Sequence[Entry]) -> dict[int, int]:
    """Which entry became which; those that have no words in common pair in order, if they are as many."""
    pairs = pair_entries(old, new)
    free = [place for place in range(len(new)) if place not in pairs.values()]
    left = [place for place in range(len(old)) if place not in pairs]
    if len(left) != len(free):
        return pairs
    both = pairs | dict(zip(left, free, strict=True))
    places = [both[place] for place in sorted(both)]
    return both if places == sorted(places) else pairs


def refuse_part_of_withheld(file: CategoryFile, start: int, end: int) -> None:
    """Raise ``EditError`` if the characters from ``start`` to ``end`` are a part of a withheld line, or have one."""
    for entry in file.document.entries:
        if entry.text in file.withheld:
            first = file.text.index(entry.text, entry.start)
            last = first + len(entry.text)
            if start < last and end > first and not (start <= first and end >= last):
                raise _withheld()


def _refuse_withheld_in_texts(file: CategoryFile, new: Sequence[Entry]) -> None:
    there = {entry.text for entry in file.document.entries}
    whole = {entry.text for entry in new}
    for line in file.withheld:
        mark = line.rpartition(" (id ")[0]
        if line not in whole and any(mark in text for text in whole - there):
            raise _withheld()


def _withheld() -> EditError:
    return bad_arguments(
        "an entry whose text is withheld can be removed or replaced whole, and not be changed in part",
        "Leave its line as it is, or replace the whole line.",
    )


def _refuse_blocks_in_texts(old: Sequence[Entry], new: Sequence[Entry]) -> None:
    blocks = {block for entry in old if (block := _block(entry))}
    known = {block for block in blocks if any(block in entry.body for entry in old)}
    for block in blocks - known:
        if any(block in entry.body for entry in new):
            raise bad_arguments(
                "this would make the tag block of one fact a part of the text of another",
                "Put a line § between the two facts.",
            )


# --- the tool -------------------------------------------------------------------------------------------------------

INSTRUCTIONS = (
    "Your memory is a set of facts. Each file under /memories is one category; a line that holds § alone stands "
    "between two facts. Keep each fact to a sentence or two. A [key: value] block in front of a fact holds its dates "
    "and tags, and is kept for you."
)
"""For the system prompt of a model that uses the tool."""

PROPOSALS = f"{ROOT}/.proposals"
"""What became of changes that had to wait for a person; it can be viewed, and is in no folder."""

_MOST_TEXT = 256 << 10
_MOST_SHOWN = 60_000
"""Characters of one view."""
_WIDTH = 6
_TEXT = {"type": "string", "maxLength": _MOST_TEXT}
_LINES = {"type": ["array", "null"], "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
_COMMANDS: dict[str, dict[str, Any]] = {
    "view": {"path": _TEXT, "view_range": _LINES},
    "create": {"path": _TEXT, "file_text": _TEXT},
    "str_replace": {"path": _TEXT, "old_str": _TEXT, "new_str": _TEXT},
    "insert": {"path": _TEXT, "insert_line": {"type": "integer"}, "insert_text": _TEXT},
    "delete": {"path": _TEXT},
    "rename": {"old_path": _TEXT, "new_path": _TEXT},
}
"""The commands, each with what it takes, as JSON Schemas."""


class CatmemMemoryTool(BetaAbstractMemoryTool):
    """A profile's memory as the files of Anthropic's memory tool.

    >>> tool = CatmemMemoryTool(catmem.Workspace.open("."), "trinity")  # doctest: +SKIP
    >>> client.beta.messages.tool_runner(tools=[tool], ...)  # doctest: +SKIP
    """

    def __init__(
        self, workspace: Workspace, profile: str, *, cache_control: beta.BetaCacheControlEphemeralParam | None = None
    ) -> None:
        """Bind the tool to a profile. Raises ``UnknownNameError`` and ``ConfigError``."""
        super().__init__(cache_control=cache_control)
        self._workspace = workspace
        self._profile = workspace.profile(profile).name
        self._viewed: dict[tuple[str | None, str | None], str] = {}
        """The text of each file as the model last saw it."""
        self._put_away: set[tuple[str | None, str | None, str]] = set()
        """What was stored where the profile does not see it: nothing else keeps the model from storing it again."""
        self._session = ToolSession()
        self._session.begin(workspace, self._profile)

    def new_turn(self) -> None:
        """Start counting refusals anew: the user has spoken."""
        self._session.new_turn()

    def call(self, input: object) -> Any:  # noqa: A002, ANN401 - the names and types of the class above
        """Do what a model asks, whose words may be anything."""
        with self._as_tool_errors(input):
            _check(input)
            return super().call(input)

    def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        """List a folder, or show a file with line numbers."""
        if command.path == PROPOSALS:
            return self._proposals()
        place = self._place(command.path)
        if not place.category and command.view_range is not None:
            raise _bad("a folder has no lines, so view takes no view_range here")
        if not place.category:
            return self._listed(place)
        return self._shown(place, self._file(place), command.view_range)

    def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        """Add the entries of a text to a category in which the profile sees none yet."""
        place = self._file_place(command.path)
        file, digest = self._now(place)
        if file.entries:
            raise bad_arguments(f"{place.path} already exists", "Change it with str_replace, or add to it with insert.")
        entries = entries_of(command.file_text)
        if not entries:
            raise EditError("there is no text to store", code="empty", hint="Give the file some text.")
        new = [entry for entry in entries if (*place[:2], entry.text) not in self._put_away]
        if new and (waiting := self._write(place, list(additions(file.category, new)), digest)):
            return waiting
        if self._file(place).entries:
            return self._warned(f"File created successfully at: {place.path}", place)
        self._put_away |= {(*place[:2], entry.text) for entry in new}
        done = "Stored" if new else "That was stored before, and not again,"
        said = f"{done} in {place.path}. You may write there and not read, so it will not be shown to you."
        return self._warned(said, place)

    def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that the file holds once."""
        place = self._file_place(command.path)
        file, digest = self._existing(place)
        count = file.text.count(command.old_str) if command.old_str else 0
        if count != 1:
            raise NoMatchError(
                f"old_str stands in {place.path} {count} times, so nothing was replaced",
                hint="Give a text that stands there exactly once; view the file to see what it says.",
            )
        start = file.text.index(command.old_str)
        refuse_part_of_withheld(file, start, start + len(command.old_str))
        before = block_before(file, start)
        new_text = file.text.replace(command.old_str, command.new_str)
        waiting = self._change(place, operations_for(file, new_text, block_of=before), digest)
        return waiting or f"The memory file has been edited. {self._after(place)}"

    def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines behind a line of the file as it was last shown.

        Between two lines of one entry they edit it; everywhere else they are entries of their own.
        """
        place = self._file_place(command.path)
        file, digest = self._existing(place)
        if self._viewed.get(place[:2], file.text) != file.text:
            raise bad_arguments(
                f"{place.path} was changed since you viewed it, so its lines are others now", "View it again."
            )
        lines = file.text.split("\n")[:-1] if file.text.endswith("\n") else file.text.split("\n")
        if not 0 <= command.insert_line <= len(lines):
            raise bad_arguments(
                f"there is no line {command.insert_line} in {place.path}", f"insert_line is 0 to {len(lines)}."
            )
        if entry_across(file, command.insert_line) is None:
            operations = list(additions(file.category, entries_of(command.insert_text)))
        else:
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            operations = operations_for(file, "\n".join(lines) + "\n")
        waiting = self._change(place, operations, digest)
        return waiting or f"The file {place.path} has been edited. {self._after(place)}"

    def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        """Remove all entries of a category that the profile sees."""
        place = self._file_place(command.path)
        file, digest = self._existing(place)
        removals = [Operation("remove", old_text=entry.id, category=file.category) for entry in file.entries]
        waiting = self._write(place, removals, digest)
        return waiting or self._warned(f"Successfully deleted {place.path}", place)

    def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        """Move all entries of a category that the profile sees into another category of the same target."""
        old, new = self._file_place(command.old_path), self._file_place(command.new_path)
        if old.target != new.target:
            raise bad_arguments(
                f"{old.path} cannot be moved to {new.path}: user and memory are two files",
                "Create the facts there, and delete them here.",
            )
        file, digest = self._existing(old)
        if self._file(new).entries:
            raise bad_arguments(f"{new.path} already exists", "Choose another name.")
        moves = [
            Operation("move", old_text=entry.id, category=file.category, to_category=new.name) for entry in file.entries
        ]
        waiting = self._write(old, moves, digest)
        return waiting or self._warned(f"Successfully renamed {old.path} to {new.path}", old)

    def clear_all_memory(self) -> str:
        """Refused: memory is shared, and nothing takes all of it away at once."""
        raise ToolError("This memory is not cleared at once. A person removes entries with catmem remove or purge.")

    # --- places ----------------------------------------------------------------------------------------------------

    def _place(self, path: str) -> MemoryPath:
        return place_of(path, self._workspace.config.taxonomy)

    def _file_place(self, path: str) -> MemoryPath:
        place = self._place(path)
        if not place.category:
            raise bad_arguments(
                f"{place.path} is a folder, and folders stay as they are", self._may_write(place.target or TARGETS[0])
            )
        return place

    def _now(self, place: MemoryPath) -> tuple[CategoryFile, str]:
        """The file as it is now, and the digest of the whole document that it was read from."""
        workspace = self._workspace
        reading = workspace.read(self._profile, place.target)
        profile = workspace.profile(self._profile)
        view = visible(reading.document, place.target, profile, workspace.config.taxonomy)
        entries = [entry for entry in view.entries if entry.category == place.category]
        return category_file(place.name, entries), reading.digest

    def _file(self, place: MemoryPath) -> CategoryFile:
        return self._now(place)[0]

    def _existing(self, place: MemoryPath) -> tuple[CategoryFile, str]:
        found = self._now(place)
        if not found[0].entries:
            raise self._missing(place)
        return found

    def _missing(self, place: MemoryPath) -> EditError:
        """What to say of a file that is not there: in the same words if it is hidden."""
        return bad_arguments(
            f"The path {place.path} does not exist",
            f"{self._may_write(place.target)} View {ROOT} to see what is there.",
        )

    def _may_write(self, target: str) -> str:
        categories = self._workspace.config.taxonomy.categories
        rights = self._rights(target)
        names = tuple(categories) if rights.unbounded else rights.writable_names()
        plain = [name for name in names if not is_pattern(name)]
        if plain:
            return f"You may write {', '.join(MemoryPath(target, name).path for name in plain)}."
        return "Any category may be written that you see." if names else "You may write nothing."

    def _rights(self, target: str) -> Rights:
        workspace = self._workspace
        return Rights(workspace.profile(self._profile), target, workspace.config.taxonomy)

    # --- showing ---------------------------------------------------------------------------------------------------

    def _listed(self, place: MemoryPath) -> str:
        targets = (place.target,) if place.target else TARGETS
        lines = [f"Here are the files in {place.path}:"]
        for target in targets:
            for category in self._workspace.view(self._profile, target).categories:
                at = MemoryPath(target, category)
                lines.append(f"{len(self._file(at).text.encode())}B\t{at.path}")
        lines += [self._may_write(target) for target in targets]
        return "\n".join(lines)

    def _shown(self, place: MemoryPath, file: CategoryFile, view_range: list[int] | None = None) -> str:
        if not file.entries:
            raise self._missing(place)
        self._viewed[place[:2]] = file.text
        lines = file.text.rstrip("\n").split("\n")
        first, last = _range(view_range, len(lines))
        said: list[str] = []
        size = 0
        for number in range(first, last + 1):
            line = f"{number:>{_WIDTH}}\t{lines[number - 1]}"
            size += len(line) + 1
            if said and size > _MOST_SHOWN:
                last = number - 1
                said.append(f"(cut: lines {number} to {len(lines)} are there too; ask with view_range)")
                break
            said.append(line)
        self._session.learn(map(words_of_entry, entries_in_lines(file, first, last)))
        profile, config = self._workspace.profile(self._profile), self._workspace.config
        ages = (freshness(entry, profile, config, as_of=clock.today()) for entry in file.entries)
        said += [f"({line})" for line in advice(age.state for age in ages).values()]
        return f"Here's the content of {place.path} with line numbers:\n" + "\n".join(said)

    def _after(self, place: MemoryPath) -> str:
        """The file after an edit, which may have taken its last entry."""
        file = self._file(place)
        said = self._shown(place, file) if file.entries else f"{place.path} is empty now, and no longer there."
        return self._warned(said, place)

    def _warned(self, said: str, place: MemoryPath) -> str:
        """What was done, with what the model should know of the file that it was done in."""
        text = self._workspace.view(self._profile, place.target).document.text
        warnings = self._rights(place.target).unmerged(f"the {place.target} file", text, self._workspace.parse)
        return "\n".join([said, *(f"Warning: {warning}." for warning in warnings)])

    # --- writing ---------------------------------------------------------------------------------------------------

    def _change(self, place: MemoryPath, operations: list[Operation], digest: str) -> str | None:
        if not operations:
            raise bad_arguments("this changes no fact", "View the file to see what it says.")
        return self._write(place, operations, digest)

    def _write(self, place: MemoryPath, operations: list[Operation], digest: str) -> str | None:
        """Write them; what to say if they wait for a person."""
        # The answer says that the file holds the text now, so no branch is begun.
        written = write_operations(
            self._workspace,
            self._profile,
            operations,
            target=place.target,
            actor=self._profile,
            expected=digest,
            on_stale="refuse",
            session=self._session,
        )
        self._session.wrote(written.entries)
        self._session.new_turn()
        if written.waiting is None:
            return None
        said = f"Not written yet: it waits as proposal {written.waiting}, and a person decides. Do not repeat it."
        return f"{said} View {PROPOSALS} to see what became of it."

    def _proposals(self) -> str:
        """What became of those of the profile, one a line."""
        lines = [f"Changes of yours that had to wait ({PROPOSALS}):"]
        for each in disclosed_all(self._workspace, self._profile, own=True)[0]:
            why = (each["decision"] or {}).get("reason")
            lines.append(f"{each['id']} {each['timestamp'][:10]} {each['state']}{f': {why}' if why else ''}")
        return "\n".join(lines)

    @contextmanager
    def _as_tool_errors(self, asked: object) -> Iterator[None]:
        """What catmem refuses of what was ``asked``, as the model reads it."""
        try:
            with hide_names(self._workspace, self._profile):
                yield
        except CatmemError as error:
            hint = error.hint or "Look at what is there, and try something else."
            parts = [f"{error.message.rstrip('.')}.", stop_after(self._session, asked), hint]
            if isinstance(error, DriftError) and error.entry is not None:
                parts.append("View its file to read it.")
            raise ToolError(" ".join(filter(None, parts))) from error


def _check(given: object) -> None:
    """Raise ``EditError`` (``bad_arguments``) for what is no command; the package takes anything for one."""
    command = given.get("command") if isinstance(given, dict) else None
    takes = _COMMANDS.get(command) if isinstance(command, str) else None
    if takes is None:
        raise _bad(f"there is no command {shown(command)}")
    form = {
        "type": "object",
        "properties": {"command": {}, **takes},
        "required": [name for name in takes if name != "view_range"],
        "additionalProperties": False,
    }
    for key, message, _ in faults_by(json.dumps(form), given):
        raise _bad(f"{command}: {' '.join(map(str, key))} {message}" if key else f"{command}: {message}")


def _bad(message: str) -> EditError:
    commands = ", ".join(_COMMANDS)
    return EditError(message, code="bad_arguments", hint=f"The commands are {commands}.")


def _range(view_range: list[int] | None, count: int) -> tuple[int, int]:
    """The first and the last line to show; -1 is the end. Raises ``EditError`` (``bad_arguments``) for no lines."""
    if view_range is None:
        return 1, count
    first, last = view_range
    if first > count or (last != -1 and last < max(1, first)):
        raise bad_arguments(
            f"there are no lines {first} to {'the end' if last == -1 else last}", f"The file has lines 1 to {count}."
        )
    return max(1, first), count if last == -1 else min(last, count)
