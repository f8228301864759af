"""Edits of Hermes Agent's ``config.yaml`` that touch nothing but the keys they are about.

The file belongs to a person: comments, order and quotes stay. An edit is made in the text, at the places that a YAML
parser names, and then parsed again; it counts only if the whole file says what it said before but for those keys.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from catmem.errors import ConfigError
from catmem.model.edit import TextEdit
from catmem.plugins.hermes.setup_homes import parse_config

SECTION = "memory"
_INDENT = "  "
_COMMENT_LINES = re.compile(r"(?:[ \t]+#[^\n]*(?:\n|\Z))*")


def with_memory(text: str, settings: Mapping[str, str], path: Path) -> tuple[str, dict[str, str | None]]:
    """The text with these keys of ``memory`` set, and how each of them stood before: its text, ``None`` for none.

    ``settings`` are values as YAML text (``catmem``, ``false``). Raises ``ConfigError``: ``hermes_config`` for what is
    no configuration, ``hermes_by_hand`` where the keys cannot be set without touching more.
    """
    before = parse_config(text, path)
    wanted = copy.deepcopy(before)
    section = wanted.get(SECTION)
    wanted[SECTION] = {**(section or {}), **{key: yaml.safe_load(said) for key, said in settings.items()}}
    found = _memory(text)
    was = {key: _text_of(found.values.get(key), text) for key in settings}
    if wanted == before:
        return text, was
    if any(old is not None and not _is_plain(old) for old in was.values()):
        raise _by_hand(path, settings)
    new = _applied(text, found.set(settings, text))
    if _parsed(new) != wanted:
        raise _by_hand(path, settings)
    return new, was


def without_memory(text: str, was: Mapping[str, str | None], path: Path, *, had_section: bool) -> str:
    """The text with these keys of ``memory`` as they stood before. Raises as ``with_memory`` does."""
    before = parse_config(text, path)
    wanted = copy.deepcopy(before)
    section = dict(wanted.get(SECTION) or {})
    for key, old in was.items():
        if old is None:
            section.pop(key, None)
        else:
            section[key] = yaml.safe_load(old)
    wanted[SECTION] = section
    found = _memory(text)
    back = {key: old for key, old in was.items() if old is not None}
    gone = [key for key, old in was.items() if old is None and key in found.values]
    edits = found.set(back, text) if back else []
    if not section and not had_section:
        del wanted[SECTION]
        edits = found.remove_section(text)
    else:
        edits += [found.remove(key, text) for key in gone]
    new = _applied(text, edits)
    said = _parsed(new) or {}
    if section == {} and SECTION in wanted:
        said = {**said, SECTION: said.get(SECTION) or {}}  # `memory:` with nothing in it says as much
    if said != wanted:
        raise _by_hand(path, {key: old or "(remove this key)" for key, old in was.items()})
    return new


def _by_hand(path: Path, settings: Mapping[str, str]) -> ConfigError:
    by_hand = ", ".join(f"{key}: {value}" for key, value in settings.items())
    return ConfigError(
        "the section memory is written in a way that catmem does not edit",
        code="hermes_by_hand",
        path=path,
        key=SECTION,
        hint=f"Nothing was changed. Say there by hand: {SECTION}: {{{by_hand}}}",
    )


class _Memory(NamedTuple):
    """Where the section ``memory`` stands: its key and value, and the keys and values in it."""

    root: yaml.MappingNode | None
    key: yaml.Node | None
    value: yaml.Node | None
    keys: dict[str, yaml.Node]
    values: dict[str, yaml.Node]

    def set(self, settings: Mapping[str, str], text: str) -> list[TextEdit]:
        """The edits that set these keys; what cannot be edited is left, and seen when the text is parsed again."""
        newline = "\r\n" if "\r\n" in text else "\n"
        edits = [_replaced(self.values[key], text, said) for key, said in settings.items() if key in self.values]
        new = {key: said for key, said in settings.items() if key not in self.values}
        if not new:
            return edits
        if isinstance(self.value, yaml.MappingNode) and self.value.flow_style:
            more = ", ".join(f"{key}: {said}" for key, said in new.items())
            place = self.value.start_mark.index + 1
            return [*edits, TextEdit(place, place, f"{more}, " if self.values else more)]
        if self.values:
            first = next(iter(self.keys.values())).start_mark
            place = first.index - first.column
            lines = [f"{' ' * first.column}{key}: {said}{newline}" for key, said in new.items()]
        elif self.key is not None:  # `memory:` with nothing in it
            place = _line_end(text, self.key.end_mark.index)
            lines = [f"{_INDENT}{key}: {said}{newline}" for key, said in new.items()]
            if place and not text[:place].endswith("\n"):
                lines.insert(0, newline)
        else:
            place = self._end(text)
            lines = [f"{SECTION}:{newline}", *(f"{_INDENT}{key}: {said}{newline}" for key, said in new.items())]
            if place and not text[:place].endswith("\n"):
                lines.insert(0, newline)
        return [*edits, TextEdit(place, place, "".join(lines))]

    def remove(self, key: str, text: str) -> TextEdit:
        """The edit that takes out one key: its line, but for a comment, or its part of a mapping in braces."""
        start, end = self.keys[key].start_mark.index, self.values[key].end_mark.index
        if isinstance(self.value, yaml.MappingNode) and self.value.flow_style:
            rest = text[end:]
            if rest.lstrip().startswith(","):
                end += rest.index(",") + 1
                end += len(text[end:]) - len(text[end:].lstrip(" "))
            return TextEdit(start, end, "")
        column = self.keys[key].start_mark.column
        start, end = start - column, _line_end(text, end)
        return TextEdit(start, end, _comments(text, start, end, [self.keys[key], self.values[key]], " " * column))

    def remove_section(self, text: str) -> list[TextEdit]:
        """The edit that takes out the whole section. Comments in it are a person's: they stay, at the left edge."""
        if self.key is None or self.value is None:
            return []
        last = max([self.value.start_mark.index, *(value.end_mark.index for value in self.values.values())])
        start = self.key.start_mark.index - self.key.start_mark.column
        behind = _COMMENT_LINES.match(text, _line_end(text, last))
        end = len(text) if behind is None else behind.end()
        return [TextEdit(start, end, _comments(text, start, end, [*self.keys.values(), *self.values.values()], ""))]

    def _end(self, text: str) -> int:
        """Where a new section goes: behind everything, but before a line that ends the document."""
        if self.root is None:
            return len(text)
        place = self.root.end_mark.index
        tail = text[place:]
        return place if tail.lstrip().startswith(("...", "---")) else len(text)


