r"""Tag blocks: reading them off an entry, and writing them in front of a body (``docs/format.md``, "Tags").

The grammar is a corner of YAML's flow and block syntax with strings only. It is a little narrower than the words of the
format, by what PyYAML, the YAML reader that Python users have, reads otherwise: no tab inside a group, no ``?`` in a
plain value of a group, no plain value that begins or ends with ``:`` or is a lone ``-``, no control characters. Such
values are written in quotes. A property test holds the two readers together.

All patterns are linear: runs are possessive and alternatives exclude each other by their first character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from catmem.errors import EditError
from catmem.text import MAX_TAG_CHARS

# What YAML cannot hold unescaped, or takes for the end of a line.
_RARE = r"\u2028\u2029\ud800-\udfff\ufffe\uffff"
_CONTROL = r"\x00-\x1f\x7f-\x9f" + _RARE
# YAML looks no further than 1,024 characters for the colon behind a key.
_KEY = r"[a-z][a-z0-9_-]{0,1023}+"
# Groups are repeated within `(?>...)`: Python 3.11 before 3.11.5 matches `(?:...)*+` wrongly (CPython's gh-106052).
_QUOTED = rf'"(?>(?:[^"\\{_CONTROL}]|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{{4}}))*)"'


def _plain(forbidden: str) -> str:
    """A plain value: words with single or more spaces between; ``forbidden`` are the characters it may not hold."""
    follows_colon = rf"(?=[^ {forbidden}{_CONTROL}])"
    character = rf"(?:[^ :#{forbidden}{_CONTROL}]|:{follows_colon})"
    first = rf"(?:[^ :#?,'&*!|>%@`\-{forbidden}{_CONTROL}]|-{follows_colon})"
    in_word = rf"(?>(?:{character}|#)*)"
    return rf"{first}{in_word}(?>(?:\ ++{character}{in_word})*)"


_FLOW_PLAIN = _plain(r"\[\]{}\"?,")
_BLOCK_PLAIN = _plain(r"\[\]{}\"")
_FLOW_ITEM = f"(?:{_QUOTED}|{_FLOW_PLAIN})"
# What repeats is written once, with `(?<=\[)` for the first: each set of characters takes a while to compile.
_LIST = rf"\[(?>(?:(?:(?<=\[)|(?<!\[),)\ *+{_FLOW_ITEM}\ *+)+)\]"
_PAIR = rf"{_KEY}:\ ++(?>(?:{_QUOTED}|{_LIST}|{_FLOW_PLAIN})?)\ *+"

_GROUP = rf"\[(?>(?:(?:(?<=\[)|(?<!\[),\ *+){_PAIR})+)\]"
_PAIRS = rf"({_KEY}):\ ++(?>({_QUOTED}|{_LIST}|{_FLOW_PLAIN})?)\ *+(?:,\ *+)?"
_BLOCK_PAIR = rf"({_KEY}):(?:\ ++(?>({_QUOTED}|{_LIST}|{_BLOCK_PLAIN})?)\ *+)?(?:\n|\Z)"
_BLOCK_ITEM = rf"(\ *+)-\ ++({_QUOTED}|{_BLOCK_PLAIN})\ *+(?:\n|\Z)"
_KEY_PATTERN = re.compile(_KEY)

_MARKER = re.compile(r"[-*+] ")
_BLANKS = (" ", "\t")
_ENDS_GROUP = ("", "\n", *_BLANKS)
_FENCE = re.compile(r"---[ \t]*+(?:\n|\Z)")

# What reading takes one backslash from, and what looks so much like tags that a body may not begin with it.
_TAG_ESCAPE = re.compile(r"(?:[-*+] )?\\++(?=\[[a-z][a-z0-9_-]*+:[ \t]|---[ \t]*+(?:\n|\Z))")


# A set that reaches beyond Latin-1 takes three times as long to compile, and hardly a text has what it is for.
def _reading(pattern: str, text: str) -> re.Pattern[str]:
    """A pattern from above for a search in ``text``."""
    return _compiled(pattern, not text.isascii() and re.search(f"[{_RARE}]", text) is not None)


@cache
def _compiled(pattern: str, has_rare: bool) -> re.Pattern[str]:  # noqa: FBT001 - a key of the cache
    return re.compile(pattern if has_rare else pattern.replace(_RARE, ""))


TagPairs = tuple[tuple[str, str | tuple[str, ...]], ...]
"""Every ``key: value`` of a tag block in order, repeated keys included; a list value is a tuple."""

MAY_BEGIN = frozenset("[-*+\\")
"""What the text of an entry with a tag block, or with an escaped one, begins with."""


def read(text: str) -> tuple[TagPairs, str]:
    """What the tag block of an entry's text says, and its body: what follows, unescaped.

    The text is stripped, and its lines end in LF. A tag block over its limit is text.
    """
    return _read(text) if text[:1] in MAY_BEGIN else ((), text)


@lru_cache(maxsize=16_384)  # an entry is asked for its body, its tags and its id, one after the other
def _read(text: str) -> tuple[TagPairs, str]:
    block = _block_within_limit(text)
    return (block.pairs(text) if block else ()), _body(text, block)


def _body(text: str, block: _Groups | _Frontmatter | None) -> str:
    body = _behind(text, block) if block else text
    if "\\" in body[:3] and _TAG_ESCAPE.match(body):
        backslash = body.index("\\")
        return body[:backslash] + body[backslash + 1 :]
    return body


def block_size(text: str) -> int:
    """Characters of the tag block that ``text`` begins with, however large; 0 where it begins with none."""
    block = _block(text) if text[:1] in MAY_BEGIN else None
    return block.end if block else 0


class _Groups(NamedTuple):
    """Groups on the first line, perhaps behind a list marker."""

    marker: str
    spans: list[tuple[int, int]]
    end: int

    def pairs(self, text: str) -> TagPairs:
        found = _reading(_PAIRS, text).findall
        return tuple(
            (key, _value(value)) for start, end in self.spans for key, value in found(text, start + 1, end - 1)
        )


class _Frontmatter(NamedTuple):
    """A block between two ``---`` lines."""

    found: TagPairs
    end: int
    marker: str = ""

    def pairs(self, _text: str) -> TagPairs:
        return self.found


def _block_within_limit(text: str) -> _Groups | _Frontmatter | None:
    block = _block(text)
    return block if block and block.end <= MAX_TAG_CHARS else None


def _block(text: str) -> _Groups | _Frontmatter | None:
    if text.startswith("---"):
        return _frontmatter(text)
    marker = "" if text[0] == "[" or not _MARKER.match(text) else text[:2]
    spans = _groups(text, len(marker))
    return _Groups(marker, spans, spans[-1][1]) if spans else None


def _behind(text: str, block: _Groups | _Frontmatter) -> str:
    """The rest of the entry, with the list marker back in front if text follows the tags on their line."""
    rest = text[block.end :]
    if block.marker and rest.split("\n", 1)[0].strip():
        return block.marker + rest.strip()
    return rest.strip()


def _groups(text: str, position: int) -> list[tuple[int, int]]:
    """The groups that count, from the left: each followed by a blank, the line's end, or another that counts."""
    counted: list[tuple[int, int]] = []
    glued: list[tuple[int, int]] = []
    group = _reading(_GROUP, text)
    while match := group.match(text, position):
        glued.append(match.span())
        position = match.end()
        if text[position : position + 1] in _ENDS_GROUP:
            counted += glued
            glued.clear()
            while text[position : position + 1] in _BLANKS:
                position += 1
    return counted


