"""Categories written into the text of ``catmem.yaml``: comments, order and quotes of all else in it stay.

The place is found by a YAML parser, and the edit counts only if the whole file then says what it said, and these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from catmem.config.yamlfile import parse_yaml
from catmem.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    import yaml

_PLACE = ("taxonomy", "categories")
_INDENT = 2


def with_categories(text: str, titles: Mapping[str, str], path: Path) -> str:
    """The text with these categories declared behind those that are there; ``titles`` are by slug."""
    import yaml

    said = parse_yaml(text, path).data
    lines = [f"{_scalar(slug)}: {{title: {_scalar(title)}}}" for slug, title in titles.items()]
    wanted = _wanted(said, titles)
    made = _edited(text, yaml.compose(text, Loader=yaml.SafeLoader), lines) if wanted is not None else None
    if made is None or _data(made) != wanted:
        raise ConfigError(
            "the categories are written in a way that catmem does not edit",
            code="declare_by_hand",
            path=path,
            key=".".join(_PLACE),
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


def _wanted(said: Any, titles: Mapping[str, str]) -> Any:  # noqa: ANN401 - any YAML value
    """What the file is to say; ``None`` if there is no place for it."""
    whole = inner = {} if said is None else deepcopy(said)
    for part in _PLACE:
        if not isinstance(inner, dict):
            return None
        if inner.get(part) is None:
            inner[part] = {}
        inner = inner[part]
    if not isinstance(inner, dict):
        return None
    inner.update((slug, {"title": title}) for slug, title in titles.items())
    return whole


def _edited(text: str, root: yaml.Node | None, lines: Sequence[str]) -> str:
    """The text with ``lines`` in the mapping at the place, which is made as far as it is missing."""
    import yaml

    missing, key, node = list(_PLACE), None, root
    while missing and isinstance(node, yaml.MappingNode):
        found = next((pair for pair in node.value if pair[0].value == missing[0]), None)
        if found is None:
            break
        key, node = found
        del missing[0]
    if isinstance(node, yaml.MappingNode) and node.flow_style:
        more = ", ".join(lines)
        for name in reversed(missing):
            more = f"{name}: {{{more}}}"
        place = _end(node.value[-1][1]) if node.value else node.start_mark.index + 1
        return f"{text[:place]}{', ' if node.value else ''}{more}{text[place:]}"
    if key is None or node is None:
        column, place = 0, len(text)
    elif isinstance(node, yaml.MappingNode):
        column, place = node.value[0][0].start_mark.column, _line_end(text, _end(node))
    else:
        column, place = key.start_mark.column + _INDENT, _line_end(text, _end(key))
    newline = "\r\n" if "\r\n" in text else "\n"
    start = newline if place and text[place - 1] != "\n" else ""
    heads = [f"{' ' * (column + _INDENT * depth)}{name}:" for depth, name in enumerate(missing)]
    inner = " " * (column + _INDENT * len(missing))
    new = "".join(f"{line}{newline}" for line in (*heads, *(inner + each for each in lines)))
    return text[:place] + start + new + text[place:]


def _end(node: yaml.Node) -> int:
    """Where the last word of a value ends; the mark of a mapping or list of lines is that of the word behind it."""
    import yaml

    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        key, value = last if isinstance(last, tuple) else (last, last)
        return _end(key if value.start_mark.index == value.end_mark.index else value)
    end: int = node.end_mark.index
    return end


def _line_end(text: str, place: int) -> int:
    if text[place - 1 : place] == "\n":
        return place  # a block of text ends with its line
    found = text.find("\n", place)
    return len(text) if found < 0 else found + 1