def _memory(text: str) -> _Memory:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return _Memory(None, None, None, {}, {})
    for key, value in root.value:
        if key.value == SECTION:
            keys: dict[str, yaml.Node] = {}
            values: dict[str, yaml.Node] = {}
            if isinstance(value, yaml.MappingNode):
                keys = {each.value: each for each, _ in value.value if isinstance(each, yaml.ScalarNode)}
                values = {each.value: said for each, said in value.value if isinstance(each, yaml.ScalarNode)}
            return _Memory(root, key, value, keys, values)
    return _Memory(root, None, None, {}, {})


def _replaced(value: yaml.Node, text: str, said: str) -> TextEdit:
    start, end = value.start_mark.index, value.end_mark.index
    if start == end and not text[:start].endswith(" "):
        said = f" {said}"
    return TextEdit(start, end, said)


def _comments(text: str, start: int, end: int, nodes: Iterable[yaml.Node], indent: str) -> str:
    """The comments between two places, each as a line of its own. What ``nodes`` say may hold a ``#`` as well."""
    rest = list(text[start:end])
    for each in nodes:
        for place in range(max(each.start_mark.index, start), min(each.end_mark.index, end)):
            rest[place - start] = " "
    lines = (line.partition("#") for line in "".join(rest).splitlines(keepends=True))
    return "".join(f"{indent}#{comment}" for _, sign, comment in lines if sign)


def _text_of(value: yaml.Node | None, text: str) -> str | None:
    return None if value is None else text[value.start_mark.index : value.end_mark.index]


def _is_plain(value: str) -> bool:
    """Whether the text of a value is one line, and a value by itself: what can be put back as it was."""
    try:
        return "\n" not in value and not isinstance(yaml.safe_load(value), dict | list)
    except (yaml.YAMLError, ValueError):
        return False


def _line_end(text: str, place: int) -> int:
    found = text.find("\n", place)
    return len(text) if found < 0 else found + 1


def _applied(text: str, edits: list[TextEdit]) -> str:
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _parsed(text: str) -> Any:  # noqa: ANN401 - whatever the text holds
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return None
