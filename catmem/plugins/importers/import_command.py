"""``catmem import``: the memory of another program, or a snapshot, into memory files."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from catmem.cli.command import Command
from catmem.cli.options import (
    asking_about_secrets,
    common_options,
    dry_run_option,
    open_with_store,
    secret_option,
)
from catmem.cli.output import (
    columns,
    emit,
    emit_json,
    first_line,
    in_json,
    printable,
    say,
    say_all,
    text_diff,
)
from catmem.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.plugins.importers.importing import ImportPlan
    from catmem.plugins.importers.source_files import LeftOut
    from catmem.writing.written import How, Written

_SHOWN = 5
_WIDTH = 60


def _map(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """``OLD=CATEGORY`` each; the kind may hold ``=``, a category cannot."""
    found: dict[str, str] = {}
    for given in values:
        kind, equals, category = given.rpartition("=")
        if not (equals and kind and category):
            raise click.BadParameter(f"{given!r} is not of the form OLD=CATEGORY.")
        if found.setdefault(kind, category) != category:
            raise click.BadParameter(f"{kind!r} is given two categories.")
    return found


@click.command(
    cls=Command,
    examples=(
        "catmem import --from cheetahclaws -p trinity ~/.cheetahclaws/memory --dry-run",
        "catmem import --from mcp-memory -p trinity memory.jsonl --map preference=communication-style",
        "catmem import --from hermes -p trinity ~/.hermes",
        "catmem import --snapshot memory.bak.1795417126.json --dry-run",
    ),
)
@click.argument("path", required=False)
@click.option(
    "--from",
    "source",
    type=click.Choice(list(registry().importers)),
    help="The program that wrote PATH; needed for it.",
)
@click.option(
    "--snapshot",
    metavar="PATH",
    help="Bring back a snapshot of all rows ('catmem export --snapshot', or a memory.bak.*.json): each entity that "
    "differs from it becomes what it says, in one revision.",
)
@click.option("-p", "--profile", metavar="NAME", help="The profile whose memory this is; needed for PATH.")
@click.option(
    "-t",
    "--target",
    type=click.Choice(["user", "memory"]),
    help="Put all of it into USER.md or MEMORY.md. By default where that program has it, else USER.md.",
)
@click.option(
    "--map",
    "categories",
    metavar="OLD=CATEGORY",
    multiple=True,
    callback=_map,
    help="The category for what that program calls OLD; * for all else. By default the category of that name, and "
    "__uncategorized__ if none is declared. Can be given several times.",
)
@click.option("--skip-withheld", is_flag=True, help="Leave out entries that a prompt would withhold, and name them.")
@secret_option
@dry_run_option
@common_options
def import_(  # noqa: PLR0913, PLR0917 - one parameter an option
    path: str | None,
    source: str | None,
    snapshot: str | None,
    profile: str | None,
    target: str | None,
    categories: dict[str, str],
    *,
    skip_withheld: bool,
    **how: Unpack[How],
) -> None:
    """Bring the memory of another program, at PATH, into the files of a profile.

    PATH is the file or folder in which that program keeps its memory. It is read and never changed. What is there
    already is not added again, so the same import twice changes nothing. What has no place here is listed.

    With --snapshot there is no other PATH, and -p and -t choose some of its entities. An edited snapshot is refused.
    'catmem restore' undoes the revision of an entity.
    """
    if snapshot is not None:
        if path is not None or source is not None or categories or skip_withheld:
            raise click.UsageError("--snapshot names its own file: leave out PATH, --from, --map and --skip-withheld.")
        _bring_back(snapshot, profile, target, how)
        return
    for given, name in ((source, "option '--from'"), (profile, "option '-p' / '--profile'"), (path, "argument 'PATH'")):
        if given is None:
            raise click.UsageError(f"Missing {name}.")
    named = {"target": target, "categories": categories, "skip_withheld": skip_withheld}
    _import(str(path), str(source), str(profile), named, how)


def _bring_back(path: str, profile: str | None, target: str | None, how: How) -> None:
    from catmem.workspace.exporting import bring_back, read_snapshot

    workspace, dry_run = open_with_store(), how["dry_run"]
    if profile is not None:
        workspace.profile(profile)
    bring = partial(bring_back, workspace, read_snapshot(Path(path)), profile=profile, target=target, dry_run=dry_run)
    done = asking_about_secrets(workspace.config, how, lambda: bring(allow_secret=how["allow_secret"]))
    if in_json():
        emit_json(
            {
                "snapshot": path,
                "timestamp": done.timestamp,
                "dry_run": dry_run,
                "files": [_file_dict(each) for each in done.written],
                "same": list(done.same),
                "left_out": [each._asdict() for each in done.left_out],
            }
        )
        return
    for each in done.written:
        if dry_run:
            emit(text_diff(each.before, each.after, f"a/{each.entity}", f"b/{each.entity}"))
        else:
            emit(printable(f"{each.entity} is as in the snapshot (revision {each.revision})\n"))
    if not done.written:
        emit("all is as in the snapshot; nothing written\n")
    for line in dict.fromkeys(said for each in done.written for said in (*each.warnings, *each.notes)):
        say(line)
    for left in done.left_out:
        say(f"left out: {left.entity}{'' if left.row is None else f', row {left.row}'}: {left.why}")
    if dry_run and done.written:
        say("Nothing was written.")


def _import(path: str, source: str, profile: str, named: dict[str, Any], how: How) -> None:
    from catmem.plugins.importers import read
    from catmem.plugins.importers.importing import carry_out, plan_import, remarks_on, sort_command
    from catmem.workspace.init import on_uncategorized

    workspace, dry_run = open_with_store(), how["dry_run"]
    plan = plan_import(workspace, profile, read(source, path), **named)
    written = asking_about_secrets(
        workspace.config, how, lambda: carry_out(workspace, plan, dry_run=dry_run, allow_secret=how["allow_secret"])
    )
    if in_json():
        emit_json(_import_dict(source, path, plan, written, dry_run=dry_run))
        return
    for each in written:
        if dry_run:
            emit(text_diff(each.before, each.after, f"a/{each.entity}", f"b/{each.entity}"))
        else:
            emit(printable(f"added {len(each.entries):,} to {each.entity} (revision {each.revision})\n"))
    if not written:
        emit("nothing new; nothing written\n")
    for line in (*remarks_on(written), *_remarks(plan)):
        say(line)
    if dry_run and written:
        shown = sum(len(each.entries) for each in written)
        new = sum(each.outcome == "new" for each in plan.entries)
        more = f" {shown:,} of {new:,} new entries are shown." if shown < new else ""
        say(f"Nothing was written.{more}")
    say_all(on_uncategorized(plan.profile, plan.uncategorized))
    say_all(f"Next: {sort_command(plan.profile, target)}" for target in plan.uncategorized)


def _import_dict(
    source: str, path: str, plan: ImportPlan, written: Sequence[Written], *, dry_run: bool
) -> dict[str, object]:
    from catmem.plugins.importers.importing import remarks_on, sort_command

    return {
        "from": source,
        "path": path,
        "profile": plan.profile,
        "dry_run": dry_run,
        "files": [_file_dict(each) for each in written],
        "entries": [each.to_dict() for each in plan.entries],
        "left_out": [each._asdict() for each in plan.left_out],
        "notes": [*remarks_on(written), *plan.notes],
        "uncategorized": dict(plan.uncategorized),
        "next": [sort_command(plan.profile, target) for target in plan.uncategorized],
    }


def _file_dict(written: Written) -> dict[str, object]:
    usage = {"size": written.usage.size, "limit": written.usage.limit}
    return {"entity": written.entity, "revision": written.revision, "digest": written.digest, "usage": usage}


def _remarks(plan: ImportPlan) -> Iterator[str]:
    there = sum(each.outcome == "there" for each in plan.entries)
    if there:
        yield f"{there:,} there already"
    yield from plan.notes
    if plan.left_out:
        yield f"{len(plan.left_out):,} left out, because they have no place here:"
        yield from columns(_rows(plan.left_out)).rstrip("\n").split("\n")


def _rows(left_out: Sequence[LeftOut]) -> Iterator[tuple[str, ...]]:
    counts = Counter((each.what, each.why) for each in left_out)
    shown: Counter[tuple[str, str]] = Counter()
    for each in sorted(left_out, key=lambda one: (one.what, one.why)):
        sort = (each.what, each.why)
        shown[sort] += 1
        if shown[sort] <= _SHOWN:
            yield (
                "",
                first_line(each.place, _WIDTH),
                first_line(each.what, _WIDTH),
                f"{first_line(each.value, _WIDTH)} ({each.why})",
            )
        if shown[sort] == _SHOWN + 1:
            more = counts[sort] - _SHOWN
            yield "", "…", first_line(each.what, _WIDTH), f"and {more:,} more, with --format json ({each.why})"
