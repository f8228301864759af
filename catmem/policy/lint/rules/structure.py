"""Rules on the lines of a memory file (encoding, line ends, fences, delimiters), and on one that cannot be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catmem.errors import NotUtf8Error
from catmem.model.document import unclosed
from catmem.model.edit import TextEdit
from catmem.policy.lint.diagnostic import Finding, Fix
from catmem.policy.lint.rule import rule
from catmem.policy.lint.spans import ClosedSpans, entry_at
from catmem.text import BOM, conflict_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.model.document import Document
    from catmem.policy.lint.linted import Context, LintedEntry, LintedFile

_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+|<!--)")
_DECORATED = re.compile(r"[-=*_~#>|.:+§ \t]*+")
_LF = re.compile(r"(?<!\r)\n")
_CRLF = re.compile(r"(?<!\r)\r\n")


@rule("CM101", "unclosed-fence", fixes="unsafe")
def unclosed_fence(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find code fences and comments that are not closed before their entry ends.

    ## Why
    A fence that is not closed hides nothing: a `## ` line below it opens a section, and a delimiter line ends the
    entry. Whoever wrote it meant otherwise, and a viewer of Markdown shows the rest of the file as code.

    ## Example
    Bad:

    ````
    Build with
    ```
    make
    §
    Deploy on Fridays only.
    ````

    Good:

    ````
    Build with
    ```
    make
    ```
    §
    Deploy on Fridays only.
    ````

    ## Fix
    The unsafe fix closes it where its entry ends; the right place may be further up.
    """
    document = file.document
    closed: set[int] = set()
    for problem in unclosed(document):
        entry = entry_at(file.entries, problem.start)
        # One at a time: the closing line of the first may hide the others.
        fix = None if entry is None or entry.start in closed else _closing(document, entry, problem.start)
        closed.update([entry.start] if entry else ())
        yield Finding(problem.start, problem.end, problem.message, "Close it, or take its first line out.", fix)


def _closing(document: Document, entry: LintedEntry, start: int) -> Fix | None:
    opening = _FENCE.match(document.text, start)
    if opening is None:
        return None
    closing = "-->" if opening[1] == "<!--" else opening[1]
    edit = TextEdit(entry.end, entry.end, f"{document.newline}{closing}")
    return Fix((edit,), safe=False, message="Close it at the end of the entry")