def _value(source: str) -> str | tuple[str, ...]:
    if source.startswith("["):
        return tuple(_scalar(item) for item in _reading(_FLOW_ITEM, source).findall(source[1:-1]))
    return _scalar(source)


def _scalar(source: str) -> str:
    if source.startswith('"'):
        decoded: str = json.loads(source)
        return decoded
    return source


def _frontmatter(text: str) -> _Frontmatter | None:
    opening = _FENCE.match(text)
    if not opening:
        return None
    pairs: list[tuple[str, str | tuple[str, ...]]] = []
    position = opening.end()
    block_pair, block_item = _reading(_BLOCK_PAIR, text), _reading(_BLOCK_ITEM, text)
    while pair := block_pair.match(text, position):
        position = pair.end()
        if pair[2]:
            pairs.append((pair[1], _value(pair[2])))
            continue
        items, position = _block_items(block_item, text, position)
        if not items and pair[0].rstrip("\n").endswith(":"):
            return None  # `key:` alone says nothing: neither a value after a blank nor a list
        pairs.append((pair[1], items or ""))
    closing = _FENCE.match(text, position)
    return _Frontmatter(tuple(pairs), closing.end()) if closing and pairs else None


def _block_items(block_item: re.Pattern[str], text: str, position: int) -> tuple[tuple[str, ...], int]:
    """The ``- item`` lines from ``position``, all at one depth as YAML wants them, and where they end."""
    items: list[str] = []
    depth: str | None = None
    while (item := block_item.match(text, position)) and depth in {None, item[1]}:
        depth = item[1]
        items.append(_scalar(item[2]))
        position = item.end()
    return tuple(items), position


