"""Apply a unified diff, strictly: every line of context must be there. For tests of what `fmt --diff` prints."""

import re

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")
_NO_NEWLINE = "\\ No newline at end of file\n"


def patched(old, diff):
    """The text that `diff` makes of `old`; an AssertionError if it does not fit."""
    if not diff:
        return old
    source = lines_of(old)
    rows = lines_of(diff)
    assert rows[0].startswith("--- a/")
    assert rows[1].startswith("+++ b/")
    result, position, index = [], 0, 2
    while index < len(rows):
        header = _HEADER.fullmatch(rows[index])
        assert header, rows[index]
        old_at, old_count, new_at, new_count = (1 if part is None else int(part) for part in header.groups())
        # A stretch of no lines is named by the line before it.
        start = old_at if old_count == 0 else old_at - 1
        assert start >= position
        result += source[position:start]
        assert len(result) == (new_at if new_count == 0 else new_at - 1)
        position = start
        index += 1
        seen_old, seen_new = 0, 0
        while index < len(rows) and not rows[index].startswith("@@"):
            row = rows[index]
            index += 1
            text = row[1:]
            if index < len(rows) and rows[index] == _NO_NEWLINE:
                text = text.removesuffix("\n")
                index += 1
            if row[0] in " -":
                assert source[position] == text
                position += 1
                seen_old += 1
            if row[0] in " +":
                result.append(text)
                seen_new += 1
        assert (seen_old, seen_new) == (old_count, new_count)
    return "".join(result + source[position:])


def lines_of(text):
    """Lines with their LF, split there alone."""
    return [line for line in re.split(r"(?<=\n)", text) if line]
