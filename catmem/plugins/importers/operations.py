"""The operation import: the memory of another program, or a snapshot, into memory files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from catmem.jsonable import jsonable
from catmem.names import Target
from catmem.ops.shared import AllowSecret, DryRun
from catmem.ops.table import Call, Outcome, P, UsageError, operation
from catmem.plugins.importers import read
from catmem.plugins.importers.importing import ImportPlan, carry_out, plan_import, remarks_on, sort_command
from catmem.registry import registry
from catmem.writing.written import Written


@dataclass(frozen=True, slots=True)
class FinishedImport:
    plan: ImportPlan
    written: Sequence[Written]


def _categories(said: Sequence[str]) -> dict[str, str]:
    """``OLD=CATEGORY`` each; the kind may hold ``=``, a category cannot."""
    found: dict[str, str] = {}
    for given in said:
        kind, equals, category = given.rpartition("=")
        if not (equals and kind and category):
            raise UsageError(f"Invalid value for '--map': {given!r} is not of the form OLD=CATEGORY.")
        if found.setdefault(kind, category) != category:
            raise UsageError(f"Invalid value for '--map': {kind!r} is given two categories.")
    return found


@operation(
    "import",
    examples=(
        "catmem import --from cheetahclaws -p trinity ~/.cheetahclaws/memory --dry-run",
        "catmem import --from mcp-memory -p trinity memory.jsonl --map preference=communication-style",
        "catmem import --from hermes -p trinity ~/.hermes",
        "catmem import --snapshot memory.bak.1795417126.json --dry-run",
    ),
    apart={"snapshot": "path source categories skip_withheld"},
)
def import_(
    call: Call,
    *,
    path: Annotated[str | None, P(argument=True)] = None,
    source: Annotated[
        Literal[*registry().importers] | None,  # type: ignore[valid-type]
        P("The program that wrote PATH; needed for it."),
    ] = None,
    snapshot: Annotated[
        str | None,
        P(
            "Bring back a snapshot ('catmem export --snapshot', or a memory.bak.*.json): each entity that differs "
            "becomes what it says, in one revision.",
            metavar="PATH",
        ),
    ] = None,
    profile: Annotated[str | None, P("The profile whose memory this is; needed for PATH.")] = None,
    target: Annotated[
        Target | None, P("Put all of it into USER.md or MEMORY.md. By default where that program has it, else USER.md.")
    ] = None,
    categories: Annotated[
        Sequence[str],
        P(
            "The category for what that program calls OLD; * for all else. By default the category of that name, and "
            "__uncategorized__ if none is declared. Repeatable.",
            "--map",
            metavar="OLD=CATEGORY",
        ),
    ] = (),
    skip_withheld: Annotated[bool, P("Leave out entries that a prompt would withhold, and name them.")] = False,
    allow_secret: AllowSecret = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Bring the memory of another program, at PATH, into the files of a profile.

    PATH is the file or folder in which that program keeps its memory. It is read and never changed. An entry that is
    there already is not added again. What has no place here is listed.

    --snapshot takes the place of PATH, and -p and -t choose some of its entities. An edited snapshot is refused.
    'catmem restore' undoes the revision of an entity.
    """
    named = _categories(categories)
    how = {"dry_run": dry_run, "allow_secret": allow_secret}
    if snapshot is not None:
        return _bring_back(call, snapshot, profile, target, how)
    if source is None or profile is None or path is None:
        programs = f"option '--from' ({', '.join(registry().importers)})"
        needed = {programs: source, "option '-p' / '--profile'": profile, "argument 'PATH'": path}
        raise UsageError(f"Missing {next(name for name, given in needed.items() if given is None)}.")
    what: dict[str, Any] = {"target": target, "categories": named, "skip_withheld": skip_withheld}
    plan = plan_import(call.root, profile, read(source, path), **what)
    written = carry_out(call.root, plan, **how)
    said = {
        "from": source,
        "path": path,
        "profile": plan.profile,
        "dry_run": dry_run,
        "files": [_file_dict(each) for each in written],
        "entries": jsonable(plan.entries),
        "left_out": [each._asdict() for each in plan.left_out],
        "notes": [*remarks_on(written), *plan.notes],
        "uncategorized": dict(plan.uncategorized),
        "next": [sort_command(plan.profile, target) for target in plan.uncategorized],
    }
    return Outcome(FinishedImport(plan, written), said)


def _bring_back(call: Call, path: str, profile: str | None, target: str | None, how: dict[str, bool]) -> Outcome:
    from catmem.store.contract import Change
    from catmem.workspace.change_plan import apply, write_file
    from catmem.workspace.exporting import plan_snapshot, read_snapshot

    if profile is not None:
        call.root.profile(profile)
    said = read_snapshot(Path(path))
    plan = plan_snapshot(call.root, said, profile=profile, target=target, **how)
    if not how["dry_run"]:
        change = Change(op="restore", note={"snapshot": said["timestamp"]})
        plan = apply(plan, partial(write_file, call.root, change=change))
    shown = {"snapshot": path, "timestamp": said["timestamp"], **jsonable(plan), "dry_run": how["dry_run"]}
    return Outcome(plan, shown, plan.errors)


def _file_dict(written: Written) -> dict[str, object]:
    usage = {"size": written.usage.size, "limit": written.usage.limit}
    return {"entity": written.entity, "revision": written.revision, "digest": written.digest, "usage": usage}
