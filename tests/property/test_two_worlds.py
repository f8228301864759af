"""Two worlds that differ in what is hidden from a profile give it the same answers, byte for byte, at every door.

Hermes's own memory (``catmem.plugins.hermes.memory_store``) is no door of this kind: it knows no profiles and shows its files whole.
"""

import json
import re
import shutil
from datetime import date

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mcp import Client
from starlette.testclient import TestClient

pytest.importorskip("anthropic", reason="NOT TESTED: the package anthropic is not installed")

from anthropic.lib.tools import ToolError

from catmem.envelopes.tokens import new_token
from catmem.errors import CatmemError
from catmem.jsonable import jsonable
from catmem.mcp.server import make_server
from catmem.ops.memory_tool import memory_tool
from catmem.plugins.anthropic.tool import CatmemMemoryTool
from catmem.plugins.hermes.provider import TOOL_NAME, Provider
from catmem.search.search import search
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import ToolSession
from catmem.writing.request import Operation
from tests.days import stand_still
from tests.property import waiting_worlds, worlds
from tests.property.asked import batches, calls, fitting, junk, names, tags, well_formed
from tests.property.asked import of_http as requests
from tests.property.asked import of_mcp as requests_of_mcp
from tests.property.test_agent_access import answer_to

UNRECORDED = re.compile(r'["~]u[0-9a-f]{32}')
"""What an ETag has for a text without a revision: a digest with a key of the process (docs/http.md)."""
OF_FILE = re.compile(r'"hidden(_uncategorized)?": \{[^}]*\}|"line": \d+')
"""How many entries a profile does not see, and lines of the file: the library tells them to the program that calls it
(docs/security.md), and no door to an agent."""

# --- what is asked -------------------------------------------------------------------------------------------------

guesses = st.one_of(
    st.sampled_from(worlds.GUESSES),
    st.sampled_from(worlds.GUESSES).map(lambda text: " ".join(text.split()[:3])),
    st.sampled_from(["a word of the boss", "a guess that is in neither", "Ada", "safe", "harbour", "x"]),
)
categories = st.one_of(st.sampled_from(["talk", "rules", "drop", "vault", "attic", "Vault", "hush"]), names)
created = st.one_of(st.none(), st.dates(date(2026, 1, 1), date(2026, 11, 21)).map(str))
dates = st.dictionaries(st.sampled_from(["created", "verified_date", "expires", "source"]), created, max_size=2)
changes = st.one_of(
    st.fixed_dictionaries(
        {"action": st.just("add"), "content": guesses, "category": categories},
        optional={"tags": st.one_of(dates, tags)},
    ),
    st.fixed_dictionaries(
        {"action": st.just("replace"), "old_text": guesses, "content": guesses},
        optional={"category": categories, "tags": dates},
    ),
    st.fixed_dictionaries(
        {"action": st.sampled_from(["remove", "verify"]), "old_text": guesses}, optional={"category": categories}
    ),
    st.fixed_dictionaries({"action": st.just("move"), "old_text": guesses, "category": categories}),
)
targets = st.sampled_from(["user", "user", "memory"])
own = st.one_of(
    st.tuples(changes, targets).map(lambda both: {**both[0], "target": both[1]}),
    st.fixed_dictionaries({"operations": st.lists(changes, min_size=1, max_size=3)}, optional={"target": targets}),
    st.fixed_dictionaries(
        {"action": st.just("search"), "query": guesses},
        optional={
            "category": categories, "target": targets, "state": st.sampled_from(["fresh", "stale", "unverified"]),
            "offset": st.integers(0, 2),
        },
    ),
    st.fixed_dictionaries({"action": st.sampled_from(["list", "seed"])}, optional={"category": categories}),
)  # fmt: skip
of_tool = st.one_of(own, own, own, well_formed, calls, batches, junk)

