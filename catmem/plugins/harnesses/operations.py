"""The operations hook and sync. A harness that calls the hook is answered by ``harnesses.hook``, without these."""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from catmem.config.config import CONFIG_NAME, config_of
from catmem.config.json_schema import nearest
from catmem.config.yamlfile import scalar, with_declared
from catmem.files import read_bounded, rewrite_file
from catmem.ops.shared import AsOf, DryRun
from catmem.ops.table import Call, Outcome, P, UsageError, operation
from catmem.plugins.harnesses import syncing
from catmem.plugins.harnesses.hook import LIMIT, MOST_INPUT, HookRequest, answer, quiet
from catmem.plugins.harnesses.syncing import HARNESSES, SyncAsked, SyncedFile
from catmem.workspace.root import Root
from catmem.workspace.workspace import Workspace


@operation(
    "hook",
    opens="root",
    examples=(
        "catmem hook --profile trinity --format text",
        "catmem hook --config claude --profile orchestrator --by-agent",
    ),
)
def hook(
    call: Call,
    *,
    profile: Annotated[str | None, P("Answer with the prompt of this profile.")] = None,
    by_agent: Annotated[
        bool, P("Answer with that of the starting subagent's profile, and say nothing to one that is no profile.")
    ] = False,
    form: Annotated[
        Literal["claude", "codex", "cursor", "text"],
        P("How to answer. What Claude Code reads, Gemini CLI and VS Code read too.", "--format"),
    ] = "claude",
    limit: Annotated[
        int,
        P(
            "At most N characters; for codex bytes. Whole entries stay out then, and the text says how many.",
            minimum=1,
        ),
    ] = LIMIT,
    config: Annotated[
        Literal["claude", "codex", "gemini", "vscode", "cursor"] | None,
        P("Print the settings with which this harness calls the hook, and end."),
    ] = None,
) -> Outcome:
    """Answer a hook with a profile's prompt: a harness calls this when a session or a subagent starts.

    The event is JSON on standard input. A start never breaks: if something is wrong, nothing is printed, the reason
    is on standard error, and the exit status is 0. A hook chooses what an agent starts with. It keeps nothing secret
    from an agent that can read files.
    """
    if config is None:
        wanted = HookRequest(profile, by_agent, form, limit, call.named_root)
        return Outcome(quiet(lambda: answer(wanted, call.stdin(MOST_INPUT))))
    if profile is None and not by_agent:
        raise UsageError("Say whose memory: --profile NAME, --by-agent, or both.")
    if by_agent and config in {"gemini", "cursor"}:
        raise UsageError(f"{config} calls no hook at the start of a subagent that takes a text: leave --by-agent out.")
    return Outcome(hook_settings(call.root, config, profile, by_agent=by_agent))


@dataclass(frozen=True, slots=True)
class SyncDone:
    """The files of a sync, and what was asked of them."""

    files: Sequence[SyncedFile]
    asked: str
    __json__ = "files"


