"""The fast way out: most entries hold none of the signs that any rule starts from.

Every search of the other modules begins at one of these signs, so an ASCII text without them has no findings. A
property test holds the two together.
"""

from __future__ import annotations

from catmem.policy.threats.fold import FOLD_TABLE, NOT_LETTERS
from catmem.policy.threats.instructions import GATES
from catmem.policy.threats.leaks import SIGNS as _LEAK_SIGNS
from catmem.policy.threats.markup import SIGNS as _MARKUP_SIGNS
from catmem.policy.threats.roles import LETTERS as _ROLE_LETTERS
from catmem.policy.threats.roles import SIGNS as _ROLE_SIGNS

_SIGNS = tuple(dict.fromkeys(_MARKUP_SIGNS + _LEAK_SIGNS + _ROLE_SIGNS))
_LETTERS = tuple(dict.fromkeys(GATES + _ROLE_LETTERS))
# A text without these characters has no control character and none of the signs, but for two that are looked for apart,
# since most entries hold a colon.
_RARE = b"<!&@|#]$"
_COLONS = tuple(sign for sign in _SIGNS if not set(sign) & set(_RARE.decode()))
_DULL = bytes(code for code in (9, 10, 13, *range(32, 127)) if code not in _RARE)


def is_plain(text: str) -> bool:
    """Whether ``text``, which is ASCII, holds nothing that a rule could start from."""
    raw = text.encode("ascii")
    rest = raw.translate(None, _DULL)
    if rest.translate(None, _RARE):
        return False
    # Plain loops: a generator costs more than what it would loop over.
    for sign in _SIGNS if rest else _COLONS:
        if sign in text:
            return False
    letters = raw.translate(FOLD_TABLE, NOT_LETTERS).decode("ascii")
    for gate in _LETTERS:  # noqa: SIM110
        if gate in letters:
            return False
    return True
