"""Edits of Hermes Agent's config.yaml: the keys they are about, and not a byte more."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from catmem.errors import ConfigError
from catmem.plugins.hermes.setup_config import with_memory, without_memory

PATH = Path("config.yaml")
WANTED = {"memory_enabled": "false", "provider": "catmem"}

EDITS = {
    "an empty file": ("", "memory:\n  memory_enabled: false\n  provider: catmem\n"),
    "only comments": ("# mine\n", "# mine\nmemory:\n  memory_enabled: false\n  provider: catmem\n"),
    "no newline at the end": ("model: small", "model: small\nmemory:\n  memory_enabled: false\n  provider: catmem\n"),
    "no such section": (
        "model: small  # fast\n",
        "model: small  # fast\nmemory:\n  memory_enabled: false\n  provider: catmem\n",
    ),
    "a section with nothing in it": (
        "memory:   # later\nmodel: small\n",
        "memory:   # later\n  memory_enabled: false\n  provider: catmem\nmodel: small\n",
    ),
    "a section in empty braces": ("memory: {}\n", "memory: {memory_enabled: false, provider: catmem}\n"),
    "a section in braces": (
        'memory: {provider: "mem0", user_char_limit: 9}  # tight\n',
        "memory: {memory_enabled: false, provider: catmem, user_char_limit: 9}  # tight\n",
    ),
    "keys that are there": (
        "memory:\n  provider: ''   # none yet\n\n  # on\n  memory_enabled: true\nmodel: small\n",
        "memory:\n  provider: catmem   # none yet\n\n  # on\n  memory_enabled: false\nmodel: small\n",
    ),
    "a key without a value": (
        "memory:\n  provider:\n  memory_enabled: yes\n",
        "memory:\n  provider: catmem\n  memory_enabled: false\n",
    ),
    "one key missing": (
        "memory:\n    # the one\n    provider: mem0\nmodel: small\n",
        "memory:\n    # the one\n    memory_enabled: false\n    provider: catmem\nmodel: small\n",
    ),
    "lines that end in CRLF": (
        "memory:\r\n  provider: mem0\r\n",
        "memory:\r\n  memory_enabled: false\r\n  provider: catmem\r\n",
    ),
    "a BOM": ("\ufeffmodel: small\n", "\ufeffmodel: small\nmemory:\n  memory_enabled: false\n  provider: catmem\n"),
    "another value with an anchor": (
        "a: &a {b: 1}\nc: *a\nmemory:\n  provider: x\n",
        "a: &a {b: 1}\nc: *a\nmemory:\n  memory_enabled: false\n  provider: catmem\n",
    ),
    "the end of the document": (
        "model: small\n...\n",
        "model: small\nmemory:\n  memory_enabled: false\n  provider: catmem\n...\n",
    ),
    "nothing to change": (
        "memory: {provider: catmem, memory_enabled: off}\n",
        "memory: {provider: catmem, memory_enabled: off}\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), EDITS.values(), ids=list(EDITS))
def test_only_the_keys_change(before, after):
    assert with_memory(before, WANTED, PATH)[0] == after


@pytest.mark.parametrize("before", [before for before, _ in EDITS.values()], ids=list(EDITS))
def test_taking_it_back_says_what_the_file_said(before):
    after, was = with_memory(before, WANTED, PATH)
    had_section = "memory" in (yaml.safe_load(before) or {})
    back = without_memory(after, was, PATH, had_section=had_section)
    assert said(back) == said(before)
    assert [line for line in back.split("\n") if "#" in line] == [line for line in before.split("\n") if "#" in line]


def said(text):
    """What a file says; a section with nothing in it says as much as an empty one."""
    data = yaml.safe_load(text) or {}
    return {**data, "memory": data.get("memory") or {}}


def test_what_a_person_added_meanwhile_stays():
    after, was = with_memory("model: small\n", WANTED, PATH)
    edited = after.replace("model: small", "model: large  # better") + "  user_char_limit: 900   # mine\n"
    back = without_memory(edited, was, PATH, had_section=False)
    assert back == "model: large  # better\nmemory:\n  user_char_limit: 900   # mine\n"


COMMENTED = {
    "in a section that goes": (
        "model: small\n",
        "model: small\nmemory:  # theirs\n  # ask\n  memory_enabled: false\n  # keep\n  provider: catmem  # side\n  # last\n",
        "model: small\n# theirs\n# ask\n# keep\n# side\n# last\n",
    ),
    "in a section with another behind it": (
        "",
        "memory:\n  memory_enabled: false\n  # on\n  provider: catmem # side\nother: '#'\n",
        "# on\n# side\nother: '#'\n",
    ),
    "behind a text of several lines": (
        "text: |\n  # no comment\n",
        "text: |\n  # no comment\nmemory:\n  # on\n  memory_enabled: false\n  provider: catmem\n  # last",
        "text: |\n  # no comment\n# on\n# last",
    ),
    "in a section that stays": (
        "memory:\n  limit: 9  # nine\n",
        "memory:\n  # on\n  memory_enabled: false # why\n  provider: catmem   # who\n  limit: 9  # nine\n",
        "memory:\n  # on\n  # why\n  # who\n  limit: 9  # nine\n",
    ),
    "with lines that end in CRLF": (
        "model: small\r\n",
        "model: small\r\nmemory:\r\n  # on\r\n  memory_enabled: false # why\r\n  provider: catmem\r\n",
        "model: small\r\n# on\r\n# why\r\n",
    ),
}


@pytest.mark.parametrize(("before", "edited", "expected"), COMMENTED.values(), ids=list(COMMENTED))
def test_comments_that_a_person_wrote_into_the_section_stay(before, edited, expected):
    _, was = with_memory(before, WANTED, PATH)
    assert without_memory(edited, was, PATH, had_section="memory" in before) == expected


BY_HAND = {
    "the whole file in braces": "{model: small}\n",
    "an anchor that another section uses": "memory: &m\n  provider: x\nother: *m\n",
    "a merge key": "base: &b {provider: x}\nmemory:\n  <<: *b\n",
    "a value of several lines": "memory:\n  provider: |\n    x\n",
    "an alias": "base: &b {provider: x}\nmemory: *b\n",
}


@pytest.mark.parametrize("text", BY_HAND.values(), ids=list(BY_HAND))
def test_what_cannot_be_edited_alone_is_left_to_the_person(text):
    try:
        after, _ = with_memory(text, WANTED, PATH)
    except ConfigError as error:
        assert error.code == "hermes_by_hand"
        assert "memory: {memory_enabled: false, provider: catmem}" in error.hint
    else:
        wanted = yaml.safe_load(text)
        wanted["memory"] = {**wanted["memory"], "memory_enabled": False, "provider": "catmem"}
        assert yaml.safe_load(after) == wanted


BROKEN = ["a: [", "- a list\n", "just text\n", "a: b: c\n", "\t: x", "a: *nothing\n", "day: 2026-99-99\n"]


@pytest.mark.parametrize("text", BROKEN)
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
        after, was = with_memory(text, WANTED, PATH)
    except ConfigError as error:
        assert error.code == "hermes_by_hand"
        return
    assert yaml.safe_load(after) == wanted
    assert said(without_memory(after, was, PATH, had_section=memory is not None)) == said(text)
