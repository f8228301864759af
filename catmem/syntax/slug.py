"""A section title's category: its slug (``docs/format.md``, "Section headers")."""

from __future__ import annotations

import re
import unicodedata

UNCATEGORIZED = "__uncategorized__"
"""The category of what stands before the first section header, and of whole files without one."""

_NOT_ASCII_SLUG = re.compile(r"[^a-z0-9_]+")
_DASHES = re.compile(r"-+")


def slugify(title: str) -> str:
    """The slug of ``title``, perhaps empty; a slug is its own slug.

    NFKC, lower case; letters, numbers, ``_`` and ``-`` stay, and so do marks that follow a letter, a number or such a
    mark (Indic vowel signs are marks). Every other run, and every run of ``-``, becomes one ``-``, with none at the
    ends.

    >>> slugify("Workflow Rules (Finance)")
    'workflow-rules-finance'
    """
    if title.isascii():
        return _NOT_ASCII_SLUG.sub("-", title.lower()).strip("-")
    kept: list[str] = []
    mark_may_follow = False
    # Twice, because a small letter may compose with a mark where its capital does not (J and a caron).
    for character in unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", title).lower()):
        kind = unicodedata.category(character)[0]
        if kind in "LN" or (kind == "M" and mark_may_follow):
            kept.append(character)
            mark_may_follow = True
        else:
            kept.append("_" if character == "_" else "-")
            mark_may_follow = False
    return _DASHES.sub("-", "".join(kept)).strip("-")
