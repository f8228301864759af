"""Taking an entry out, as an edit for a fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.model.edit import TextEdit
from catmem.model.layout import delimiter_before, delimiter_behind, left_open

if TYPE_CHECKING:
    from catmem.model.document import Document
    from catmem.policy.lint.linted import LintedEntry


def removal(document: Document, entry: LintedEntry) -> TextEdit:
    """Take an entry out with the delimiter behind it, or the one in front; a fence left open keeps its delimiter."""
    text = document.text
    behind = delimiter_behind(document, entry.end)
    if behind and not left_open(document, entry.start):
        newline = text.find("\n", behind[1])
        # Blanks in front of the entry would come to stand in front of what follows, and make text of a header.
        start = max(text.rfind("\n", 0, entry.start) + 1, document.scan.start)
        return TextEdit(start, len(text) if newline < 0 else newline + 1, "")
    before = None if behind else delimiter_before(document, entry.start)
    if before and before[0] >= document.scan.start and not left_open(document, before[0]):
        end = entry.end + (2 if text.startswith("\r\n", entry.end) else 1 if text.startswith("\n", entry.end) else 0)
        if end > entry.end:
            return TextEdit(before[0] + 1, end, "")
        # Without its line end, a last line of odd blanks may read as a boundary.
        if text[text.rfind("\n", 0, before[0]) + 1] not in "§#":
            return TextEdit(before[0] - text.endswith("\r\n", 0, before[0] + 1), entry.end, "")
    return TextEdit(entry.start, entry.end, "")
