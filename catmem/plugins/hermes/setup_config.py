"""Edits of Hermes Agent's ``config.yaml`` that touch nothing but the keys they are about.

The file belongs to a person: comments, order and quotes stay. The lines of ``memory`` are edited as text, and the whole
file is parsed again: the edit counts only if it says what it said before but for those keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from catmem.errors import ConfigError
from catmem.plugins.hermes.setup_homes import parse_config

SECTION = "memory"
_HEAD = re.compile(rf"^{SECTION}:(?:[ \t]+(?:\{{\}}|null))?([ \t]*(?:#[^\r\n]*)?)\r?\n", re.MULTILINE)
_BODY = re.compile(r"(?:(?:[ \t#][^\n]*|\r?)(?:\n|\Z))*")
_KEY_LINE = r"^([ \t]+){}:[ \t]*([^\r\n#]*?)([ \t]*(?:#[^\r\n]*)?)(\r?\n)"
_FIRST_KEY = re.compile(r"^([ \t]+)[^\s#]", re.MULTILINE)


def with_memory(
    text: str, settings: Mapping[str, str | None], path: Path, *, keeps_section: bool = True
) -> tuple[str, dict[str, str | None]]:
    """The text with these keys of ``memory`` set, and how each of them stood before: its text, ``None`` for none.

    ``settings`` are values as YAML text (``catmem``, ``false``); ``None`` takes a key out, and the section with the
    last key unless ``keeps_section``. Raises ``ConfigError``: ``hermes_config`` for what is no configuration,
    ``hermes_by_hand`` where the keys cannot be set without touching more.
    """
    before = parse_config(text, path)
    section = before.get(SECTION) or {}
    given = {key: yaml.safe_load(said) for key, said in settings.items() if said is not None}
    rest = {key: value for key, value in section.items() if key not in settings}
    wanted = {**before, SECTION: {**rest, **given}}
    if before == wanted:
        return text, dict(settings)
    newline = "\r\n" if "\r\n" in text else "\n"
    whole = text if not text or text.endswith("\n") else text + newline
    if SECTION not in before:
        whole += f"{SECTION}:{newline}"
    head = _HEAD.search(whole)
    body = _BODY.match(whole, head.end()) if head else None
    if head is None or body is None:
        raise _by_hand(path, settings)
    lines, was, new = body.group(), dict[str, str | None](), ""
    first = _FIRST_KEY.search(lines)
    for key, said in settings.items():
        line = re.search(_KEY_LINE.format(re.escape(key)), lines, re.MULTILINE)
        was[key] = line[2] if line else None
        if (line is None) != (key not in section) or (line and _parsed(line[2]) != section[key]):
            raise _by_hand(path, settings)
        if line is None:
            new += f"{first[1] if first else '  '}{key}: {said}{newline}" if said is not None else ""
            continue
        comment = f"{line[1]}{line[3].strip()}{line[4]}" if line[3].strip() else ""
        put = comment if said is None else f"{line[1]}{key}: {said}{line[3]}{line[4]}"
        lines = lines[: line.start()] + put + lines[line.end() :]
    opening = f"{SECTION}:{head[1]}{newline}"
    if not keeps_section and not wanted[SECTION]:
        opening = f"{head[1].strip()}{newline}" if head[1].strip() else ""
        del wanted[SECTION]
    made = whole[: head.start()] + opening + new + lines + whole[body.end() :]
    said_now = _parsed(made) or {}
    if SECTION in wanted:
        said_now = {**said_now, SECTION: said_now.get(SECTION) or {}}
    if said_now != wanted:
        raise _by_hand(path, settings)
    return made, was


def _by_hand(path: Path, settings: Mapping[str, str | None]) -> ConfigError:
    by_hand = ", ".join(f"{key}: {value or '(remove this key)'}" for key, value in settings.items())
    return ConfigError(
        "the section memory is written in a way that catmem does not edit",
        code="hermes_by_hand",
        path=path,
        key=SECTION,
        hint=f"Nothing was changed. Say there by hand: {SECTION}: {{{by_hand}}}",
    )


def _parsed(text: str) -> Any:  # noqa: ANN401 - whatever the text holds
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return None
