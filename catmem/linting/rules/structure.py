"""Rules on the lines of a memory file: encoding, line ends, fences, delimiters and labels.

A file that cannot be read is here too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catmem.config.labels import NOT_LABELS
from catmem.errors import NotUtf8Error
from catmem.linting.diagnostic import Finding, Fix
from catmem.linting.rule import rule
from catmem.linting.spans import closed_places, entry_at, lines_with
from catmem.model.document import unclosed
from catmem.model.edit import TextEdit
from catmem.names import UNCATEGORIZED
from catmem.text import conflict_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.linting.linted import Context, LintedFile

_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+|<!--)")
_DECORATED = re.compile(r"[-=*_~#>|.:+§ \t]*+")
_LF = re.compile(r"(?<!\r)\n")
_CRLF = re.compile(r"(?<!\r)\r\n")


@rule("CM101", "unclosed-fence", fixes="unsafe")
def unclosed_fence(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find code fences and comments that are not closed before their entry ends."""
    document = file.document
    closed: set[int] = set()
    for problem in unclosed(document):
        entry, opening, fix = entry_at(file.entries, problem.start), _FENCE.match(document.text, problem.start), None
        # One at a time: the closing line of the first may hide the others.
        if opening is not None and entry is not None and entry.start not in closed:
            closing = "-->" if opening[1] == "<!--" else opening[1]
            edit = TextEdit(entry.end, entry.end, f"{document.newline}{closing}")
            fix = Fix((edit,), safe=False, message="Close it at the end of the entry")
        closed.update([entry.start] if entry else ())
        yield Finding(problem.start, problem.end, problem.message, "Close it, or take its first line out.", fix)


@rule("CM105", "near-miss-delimiter", fixes="unsafe")
def near_miss_delimiter(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find lines that look like a delimiter and are none."""
    document, text = file.document, file.document.text
    if text.count("§") == len(document.scan.delimiters):
        return
    newline, closed = document.newline, closed_places(file)
    for start, line in lines_with(text, "§"):
        new = _meant(line, newline)
        if new is not None and not closed(start):
            end = start + len(line)
            fix = Fix((TextEdit(start, end, new),), safe=False, message="Put the § on a line of its own")
            message = "this looks like a delimiter line and is text of an entry"
            yield Finding(start, end, message, "A delimiter line holds § alone, with nothing before it.", fix)


def _meant(line: str, newline: str) -> str | None:
    """What a line that holds ``§`` was meant to be, if it was meant to be a delimiter and is none."""
    before, _, after = line.partition("§")
    if before.startswith("\\") or (not before and not after):
        return None
    if _DECORATED.fullmatch(before + after):
        return "§"
    text = after.strip()
    if not before.strip() and after[:1].isspace() and text and not text[0].isdigit():
        return f"§{newline}{text}"
    if not after and before[-1:].isspace():
        return f"{before.rstrip()}{newline}§"
    return None


@rule("CM107", "mixed-newlines", fixes="safe")
def mixed_newlines(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find files in which some lines end in LF and some in CRLF."""
    document, text = file.document, file.document.text
    if "\r\n" not in text:
        return
    fewer, more, rare = ("LF", "CRLF", _LF) if document.newline == "\r\n" else ("CRLF", "LF", _CRLF)
    # A CR of its own in front of a line end is part of the text and stays, and so does that line end.
    edits = tuple(TextEdit(*match.span(), document.newline) for match in rare.finditer(text))
    if not edits:
        return
    count = len(edits)
    message = f"{count:,} line{'s end' if count > 1 else ' ends'} in {fewer}, the others in {more}"
    fix = Fix(edits, safe=True, message=f"End every line in {more}")
    start = text.rfind("\n", 0, edits[0].start) + 1
    yield Finding(start, edits[0].start, message, "Let every line end alike.", fix)


@rule("CM113", "unfinished-merge", severity="error")
def unfinished_merge(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find the markers that git leaves in a file where a merge was not finished."""
    text = file.document.text
    start = conflict_at(text)
    if start is not None:
        end = text.find("\n", start)
        yield Finding(start, end, "git left an unfinished merge here", "Keep one version; take the marker lines out.")


@rule("CM110", "not-utf8", severity="error")
def not_utf8(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find memory files that are not UTF-8."""
    error = file.error
    if isinstance(error, NotUtf8Error):
        start = len(file.data[: error.offset].decode("utf-8", "replace"))
        yield Finding(start, start + 1, error.message, error.hint or "")


@rule("CM192", "unreadable", severity="error")
def unreadable(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find memory files that cannot be read: no permission, too large, no regular file, or gone in the meantime."""
    error = file.error
    if error is not None and not isinstance(error, NotUtf8Error):
        yield Finding(0, 0, f"cannot be read: {error.message}", error.hint or "")


# A label in brackets: capitals, or a name and a value; not a link, a reference, a footnote or a box to tick.
_BRACKETS = re.compile(r"(?:[-*+] )?\[([^\[\]\n]{2,64}+)\](?![(\[:])")
_LABEL = re.compile(r"[A-Z][A-Z0-9]+(?:[ _&/-][A-Z0-9]+){0,4}|[a-z][a-z0-9_-]*:[^\s:][^\n]*")
_WORDS_AND_COLON = re.compile(r"(?:[-*+] )?(?:\*\*)?([^\W\d_][^\n:*\[\]]{1,63}+)(?:\*\*)?:(?:\*\*)?[ \t\n]")


@rule("CM108", "in-band-label")
def in_band_label(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find labels in the text of an entry that belong into a section header or a tag."""
    taxonomy = context.taxonomy
    for entry in file.entries:
        brackets = "[" in entry.body[:3]
        pattern = _BRACKETS if brackets else _WORDS_AND_COLON
        label = pattern.match(entry.body) if brackets or taxonomy.categories else None
        if label is None:
            continue
        category = taxonomy.named(label[1])
        is_label = brackets and _LABEL.fullmatch(label[1]) is not None and label[1] not in NOT_LABELS
        if category is None and not (is_label and entry.category == UNCATEGORIZED):
            continue
        if category == entry.category and not brackets:
            continue
        start = file.text.find(label[0].rstrip(), entry.start, entry.end)
        start, end = (start, start + len(label[0].rstrip())) if start >= 0 else (entry.start, entry.end)
        shown = label[0].strip().removeprefix("- ")
        if category is None or category == UNCATEGORIZED:
            message = f"the label {shown} does what a section or a tag is for"
            hint = "Put the entry into a section; catmem migrate does that for a whole file."
        elif category == entry.category:
            message = f"the label {shown} repeats the section that the entry stands in"
            hint = "Remove the label."
        else:
            message = f"the label {shown} names the category {category}, and the entry stands in {entry.category}"
            hint = f"Move it (catmem move -c {category}); catmem migrate does that for a whole file."
        yield Finding(start, end, message, hint)
