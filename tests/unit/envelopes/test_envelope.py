"""The envelope as a value: what is signed, and what is wrong with one from elsewhere."""

import hashlib
import hmac
import json
from dataclasses import replace

import pytest

from catmem.digest import canonical_json
from catmem.envelopes.envelope import Envelope, content_hash, json_of, operations_of, read_envelope
from catmem.errors import EnvelopeError
from catmem.jsonable import jsonable
from tests.refusals import refusal
from tests.together import together

KEY = b"k" * 32
ADD = [{"action": "add", "content": "short answers", "category": "talk"}]
ENVELOPE = Envelope(
    entity_id="neo/user",
    agent_id="planner",
    op_id="a1",
    timestamp="2026-11-21T12:00:00Z",
    prev_rev=7,
    content=ADD,
    mem_hash=content_hash(ADD),
    role_id="neo@v3",
    role_hash="sha256:" + "0" * 64,
)
SIGNED = ENVELOPE.signed("k1", KEY)
CHANGED = {
    "entity_id": "neo/memory", "agent_id": "auditor", "op_id": "a2", "timestamp": "2026-11-21T12:00:01Z",
    "prev_rev": 8, "content": [], "mem_hash": "sha256:" + "1" * 64, "role_id": "neo@v4",
    "merges": ("8a",),
    "names_parents": False,
    "role_hash": "sha256:" + "2" * 64, "key_id": "k2",
}  # fmt: skip


def test_the_signature_that_other_programs_compute():
    said = {name: value for name, value in jsonable(SIGNED).items() if name != "signature"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert SIGNED.signature == "hmac-sha256:" + hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


@pytest.mark.parametrize("name", CHANGED)
def test_every_field_is_inside_the_signature(name):
    assert not replace(SIGNED, **{name: CHANGED[name]}).is_signed_by(KEY)


def test_a_text_is_not_taken_for_the_json_that_it_spells():
    form = {"categories": {}}
    text = canonical_json(form).decode()
    assert content_hash(text) == content_hash(form)
    assert replace(ENVELOPE, content=text, mem_hash="").request != replace(ENVELOPE, content=form, mem_hash="").request


# --- envelopes from elsewhere -----------------------------------------------------------------------------------------

GOOD = replace(ENVELOPE, agent_id="neo")
FIELDS = jsonable(GOOD.signed("k1", b"k" * 32))
DIGEST = "sha256:" + "0" * 64


@together("name", sorted(FIELDS.keys() - {"parents", "merges"}))
def test_a_missing_field(name):
    with pytest.raises(EnvelopeError, match=name) as caught:
        read_envelope({key: value for key, value in FIELDS.items() if key != name})
    assert caught.value.code == "schema"


@together(
    ("changes", "key"),
    [
        ({"mood": "good"}, "mood"),
        ({"entity_id": "neo"}, "entity_id"),
        ({"entity_id": "../neo/user"}, "entity_id"),
        ({"entity_id": "neo/user\n"}, "entity_id"),
        ({"agent_id": "Neo"}, "agent_id"),
        ({"role_id": "neo@"}, "role_id"),
        ({"role_hash": "sha256:0"}, "role_hash"),
        ({"op_id": ""}, "op_id"),
        ({"op_id": "a" * 129}, "op_id"),
        ({"timestamp": "2026-11-21"}, "timestamp"),
        ({"timestamp": "2026-11-21T12:00:00+01:00"}, "timestamp"),
        ({"timestamp": "2026-11-21T25:00:00Z"}, "timestamp"),
        ({"prev_rev": -1}, "prev_rev"),
        ({"prev_rev": 10**30}, "prev_rev"),
        ({"prev_rev": "7"}, "prev_rev"),
        ({"prev_rev": True}, "prev_rev"),
        ({"mem_rev": 9}, "mem_rev"),
        ({"mem_rev": 10**30}, "mem_rev"),
        ({"mem_rev": "8"}, "mem_rev"),
        ({"prev_rev": "8a", "parents": ["8a"]}, "mem_rev"),
        ({"parents": []}, "parents"),
        ({"parents": [6]}, "parents"),
        ({"parents": [7, 7]}, "parents"),
        ({"prev_rev": 0, "mem_rev": 1}, "parents"),
        ({"mem_hash": "sha256:" + "A" * 64}, "mem_hash"),
        ({"content": None}, "content"),
        ({"content": 7}, "content"),
        ({"content": {"categories": {"talk": []}}}, "content"),
        ({"content": [{"action": "sing"}]}, "content[0].action"),
        ({"content": [{"action": "add", "content": "x", "as_of": "2026-02-30"}]}, "content[0].as_of"),
        ({"signature": "none"}, "signature"),
        ({"key_id": "../k"}, "key_id"),
        ({"agent_id": "person"}, "role_id"),
    ],
)
def test_a_field_that_is_not_as_it_must_be(changes, key):
    caught = refusal("schema", read_envelope, FIELDS | changes)
    assert caught.key == key
    assert caught.hint


def test_a_hash_that_does_not_fit():
    assert refusal("bad_hash", read_envelope, FIELDS | {"mem_hash": DIGEST}).key == "mem_hash"


@together(
    ("text", "said"),
    [
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ('{"a": {"b": 1, "b": 1}}', "'b' is given twice"),
        ("[]", "a list"),
        ("", "it is empty"),
        ("{", "Expecting property name"),
        ('{"a": NaN}', "NaN"),
        ('{"a": ' + "9" * 5000 + "}", "number too long"),
        ('{"a": ' * 100_000, "too deep"),
        (b"\xff{}", "not UTF-8: byte 0"),
        ('{"op_id": "\\ud800"}', "surrogate"),
        ('{"\\udfff": 1}', "surrogate"),
        ("[" * 50 + "]" * 50, "a list"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", "nested deeper than 64"),
    ],
)
def test_what_is_no_envelope_at_all(text, said):
    with pytest.raises(EnvelopeError, match=said) as caught:
        read_envelope(text)
    assert caught.value.code == "schema"


def test_a_slip_in_the_json_has_a_place():
    caught = refusal("schema", json_of, '{\n  "op_id" "x"}')
    assert (caught.line, caught.column) == (2, 11)


@together("value", [{1: {2}}, {"a": object()}, {"a": float("nan")}, {"a": "\ud800"}])
def test_fields_that_json_cannot_say(value):
    refusal("schema", read_envelope, value)


@together(
    ("fields", "where"),
    [
        ({"action": "move", "old_text": "x", "category": "talk"}, (None, "talk")),
        ({"action": "move", "old_text": "x", "category": "talk", "to_category": "rules"}, ("talk", "rules")),
        ({"action": "remove", "old_text": "x", "category": "talk"}, ("talk", None)),
    ],
)
def test_operations_as_the_tool_takes_them(fields, where):
    (operation,) = operations_of([fields])
    assert (operation.category, operation.to_category) == where
