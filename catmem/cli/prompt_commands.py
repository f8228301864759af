"""``catmem prompt`` and ``catmem stats``: what goes into system prompts, and what it saves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.options import as_of_option, common_options, open_to_read, refuse_undeclared
from catmem.cli.output import (
    columns,
    emit,
    emit_json,
    end_with,
    first_line,
    in_json,
    printable,
    say,
    shown_path,
    warn_of_rows,
)
from catmem.config.selector import is_pattern, split
from catmem.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from catmem.prompt.prompt import Manifest, Prompt, Row
    from catmem.prompt.sizes import Sizes, Use
    from catmem.prompt.styles import Style
    from catmem.workspace.everywhere import Measured, Stats
    from catmem.workspace.profile_memory import ProfileMemory
    from catmem.workspace.workspace import Workspace

_WIDTH = 60
_HEAD = ("profile", "entries", "prompt", "flat", "%", "tokens", "flat", "%", "changed", "flat", "")
_LEFT_OUT = {
    "expired": "expired",
    "stale": "stale",
    "no_text": "without text",
    "blocked": "blocked",
    "over_budget": "over budget",
}


@click.command(
    cls=Command,
    examples=(
        "catmem prompt trinity",
        "catmem prompt trinity --explain",
        "catmem prompt --from orchestrator -c communication-style -c 'approval-*' --budget 800",
    ),
)
@click.argument("profile", required=False)
@click.option("--explain", is_flag=True, help="Show each entry of the profile's categories: in or out, and why.")
@click.option("--style", type=click.Choice(["markdown", "xml", "hermes"]), help="Override the profile's style.")
@click.option("--from", "source", metavar="NAME", help="Read the files of this profile instead of its own.")
@click.option(
    "-c", "--category", "categories", multiple=True, metavar="SELECTOR", help="Only this category; repeatable."
)
@click.option(
    "--budget", type=click.IntRange(min=1), metavar="N", help="At most N characters, in place of the profile's."
)
@as_of_option
@common_options
def prompt(  # noqa: PLR0913 - an argument for each option
    profile: str | None,
    *,
    style: Style | None,
    source: str | None,
    categories: tuple[str, ...],
    budget: int | None,
    as_of: date | None,
    explain: bool,
) -> None:
    """Print the text for PROFILE's system prompt: its categories, and nothing else.

    The same files, profile and day give the same bytes. With -c and --budget it is a slice of that prompt, for an agent
    without a profile. Without PROFILE it is a slice of what --from sees. With --format json: text, digest and manifest.
    """
    from catmem.workspace.profile_memory import read_memory

    if profile is None and source is None:
        raise click.MissingParameter(param_hint="PROFILE", param_type="argument")
    profile = profile or str(source)
    workspace = open_to_read()
    for category in categories:
        refuse_undeclared(workspace, None if is_pattern(split(category)[1]) else split(category)[1])
    warn_of_rows(workspace, source or profile)
    memory = read_memory(workspace, profile, source=source).narrowed(categories, budget)
    prompt = memory.prompt(as_of=as_of, style=style)
    if not prompt.text:
        say(_why_empty(memory, prompt.manifest))
    if in_json():
        emit_json(prompt.to_dict())
        return
    _say_emptied(workspace, memory)
    for warning in memory.warnings():
        place = shown_path(warning.path or workspace.root) + (f":{warning.line}" if warning.line else "")
        say(f"warning: {place}: {warning.message}")
    if explain:
        paths = {target: printable(shown_path(memory.paths[target])) for target in prompt.manifest.hidden}
        emit("".join(_explained(prompt, paths)))
    else:
        emit(prompt.text)


def _say_emptied(workspace: Workspace, memory: ProfileMemory) -> None:
    """Name a file that is empty now, and was not when the store last saw it."""
    from catmem.digest import bytes_digest

    for target, document in memory.documents.items():
        if target not in memory.missing and not document.text.strip():
            entity = f"{memory.owner.name}/{target}"
            head = workspace.store.head(entity)
            if head is not None and head.digest != bytes_digest(workspace.store.peek(entity)):
                back = f"'catmem restore {entity} {head.revision}' brings back what it held"
                say(f"warning: {shown_path(memory.paths[target])}: has become empty: {back}")


def _explained(prompt: Prompt, paths: dict[str, str]) -> Iterator[str]:
    manifest = prompt.manifest
    yield f"{manifest.profile}, as of {manifest.as_of}, style {manifest.style}\n"
    for target, hidden in manifest.hidden.items():
        rows = [row for row in manifest.rows if row.target == target]
        inside = sum(row.status == "in" for row in rows)
        budget = f" of {manifest.budget[target]:,}" if target in manifest.budget else ""
        size = f"{manifest.sizes[target]:,}{budget} characters"
        blocked = sum(row.status == "blocked" for row in rows)
        withheld = f", {blocked} blocked" if blocked else ""
        there = ", no such file yet" if target in manifest.missing else ""
        yield f"\n{target} ({paths[target]}{there}): {inside} of {len(rows)} entries in{withheld}, {size}\n"
        yield columns([_columns(row) for row in rows])
        loose = manifest.hidden_uncategorized[target]
        if hidden > loose:
            yield f"  {hidden - loose} {plural(hidden - loose, 'entry')} of other categories left out\n"
        if loose:
            yield f"  {loose} {plural(loose, 'entry')} without a category left out (include_uncategorized)\n"
    if "total" in manifest.budget:
        yield f"\ntotal: {len(prompt.text):,} of {manifest.budget['total']:,} characters\n"
    if any(row.status == "blocked" for row in manifest.rows):
        yield "\n! withheld by the threat scan: read the entry at its line, then reword or remove it"
        yield " (docs/security.md)\n"


def _columns(row: Row) -> tuple[str, ...]:
    reason = {"in": "", "blocked": f"blocked: {row.reason}", "out": f"out: {row.reason}"}[row.status]
    state = row.state if row.day is None else f"{row.state} {row.day}"
    mark = {"in": "  +", "blocked": "  !", "out": "  -"}[row.status]
    return mark, f"line {row.line}", row.category, reason or state, first_line(row.preview, _WIDTH)


def _why_empty(memory: ProfileMemory, manifest: Manifest) -> str:
    from catmem.prompt.sizes import left_out

    owner = memory.owner.name
    hidden = sum(manifest.hidden.values())
    if len(manifest.missing) == len(manifest.hidden):
        looked = " and ".join(printable(shown_path(memory.paths[target])) for target in manifest.missing)
        return f"The prompt is empty: {owner} has no memory files yet. Looked for {looked}."
    if not hidden and not manifest.rows:
        return f"The prompt is empty: the memory files of {owner} hold no entries."
    reasons = Counter(_LEFT_OUT[reason] for row in manifest.rows if (reason := left_out(row)))
    if hidden:
        reasons["of other categories"] = hidden
    counts = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    return f"The prompt is empty: it leaves out all entries of {owner} ({counts})."


@click.command(
    cls=Command,
    examples=("catmem stats", "catmem stats --from orchestrator", "catmem stats -p trinity --as-of 2026-11-21"),
)
@click.option("-p", "--profile", "names", multiple=True, metavar="NAME", help="Only this profile; may be repeated.")
@click.option("--from", "source", metavar="NAME", help="Read the files of this profile instead of their own.")
@as_of_option
@common_options
def stats(names: tuple[str, ...], source: str | None, as_of: date | None) -> None:
    """Print what each prompt saves beside flat files, and what it keeps out.

    prompt is what 'catmem prompt' prints; flat is what an agent without catmem loads: the texts of all entries of the
    same files, of a seeded profile those of its source, without tags and headers. Both stand in characters, then in
    tokens, estimated by a rule that needs no tokenizer (docs/fleet.md). changed are the bytes behind a change of
    one fact, of all in the files, in the mean: what no cache of a prompt's beginning has. entries are those that
    the profile sees, of those in the files. The words behind say what of the seen the prompt leaves out, what is
    stale or unverified, and how much of budgets and limits is used. In the total a file counts once for each
    profile that reads it.

    Exit status 2 if a profile or a file could not be looked at; all others are there.
    """
    from catmem.config.profile import refuse_no_root
    from catmem.workspace.everywhere import read_stats

    workspace = open_to_read()
    refuse_no_root(workspace.config)
    stats = read_stats(workspace, names, source=source, as_of=as_of)
    if in_json():
        emit_json(stats.to_dict())
    elif stats.profiles:
        emit(printable("".join(_table(stats))))
    elif not stats.problems:
        say(f"There are no profiles in {printable(shown_path(workspace.config.profiles_dir))}.")
    end_with(stats.problems)


def _table(stats: Stats) -> Iterator[str]:
    from catmem.prompt.sizes import UNWANTED

    files = f"from the files of {stats.source}" if stats.source else "each from its own files"
    yield f"Prompts beside flat files, {files}, as of {stats.as_of}:\n"
    yield "characters, tokens (estimated), and bytes behind a change of one fact\n\n"
    total = stats.total
    rows = [_row(each.profile, each.sizes, "; ".join(_notes(each))) for each in stats.profiles]
    yield columns([_HEAD, *rows, _row("total", total, "")], right=range(1, 10))
    counts = {
        "kept out of prompts": {**total.left_out, "secrets": total.secrets},
        "marked in prompts": total.marked,
        "shown by flat files": total.in_flat,
    }
    facts = [(name, *(f"{count.get(each, 0):,}" for each in UNWANTED), "") for name, count in counts.items()]
    yield "\n"
    yield columns([("facts", *UNWANTED, ""), *facts], right=range(1, 5))


def _row(name: str, sizes: Sizes, notes: str) -> tuple[str, ...]:
    seen = f"{sizes.seen:,} of {sizes.entries:,}"
    characters = _beside(sizes.prompt.characters, sizes.flat.characters, sizes.percent)
    tokens = _beside(sizes.prompt.tokens, sizes.flat.tokens, sizes.tokens_percent)
    return name, seen, *characters, *tokens, f"{sizes.changed.prompt:,}", f"{sizes.changed.flat:,}", notes


def _beside(prompt: int, flat: int, percent: float | None) -> tuple[str, ...]:
    return f"{prompt:,}", f"{flat:,}", "-" if percent is None else f"{percent}%"


def _notes(measured: Measured) -> Iterator[str]:
    sizes = measured.sizes
    if measured.missing == ("user", "memory"):
        yield "no files yet"
    out = [f"{sizes.left_out[key]:,} {said}" for key, said in _LEFT_OUT.items() if sizes.left_out.get(key)]
    if out:
        yield f"out: {', '.join(out)}"
    doubtful = [f"{sizes.states[key]:,} {key}" for key in ("stale", "unverified") if sizes.states.get(key)]
    if doubtful:
        yield ", ".join(doubtful)
    yield from (_use("budget", use) for use in sizes.budgets)
    yield from (_use("limit", use) for use in sizes.limits)


def _use(what: str, use: Use) -> str:
    share = f"{100 * use.used / use.of:.0f}%" if use.of else f"{use.used:,} of 0"
    return f"{what} {use.name} {share}"
