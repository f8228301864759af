"""Text that looks like the frame around a prompt, and markup that acts on a viewer or hides words from one.

Frames are template tokens, system tags, role lines and dialogues; markup is remote images, comments, hiding styles and
letters in disguise. Each search for markup starts at a sign that the attack cannot do without (``<``, ``![``, ``]:``,
``&#``) and looks a bounded way from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.threats.finding import PATTERNS, Threat

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence

    from catmem.threats.finding import Places
    from catmem.threats.fold import Folded

_BRACKET = PATTERNS["bracket"]
ROLE_SIGNS = ("<", "###", "[", "system", "assistant", "human", "begin ", "end of ")
"""The signs in a text in lower case that the searches here start from."""
_WHOLE = (("<", PATTERNS["template-token"]), ("[", PATTERNS["inst"]), ("###", PATTERNS["heading"]), ("[", _BRACKET))
_ROLES = ("system", "assistant", "human")
_RULED = ("begin ", "end of ")
_DIALOGUE_REACH = 400
_RULE_REACH = 6
_FRAME_REACH = 80


def find_roles(folded: Folded, found: Places) -> Iterator[tuple[int, Threat | None]]:
    """The places of ``ROLE_SIGNS`` where a frame may begin, each with the finding of ``role-marker`` if it is one."""
    # It is none where what a frame needs is not in the text, or not in front of it: a part of the text may be one then.
    text = folded.text
    system = "system" in folded.letters
    for sign, whole in _WHOLE:
        for place in found.get(sign, ()):
            if match := whole.match(text, place):
                yield place, _marker(match, is_one=system or whole is not _BRACKET)
    for role in _ROLES:
        for place in found.get(role, ()):
            match = PATTERNS["role"].match(text, place)
            answer = None if match else PATTERNS["answer"].match(text, place)
            if line := match or answer:
                is_role = (role != "human" or "Human:" in text) and (match or _follows_question(text, place))
                begins_line = PATTERNS["line-start"].search(text, max(0, place - 12), place)
                yield place, _marker(line, is_one=bool(is_role and begins_line))
    for words in _RULED:
        for place in found.get(words, ()):
            if match := PATTERNS["frame"].search(text, max(0, place - _RULE_REACH), place + _FRAME_REACH):
                yield place, _marker(match, is_one=system or words != "begin ")


def _marker(match: re.Match[str], *, is_one: bool) -> Threat | None:
    return Threat("role-marker", *match.span()) if is_one else None


def _follows_question(text: str, place: int) -> bool:
    # The cheap half first: most words are not followed by a colon.
    if ":" not in text[place : place + 14]:
        return False
    return PATTERNS["question"].search(text, max(0, place - _DIALOGUE_REACH), place) is not None


_TAG = PATTERNS["tag"]

MARKUP_SIGNS = ("<", "![", "]:", "&#")
"""The signs in a text that the searches here start from."""
_IMAGE_REACH = 512
_LABEL_REACH = 200

_TO_A_MODEL = PATTERNS["to-a-model"]
_LINK_COMMENT = PATTERNS["link-comment"]
_COMMENT_REACH = 4096


def markup_starts(text: str, found: Places) -> list[int]:
    """Where markup may begin that is a finding in some part of the text."""
    starts = [place for sign in ("![", "&#") if sign in found for place in found[sign]]
    if "<" in found:
        starts += [place for place in found["<"] if _may_act(text, place)]
    if "]:" in found:
        starts += [place for place in found["]:"] if _LINK_COMMENT.match(text, place)]
    return starts


def _may_act(text: str, place: int) -> bool:
    """Whether a comment opens here, or a tag that has in it what a remote source or a style needs."""
    tag = _TAG.match(text, place)
    return text.startswith("<!--", place) or (tag is not None and PATTERNS["acts"].search(tag.group()) is not None)


def find_markup(text: str, found: Places) -> list[Threat]:
    """All findings of what hides words or acts on a viewer, by the places of ``MARKUP_SIGNS``."""
    findings: list[Threat] = []
    if "<" in found:
        findings += _tags(text, found["<"])
        findings += _comments(text, found["<"])
    if "![" in found:
        findings += _images(text, found["!["])
    if "]:" in found:
        findings += _link_comments(text)
    if "&#" in found:
        findings += [
            Threat("encoded-letters", *match.span()) for match in PATTERNS["character-references"].finditer(text)
        ]
    return findings


def _tags(text: str, openings: Iterable[int]) -> Iterator[Threat]:
    # One tag ends where the next one opens, so none is looked at twice.
    for tag in filter(None, (_TAG.match(text, place) for place in openings)):
        start, end = tag.span()
        loads = PATTERNS["loading-tag"].match(text, start, end) and PATTERNS["remote-source"].search(text, start, end)
        if loads or PATTERNS["remote-background"].search(text, start, end):
            yield Threat("remote-image", start, end)
        if PATTERNS["hiding-style"].search(text, start, end):
            yield Threat("hidden-markup", start, end)


def _comments(text: str, openings: Iterable[int]) -> Iterator[Threat]:
    end = 0
    for start in openings:
        if start < end or not text.startswith("<!--", start):
            continue
        close = text.find("-->", start, start + _COMMENT_REACH)
        # A comment that never ends hides all that follows it, as far as one looks.
        end = close + len("-->") if close >= 0 else min(len(text), start + _COMMENT_REACH)
        if _TO_A_MODEL.search(text, start, end):
            yield Threat("hidden-markup", start, end)


def _link_comments(text: str) -> Iterator[Threat]:
    # "[//]: # (words)" is the comment of plain Markdown: an unused link definition.
    place = text.find("]:")
    while place >= 0:
        if _LINK_COMMENT.match(text, place):
            end = text.find("\n", place, place + _COMMENT_REACH)
            end = min(len(text), place + _COMMENT_REACH) if end < 0 else end
            if _TO_A_MODEL.search(text, place, end):
                yield Threat("hidden-markup", max(text.rfind("[", 0, place), 0), end)
            place = end - 1
        place = text.find("]:", place + 1)


def _images(text: str, openings: Sequence[int]) -> Iterator[Threat]:
    remote = _remote_labels(text) if "]:" in text else frozenset[str]()
    for start, after in zip(openings, (*openings[1:], len(text)), strict=True):
        target = text.find("](", start, min(after, start + _IMAGE_REACH))
        match = PATTERNS["remote-target"].match(text, target) if target >= 0 else None
        if match:
            close = text.find(")", match.end(), match.end() + _IMAGE_REACH)
            yield Threat("remote-image", start, close + 1 if close >= 0 else match.end())
        elif (
            remote
            and (label := PATTERNS["label"].match(text, start))
            and (label[2] or label[1]).strip().casefold() in remote
        ):
            yield Threat("remote-image", *label.span())


def _remote_labels(text: str) -> frozenset[str]:
    labels: set[str] = set()
    for definition in PATTERNS["definition"].finditer(text):
        opening = text.rfind("[", max(0, definition.start() - _LABEL_REACH), definition.start())
        if opening >= 0:
            labels.add(text[opening + 1 : definition.start()].strip().casefold())
    return frozenset(labels)
