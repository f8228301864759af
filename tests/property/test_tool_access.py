"""Whatever a model asks of the memory tool, hidden entries are not shown, not changed, and make no difference."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.digest import bytes_digest
from catmem.model.document import parse
from catmem.ops.memory_tool import memory_tool
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import ToolSession
from tests.golden.case import put
from tests.property.canaries import CANARY, CONFIG, HIDDEN, PROFILES, text_with
from tests.property.strategies import bodies
from tests.roots import put_bytes
from tests.store.memory import InMemoryStore


@pytest.fixture(scope="module", params=CONFIG)
def folder(request, tmp_path_factory):
    """A root with two profiles, whose taxonomy is open or closed."""
    place = tmp_path_factory.mktemp(request.param)
    put(place / "catmem.yaml", CONFIG[request.param])
    for name, text in PROFILES.items():
        put(place / "profiles" / f"{name}.yaml", text)
    return place


def opened(folder, text: str) -> Workspace:
    workspace = Workspace.open(folder, search=False, store=InMemoryStore())
    for entity in ("neo/user", "neo/memory", "other/user"):
        put_bytes(workspace, entity, text)
    return workspace


ENTRIES = parse(text_with(CANARY)).entries
guesses = st.sampled_from(
    [
        "a", "s", "short", "no calls", "be kind", "in the vault", "without a category", "dropped", "unclosed", "x",
        "```", "## ", "[", "source", "short answers", *(entry.id for entry in ENTRIES),
    ]
)  # fmt: skip
names = st.sampled_from(
    [
        "talk", "Talk", "rules", "drop", "vault", "Vault", "VAULT", "\uff56\uff41\uff55\uff4c\uff54", "vault ", "vaults",
        "vaul", "hush", "__uncategorized__", "not-there", "", "*", "../vault", "ſ", "!vault", "t\u200dalk",
    ]
)  # fmt: skip
contents = st.one_of(guesses, bodies(), st.sampled_from(["", "§", "## Vault\nx", "\ufeffx", "y" * 700]))
actions = st.sampled_from(
    ["add", "replace", "remove", "move", "verify", "list", "search", "seed", "prompt", "show", ""]
)
tag_values = st.one_of(st.none(), st.text(max_size=6), st.lists(st.text(max_size=4), max_size=2), st.integers())
tags = st.dictionaries(
    st.sampled_from(["verified_date", "created", "source", "a b", "category"]), tag_values, max_size=2
)
queries = st.one_of(
    guesses,
    names,
    st.sampled_from([CANARY, CANARY[:6], "vault answers", "canary short rules", '"the vault" short', "fence unclosed"]),
)
changes = {"action": actions}
optional = {"content": contents, "old_text": guesses, "category": names, "tags": tags, "evidence": contents}
calls = st.fixed_dictionaries(
    changes,
    optional={
        **optional,
        "target": st.sampled_from(["user", "memory", "other/user", "../other/user"]),
        "expected": st.sampled_from(["0", "1", "2", "sha256:", "zz", bytes_digest(text_with(CANARY).encode())]),
        "op_id": st.sampled_from(["1", "2"]),
        "profile": st.just("other"),
        "query": queries,
        "state": st.sampled_from(["fresh", "stale", "expired", "unverified", "new"]),
    },
)
batches = st.fixed_dictionaries(
    {"operations": st.lists(st.fixed_dictionaries(changes, optional=optional), max_size=3)},
    optional={"target": st.sampled_from(["user", "memory"]), "op_id": st.sampled_from(["1", "2"])},
)
well_formed = st.one_of(
    st.fixed_dictionaries({"action": st.just("add"), "content": contents, "category": names}),
    st.fixed_dictionaries({"action": st.just("replace"), "old_text": guesses, "content": contents}),
    st.fixed_dictionaries({"action": st.sampled_from(["remove", "verify"]), "old_text": guesses}),
    st.fixed_dictionaries({"action": st.just("remove"), "old_text": guesses, "category": names}),
    st.fixed_dictionaries({"action": st.just("move"), "old_text": guesses, "category": names}),
    st.fixed_dictionaries({"action": st.just("list")}, optional={"category": names}),
    st.fixed_dictionaries(
        {"action": st.just("prompt")},
        optional={
            "categories": st.lists(names, min_size=1, max_size=3),
            "from": st.sampled_from(["neo", "other", "x"]),
            "budget": st.integers(1, 400),
        },
    ),
    st.fixed_dictionaries(
        {"action": st.just("search"), "query": queries},
        optional={"category": names, "target": st.sampled_from(["user", "memory"]), "offset": st.integers(0, 3)},
    ),
)
junk = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=5), inner, max_size=2)),
    max_leaves=4,
)
sequences = st.lists(st.one_of(well_formed, well_formed, well_formed, calls, batches, junk), min_size=1, max_size=6)


def hidden_entries(workspace: Workspace, entity: str) -> list[str]:
    document = workspace.parse(workspace.store.peek(entity))
    return [f"{entry.category}: {entry.raw}" for entry in document.entries if entry.category in HIDDEN]


@contextmanager
def nothing_hidden_changes(workspace: Workspace) -> Iterator[None]:
    """Whatever is asked meanwhile: hidden entries, and all of the other profile, stay as they are."""

    def kept():
        hidden = [entry for entity in ("neo/user", "neo/memory") for entry in hidden_entries(workspace, entity)]
        return [entry for entry in hidden if CANARY in entry], workspace.store.read("other/user")

    before = kept()
    yield
    assert kept() == before
    assert workspace.store.head("other/memory") is None


@given(sequence=sequences, in_session=st.booleans())
def test_hidden_entries_are_never_shown_and_never_changed(folder, sequence, in_session):
    workspace = opened(folder, text_with(CANARY))
    session = ToolSession() if in_session else None
    with nothing_hidden_changes(workspace):
        for arguments in sequence:
            answer = memory_tool(workspace, "neo", arguments, session=session)
            said = json.dumps(answer, ensure_ascii=False, allow_nan=False).lower()
            assert CANARY.lower() not in said, arguments
            assert not re.search("sha256:[0-9a-f]{6}", said), arguments