content = st.one_of(st.lists(changes, min_size=1, max_size=2), guesses)
writes = st.fixed_dictionaries(
    {"entity_id": st.sampled_from(["neo/user", "neo/user", "neo/memory"]), "content": content,
     "prev_rev": st.sampled_from([0, 2, 10, 11, 11, 11, 12, "5a", "5a", "5b"])},
    optional={"op_id": st.sampled_from(["1", "2"])},
)  # fmt: skip
ENTITIES = ["neo", "neo/user", "neo/memory", "boss", "other/user", "nobody"]
reads = st.fixed_dictionaries(
    {"entity_id": st.sampled_from(ENTITIES)},
    optional={"category": categories, "revision": st.sampled_from(["2", "10", "11", "5a", "5a", "5b", "99"])},
)
PATHS = [
    "/", "/page/queue", "/page/neo/user", "/metrics", "/openapi.json", "/readyz", "/healthz", "/prompt/neo", "/prompt/boss",
    "/mem/branches?entity_id=neo", "/page/search?q=safe", "/mem/nothing",
]  # fmt: skip
NOTHING = st.just({})
of_http = st.one_of(
    requests,
    st.tuples(st.just("POST"), st.just("/mem/write"), NOTHING, writes),
    st.tuples(st.just("POST"), st.just("/mem/write"), NOTHING, writes),
    st.tuples(
        st.just("GET"), st.sampled_from(["/mem/read", "/mem/head", "/mem/log", "/mem/branches"]), reads, st.none()
    ),
    st.tuples(st.just("GET"), st.sampled_from(PATHS), NOTHING, st.none()),
)
paths = st.one_of(
    st.just("/memories"),
    st.sampled_from(["talk", "rules", "drop", "vault", "attic", "memory/talk", "user", "Talk.md"]).map(
        "/memories/{}".format
    ),
)
of_anthropic = st.one_of(
    st.fixed_dictionaries({"command": st.just("view"), "path": paths}),
    st.fixed_dictionaries({"command": st.just("create"), "path": paths, "file_text": guesses}),
    st.fixed_dictionaries({"command": st.just("str_replace"), "path": paths, "old_str": guesses, "new_str": guesses}),
    st.fixed_dictionaries(
        {"command": st.just("insert"), "path": paths, "insert_line": st.integers(0, 9), "insert_text": guesses}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": paths}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": paths, "new_path": paths}),
)
of_library = st.one_of(
    st.tuples(st.just("search"), guesses, st.booleans()),
    st.tuples(st.just("write"), st.lists(changes, min_size=1, max_size=2), targets),
    st.tuples(st.just("dry run"), st.lists(changes, min_size=1, max_size=2), targets),
    st.tuples(st.sampled_from(["prompt", "list", "view"]), targets, st.just("")),
)
of_mcp = st.one_of(well_formed.map(fitting), own.filter(lambda call: "action" in call).map(fitting), requests_of_mcp)
calls_at_doors = st.one_of(
    st.tuples(st.just("tool"), of_tool),
    st.tuples(st.just("tool"), of_tool),
    st.tuples(st.just("hermes"), of_tool),
    st.tuples(st.just("hermes prompt"), st.none()),
    st.tuples(st.just("http"), of_http),
    st.tuples(st.just("http"), of_http),
    st.tuples(st.just("anthropic"), of_anthropic),
    st.tuples(st.just("library"), of_library),
    st.tuples(st.just("mcp"), of_mcp),
)
sequences = st.lists(calls_at_doors, min_size=7, max_size=12)

# --- who answers ---------------------------------------------------------------------------------------------------


