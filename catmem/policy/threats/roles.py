"""Text that looks like the frame around a prompt: template tokens, system tags, role lines, dialogues."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catmem.policy.threats.finding import Finding

if TYPE_CHECKING:
    from catmem.policy.threats.fold import Folded

_TEMPLATE_TOKEN = re.compile(
    r"<\|[a-z0-9_\u2581 -]{2,40}\|>|<<\s?/?SYS\s?>>|</?(?:start|end)_of_turn>|"
    r"</?\s{0,4}(?:system|assistant|developer)"
    r"(?:[-_ ]?(?:prompt|message|reminder|instructions?|override|note))?\s{0,4}/?>|"
    r"</\s{0,4}(?:memory|memories|user_memory|context|instructions?|untrusted[\w-]{0,40})\s{0,4}>",
    re.IGNORECASE,
)
_INST = re.compile(r"\[/?INST\]")
_BRACKET = re.compile(
    r"\[\s{0,4}(?:system|developer)\s(?:message|prompt|override|note|notice|update|instructions?|alert|command)\s{0,4}[\]:]",
    re.IGNORECASE,
)
_LINE_START = re.compile(r"(?:\A|\n)[\s>*_#-]{0,8}\Z")
_ORDER = (
    r"(?: ?(?:message|prompt|note))?[*_]{0,2}\s{0,2}:[*_]{0,2}\s{0,8}"
    r"(?:you (?:are|must|will|should|have)|ignore|disregard|forget|override|from now|new (?:instruction|rule)|"
    r"sure[,!.]|certainly|of course|i will|the user (?:is|has)|execute|reveal|send )"
)
_ROLE = re.compile(r"(?:system|assistant|human)" + _ORDER, re.IGNORECASE)
_ANSWER = re.compile(r"assistant[*_]{0,2}:", re.IGNORECASE)
_QUESTION = re.compile(r"(?:\A|\n)[*_#> ]{0,6}(?:user|human)[*_]{0,2}:", re.IGNORECASE)
_HEADING = re.compile(r"###\s{0,3}(?:instruction|response|system|assistant|human)\s{0,3}:", re.IGNORECASE)
_FRAME = re.compile(
    r"[-=#*<\[\u2550]{2}\s{0,4}(?:begin|start|end)\s(?:of\s)?(?:the\s|your\s|new\s)?"
    r"(?:system(?:\s(?:prompt|message|instructions?))?|prompt|memory|user memory|context|instructions?|untrusted)\b"
    r"[^\n]{0,20}?[-=#*>\]\u2550]{2}",
    re.IGNORECASE,
)
SIGNS = ("<", "INST]", "###", "Human:")
LETTERS = ("system", "assistant", "endof")
"""The signs in a text, and in its folded letters, that the searches here start from."""
_DIALOGUE_REACH = 400
_RULE_REACH = 6
_FRAME_REACH = 80


def find_roles(folded: Folded) -> list[Finding]:
    """All findings of ``role-marker``; ordinary text is done after a few substring searches."""
    text, letters = folded.text, folded.letters
    findings: list[Finding] = []
    if "<" in text:
        findings += _all_from("<", _TEMPLATE_TOKEN, text)
    if "INST]" in text:
        findings += _all_from("[", _INST, text)
    if "###" in text:
        findings += _all_from("###", _HEADING, text)
    if "system" in letters:
        findings += _lines("system", folded)
        findings += _all_from("[", _BRACKET, text)
        findings += _frames("begin ", folded)
    if "assistant" in letters:
        findings += _lines("assistant", folded)
    if "Human:" in text:
        findings += _lines("human", folded)
    if "endof" in letters:
        findings += _frames("end of ", folded)
    return findings


def _all_from(sign: str, pattern: re.Pattern[str], text: str) -> list[Finding]:
    findings: list[Finding] = []
    place = text.find(sign)
    while place >= 0:
        if match := pattern.match(text, place):
            findings.append(Finding("role-marker", *match.span()))
        place = text.find(sign, place + 1)
    return findings


def _lines(role: str, folded: Folded) -> list[Finding]:
    findings: list[Finding] = []
    text, low = folded.text, folded.low
    place = low.find(role)
    while place >= 0:
        match = _ROLE.match(text, place) or (_ANSWER.match(text, place) if _follows_question(text, place) else None)
        if match and _LINE_START.search(text, max(0, place - 12), place):
            findings.append(Finding("role-marker", *match.span()))
        place = low.find(role, place + len(role))
    return findings


def _follows_question(text: str, place: int) -> bool:
    # The cheap half first: most words are not followed by a colon.
    if ":" not in text[place : place + 14]:
        return False
    return _QUESTION.search(text, max(0, place - _DIALOGUE_REACH), place) is not None


def _frames(words: str, folded: Folded) -> list[Finding]:
    findings: list[Finding] = []
    text, low = folded.text, folded.low
    place = low.find(words)
    while place >= 0:
        if match := _FRAME.search(text, max(0, place - _RULE_REACH), place + _FRAME_REACH):
            findings.append(Finding("role-marker", *match.span()))
        place = low.find(words, place + len(words))
    return findings
