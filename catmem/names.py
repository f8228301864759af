"""The grammar of the names that people and programs write: profiles, targets, entities, revisions, categories."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple, TypeAlias

from catmem.errors import UnknownNameError, wrong_type

FILE_NAMES = {"user": "USER.md", "memory": "MEMORY.md"}
"""The file of each target, in the folder of a profile."""

Target: TypeAlias = Literal["user", "memory"]
TARGETS = tuple(FILE_NAMES)

HERMES_FOLDER = "memories"
"""What Hermes Agent calls the folder of its memory files."""

_PROFILE = r"[a-z0-9][a-z0-9_-]{0,63}"
_NAME = re.compile(_PROFILE)
_ENTITY = re.compile(rf"{_PROFILE}/(?:{'|'.join(TARGETS)})")
_PART = r"[a-z0-9][a-z0-9_-]*"
_DECLARED = re.compile(rf"(?=.{{1,100}}\Z){_PART}(?::{_PART})+")
_KEY_FILE = re.compile(rf"({_PROFILE})\.({_PROFILE})")


def is_name(name: str) -> bool:
    """Whether ``name`` has the form of a profile's, of an agent's, or of a key's."""
    return _NAME.fullmatch(name) is not None


def is_entity(name: str) -> bool:
    """Whether ``name`` has the form ``PROFILE/user`` or ``PROFILE/memory``."""
    return _ENTITY.fullmatch(name) is not None


class EntityParts(NamedTuple):
    """The profile whose file an entity is, and which of its two; of a declared entity its name, and no target."""

    owner: str
    target: str


def parts_of(entity: str) -> EntityParts:
    """The parts of ``PROFILE/user``, ``PROFILE/memory``, or of the name of a declared entity."""
    return EntityParts(*entity.partition("/")[::2])


DECLARED_RULE = (
    "An entity of catmem.yaml has a kind and a name with ':' between, such as project:alpha: small letters, digits, "
    "'_' and '-', at most 100 characters."
)


def is_declared(name: str) -> bool:
    """Whether ``name`` has the form of an entity that ``entities`` of catmem.yaml declares: see ``DECLARED_RULE``."""
    return _DECLARED.fullmatch(name) is not None


def key_file_parts(name: str) -> tuple[str, str] | None:
    """The agent and the key that the name of a key's file is made of (``agent.key``); ``None`` for another name."""
    match = _KEY_FILE.fullmatch(name)
    return None if match is None else (match[1], match[2])


def known_target(target: str) -> str:
    """A target that there is. Raises ``UnknownNameError``."""
    if not isinstance(target, str):
        raise wrong_type("target", target)
    if target not in FILE_NAMES:
        raise UnknownNameError(
            f"{target!r} is not a target", code="unknown_target", hint="Use 'user' (USER.md) or 'memory' (MEMORY.md)."
        )
    return target


UNCATEGORIZED = "__uncategorized__"
"""The category of what stands before the first section header, and of whole files without one."""

UNCATEGORIZED_TITLE = "Uncategorized"
"""What people read for entries without a category."""
PURGED = "[purged]"
"""What stands in old revisions where a text was that was purged."""

_NOT_ASCII_SLUG = re.compile(r"[^a-z0-9_]+")
_DASHES = re.compile(r"-+")


def category_name(slug: str) -> str:
    """A category as people read it: its slug, and a word for what has none."""
    return UNCATEGORIZED_TITLE if slug == UNCATEGORIZED else slug


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


STAYS, DROP, SECRET, SPLIT = "uncategorized", "drop", "secret", "split"
"""What a sort may do with an entry instead of moving it into a category; the history keeps these words."""
