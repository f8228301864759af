"""Where delimiters, section headers and the title of a memory file stand, and what escapes them (``docs/format.md``).

``scan`` reads the whole text; ``rescan`` reads only what an edit touched and gives the same result. Both are linear:
the regular expressions run once over the text and look closer only where a line begins with ``##``.

A *stretch* is what lies between two delimiter lines. Nothing that stands in one stretch changes how another one is cut.
A *piece* is what lies between two boundaries of any kind: an entry, or nothing but blanks.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from catmem.names import UNCATEGORIZED, slugify
from catmem.text import BOM

MAX_HEADING = 1024
"""A heading line over this many characters is entry text, which also bounds the cost of normalising a title."""

_DELIMITER = re.compile(r"\n§[ \t]*+(?=\r?\n|\r?\Z)")
_HEADING_2 = re.compile(r"\n##[ \t]")
_NOT_SPACE = re.compile(r"\S")

_Delimiters: TypeAlias = "tuple[tuple[int, ...], tuple[int, ...]]"  # newlines and widths, as in `Scan`


class Header(NamedTuple):
    """A section header: its line (the newline not included), its title and the category that it opens."""

    start: int
    end: int
    title: str
    category: str


class Title(NamedTuple):
    """The document's title: its line (the newline not included) and its text."""

    start: int
    end: int
    text: str


class Categories(NamedTuple):
    """Which titles open sections, and for which category: what a root declares, as the scanner needs it.

    ``stands_for`` maps a slug to the category it stands for (aliases, and each category itself). With ``only`` a title
    whose slug is not in it is entry text; without, it opens the category of its own slug.
    """

    stands_for: Mapping[str, str]
    only: bool = False

    def category(self, title: str) -> str | None:
        """The category that a title opens; ``""`` for a title without a slug, ``None`` for entry text."""
        slug = slugify(title)
        if not slug or slug == UNCATEGORIZED:
            return slug
        return self.stands_for.get(slug, None if self.only else slug)


ANY_CATEGORY = Categories({})


class RescanOrigin(NamedTuple):
    """What a rescan knows of the scan of the old text."""

    blanks: list[tuple[int, ...]]
    """The old scan's own ``_blanks``: empty until it was asked for them."""
    stretches: tuple[int, int] | None
    """Where in the old text the stretches lie that changed; ``None`` where more may have changed."""
    shift: int
    """By how much the new text is longer."""


