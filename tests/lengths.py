"""How long the long tests are: in CI at full length, by hand shorter, as property tests are (``tests/conftest.py``)."""

from __future__ import annotations

import os

_FULL = {"ci", "thorough"}


def at_length(full: int, by_hand: int) -> int:
    """The number of operations for this run."""
    return full if os.environ.get("HYPOTHESIS_PROFILE") in _FULL else by_hand
