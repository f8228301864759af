"""``catmem import``: bring in what another program remembers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from catmem.cli.options import dry_run_option, format_option, open_with_store, profile_option, root_option
from catmem.cli.output import columns, emit, emit_json, first_line, printable, say, text_diff
from catmem.importers import SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.importers.bringing import ImportPlan
    from catmem.importers.imported import LeftOut
    from catmem.service.writing.written import Written

_SHOWN = 5
_WIDTH = 60


def _map(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """``OLD=CATEGORY`` each; the kind may hold ``=``, a category cannot."""
    found: dict[str, str] = {}
    for given in values:
        kind, equals, category = given.rpartition("=")
        if not (equals and kind and category):
            raise click.BadParameter(f"{given!r} is not of the form OLD=CATEGORY.", ctx=ctx, param=param)
        if found.setdefault(kind, category) != category:
            raise click.BadParameter(f"{kind!r} is given two categories.", ctx=ctx, param=param)
    return found


@click.command(
    epilog="Examples: catmem import --from cheetahclaws -p trinity ~/.cheetahclaws/memory --dry-run   "
    "catmem import --from docker-agent -p trinity memory.db --map preference=communication-style   "
    "catmem import --from hermes -p trinity ~/.hermes"
)
@click.argument("path")
@click.option("--from", "source", type=click.Choice(list(SOURCES)), required=True, help="The program that wrote PATH.")
@profile_option(required=True)
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
@dry_run_option
@root_option
@format_option
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    path: str,
    source: str,
    profile: str,
    target: str | None,
    categories: dict[str, str],
    root_folder: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Bring the memory of another program, at PATH, into the files of a profile.

    PATH is read and never changed: a home or folder of hermes, cheetahclaws, claude or basic-memory, the SQLite
    database of docker-agent, the memory.jsonl of mcp-memory. What is there already is not added again, so the same
    import twice changes nothing. What has no place here is listed.
    """
    from catmem.importers import read
    from catmem.importers.bringing import carry_out, plan_import, remarks_on

    workspace = open_with_store(root_folder)
    plan = plan_import(workspace, profile, read(source, path), target=target, categories=categories)
    written = carry_out(workspace, plan, dry_run=dry_run)
    if as_json:
        emit_json(_told(source, path, plan, written, dry_run=dry_run))
        return
    for each in written:
        if dry_run:
            emit(text_diff(each.before, each.after, f"a/{each.entity}", f"b/{each.entity}"))
        else:
            emit(printable(f"added {len(each.entries):,} to {each.entity} (revision {each.revision})\n"))
    if not written:
        emit("nothing new; nothing written\n")
    for line in (*remarks_on(written), *_remarks(plan)):
        say(printable(line))
    if dry_run and written:
        shown = sum(len(each.entries) for each in written)
        new = sum(each.outcome == "new" for each in plan.entries)
        more = f" {shown:,} of {new:,} new entries are shown." if shown < new else ""
        say(f"Nothing was written.{more}")


def _told(source: str, path: str, plan: ImportPlan, written: Sequence[Written], *, dry_run: bool) -> dict[str, object]:
    from catmem.importers.bringing import remarks_on

    return {
        "from": source,
        "path": path,
        "profile": plan.profile,
        "dry_run": dry_run,
        "files": [
            {
                "entity": each.entity,
                "revision": each.revision,
                "digest": each.digest,
                "usage": {"size": each.usage.size, "limit": each.usage.limit},
            }
            for each in written
        ],
        "entries": [each.to_dict() for each in plan.entries],
        "left_out": [each.to_dict() for each in plan.left_out],
        "notes": [*remarks_on(written), *plan.notes],
    }


def _remarks(plan: ImportPlan) -> Iterator[str]:
    there = sum(each.outcome == "there" for each in plan.entries)
    if there:
        yield f"{there:,} there already"
    yield from plan.notes
    if plan.left_out:
        yield f"{len(plan.left_out):,} left out, because they have no place here:"
        yield from columns(list(_rows(plan.left_out))).rstrip("\n").split("\n")


def _rows(left_out: Sequence[LeftOut]) -> Iterator[tuple[str, ...]]:
    """What was left out, the first few of each sort."""
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