def write(tags: Mapping[str, str | Sequence[str]], body: str) -> str:
    """The text of an entry with these tags and this body; escapes of boundary lines are not in it yet."""
    # `body` is stripped, with lines ending in LF.
    return _join(write_block(tags) if tags else "", _escape_body(body))


def write_body(text: str, body: str) -> str:
    """An entry's text with another body behind its tag block, which stays as it was written."""
    block = _block_within_limit(text) if text[:1] in MAY_BEGIN else None
    if block is None:
        return _join("", _escape_body(body))
    return _join(text[len(block.marker) : block.end].rstrip("\n"), _escape_body(body))


def _join(block: str, body: str) -> str:
    """One line of body stands behind its tags (behind its list marker too); several lines stand below them."""
    if not block or not body:
        return block or body
    if "\n" in body or "\n" in block:
        return f"{block}\n{body}"
    marker = _MARKER.match(body)
    if marker and not body[marker.end()].isspace():
        return f"{marker.group()}{block} {body[marker.end() :]}"
    return f"{block} {body}"


def _escape_body(body: str) -> str:
    if not _TAG_ESCAPE.match(body) and not block_size(body):
        return body
    marker = _MARKER.match(body)
    start = marker.end() if marker else 0
    return f"{body[:start]}\\{body[start:]}"


def write_block(tags: Mapping[str, str | Sequence[str]]) -> str:
    """One group with all the tags: ``[verified_date: 2026-05-01, domain: [finance, legal]]``."""
    return "[" + ", ".join(f"{_checked_key(key)}: {_write_value(key, value)}" for key, value in tags.items()) + "]"


def _checked_key(key: str) -> str:
    if not _KEY_PATTERN.fullmatch(key):
        raise EditError(
            f"{key[:80]!r} cannot be the name of a tag",
            code="bad_tag",
            key=key,
            hint="A tag's name begins with a letter a-z; letters a-z, digits, _ and - may follow, up to 1,024 in all.",
        )
    return key


def _write_value(key: str, value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return _write_scalar(key, value)
    if not value:
        raise EditError(f"the tag {key} has an empty list", code="bad_tag", key=key, hint="Give one value or more.")
    return "[" + ", ".join(_write_scalar(key, item) for item in value) + "]"


def _write_scalar(key: str, value: str) -> str:
    if _reading(_FLOW_PLAIN, value).fullmatch(value):
        return value
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise EditError(f"the tag {key} holds a lone surrogate, which no UTF-8 file can", code="bad_tag", key=key)
    quoted = json.dumps(value, ensure_ascii=False)
    return _reading(f"[{_CONTROL}]", quoted).sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)
