"""What is known of each harness: where its files lie, how much of them it reads, and what must not be made there.

Rows that are ``tried`` are held against readers made from the harness's documented rules (``tests/harnesses``); the
others are by this table alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from catmem.text import BOM, unify_newlines

Scope = Literal["user", "project", "local"]
_COMMENT = re.compile(r"(?ms)^ {0,3}<!--.*?-->[ \t]*$\n?")
_FENCED = re.compile(r"(?ms)^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$\n?|\Z)")
_FRONT = re.compile(rf"\A{BOM}?---[ \t]*\n.*?^---[ \t]*$\n?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Harness:
    """One harness. ``where`` gives, by scope, a folder that has to be there and the file below it.

    ``targets`` are the files of each part of the memory, where there is more than one. ``lines`` and ``characters``
    bound what catmem writes; ``whole`` says of a whole file, and its name, what counts of it and how much may.
    ``masks`` names files that are not read any more where the file is made, and ``masked_by`` one that hides it.
    """

    said: str
    where: Mapping[str, tuple[str, str]]
    shape: Literal["block", "file"] = "block"
    targets: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"": ("user", "memory")})
    at_top: bool = False
    imports: bool = False
    lines: int = 400
    characters: int = 12_000
    whole: Callable[[str, str], tuple[int, int]] | None = None
    masks: tuple[str, ...] = ()
    masked_by: str | None = None
    front: str = ""
    counts: str = "the next session"
    tried: bool = False


def _claude_memory(text: str, _: str) -> tuple[int, int]:
    """What Claude Code counts of a MEMORY.md, as a part of 25,000 bytes: of 200 lines or of the bytes, what is more."""
    shown = memory_view(text)
    return max(len(shown.encode()), shown.rstrip("\n").count("\n") * 125 + 125 if shown.strip() else 0), 25_000


def memory_view(text: str) -> str:
    """A MEMORY.md without its front matter, and without comments that stand outside of code."""
    text = _FRONT.sub("", unify_newlines(text))
    made, at = "", 0
    for code in _FENCED.finditer(text):
        made, at = made + _COMMENT.sub("", text[at : code.start()]) + code[0], code.end()
    return made + _COMMENT.sub("", text[at:])


def _openclaw(text: str, name: str) -> tuple[int, int]:
    return len(text), 4_000 if name == "USER.md" else 20_000


def own_folders() -> dict[str, str]:
    """The folders that harnesses let a user move, by what templates call them."""
    moved = {"claude": os.environ.get("CLAUDE_CONFIG_DIR"), "codex": os.environ.get("CODEX_HOME")}
    return {name: folder or f"~/.{name}" for name, folder in moved.items()}


CODEX_LIMIT = 32_768
"""Bytes of all AGENTS.md from the top of a project down, where ``config.toml`` does not say."""
_RULES = "catmem-{name}"

HARNESSES: Mapping[str, Harness] = {
    "claude-agent": Harness(
        "the memory of a subagent of Claude Code",
        {
            "user": ("{claude}", "agent-memory/{agent}/MEMORY.md"),
            "project": ("{project}", ".claude/agent-memory/{agent}/MEMORY.md"),
            "local": ("{project}", ".claude/agent-memory-local/{agent}/MEMORY.md"),
        },
        at_top=True,
        imports=True,
        lines=120,
        whole=_claude_memory,
        counts="the next start of the subagent",
        tried=True,
    ),
    "claude": Harness(
        "the instructions of Claude Code",
        {
            "user": ("{claude}", "CLAUDE.md"),
            "project": ("{project}", "CLAUDE.md"),
            "local": ("{project}", "CLAUDE.local.md"),
        },
        imports=True,
        masks=("AGENTS.md",),
        counts="the next session, /clear or /compact",
        tried=True,
    ),
    "claude-rules": Harness(
        "a rules file of Claude Code",
        {
            "user": ("{claude}", f"rules/{_RULES}.md"),
            "project": ("{project}", f".claude/rules/{_RULES}.md"),
        },
        "file",
        imports=True,
        tried=True,
    ),
    "codex": Harness(
        "the instructions of Codex",
        {"user": ("{codex}", "AGENTS.md"), "project": ("{project}", "AGENTS.md")},
        masks=("CLAUDE.md",),
        masked_by="AGENTS.override.md",
        counts="the next run",
        tried=True,
    ),
    "openclaw": Harness(
        "the workspace of an agent of OpenClaw",
        {"user": ("{workspace}", "{part}")},
        targets={"USER.md": ("user",), "MEMORY.md": ("memory",)},
        whole=_openclaw,
        counts="the next turn (USER.md), the next session (MEMORY.md)",
        tried=True,
    ),
    "openclaw-agents": Harness(
        "AGENTS.md of an agent of OpenClaw, which its sub-agents get",
        {"user": ("{workspace}", "AGENTS.md")},
        whole=_openclaw,
        tried=True,
    ),
    "copilot": Harness(
        "an instructions file of GitHub Copilot",
        {
            "user": ("~/.copilot", f"instructions/{_RULES}.instructions.md"),
            "project": ("{project}", f".github/instructions/{_RULES}.instructions.md"),
        },
        "file",
        front='---\nname: "{name}"\napplyTo: "{apply_to}"\n---\n',
        counts="the next request",
        tried=True,
    ),
    "cursor": Harness(
        "a rule of Cursor",
        {"project": ("{project}", f".cursor/rules/{_RULES}.mdc")},
        "file",
        front="---\ndescription: Memory of {profile}\nalwaysApply: true\n---\n",
    ),
    "opencode": Harness(
        "an instructions file of OpenCode",
        {
            "user": ("~/.config/opencode", f"{_RULES}.md"),
            "project": ("{project}", f".opencode/{_RULES}.md"),
        },
        "file",
        counts='the next session, once "instructions" in opencode.json names the file',
    ),
    "gemini": Harness(
        "the context of Gemini CLI",
        {"user": ("~/.gemini", "GEMINI.md"), "project": ("{project}", "GEMINI.md")},
        imports=True,
        counts="the next session, or /memory reload",
    ),
    "kiro": Harness(
        "a steering file of Kiro",
        {
            "user": ("~/.kiro", f"steering/{_RULES}.md"),
            "project": ("{project}", f".kiro/steering/{_RULES}.md"),
        },
        "file",
        front="---\ninclusion: always\n---\n",
    ),
    "cline": Harness(
        "a rule of Cline",
        {
            "user": ("~/Documents/Cline", f"Rules/{_RULES}.md"),
            "project": ("{project}", f".clinerules/{_RULES}.md"),
        },
        "file",
    ),
    "zed": Harness("the instructions of Zed", {"user": ("~/.config/zed", "AGENTS.md")}),
}
