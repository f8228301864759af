"""One grammar of names: what the schemas and the HTTP API take is what `catmem.names` takes."""

import re

import pytest

from catmem.names import is_entity, is_name, key_file_parts
from catmem.ops import shared, table
from catmem.resources import schema

NAMES = ["neo", "0", "a-b_c", "a" * 64, "a" * 65, "", "Neo", "-a", "_a", "né", "a b", "a.b", "../a", "a\nb"]
ENTITIES = [f"{name}/{target}" for name in NAMES for target in ("user", "memory", "User", "")]
ENTITIES += ["neo/user/x", "neo//user", "/user", "neo"]
REVISIONS = ["0", "7", "9" * 12, "9" * 13, "8a", "8" + "z" * 8, "8" + "z" * 9, "0a", "a", "", "8A", "-1", "8a1"]


def at(name, *keys):
    """A pattern inside a schema that is shipped."""
    found = schema(name)
    for key in keys:
        found = found[key]
    return found["pattern"]


@pytest.mark.parametrize(
    "pattern",
    [
        at("config", "$defs", "agentName"),
        at("profile", "$defs", "name"),
        at("envelope", "properties", "agent_id"),
        at("envelope", "properties", "key_id"),
        table.PROFILE["pattern"],
    ],
)
def test_a_name_is_one_everywhere(pattern):
    assert [name for name in NAMES if re.search(pattern, name)] == [name for name in NAMES if is_name(name)]


@pytest.mark.parametrize("pattern", [at("envelope", "properties", "entity_id"), table.ENTITY["pattern"]])
def test_an_entity_is_one_everywhere(pattern):
    # The API takes a profile's name alone too: its user memory.
    named = [each for each in ENTITIES if "/" in each]
    assert [each for each in named if re.search(pattern, each)] == [each for each in named if is_entity(each)]
    assert not is_entity("neo")


def test_a_revision_is_one_everywhere():
    # Of an envelope, a revision that is a number is a JSON number.
    of_a_branch = at("envelope", "$defs", "revision", "anyOf", 1)
    of_api = [each for each in REVISIONS if re.search(shared.REVISION["pattern"], each)]
    assert of_api == ["0", "7", "9" * 12, "8a", "8" + "z" * 8]
    letters = [each for each in REVISIONS if each and not each.isdigit()]
    assert [each for each in letters if re.search(of_a_branch, each)] == [each for each in of_api if each in letters]


@pytest.mark.parametrize("name", ["neo\n", "neo/user\n", "7\n", "neo.k\n"])
def test_no_line_end_slips_in(name):
    assert [grammar for grammar in (is_name, is_entity, key_file_parts) if grammar(name)] == []
