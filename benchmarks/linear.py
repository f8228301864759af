"""Doubling the input at most doubles the time, with some room for noise, however the input is made up to hurt.

The growth is taken over three doublings at once (its cube root), which says the same with a third of the noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import catmem
from benchmarks.measure import Result, medians
from benchmarks.parse import memory_file, read_all
from catmem.model import document

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

_LIMIT = 2.3
_START = 1 << 17
_LARGEST = 1 << 20
_DOUBLINGS = 3
# Below this a difference is the noise of the machine, so the input grows until a run takes this many seconds.
_LONG_ENOUGH = 0.005


def _repeated(piece: str) -> Callable[[int], str]:
    return lambda size: piece * (size // len(piece))


# Text between headers, which is what is read anew for each of them.
_BODY = "a " * 100


INPUTS: dict[str, Callable[[int], str]] = {
    "an ordinary file": memory_file,
    "open fences, one entry": _repeated(f"```\n## a\n{_BODY}\n~~~~\n"),
    "fences, each longer than the last": lambda size: "".join(
        f"{'`' * (3 + number)}\n## a\n" for number in range(int((2 * size) ** 0.5))
    ),
    "an open fence in each entry": _repeated(f"```\n{_BODY}\n## a\n§\n"),
    "open comments, one entry": _repeated(f"<!--\n## a\n{_BODY}\n"),
    "comments opened in a row": lambda size: "<!--" * (size // 4) + "\n## a\n",
    "comments that almost end": _repeated(f"<!-- -- > --\n## a\n{_BODY}\n"),
    "brackets": lambda size: "[" * size,
    "brackets, each an entry": _repeated("[a: [[[[\n§\n"),
    "things like tags": _repeated("[a: b] "),
    "things like tags, each an entry": _repeated('[a: b, c: [d, e], f: "\n§\n'),
    "tags without an end": lambda size: "[" + "a: b, " * (size // 6),
    "frontmatter without an end": lambda size: "---\n" + "a: b\n" * (size // 5),
    "backslashes": lambda size: "\\" * size,
    "backslashes, each an entry": lambda size: ("\\" * 500 + "§\n§\n") * (size // 504),
    "lines of backslashes": _repeated("\\\\\\## a\n"),
    "headings of blanks": _repeated("## " + " " * 900 + "\n"),
    "headings of combining marks": _repeated("## a" + "\u0301" * 900 + "\n"),
    "headings of number signs": _repeated("## " + "# " * 400 + "a\n"),
    "one heading, too long": lambda size: "## " + "a " * (size // 2),
    "one giant line": lambda size: "a" * size,
    "blanks": lambda size: " " * size,
    "newlines": lambda size: "\n" * size,
    "carriage returns": lambda size: "\r" * size,
    "delimiters": _repeated("§\n"),
    "delimiters that are none": _repeated("§" + " " * 200 + "x\n"),
    "backquotes in info strings": _repeated("````a`b\n"),
}


def run(options: Namespace) -> list[Result]:
    """The figures of this module: ``theirs`` times an input, ``ours`` the same input doubled three times."""
    vars(document)["MAX_PARTS"] = 1 << 30  # a file of more parts is refused; here it is the growth that counts
    return [_doubling(name, make, options.times or 5) for name, make in INPUTS.items()]


def _doubling(name: str, make: Callable[[int], str], times: int) -> Result:
    size = _START
    while size < _LARGEST and medians({"once": _reading(make(size))}, 3)["once"] < _LONG_ENOUGH:
        size *= 2
    taken = medians({"small": _reading(make(size)), "large": _reading(make(size << _DOUBLINGS))}, times)
    growth = (taken["large"] / taken["small"]) ** (1 / _DOUBLINGS)
    return Result(f"{name}, each doubling", taken["large"], taken["small"], growth, _LIMIT)


def _reading(text: str) -> Callable[[], int]:
    def read() -> int:
        parsed = catmem.parse(text)
        return read_all(parsed) + len(parsed.problems)

    return read
