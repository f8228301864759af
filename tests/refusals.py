"""A call that has to be refused."""

from collections.abc import Callable
from typing import Any

import pytest

from catmem.errors import CatmemError


def refusal(code: str, call: Callable[..., object], *given: Any, **named: Any) -> Any:
    """The error of a call that is refused under this code."""
    with pytest.raises(CatmemError) as caught:
        call(*given, **named)
    assert caught.value.code == code, f"{caught.value.code}: {caught.value}"
    return caught.value
