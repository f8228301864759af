"""Rules on what the dates of facts say, and on facts that should have one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catmem.config.profile import Profile
from catmem.linting.diagnostic import Finding
from catmem.linting.rule import rule
from catmem.linting.spans import first_line, value_span
from catmem.staleness.freshness import freshness

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from catmem.linting.linted import Context, LintedFile

_UNNAMED = Profile("unnamed")
_FROM = ("verified_date", "created")


@rule("CM304", "date-in-future", dated=True)
def date_in_future(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find facts that were verified or created on a day that is yet to come."""
    for entry in file.tagged:
        for key in _FROM:
            day = entry.dates.get(key)
            if day is not None and day > context.as_of:
                message = f"{key} is {day}, which is after {context.as_of}"
                yield Finding(*value_span(entry, key, day), message, "Write the day on which it was so.")


@rule("CM305", "expires-before-verified")
def expires_before_verified(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find facts whose last day lies before the day on which they were verified or created."""
    for entry in file.tagged:
        expires = entry.dates.get("expires")
        if expires is None:
            continue
        for key in _FROM:
            day = entry.dates.get(key)
            if day is not None and expires < day:
                message = f"expires is {expires}, before {key}, {day}"
                yield Finding(*value_span(entry, "expires", expires), message, "Correct one of the two dates.")
                break


@rule("CM307", "stale", severity="hint", dated=True)
def stale(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find facts that were not verified, nor written, for longer than they may go."""
    profile = context.profiles.get(file.owner or "", _UNNAMED)
    for entry in file.tagged:
        state = freshness(entry, profile, context.config, as_of=context.as_of) if entry.dates else None
        if state is not None and state.state == "stale":
            hint = "Look whether it still holds, then catmem verify."
            span = value_span(entry, state.basis or "", state.day)
            said = "last verified" if state.basis == "verified_date" else "created"
            yield Finding(*span, f"this fact is stale: it was {said} on {state.day}", hint)


@rule("CM308", "expired", dated=True)
def expired(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find facts whose last day has passed."""
    for entry in file.tagged:
        day = entry.dates.get("expires")
        if day is not None and context.as_of > day:
            span = value_span(entry, "expires", day)
            yield Finding(*span, f"this fact expired on {day}", "Remove it, or give it a new date.")


# Facts that change while the file does not. No run in a pattern is repeated. The words in front of each, one of which
# has to be there, settle nearly every entry without it.
_VERSIONED = "python|node|java|ruby|go|php|postgres|postgresql|mysql|ubuntu|debian|macos|ios|android|windows"
_PARTNERS = "vendor|supplier|subcontractor|contractor|landlord|insurer|bank|carrier|provider"
_DRIFTING = {
    "age": (
        " old|-old|age|turn",
        r"\b\d{1,3}[ -](?:years?|months?|yrs?)[ -]old\b|\b(?:aged?|turned|turns)(?: is|:)? \d{1,3}\b(?![.:/%-])",
    ),
    "address": (
        "address|lives|moved|office",
        r"\b(?:address(?: is|:)|(?:lives|moved|office is) (?:in|at|on|to)) ",
    ),
    "street": (
        "street|avenue| ave|road|lane|drive|boulevard|blvd|square|straße|strasse|str.",
        r"\b\d{1,5}[a-z]? (?:[a-z]{2,20} ){1,3}(?:street|avenue|ave|road|lane|drive|boulevard|blvd|square)\b",
        r"(?:straße|strasse|str\.) ?\d",
    ),
    "price": (
        "$|€|£|¥|₹|usd|eur|gbp|chf|jpy|cny|inr|dollar",
        r"[$€£¥₹] ?\d|\b\d[\d.,]{0,12} ?(?:usd|eur|gbp|chf|jpy|cny|inr|dollars?|euros?)\b",
    ),
    "version": (
        f".|version|{_VERSIONED}",
        r"\bv\d{1,4}\.\d|\bversion:? v?\d|\b(?<![.\d])\d{1,4}\.\d{1,4}\.\d{1,6}\b(?!\.\d)",
        rf"\b(?:{_VERSIONED}) \d",
    ),
    "vendor": (
        _PARTNERS,
        rf"\b(?:{_PARTNERS})(?: [a-z-]{{1,20}}){{0,4}}(?: is| are|:) ",
    ),
    "phone": (
        "+|-|.| |)",
        r"(?<![\w+])\+\d{1,3}[ .()-]{0,2}\d{1,5}[ .()-]{0,2}\d{2,5}[ .-]?\d{2,5}",
        r"\b\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b|\b(?:phone|telephone|tel\.|mobile|cell)[^\n\d]{0,24}\d[\d ().-]{4,}",
    ),
}
_DRIFT = {kind: (signs.split("|"), re.compile("|".join(patterns))) for kind, (signs, *patterns) in _DRIFTING.items()}
# What no number has to be in, and what has to be then.
_WITHOUT_DIGITS = {"address": (" in ", " at ", " on ", " to ", " is ", ": "), "vendor": (" is ", " are ", ": ")}
_DIGIT = re.compile(r"\d")
_ASCII_DIGIT = re.compile(r"[0-9]")
_SPOKEN = {"age": "an age", "address": "an address", "street": "an address", "phone": "a phone number"}


@rule("CM309", "drifting-unverified", severity="hint", options={"kinds": tuple(_DRIFTING)})
def drifting_unverified(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find facts of a kind that changes by itself, and that have no date."""
    wanted = context.options("CM309")["kinds"]
    # Most entries hold no number. What they may hold all the same is looked for once, in all of them together.
    small = file.text.lower()
    without_digits = [kind for kind in _WITHOUT_DIGITS if kind in wanted and _any_in(_DRIFT[kind][0], small)]
    for entry in file.entries:
        if entry.day is not None:
            continue
        body = entry.body.lower()
        digit = _ASCII_DIGIT if body.isascii() else _DIGIT
        found = _drifting(body, wanted if digit.search(body) else without_digits)
        if found is not None:
            kind, words = found
            # A few letters change their number when made small, and the offsets with them.
            small = entry.raw.lower()
            start = small.find(words) if len(small) == len(entry.raw) else -1
            span = (entry.start + start, entry.start + start + len(words)) if start >= 0 else first_line(entry)
            message = f"this names {_SPOKEN.get(kind, f'a {kind}')} and has no date"
            yield Finding(*span, message, "Look whether it still holds, then catmem verify.")


def _drifting(body: str, kinds: Collection[str]) -> tuple[str, str] | None:
    """The first of some kinds of drifting fact that a body in small letters holds, and the words that show it."""
    for kind, (signs, pattern) in _DRIFT.items() if kinds else ():
        if kind in kinds and _any_in(signs, body) and _any_in(_WITHOUT_DIGITS.get(kind, ("",)), body):
            match = pattern.search(body)
            if match is not None:
                return kind, match[0].strip()
    return None


def _any_in(signs: Iterable[str], text: str) -> bool:
    # A plain loop: a generator costs more than what it would loop over.
    for sign in signs:  # noqa: SIM110
        if sign in text:
            return True
    return False
