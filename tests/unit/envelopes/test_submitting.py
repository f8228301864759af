"""What the root makes of an envelope: the write, safe retries, what is refused, and whole texts."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

import pytest

from catmem.envelopes.agents import new_key, remove_keys
from catmem.envelopes.envelope import moment
from catmem.errors import (
    CatmemError,
    EditError,
    ForbiddenError,
)
from catmem.jsonable import jsonable
from catmem.workspace.workspace import Workspace
from tests.envelopes import PROFILES, TEXT, signed_root
from tests.refusals import refusal
from tests.roots import make_root, newest, text_of

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


# --- retries -------------------------------------------------------------------------------------------------------


# --- what is there -------------------------------------------------------------------------------------------------


def test_a_stale_document_is_merged_where_the_root_says_so(tmp_path):
    workspace = make_root(tmp_path, config="on_drift: merge\n", profiles=PROFILES, files={"neo/user": TEXT})
    yours = workspace.envelope("neo", TEXT.replace("be kind", "be very kind"))
    workspace.submit(workspace.envelope("neo", ADD, agent="neo"))
    done = workspace.submit(yours)
    assert done.revision == "3"
    assert "be very kind" in text_of(workspace)
    assert "tea, not coffee" in text_of(workspace)
    clash = workspace.envelope("neo", TEXT.replace("be kind", "be rude to everyone"), prev=1)
    assert refused(workspace, clash).code == "drift"


def test_the_alert_tells_nothing_of_words_that_the_writer_does_not_see(tmp_path):
    text = "launch code is tangerine\n\n## Talk\nshort\n\n## Vault\nthe merger with Globex\n"
    chief = {"chief": "tier: 1\nuser_memory_categories: [talk]\nwritable_categories: ['*']\n"}
    workspace = make_root(tmp_path, config="semantic_alert: 0.6\n", profiles=chief, files={"chief/user": text})

    def answer(guess):
        error = refused(workspace, workspace.envelope("chief", f"## Talk\n{guess}\n", agent="chief", prev=1))
        return error.code, error.message

    assert answer("launch code") == answer("zebra") == answer("globex")


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


# --- whole texts: what each writer may change, what no tool is to write -----------------------------------------------

DAY = date(2026, 5, 1)
WATCHED = PROFILES | {
    "narrow": "tier: 1\nuser_memory_categories: [talk]\nwritable_categories: ['*']\n",
    "careful": "tier: 1\nmay_verify: false\nuser_memory_categories: ['*']\ninclude_uncategorized: true\n"
    "writable_categories: ['*', __uncategorized__]\n",
}


@pytest.fixture(autouse=True)
def today(monkeypatch):
    monkeypatch.setattr("catmem.clock.today", lambda: DAY)


@pytest.fixture
def watched(tmp_path):
    return make_root(tmp_path, profiles=WATCHED, files={f"{name}/user": TEXT for name in WATCHED})


def submit(watched, content, agent="neo", entity="neo"):
    return watched.submit(watched.envelope(entity, content, agent=agent, prev=newest(watched, f"{entity}/user")))


def rejected(watched, content, agent="neo", entity="neo"):
    before = text_of(watched, f"{entity}/user")
    with pytest.raises(CatmemError) as caught:
        submit(watched, content, agent, entity)
    assert text_of(watched, f"{entity}/user") == before
    return caught.value


# --- who may -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["neo", "other", "narrow"])
@pytest.mark.parametrize("content", [TEXT, "", "## Talk\nx\n"])
def test_who_does_not_see_everything_sends_no_whole_document(watched, agent, content):
    error = rejected(watched, content, agent, agent if agent != "narrow" else "neo")
    assert isinstance(error, ForbiddenError)
    assert "operations" in error.hint


def test_it_is_refused_as_well_where_nothing_is_hidden(tmp_path):
    watched = make_root(tmp_path, profiles=PROFILES, files={"neo/user": "## Talk\nx\n"})
    assert isinstance(rejected(watched, "## Talk\nx\n"), ForbiddenError)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[verified_date: 2026-01-01] short answers", "[verified_date: 2026-04-30] short answers"),
        ("[verified_date: 2026-01-01] short answers", "short answers"),
        ("[verified_date: 2026-01-01]", "[verified_date: 2026-01-01, created: 2026-04-30]"),
        ("be kind", "be kind\n§\n[verified_date: 2026-04-30] brand new"),
    ],
)
def test_the_clock_of_a_fact_needs_the_right_to_verify(watched, old, new):
    assert isinstance(rejected(watched, TEXT.replace(old, new), "careful", "careful"), ForbiddenError)
    assert submit(watched, TEXT.replace(old, new), "boss", "careful").changed


def test_the_verification_of_one_fact_is_not_moved_to_another(watched):
    swapped = TEXT.replace("[verified_date: 2026-01-01] short", "short").replace(
        "no calls", "[verified_date: 2026-01-01] no calls"
    )
    assert isinstance(rejected(watched, swapped, "careful", "careful"), ForbiddenError)


# --- the content itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("## Talk\n```\nopen\n", "unclosed-fence"),
        ("## Talk\nx\n## Talk\ny\n", "duplicate-section"),
        ("## Talk\n[source: x]\n", "empty-body"),
        ("## Talk\n[source: a, source: b] x\n", "duplicate-tag"),
        ("## Talk\n[verified date: 2026-01-01] x\n", "malformed-tags"),
        ("## ?\nx\n", "empty-slug"),
        ("## Talk\n" + "x" * (1 << 20) + "y\n", "entry-too-large"),
    ],
)
def test_a_text_with_a_problem(watched, text, rule):
    error = rejected(watched, text, agent=None)
    assert (type(error), error.code) == (EditError, "structure")
    assert f"({rule})" in str(error)


# --- new words are not verified ---

REWORDED = "short answers, always"


def test_a_text_that_keeps_the_verification_of_other_words_is_refused(watched):
    kept = TEXT.replace("short answers", REWORDED)
    assert isinstance(rejected(watched, kept, "careful", "careful"), ForbiddenError)
    submit(watched, kept.replace("[verified_date: 2026-01-01] ", ""), "careful", "careful")
    assert f"\n{REWORDED}\n" in text_of(watched, "careful/user")
