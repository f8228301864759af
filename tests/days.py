"""A day that stands still for catmem in this process, so that a test may begin before midnight and end after it."""

from datetime import date

import pytest


def stand_still(monkeypatch: pytest.MonkeyPatch, day: date) -> None:
    """From now on this is the day on which catmem is asked for something. Processes that are started have their own."""

    class AsDates(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, date)

    class Still(date, metaclass=AsDates):
        @classmethod
        def today(cls) -> date:
            return day

    monkeypatch.setattr("catmem.clock.date", Still)
