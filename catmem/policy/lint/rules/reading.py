"""Rules on files that could not be read at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import NotUtf8Error
from catmem.policy.lint.diagnostic import Finding
from catmem.policy.lint.rule import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.lint.linted import Context, LintedFile


@rule("CM192", "unreadable", severity="error")
def unreadable(file: LintedFile, context: Context) -> Iterator[Finding]:
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
    del context
    error = file.error
    if error is not None and not isinstance(error, NotUtf8Error):
        yield Finding(0, 0, f"cannot be read: {error.message}", error.hint or "")
