"""Whatever an envelope says: hidden entries are not told, not changed, make no difference; no signature is bent."""

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from catmem.envelopes.agents import new_key, role_hash
from catmem.envelopes.envelope import Envelope, content_hash
from catmem.errors import CatmemError
from catmem.jsonable import jsonable
from catmem.model.document import parse
from catmem.workspace.workspace import Workspace
from tests.property import canaries
from tests.property.canaries import CANARY, HIDDEN, TEXT
from tests.property.strategies import bodies

OTHER = "SOMETHING-."
CONFIG = canaries.CONFIG | {
    "branches": "on_stale: branch\n",
    "merging": "on_drift: merge\n",
    "alerting": "semantic_alert: 0.6\n",
}
FEW = settings(max_examples=max(12, settings.default.max_examples // 5))
"""Each of five roots is tried."""
WHOLE = TEXT.format(canary=CANARY, vault="Vault")
ENTRIES = parse(WHOLE).entries


@pytest.fixture(scope="module", params=CONFIG)
def folder(request, tmp_path_factory):
    return canaries.write_root(tmp_path_factory.mktemp(request.param), CONFIG[request.param])


# What a writer may try who guesses at what it does not see.
names = st.sampled_from(["talk", "rules", "drop", "vault", "hush", "not-there", "canary-4f1c", "__uncategorized__"])
texts = st.one_of(
    st.sampled_from(
        [
            "short answers",
            "no calls, please",
            "be kind",
            f"{CANARY} dropped",
            "in the vault",
            "```\nopen",
            "y" * 700,
            *(entry.id for entry in ENTRIES),
        ]
    ),
    bodies(),
)
tags = st.dictionaries(
    st.sampled_from(["verified_date", "created", "source"]),
    st.sampled_from(["2026-01-01", "2026-05-01", CANARY, "x"]),
    max_size=2,
)
operations = st.lists(
    st.fixed_dictionaries(
        {"action": st.sampled_from(["add", "replace", "remove", "move", "verify"])},
        optional={"content": texts, "old_text": texts, "category": names, "to_category": names, "tags": tags},
    ),
    min_size=1,
    max_size=3,
)
revisions = st.sampled_from([0, 1, 1, 1, 2, 2, 3, 99, "2a", "3b"])
sent = st.tuples(
    operations,
    revisions,
    st.sampled_from(["neo/user", "neo/user", "neo/user", "neo/memory", "other/user", "nobody/user"]),
    st.sampled_from(["1", "2", "3"]),
    st.booleans(),
)
sequences = st.lists(sent, min_size=1, max_size=5)


def answer(workspace: Workspace, call) -> str:
    """All that the writer is told, as one text."""
    content, prev, entity, op_id, confirm = call
    envelope = Envelope(
        entity_id=entity,
        agent_id="neo",
        op_id=op_id,
        timestamp=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        prev_rev=prev,
        content=content,
        mem_hash=content_hash(content),
        role_id="neo",
        role_hash=role_hash(workspace.profile("neo")),
    )
    try:
        told = jsonable(workspace.submit(envelope, confirm=confirm))
    except CatmemError as error:
        told = {"refused": type(error).__name__, "text": str(error), **jsonable(error)}
    return json.dumps(told, ensure_ascii=False)


def hidden(workspace: Workspace) -> tuple[list[str], Counter[str], bytes]:
    """What a writer may not change, what it may only add to, and the file of another."""
    entries = [
        entry
        for entity in ("neo/user", "neo/memory")
        for entry in workspace.parse(workspace.store.peek(entity)).entries
    ]
    kept = [f"{entry.category}: {entry.raw}" for entry in entries if entry.category in HIDDEN - {"drop"}]
    dropped = Counter(entry.raw for entry in entries if entry.category == "drop")
    return kept, dropped, workspace.store.peek("other/user")


@FEW
@given(sequence=sequences)
def test_what_is_hidden_makes_no_difference_and_is_never_changed(folder, sequence):
    """So nothing of it is told: no text, no title, no digest."""
    one, other = (canaries.opened(folder, text) for text in (WHOLE, TEXT.format(canary=OTHER, vault="Attic")))
    before = hidden(one)
    for call in sequence:
        assert answer(one, call) == answer(other, call), call
    kept, dropped, others = hidden(one)
    assert (kept, others) == (before[0], before[2])
    assert not before[1] - dropped


# --- signatures ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def signing(tmp_path_factory):
    place = tmp_path_factory.mktemp("signing")
    root = canaries.write_root(place / "root", f"signing: {{required: true, keys: {place / 'keys'}}}\n")
    workspace = canaries.opened(root, WHOLE)
    for agent in ("neo", "neo", "other", "person"):
        new_key(workspace.config, agent)
    return workspace


ADD = [{"action": "add", "content": "tea", "category": "talk"}]
FIELDS = [
    "entity_id",
    "agent_id",
    "op_id",
    "timestamp",
    "prev_rev",
    "content",
    "mem_hash",
    "role_id",
    "role_hash",
    "key_id",
    "signature",
]


@given(
    taken=st.sets(st.sampled_from(FIELDS), min_size=1, max_size=len(FIELDS) - 1), strip=st.booleans(), data=st.data()
)
def test_parts_of_two_signed_envelopes_make_no_third(signing, taken, strip, data):
    agents = data.draw(st.permutations(["neo", "other", None]))
    one = signing.envelope("neo", ADD, agent=agents[0])
    two = signing.envelope(
        "other", [{"action": "add", "content": "coffee", "category": "rules"}], agent=agents[1], prev=0
    )
    mixed = replace(one, **{name: getattr(two, name) for name in taken})
    if strip:
        mixed = replace(mixed, key_id=None, signature=None)
    assume(mixed not in (one, two))
    heads = [signing.store.head(entity) for entity in ("neo/user", "other/user")]
    with pytest.raises(CatmemError) as caught:
        signing.submit(mixed)
    assert caught.value.code in {"bad_signature", "bad_hash", "schema"}
    assert [signing.store.head(entity) for entity in ("neo/user", "other/user")] == heads


@given(times=st.integers(2, 4), between=st.booleans())
def test_a_replayed_envelope_writes_once(signing, times, between):
    content = [{"action": "add", "content": f"fact {uuid4()}", "category": "rules"}]
    envelope = signing.envelope("other", content, agent="other")
    first = signing.submit(envelope)
    for _ in range(times):
        if between:
            signing.add("other", f"later {uuid4()}", category="rules")
        head = signing.store.head("other/user")
        repeated = signing.submit(envelope)
        assert (repeated.repeated, repeated.revision) == (True, first.revision)
        assert signing.store.head("other/user") == head
