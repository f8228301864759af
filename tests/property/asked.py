"""What an agent may ask, at the memory tool, over HTTP and of the MCP server, when it guesses at what it does not see."""

from hypothesis import strategies as st

from catmem.digest import bytes_digest
from catmem.mcp.tools import all_tools
from catmem.model.document import parse
from tests.property.canaries import CANARY, text_with
from tests.property.strategies import bodies

# --- the memory tool ---------------------------------------------------------------------------------------------------

guesses = st.sampled_from(
    [
        "a", "s", "short", "no calls", "be kind", "in the vault", "without a category", "dropped", "unclosed", "x",
        "```", "## ", "[", "source", "short answers", *(entry.id for entry in parse(text_with(CANARY)).entries),
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
of_tool = st.one_of(well_formed, well_formed, well_formed, calls, batches, junk)

# --- HTTP --------------------------------------------------------------------------------------------------------------

entities = st.sampled_from(["neo", "neo/user", "neo/memory", "other/user", "other", "nobody", "../neo", CANARY, ""])
revisions = st.sampled_from(["0", "1", "2", "3", "2a", "x"])
operation = st.fixed_dictionaries(
    {"action": st.sampled_from(["add", "replace", "remove", "move", "verify"])},
    optional={
        "content": contents, "old_text": guesses, "category": names, "to_category": names, "tags": tags,
        "as_of": st.just("2026-01-02"),
    },
)  # fmt: skip
write = st.fixed_dictionaries(
    {"entity_id": st.sampled_from(["neo/user", "neo/user", "neo/memory", "other/user"]),
     "content": st.one_of(st.lists(operation, min_size=1, max_size=2), contents),
     "prev_rev": st.sampled_from([0, 1, 1, 1, 2, "1a"])},
    optional={"op_id": st.sampled_from(["1", "2"])},
)  # fmt: skip
queries = st.fixed_dictionaries(
    {"entity_id": entities},
    optional={"category": names, "revision": revisions, "limit": st.sampled_from(["1", "50"]), "offset": st.just("1")},
)
of_http = st.one_of(
    st.tuples(st.just("POST"), st.just("/mem/write"), st.just({}), write),
    st.tuples(st.just("POST"), st.just("/mem/write"), st.just({}), write),
    st.tuples(st.just("GET"), st.sampled_from(["/mem/read", "/mem/head", "/mem/log"]), queries, st.none()),
    st.tuples(st.just("GET"), st.just("/mem/branches"), queries, st.none()),
    st.tuples(st.just("GET"), st.sampled_from(["/prompt/neo", "/prompt/other", "/prompt/x"]), st.fixed_dictionaries(
        {}, optional={"from": st.sampled_from(["neo", "other", "x"]), "categories": names, "budget": st.just("90")}), st.none()),
    st.tuples(st.just("POST"), st.just("/mem/merge"), st.just({}), st.fixed_dictionaries(
        {"entity_id": entities}, optional={"branches": st.just(["1a"]), "precedence": st.just("both")})),
    st.tuples(st.just("POST"), st.just("/seed"), st.just({}), st.fixed_dictionaries(
        {"source": st.sampled_from(["neo", "other"])}, optional={"targets": st.just(["other"])})),
)  # fmt: skip

# --- MCP ---------------------------------------------------------------------------------------------------------------

TAKES = {tool.name: set(tool.input_schema["properties"]) for tool in all_tools()}


def fitting(call: dict) -> tuple[str, str, dict]:
    """A call of the tool that a call of the memory tool comes to, with what that one takes."""
    name = f"memory_{call['action']}"
    return "tool", name, {key: value for key, value in call.items() if key in TAKES.get(name, ())}


of_mcp = st.one_of(
    well_formed.map(fitting),
    well_formed.map(fitting),
    st.tuples(st.just("tool"), st.sampled_from(sorted(TAKES)), st.one_of(calls, batches)),
    st.tuples(st.just("resource"), names.map("memory://{}".format), st.just({})),
    st.tuples(
        st.just("prompt"),
        st.sampled_from(["context", "vault"]),
        st.fixed_dictionaries(
            {},
            optional={
                "categories": names,
                "budget": st.sampled_from(["1", "90", "x"]),
                "from": st.sampled_from(["neo", "other", "x"]),
            },
        ),
    ),
    st.tuples(st.sampled_from(["resources", "tools"]), st.just(""), st.just({})),
)
