"""docs/first-change.md: what each example touches, and that the program then does it.

The blocks of the page are applied to a copy of the package: a file that is written, lines that are changed, a `cp`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.docs.pages import ROOT, load, read
from tests.end_to_end.terminal import write_root
from tests.golden.case import put

PAGE = load(ROOT / "docs" / "first-change.md")
COPIED = ("catmem", "docs", "schemas", "profiles")
MOST = {"a tag": 2, "a lint rule": 2, "an importer": 2, "an operation": 2, "a store": 3, "a plugin": 2}
"""How many files of the package each may touch."""


def part(title):
    """The page below one heading."""
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.text, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    return read(title, found)


def changed(text, hunk):
    """The text with the lines of a hunk in the place of those that it names, which stand there once."""
    old = "".join(f"{line[1:]}\n" for line in hunk if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in hunk if not line.startswith("-"))
    assert f"\n{text}".count(f"\n{old}") == 1, f"these lines stand there once:\n{old}"
    return f"\n{text}".replace(f"\n{old}", f"\n{new}")[1:]


def apply(example, copy):
    """Do what a block says; returns the file that it touches."""
    head, _, rest = example.text.partition("\n")
    if example.direction.startswith("file "):
        name = example.direction.removeprefix("file ")
        assert not (copy / name).exists()
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(example.text)
    elif example.language == "diff":
        name = head.removeprefix("+++ ")
        text = (copy / name).read_text()
        for hunk in rest.split("@@\n"):
            text = changed(text, hunk.splitlines())
        (copy / name).write_text(text)
    else:
        command, source, name = head.split()
        assert command == "cp"
        shutil.copyfile(ROOT / source, copy / name)
    return name


def install(folder):
    """Put beside a package what an installation says of it: its plugins."""
    said = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    plugins = "".join(f"{name} = {place}\n" for name, place in said["entry-points"]["catmem.plugins"].items())
    data = folder / f"{said['name'].replace('-', '_')}-0.dist-info"
    put(data / "METADATA", f"Metadata-Version: 2.1\nName: {said['name']}\nVersion: 0\n")
    put(data / "entry_points.txt", f"[catmem.plugins]\n{plugins}")


class Changed:
    """A copy of the package with one example of the page, and a root for it."""

    def __init__(self, title, folder):
        self.copy, self.root = folder / "copy", folder / "root"
        for name in COPIED:
            shutil.copytree(ROOT / name, self.copy / name)  # with what is compiled already
        shutil.copyfile(ROOT / "pyproject.toml", self.copy / "pyproject.toml")
        self.touched = {apply(example, self.copy) for example in part(title).examples}
        folders = sorted(each.parent for each in self.copy.glob("**/pyproject.toml"))
        for each in folders:
            install(each)
        write_root(self.root)
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}

    def run(self, *arguments, status=0):
        """What the changed program prints."""
        return self.python("-m", "catmem", *arguments, *([] if "rule" in arguments else ["--root", "."]), status=status)

    def python(self, *arguments, status=0):
        """What Python prints, with the changed package."""
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == status, done.stderr
        return done.stdout


@pytest.fixture
def change(request, tmp_path):
    """The package with one example, which touches as many files as the page says."""
    title = request.param
    (said,) = re.findall(rf"\[{title}\]\(#[a-z-]+\) (\d+)[,.]", PAGE.text)
    made = Changed(title, tmp_path)
    assert len(made.touched) == int(said) <= MOST[title]
    return made


def on(title):
    return pytest.mark.parametrize("change", [title], indirect=True, ids=[title])


def test_all_examples_are_counted():
    titles = [line.removeprefix("## ").lower() for line in PAGE.prose if line.startswith("## ")]
    assert titles == list(MOST)


def sources():
    """The Python that the examples put into the package, by its path there; a plugin is a package of another author."""
    for example in PAGE.examples:
        path = example.direction.removeprefix("file ")
        if example.text.startswith("cp "):
            _, source, path = example.text.split()
            yield pytest.param(path, (ROOT / source).read_text(), id=path)
        elif path.startswith("catmem/"):
            yield pytest.param(path, example.text, id=path)


@pytest.mark.parametrize(("path", "text"), [*sources()])
def test_ruff_finds_nothing_in_an_example(path, text):
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--quiet"], ["format", "--check"]):
        done = subprocess.run(
            [*ruff, *command, "--stdin-filename", path, "-"],
            cwd=ROOT,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@on("a tag")
def test_a_new_tag_is_read_and_linted(change):
    file = change.root / "homes" / "neo" / "USER.md"
    file.write_text("## Rules\n[confidence: high] Uses tabs.\n§\n[confidence: huge] Uses blanks.\n")
    (entry, _) = json.loads(change.run("list", "-p", "neo", "--format", "json"))["entries"]
    assert entry["tags"] == {"confidence": "high"}
    found = json.loads(change.run("lint", "--select", "CM3", "--format", "json", status=1))["diagnostics"]
    assert [(each["code"], each["line"]) for each in found] == [("CM303", 4)]


@on("a lint rule")
def test_a_new_rule_fires_and_has_its_page(change):
    file = change.root / "homes" / "neo" / "USER.md"
    file.write_text("## Rules\nUses tabs.\n§\nNEVER ON FRIDAYS.\n")
    found = json.loads(change.run("lint", "--select", "CM290", "--format", "json"))["diagnostics"]
    assert [(each["code"], each["line"]) for each in found] == [("CM290", 4)]
    page = change.run("rule", "CM290")
    assert page.startswith(
        "# CM290 shouting\n\nSeverity: hint.\n\nFind entries that are written in capitals.\n\nA model takes capitals"
    )
    assert page.endswith("unless it is a name or a short form.\n")


@on("an importer")
def test_a_new_importer_imports(change, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("rules\tUses tabs.\nno fact\n")
    told = json.loads(change.run("import", "--from", "tab-notes", "-p", "neo", str(notes), "--format", "json"))
    assert [(each["place"], each["why"]) for each in told["left_out"]] == [("notes.txt:2", "it has no tab")]
    assert "Uses tabs." in change.run("list", "-p", "neo", "-c", "rules")


ASK = """
import json
from pathlib import Path
from starlette.testclient import TestClient
from catmem.envelopes.tokens import new_token
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.server.routes import document
from catmem.workspace.workspace import Workspace

