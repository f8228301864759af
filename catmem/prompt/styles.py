"""The three styles of a prompt: how categories and entries are framed.

The promise of every style: no line of an entry can be read as a line of the frame. ``markdown`` indents every line of
an entry under its bullet (one that is a list has several), ``xml`` encodes what markup is made of, ``hermes`` puts a
backslash before lines that look like its frame. What begins like a note where notes stand gets a backslash too. Line
ends that other programs know (U+2028, VT, a lone CR …) become plain ones first, so that none of them hides a line.

A rendering is a list of pieces, each with its owner, so that a finding in the whole text leads back to the entries it
touches.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from catmem.model.document import Entry
from catmem.staleness.freshness import UNVERIFIED, Freshness
from catmem.threats import DEFAULT_LIMIT, Threat
from catmem.threats.finding import pattern
from catmem.threats.fold import Folded, fold_word

Style = Literal["markdown", "xml", "hermes"]

_XML_CANNOT_HOLD = pattern(r"[\x00-\x08\x0e-\x1b\x1f\ufffe\uffff]")
_REPLACEMENT = "\ufffd"

# The block that Hermes Agent 0.19.0 shows (tools/memory_tool.py, `_render_block`), so that a prompt looks the same to
# it.
_HERMES_RULE = "═" * 46
_HERMES_DELIMITER = "\n§\n"
_BULLETS = {"- ", "* ", "+ "}
_HERMES_HEADERS = {"user": "USER PROFILE (who the user is)", "memory": "MEMORY (your personal notes)"}
_HERMES_FRAME = pattern(r"\\*(?:\s*§\s*\Z|\s*═|\s*(?:USER PROFILE|MEMORY) \()")

# The words of our notes in folded letters, and where such words end: `(stale: …`, `( UN-VERIFIED )`, `[expired 2026-…`.
_NOTE_WORDS = frozenset(map(fold_word, ("unverified", "stale", "stalecreated", "staleverified", "expired")))
_NOTE_END = re.compile(r"[:;,)\]}\u3011\u3015\u2013\u2014]|\s\d")
_NOT_WORDS = re.compile(r"[\W_]*")
_NOTE_REACH = 64
_BLOCKED_LINE = re.compile(r"[\W_]*?(\[\s*BLOCKED\s*:[^\]]*\])[\W_]*\Z", re.IGNORECASE)

_HEADINGS = {"user": "About the user", "memory": "Notes"}


@dataclass(slots=True, eq=False)
class Fact:
    """One entry on its way into a prompt. ``row`` is its place in the manifest, ``is_plain`` what ``is_plain`` says."""

    row: int
    entry: Entry
    target: str
    body: str
    freshness: Freshness
    note: str | None
    is_plain: bool = False
    blocked: str | None = None
    """Names of the rules for which it is withheld."""
    dated_out: str | None = None
    """Which date keeps it out."""
    over_budget: tuple[str, int] | None = None
    """The name of the budget that keeps it out, and how much that is."""
    scanned: bool = False
    _rendered: tuple[object, str] | None = None

    @property
    def out(self) -> str | None:
        """Why it is left out; ``None`` while it is in."""
        if self.over_budget is None or self.dated_out:
            return self.dated_out
        name, budget = self.over_budget
        return f"over the {name} budget of {budget:,}"

    def rendered(self, render: Callable[[Fact, str | None], str], note: str | None) -> str:
        """What ``render`` makes of it with this note; kept for the next rendering, until the note is another."""
        if self._rendered is None or self._rendered[0] != note:
            self._rendered = note, render(self, note)
        return self._rendered[1]

    @property
    def is_as_stored(self) -> bool:
        """Whether the scan of the prompt sees its body as it stands in the file, with nothing behind it on its line."""
        is_last = self._rendered is not None and self._rendered[1].removesuffix("\n").endswith(self.body)
        return is_last and len(self.body) <= DEFAULT_LIMIT

    def withhold(self, findings: Iterable[Threat]) -> None:
        """Show the names of the rules in its place."""
        rules = sorted({finding.rule for finding in findings})
        self.blocked, self.is_plain, self._rendered = ", ".join(rules), False, None


def is_plain(body: str) -> bool:
    """Whether a body is one line that begins with a letter or number, as no line of a frame and no note does."""
    if not body[:1].isalnum() or len(body.splitlines()) != 1 or len(body) > DEFAULT_LIMIT:
        return False
    return body[0] not in "UM" or not body.startswith(("USER PROFILE (", "MEMORY ("))


class StyledCategory(NamedTuple):
    """The facts of one category; ``title`` is ``None`` when the title itself is withheld."""

    slug: str
    title: str | None
    facts: tuple[Fact, ...]

    @property
    def shared_note(self) -> str | None:
        """The note of all its facts, if all are unverified: said once, it need not be said of each."""
        alike = all(fact.note == UNVERIFIED.note for fact in self.facts)
        return UNVERIFIED.note if alike else None


class Block(NamedTuple):
    """One target (``user`` or ``memory``); ``limit`` is its budget in characters, if it has one."""

    target: str
    categories: tuple[StyledCategory, ...]
    limit: int | None


Piece = tuple[str, "int | str | None"]
"""Some text of a prompt, and the fact (by index) or category (by slug) it comes from; ``None`` for the frame."""


def render(block: Block, style: Style) -> list[Piece]:
    """The pieces of a target, the first of which opens it. A target or a category without facts has none."""
    filled = tuple(category for category in block.categories if category.facts)
    return list(_RENDERERS[style](Block(block.target, filled, block.limit))) if filled else []


def budgeted_text(pieces: Sequence[Piece], style: Style) -> str:
    """The part of one target's pieces that its budget counts: everything, but in ``hermes`` only the joined entries."""
    return text_of(pieces[1:-1] if style == "hermes" else pieces)


