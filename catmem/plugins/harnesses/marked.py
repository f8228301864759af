"""A marked block in a text that others write too: found by its name, put in, replaced in its place, taken out again.

Nothing outside of the block changes by a byte. Markers that are not whole pairs leave the text as it is: a begin
without an end could pair with the end of another block, and what stands between would be lost. The line that begins a
block says what was put before and behind it, so what takes it out needs to know no more.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import NamedTuple

from catmem.errors import EditError
from catmem.text import BOM, dominant_newline, unify_newlines, with_newline

_MARK = re.compile(r"<!-- catmem:(begin|end|file) ([a-z0-9][a-z0-9-]{0,63})((?: [a-z]+=[0-9a-z]+)*) -->[ \t\r]*")
_LIKE_A_MARK = re.compile(r"catmem:(?:begin|end|file)\b", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_FRONTMATTER = re.compile(rf"{BOM}?---[ \t]*\r?\n(?:[^\n]*\n)*?---[ \t]*(?:\r?\n|\Z)")
_DIGITS = 12


class MarkedBlock(NamedTuple):
    """Where a block stands in a text: its begin line, what it holds, its end line; and what the begin line says."""

    start: int
    inner: int
    inner_end: int
    end: int
    said: Mapping[str, str]

    def held(self, text: str) -> str:
        """What it holds, with lines that end in LF."""
        return unify_newlines(text[self.inner : self.inner_end])

    def is_as_written(self, text: str) -> bool:
        """Whether it holds what catmem wrote."""
        return self.said.get("sha") == digest(self.held(text))


def digest(text: str) -> str:
    """The digest of some text as markers and the lock have it."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]


def find(text: str, name: str) -> MarkedBlock | None:
    """The block of that name; ``None`` for none. Raises ``EditError`` (``bad_markers``)."""
    pairs: dict[str, MarkedBlock] = {}
    wrong: list[int] = []
    fenced: list[int] = []
    fence, begun, offset = "", None, 0
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.removeprefix(BOM)
        here, offset = offset + len(whole) - len(line), offset + len(whole) + 1
        mark = _MARK.fullmatch(line)
        if mark is None and _LIKE_A_MARK.search(line) is None:
            fence = "" if begun else _fence_after(line, fence)
        elif fence:
            fenced += [number] if name in line else []
        elif mark is None or mark[1] == "file":
            wrong.append(number)
        elif mark[1] == "begin" and begun is None and mark[2] not in pairs:
            begun = number, here, min(offset, len(text)), mark
        elif mark[1] == "end" and begun is not None and begun[3][2] == mark[2]:
            said = dict(each.split("=") for each in begun[3][3].split())
            pairs[mark[2]] = MarkedBlock(begun[1], begun[2], here, min(offset, len(text)), said)
            begun = None
        else:
            wrong.append(number)
    wrong += [begun[0]] if begun else []
    if wrong or fenced:
        raise _bad_markers(name, wrong + fenced)
    return pairs.get(name)


def _fence_after(line: str, fence: str) -> str:
    """Which fence of code is open behind a line, where ``fence`` is open before it."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return "" if found[1][0] == "`" and "`" in found[2] else found[1]
    closes = found[1].startswith(fence) and not found[2].strip()
    return "" if closes else fence


def _bad_markers(name: str, lines: list[int]) -> EditError:
    shown = ", ".join(str(each) for each in sorted(set(lines))[:6])
    return EditError(
        f"the markers of catmem are not whole pairs (line {shown})",
        code="bad_markers",
        hint="The file is as it was. Give each begin its end, or take these lines out with the whole block, which "
        f"holds copies; then run catmem sync {name}.",
    )


def with_block(text: str, name: str, body: str, root: str, *, at_top: bool) -> str:
    """The text with a new block: behind the front matter, or at the end. Raises ``EditError`` (``bad_markers``)."""
    newline = dominant_newline(text)
    if at_top:
        front = _FRONTMATTER.match(text)
        place = front.end() if front else len(BOM) if text.startswith(BOM) else 0
    else:
        place = len(text)
        _refuse_open_fence(text, name)
    head, tail = text[:place], text[place:]
    before = 0 if not head.removeprefix(BOM) else 1 if head.endswith("\n") else 2
    before -= 1 if before and at_top else 0
    after = 1 if tail else 0
    said = {"root": root, "before": str(before), "after": str(after)}
    return head + before * newline + _block(name, body, said, newline) + newline + after * newline + tail


def _refuse_open_fence(text: str, name: str) -> None:
    fence = ""
    for line in text.split("\n"):
        fence = _fence_after(line, fence)
    if fence:
        raise EditError(
            "a fence of code is open at the end of the file, and a block behind it would be code",
            code="bad_markers",
            hint=f"The file is as it was. Close the fence, then run catmem sync {name}.",
        )


def replaced(text: str, name: str, block: MarkedBlock, body: str, root: str) -> str:
    """The text with another body in the place of the block's."""
    newline = dominant_newline(text)
    said = {"root": root, **{key: block.said[key] for key in ("before", "after") if key in block.said}}
    ending = newline if text[: block.end].endswith("\n") else ""
    return text[: block.start] + _block(name, body, said, newline) + ending + text[block.end :]


def _block(name: str, body: str, said: Mapping[str, str], newline: str) -> str:
    """The lines of a block, without the end of the last; a blank line at each end makes comments of its markers."""
    held = f"\n{body}\n"
    words = " ".join(f"{key}={value}" for key, value in {"v": "1", **said, "sha": digest(held)}.items())
    return with_newline(f"<!-- catmem:begin {name} {words} -->\n{held}<!-- catmem:end {name} -->", newline)


def without(text: str, block: MarkedBlock) -> str:
    """The text that there was before the block was put in, and what was written outside of it since."""
    newline = dominant_newline(text)
    before, after = (newline * _count(block.said.get(key)) for key in ("before", "after"))
    head, tail = text[: block.start].removesuffix(before), text[block.end :].removeprefix(after)
    joins = head.removeprefix(BOM) and tail and not head.endswith("\n") and not tail.startswith(("\n", "\r\n"))
    return head + (newline if joins else "") + tail


def _count(said: str | None) -> int:
    return int(said) if said in {"1", "2"} else 0


# --- files that catmem has for itself --------------------------------------------------------------------------------


class OwnedFile(NamedTuple):
    """A file that catmem wrote whole: what its mark says, and whether it holds what catmem wrote."""

    said: Mapping[str, str]
    is_as_written: bool


def owned_text(name: str, front: str, body: str, root: str) -> str:
    """The text of a file that catmem has for itself, with its mark behind the front matter."""
    mark = f"<!-- catmem:file {name} v=1 root={root} sha={digest(front + body)} -->"
    return f"{front}{mark}\n\n{body}"


def owned(text: str, name: str) -> OwnedFile | None:
    """What a text says of itself; ``None`` for one that another program or a person wrote."""
    whole = unify_newlines(text)
    front = _FRONTMATTER.match(whole)
    head = front[0] if front else ""
    line, _, rest = whole[len(head) :].partition("\n")
    mark = _MARK.fullmatch(line)
    if mark is None or mark[1] != "file" or mark[2] != name:
        return None
    said = dict(each.split("=") for each in mark[3].split())
    return OwnedFile(said, said.get("sha") == digest(head + rest.removeprefix("\n")))
