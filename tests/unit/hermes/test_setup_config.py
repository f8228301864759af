"""Hermes Agent's config.yaml: what is read of it, and edits of the keys they are about, and not a byte more."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from catmem.errors import CatmemError, ConfigError
from catmem.plugins.hermes.homes import find_home, read_config
from catmem.plugins.hermes.operations import with_memory
from tests.unit.hermes.homes import make_homes

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
    "a value with a #": (
        "memory:\n  provider: x#y # mine\n",
        "memory:\n  memory_enabled: false\n  provider: catmem # mine\n",
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


# --- which homes there are, and what their configurations say ---


def test_the_home_is_the_named_one_else_that_of_the_environment_else_the_usual_one(tmp_path, monkeypatch):
    for name in ("named", "environment", ".hermes"):
        make_homes(tmp_path / name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "environment"))
    assert find_home(str(tmp_path / "named")).path.name == "named"
    assert find_home().path.name == "environment"
    monkeypatch.delenv("HERMES_HOME")
    assert find_home().path.name == ".hermes"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ("", True, True, 1375)),
        ("memory:\n", ("", True, True, 1375)),
        ("memory: {provider: built-in}\n", ("", True, True, 1375)),
        ("memory: {provider: mem0, memory_enabled: false, user_char_limit: 900}", ("mem0", True, False, 900)),
        ("memory: {user_profile_enabled: false, user_char_limit: many}", ("", False, True, 1375)),
        ("memory: {user_char_limit: 500.0}", ("", True, True, 500)),
        ("memory: {user_char_limit: 500.9}", ("", True, True, 500)),
        ("memory: {user_char_limit: .inf}", ("", True, True, 1375)),
        ("memory: {user_char_limit: .nan}", ("", True, True, 1375)),
    ],
)
def test_what_a_configuration_says_of_memory(tmp_path, text, said):
    config = read_config(make_homes(tmp_path, config=text)["default"])
    assert (config.provider, config.shows("user"), config.shows("memory"), config.limit("user")) == said


WAITS = {"true": True, "'yes'": True, "on": True, "approve": True, "false": False, "'no'": False, "1": False}


@pytest.mark.parametrize(("word", "waits"), WAITS.items())
def test_the_words_that_have_writes_wait_are_those_of_hermes_agent(tmp_path, word, waits):
    home = make_homes(tmp_path, config=f"memory: {{write_approval: {word}}}\n")["default"]
    assert read_config(home).write_approval is waits


@pytest.mark.parametrize("data", [b"a: [\n", b"- a\n", b"memory: [a]\n", b"\xff\n"])
def test_a_configuration_that_cannot_be_read_names_its_file(tmp_path, data):
    home = make_homes(tmp_path)["default"]
    home.config.write_bytes(data)
    with pytest.raises(CatmemError) as caught:
        read_config(home)
    assert caught.value.code in {"hermes_config", "not_utf8"}
    assert caught.value.path == str(home.config)