def text_of(pieces: Iterable[Piece]) -> str:
    """Pieces as text."""
    return "".join([text for text, _ in pieces])


def blocked_line(rules: str) -> str:
    """What stands in the place of an entry or a title that the scan withholds."""
    return f"[BLOCKED: {rules}]"


def _lines(text: str) -> list[str]:
    # Here, and nowhere else, a line ends at whatever any program takes for a line end. Bodies and titles are stripped,
    # so none is empty and none ends in a newline.
    return text.splitlines()


def _markdown(block: Block) -> Iterator[Piece]:
    yield (f"# {_HEADINGS.get(block.target, block.target)}\n", None)
    for category in block.categories:
        shared = category.shared_note
        yield ("\n## ", None)
        yield (_heading(category), category.slug)
        yield (f" ({shared})\n" if shared else "\n", None)
        for fact in category.facts:
            yield (fact.rendered(_bullet, None if shared else fact.note), fact.row)


def _bullet(fact: Fact, note: str | None) -> str:
    if fact.is_plain and note is None:
        return f"- {fact.body}\n"
    lines = _lines(_shown_body(fact))
    is_list = lines[0][:2] in _BULLETS
    if is_list and note is None:
        return "\n".join(map(_listed, lines)) + "\n"
    if is_list and not any(line[:2] in _BULLETS for line in lines[1:]):
        lines = [lines[0][2:], *(line.removeprefix("  ") for line in lines[1:])]  # a list of one is not put into a list
    first, *others = _noted([lines[0] if fact.blocked else _unlike_note(lines[0]), *lines[1:]], note)
    return "\n".join([f"- {first}", *map(_indented, others)]) + "\n"


def _listed(line: str) -> str:
    """A line of an entry that is a list: it is not put into another, its bullets are those of the category."""
    return f"- {_unlike_note(line[2:])}" if line[:2] in _BULLETS else _indented(line.removeprefix("  "))


def _indented(line: str) -> str:
    return f"  {line}" if line.strip(" ") else ""


def _shown_body(fact: Fact) -> str:
    return blocked_line(fact.blocked) if fact.blocked else fact.body


def _unlike_note(line: str) -> str:
    place = _note_at(line)
    return line if place is None else f"{line[:place]}\\{line[place:]}"


def _note_at(line: str) -> int | None:
    """Where a line opens the bracket of what reads as a note of ours at its beginning, or as a withheld entry."""
    if line[:1].isalnum():
        return None
    if blocked := _BLOCKED_LINE.match(line):
        return blocked.start(1)
    front = _NOT_WORDS.match(line, 0, _NOTE_REACH)
    end = front.end() if front else 0
    words = _NOTE_END.split(unicodedata.normalize("NFKC", line[end : end + _NOTE_REACH]), maxsplit=1)[0]
    if Folded(words).letters not in _NOTE_WORDS:
        return None
    return next((place for place in range(end) if unicodedata.category(line[place]) in {"Ps", "Pi"}), None)


