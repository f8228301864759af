"""``catmem tidy``: what could be tidier in memory, printed for a person; nothing is written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from catmem.cli.asking import answer_of
from catmem.cli.command import Command
from catmem.cli.options import as_of_option, common_options, open_to_read, open_with_store, profile_option
from catmem.cli.output import emit, emit_json, first_line, in_json, print_unreadable, say
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from catmem.tidying.root_tidy import ProposedTidying, TidyList
    from catmem.tidying.suggestions import Kind, Suggestion

_KINDS = ("expired", "duplicate", "contradiction", "split", "lift", "long", "shorter")
_WIDTH = 300
_LEFT = {"rejected_before": "you rejected the same before; 'catmem proposals --all' shows it"}


@click.command(
    cls=Command, examples=("catmem tidy", "catmem tidy -p trinity --kind expired", "catmem tidy --ask 'llm -m MODEL'")
)
@profile_option(required=False)
@click.option("--kind", "kinds", type=click.Choice(_KINDS), multiple=True, help="Only this kind; may be repeated.")
@click.option("--propose", is_flag=True, help="Have each suggestion wait as a proposal, for 'catmem proposals'.")
@click.option(
    "--ask",
    "command",
    metavar="CMD",
    help="Give long entries to this command, and take the JSON that it prints as shorter wordings. No secret is in it.",
)
@as_of_option
@common_options
def tidy(
    *, profile: str | None, kinds: tuple[Kind, ...], propose: bool, command: str | None, as_of: date | None
) -> None:
    """Suggest what memory could say once, shorter, or no longer. No file is changed.

    Found are entries that are expired, that say the same twice, that contradict each other, that hold several facts,
    that all specialists hold and the orchestrator does not, and long ones in a file over its limit. With -p only the
    files of this profile count.
    """
    if "shorter" in kinds and command is None:
        raise click.UsageError("--kind shorter goes with --ask.")

    from catmem.tidying.root_tidy import list_tidy, propose_tidy

    workspace = open_with_store() if propose else open_to_read()
    found = list_tidy(workspace, profile, kinds=kinds, as_of=as_of)
    if command is not None:
        _add_shorter(found, command)
    if propose:
        _show_proposed(propose_tidy(workspace, [each for each in found.suggestions if each.operations]))
    elif in_json():
        made, problems = ([each.to_dict() for each in some] for some in (found.suggestions, found.problems))
        emit_json({"suggestions": made, "private": found.private, "problems": problems})
    else:
        emit("".join(f"{line}\n" for each in found.suggestions for line in _lines(each)))
        count = Counter(each.kind for each in found.suggestions)
        said = ", ".join(f"{number:,} {kind}" for kind, number in count.items())
        say(f"{said or 'nothing to tidy'}; nothing was written")
    if found.private:
        say(f"{counted(found.private, 'entry')} with a secret or hostile text left out; see catmem lint --select CM6")
    print_unreadable(found.problems)


def _show_proposed(proposed: Sequence[ProposedTidying]) -> None:
    waiting = [each for each in proposed if each.proposal is not None]
    if in_json():
        emit_json({"proposed": [each.to_dict() for each in proposed]})
        return
    for each in waiting:
        emit("".join(f"{line}\n" for line in (f"{each.proposal} waits:", *_lines(each.suggestion))))
    left = Counter(_LEFT.get(each.error.code, each.error.message) for each in proposed if each.error is not None)
    say(f"{counted(len(waiting), 'suggestion')} wait{'s' if len(waiting) == 1 else ''} for you: catmem proposals")
    for why, number in left.items():
        say(f"{counted(number, 'suggestion')} left out: {why}")


def _add_shorter(found: TidyList, command: str) -> None:
    """Add what a command suggests in the place of long entries."""
    from catmem.tidying.shortening import long_entries, shortened, shortening_question

    asked = long_entries(found.entries)
    if not asked:
        say("no entry is long enough to be asked about")
        return
    made, left_out = shortened(answer_of(command, shortening_question(asked)), asked)
    found.suggestions.extend(made)
    found.problems.extend(left_out)


def _lines(suggestion: Suggestion) -> Iterator[str]:
    """A suggestion, with the words of its entries below each other, and what would become of each."""
    yield f"{suggestion.kind}  {suggestion.entity}: {suggestion.reason}"
    asked = {(each.old_text, each.category): "retag" if each.tags else each.action for each in suggestion.operations}
    for entry in suggestion.entries:
        place = f"line {entry.line}" if entry.entity == suggestion.entity else f"{entry.entity} line {entry.line}"
        done = asked.get((entry.id, entry.category), "")
        yield f"  {done:<6} {place}  {entry.category} | {first_line(entry.body, _WIDTH)}"
    for operation in suggestion.operations:
        if operation.content is not None:
            what = "add" if operation.action == "add" else "with"
            yield f"  {what:<6} {operation.category} | {first_line(operation.content, _WIDTH)}"
    if suggestion.lost:
        yield f"         words that would go: {', '.join(suggestion.lost)}"
