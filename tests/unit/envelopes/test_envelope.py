"""The envelope as a value: what is signed."""

import hashlib
import hmac
import json
from dataclasses import replace

import pytest

from catmem.digest import canonical_json
from catmem.envelopes.envelope import Envelope, content_hash
from catmem.jsonable import jsonable

KEY = b"k" * 32
ENVELOPE = Envelope(
    entity_id="neo/user",
    agent_id="planner",
    op_id="a1",
    timestamp="2026-11-21T12:00:00Z",
    prev_rev=7,
    content="## Talk\nshort answers\n",
    mem_hash=content_hash("## Talk\nshort answers\n"),
    role_id="neo@v3",
    role_hash="sha256:" + "0" * 64,
)
SIGNED = ENVELOPE.signed("k1", KEY)
CHANGED = {
    "entity_id": "neo/memory", "agent_id": "auditor", "op_id": "a2", "timestamp": "2026-11-21T12:00:01Z",
    "prev_rev": 8, "content": "## Talk\nlong answers\n", "mem_hash": "sha256:" + "1" * 64, "role_id": "neo@v4",
    "merges": ("8a",),
    "names_parents": False,
    "role_hash": "sha256:" + "2" * 64, "alert": True, "key_id": "k2",
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