@dataclass(frozen=True, slots=True)
class Scan:
    """The boundaries of one text. Delimiters and headers are in file order."""

    text: str
    categories: Categories
    newlines: tuple[int, ...]
    """Where delimiter lines begin: the newline in front of each ``§``; -1 or the BOM's offset on the first line."""
    widths: tuple[int, ...]
    """How long they are, with their blanks. They stand apart, so that an edit shifts plain numbers alone."""
    headers: tuple[Header, ...]
    slugless: tuple[int, ...]
    """Where level-2 headings without a slug stand; they are entry text, and a problem."""
    title: Title | None
    always_titled: bool = False
    """Whether a leading level-1 heading is the title also without sections, as a merge reads it."""
    origin: RescanOrigin | None = field(default=None, repr=False, compare=False)
    """What ``rescan`` made it of; ``None`` for a text that was read as a whole."""
    _blanks: list[tuple[int, ...]] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def start(self) -> int:
        """Where the text begins: behind the BOM, if there is one."""
        return 1 if self.text.startswith(BOM) else 0

    def delimiters_before(self, offset: int) -> int:
        """How many delimiter lines begin before an offset."""
        return bisect_left(self.newlines, offset)

    def delimiters(self, first: int = 0, last: int | None = None) -> list[tuple[int, int]]:
        """Where delimiter lines begin and end: all, or some by their numbers."""
        return [(at, at + width) for at, width in zip(self.newlines[first:last], self.widths[first:last], strict=True)]

    def stretch_at(self, number: int) -> int:
        """Where the stretch before a delimiter line begins, by the number of that."""
        return self.newlines[number - 1] + self.widths[number - 1] if number else self.start

    def changed_stretches(self, old: Scan) -> tuple[int, int] | None:
        """Where the stretches of ``old`` lie that this rescan of it changed; ``None`` where that is not certain."""
        return self.origin.stretches if self.origin and self.origin.blanks is old._blanks else None

    def stretches(self) -> Iterator[tuple[int, int]]:
        """The ``(start, end)`` of each stretch between delimiter lines, also before the first and after the last."""
        start = self.start
        for newline, end in self.delimiters():
            yield start, max(start, newline)
            start = end
        yield start, len(self.text)

    @property
    def blanks(self) -> tuple[int, ...]:
        """Where the pieces begin that hold no entry; a rescan looks only at the stretches that changed."""
        if not self._blanks:
            origin = self.origin
            if origin is None or origin.stretches is None or not origin.blanks:
                self._blanks.append(tuple(self._blanks_between(self.start, len(self.text))))
            else:
                (old,), (first, last), shift = origin.blanks, origin.stretches, origin.shift
                kept, behind = bisect_left(old, first), bisect_right(old, last)
                shifted = [offset + shift for offset in old[behind:]]
                self._blanks.append((*old[:kept], *self._blanks_between(first, last + shift), *shifted))
        return self._blanks[0]

    def _blanks_between(self, start: int, end: int) -> list[int]:
        text = self.text
        return [first for _, first, behind in pieces(self, start, end) if not text[first:behind].strip()]

    def entries_before(self, stretch: int) -> int:
        """How many entries stand before the stretch that begins at an offset."""
        return self._boundaries_before(stretch) - bisect_left(self.blanks, stretch)

    def _boundaries_before(self, position: int) -> int:
        """How many boundaries begin before a position; a delimiter line that is the first line does not count."""
        title = self.title
        return (
            self.delimiters_before(position)
            - self.delimiters_before(self.start)
            + _headers_before(self, position)
            + (title is not None and title.start < position)
        )


def scan(text: str, categories: Categories = ANY_CATEGORY, *, always_titled: bool = False) -> Scan:
    """The boundaries of ``text``, which may begin with a BOM."""
    start = 1 if text.startswith(BOM) else 0
    delimiters = _delimiters(text, start, len(text))
    headers, slugless = _headings(text, start, len(text), delimiters, categories)
    return Scan(
        text,
        categories,
        *delimiters,
        tuple(headers),
        tuple(slugless),
        _title(text, start) if headers or always_titled else None,
        always_titled,
    )


