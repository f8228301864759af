"""Hermes Agent's own threat scan, asked only where it can find something.

Hermes runs some fifty regular expressions over every entry. Nearly all of them need certain words, so a text without
those words has no findings. The words are read off the very expressions that are installed. The scan itself, its
findings and its messages stay Hermes's. A version of the scan that this module does not know is always asked.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Needs = tuple[tuple[str, ...], ...]
"""What a match needs: of each group of words at least one, in small letters."""

_KNOWN_SCANS = frozenset({"77fc2d0fcb3010bef635936548e9c960f23867988ed77ba9c161231675598b32"})
"""SHA-256 of the source of the scan, its message and its caller, where they look for nothing but what a gate knows."""

_SHORTEST = 3
# Letters that are no ASCII and that re.IGNORECASE takes for one; NFKC leaves no others.
_DOTLESS = {0x130: "i", 0x131: "i"}


@dataclass(frozen=True, slots=True)
class Gate:
    """Says of a text that a scan finds nothing in it. ``invisible`` are characters that are findings by themselves."""

    needs: tuple[Needs, ...]
    invisible: frozenset[str]

    def is_clean(self, text: str) -> bool:
        """Whether the scan has no findings in ``text`` for sure."""
        if not text.isascii() and not self.invisible.isdisjoint(text):
            return False
        return not any_met(self.needs, folded(text))

    def narrowed(self, texts: Iterable[str]) -> Gate:
        """The gate for these texts alone: what is in none of them needs no look at each."""
        whole = folded("\n".join(texts))
        return Gate(tuple(need for need in self.needs if is_met(need, whole)), self.invisible)


def folded(text: str) -> str:
    """A text in which a word in small letters is found wherever a case-blind expression would find it."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_DOTLESS)
    return text.lower()


def is_met(need: Needs, text: str) -> bool:
    """Whether a folded text has what a match needs."""
    # Plain loops, here and below: a generator costs more than what it would loop over.
    for words in need:
        for word in words:
            if word in text:
                break
        else:
            return False
    return True


def any_met(needs: Sequence[Needs], text: str) -> bool:
    """Whether a folded text has what one of several matches needs."""
    for need in needs:  # noqa: SIM110
        if is_met(need, text):
            return True
    return False


def needs_of(pattern: str) -> Needs:
    """What every match of a regular expression needs; nothing if it cannot be told."""
    try:
        parser: Any = importlib.import_module("re._parser")
        return tuple(_sequence(parser.parse(pattern)))
    except (ImportError, AttributeError, TypeError, ValueError):
        return ()  # a Python with another parser: the expression is asked every time


def _sequence(parsed: Iterable[tuple[Any, Any]]) -> list[tuple[str, ...]]:
    """The groups of words that follow each other in a parsed expression."""
    groups: list[tuple[str, ...]] = []
    run = ""
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL" and argument < 0x80:  # noqa: PLR2004 - ASCII
            run += chr(argument).lower()
            continue
        groups += [(run,)] if len(run) >= _SHORTEST else []
        run = ""
        if name == "SUBPATTERN":
            groups += _sequence(argument[-1])
        elif name == "MAX_REPEAT" and argument[0] > 0:
            groups += _sequence(argument[2])
        elif name == "BRANCH":
            groups += _alternatives(argument[1])
    return groups + ([(run,)] if len(run) >= _SHORTEST else [])


def _alternatives(branches: Iterable[Iterable[tuple[Any, Any]]]) -> list[tuple[str, ...]]:
    """One group with a word of each alternative, if every one needs some."""
    words: list[str] = []
    for branch in branches:
        groups = _sequence(branch)
        if not groups:
            return []
        words += max(groups, key=lambda group: min(map(len, group)))
    return [tuple(words)]


# --- the installed scan -------------------------------------------------------------------------------------------

_gates: dict[tuple[Any, ...], Gate | None] = {}


def gate_of(memory_tool: Any, threats: Any) -> Gate | None:  # noqa: ANN401 - Hermes's modules
    """The gate of the installed scan; ``None`` for one that is not known, or that somebody put something else for."""
    functions = (memory_tool._scan_memory_content, memory_tool._first_threat_message, threats.scan_for_threats)  # noqa: SLF001
    if functions not in _gates:
        _gates[functions] = _built(threats, functions)
    return _gates[functions]


def _built(threats: Any, functions: Iterable[Any]) -> Gate | None:  # noqa: ANN401
    try:
        source = "".join(inspect.getsource(function) for function in functions)
    except (OSError, TypeError):
        return None
    if hashlib.sha256(source.encode()).hexdigest() not in _KNOWN_SCANS:
        return None
    needs = [needs_of(pattern.pattern) for pattern, _ in threats._COMPILED["strict"]]  # noqa: SLF001
    return Gate(tuple(needs), frozenset(threats.INVISIBLE_CHARS)) if all(needs) else None
