"""``make packages``: what other programs install catmem by, each file made from one description.

``packages/description.toml`` says what catmem is, and who publishes it; its version is that of the package. ``--check``
writes nothing, and names the files that are not as they would be made.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from catmem.plugins.hermes.operations import PLUGIN as HERMES_MODULE
from catmem.plugins.hermes.provider import TOOL_NAME

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = "packages/plugin"
HERMES = "packages/hermes"
_AGENT_PLUGINS = "https://agent-plugins.org/schemas/1.0.0"
_REGISTRY = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_SECTION = re.compile(r"^## (.+)$|^- \[([^\]]+)\]\(([^)]+\.md)\)(?:: (.+))?$", re.MULTILINE)


def files(root: Path = ROOT) -> dict[str, str]:
    """Every file that is made, by its path from the root of the repository."""
    said = tomllib.loads((root / "packages" / "description.toml").read_text(encoding="utf-8"))
    found = re.search(r'__version__ = "([^"]+)"', (root / "catmem" / "__init__.py").read_text(encoding="utf-8"))
    if found is None:
        raise ValueError("catmem/__init__.py names no version")
    version, repository = found[1], f"https://github.com/{said['owner']}/catmem"
    about = {
        "name": "catmem",
        "version": version,
        "description": said["description"],
        "author": {"name": said["owner"]},
        "homepage": repository,
        "repository": repository,
        "license": "MIT",
        "keywords": said["keywords"],
    }
    server = {"command": "uvx", "args": ["--from", f"catmem[mcp]=={version}", "catmem", "mcp"]}
    asked = ["--root", "${user_config.root}", "--profile", "${user_config.profile}"]
    hook = {"type": "command", "command": "catmem", "args": ["hook", "--by-agent", "--root", "${user_config.root}"]}
    made: dict[str, Any] = {
        f"{PLUGIN}/plugin.json": {"$schema": f"{_AGENT_PLUGINS}/plugin.schema.json", **about},
        f"{PLUGIN}/mcp.json": {
            "$schema": f"{_AGENT_PLUGINS}/mcp.schema.json",
            "mcpServers": {"catmem": {"type": "stdio", **server}},
        },
        f"{PLUGIN}/.claude-plugin/plugin.json": {
            **about,
            "mcpServers": {"catmem": {**server, "args": [*server["args"], *asked]}},
            "userConfig": {name: {"type": kind, **said["asks"][name], "required": True} for name, kind in _ASKS},
        },
        f"{PLUGIN}/.claude-plugin/marketplace.json": {
            "name": "catmem",
            "owner": {"name": said["owner"]},
            "plugins": [{"name": "catmem", "source": "./", "description": said["description"]}],
        },
        f"{PLUGIN}/hooks/hooks.json": {"hooks": {"SubagentStart": [{"hooks": [{**hook, "timeout": 10}]}]}},
        f"{PLUGIN}/.codex-plugin/plugin.json": {
            **{name: about[name] for name in ("name", "version", "description", "license", "keywords")},
            "author": about["author"],
            "repository": repository,
            "skills": "./skills",
            "mcpServers": {"catmem": server},
        },
        f"{PLUGIN}/gemini-extension.json": {
            "name": "catmem",
            "version": version,
            "description": said["description"],
            "mcpServers": {"catmem": server},
        },
        "server.json": {
            "$schema": _REGISTRY,
            "name": f"io.github.{said['owner']}/catmem",
            "title": "catmem",
            "description": said["description"],
            "version": version,
            "repository": {"url": repository, "source": "github"},
            "packages": [
                {
                    "registryType": "pypi",
                    "identifier": "catmem-mcp",
                    "version": version,
                    "runtimeHint": "uvx",
                    "transport": {"type": "stdio"},
                    "packageArguments": [
                        {
                            "type": "named",
                            "name": f"--{name}",
                            "description": said["asks"][name]["description"],
                            "isRequired": True,
                            **({"format": "filepath"} if kind == "directory" else {}),
                        }
                        for name, kind in _ASKS
                    ],
                }
            ],
        },
        "packages/schemastore.json": [
            {
                "name": "catmem.yaml",
                "description": "Configuration of catmem, memory files for agents",
                "fileMatch": ["catmem.yaml"],
                "url": f"{_raw(repository)}/schemas/config.schema.json",
            }
        ],
    }
    texts = {path: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for path, value in made.items()}
    mark = f"mcp-name: io.github.{said['owner']}/catmem"
    return {
        **texts,
        f"{HERMES}/__init__.py": f'"""{said["hermes"]["description"]}"""\n\n{HERMES_MODULE}',
        f"{HERMES}/plugin.yaml": _HERMES_MANIFEST.format(version=version, owner=said["owner"], **said["hermes"]),
        f"{HERMES}-catalog.yaml": _HERMES_CATALOG.format(
            version=version,
            owner=said["owner"],
            docs=f"{repository}/blob/main/docs/hermes.md",
            **said["hermes"],
            tool=TOOL_NAME,
        ),
        f"{PLUGIN}/skills/catmem/SKILL.md": f"---\nname: catmem\ndescription: {said['skill']}\n---\n\n{said['how']}",
        "packages/catmem_mcp/pyproject.toml": _DISTRIBUTION.format(version=version, description=said["description"]),
        "packages/catmem_mcp/README.md": f"# catmem-mcp\n\n{said['starts']}\n<!-- {mark} -->\n",
        "packages/catmem_mcp/catmem_mcp.py": _STARTER,
        "llms.txt": _llms(root, said, repository),
    }


_ASKS = (("profile", "string"), ("root", "directory"))
_DISTRIBUTION = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "catmem-mcp"
version = "{version}"
description = "{description}"
readme = "README.md"
license = "MIT"
requires-python = ">=3.11"
dependencies = ["catmem[mcp]=={version}"]

[project.scripts]
catmem-mcp = "catmem_mcp:main"

[tool.hatch.build.targets.wheel]
only-include = ["catmem_mcp.py"]
"""
_HERMES_MANIFEST = """\
name: catmem
version: "{version}"
description: {description}
author: {owner}
kind: exclusive
requires_hermes: "{requires}"
requires_env: []
pip_dependencies: ["catmem=={version}"]
"""
_HERMES_CATALOG = """\
name: catmem
repo: https://github.com/{owner}/catmem-hermes
sha: "{sha}"
subdir: ""
title: catmem
description: {description}
maintainer: {owner}
tier: community
category: memory
requires_hermes: "{requires}"
docs_url: {docs}
version: "{version}"
capabilities: {{provides_tools: [{tool}], provides_hooks: [], provides_middleware: [], requires_env: []}}
"""
_STARTER = '''\
"""``catmem-mcp`` is ``catmem mcp``: a registry names a command by its distribution alone."""

import sys

from catmem.cli.main import main as catmem


def main() -> None:
    """Serve the memory of a profile to an MCP client."""
    sys.argv[1:1] = ["mcp"]
    catmem()
'''


def _raw(repository: str) -> str:
    """Where the files of a repository are as they are."""
    return f"{repository.replace('github.com', 'raw.githubusercontent.com')}/main"


def _llms(root: Path, said: dict[str, Any], repository: str) -> str:
    """The pages of the documentation for models, by the headings of its index (llmstxt.org)."""
    lines = ["# catmem", "", f"> {said['description']}", ""]
    raw = f"{_raw(repository)}/docs"
    for heading, name, page, note in _SECTION.findall((root / "docs" / "index.md").read_text(encoding="utf-8")):
        if heading:
            lines += ["", f"## {'Optional' if heading == 'For contributors' else heading}", ""]
        else:
            lines.append(f"- [{name}]({raw}/{page})" + (f": {note}" if note else ""))
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def main() -> int:
    """0 if all is as it is made, or was made; 1 if ``--check`` found a file that is not."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--check", action="store_true", help="write nothing")
    is_check = reader.parse_args().check
    stale = []
    for name, text in files().items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not is_check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    sys.stdout.write("".join(f"{'stale' if is_check else 'wrote'} {name}\n" for name in stale))
    return int(is_check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
