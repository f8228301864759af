"""What a declared entity holds, as bytes, and the merge of two versions of it.

A text is its UTF-8. A JSON value is kept canonical: keys sorted, no spaces, UTF-8, nothing behind it; so equal values
have equal digests. What a person wrote into the file stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from catmem.config.config import DeclaredEntity
from catmem.config.json_schema import shown
from catmem.digest import canonical_json
from catmem.envelopes.envelope import fields_of, json_of
from catmem.errors import CatmemError, EditError, NotUtf8Error, TooLargeError, UnreadableError
from catmem.names import PURGED
from catmem.text import decode, equal_ends

MOST_BYTES = 1_000_000
"""Of a content, as it is kept."""

_NOTHING: Any = object()
"""What stands where a side has no value."""


class ContentConflict(NamedTuple):
    """A place that both sides changed: a JSON pointer (empty for the whole) or lines, and what stands there."""

    place: str
    base: str | None
    ours: str | None
    theirs: str | None


class MergedContent(NamedTuple):
    """What a merge gives: where both sides changed a place, ``data`` has ours, or theirs if that was to win."""

    data: bytes
    conflicts: Sequence[ContentConflict]


Settle: TypeAlias = Callable[[ContentConflict], object]
"""Says which side wins a conflict; where that is not ``theirs`` ours stays."""


def content_bytes(declared: DeclaredEntity, content: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """The bytes of a content. Raises ``EditError`` (``bad_content``) for no text, ``TooLargeError``."""
    if declared.content == "json":
        data = canonical_json(content)
    elif isinstance(content, str):
        data = content.encode()
    else:
        raise EditError(
            f"{declared.name} holds a text, and this is {shown(content)}",
            code="bad_content",
            hint="Nothing was written. Give a text, or declare the entity with content: json.",
        )
    if len(data) > MOST_BYTES:
        raise TooLargeError("content", len(data), MOST_BYTES)
    return data


def plain_content(declared: DeclaredEntity, content: Any) -> Any:  # noqa: ANN401 - any JSON value
    """A value of a program as JSON has it. Raises ``EnvelopeError`` for what JSON cannot say, or nested too deep."""
    return fields_of({"entity_id": declared.name, "content": content})["content"]


class EntityContent(NamedTuple):
    """What an entity says, and the ``revision`` that a change of it gives as ``expected``.

    ``value`` is ``None`` for a JSON entity that was never written, whose revision is ``0``. After a change by another
    program the revision is the digest of the bytes.
    """

    value: Any
    revision: str


def content_of(declared: DeclaredEntity, data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """The content in some bytes, ``None`` where a JSON entity has none yet."""
    name = declared.name
    hint = f"'catmem diff {name}' shows it. Mend it by hand, or take an old revision ('catmem log {name}') back: "
    hint += f"catmem restore {name} REVISION."
    try:
        text = decode(data)
    except NotUtf8Error as error:
        error.path, error.hint = name, hint
        raise
    if declared.content == "text" or not data:
        return text if declared.content == "text" else None
    try:
        return plain_content(declared, json_of(text))
    except CatmemError as error:
        raise UnreadableError(f"{name}: {error.message}", code="not_json", hint=hint) from error


def merge_contents(
    declared: DeclaredEntity,
    base: bytes | None,
    ours: bytes,
    theirs: bytes,
    settle: Settle = lambda _: None,
) -> MergedContent:
    """Bring two versions together by what each changed of ``base``, ``None`` where they have no one origin."""
    # Objects are merged by key, on every level; a key that both changed is a conflict, and so is any other value. A
    # text merges where the stretch of lines that one side changed does not touch that of the other. `settle` says which
    # side wins a conflict.
    # What was purged as a whole says nothing.
    purged = {PURGED.encode(), canonical_json(PURGED)}
    base = None if base in purged else base
    if theirs in {ours, base, *purged}:
        return MergedContent(ours, ())
    if base == ours:
        return MergedContent(theirs, ())
    conflicts: list[ContentConflict] = []
    sides = [content_of(declared, side or b"") for side in (base, ours, theirs)]
    if declared.content == "text":
        merged = _merge_lines([side.splitlines(keepends=True) for side in sides], settle, conflicts)
        return MergedContent(merged.encode(), conflicts)
    values = [value if data else _NOTHING for value, data in zip(sides, (base, ours, theirs), strict=True)]
    if values[0] is _NOTHING and isinstance(values[1], dict) and isinstance(values[2], dict):
        values[0] = {}
    value = _merge_values(values, "", settle, conflicts)
    return MergedContent(b"" if value is _NOTHING else canonical_json(value), conflicts)


def _merge_values(values: Sequence[Any], place: str, settle: Settle, conflicts: list[ContentConflict]) -> Any:  # noqa: ANN401
    base, ours, theirs = values
    if _says(ours) == _says(theirs) or _says(base) == _says(theirs):
        return ours
    if _says(base) == _says(ours):
        return theirs
    if all(isinstance(side, dict) for side in values):
        merged = {}
        for key in {**base, **ours, **theirs}:
            name = key.replace("~", "~0").replace("/", "~1")
            sides = [side.get(key, _NOTHING) for side in values]
            value = _merge_values(sides, f"{place}/{name}", settle, conflicts)
            if value is not _NOTHING:
                merged[key] = value
        return merged
    conflicts.append(ContentConflict(place, _says(base), _says(ours), _says(theirs)))
    return theirs if settle(conflicts[-1]) == "theirs" else ours


def says_at(data: bytes, place: str) -> str | None:
    """What a JSON content says at the place of a conflict, ``None`` for nothing: so of lines of a text."""
    if place and not place.startswith("/"):
        return None
    value = json_of(data.decode()) if data else _NOTHING
    for name in place.split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        value = value.get(key, _NOTHING) if isinstance(value, dict) else _NOTHING
    return _says(value)


def _says(value: Any) -> str | None:  # noqa: ANN401 - any JSON value
    # Not by ==, for which 1, 1.0 and true are one.
    return None if value is _NOTHING else canonical_json(value).decode()


def _merge_lines(texts: Sequence[list[str]], settle: Settle, conflicts: list[ContentConflict]) -> str:
    """Each side changed one stretch of the lines of the base: from the first to the last that differs."""
    base, *sides = texts
    stretches = []
    for side in sides:
        start, same = equal_ends(base, side)
        stretches.append((start, len(base) - same, side[start : len(side) - same]))
    (begun, ended, lines), (next_begun, next_ended, next_lines) = sorted(stretches, key=lambda each: each[:2])
    if ended < next_begun:
        return "".join([*base[:begun], *lines, *base[ended:next_begun], *next_lines, *base[next_ended:]])
    end = max(ended, next_ended)
    texts_there = ["".join([*base[begun:start], *new, *base[stop:end]]) for start, stop, new in stretches]
    place = f"line {begun + 1}" if end <= begun + 1 else f"lines {begun + 1} to {end}"
    conflicts.append(ContentConflict(place, "".join(base[begun:end]), *texts_there))
    return "".join([*base[:begun], texts_there[settle(conflicts[-1]) == "theirs"], *base[end:]])
