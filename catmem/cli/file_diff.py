"""How a command shows what it would change in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.cli.output import printable
from catmem.model.unified import unified_diff

if TYPE_CHECKING:
    from collections.abc import Iterator


def file_diff(name: str, old: str, new: str) -> str:
    """A unified diff of the texts of one file. A carriage return is shown, since it may be all that changes."""
    return "".join(_diff(printable(name), old, new))


def _diff(shown: str, old: str, new: str) -> Iterator[str]:
    before, after = (_lines(printable(text.replace("\r\n", "\\r\n"))) for text in (old, new))
    for line in unified_diff(before, after, f"a/{shown}", f"b/{shown}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    # Split at LF alone, as the format does.
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [line for line in text.split("\n")[-1:] if line]