def pieces(boundaries: Scan, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """``(category, start, end)`` of each piece, in the stretches that touch ``start`` to ``end``."""
    first = boundaries.delimiters_before(start)
    position = boundaries.stretch_at(first)
    category = category_at(boundaries, position)
    marks = iter(_marks(boundaries, position))
    mark = next(marks, None)
    last = boundaries.delimiters_before(end)
    for newline, delimiter_end in (*boundaries.delimiters(first, last + 1), (len(boundaries.text), 0)):
        while mark and mark.start < newline:
            yield category, position, mark.start
            category = category if isinstance(mark, Title) else mark.category
            position = mark.end
            mark = next(marks, None)
        yield category, position, newline
        if newline >= end:
            return
        position = delimiter_end


def _marks(boundaries: Scan, start: int) -> list[Any]:
    """The title and the headers from ``start`` on."""
    headers = boundaries.headers[_headers_before(boundaries, start) :]
    title = boundaries.title
    return [title, *headers] if title and title.start >= start else list(headers)


def category_at(boundaries: Scan, position: int) -> str:
    """The category of an entry that would stand at ``position``."""
    before = _headers_before(boundaries, position)
    return boundaries.headers[before - 1].category if before else UNCATEGORIZED


def _headers_before(boundaries: Scan, position: int) -> int:
    return bisect_left(boundaries.headers, position, key=lambda header: header.start)


def boundary_lines(text: str, categories: Categories) -> list[int]:
    """Where in an entry's text lines begin that would be boundaries if it stood alone between two delimiters."""
    # A newline in front, so that the first line is looked at like any other. Delimiters are looked for first: once they
    # are escaped they no longer cut the text, and a fence may reach further. `¤` is as good as `§` in a slug.
    text = "\n" + text
    if "\n§" not in text and "\n#" not in text:
        return []
    alone = scan(text, categories)
    whole = scan(text.replace("§", "¤"), categories)
    return [*alone.newlines] + [header.start - 1 for header in whole.headers]


def touched_region(old: Scan, start: int, end: int) -> tuple[int, int]:
    """The stretches that a change between two offsets can touch.

    From behind one delimiter line to the newline before another, both out of the change's reach.
    """
    return region_between(old, *out_of_reach(old, start, end))


def region_between(old: Scan, before: int, behind: int) -> tuple[int, int]:
    """What lies between two delimiter lines, by what ``out_of_reach`` gives."""
    return old.stretch_at(before), old.newlines[behind] if behind < len(old.newlines) else len(old.text)


def out_of_reach(old: Scan, start: int, end: int) -> tuple[int, int]:
    """How many delimiter lines stand wholly before a change, and the index of the first that stands wholly behind it.

    Its newline counts as part of the one, the newline in front of it as part of the other.
    """
    before = old.delimiters_before(start)
    while before and _line_end(old.text, old.stretch_at(before)) > start:
        before -= 1
    return before, max(before, old.delimiters_before(end))


def rescan(old: Scan, text: str, start: int, end: int) -> Scan:
    """The scan of ``text``, which differs from ``old.text`` only between the old offsets ``start`` and ``end``.

    Reads the stretches that the change touches and shifts what lies behind them; equal to ``scan(text)``.
    """
    shift = len(text) - len(old.text)
    if start < old.start or old.start != (1 if text.startswith(BOM) else 0):
        return scan(text, old.categories, always_titled=old.always_titled)
    kept_before, kept_behind = out_of_reach(old, start, end)
    region_start, region_end = region_between(old, kept_before, kept_behind)
    newlines, widths = delimiters = _delimiters(text, region_start, region_end + shift)
    headers, slugless = _headings(text, region_start, region_end + shift, delimiters, old.categories)
    all_headers = (
        *(header for header in old.headers if header.start < region_start),
        *headers,
        *(
            header._replace(start=header.start + shift, end=header.end + shift)
            for header in old.headers
            if header.start >= region_end
        ),
    )
    title = _title(text, old.start) if all_headers or old.always_titled else None
    return Scan(
        text,
        old.categories,
        (*old.newlines[:kept_before], *newlines, *[newline + shift for newline in old.newlines[kept_behind:]]),
        (*old.widths[:kept_before], *widths, *old.widths[kept_behind:]),
        all_headers,
        (
            *(offset for offset in old.slugless if offset < region_start),
            *slugless,
            *(offset + shift for offset in old.slugless if offset >= region_end),
        ),
        title,
        old.always_titled,
        RescanOrigin(old._blanks, (region_start, region_end) if title == old.title else None, shift),  # noqa: SLF001
    )


def _line_end(text: str, position: int) -> int:
    """The offset behind the newline of the line that holds ``position``; past the text where it has no newline yet."""
    newline = text.find("\n", position)
    return len(text) + 1 if newline < 0 else newline + 1


def _delimiters(text: str, start: int, end: int) -> _Delimiters:
    """Where delimiter lines between two edges of the file or of others begin, and their widths."""
    found = [match.span() for match in _DELIMITER.finditer(text, start, end)]
    if start <= 1 and text.startswith("§", start):
        # The first line has no newline in front; give it one.
        line = text[start : _line_end(text, start)]
        first = _DELIMITER.match(f"\n{line}")
        if first:
            found.insert(0, (start - 1, start + first.end() - 1))
    return tuple([newline for newline, _ in found]), tuple([behind - newline for newline, behind in found])


def _headings(
    text: str, start: int, end: int, delimiters: _Delimiters, categories: Categories
) -> tuple[list[Header], list[int]]:
    """The section headers between two offsets, and where headings without a slug stand."""
    candidates = [match.start() + 1 for match in _HEADING_2.finditer(text, start, end)]
    if start <= 1 and text.startswith(("## ", "##\t"), start):
        candidates.insert(0, start)
    headers: list[Header] = []
    slugless: list[int] = []
    for position in _visible(text, start, end, delimiters, candidates):
        line_end, title = heading_at(text, position, level=2)
        if title is None:
            continue
        category = categories.category(title)
        if category:
            headers.append(Header(position, line_end, title, category))
        elif category is not None:
            slugless.append(position)
    return headers, slugless


def heading_at(text: str, position: int, level: int) -> tuple[int, str | None]:
    """Where the line at ``position`` ends, and the title of the ATX heading that it holds (``None`` if too long)."""
    line_end = text.find("\n", position)
    if line_end < 0:
        line_end = len(text)
    if line_end > position and text[line_end - 1] == "\r":
        line_end -= 1
    if line_end - position > MAX_HEADING:
        return line_end, None
    title = text[position + level : line_end].strip(" \t")
    without_closing = title.rstrip("#")
    if without_closing != title and (not without_closing or without_closing[-1] in " \t"):
        title = without_closing
    return line_end, title.strip()


def _visible(text: str, start: int, end: int, delimiters: _Delimiters, candidates: list[int]) -> Iterator[int]:
    """The candidates that no closed fence or comment of their own stretch hides."""
    newlines, widths = delimiters
    index = 0
    while index < len(candidates):
        following = bisect_left(newlines, candidates[index])
        stretch_start = newlines[following - 1] + widths[following - 1] if following else start
        stretch_end = newlines[following] if following < len(newlines) else end
        behind = bisect_left(candidates, stretch_end, lo=index)
        hidden = closed_spans(text[stretch_start:stretch_end]) if may_hide(text, stretch_start, stretch_end) else ()
        yield from _outside(candidates[index:behind], [(a + stretch_start, b + stretch_start) for a, b in hidden])
        index = behind


def may_hide(text: str, start: int, end: int) -> bool:
    """Whether a fence or a comment may stand between two offsets."""
    return text.find("```", start, end) >= 0 or text.find("~~~", start, end) >= 0 or text.find("<!--", start, end) >= 0


def _outside(positions: list[int], spans: list[tuple[int, int]]) -> Iterator[int]:
    """The positions that lie in none of the spans; both are in order."""
    remaining = iter(spans)
    span = next(remaining, None)
    for position in positions:
        while span and span[1] <= position:
            span = next(remaining, None)
        if not span or position < span[0]:
            yield position


def _title(text: str, start: int) -> Title | None:
    """The level-1 heading that is the first line with anything on it; only files with sections have a title."""
    first = _NOT_SPACE.search(text, start)
    if not first or not text.startswith(("# ", "#\t"), first.start()):
        return None
    position = first.start()
    if position > start and text[position - 1] != "\n":
        return None
    line_end, title = heading_at(text, position, level=1)
    return Title(position, line_end, title) if title else None


# --- fences and comments -------------------------------------------------------------------------------------------

# CommonMark's fence lines, each taken by itself, and comments that begin a line. Possessive runs keep them linear, and
# a newline in front, which every line is given, keeps them quick.
_OPENING = re.compile(r"\n\ {0,3}+(?:(?P<fence>`{3,}+(?=[^`\n]*+(?:\n|\Z))|~{3,}+)|<!--)")
_CLOSING = {
    "`": re.compile(r"\n\ {0,3}+(`{3,}+)[ \t]*+(?=\r?\n|\r?\Z)"),
    "~": re.compile(r"\n\ {0,3}+(~{3,}+)[ \t]*+(?=\r?\n|\r?\Z)"),
}


def closed_spans(stretch: str) -> list[tuple[int, int]]:
    """The closed fences and comments of a stretch; a header inside one is entry text."""
    return [(start, end) for start, end, closed in _fences_and_comments(f"\n{stretch}") if closed]


def unclosed_spans(stretch: str) -> list[tuple[int, int]]:
    """The opening lines of fences and comments that nothing closes before the stretch ends. They hide nothing."""
    return [(start, end) for start, end, closed in _fences_and_comments(f"\n{stretch}") if not closed]


def _fences_and_comments(stretch: str) -> Iterator[tuple[int, int, bool]]:
    """From each opening line to its closing line or its own end; offsets do not count the newline put in front."""
    closings: dict[str, _Closings] = {}
    last_comment_end = stretch.rfind("-->")
    position = 0
    while opening := _OPENING.search(stretch, position):
        fence = opening["fence"]
        if fence is None:
            mark = opening.end() - len("<!--")
            # `<!-->` is a whole comment in CommonMark, so its end may share the dashes of its beginning.
            closed = last_comment_end >= mark + 2
            end = _content_end(stretch, stretch.find("-->", mark + 2) if closed else mark)
        else:
            known = closings.get(fence[0])
            if known is None:
                known = closings[fence[0]] = _Closings(stretch, fence[0])
            closing = known.first(opening.end(), len(fence))
            closed = closing is not None
            end = _content_end(stretch, opening.end() if closing is None else closing)
        yield opening.start(), end - 1, closed
        position = end


def _content_end(stretch: str, position: int) -> int:
    """Where the line that holds ``position`` ends, its newline not included."""
    newline = stretch.find("\n", position)
    return len(stretch) if newline < 0 else newline


class _Closings:
    """The lines that can close a fence of one kind, with the longest run from each on.

    So a search that must fail costs nothing, and thousands of fences that nothing closes stay linear.
    """

    __slots__ = ("_longest", "_starts", "_widths")

    def __init__(self, stretch: str, kind: str) -> None:
        found = [(match.start(1), len(match[1])) for match in _CLOSING[kind].finditer(stretch)]
        self._starts = [start for start, _ in found]
        self._widths = [width for _, width in found]
        self._longest = self._widths.copy()
        for index in range(len(found) - 2, -1, -1):
            self._longest[index] = max(self._longest[index], self._longest[index + 1])

    def first(self, position: int, width: int) -> int | None:
        """The first closing run at or behind ``position`` of at least ``width`` characters."""
        index = bisect_left(self._starts, position)
        if index == len(self._starts) or self._longest[index] < width:
            return None
        while self._widths[index] < width:
            index += 1
        return self._starts[index]


# At the start of a line, one or more backslashes and then what a boundary begins with. The possessive run keeps a long
# row of backslashes linear. A CR right before the end of the text counts as part of that line end.
_ESCAPED = re.compile(r"(?:^|(?<=\n))\\++(?=§[ \t]*(?:\r?\n|\r?\Z)|##?[ \t])")


def unescape(text: str) -> str:
    """One backslash less on every escaped line of an entry as it is stored."""
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda run: run.group()[1:], text)


def escape(text: str, boundaries: Iterable[int]) -> str:
    """One backslash more on every escaped line and at every offset in ``boundaries`` (starts of lines)."""
    starts = set(boundaries)
    if "\\" in text:
        starts.update(match.start() for match in _ESCAPED.finditer(text))
    return with_backslashes(text, starts)


def with_backslashes(text: str, starts: Iterable[int]) -> str:
    """One backslash more at each of these offsets."""
    parts: list[str] = []
    done = 0
    for start in sorted(starts):
        parts += (text[done:start], "\\")
        done = start
    parts.append(text[done:])
    return "".join(parts)
