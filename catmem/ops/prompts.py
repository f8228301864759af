"""Operations on prompts: the text for a specialist, and what it saves."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from catmem.errors import ForbiddenError
from catmem.names import slugify
from catmem.ops.shared import AsOf, refuse_undeclared, tell_of_rows
from catmem.ops.table import NO_TOOL, ONLY_TOOL, Call, Http, Option, Outcome, P, Tool, UsageError, operation
from catmem.prompt.prompt import Prompt
from catmem.workspace.profile_memory import ProfileMemory


@operation(
    "prompt",
    opens="read",
    examples=(
        "catmem prompt trinity",
        "catmem prompt trinity --explain",
        "catmem prompt --from orchestrator -c communication-style -c 'approval-*' --budget 800",
    ),
    http=Http(
        "GET",
        "/prompt/{profile}",
        "The prompt of a profile",
        "As text, or, where the caller accepts JSON alone, with its digest and the role of the profile. A profile is "
        "given its own.",
        "Prompt",
        as_text=True,
        refusals=(404, 422),
        statuses={"selector": 422},
    ),
    tool=Tool(
        "memory_prompt",
        "Slice of memory",
        "Give what you see as text, for an agent without a profile.",
        {"text": "string"},
        action="prompt",
    ),
)
def prompt(
    call: Call,
    *,
    profile: Annotated[
        str | None, P("Whose prompt.", argument=True, whose="profile", caller=ONLY_TOOL, needed=True)
    ] = None,
    explain: Annotated[bool, Option("Show each entry of the profile's categories: in or out, and why.")] = False,
    style: Annotated[
        Literal["markdown", "xml", "hermes"] | None, P("Override the profile's style.", at=NO_TOOL)
    ] = None,
    source: Annotated[
        str | None,
        P(
            "Read the files of this profile instead of its own.",
            "--from",
            metavar="NAME",
            called="from",
            whose="profile",
            brief="The profile whose files it is made of (tier 1 only).",
            unbounded=True,
        ),
    ] = None,
    categories: Annotated[
        list[str] | None,
        P(
            "Only this category, or those of a selector; repeatable.",
            "-c --category",
            metavar="SELECTOR",
            brief="Only these, or patterns (rules-*, !rules-pay).",
        ),
    ] = None,
    budget: Annotated[
        int | None,
        P(
            "At most N characters, in place of the profile's.",
            minimum=1,
            form={"maximum": 10**9},
            brief="Most characters.",
        ),
    ] = None,
    as_of: AsOf = None,
) -> Outcome:
    """Print the text for PROFILE's system prompt: its categories, and nothing else.

    The same files, profile and day give the same bytes. -c and --budget print a slice of that prompt, for an agent
    without a profile. Without PROFILE it is a slice of what --from sees. --format json has text, digest and manifest.
    """
    from catmem.workspace.profile_memory import read_memory

    if profile is None and source is None:
        raise UsageError("Missing argument PROFILE.")
    profile = profile or str(source)
    if call.actor is not None and profile != call.actor:
        raise ForbiddenError(f"{call.actor} is given its own prompt only", hint=f"Ask for {call.actor!r}.")
    memory = read_memory(call.root, profile, source=source)
    if call.interface == "command":
        _look_over(call, categories or (), memory)
    memory = memory.narrowed(categories or (), budget)
    made = memory.prompt(as_of=as_of, style=style)
    if call.interface == "command":
        return Outcome((made, memory), made)
    from catmem.writing.drift_guard import shown_by_prompt

    data = _role_and_text(call, made, memory)
    if call.interface == "tool":
        given = {name: value for name, value in data.items() if name in {"text", "warnings", "advice"}}
        data = {"success": True, "action": "prompt", **given, "message": f"{len(data['text']):,} characters."}
    return Outcome(data, shows=lambda _: shown_by_prompt(made.manifest, memory.documents))


def _look_over(call: Call, categories: Sequence[str], memory: "ProfileMemory") -> None:
    from catmem.config.access import targets_read
    from catmem.config.config import is_pattern, split

    names = [name for _, name in map(split, categories) if not is_pattern(name)]
    for name in names:
        refuse_undeclared(call, name)
        if not targets_read(slugify(name), memory.profile, call.root.config.taxonomy):
            call.tell(f"{memory.profile.name} does not read {name}: catmem access --why {memory.profile.name} {name}")
    tell_of_rows(call, memory.owner.name)
    for said in memory.meant(names):
        call.tell(said)


def _role_and_text(call: Call, made: "Prompt", memory: "ProfileMemory") -> dict[str, Any]:
    """A profile's prompt and the role that its envelopes name; for a person also what the prompt is made of."""
    from catmem.config.access import Rights
    from catmem.envelopes.agents import role_hash
    from catmem.staleness.freshness import advice

    manifest, own = made.manifest, memory.profile
    warnings = [*memory.lost.values(), *memory.hints, *made.gaps]
    for target, document in memory.documents.items():
        rights = Rights(None if call.actor is None else own, target, call.root.config.taxonomy)
        warnings += rights.unmerged(f"the {target} file", document.text, call.root.parse)
    role = {"profile": own.name, "role_id": own.name, "role_hash": role_hash(own)}
    shown = {"text": made.text, "digest": made.digest, **role, "warnings": warnings}
    if call.actor is None:
        return {**shown, "manifest": manifest}
    states = (row.state for row in manifest.rows if row.status == "in")
    return shown | advice(states)
