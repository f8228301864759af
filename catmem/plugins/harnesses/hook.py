"""``catmem hook``: a harness calls it when a session or a subagent starts, and puts what it prints into the context.

Whatever is wrong, it ends with 0 and prints nothing to standard output: a memory that cannot be read is no reason that
an agent does not start. The reason goes to standard error. It is called at each start, so it loads no command line.
"""

from __future__ import annotations

import gc
import json
import os
import select
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from getopt import gnu_getopt
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import UnknownNameError
from catmem.names import is_name
from catmem.text import plural, printable

if TYPE_CHECKING:  # most subagents are no profile, and their start waits for none of this
    from datetime import date

    from catmem.prompt.prompt import Prompt
    from catmem.prompt.styles import Style
    from catmem.workspace.profile_memory import ProfileMemory

EVENTS = ("SessionStart", "SubagentStart", "UserPromptSubmit", "BeforeAgent")
"""Events whose answer is put into the context; of others the harness would not take it."""
FORMATS = ("claude", "codex", "cursor", "text")
LIMIT = 9_500
"""Of the 10,000 that Claude Code takes whole; Codex takes 2,500 tokens, for it four bytes each."""
MOST_INPUT = 1 << 20
_PATIENCE = 2.0


class HookRequest(NamedTuple):
    """What the command line asks for."""

    profile: str | None = None
    by_agent: bool = False
    format: str = "claude"
    limit: int = LIMIT
    root: str | None = None


def answered(arguments: Sequence[str]) -> bool:
    """Answer a hook and end the process. ``False``: a person asks for help or a configuration."""
    if {"-h", "--help"}.intersection(arguments) or any(each.startswith("--config") for each in arguments):
        return False
    gc.disable()  # the process ends before there is much to collect
    text = quiet(lambda: answer(asked(arguments), _input()))
    with suppress(OSError):  # what asked may listen no more
        os.write(1, text.encode())
    os._exit(0)  # what is still open is only read


def quiet(make: Callable[[], str]) -> str:
    """What ``make`` gives; nothing where it fails, with a line on standard error."""
    try:
        return make()
    except BaseException as error:  # noqa: BLE001 - a start must not break
        why = f"{str(error) or type(error).__name__} {getattr(error, 'hint', None) or ''}".rstrip()
        said = f"catmem hook: no memory was given: {printable(why)}\n"
        with suppress(OSError):
            os.write(2, said.encode(errors="replace"))
        return ""


def asked(arguments: Sequence[str]) -> HookRequest:
    """The options of the command line. Raises ``ValueError`` and ``GetoptError``."""
    given, names = gnu_getopt([*arguments], "p:", ["by-agent", "profile=", "format=", "limit=", "root="])
    said = dict(given)
    profiles = {name for name in (said.get("--profile"), said.get("-p"), *names) if name is not None}
    if len(profiles) > 1:
        raise ValueError(f"name one profile: {', '.join(sorted(profiles))}")
    form, limit = said.get("--format", "claude"), int(said.get("--limit", LIMIT))
    return HookRequest(next(iter(profiles), None), "--by-agent" in said, form, limit, said.get("--root"))


def _input() -> bytes:
    """What the harness says of its event. It may leave standard input open, so a whole JSON value is enough."""
    data = b""
    while not os.isatty(0) and len(data) <= MOST_INPUT and select.select([0], [], [], _PATIENCE)[0]:
        part = os.read(0, 1 << 16)
        data += part
        if not part or (data.rstrip().endswith(b"}") and _event(data) is not None):
            break
    return data


def answer(wanted: HookRequest, data: bytes) -> str:
    """What a hook prints; nothing where there is nothing to say. Raises ``ValueError`` and ``CatmemError``."""
    if wanted.format not in FORMATS:
        raise ValueError(f"there is no format {wanted.format}: it is one of {', '.join(FORMATS)}")
    if (wanted.profile is None) != wanted.by_agent:
        raise ValueError("give either --profile or --by-agent")
    said = _event(data)
    if said is None and (wanted.format != "text" or wanted.by_agent):
        raise ValueError("standard input holds no JSON of an event")
    said = said or {}
    event = said.get("hook_event_name") or said.get("hookEventName")
    if wanted.format != "text" and event is None:
        raise ValueError(f"the event on standard input has no hook_event_name: one of {', '.join(EVENTS)}")
    if wanted.format != "text" and event not in (*EVENTS, "sessionStart"):
        return ""
    text = _text(wanted, said)
    if not text or wanted.format == "text":
        return text
    if wanted.format == "cursor":
        made: dict[str, Any] = {"additional_context": text}
    else:
        made = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return json.dumps(made) + "\n"


def _event(data: bytes) -> Mapping[str, Any] | None:
    """What the harness says; ``None`` for what is no JSON object."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _text(wanted: HookRequest, said: Mapping[str, Any]) -> str:
    """The prompt of the profile that is meant; of an agent that is none, nothing."""
    agent = said.get("agent_type")
    if wanted.by_agent and not (isinstance(agent, str) and is_name(agent)):
        return ""
    from catmem.workspace.profile_memory import read_memory
    from catmem.workspace.root import Root

    root = Root.open(".") if wanted.root is None else Root.open(wanted.root, search=False)
    name = wanted.profile or root.config.agents.get(str(agent), str(agent))
    try:
        memory = read_memory(root, name)
    except UnknownNameError:
        if wanted.by_agent:
            return ""
        raise

    def share(made: FittedPrompt) -> float:
        encoded = made.text.encode() if wanted.format == "codex" else made.text.encode("utf-16-le")[::2]
        return len(encoded) / wanted.limit

    if wanted.limit < 1:
        raise ValueError("--limit is at least 1")
    return fitted(memory, share).text


# --- a profile's prompt, as far as a harness takes it ----------------------------------------------------------------


class FittedPrompt(NamedTuple):
    """A prompt, how many entries had to stay out of it for its length, and the line that says so."""

    prompt: Prompt
    left_out: int = 0
    note: str = ""

    @property
    def text(self) -> str:
        return self.prompt.text + (f"\n{self.note}\n" if self.note else "")


def fitted(
    memory: ProfileMemory,
    share: Callable[[FittedPrompt], float],
    *,
    style: Style | None = None,
    as_of: date | None = None,
) -> FittedPrompt:
    """The prompt of a profile; ``share`` says what part of the limit it takes, and what is over it stays out."""
    from dataclasses import replace

    made = FittedPrompt(memory.prompt(as_of=as_of, style=style))
    own, budget = memory.profile, len(made.prompt.text)
    while made.prompt.text and (taken := share(made)) > 1:
        budget = min(int(budget / taken), budget - 1)
        limits = {**own.prompt.budget, "total": max(budget, 0)}
        less = replace(memory, profile=replace(own, prompt=replace(own.prompt, budget=limits)))
        prompt = less.prompt(as_of=as_of, style=style)
        left_out = sum(row.budget is not None for row in prompt.manifest.rows)
        note = f"({left_out:,} more {plural(left_out, 'entry')} did not fit here: ask the memory of {own.name}.)"
        made = FittedPrompt(prompt, left_out, note)
    return made
