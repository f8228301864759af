"""Strict YAML with the place of every key, for ``catmem.yaml`` and profiles.

Such a file may have another author, so only plain data is read: no aliases or anchors (with them a few lines can
stand for gigabytes), no tags, one document, no key twice, at most 32 levels. Scalars are those of YAML 1.2's core
schema: ``no``, ``on`` and dates stay text. What is refused is refused before anything is built from it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import ConfigError, ErrorPlace, NotUtf8Error
from catmem.files import read_bounded
from catmem.resources import digest_of, recall, remember
from catmem.text import BOM, LineIndex

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    import yaml

KeyPath = tuple[str | int, ...]
"""Keys and list indexes from the top of a file down to one value: ``("prompt", "style")``."""

YAML_LIMIT = 1 << 20
"""Bytes that a configuration file or profile may have."""

_MAX_DEPTH = 32
_MAX_DIGITS = 18

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEAN = {word: value for value in (True, False) for word in (str(value), str(value).lower(), str(value).upper())}
_INTEGER = re.compile(r"[-+]?[0-9]+")
# PyYAML ends a line, and with it a comment, where no editor does: behind one of these a key could hide in a comment.
_HIDDEN_BREAK = re.compile("[\x85\u2028\u2029]|\r(?!\n)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


class YamlFile(NamedTuple):
    """What a YAML file says, and where.

    ``data`` is made of ``dict`` (keys are always ``str``), ``list``, ``str``, ``int``, ``float``, ``bool`` and
    ``None``. ``positions`` gives the ``(line, column)``, both from 1, of each key of a mapping, each item of a list,
    and of the whole (the empty path).
    """

    data: Any
    positions: Mapping[KeyPath, tuple[int, int]]
    path: str | PathLike[str] | None = None

    def place(self, key: KeyPath) -> tuple[int, int] | None:
        """Where a key stands, or the nearest thing around it that has a place; ``None`` in an empty file."""
        while key and key not in self.positions:
            key = key[:-1]
        return self.positions.get(key)

    def fault(
        self,
        key: KeyPath,
        message: str,
        hint: str | None,
        *,
        code: str = "schema",
        kind: type[ConfigError] = ConfigError,
    ) -> ConfigError:
        """What is wrong with a setting."""
        line, column = self.place(key) or (None, None)
        return kind(message, code=code, path=self.path, line=line, column=column, key=key_text(key), hint=hint)


def key_text(key: KeyPath) -> str | None:
    """A key path as people write it, ``prompt.style`` or ``aliases[0]``; ``None`` for the whole file."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or None


def load_yaml(path: str | Path) -> YamlFile:
    """Read and parse the file at ``path``, at most ``YAML_LIMIT`` bytes."""
    return parse_yaml(read_bounded(path, YAML_LIMIT), path)


def parse_yaml(data: str | bytes, path: str | PathLike[str] | None = None) -> YamlFile:
    """Parse YAML; ``path`` only goes into errors. An empty text has the data ``None``."""
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as error:
        raise NotUtf8Error(error.start, error.reason, path=path) from None
    digest = None if path is None else digest_of(text, "yaml")
    file = _recalled(digest) if digest else None
    if file is None:
        file = _parsed(text, path)
        if digest:
            remember(digest, json.dumps([file.data, *((key, *place) for key, place in file.positions.items())]))
    return file._replace(path=path)


def _recalled(digest: str) -> YamlFile | None:
    """What a file was found to say before, without PyYAML, which takes as long to load as click."""
    try:
        said, *places = json.loads(recall(digest) or "null")
        positions = {tuple(key): (line, column) for key, line, column in places}
    except (ValueError, TypeError, RecursionError):
        return None  # Not kept, or damaged: the file is parsed again.
    return YamlFile(said, positions) if said is None or () in positions else None


def _parsed(text: str, path: str | PathLike[str] | None) -> YamlFile:
    import yaml

    reader = _Reader(text.removeprefix(BOM), path)
    if hidden := _HIDDEN_BREAK.search(reader.text):
        raise reader.character_fault(hidden.start())
    loader = None
    try:
        loader = yaml.SafeLoader(reader.text)
        return YamlFile(reader.whole(loader), reader.positions)
    except yaml.reader.ReaderError as error:
        raise reader.character_fault(error.position) from None
    except yaml.MarkedYAMLError as error:
        raise reader.syntax_fault(error) from None
    except (ValueError, OverflowError):
        # PyYAML lets these through for an escape such as "\UFFFFFFFF" and for a %YAML directive of thousands of digits.
        offset = loader.get_mark().index if loader else 0
        message = "not valid YAML: a number in an escape or a directive is too large"
        raise reader.fault(offset, message, "Write the character itself.") from None


