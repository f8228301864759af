"""What is declared into the text of ``catmem.yaml``: comments, order and quotes of all else in it stay.

Lines are put in by the places of the keys. The edit counts only if the whole file then says what it said, and these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from catmem.config.yamlfile import KeyPath, key_text, parse_yaml
from catmem.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

_CATEGORIES = ("taxonomy", "categories")
_INDENT = 2


def with_categories(text: str, titles: Mapping[str, str], path: Path) -> str:
    """The text with these categories declared behind those that are there; ``titles`` are by slug."""
    return with_declared(text, _CATEGORIES, {slug: {"title": title} for slug, title in titles.items()}, path)


def with_declared(text: str, place: KeyPath, values: Mapping[str, Mapping[str, str]], path: Path) -> str:
    """The text with these values in the mapping at a place, behind those that are there."""
    file, lines = parse_yaml(text, path), list[str]()
    for name, said in values.items():
        pairs = ", ".join(f"{key}: {_scalar(value)}" for key, value in said.items())
        lines.append(f"{_scalar(name)}: {{{pairs}}}")
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


def _scalar(value: str) -> str:
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
