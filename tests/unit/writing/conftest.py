"""Writes are dated, so the day stands still."""

import pytest


@pytest.fixture(autouse=True)
def today(request, monkeypatch):
    """It is the day that a module of tests names (``DAY``), if it names one."""
    day = getattr(request.module, "DAY", None)
    if day is not None:
        monkeypatch.setattr("catmem.clock.today", lambda: day)
