"""How long the property tests search: ``HYPOTHESIS_PROFILE=thorough`` looks at thirty times as many examples."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No deadline: a slow machine is no bug, and growth is measured by the benchmarks.
# In CI the same commit gives the same answer each time; the search for new examples goes on everywhere else.
settings.register_profile(
    "quick",
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=6_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
