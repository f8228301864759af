"""Operations for git: what it merges and compares."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.text import printable

if TYPE_CHECKING:
    from catmem.model.document import Document, Entry


def git_text(data: bytes) -> str:
    """The text for ``data``. What is no memory file is shown as it is, since git gives up on a diff that fails."""
    from catmem.model.document import parse

    try:
        document = parse(data)
    except CatmemError as error:
        return printable(f"({error.message})\n{data.decode(errors='backslashreplace')}")
    # Titles and not categories: git calls this for copies of the file that lie in no root.
    return printable("".join(f"{line}\n" for line in _text_lines(document)))


def _text_lines(document: "Document") -> Iterator[str]:
    if document.title is not None:
        yield f"# {document.title}"
    sections = document.sections
    first = sections[0].start if sections else len(document.text)
    yield from (line for entry in document.entries_between(0, first) if entry.start < first for line in _entry(entry))
    for section in sections:
        yield ""
        yield f"## {section.title}"
        for entry in document.entries_between(section.header_end, section.end):
            if section.header_end <= entry.start < section.end:
                yield from _entry(entry)


def _entry(entry: "Entry") -> Iterator[str]:
    lines = entry.body.split("\n")
    yield f"- {lines[0]}".rstrip()
    yield from (f"  {line}".rstrip() for line in lines[1:])
    for key, value in sorted(entry.tags.items()):
        yield f"  [{key}: {value if isinstance(value, str) else ', '.join(value)}]"
