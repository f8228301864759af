"""What each harness would load of a tree, by its documented rules: oracles, made without the code that writes.

The rules, with their sources, stand in docs/harnesses.md.
"""

import re


def _blocks(text: str):
    """The lines of a text with whether each is in a fence of code, and where comments of whole lines begin and end."""
    fence = None
    for line in text.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence is None and mark:
            fence = mark[1]
            yield line, True
        elif fence is not None:
            yield line, True
            if re.fullmatch(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}\s*", line):
                fence = None
        else:
            yield line, False


def without_comments(text: str) -> str:
    """Claude Code takes comments on lines of their own out, but none in code."""
    kept, is_open = [], False
    for line, is_code in _blocks(text):
        if is_open or (not is_code and line.lstrip().startswith("<!--")):
            is_open = "-->" not in line
        else:
            kept.append(line)
    return "\n".join(kept)


def claude_memory(data: bytes) -> str:
    """The MEMORY.md of a subagent: without front matter and comments, 200 lines or 25,000 bytes of it."""
    text = data.decode().removeprefix("\ufeff").replace("\r\n", "\n")
    text = re.sub(r"\A---\n.*?\n---(\n|\Z)", "", text, flags=re.DOTALL)
    lines = without_comments(text).split("\n")[:200]
    return "\n".join(lines).encode()[:25_000].decode(errors="ignore")


IMPORT = re.compile(r"(?:^|(?<=[\s(\[\"']))@([^\s`]+)")


def imports(text: str) -> list[str]:
    """The paths that Claude Code and Gemini CLI import: behind an ``@`` outside of code."""
    found = []
    for line, is_code in _blocks(text):
        if not is_code:
            found += IMPORT.findall(re.sub(r"(`+)(?:(?!`).)+?\1(?!`)", "", line))
    return found


def claude_instructions(home, project, cwd=None, depth=4) -> str:
    """The user's CLAUDE.md and rules, then from the project's top down; AGENTS.md only where none masks it."""
    cwd = cwd or project
    folders = [each for each in (cwd, *cwd.parents) if each == project or project in each.parents][::-1]
    names = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
    own = [folder / name for folder in folders for name in names if (folder / name).is_file()]
    if not own:
        own = [folder / "AGENTS.md" for folder in folders if (folder / "AGENTS.md").is_file()]
    rules = [path for top in (home, project) for path in sorted((top / ".claude" / "rules").rglob("*.md"))]
    user = [home / ".claude" / "CLAUDE.md"] if (home / ".claude" / "CLAUDE.md").is_file() else []
    return "\n".join(_loaded(path, depth) for path in [*user, *rules, *own] if path.stat().st_size <= 4 << 20)


def _loaded(path, depth: int) -> str:
    text = without_comments(path.read_bytes().decode().replace("\r\n", "\n"))
    for name in imports(text) if depth else ():
        there = path.parent / name.replace("~", str(path.home()), 1) if name.startswith("~") else path.parent / name
        if there.is_file():
            text += "\n" + _loaded(there, depth - 1)
    return text


def codex_instructions(codex, cwd, most=32_768) -> str:
    """The user's file, then one of each folder from the project's top: all of these in so many bytes, cut at the byte."""

    def first(folder):
        files = [folder / name for name in ("AGENTS.override.md", "AGENTS.md")]
        return next((each.read_bytes() for each in files if each.is_file() and each.read_bytes().strip()), b"")

    chain = [cwd, *cwd.parents]
    top = next((place for place, folder in enumerate(chain) if (folder / ".git").exists()), 0)
    project = b"\n".join(part for part in map(first, chain[top::-1]) if part)[:most]
    return first(codex).decode() + "\n--- project-doc ---\n" + project.decode(errors="ignore")


def openclaw_bootstrap(workspace, role="main") -> dict[str, str]:
    """The files that an agent starts with, each cut where it is too long; a sub-agent has AGENTS.md alone."""
    limits = {"AGENTS.md": 20_000, "USER.md": 4_000, "MEMORY.md": 20_000}
    names = limits if role == "main" else ["AGENTS.md"]
    return {name: (workspace / name).read_text()[: limits[name]] for name in names if (workspace / name).is_file()}


def copilot_instructions(home, project) -> str:
    """Files for which ``applyTo`` holds everywhere; one without it is for a person to choose."""
    found = ""
    for top in (project / ".github" / "instructions", home / ".copilot" / "instructions"):
        for path in sorted(top.rglob("*.instructions.md")):
            front, _, body = path.read_text().removeprefix("---\n").partition("\n---\n")
            if re.search(r'^applyTo: "\*\*"$', front, re.MULTILINE):
                found += body
    return found
