"""The grammar of the names that people and programs write: profiles, agents, targets, entities, revisions."""

from __future__ import annotations

import re

from catmem.errors import UnknownNameError

FILE_NAMES = {"user": "USER.md", "memory": "MEMORY.md"}
"""The file of each target, in the folder of a profile."""

TARGETS = tuple(FILE_NAMES)

_PROFILE = r"[a-z0-9][a-z0-9_-]{0,63}"
_NAME = re.compile(_PROFILE)
_ENTITY = re.compile(rf"{_PROFILE}/(?:{'|'.join(TARGETS)})")
_KEY_FILE = re.compile(rf"({_PROFILE})\.({_PROFILE})")
_REVISION = re.compile(r"[0-9]{1,12}|[1-9][0-9]{0,11}[a-z]{1,8}")


def is_name(name: str) -> bool:
    """Whether ``name`` has the form of a profile's, of an agent's, or of a key's."""
    return _NAME.fullmatch(name) is not None


def is_entity(name: str) -> bool:
    """Whether ``name`` has the form ``PROFILE/user`` or ``PROFILE/memory``."""
    return _ENTITY.fullmatch(name) is not None


def is_revision(name: str) -> bool:
    """Whether ``name`` has the form of a revision: a number, and letters where it is of a branch."""
    return _REVISION.fullmatch(name) is not None


def key_file_parts(name: str) -> tuple[str, str] | None:
    """The agent and the key that the name of a key's file is made of (``agent.key``); ``None`` for another name."""
    match = _KEY_FILE.fullmatch(name)
    return None if match is None else (match[1], match[2])


def known_target(target: str) -> str:
    """A target that there is. Raises ``UnknownNameError``."""
    if target not in FILE_NAMES:
        raise UnknownNameError(
            f"{target!r} is not a target", code="unknown_target", hint="Use 'user' (USER.md) or 'memory' (MEMORY.md)."
        )
    return target
