"""``memory.write_approval`` of Hermes Agent's ``config.yaml``: where it is on, the provider's writes wait for a person."""

import json

import pytest

from catmem.plugins.hermes.homes import make_root_over, read_config
from catmem.plugins.hermes.provider import TOOL_NAME, Provider
from tests.golden.case import put
from tests.unit.hermes.homes import make_homes

CONFIG = "memory: {provider: catmem, memory_enabled: false, user_profile_enabled: false, write_approval: SAID}\n"
PROFILE = "user_memory_categories: [tastes]\nwritable_categories: [tastes]\n"
WORDS = (
    ("true", True),
    ("'yes'", True),
    ("on", True),
    ("approve", True),
    ("false", False),
    ("'no'", False),
    ("1", False),
)


@pytest.fixture
def home(tmp_path):
    homes = make_homes(tmp_path, "coder", config=CONFIG.replace("SAID", "true"))
    make_root_over(homes["default"])
    put(tmp_path / "catmem-profiles" / "coder.yaml", PROFILE)
    put(homes["coder"].memories / "USER.md", "## Tastes\nTea, not coffee.\n")
    return homes["coder"]


@pytest.fixture
def provider(home):
    made = opened(home)
    yield made
    made.shutdown()


def opened(home, context="primary"):
    made = Provider()
    made.initialize("one", hermes_home=str(home.path), agent_context=context)
    return made


def call(provider, **arguments):
    return json.loads(provider.handle_tool_call(TOOL_NAME, arguments))


ADD = {"action": "add", "content": "Green tea.", "category": "tastes"}


def test_nothing_is_written_where_it_cannot_be_asked(provider, home):
    put(home.config, "memory: [\n")
    answer = call(provider, **ADD)
    assert (answer["success"], answer["reason"]) == (False, "hermes_config")
    assert "Green" not in (home.memories / "USER.md").read_text()


@pytest.mark.parametrize(("said", "expected"), WORDS)
def test_the_words_that_count_are_those_of_hermes_agent(home, said, expected):
    put(home.config, CONFIG.replace("SAID", said))
    assert read_config(home).write_approval is expected
