"""What other programs install catmem by: as it is made, and by the rules of each form (docs/release.md names them)."""

import json
import re
import subprocess
import sys
import tomllib

import agent_plugins
import pytest

import catmem
from packages.make import PLUGIN, files
from tests.docs.pages import ROOT

MADE = files()
DESCRIPTION = tomllib.loads((ROOT / "packages" / "description.toml").read_text(encoding="utf-8"))
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def said(name):
    return json.loads(MADE[name])


@pytest.mark.parametrize("name", sorted(MADE))
def test_every_file_is_as_it_is_made(name):
    assert (ROOT / name).read_text(encoding="utf-8") == MADE[name], "run make packages"


def test_an_agent_plugin_is_one_for_a_program_that_reads_such():
    plugin = agent_plugins.Plugin(ROOT / PLUGIN)
    manifest, servers = plugin.manifest, plugin.mcp
    assert (list(manifest.issues), list(servers.issues)) == ([], [])
    assert (manifest.name, manifest.version) == ("catmem", catmem.__version__)
    assert servers.servers["catmem"].command == "uvx"
    assert [skill.name for skill in plugin.skills] == ["catmem"]


def test_the_skill_keeps_to_the_form():
    head, _, body = MADE[f"{PLUGIN}/skills/catmem/SKILL.md"].removeprefix("---\n").partition("\n---\n")
    keys = dict(line.split(": ", 1) for line in head.splitlines())
    assert keys.keys() == {"name", "description"}
    assert KEBAB.fullmatch(keys["name"])
    assert len(keys["description"]) <= 1024
    assert len(body.splitlines()) < 500


def test_the_registry_entry_keeps_to_the_form():
    server = said("server.json")
    (package,) = server["packages"]
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 1 <= len(server["description"]) <= 100
    assert server["version"] == package["version"] == catmem.__version__
    assert package["registryType"] == "pypi"
    # Who publishes to the index proves by this mark that the entry is theirs.
    assert re.search(rf"mcp-name: {server['name']}(\s|-->)", MADE["packages/catmem_mcp/README.md"])
    assert f'name = "{package["identifier"]}"' in MADE["packages/catmem_mcp/pyproject.toml"]


def test_the_market_of_claude_code_names_the_plugin():
    market, plugin = said(f"{PLUGIN}/.claude-plugin/marketplace.json"), said(f"{PLUGIN}/.claude-plugin/plugin.json")
    assert KEBAB.fullmatch(market["name"])
    assert [(each["name"], each["source"]) for each in market["plugins"]] == [(plugin["name"], "./")]
    for asked in re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(plugin) + MADE[f"{PLUGIN}/hooks/hooks.json"]):
        assert asked in plugin["userConfig"]


def test_what_is_started_is_a_command_that_there_is():
    for name in ("mcp.json", ".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "gemini-extension.json"):
        server = said(f"{PLUGIN}/{name}")["mcpServers"]["catmem"]
        assert server["args"][:4] == ["--from", f"catmem[mcp]=={catmem.__version__}", "catmem", "mcp"]
    (hook,) = said(f"{PLUGIN}/hooks/hooks.json")["hooks"]["SubagentStart"][0]["hooks"]
    done = subprocess.run(
        [sys.executable, "-m", "catmem", *hook["args"][:-2]], input="{}", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_pages_for_models_keep_to_the_form():
    lines = MADE["llms.txt"].splitlines()
    assert lines[0] == "# catmem"
    assert lines[2].startswith("> ")
    links = re.findall(r"^- \[[^\]]+\]\(https://[^)]+/docs/([a-z0-9-]+\.md)\)", MADE["llms.txt"], re.MULTILINE)
    assert sorted(links) == sorted(page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md")
    assert "## Optional" in lines


def test_the_schema_that_editors_are_given_is_there():
    (entry,) = said("packages/schemastore.json")
    assert (ROOT / entry["url"].partition("/main/")[2]).is_file()


def test_nobody_is_made_up_as_the_publisher():
    assert DESCRIPTION["owner"] == "OWNER" or (ROOT / ".git").exists()
    assert "description.toml" in (ROOT / "docs" / "release.md").read_text(encoding="utf-8")
