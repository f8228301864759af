"""What is plainly right is right by the schema, too: no envelope passes that the schema would refuse."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from catmem.policy.schema import validate
from catmem.service.envelopes.plainly import fits_plainly

PLAIN: dict[str, Any] = {
    "entity_id": "neo/user",
    "agent_id": "planner",
    "role_id": "neo@v3",
    "role_hash": "sha256:" + "0f" * 32,
    "op_id": "01JD6Z-planner-17",
    "timestamp": "2026-11-21T12:00:00Z",
    "mem_rev": 8,
    "prev_rev": 7,
    "parents": [7],
    "mem_hash": "sha256:" + "a1" * 32,
    "content": [{"action": "replace", "old_text": "a", "content": "b", "category": "talk"}],
    "alert": False,
    "key_id": "key",
    "signature": "hmac-sha256:" + "b2" * 32,
}

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 1.0, 1.5, 10**12 - 1, 10**12, 10**12 + 1, "", "a", "a\n", "A", "neo/user\n", "neo", "é",
    "1", "8a", [], [7], ["8a"], [7, 8], [None], {}, {"action": "add"}, [{"action": "add"}], [{"action": "fly"}],
    [{"action": ["add"]}], [{"content": "a"}], [{"action": "add", "content": 1}], [{"action": "add", "what": "a"}],
    [{"action": "add", "category": ""}], [{"action": "add", "category": "c" * 1025}], [{"action": "add", "tags": {}}],
    [{"action": "move", "to_category": ""}], [{"action": "add"}] * 1001, {"categories": {}}, "x" * (1 << 24),
    "x" * ((1 << 24) + 1), "n" * 64, "n" * 65, "o" * 128, "o" * 129, "sha256:" + "0f" * 32 + "\n",
    "2026-11-21T12:00:00.5Z", "2026-11-21T12:00:00+01:00", "２026-11-21T12:00:00Z", "neo@", "neo@v3", "neo/memory",
)  # fmt: skip


def right(fields) -> bool:
    return not validate(fields, "envelope")


@pytest.mark.parametrize(
    "changed",
    [{}, {"content": "## Talk\nBe brief.\n"}, {"parents": [], "prev_rev": 0, "mem_rev": 1}, {"alert": True}],
    ids=["operations", "a text", "the first", "with alert"],
)
def test_what_writers_usually_send_is_plain(changed):
    assert fits_plainly({**PLAIN, **changed})
    assert right({**PLAIN, **changed})


@pytest.mark.parametrize("name", PLAIN)
def test_no_value_passes_that_the_schema_refuses(name):
    passed = [value for value in ODD if fits_plainly({**PLAIN, name: value})]
    assert [value for value in passed if not right({**PLAIN, name: value})] == []


@pytest.mark.parametrize("name", PLAIN)
def test_a_field_that_is_missing_passes_only_where_it_may_be(name):
    fields = {key: value for key, value in PLAIN.items() if key != name}
    assert not fits_plainly(fields) or right(fields)


def test_an_unknown_field_is_not_plain():
    assert not fits_plainly({**PLAIN, "what": "else"})


def test_no_mixture_passes_that_the_schema_refuses():
    chance = random.Random(20261121)
    passed = 0
    for _ in range(3000):
        fields = copy.deepcopy(PLAIN)
        for name in chance.sample(list(PLAIN), chance.randint(0, 3)):
            if chance.random() < 0.3:
                del fields[name]
            else:
                fields[name] = chance.choice(ODD[:39])
        if fits_plainly(fields):
            passed += 1
            assert right(fields)
    assert passed > 500
