"""What a person puts into the settings of a harness: the call of the hook, the MCP server, a subagent's definition."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from catmem.plugins.harnesses.sync_targets import declared_syncs
from catmem.workspace.root import Root

_SECONDS = 10


def program() -> list[str]:
    """The words that start catmem from any folder."""
    script = Path(sys.executable).with_name("catmem")
    return [str(script)] if script.exists() else [sys.executable, "-m", "catmem"]


def place_of(root: Root) -> str:
    """The whole path of a root, as the user knows it: links are not resolved."""
    return os.path.abspath(root.root)  # noqa: PTH100 - see above


def mcp_server(root: Root, profile: str) -> dict[str, Any]:
    """The command and the arguments of the MCP server of a profile."""
    command, *first = program()
    return {"command": command, "args": [*first, "mcp", "--profile", profile, "--root", place_of(root)]}


def hook_settings(root: Root, harness: str, profile: str | None, *, by_agent: bool) -> dict[str, Any]:
    """The JSON that has a harness call the hook: at the start of a session for ``profile``, and of each subagent."""
    calls = {"SessionStart": ["--profile", root.profile(profile).name]} if profile is not None else {}
    calls |= {"SubagentStart": ["--by-agent"]} if by_agent else {}
    form = ["--format", harness] if harness in {"codex", "cursor"} else []
    words = {event: [*program(), "hook", *which, *form, "--root", place_of(root)] for event, which in calls.items()}
    if harness == "cursor":
        return {"version": 1, "hooks": {"sessionStart": [{"command": shlex.join(words["SessionStart"])}]}}
    hooks: dict[str, Any] = {}
    for event, (command, *rest) in words.items():
        how: dict[str, Any] = {"type": "command", "command": shlex.join([command, *rest])}
        if harness == "claude":
            how |= {"command": command, "args": rest}
        if harness != "gemini":  # it counts in milliseconds, and waits long enough
            how["timeout"] = _SECONDS
        # Resumed, a session has the text already.
        when = (
            {"matcher": "startup|clear|compact"} if event == "SessionStart" and harness in {"claude", "codex"} else {}
        )
        hooks[event] = [how] if harness == "vscode" else [{**when, "hooks": [how]}]
    return {"hooks": hooks}


def subagent(root: Root, name: str) -> str:
    """The definition of a subagent of Claude Code that starts with its part of the memory, and with no other."""
    profile = root.profile(name)
    syncs = [each for each in declared_syncs(root.config).values() if each.said["harness"] == "claude-agent"]
    mine = next((each for each in syncs if each.profile == profile.name), None)
    named = dict.fromkeys(
        each for each in (*profile.user_memory_categories, *profile.memory_categories) if each[:1] != "!"
    )
    lines = {
        "name": mine.agent if mine else profile.name.replace("_", "-"),
        "description": json.dumps(f"The specialist {profile.name}, for {', '.join(named)}."),
        "memory": mine.scope if mine else "user",
        "omitClaudeMd": "true",
        "mcpServers": json.dumps([{"catmem": {"type": "stdio", **mcp_server(root, profile.name)}}]),
    }
    front = "".join(f"{key}: {value}\n" for key, value in lines.items())
    body = "Your memory shows what is known of the user. The tools of catmem search it, and write to it."
    return f"---\n{front}---\n\nYou are the specialist {profile.name}. {body}\n"