@operation(
    "sync",
    examples=(
        "catmem sync --profile trinity --to claude-agent",
        "catmem sync --dry-run",
        "catmem sync trinity-claude-agent --remove",
    ),
    apart={
        "to": "names status remove print_agent",
        "status": "remove print_agent",
        "remove": "print_agent",
        "everybody": "names",
    },
    needs={"to": "profile", "profile": "to", "project": "to", "workspace": "to"},
)
def sync(
    call: Call,
    *,
    names: Annotated[Sequence[str], P(argument=True, metavar="[NAME]...")] = (),
    profile: Annotated[str | None, P("With --to: whose memory.")] = None,
    to: Annotated[
        str | None, P("Declare a sync of --profile in catmem.yaml, for this harness, and write it.", metavar="HARNESS")
    ] = None,
    project: Annotated[
        str | None, P("With --to: the project of the file. By default it is your own, for all projects.", metavar="DIR")
    ] = None,
    workspace: Annotated[str | None, P("With --to openclaw: the workspace of the agent.", metavar="DIR")] = None,
    status: Annotated[bool, P("Write nothing; list the files, how they stand, and when a change counts.")] = False,
    remove: Annotated[bool, P("Take out what catmem wrote, and nothing else.")] = False,
    again: Annotated[bool, P("Write over what was changed in a block, and put back one that was taken out.")] = False,
    everybody: Annotated[bool, P("All of them, as without NAME; --remove needs the word.", "--all")] = False,
    print_agent: Annotated[
        str | None, P("Print the definition of a subagent of Claude Code for this profile, and end.", metavar="PROFILE")
    ] = None,
    dry_run: DryRun = False,
    as_of: AsOf = None,
) -> Outcome:
    """Write what profiles see into files that other harnesses read, as `sync` of catmem.yaml declares.

    In a file that others write too, it writes a block between two markers, and nothing else. What an agent changes in
    the block comes back as a proposal. A sync chooses what an agent starts with. It keeps nothing secret from an
    agent that can read files.

    Exit status 1: a file has no room, or words in it are taken back; 3: a block that was changed or taken out is left.
    """
    if remove and not (names or everybody):
        raise UsageError("Say which: catmem sync NAME --remove, or --all.")
    if print_agent is not None:
        text = subagent(call.root, print_agent)
        return Outcome(text, {"text": text})
    root, chosen = call.root, tuple(names)
    if to is not None:
        root, chosen = _declare(call, to)
    asked = SyncAsked(as_of, dry_run or status, again)
    if remove:
        done = syncing.remove_blocks(root, chosen, asked)
    else:
        done = syncing.sync_files(root, syncing.chosen_syncs(root.config, chosen), asked)
    if not (done or call.for_program):
        call.tell("catmem.yaml declares no sync. Declare one: catmem sync --profile NAME --to HARNESS")
    what = "status" if status else "plan" if dry_run else "done"
    worst = max([each.exit_status for each in done], default=0)
    if dry_run and not call.for_program:
        call.tell("Nothing was written.")
    elif remove and any(each.name in root.config.sync for each in done):
        call.tell(f"Take it out of sync in {CONFIG_NAME}, too: else the next 'catmem sync' writes it again.")
    return Outcome(SyncDone(done, what), status=worst)


def _declare(call: Call, to: str) -> tuple[Workspace, tuple[str, ...]]:
    """The root with a new sync declared in its catmem.yaml, and the name of that."""
    root, values = call.root, call.values
    if to not in HARNESSES:
        near = nearest(to, HARNESSES)
        meant = f" Did you mean {near!r}?" if near else ""
        raise UsageError(f"--to takes one of {', '.join(HARNESSES)}, and no {to!r}.{meant}")
    profile = root.profile(values["profile"]).name
    name, path = f"{profile}-{to}".replace("_", "-"), root.root / CONFIG_NAME
    said = {"profile": profile, "harness": to}
    said |= {key: values[key] for key in ("project", "workspace") if values[key] is not None}
    said |= {key: os.path.abspath(said[key]) for key in ("project", "workspace") if key in said}  # noqa: PTH100 - no links
    if name in root.config.sync:
        if root.config.sync[name] != said:
            lines = ", ".join(f"{key}: {scalar(value)}" for key, value in said.items())
            raise UsageError(
                f"catmem.yaml has another sync.{name} already. Change it there, or give this one a name of its own "
                f"below sync: 'NAME: {{{lines}}}'"
            )
        return root, (name,)
    old = read_bounded(path, 1 << 20)
    new = with_declared(old.decode(), ("sync",), {name: said}, path)
    declared = config_of(root.root, new)
    for target in syncing.targets_of(declared, syncing.declared_syncs(declared)[name]):
        syncing.refuse_place(root, target)  # what cannot be written is not declared
    if values["dry_run"]:
        call.tell(f"would be declared in {CONFIG_NAME}: sync.{name}")
        return Workspace(declared), (name,)
    rewrite_file(path, old, new.encode())
    call.tell(f"declared in {CONFIG_NAME}: sync.{name}")
    return Workspace.open(root.root, search=False), (name,)


# --- what a person puts into the settings of a harness ---------------------------------------------------------------

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
    syncs = [each for each in syncing.declared_syncs(root.config).values() if each.said["harness"] == "claude-agent"]
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
