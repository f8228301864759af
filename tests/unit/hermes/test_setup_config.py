"""Edits of Hermes Agent's config.yaml: the keys they are about, and not a byte more."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from catmem.errors import ConfigError
from catmem.plugins.hermes.setup import with_memory

PATH = Path("config.yaml")
WANTED = {"memory_enabled": False, "provider": "catmem"}

EDITS = {
    "an empty file": ("", "memory:\n  memory_enabled: false\n  provider: catmem\n"),
    "no newline at the end": ("model: small", "model: small\nmemory:\n  memory_enabled: false\n  provider: catmem\n"),
    "no such section": (
        "# mine\na: 1  # b\n",
        "# mine\na: 1  # b\nmemory:\n  memory_enabled: false\n  provider: catmem\n",
    ),
    "a section with nothing in it": (
        "memory:   # later\nmodel: small\n",
        "memory:   # later\n  memory_enabled: false\n  provider: catmem\nmodel: small\n",
    ),
    "a section in empty braces": (
        "memory: {} # none\n",
        "memory: # none\n  memory_enabled: false\n  provider: catmem\n",
    ),
    "keys that are there": (
        "memory:\n  provider: ''   # none yet\n\n  # on\n  memory_enabled: true\nmodel: small\n",
        "memory:\n  provider: catmem   # none yet\n\n  # on\n  memory_enabled: false\nmodel: small\n",
    ),
    "one key missing": (
        "memory:\n    # the one\n    provider: mem0\nother: {provider: x}\n",
        "memory:\n    memory_enabled: false\n    # the one\n    provider: catmem\nother: {provider: x}\n",
    ),
    "lines that end in CRLF": (
        "memory:\r\n  provider: mem0\r\n",
        "memory:\r\n  memory_enabled: false\r\n  provider: catmem\r\n",
    ),
    "nothing to change": (
        "memory: {provider: catmem, memory_enabled: off}\n",
        "memory: {provider: catmem, memory_enabled: off}\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), EDITS.values(), ids=list(EDITS))
def test_only_the_keys_change(before, after):
    assert with_memory(before, WANTED, PATH) == after


BY_HAND = {
    "the whole file in braces": "{model: small}\n",
    "a section in braces": "memory: {provider: mem0}\n",
    "an anchor that another section uses": "memory: &m\n  provider: x\nother: *m\n",
    "a value of several lines": "memory:\n  provider: |\n    x\n",
    "a value with a #": "memory:\n  provider: x#y\n",
    "the end of the document": "model: small\n...\n",
}


@pytest.mark.parametrize("text", BY_HAND.values(), ids=list(BY_HAND))
def test_what_cannot_be_edited_alone_is_left_to_the_person(text):
    with pytest.raises(ConfigError) as caught:
        with_memory(text, WANTED, PATH)
    assert caught.value.code == "hermes_by_hand"
    assert "memory: {memory_enabled: false, provider: catmem}" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["a: [", "- a list\n", "a: b: c\n", "\t: x", "a: *nothing\n", "day: 2026-99-99\n"])
def test_what_is_no_configuration_is_refused(text):
    with pytest.raises(ConfigError) as caught:
        with_memory(text, WANTED, PATH)
    assert caught.value.code == "hermes_config"


KEYS = st.sampled_from(["model", "provider", "memory_enabled", "memory", "x y", "ä", "9"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(KEYS.filter(lambda key: key != "memory"), VALUES, max_size=4),
    st.none() | st.dictionaries(KEYS, VALUES, max_size=4),
    st.sampled_from([None, False]),
)
def test_any_file_says_what_it_said_but_for_the_keys(rest, memory, flow):
    data = rest if memory is None else {**rest, "memory": memory}
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True)
    data = yaml.safe_load(text) or {}  # a dump does not keep every character
    wanted = {**data, "memory": {**(data.get("memory") or {}), "memory_enabled": False, "provider": "catmem"}}
    try:
        after = with_memory(text, WANTED, PATH)
    except ConfigError as error:
        assert error.code == "hermes_by_hand"
        return
    assert yaml.safe_load(after) == wanted
