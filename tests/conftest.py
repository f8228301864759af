"""What every test shares: which catmem is under test, and how long property tests search.

``HYPOTHESIS_PROFILE=ci`` looks at more than twice as many examples as a run by hand, ``thorough`` at seventy times.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import catmem

ROOT = Path(__file__).parent.parent

# No deadline: a slow machine is no bug, and growth is measured by the benchmarks.
# In CI the same commit gives the same answer each time; the search for new examples goes on everywhere else.
settings.register_profile(
    "quick",
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.register_profile("ci", settings.get_profile("quick"), max_examples=200)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=6_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_report_header() -> str:
    return f"catmem {catmem.__version__}, {'from the checkout' if _in_checkout() else 'installed'}"


def pytest_sessionstart(session: pytest.Session) -> None:
    # CI sets this for the run that is about the wheel, so that it cannot test the checkout by accident.
    if os.environ.get("CATMEM_TESTED") == "wheel" and _in_checkout():
        raise pytest.UsageError("CATMEM_TESTED=wheel, but `import catmem` found the checkout")


def _in_checkout() -> bool:
    return Path(catmem.__file__).parent.parent == ROOT


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the checkout, or of what stands for it (an unpacked source distribution)."""
    return ROOT


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder of the catmem package under test."""
    return Path(catmem.__file__).parent