class Doors:
    """All doors of one world, open for one profile."""

    def __init__(self, world: worlds.World, name: str = "neo") -> None:
        self.world, self.name = world, name
        self.session = ToolSession()
        path = world.folder / "tokens.json"
        _, token = new_token(world.workspace.config, path, name)
        self.app = create_app(world.workspace, ServerSettings(tokens=path))
        self.client = TestClient(
            self.app,
            base_url="http://127.0.0.1:8428",
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            follow_redirects=False,
        )
        self.provider = Provider()
        home = world.folder / "hermes"
        home.mkdir()
        (home / "catmem.json").write_text(
            json.dumps({"version": 1, "root": str(world.folder), "profile": name}), encoding="utf-8"
        )
        self.provider.initialize("one", hermes_home=str(home), agent_context="primary")
        self.provider.shutdown()
        self.provider._workspace = world.workspace  # whose clock is that of the test
        self.memory = CatmemMemoryTool(world.workspace, name)

    def answers(self, sequence) -> list[str]:
        found = []
        for number, (door, asked) in enumerate(sequence, 1):
            self.world.system.at(worlds.NOW + number * worlds.MOMENT)
            said = getattr(self, door.replace(" ", "_"))(asked)
            found.append(UNRECORDED.sub('"u', said.replace(str(self.world.folder), "ROOT")))
        self.close()
        return found

    def close(self) -> None:
        self.app.state.workers.shutdown()
        self.world.workspace.store.close()

    def tool(self, arguments) -> str:
        return json.dumps(memory_tool(self.world.workspace, self.name, arguments, session=self.session))

    def hermes(self, arguments) -> str:
        return self.provider.handle_tool_call(TOOL_NAME, arguments if isinstance(arguments, dict) else {})

    def hermes_prompt(self, _) -> str:
        self.provider.on_session_switch("two", reset=True)
        return self.provider.system_prompt_block()

    def http(self, asked) -> str:
        method, where, params, body = asked
        sent = {} if body is None else {"content": json.dumps(body), "headers": {"Content-Type": "application/json"}}
        response = self.client.request(method, where, params=params or None, **sent)
        assert response.status_code < 500, (asked, response.text)
        return f"{response.status_code} {sorted(response.headers.items())} {response.text}"

    def anthropic(self, asked) -> str:
        try:
            return str(self.memory.call(asked))
        except ToolError as error:
            return str(error)

    def mcp(self, asked) -> str:
        async def talk() -> str:
            async with Client(make_server(self.world.workspace, self.name)) as client:
                return await answer_to(client, *asked)

        return anyio.run(talk)

    def library(self, asked) -> str:
        try:
            return self._called(*asked)
        except CatmemError as error:
            return f"{type(error).__name__} {json.dumps(jsonable(error), default=str)}"

    def _called(self, what, first, second) -> str:
        workspace = self.world.workspace
        match what:
            case "search":
                found = search(workspace, self.name, first, to_agent=second)
                return OF_FILE.sub("", json.dumps(jsonable(found.found))) + str(found.total)
            case "write" | "dry run":
                operations = [Operation(**each) for each in first]
                written = workspace.write(
                    self.name, operations, target=second, actor=self.name, dry_run=what == "dry run"
                )
                return json.dumps(jsonable(written))
            case "prompt":
                prompt = workspace.prompt(self.name)
                return prompt.text + OF_FILE.sub("", json.dumps(jsonable(prompt.manifest)))
            case "view":
                return repr([each.raw for each in workspace.view(self.name, first).entries])
            case _:
                return OF_FILE.sub("", json.dumps([jsonable(each) for each in workspace.list(self.name)]))


@pytest.fixture(autouse=True, scope="module")
def day():
    with pytest.MonkeyPatch.context() as patch:
        stand_still(patch, worlds.NOW.date())
        patch.setenv("TZ", "UTC")
        yield


def told(kind, seed, sequence, name="neo") -> list[list[str]]:
    """What both worlds answer."""
    return [worlds.once(kind, seed, each, lambda world: Doors(world, name).answers(sequence)) for each in (0, 1)]


GUESSED = [
    ("tool", call)
    for text in worlds.GUESSES
    for call in (
        {"action": "add", "content": text, "category": "talk"},
        {"action": "search", "query": text},
        {"action": "remove", "old_text": text, "category": "talk"},
    )
]
"""Each text is guessed, looked for, and taken out again."""


