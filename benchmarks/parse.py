"""Parsing one file of 10 MB, against mistune and against splitting it the way Hermes Agent does."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import mistune

import catmem
from benchmarks.measure import Result, compared, faster, medians, slower

if TYPE_CHECKING:
    from argparse import Namespace

    from catmem.model.document import Document

_SIZE = 10_000_000
_SEED = 20261121
_WORDS = re.findall(
    r"\w+",
    "the vendor invoice approval prefers weekly review branch before release notes short answers budget owner quarter "
    "travel limit design tokens never schedule calls unless urgent metric units British spelling team",
)


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    text = memory_file(options.size or _SIZE)
    data = text.encode()
    taken = medians(
        {
            "parse": lambda: catmem.parse(data),
            "entries": lambda: list(catmem.parse(data).entries),
            "everything": lambda: read_all(catmem.parse(data)),
            "split": lambda: split(data),
        },
        options.times or 7,
    )
    markdown = mistune.create_markdown(renderer=None)
    # One run of mistune takes seconds and weighs on the machine's cache, so it does not stand between the others.
    theirs = medians({"tokens": lambda: markdown(text), "scan": lambda: block_scan(markdown, text)}, 3)
    size = f"{len(data) / 1_000_000:.3g} MB"
    return [
        faster(f"parse {size}, against mistune, parsed to tokens", taken["parse"], theirs["tokens"], 20),
        compared(f"parse {size}, against mistune's scan for blocks alone", taken["parse"], theirs["scan"]),
        slower(f"parse {size}, no entries made, against split and strip", taken["parse"], taken["split"], 3),
        slower(f"parse {size}, all entries, against split and strip", taken["entries"], taken["split"], 8),
        slower(f"parse {size}, every body and tag, against split and strip", taken["everything"], taken["split"], 12),
    ]


def memory_file(size: int) -> str:
    """A file of about ``size`` characters: entries of about 160, with a header every 40.

    Of the entries 6 % have a fence and 20 % have tags; each fence holds a line that outside it would be a header.
    """
    chance = random.Random(_SEED)  # noqa: S311 - the same file each time is what is wanted
    parts: list[str] = []
    length = number = 0
    while length < size:
        part = _entry(chance)
        if number % 40 == 0:
            part = f"\n## Category {number // 40 % 50}\n{part}"
        elif parts:
            part = f"§\n{part}"
        parts.append(part)
        length += len(part)
        number += 1
    return "".join(parts)


def _entry(chance: random.Random) -> str:
    words = " ".join(chance.choices(_WORDS, k=chance.randint(16, 26))) + "."
    if chance.random() < 0.2:  # noqa: PLR2004
        words = f"[verified_date: 2026-0{chance.randint(1, 9)}-11, domain: finance] {words}"
    if chance.random() < 0.06:  # noqa: PLR2004
        first = "## not a header"
        words += f"\n```sh\n{first}\nmake deploy\n```"
    return f"{words}\n"


def split(data: bytes) -> list[str]:
    """What Hermes Agent does to a file that it has read: decode, split at the delimiter, strip, drop what is empty."""
    entries = [entry.strip() for entry in data.decode().split("\n§\n")]
    return [entry for entry in entries if entry]


def read_all(document: Document) -> int:
    """Read the body and the tags of every entry."""
    return sum(len(entry.body) + len(entry.tags) for entry in document.entries)


def block_scan(markdown: mistune.Markdown, text: str) -> Any:  # noqa: ANN401 - mistune's state, only freed
    """Find the blocks of a text, and leave the text inside them as it is, which is the first half of mistune's work."""
    state = markdown.block.state_cls()
    state.process(text)
    markdown.block.parse(state)
    return state
