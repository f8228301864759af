"""How the C library shares memory out to the threads of a server.

glibc gives each thread an arena of its own. What a request needed for a moment stays with the arena of its thread, full
of holes. So a server takes that much once for each thread, and grows until every thread has had its largest request.
Several arenas are of use to threads that compute at once, and in Python one does. So all share one.
"""

from __future__ import annotations

import ctypes
import os

_ARENA_MAX = -8
"""``M_ARENA_MAX`` of ``<malloc.h>``."""


def share_one_arena() -> bool:
    """Have the threads that begin from now on use the arena that there is; returns whether that was done.

    Nothing is done where another C library has no arenas, and where somebody has chosen for themselves
    (``MALLOC_ARENA_MAX`` or ``GLIBC_TUNABLES`` in the environment).
    """
    if "MALLOC_ARENA_MAX" in os.environ or "glibc.malloc.arena_max" in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    return _is_glibc() and ctypes.CDLL(None).mallopt(_ARENA_MAX, 1) == 1


def _is_glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (ValueError, OSError):
        return False  # a name that only glibc knows
