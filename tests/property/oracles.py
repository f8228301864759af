"""Second opinions on the format, written from its rules and not from the code: plain, slow, and easy to check by eye.

``read_slowly`` is the scanner, line by line. ``commonmark_headings`` asks mistune. ``yaml_pairs`` asks PyYAML.
"""

import re
import unicodedata
from typing import NamedTuple

import mistune
import yaml

BOM = "\ufeff"


class Line(NamedTuple):
    start: int
    content: str
    """The line without its end."""

    @property
    def end(self) -> int:
        return self.start + len(self.content)


class Reading(NamedTuple):
    title: str | None
    headers: list[tuple[int, str, str]]
    """Offset, title and category of each section header."""
    entries: list[tuple[str, int, str]]
    """Category, offset and stored text of each entry."""
    delimiters: list[int]
    """Offsets of the lines that hold `§` alone."""
    unclosed: list[int]
    """Offsets of lines that open a fence or comment which their stretch does not close."""
    slugless: list[int]


def split_lines(text: str) -> list[Line]:
    """Lines end at LF or CRLF; a CR at the very end of the text is part of that end."""
    lines = []
    position = 1 if text.startswith(BOM) else 0
    for part in text[position:].split("\n"):
        lines.append(Line(position, part.removesuffix("\r")))
        position += len(part) + 1
    return lines


def is_delimiter(line: str) -> bool:
    return line.rstrip(" \t") == "§"


def opens_fence(line: str) -> str | None:
    """The run of backticks or tildes that opens a fence on this line."""
    indent = len(line) - len(line.lstrip(" "))
    found = re.match("`{3,}|~{3,}", line.lstrip(" "))
    if indent > 3 or not found:
        return None
    if found[0][0] == "`" and "`" in line.lstrip(" ")[len(found[0]) :]:
        return None
    return found[0]


def closes_fence(line: str, opening: str) -> bool:
    indent = len(line) - len(line.lstrip(" "))
    run = line.lstrip(" ").rstrip(" \t")
    return indent <= 3 and len(run) >= len(opening) and set(run) == {opening[0]}


def opens_comment(line: str) -> int | None:
    """Where the `<!--` stands that begins a comment on this line."""
    indent = len(line) - len(line.lstrip(" "))
    return indent if indent <= 3 and line[indent:].startswith("<!--") else None


def closing_line(lines: list[Line], index: int) -> int | None:
    """The line that closes what ``lines[index]`` opens; -1 if it opens nothing, None if nothing closes it."""
    first = lines[index].content
    fence = opens_fence(first)
    if fence:
        return next((at for at in range(index + 1, len(lines)) if closes_fence(lines[at].content, fence)), None)
    comment = opens_comment(first)
    if comment is None:
        return -1
    if "-->" in first[comment + 2 :]:  # `<!-->` closes with the dashes that opened it
        return index
    return next((at for at in range(index + 1, len(lines)) if "-->" in lines[at].content), None)


def heading(line: str, level: int) -> str | None:
    """The title of an ATX heading of this level at column 0, perhaps empty."""
    marks = "#" * level
    if not line.startswith((marks + " ", marks + "\t")) or len(line) > 1024:
        return None
    title = line[level:].strip(" \t")
    closing = re.search(r"(?:^|[ \t])#+$", title)
    return (title[: closing.start()] if closing else title).strip()


def slug(title: str) -> str:
    """NFKC, lower case (and NFKC again: lower case letters compose with marks that capitals do not)."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", title).lower())
    kept = ""
    after_word = False
    for character in folded:
        kind = unicodedata.category(character)[0]
        after_word = kind in "LN" or (kind == "M" and after_word)
        kept += character if after_word or character == "_" else "-"
    return re.sub("-+", "-", kept).strip("-")


def read_slowly(text: str, declared: set[str] | None = None) -> Reading:  # noqa: C901 - one walk, easy to check
    """The whole scanner, one line after the other."""
    lines = split_lines(text)
    delimiters = [index for index, line in enumerate(lines) if is_delimiter(line.content)]
    headers, unclosed, slugless = [], [], []
    header_lines = set()
    first = 0
    for last in [*delimiters, len(lines)]:
        stretch = lines[first:last]
        index = 0
        while index < len(stretch):
            line = stretch[index]
            closing = closing_line(stretch, index)
            if closing is not None and closing >= 0:
                index = closing + 1
                continue
            if closing is None:
                unclosed.append(line.start)
            title = heading(line.content, 2)
            if title is not None:
                category = slug(title)
                if not category:
                    slugless.append(line.start)
                elif declared is None or category in declared or category == "__uncategorized__":
                    headers.append((line.start, title, category))
                    header_lines.add(first + index)
            index += 1
        first = last + 1
    title_line = next((index for index, line in enumerate(lines) if line.content.strip()), None)
    title = heading(lines[title_line].content, 1) if headers and title_line is not None else None
    boundaries = sorted(header_lines | set(delimiters) | ({title_line} if title else set()))
    entries = []
    category = "__uncategorized__"
    categories = {start: found for start, _, found in headers}
    position = lines[0].start
    for boundary in [*boundaries, None]:
        end = len(text) if boundary is None else lines[boundary].start
        piece = text[position:end]
        if piece.strip():
            entries.append((category, position + len(piece) - len(piece.lstrip()), piece.strip()))
        if boundary is not None:
            category = categories.get(lines[boundary].start, category)
            position = lines[boundary].end
    return Reading(title or None, headers, entries, [lines[index].start for index in delimiters], unclosed, slugless)


def hermes_entries(text: str) -> list[str]:
    """How Hermes Agent reads a memory file: split, stripped, empties dropped."""
    return [part.strip() for part in text.split("\n§\n") if part.strip()]


def hermes_rewrites(text: str) -> str:
    """What Hermes Agent writes back for a file that it has read: exact repetitions go."""
    return "\n§\n".join(dict.fromkeys(hermes_entries(text)))


def commonmark_headings(text: str) -> list[str]:
    """The titles of the level-2 headings that mistune sees at the top level of a text."""
    tokens, _ = mistune.create_markdown(renderer=None).parse(text)
    return [
        token["text"] for token in _with_text(tokens) if token["type"] == "heading" and token["attrs"]["level"] == 2
    ]


def _with_text(tokens):
    for token in tokens:
        children = token.get("children", [])
        yield {**token, "text": "".join(child.get("raw", "") for child in children)}


def yaml_pairs(source: str) -> list[tuple[str, str | tuple[str, ...]]]:
    """What PyYAML reads as the pairs of a mapping, all scalars as text, repeated keys included."""
    mapping = yaml.compose(source, Loader=yaml.BaseLoader)
    assert isinstance(mapping, yaml.MappingNode), mapping
    return [(_text(key), _text_or_list(value)) for key, value in mapping.value]


def _text(found: yaml.Node) -> str:
    assert isinstance(found, yaml.ScalarNode), found
    assert found.tag in {"tag:yaml.org,2002:str", "?", "!"}, found
    return found.value


def _text_or_list(found: yaml.Node) -> str | tuple[str, ...]:
    return tuple(_text(item) for item in found.value) if isinstance(found, yaml.SequenceNode) else _text(found)
