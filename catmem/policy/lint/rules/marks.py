"""Rules on the marks that suppress findings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catmem.model.edit import TextEdit
from catmem.policy.lint.diagnostic import Finding, Fix
from catmem.policy.lint.rule import all_rules, rule
from catmem.policy.lint.settings import unknown_rule
from catmem.policy.lint.suppress import marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.lint.linted import Context, LintedFile

_TAGS_BELOW = re.compile(r"\r?\n(?:[-*+] )?\[[a-z][a-z0-9_-]*:[ \t]|\r?\n---[ \t]*\r?\n")


@rule("CM190", "needless-suppression")
def needless_suppression(_: LintedFile, __: Context) -> Iterator[Finding]:
    """Find marks that suppress nothing.

    ## Why
    A mark that is no longer needed hides the next finding of its rule, which nobody has looked at yet.

    A code whose rule is switched off for the file is not reported: the mark may be needed when it is on again.

    ## Example
    Bad, since the entry says something:

    ```
    The office is in Lisbon.
    <!-- catmem: ignore CM203 -->
    ```

    Good:

    ```
    The office is in Lisbon.
    ```

    ## Fix
    Remove the code from the mark, or the whole mark.
    """
    # Only known when all other rules have run, those across files too: the engine reports it.
    yield from ()


@rule("CM191", "bad-suppression")
def bad_suppression(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find marks that cannot work: of the wrong form, with a code that no rule has, or above a tag block.

    ## Why
    Whoever wrote the mark believes that it works. Findings of safety (CM6) and of the store (CM9) cannot be suppressed
    by a mark, since whoever writes a hostile entry could write the mark as well; `ignore` and `per_file` of
    `catmem.yaml` can. A mark above a tag block makes the tags text: they have to be the first thing in an entry.

    ## Example
    Bad:

    ```
    <!-- catmem: ignore CM999 -->
    TODO
    ```

    Good, below the text and its tags:

    ```
    [verified_date: 2026-05-01] TODO
    <!-- catmem: ignore CM203 -->
    ```

    ## Fix
    Write `<!-- catmem: ignore CM203 -->`, with one or more codes, on a line of its own. For a mark above a tag block,
    the unsafe fix moves it to the end of the entry.
    """
    known = all_rules()
    text = file.text
    for mark in marks(file.document):
        if not mark.codes:
            hint = "Write <!-- catmem: ignore CM203 --> with the codes of the rules, on a line of its own."
            yield Finding(mark.start, mark.end, "this mark does not have the right form, so it does nothing", hint)
        for code in mark.codes:
            if code not in known:
                hint = unknown_rule(code).hint or ""
                yield Finding(mark.start, mark.end, f"there is no rule {code} to suppress", hint)
            elif not known[code].suppressible:
                hint = "Switch it off with ignore or per_file under lint in catmem.yaml, if it is wrong here."
                yield Finding(mark.start, mark.end, f"{code} cannot be suppressed by a mark", hint)
        start, end = mark.covers
        if start == mark.start and _TAGS_BELOW.match(text, mark.end):
            below = text.index("\n", mark.end) + 1
            moved = file.document.newline + text[mark.start : mark.end]
            edits = (TextEdit(mark.start, below, ""), TextEdit(end, end, moved))
            fix = Fix(edits, safe=False, message="Move the mark to the end of the entry")
            message = "the tags below this mark are text, since a tag block has to come first in an entry"
            yield Finding(mark.start, mark.end, message, "Put the mark at the end of the entry.", fix)
