"""The home of the profile ``coder`` of Hermes Agent, whose agent sees two categories."""

import pytest

from catmem.plugins.hermes.homes import make_root_over
from tests.golden.case import put
from tests.unit.hermes.homes import make_homes

OFF = "memory: {provider: catmem, memory_enabled: false, user_profile_enabled: false}\n"
USER = "## Tastes\nTea, not coffee.\n§\n## Payroll\nCANARY-USER\n"
PROFILE = "user_memory_categories: [tastes]\nmemory_categories: [tools]\nwritable_categories: [tastes]\n"


@pytest.fixture
def provider_home(tmp_path, monkeypatch):
    homes = make_homes(tmp_path, "coder", config=OFF)
    make_root_over(homes["default"])
    put(tmp_path / "catmem-profiles" / "coder.yaml", PROFILE)
    put(homes["coder"].memories / "USER.md", USER)
    put(homes["coder"].memories / "MEMORY.md", "## Tools\nUses vim.\n§\n## Payroll\nCANARY-MEMORY\n")
    monkeypatch.setenv("HERMES_HOME", str(homes["coder"].path))
    return homes["coder"]