workspace, tokens = Workspace.open("."), Path("../tokens.json")
headers = {"Authorization": f"Bearer {new_token(workspace.config, tokens, 'neo')[1]}"}
client = TestClient(create_app(workspace, ServerSettings(tokens=tokens)), base_url="http://127.0.0.1:8428")
said = [document()["paths"]["/mem/count"]]
for entity in ("neo", "project:alpha", "boss", "nobody"):
    answer = client.get("/mem/count", params={"entity_id": entity}, headers=headers)
    said.append([answer.status_code, answer.json() if answer.status_code < 400 else answer.json()["code"]])
print(json.dumps(said))
"""


@on("an operation")
def test_a_new_operation_has_every_door(change):
    with (change.root / "catmem.yaml").open("a") as config:
        config.write("entities: {project:alpha: {content: json, writers: [neo]}}\n")
    assert change.run("count", "neo/user") == "entity: neo/user\nentries: 4\n"
    assert change.run("count", "project:alpha") == "entity: project:alpha\nentries: 0\n"
    path, *answers = json.loads(change.python("-c", ASK))
    assert [each["name"] for each in path["get"]["parameters"]] == ["entity_id"]
    assert answers == [
        [200, {"entity_id": "neo/user", "entries": 3}],
        [200, {"entity_id": "project:alpha", "entries": 0}],
        [404, "unknown_name"],
        [404, "unknown_name"],
    ]
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "catmem", "mcp", "-p", "neo", "--root", "."],
        cwd=change.root,
        env=change.environment,
    )

    async def talk():
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            answers = [
                await client.call_tool("memory_count", {"entity_id": each}) for each in ("neo/user", "boss/user")
            ]
            return [tool.name for tool in tools], [each.structured_content for each in answers]

    names, (own, other) = anyio.run(talk)
    assert "memory_count" in names
    assert (own["success"], own["entries"]) == (True, 3)
    assert (other["success"], other["reason"]) == (False, "unknown_name")


@on("a store")
def test_a_new_store_keeps_what_is_written(change):
    config = change.root / "catmem.yaml"
    config.write_text(f"store: dict:memory.json\n{config.read_text()}")
    change.run("add", "Uses tabs.", "-p", "neo", "-c", "rules")
    log = json.loads(change.run("log", "neo/user", "--format", "json"))["revisions"]
    assert [(each["revision"], each["op"]) for each in log] == [("1", "put")]
    assert "Uses tabs." in (change.root / "memory.json").read_text()


@on("a plugin")
def test_a_plugin_of_another_package_imports(change, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("Uses tabs.\n\nLikes tea.\n")
    change.run("import", "--from", "lines", "-p", "neo", str(notes))
    assert (change.root / "homes" / "neo" / "USER.md").read_text().count("Likes tea.") == 1
    assert "lines" in change.run("doctor")
