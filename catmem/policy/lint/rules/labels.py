"""Labels in the text of an entry, in the place of a section header or a tag."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catmem.policy.lint.diagnostic import Finding
from catmem.policy.lint.rule import rule
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.lint.linted import Context, LintedFile

# A label in brackets: capitals, or a name and a value; not a link, a reference, a footnote or a box to tick.
_BRACKETS = re.compile(r"(?:[-*+] )?\[([^\[\]\n]{2,64}+)\](?![(\[:])")
_LABEL = re.compile(r"[A-Z][A-Z0-9]+(?:[ _&/-][A-Z0-9]+){0,4}|[a-z][a-z0-9_-]*:[^\s:][^\n]*")
_WORDS_AND_COLON = re.compile(r"(?:[-*+] )?(?:\*\*)?([^\W\d_][^\n:*\[\]]{1,63}+)(?:\*\*)?:(?:\*\*)?[ \t\n]")
_NOT_LABELS = frozenset(("TODO", "FIXME", "TBD", "BLOCKED", "NOTE", "WARNING", "IMPORTANT", "TIP", "CAUTION"))


@rule("CM108", "in-band-label")
def in_band_label(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find labels in the text of an entry that belong into a section header or a tag.

    ## Why
    `[COMM] Prefers short answers.` says its category in a way that no profile can select: every reader of
    `__uncategorized__` gets the entry, and no reader of the category does.

    Reported are labels in brackets, of capitals (`[COMM]`) or with a value (`[project:x]`), on entries without a
    category, and any label, also `Label: …`, that names a declared category or one of its aliases but stands elsewhere.

    ## Example
    Bad:

    ```
    [COMM] Prefers short answers.
    ```

    Good:

    ```
    ## Communication Style
    Prefers short answers.
    ```

    ## Fix
    `catmem migrate FILE` makes sections and tags of the labels of a whole file. If an entry repeats the name of its own
    section, remove the label.
    """
    taxonomy = context.taxonomy
    for entry in file.entries:
        body = entry.body
        if "[" not in body[:3]:
            label = _WORDS_AND_COLON.match(body) if taxonomy.categories else None
            category = taxonomy.named(label[1]) if label else None
            found = label is not None and category is not None and category != entry.category
        else:
            label = _BRACKETS.match(body)
            category = taxonomy.named(label[1]) if label else None
            said = label is not None and _LABEL.fullmatch(label[1]) is not None and label[1] not in _NOT_LABELS
            found = category is not None or (said and entry.category == UNCATEGORIZED)
        if label is None or not found:
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
