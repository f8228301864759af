"""What the root makes of an envelope: the write, safe retries, and what is refused."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from catmem.envelopes.agents import new_key, remove_keys
from catmem.envelopes.envelope import moment
from catmem.errors import (
    CatmemError,
)
from catmem.jsonable import jsonable
from catmem.workspace.workspace import Workspace
from tests.envelopes import PROFILES, TEXT, signed_root
from tests.refusals import refusal
from tests.roots import make_root

ADD = [{"action": "add", "content": "tea, not coffee", "category": "talk"}]
CONFIG = "agents: {planner: neo}\n"


@pytest.fixture
def workspace(tmp_path):
    return make_root(tmp_path / "root", config=CONFIG, profiles=PROFILES, files={"neo/user": TEXT, "other/user": TEXT})


@pytest.fixture
def signing(tmp_path):
    workspace = signed_root(tmp_path, CONFIG)
    yield workspace
    workspace.store.close()


def refused(workspace, envelope, **how):
    """The refusal of an envelope; nothing was written."""
    entity = "neo/user"
    before, head = workspace.store.peek(entity), workspace.store.head(entity)
    with pytest.raises(CatmemError) as caught:
        workspace.submit(envelope, **how)
    assert (workspace.store.peek(entity), workspace.store.head(entity)) == (before, head)
    return caught.value


# --- the write -----------------------------------------------------------------------------------------------------


def test_the_history_keeps_the_envelope_with_its_signature_and_not_the_content_again(signing):
    new_key(signing.config, "planner")
    envelope = signing.envelope("neo", ADD, agent="planner")
    signing.submit(envelope)
    head = signing.store.head("neo/user")
    assert (head.agent, head.op, head.op_id) == ("planner", "put", envelope.op_id)
    assert head.note["actor"] == "neo"
    assert head.note["envelope"] == {
        "role_id": "neo", "role_hash": envelope.role_hash, "mem_hash": envelope.mem_hash, "timestamp": envelope.timestamp,
        "key_id": envelope.key_id, "signature": envelope.signature,
    }  # fmt: skip
    assert "tea" not in str(dict(head.note))


# --- what is there -------------------------------------------------------------------------------------------------


def test_a_text_that_no_history_has_is_taken_in_before_an_envelope_is_made(signing):
    assert signing.envelope("neo", ADD, agent="neo").prev_rev == 1
    assert signing.store.head("neo/user").op == "adopt"
    assert signing.path("neo", "user").read_text(encoding="utf-8") == TEXT


# --- who writes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"op_id": "other"},
        {"timestamp": "2026-11-21T00:00:00Z"},
        {"agent_id": "boss", "role_id": "boss"},
        {"entity_id": "neo/memory"},
        {"prev_rev": 0, "mem_rev": 1, "parents": []},
    ],
)
def test_a_signature_over_something_else(signing, changes):
    fields = jsonable(signing.envelope("neo", ADD, agent="neo")) | changes
    assert refused(signing, fields).code == "bad_signature"


def test_agents_and_keys_that_there_are_not_are_refused_in_the_same_words(signing):
    fields = jsonable(signing.envelope("neo", ADD, agent="neo"))
    said = [
        jsonable(refused(signing, fields | changes))
        for changes in (
            {"agent_id": "boss"},
            {"agent_id": "nobody"},
            {"key_id": "none"},
            {"entity_id": "nobody/user"},
            {"agent_id": "planner"},
        )
    ]
    assert all(each == said[0] for each in said)


def test_the_old_key_verifies_until_it_is_removed(signing):
    first, second = (signing.envelope("neo", ADD, agent="neo") for _ in range(2))
    new_key(signing.config, "neo")
    assert signing.submit(first).changed
    remove_keys(signing.config, "neo")
    assert refused(signing, second).code == "bad_signature"


def test_where_envelopes_have_to_be_signed_no_other_passes(tmp_path):
    workspace = signed_root(tmp_path)
    unsigned = workspace.envelope("neo", ADD, agent="neo", signed=False)
    for envelope in (unsigned, unsigned.signed("k1", b"k" * 32)):
        assert refused(workspace, envelope).code == "bad_signature"
    workspace.store.close()


@pytest.mark.parametrize("hours", [-3, 3])
@pytest.mark.parametrize(("skew", "passes"), [("24h", True), ("1h", False)])
def test_clocks_that_are_hours_apart(tmp_path, monkeypatch, hours, skew, passes):
    config = f"signing: {{clock_skew: {skew}, keys: {tmp_path / 'keys'}}}\n"
    workspace = make_root(tmp_path / "root", config=config, profiles=PROFILES, files={"neo/user": TEXT})
    new_key(workspace.config, "neo")
    envelope = workspace.envelope("neo", ADD, agent="neo")
    here = moment(envelope.timestamp) + timedelta(hours=hours)
    monkeypatch.setattr("catmem.clock.now", lambda: here)
    if passes:
        assert workspace.submit(envelope).changed
    else:
        assert refused(workspace, envelope).code == "clock_skew"


@pytest.mark.parametrize(("config", "passes"), [("", True), ("signing: {clock_skew_for: all}\n", False)])
def test_an_old_envelope_without_a_signature_passes_unless_the_root_asks(tmp_path, monkeypatch, config, passes):
    workspace = make_root(tmp_path, config=config, profiles=PROFILES, files={"neo/user": TEXT})
    early, late = (workspace.envelope("neo", ADD, agent="neo", signed=False) for _ in range(2))
    sent = moment(early.timestamp)
    monkeypatch.setattr("catmem.clock.now", lambda: sent + timedelta(hours=3))
    if passes:
        assert workspace.submit(early).changed
    else:
        assert refused(workspace, early).code == "clock_skew"
    monkeypatch.setattr("catmem.clock.now", lambda: sent - timedelta(hours=3))
    assert refused(workspace, late).code == "clock_skew"


@pytest.mark.parametrize(
    "changes",
    [
        {"role_hash": "sha256:" + "0" * 64},
        {"role_id": "boss"},
        {"role_id": "boss@v3"},
        {"agent_id": "nobody", "role_id": "nobody"},
    ],
)
def test_another_role(workspace, changes):
    fields = jsonable(workspace.envelope("neo", ADD, agent="neo")) | changes
    error = refused(workspace, fields)
    assert error.code == "role_drift"
    assert jsonable(error) == jsonable(refused(workspace, fields | {"role_id": "x"}))


# --- nothing half applied ------------------------------------------------------------------------------------------


def test_junk_is_on_the_record_and_nowhere_else(signing):
    for junk in (b"\xff", "{", {"entity_id": 7}, {"entity_id": "x" * 10_000, "prev_rev": 10**40}):
        refusal("schema", signing.submit, junk)
    assert signing.store.head("neo/user") is None
    lines = (signing.root / ".catmem" / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4
    assert all('"status":"refused","reason":"schema"' in line for line in lines)


def test_of_writers_that_race_on_one_revision_one_is_taken(signing):
    envelopes = [
        signing.envelope("neo", [{"action": "add", "content": f"fact {number}", "category": "talk"}], agent="boss")
        for number in range(8)
    ]

    def outcome(envelope):
        workspace = Workspace.open(signing.root, search=False)
        try:
            return workspace.submit(envelope).revision
        except CatmemError as error:
            return error.code
        finally:
            workspace.store.close()

    with ThreadPoolExecutor(len(envelopes)) as pool:
        outcomes = sorted(pool.map(outcome, envelopes))
    assert outcomes.count("2") == 1
    assert set(outcomes) == {"2", "stale_prev"}
    assert signing.store.head("neo/user").revision == "2"