@settings(max_examples=max(10, settings().max_examples // 4))
@given(kind=st.sampled_from(worlds.KINDS), seed=st.integers(0, 1_000_000), sequence=sequences)
@example(kind="plain", seed=1, sequence=GUESSED)
@example(kind="shared", seed=2, sequence=GUESSED)
@example(kind="verifies", seed=3, sequence=GUESSED)
def test_a_profile_is_told_the_same_in_both(kind, seed, sequence):
    here, there = told(kind, seed, sequence)
    for number, (one, other) in enumerate(zip(here, there, strict=True), 1):
        assert one == other, sequence[:number]


def test_who_sees_everything_is_told_of_each_world_what_is_in_it():
    """So the two do differ, and these doors show it to those who may know."""
    read = ("GET", "/mem/read", {"entity_id": "neo/user"}, None)
    asked = [("tool", {"action": "list"}), ("library", ("prompt", "user", "")), ("http", read), ("hermes prompt", None)]
    here, there = told("plain", 0, asked, "boss")
    assert all(one != other for one, other in zip(here, there, strict=True))


def listener(world):
    """A call that gives what is new to neo since the last one."""
    path, since = world.folder / "tokens.json", {}
    headers = {"Authorization": f"Bearer {new_token(world.workspace.config, path, 'neo')[1]}"}
    client = TestClient(
        create_app(world.workspace, ServerSettings(tokens=path)), base_url="http://127.0.0.1:8428", headers=headers
    )

    def hear() -> str:
        answer = client.get("/mem/changes", params=since)
        since["since"] = answer.json()["since"]
        return answer.text

    return hear


def test_what_is_new_is_the_same_in_both():
    """Whatever somebody else does to hidden entries, by catmem or by hand."""
    found = [worlds.once("plain", 4, number, lambda world, number=number: _news(world, number)) for number in (0, 1)]
    here, there = (UNRECORDED.sub("~u", json.dumps(each)) for each in found)
    assert here == there
    assert [len(json.loads(each)["changes"]) for each in found[0]] == [0, 1, 1, 1, 1, 2]


def _news(world, number) -> list[str]:
    workspace, hear = world.workspace, listener(world)
    text, category = worlds.SECRETS[number][1], ("vault", "attic")[number]
    heard = [hear()]
    world.system.at(worlds.NOW)
    workspace.add("neo", text, category=category)
    heard.append(hear())
    workspace.add("neo", "seen by neo", category="talk", actor="neo")
    heard.append(hear())
    workspace.remove("neo", text, category=category)
    heard.append(hear())
    file = world.folder / "homes" / "neo" / "USER.md"
    file.write_text(file.read_text(encoding="utf-8").replace("## Drop", f"## Drop\n{text}\n\xa7"), encoding="utf-8")
    heard.append(hear())
    workspace.add("neo", "also seen by neo", category="talk", actor="neo")
    heard.append(hear())
    workspace.store.close()
    return heard


@pytest.mark.parametrize("store", ["files", "sqlite:///memory.db"])
@pytest.mark.parametrize("actor", [None, "boss"])
def test_an_op_id_that_a_hidden_writer_took_is_told_at_no_door(tmp_path, store, actor):
    """A text is written where `neo` does not look, here under the op_id that `neo` uses, there under another one."""
    add = {"action": "add", "content": "by the tool", "category": "talk"}
    put = {"entity_id": "neo/user", "prev_rev": 1, "op_id": "op-2"}
    puts = [
        put | {"content": [add | {"content": each}], "prev_rev": base} for each in ("one", "two") for base in (2, 3)
    ]
    calls = [("tool", add | {"target": "user", "op_id": "op-1"})] * 2
    calls += [("http", ("POST", "/mem/write", {}, each)) for each in puts]
    told = []
    for taken in (("op-1", "op-2"), ("op-3", "op-4")):
        folder = tmp_path / taken[0]
        worlds.make(folder, "plain", 0, 0)
        shutil.rmtree(folder / "homes")
        with (folder / "catmem.yaml").open("a") as config:
            config.write(f"store: {store}\n")
        world = worlds.opened(folder)
        if store != "files":
            world = world._replace(workspace=Workspace.open(folder, search=False))
        for number, name in enumerate(taken):
            world.system.at(worlds.NOW)
            hidden = Operation("add", content=f"hidden {number}", category="vault")
            world.workspace.write("neo", [hidden], target="user", actor=actor, op_id=name)
        told.append([waiting_worlds.normal(each) for each in Doors(world).answers(calls)])
    assert told[0] == told[1]
    assert ['"success": true' in told[0][0], "same op_id" in told[0][1]] == [True, True]
    # That it took an op_id itself, and for what, it is told.
    assert [each.split()[0] for each in told[0][2:]] == ["409", "200", "409", "409"]
    assert "hash_collision" in told[0][4]


def test_of_what_another_program_took_out_an_agent_hears_the_same_whatever_is_hidden(tmp_path):
    """All that `neo` saw is gone, and here something hidden is left."""
    reads = [("GET", "/mem/read", {"entity_id": "neo/user"}, None), ("GET", "/prompt/neo", {}, None)]
    calls = [("tool", {"action": action}) for action in ("list", "prompt")]
    calls += [("tool", {"action": "search", "query": "seen"}), *(("http", each) for each in reads)]
    told = []
    for left in ("## Vault\nhidden\n", ""):
        folder = tmp_path / f"left-{len(left)}"
        worlds.make(folder, "plain", 0, 0)
        world = worlds.opened(folder)
        file = folder / "homes" / "neo" / "USER.md"
        file.write_text("## Talk\nseen by neo\n\n## Vault\nhidden\n", encoding="utf-8")
        world.workspace.add("neo", "also seen", target="user", category="talk")
        file.write_text(left, encoding="utf-8")
        answers = [waiting_worlds.normal(each) for each in Doors(world).answers(calls)]
        told.append([re.sub(r'"usage": \{[^}]*\}', "", each) for each in answers])  # the size is that of the file
    assert told[0] == told[1]
    assert "out of neo/user: 'catmem diff" in told[0][0]