@rule("CM105", "near-miss-delimiter", fixes="unsafe")
def near_miss_delimiter(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find lines that look like a delimiter and are none.

    ## Why
    Only a line that holds `§` alone, with nothing before it, ends an entry. Everything else is text, so two facts
    become one entry: they are verified, replaced and removed together.

    A `§` before a number (`§ 433 BGB`), one with a backslash, and one in a closed code fence are not reported.

    ## Example
    Bad:

    ```
    Vendor is Acme.
    --§--
    Invoices are due on the 15th.
    § Payment is by transfer.
    ```

    Good:

    ```
    Vendor is Acme.
    §
    Invoices are due on the 15th.
    §
    Payment is by transfer.
    ```

    ## Fix
    The unsafe fix puts the `§` on a line of its own, which cuts the entry there.
    """
    document, text = file.document, file.document.text
    if text.count("§") == len(document.scan.delimiters):
        return
    newline, closed = document.newline, ClosedSpans(file)
    for start, line in _lines_with(text, "§"):
        new = _meant(line, newline)
        if new is not None and not closed.hold(start):
            end = start + len(line)
            fix = Fix((TextEdit(start, end, new),), safe=False, message="Put the § on a line of its own")
            message = "this looks like a delimiter line and is text of an entry"
            yield Finding(start, end, message, "A delimiter line holds § alone, with nothing before it.", fix)


def _lines_with(text: str, sign: str) -> Iterator[tuple[int, str]]:
    """Each line that holds ``sign``, without blanks and CR at its end, with its place."""
    position = text.find(sign)
    while position >= 0:
        start = text.rfind("\n", 0, position) + 1 or (1 if text.startswith(BOM) else 0)
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        yield start, text[start:end].rstrip(" \t\r")
        position = text.find(sign, end)


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
    """Find files in which some lines end in LF and some in CRLF.

    ## Why
    catmem reads both. Other programs compare lines byte for byte: git shows lines as changed that are not, and Hermes
    Agent does not see a delimiter line that ends in CRLF.

    ## Example
    Bad: an editor on Windows has added two lines to a file that was written on Linux.

    Good: every line of the file ends alike.

    ## Fix
    The safe fix gives every line the newline that most lines have. What an entry says stays the same.
    """
    document, text = file.document, file.document.text
    if "\r\n" not in text:
        return
    total, crlf = text.count("\n"), text.count("\r\n")
    if total == crlf:
        return
    rare = _LF if document.newline == "\r\n" else _CRLF
    # A CR of its own in front of a line end is part of the text and stays, and so does that line end.
    edits = tuple(TextEdit(*match.span(), document.newline) for match in rare.finditer(text))
    if not edits:
        return
    fewer, more = ("LF", "CRLF") if document.newline == "\r\n" else ("CRLF", "LF")
    count = len(edits)
    message = f"{count:,} line{'s end' if count > 1 else ' ends'} in {fewer}, the others in {more}"
    fix = Fix(edits, safe=True, message=f"End every line in {more}")
    start = text.rfind("\n", 0, edits[0].start) + 1
    yield Finding(start, edits[0].start, message, "Let every line end alike.", fix)


@rule("CM113", "unfinished-merge", severity="error")
def unfinished_merge(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find the markers that git leaves in a file where a merge was not finished.

    ## Why
    They are lines like all others: both versions of an entry go into prompts, with the markers, and a seed would copy
    them to every specialist, so it refuses.

    ## Example
    Bad:

    ```markdown
    <<<<<<< HEAD
    Vendor is Acme.
    =======
    Vendor is Brill.
    >>>>>>> update
    ```

    Good:

    ```markdown
    Vendor is Brill.
    ```

    ## Fix
    Keep one version and take out the three marker lines. `catmem init --git` has git merge by entry from then on.
    """
    text = file.document.text
    start = conflict_at(text)
    if start is not None:
        end = text.find("\n", start)
        yield Finding(start, end, "git left an unfinished merge here", "Keep one version; take the marker lines out.")


@rule("CM110", "not-utf8", severity="error")
def not_utf8(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find memory files that are not UTF-8.

    ## Why
    Such a file cannot be read without a guess at its encoding, so catmem does not read it: it is in no prompt, and no
    command changes it.

    ## Example
    Bad: a file in Latin-1, in which `é` is the byte E9.

    Good: the same file in UTF-8, in which it is the bytes C3 A9.

    ## Fix
    Convert it: `iconv -f LATIN1 -t UTF-8`, with the encoding that it has. There is no fix, since that is a guess.
    """
    error = file.error
    if isinstance(error, NotUtf8Error):
        start = len(file.data[: error.offset].decode("utf-8", "replace"))
        yield Finding(start, start + 1, error.message, error.hint or "")


@rule("CM192", "unreadable", severity="error")
def unreadable(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find memory files that cannot be read: no permission, too large, no regular file, or gone in the meantime.

    ## Why
    A file that cannot be read is not an empty one. What it holds is in no prompt and was not looked at by any rule.
    Bytes that are not UTF-8 have a rule of their own.

    ## Example
    Bad: `homes/neo/USER.md` is a folder, or a symbolic link to a file that is not there.

    Good: it is a file that whoever runs catmem may read.

    ## Fix
    What to do depends on why it cannot be read, which the message says.
    """
    error = file.error
    if error is not None and not isinstance(error, NotUtf8Error):
        yield Finding(0, 0, f"cannot be read: {error.message}", error.hint or "")