class _Reader:
    """Builds the data of PyYAML's events. A value may be 32 levels deep, so it calls itself no more often."""

    def __init__(self, text: str, path: str | PathLike[str] | None) -> None:
        self.text, self.path = text, path
        self.positions: dict[KeyPath, tuple[int, int]] = {}
        self._lines = LineIndex(text)

    def fault(self, offset: int, message: str, hint: str, key: KeyPath = ()) -> ConfigError:
        line, column = self._lines.position(offset)
        place: ErrorPlace = {"path": self.path, "line": line, "column": column, "key": key_text(key)}
        return ConfigError(message, code="yaml_syntax", hint=hint, **place)

    def character_fault(self, offset: int) -> ConfigError:
        message = f"not valid YAML: the character U+{ord(self.text[offset]):04X} may not stand in it"
        return self.fault(offset, message, "Remove it, or write it as an escape in double quotes.")

    def syntax_fault(self, error: yaml.MarkedYAMLError) -> ConfigError:
        what = " ".join(part for part in (error.context, error.problem) if part)
        # What is not closed is to be mended where it begins; the parser goes on, often to the end of the file.
        mark = (error.context_mark if "flow" in what or "end of stream" in what else None) or error.problem_mark
        hint = "Mend the YAML at this place; a value with special characters stands in quotes."
        if "flow" in what or "end of stream" in what:
            opens = "before this" if "node" in what else "here"
            unsure = "" if "end" in what else ", or a value in it needs quotes"
            hint = f"The {'bracket' if 'flow' in what else 'quote'} that opens {opens} is not closed{unsure}."
        hint = "YAML is indented with spaces; replace the tab." if "'\\t'" in what else hint
        return self.fault(mark.index if mark else 0, f"not valid YAML: {what}", hint)

    def whole(self, loader: yaml.SafeLoader) -> Any:  # noqa: ANN401 - any YAML value
        """What the one document says; ``None`` for an empty text."""
        import yaml

        events = iter(loader.get_event, None)
        data = None
        for event in events:
            if isinstance(event, yaml.NodeEvent):
                self._place((), event)
                data = self._value(event, events, ())
            elif isinstance(event, yaml.DocumentStartEvent) and () in self.positions:
                message = "a second YAML document begins here, and the file may hold one"
                hint = "Remove the '---' line, or make two files."
                raise self.fault(_offset(event), message, hint)
        return data

    def _value(self, event: yaml.Event, events: Iterator[yaml.Event], path: KeyPath) -> Any:  # noqa: ANN401 - any YAML value
        import yaml

        offset = self._checked(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._typed(event.value, offset) if event.implicit[0] else event.value
        if len(path) >= _MAX_DEPTH:
            message = f"mappings and lists are nested more than {_MAX_DEPTH} deep"
            raise self.fault(offset, message, "No setting needs that; flatten it.")
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(inner := next(events), yaml.SequenceEndEvent):
                at = (*path, len(items))
                self._place(at, inner)
                items.append(self._value(inner, events, at))
            return items
        data: dict[str, Any] = {}
        while not isinstance(inner := next(events), yaml.MappingEndEvent):
            key = self._key(inner, path)
            data[key] = self._value(next(events), events, (*path, key))
        return data

    def _key(self, event: yaml.Event, path: KeyPath) -> str:
        import yaml

        offset = self._checked(event)
        if not isinstance(event, yaml.ScalarEvent):
            raise self.fault(offset, "a key must be one word or text", "Put the key in quotes.")
        key: str = event.value
        if not key:
            raise self.fault(offset, "a key is empty", "Write a name before the colon.", path)
        if (*path, key) in self.positions:
            message = f"the key {key!r} is given twice, first in line {self.positions[*path, key][0]}"
            raise self.fault(offset, message, "Keep one of the two.", (*path, key))
        self._place((*path, key), event)
        return key

    def _place(self, at: KeyPath, event: yaml.Event) -> None:
        self.positions[at] = self._lines.position(_offset(event))

    def _checked(self, event: yaml.Event) -> int:
        """Where a value or key begins, after a look for what may not stand there."""
        offset = _offset(event)
        anchor, tag, value = (getattr(event, name, None) for name in ("anchor", "tag", "value"))
        if anchor is not None:
            message = f"the YAML anchor or alias {anchor!r} stands here; they are not allowed"
            raise self.fault(offset, message, "Write the value out, or put '*' and '&' in quotes.")
        if tag is not None:
            message = f"the YAML tag {tag!r} stands here; tags are not allowed"
            raise self.fault(offset, message, "Remove the tag, or put the value in quotes.")
        if half := re.search("[\ud800-\udfff]", value or ""):
            message = f"not valid YAML: the escape U+{ord(half[0]):04X} is half a character"
            raise self.fault(offset, message, "Write the character itself.")
        return offset

    def _typed(self, word: str, offset: int) -> str | float | bool | None:
        """A plain scalar by YAML 1.2's core schema, without octal, hexadecimal, infinities and NaN."""
        if word in _NULL:
            return None
        if word in _BOOLEAN:
            return _BOOLEAN[word]
        if not _FLOAT.fullmatch(word):
            return word
        # int() of thousands of digits raises, and an infinite float is no JSON: both are refused as what they look
        # like.
        if _INTEGER.fullmatch(word) and len(word) <= _MAX_DIGITS:
            return int(word)
        if not _INTEGER.fullmatch(word) and math.isfinite(float(word)):
            return float(word)
        raise self.fault(offset, "this number is too large", "Put it in quotes if it is text.")


def _offset(event: yaml.Event) -> int:
    return event.start_mark.index if event.start_mark else 0


# --- declaring: lines are put in by the places of the keys; comments, order and quotes of all else stay --------------


_CATEGORIES = ("taxonomy", "categories")
_INDENT = 2


def with_categories(text: str, titles: Mapping[str, str], path: Path) -> str:
    """The text with these categories declared behind those that are there; ``titles`` are by slug."""
    return with_declared(text, _CATEGORIES, {slug: {"title": title} for slug, title in titles.items()}, path)


def with_declared(text: str, place: KeyPath, values: Mapping[str, Mapping[str, str]], path: Path) -> str:
    """The text with these values in the mapping at a place, behind those that are there."""
    file, lines = parse_yaml(text, path), list[str]()
    for name, said in values.items():
        pairs = ", ".join(f"{key}: {scalar(value)}" for key, value in said.items())
        lines.append(f"{scalar(name)}: {{{pairs}}}")
    wanted = _wanted(file.data, place, values)
    made = _edited(text, file.positions, place, lines) if wanted is not None else None
    if made is None or _data(made) != wanted:
        raise ConfigError(
            f"{key_text(place)} is written in a way that catmem does not edit",
            code="declare_by_hand",
            path=path,
            key=key_text(place),
            hint=f"Nothing was changed. Say there by hand: {', '.join(lines)}",
        )
    return made


def _data(text: str) -> Any:  # noqa: ANN401 - any YAML value
    try:
        return parse_yaml(text).data
    except ConfigError:
        return None  # nothing that was wanted


def scalar(value: str) -> str:
    """A value as YAML: plain, or in quotes where that would be read as something else."""
    return value if _data(f"[{value}]") == [value] else json.dumps(value, ensure_ascii=False)


def _wanted(said: Any, place: KeyPath, values: Mapping[str, Mapping[str, str]]) -> Any:  # noqa: ANN401 - any YAML value
    """What the file is to say; ``None`` if there is no place for it."""
    whole = inner = {} if said is None else deepcopy(said)
    for part in place:
        if not isinstance(inner, dict):
            return None
        if inner.get(part) is None:
            inner[part] = {}
        inner = inner[part]
    if not isinstance(inner, dict):
        return None
    inner.update((name, dict(value)) for name, value in values.items())
    return whole


def _edited(text: str, positions: Mapping[KeyPath, tuple[int, int]], path: KeyPath, lines: Sequence[str]) -> str:
    """The text with ``lines`` in the mapping at the place, which is made as far as it is missing."""
    depth = max(size for size in range(len(path) + 1) if size == 0 or path[:size] in positions)
    rows, column = text.splitlines(keepends=True), 0
    end = len(rows)
    if depth:
        inside = {key: place for key, place in positions.items() if key[:depth] == path[:depth]}
        children = [column for key, (_, column) in inside.items() if len(key) == depth + 1]
        column = children[0] - 1 if children else inside[path[:depth]][1] - 1 + _INDENT
        last = max(line for line, _ in inside.values())
        end = min((line for line, _ in positions.values() if line > last), default=len(rows) + 1) - 1
        while end > last and not rows[end - 1].partition("#")[0].strip():
            end -= 1
    newline = "\r\n" if "\r\n" in text else "\n"
    if end and not rows[end - 1].endswith("\n"):
        rows[end - 1] += newline
    heads = [f"{name}:" for name in path[depth:]]
    new = [f"{' ' * (column + _INDENT * number)}{head}" for number, head in enumerate(heads)]
    new += [f"{' ' * (column + _INDENT * len(heads))}{line}" for line in lines]
    return "".join([*rows[:end], *(f"{row}{newline}" for row in new), *rows[end:]])
