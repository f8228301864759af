"""A memory file with git's conflict markers: every door says so to whoever builds a prompt of it or writes to it."""

import anyio
import pytest

from catmem.ops.memory_tool import memory_tool
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import run, run_json, write_root
from tests.http_root import plain, served
from tests.together import together
from tests.unit.server.page.forms import sent, shown
from tests.unit.server.page.markup import Markup

SAID = "holds git's conflict markers"
MARKED = """\
## Talk
<<<<<<< HEAD
Prefers short answers.
=======
Prefers long answers.
>>>>>>> update

## Rules
Invoices are due on the 15th.
"""
WRITES = {
    "prompt": ["prompt", "neo"],
    "explain": ["prompt", "neo", "--explain"],
    "dry run": ["add", "-p", "neo", "-c", "talk", "Likes tea.", "--dry-run"],
    "migrate": ["migrate", "homes/neo/USER.md", "--dry-run"],
    "unchanged": ["add", "-p", "neo", "-c", "rules", "Invoices are due on the 15th."],
    "add": ["add", "-p", "neo", "-c", "talk", "Likes tea."],
    "verify": ["verify", "-p", "neo", "Invoices"],
    "move": ["move", "-p", "neo", "Invoices", "-c", "talk"],
    "fmt": ["fmt", "homes/neo/USER.md"],
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    path = write_root(tmp_path / "root")
    path.write_text(MARKED, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "root")
    return tmp_path / "root"


@pytest.fixture
def workspace(place):
    opened = Workspace.open(place, search=False)
    yield opened
    opened.store.close()


@pytest.fixture
def server(workspace, tmp_path):
    yield from served(workspace, tmp_path / "tokens" / "tokens.json")


@together("arguments", WRITES.values(), ids=WRITES)
def test_the_command_line_warns(place, arguments):
    assert SAID in run(*arguments).stderr


@together("arguments", [WRITES[name] for name in ("add", "fmt", "explain")])
def test_the_command_line_says_nothing_of_a_whole_file(place, arguments):
    (place / "homes/neo/USER.md").write_text("## Rules\nInvoices are due on the 15th.\n", encoding="utf-8")
    assert SAID not in run(*arguments).output


def test_programs_find_it_in_json(place):
    assert [SAID in each for each in run_json("prompt", "neo", "--format", "json")["manifest"]["warnings"]] == [True]
    written = run_json("add", "-p", "neo", "-c", "rules", "One.", "--format", "json")
    assert [SAID in each for each in written["warnings"]] == [True]


@pytest.mark.parametrize(
    "call",
    [
        {"action": "list"},
        {"action": "add", "content": "Two.", "category": "rules"},
        {"action": "replace", "old_text": "no such entry", "content": "x"},
    ],
    ids=["list", "add", "refused"],
)
def test_an_agent_is_told_by_its_tool(workspace, call):
    assert [SAID in each for each in memory_tool(workspace, "neo", call)["warnings"]] == [True]
    (workspace.root / "homes/neo/USER.md").write_text("## Rules\nOne.\n", encoding="utf-8")
    assert "warnings" not in memory_tool(workspace, "neo", call)


def test_an_agent_is_told_nothing_of_what_it_does_not_see(workspace, server):
    text = MARKED.replace("Talk", "Pay")
    (workspace.root / "homes/neo/USER.md").write_text(text, encoding="utf-8")
    for call in ({"action": "list"}, {"action": "add", "content": "Two.", "category": "rules"}):
        assert SAID not in str(memory_tool(workspace, "neo", call))
    client = server.client("neo")
    tag = client.get("/mem/read", params={"entity_id": "neo/user"}).headers["etag"]
    written = client.post("/mem/write", json=plain("Three.", "rules"), headers={"If-Match": tag})
    assert written.status_code == 200
    assert SAID not in written.text + client.get("/prompt/neo", headers={"Accept": "application/json"}).text
    assert SAID in str(workspace.prompt("neo").warnings)  # whoever runs the agent


def test_an_agent_is_told_over_mcp(workspace):
    from mcp import Client

    from catmem.mcp.server import make_server

    async def talk():
        async with Client(make_server(workspace, "neo"), raise_exceptions=True) as client:
            added = await client.call_tool("memory_add", {"content": "Two.", "category": "rules"})
            return added.structured_content["warnings"], (await client.get_prompt("context", {})).description

    warnings, described = anyio.run(talk)
    assert [SAID in each for each in warnings] == [True]
    assert SAID in described


@pytest.mark.parametrize("agent", [None, "neo"])
def test_programs_are_told_over_http(server, agent):
    client = server.client(agent)
    tag = client.get("/mem/read", params={"entity_id": "neo/user"}).headers["etag"]
    answer = client.post("/mem/write", json=plain("Two.", "rules"), headers={"If-Match": tag})
    assert [SAID in each for each in answer.json()["warnings"]] == [True], answer.text
    as_json = client.get("/prompt/neo", headers={"Accept": "application/json"})
    assert [SAID in each for each in as_json.json()["warnings"]] == [True]
    assert SAID in client.get("/prompt/neo").headers["catmem-warning"]


def test_a_person_is_told_on_the_page(server):
    client = server.client()
    assert SAID in Markup(client.get("/page/profiles/neo").text).text
    assert SAID in Markup(client.get("/page/files/neo/user").text).text
    form = shown(client, "/page/files/neo/user").named("Add it")
    answer = sent(client, form, content="Two.", category="rules")
    assert SAID in Markup(client.get(answer.headers["location"]).text).text


def test_a_model_is_told_by_the_tool_of_anthropic(workspace):
    pytest.importorskip("anthropic", reason="NOT TESTED: the package anthropic is not installed")
    from catmem.plugins.anthropic.tool import CatmemMemoryTool

    tool = CatmemMemoryTool(workspace, "neo")
    edit = {"command": "str_replace", "path": "/memories/user/rules.md", "old_str": "15th", "new_str": "16th"}
    assert SAID in tool.call(edit)
    assert SAID in tool.call({"command": "delete", "path": "/memories/user/rules.md"})
