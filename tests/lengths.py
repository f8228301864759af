"""How long the long tests are: at full length in the profile `thorough`; CI runs the long forms by `make torture`."""

import os
from typing import TypeVar

_FULL = {"thorough"}

Length = TypeVar("Length")


def at_length(full: Length, by_hand: Length) -> Length:
    """The number of operations for this run, or the list of what is tried."""
    return full if os.environ.get("HYPOTHESIS_PROFILE") in _FULL else by_hand
