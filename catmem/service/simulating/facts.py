"""Facts in a memory file: each an entry such as ``vendor is 3-17.``, so that it can be told what became of each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catmem.model.document import parse
from catmem.model.edit import add_entry, remove_entry, replace_entry
from catmem.service.simulating.plan import START, SUBJECTS

if TYPE_CHECKING:
    from catmem.model.document import Entry

CATEGORY = "shared-facts"
_FACT = re.compile(r"(.+) is (\S+)\.")


def first_text() -> bytes:
    """The memory file that an entity starts with."""
    entries = "\n§\n".join(f"{subject} is {START}." for subject in SUBJECTS)
    return f"## Shared Facts\n{entries}\n".encode()


def facts(data: bytes) -> dict[str, tuple[str, ...]]:
    """The values of each subject, sorted; two where a merge has kept both sides."""
    found: dict[str, list[str]] = {}
    for entry in parse(data).entries:
        subject, value = _read(entry)
        found.setdefault(subject, []).append(value)
    return {subject: tuple(sorted(values)) for subject, values in found.items()}


def with_fact(data: bytes, subject: str, value: str) -> tuple[bytes, list[str]]:
    """The file with a fact instead of what it said about the subject, and the values that had to go for it."""
    document = parse(data)
    about = [entry for entry in document.entries if _read(entry)[0] == subject]
    text = f"{subject} is {value}."
    if not about:
        return add_entry(document, text, category=CATEGORY).document.to_bytes(), []
    removed = [_read(entry)[1] for entry in about]
    document = replace_entry(document, about[0], text).document
    for _ in about[1:]:
        spare = next(entry for entry in document.entries if _read(entry)[0] == subject and entry.body != text)
        document = remove_entry(document, spare).document
    return document.to_bytes(), removed


def _read(entry: Entry) -> tuple[str, str]:
    match = _FACT.fullmatch(entry.body)
    return (match[1], match[2]) if match else (entry.body, "")
