"""Text that looks like the frame around a prompt, and markup that acts on a viewer or hides words from one.

Frames are template tokens, system tags, role lines and dialogues; markup is remote images, comments, hiding styles and
letters in disguise. Each search for markup starts at a sign that the attack cannot do without (``<``, ``![``, ``]:``,
``&#``) and looks a bounded way from it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.property.oracle_threats.finding import Threat, places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.property.oracle_threats.fold import Folded

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
ROLE_SIGNS = ("<", "INST]", "###", "Human:")
ROLE_LETTERS = ("system", "assistant", "endof")
"""The signs in a text, and in its folded letters, that the searches here start from."""
_DIALOGUE_REACH = 400
_RULE_REACH = 6
_FRAME_REACH = 80


def find_roles(folded: Folded) -> list[Threat]:
    """All findings of ``role-marker``; ordinary text is done after a few substring searches."""
    text, letters = folded.text, folded.letters
    findings: list[Threat] = []
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


def _all_from(sign: str, pattern: re.Pattern[str], text: str) -> Iterator[Threat]:
    for place in places(sign, text):
        if match := pattern.match(text, place):
            yield Threat("role-marker", *match.span())


def _lines(role: str, folded: Folded) -> Iterator[Threat]:
    text = folded.text
    for place in places(role, folded.low, len(role)):
        match = _ROLE.match(text, place) or (_ANSWER.match(text, place) if _follows_question(text, place) else None)
        if match and _LINE_START.search(text, max(0, place - 12), place):
            yield Threat("role-marker", *match.span())


def _follows_question(text: str, place: int) -> bool:
    # The cheap half first: most words are not followed by a colon.
    if ":" not in text[place : place + 14]:
        return False
    return _QUESTION.search(text, max(0, place - _DIALOGUE_REACH), place) is not None


def _frames(words: str, folded: Folded) -> Iterator[Threat]:
    for place in places(words, folded.low, len(words)):
        if match := _FRAME.search(folded.text, max(0, place - _RULE_REACH), place + _FRAME_REACH):
            yield Threat("role-marker", *match.span())


_REMOTE = r"(?:(?:https?|ftp)\s{0,4}:|[\\/]{2})"

_TAG = re.compile(r"<[a-z][^<>]{0,1000}", re.IGNORECASE)
_LOADING_TAG = re.compile(
    r"<(?:img|image|video|audio|iframe|embed|object|source|script|link|track|input|svg|use)\b", re.IGNORECASE
)
_REMOTE_SOURCE = re.compile(r"\b(?:src|srcset|href|data|poster)\s{0,4}=\s{0,4}[\"']?\s{0,4}" + _REMOTE, re.IGNORECASE)
_REMOTE_BACKGROUND = re.compile(
    r"(?:\bbackground\s{0,4}=\s{0,4}[\"']?\s{0,4}|\burl\(\s{0,4}[\"']?)" + _REMOTE, re.IGNORECASE
)
_HIDING_STYLE = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|(?:font-size|(?<![\w-])opacity)\s{0,3}:\s{0,3}0(?![.\d]*[1-9])|"
    r"(?<!-)color\s{0,3}:\s{0,3}(?:white|transparent|#fff(?:fff)?\b)|\shidden(?=[\s/]|\Z)",
    re.IGNORECASE,
)

_REMOTE_TARGET = re.compile(r"\]\(\s{0,16}<?" + _REMOTE, re.IGNORECASE)
_DEFINITION = re.compile(r"\]:[ \t]{0,8}\n?[ \t]{0,8}<?" + _REMOTE, re.IGNORECASE)
_LABEL = re.compile(r"!\[([^\[\]]{0,200})\](?:\[([^\[\]]{0,200})\])?")
MARKUP_SIGNS = ("<", "![", "]:", "&#")
"""The signs in a text that the searches here start from."""
_IMAGE_REACH = 512
_LABEL_REACH = 200

# What makes a comment more than a note between editors: it speaks to a model, or of its prompt.
_TO_A_MODEL = re.compile(
    r"\b(?:instructions?|system prompt|assistant|override|you (?:must|are|should|will|have to)|"
    r"(?:ignore|disregard|forget) (?:all|any|the|every|previous|prior|your|everything|what)|secret(?:ly)?|the user|"
    r"ai (?:agent|model|assistant)|language model|llms?|prompt|send|exfiltrate|password|api key|credentials?|"
    r"do not (?:tell|mention)|note to (?:the )?(?:ai|agent|model))\b",
    re.IGNORECASE,
)
_LINK_COMMENT = re.compile(r"\]:[ \t]{0,4}<?#>?[ \t]{1,4}[(\"']")
_COMMENT_REACH = 4096

_CHARACTER_REFERENCES = re.compile(r"(?:&#(?:x[0-9a-f]{1,6}|[0-9]{1,7});?\s?){4,}", re.IGNORECASE)


def find_markup(text: str) -> list[Threat]:
    """All findings of this module; ordinary text is done after a few substring searches."""
    findings: list[Threat] = []
    if "<" in text:
        findings += _tags(text)
        findings += _comments(text)
    if "![" in text:
        findings += _images(text)
    if "]:" in text:
        findings += _link_comments(text)
    if "&#" in text:
        findings += [Threat("encoded-letters", *match.span()) for match in _CHARACTER_REFERENCES.finditer(text)]
    return findings


def _tags(text: str) -> Iterator[Threat]:
    for tag in _TAG.finditer(text):
        start, end = tag.span()
        loads = _LOADING_TAG.match(text, start, end) and _REMOTE_SOURCE.search(text, start, end)
        if loads or _REMOTE_BACKGROUND.search(text, start, end):
            yield Threat("remote-image", start, end)
        if _HIDING_STYLE.search(text, start, end):
            yield Threat("hidden-markup", start, end)


def _comments(text: str) -> Iterator[Threat]:
    start = text.find("<!--")
    while start >= 0:
        close = text.find("-->", start, start + _COMMENT_REACH)
        # A comment that never ends hides all that follows it, as far as one looks.
        end = close + len("-->") if close >= 0 else min(len(text), start + _COMMENT_REACH)
        if _TO_A_MODEL.search(text, start, end):
            yield Threat("hidden-markup", start, end)
        start = text.find("<!--", end)


def _link_comments(text: str) -> Iterator[Threat]:
    # "[//]: # (words)" is the comment of plain Markdown: a link definition that nobody uses.
    place = text.find("]:")
    while place >= 0:
        if _LINK_COMMENT.match(text, place):
            end = text.find("\n", place, place + _COMMENT_REACH)
            end = min(len(text), place + _COMMENT_REACH) if end < 0 else end
            if _TO_A_MODEL.search(text, place, end):
                yield Threat("hidden-markup", max(text.rfind("[", 0, place), 0), end)
            place = end - 1
        place = text.find("]:", place + 1)


def _images(text: str) -> Iterator[Threat]:
    remote = _remote_labels(text) if "]:" in text else frozenset[str]()
    start = text.find("![")
    while start >= 0:
        after = text.find("![", start + 2)
        target = text.find("](", start, start + _IMAGE_REACH if after < 0 else min(after, start + _IMAGE_REACH))
        match = _REMOTE_TARGET.match(text, target) if target >= 0 else None
        if match:
            close = text.find(")", match.end(), match.end() + _IMAGE_REACH)
            yield Threat("remote-image", start, close + 1 if close >= 0 else match.end())
        elif remote and (label := _LABEL.match(text, start)) and (label[2] or label[1]).strip().casefold() in remote:
            yield Threat("remote-image", *label.span())
        start = after


def _remote_labels(text: str) -> frozenset[str]:
    labels: set[str] = set()
    for definition in _DEFINITION.finditer(text):
        opening = text.rfind("[", max(0, definition.start() - _LABEL_REACH), definition.start())
        if opening >= 0:
            labels.add(text[opening + 1 : definition.start()].strip().casefold())
    return frozenset(labels)
