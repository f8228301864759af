"""Regular expressions that a root brings: understood by Python, and none that takes exponential time.

A repeat around another repeat, or around alternatives, can be matched in very many ways, and a text that does not fit
makes Python try them all. Such a pattern is refused unless the outer repeat is possessive (``(?:a|b)*+``), which keeps
the first way it finds.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\(\?#[^)]*+\)|\((?>(?:\?(?:<?[=!]|[:>]|P?<\w++>|[aiLmsux-]++:))?)|[)|]|"
    r"(?P<repeat>[*+]|\{[0-9]*+,[0-9]*+\}|\{[0-9]++\}|\?)(?P<kind>[+?]?)|.",
    re.DOTALL,
)
_OPEN = re.compile(r"[*+]|\{[0-9]*,\}")
_BOUND = re.compile(r"\{(?P<least>[0-9]*)(?:,(?P<most>[0-9]+))?\}")
_LONG = 32


def pattern_fault(pattern: str) -> str | None:
    """Why ``pattern`` cannot be used; ``None`` if it can."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression: {error}"
    # Per open group: whether it can be matched in several ways. The first is the pattern itself.
    open_groups = [False]
    closed: bool | None = None
    for token in _TOKEN.finditer(pattern):
        text = token.group()
        several, closed = closed, None
        if token["repeat"]:
            if _repeats_long(token["repeat"]):
                if several and token["kind"] != "+":
                    return "repeats a group that repeats or has alternatives, which may take very long"
                open_groups[-1] = open_groups[-1] or token["kind"] != "+"
            elif several:
                closed = several
        elif text.startswith("(") and not text.startswith("(?#"):
            open_groups.append(False)
        elif text == ")" and len(open_groups) > 1:
            closed = open_groups.pop()
            open_groups[-1] = open_groups[-1] or closed
        elif text == "|":
            open_groups[-1] = True
    return None


def _repeats_long(repeat: str) -> bool:
    if _OPEN.fullmatch(repeat):
        return True
    bound = _BOUND.fullmatch(repeat)
    return bound is not None and int(bound["most"] or bound["least"] or 0) > _LONG
