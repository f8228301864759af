"""The fields that notes of other programs have in front, between two ``---`` lines.

Read as lines and not as YAML: two of the programs write plain lines, and what is read must never be more than text.
"""

from __future__ import annotations

import re

_MARK = "---"
_FIELD = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?")
_QUOTED = re.compile(r"(['\"])(.*)\1")


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields and the rest of a text; no fields, and the whole text, where none are in front.

    A list below a field, or a value of several lines, comes as one value with ``, `` between its lines.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != _MARK:
        return {}, text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _MARK), None)
    if end is None:
        return {}, text
    fields: dict[str, str] = {}
    last = ""
    for line in lines[1:end]:
        # Fields below an empty one (`metadata:`) count as fields of their own.
        nested = bool(last) and not fields[last] and line.startswith(" ")
        found = _FIELD.fullmatch(line.strip() if nested else line.rstrip())
        if found and nested:
            fields.setdefault(found[1], _plain(found[2] or ""))
        elif found:
            last = found[1]
            fields[last] = _plain(found[2] or "")
        elif last and line.strip():
            more = _plain(re.sub(r"^\s*(?:- )?", "", line).strip())
            fields[last] = f"{fields[last]}, {more}" if fields[last] else more
    return (fields, "\n".join(lines[end + 1 :])) if fields else ({}, text)


def _plain(value: str) -> str:
    quoted = _QUOTED.fullmatch(value.strip())
    return quoted[2] if quoted else value.strip()
