"""``catmem prompt``: the text for a specialist's system prompt, or what it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catmem.cli.options import as_of_option, format_option, open_to_read, root_option
from catmem.cli.output import columns, emit, emit_json, first_line, printable, say, shown_path, warn_of_rows
from catmem.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from catmem.policy.manifest import Manifest, Row
    from catmem.policy.prompt import Prompt
    from catmem.policy.styles import Style
    from catmem.service.workspace import Workspace

_WIDTH = 60


@click.command(
    epilog="Examples: catmem prompt trinity   catmem prompt trinity --explain   catmem prompt scout --from orchestrator"
)
@click.argument("profile")
@click.option("--explain", is_flag=True, help="Show each entry of the profile's categories: in or out, and why.")
@click.option("--style", type=click.Choice(["markdown", "xml", "hermes"]), help="Override the profile's style.")
@click.option("--from", "source", metavar="NAME", help="Read the files of this profile instead of its own.")
@as_of_option
@root_option
@format_option
def command(  # noqa: PLR0913 - one parameter an option
    profile: str,
    style: Style | None,
    source: str | None,
    as_of: date | None,
    root_folder: str | None,
    *,
    explain: bool,
    as_json: bool,
) -> None:
    """Print the text for PROFILE's system prompt: its categories, and nothing else.

    The same files, profile and day give the same bytes. With --format json: text, digest and manifest.
    """
    from catmem.service.profile_memory import read_memory

    workspace = open_to_read(root_folder)
    warn_of_rows(workspace, source or profile)
    memory = read_memory(workspace, profile, source=source)
    prompt = memory.prompt(as_of=as_of, style=style)
    if as_json:
        emit_json(prompt.to_dict())
        return
    for warning in memory.warnings():
        place = shown_path(warning.path or workspace.root) + (f":{warning.line}" if warning.line else "")
        say(printable(f"warning: {place}: {warning.message}"))
    if explain:
        paths = {target: printable(shown_path(memory.paths[target])) for target in prompt.manifest.hidden}
        emit("".join(_explained(prompt, paths)))
    else:
        emit(prompt.text)
        if not prompt.text:
            say(_why_empty(workspace, source or profile, prompt.manifest))


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
        yield f"\n{target} ({paths[target]}): {inside} of {len(rows)} entries in{withheld}, {size}\n"
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


def _why_empty(workspace: Workspace, owner: str, manifest: Manifest) -> str:
    from catmem.service.backends import backend_of

    missing = workspace.missing_files(owner)
    hidden = sum(manifest.hidden.values())
    if len(missing) == len(manifest.hidden) and backend_of(workspace.config).has_files:
        folder = missing[0].parent
        names = " and ".join(path.name for path in missing)
        why = f"has no {names} yet" if folder.is_dir() else "does not exist yet"
        return f"The prompt is empty: {printable(shown_path(folder))}, the folder of {owner}, {why}."
    if not hidden and not manifest.rows:
        return f"The prompt is empty: the memory files of {owner} hold no entries."
    left_out = f"{hidden} {plural(hidden, 'entry')} left out"
    return f"The prompt is empty: nothing that {manifest.profile} may see is in ({left_out})."