def _noted(lines: list[str], note: str | None) -> list[str]:
    """An entry's lines with a note in front: above several lines, so that it never stands before a fence or a list."""
    if note is None:
        return lines
    return [f"({note}) {lines[0]}"] if len(lines) == 1 else [f"({note})", *lines]


def _heading(category: StyledCategory) -> str:
    """A title as one line; what it ends with is no note of ours, which would stand for every entry below."""
    title = " ".join(_lines(blocked_line("title") if category.title is None else category.title))
    brackets = [place for place, letter in enumerate(title) if unicodedata.category(letter) in {"Ps", "Pi"}]
    if category.title is None or not brackets or _note_at(title[brackets[-1] :]) is None:
        return title
    return f"{title[: brackets[-1]]}\\{title[brackets[-1] :]}"


def _xml(block: Block) -> Iterator[Piece]:
    yield (f'<memory target="{block.target}">\n', None)
    for category in block.categories:
        shared = category.shared_note
        yield ("<category name=", None)
        yield (f'"{_encoded("blocked" if category.title is None else category.slug)}"', category.slug)
        yield (' state="unverified">\n' if shared else ">\n", None)
        for fact in category.facts:
            yield (fact.rendered(_element, None if shared else fact.note), fact.row)
        yield ("</category>\n", None)
    yield ("</memory>\n", None)


def _element(fact: Fact, note: str | None) -> str:
    """One entry; without a ``note`` its category names its state already."""
    attributes = ""
    if fact.freshness.basis:
        name = {"verified_date": "verified", "created": "created", "expires": "expired"}[fact.freshness.basis]
        attributes += f' {name}="{fact.freshness.day}"'
    if note and fact.freshness.state in {"stale", "unverified"}:
        attributes += f' state="{fact.freshness.state}"'
    text = "\n".join(_lines(_shown_body(fact)))
    if not fact.blocked and (imitated := _BLOCKED_LINE.match(text)):
        text = f"{text[: imitated.start(1)]}\\{text[imitated.start(1) :]}"
    return f"<entry{attributes}>{_XML_CANNOT_HOLD.sub(_REPLACEMENT, _encoded(text))}</entry>\n"


def _encoded(text: str) -> str:
    # `xml.sax.saxutils` does the same, and loads what opens web pages: a fifth of the start of `catmem prompt`.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _hermes(block: Block) -> Iterable[Piece]:
    facts = [fact for category in block.categories for fact in category.facts]
    texts = [fact.body if fact.is_plain else fact.rendered(_hermes_entry, fact.note) for fact in facts]
    size = sum(map(len, texts)) + len(_HERMES_DELIMITER) * (len(texts) - 1)
    header = _HERMES_HEADERS.get(block.target, block.target)
    if block.limit is None:
        header += f" [{size:,} chars]"
    else:
        percent = min(100, int(size / block.limit * 100))  # in floats, as Hermes has it: 638 of 2,200 are 28 there
        header += f" [{percent}% — {size:,}/{block.limit:,} chars]"
    between: Piece = (_HERMES_DELIMITER, None)
    pieces = [between] * (2 * len(facts) - 1)
    pieces[::2] = zip(texts, [fact.row for fact in facts], strict=True)
    return [(f"{_HERMES_RULE}\n{header}\n{_HERMES_RULE}\n", None), *pieces, ("\n", None)]


def _hermes_entry(fact: Fact, note: str | None) -> str:
    # The notes of this style stand in the text, so none of the entry's own begins it.
    first, *others = _lines(_shown_body(fact))
    first = first if fact.blocked else _unlike_note(first)
    lines = [f"\\{line}" if _HERMES_FRAME.match(line) else line for line in (first, *others)]
    # Hermes shows unverified entries as they are, and nearly all of its files are undated: only dates are said here.
    return "\n".join(_noted(lines, None if note == UNVERIFIED.note else note))


_RENDERERS: dict[Style, Callable[[Block], Iterable[Piece]]] = {"markdown": _markdown, "xml": _xml, "hermes": _hermes}
STYLES: tuple[Style, ...] = tuple(_RENDERERS)
BETWEEN: dict[Style, str] = {"markdown": "\n", "xml": "", "hermes": "\n"}
"""What stands between two targets."""
