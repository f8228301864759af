"""What stands around an offset of a document: what an edit has to know of its neighbours."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from catmem.syntax.scan import unclosed_spans

if TYPE_CHECKING:
    from catmem.model.document import Document


def delimiter_behind(document: Document, position: int) -> tuple[int, int] | None:
    """The delimiter line (as in ``Scan.delimiters``) that only white space parts from ``position`` before it."""
    delimiters = document.scan.delimiters
    index = bisect_left(delimiters, (position,))
    found = delimiters[index] if index < len(delimiters) else None
    return found if found and not document.text[position : found[0]].strip() else None


def delimiter_before(document: Document, position: int) -> tuple[int, int] | None:
    """The delimiter line that only white space parts from ``position`` behind it."""
    index = bisect_left(document.scan.delimiters, (position,))
    found = document.scan.delimiters[index - 1] if index else None
    return found if found and not document.text[found[1] : position].strip() else None


def left_open(document: Document, position: int) -> bool:
    """Whether a fence or comment between the delimiter line before ``position`` and ``position`` is not closed."""
    index = bisect_left(document.scan.delimiters, (position,))
    start = document.scan.delimiters[index - 1][1] if index else document.scan.start
    return bool(unclosed_spans(document.text[start:position]))
