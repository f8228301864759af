"""Reading the project's own Markdown pages: their fenced examples, headings and links.

What a page may say to the tests, each in a comment that stands alone on a line, outside fences:

`<!-- docs: example -->`      anywhere: the page's folder starts as `catmem init --example .` leaves it, not empty
`<!-- docs: file NAME -->`    before an example: it is not run but written to NAME in the page's folder
`<!-- docs: serve -->`        before an example: it is not run, but from here on `catmem serve` runs in the page's folder
`<!-- docs: output -->`       before an example: it is what the Python example above it prints, exactly
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

_FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*(\S*)\s*$")
_DIRECTION = re.compile(r"^<!-- docs: (.+?) -->$")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_LINK = re.compile(
    r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\))?[^()\s<>]*)>?(?:\s+\"[^\"]*\")?\s*\)"
)
_ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


@dataclass(frozen=True, slots=True)
class Example:
    """One fenced example: where it starts (line, from 1), its language, its text and what the page says of it."""

    line: int
    language: str
    text: str
    direction: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the documentation; `name` is its path from the top of the repository."""

    name: str
    text: str
    examples: tuple[Example, ...]
    directions: tuple[str, ...]
    prose: tuple[str, ...]
    """The lines outside fences."""

    @property
    def anchors(self) -> set[str]:
        """What a link to this page may name after `#`, as GitHub makes it from headings."""
        found: set[str] = set()
        for line in self.prose:
            found.update(_ANCHOR.findall(line))
            if heading := _HEADING.match(line):
                words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1].lower())
                found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
        return found

    @property
    def links(self) -> list[str]:
        """The targets of the inline links and images in the prose."""
        return [target for line in self.prose for target in _LINK.findall(re.sub(r"(`+).*?\1", "", line)) if target]


def pages() -> list[Page]:
    """README.md, the other pages at the top, and everything under docs/."""
    return [load(path) for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]]


def load(path: Path) -> Page:
    """The page at `path`."""
    return read(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def read(name: str, text: str) -> Page:
    """The page with this text; ValueError for a fence that is not closed."""
    examples, directions, prose = [], [], []
    lines = iter(enumerate(text.splitlines(), start=1))
    direction = ""
    for number, line in lines:
        if said := _DIRECTION.match(line):
            direction = said[1]
            directions.append(direction)
        elif opening := _FENCE.match(line):
            indent, fence, language = opening.groups()
            inside: list[str] = []
            for _, content in lines:
                if content.strip().startswith(fence) and not content.strip().strip(fence[0]):
                    break
                inside.append(content.removeprefix(indent))
            else:
                raise ValueError(f"{name}:{number}: the fence is not closed")
            examples.append(Example(number, language, "".join(f"{part}\n" for part in inside), direction))
            direction = ""
        else:
            prose.append(line)
            if line.strip():
                direction = ""
    return Page(name, text, tuple(examples), tuple(directions), tuple(prose))


def made_anew(path: Path, begin: str, made: str, end: str = "") -> str:
    """The text of a page, with `made` behind the line `begin`, up to the line `end`. ValueError if one is lost."""
    before, found, rest = path.read_text(encoding="utf-8").partition(begin)
    _, ends, after = rest.partition(end) if end else (rest, "end", "")
    if not (found and ends):
        raise ValueError(f"{path.name} needs these lines, behind which the generated part goes:\n{begin}{end}")
    return f"{before}{begin}\n{made}" + (f"\n{end}{after}" if end else "")
