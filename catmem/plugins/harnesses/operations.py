"""The operations hook and sync. A harness that calls the hook is answered by ``harnesses.hook``, without these."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from catmem.ops.table import Call, Outcome, P, UsageError, operation
from catmem.plugins.harnesses.hook import LIMIT, MOST_INPUT, Asked, answer, quiet
from catmem.plugins.harnesses.settings import hook_settings


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What is printed, as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class HarnessSettings:
    """The JSON of a harness's settings."""

    data: dict[str, Any]
    __json__ = "*data"


@operation(
    "hook",
    opens="root",
    formats=False,
    examples=(
        "catmem hook --profile trinity --format text",
        "catmem hook --config claude --profile orchestrator --by-agent",
    ),
)
def hook(
    call: Call,
    *,
    profile: Annotated[str | None, P("Answer with the prompt of this profile.", "-p --profile", metavar="NAME")] = None,
    by_agent: Annotated[
        bool, P("Answer with that of the starting subagent's profile, and say nothing to one that is no profile.")
    ] = False,
    form: Annotated[
        Literal["claude", "codex", "cursor", "text"],
        P("How to answer. What Claude Code reads, Gemini CLI and VS Code read too.", "--format", shows_default=True),
    ] = "claude",
    limit: Annotated[
        int,
        P(
            "At most N characters; for codex bytes. Whole entries stay out then, and the text says how many.",
            metavar="N",
            minimum=1,
            shows_default=True,
        ),
    ] = LIMIT,
    config: Annotated[
        Literal["claude", "codex", "gemini", "vscode", "cursor"] | None,
        P("Print the settings with which this harness calls the hook, and end."),
    ] = None,
) -> Outcome:
    """Answer a hook with a profile's prompt: a harness calls this when a session or a subagent starts.

    The event is JSON on standard input. Whatever is wrong, the exit status is 0 and nothing is printed, with the reason
    on standard error: a start never breaks. It chooses what an agent is given. It keeps nothing secret from an agent
    that can read files.
    """
    if config is None:
        wanted = Asked(profile, by_agent, form, limit, call.named_root)
        return Outcome(HookAnswer(quiet(lambda: answer(wanted, call.stdin(MOST_INPUT)))))
    if profile is None and not by_agent:
        raise UsageError("Say whose memory: --profile NAME, --by-agent, or both.")
    if by_agent and config in {"gemini", "cursor"}:
        raise UsageError(f"{config} calls no hook at the start of a subagent that takes a text: leave --by-agent out.")
    return Outcome(HarnessSettings(hook_settings(call.root, config, profile, by_agent=by_agent)))
