"""``catmem tidy``: what memory says twice, and what to look at together, printed for a person; nothing is written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from catmem.cli.asking import answer_of
from catmem.cli.command import Command
from catmem.cli.options import common_options, open_to_read, open_with_store, profile_option
from catmem.cli.output import emit, emit_json, first_line, in_json, print_unreadable, say
from catmem.names import category_name
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.plugins.sorting.root_tidy import ProposedTidying, TidyList
    from catmem.plugins.sorting.suggestions import Suggestion

_WIDTH = 300
_TITLES = {
    "same": "Say the same:",
    "contradiction": "Contradict each other, says the model:",
    "together": "Look at these together:",
}
_LEFT = {"rejected_before": "you rejected the same before; 'catmem proposals --all' shows it"}


@click.command(cls=Command, examples=("catmem tidy", "catmem tidy -p trinity", "catmem tidy --ask 'llm -m MODEL'"))
@profile_option(required=False)
@click.option("--propose", is_flag=True, help="Have each entry that may go wait as a proposal, for 'catmem proposals'.")
@click.option(
    "--ask",
    "command",
    metavar="CMD",
    help="Give the pairs to look at to this command, and take what it prints as a judgement. No secret is in them.",
)
@common_options
def tidy(*, profile: str | None, propose: bool, command: str | None) -> None:
    """List what memory says twice, and what you should look at together. No file is changed.

    The first list has entries of the same words. The second one has entries of one profile that share rare words, and
    perhaps differ in a number, a time or a date: the most alike first, at most one pair for five entries. With -p only
    the files of this profile count.
    """
    from catmem.plugins.sorting.root_tidy import list_tidy, propose_tidy

    workspace = open_with_store() if propose else open_to_read()
    found = list_tidy(workspace, profile)
    if command is not None:
        found = _judged(found, command)
    if propose:
        _show_proposed(propose_tidy(workspace, [each for each in found.suggestions if each.operations]))
    elif in_json():
        made, problems = ([each.to_dict() for each in some] for some in (found.suggestions, found.problems))
        emit_json({"suggestions": made, "private": found.private, "problems": problems})
    else:
        for kind, title in _TITLES.items():
            lines = [line for each in found.suggestions if each.kind == kind for line in _lines(each)]
            emit("".join(f"{line}\n" for line in ([title, *lines] if lines else [])))
        count = len(found.suggestions)
        say(f"{counted(count, 'pair')}; nothing was written" if count else "nothing to tidy")
    if found.private:
        say(f"{counted(found.private, 'entry')} with a secret or hostile text left out; see catmem lint --select CM6")
    print_unreadable(found.problems)


def _judged(found: TidyList, command: str) -> TidyList:
    """The list with what a command says of the pairs to look at together."""
    from catmem.plugins.sorting.judging import judged, judging_question, pairs_to_judge

    asked = pairs_to_judge(found.suggestions)
    if not asked:
        say("there is no pair to ask about")
        return found
    made, left_out = judged(answer_of(command, judging_question(asked)), asked)
    verdicts = {id(pair): made[place] for place, pair in enumerate(asked) if place in made}
    kept = [verdicts.get(id(each), each) for each in found.suggestions]
    return found._replace(suggestions=[each for each in kept if each], problems=[*found.problems, *left_out])


def _show_proposed(proposed: Sequence[ProposedTidying]) -> None:
    waiting = [each for each in proposed if each.proposal is not None]
    if in_json():
        emit_json({"proposed": [each.to_dict() for each in proposed]})
        return
    for each in waiting:
        emit("".join(f"{line}\n" for line in (f"{each.proposal} waits:", *_lines(each.suggestion))))
    left = Counter(_LEFT.get(each.error.code, each.error.message) for each in proposed if each.error is not None)
    verb, where = "waits" if len(waiting) == 1 else "wait", ": catmem proposals" if waiting else ""
    say(f"{counted(len(waiting), 'suggestion')} {verb} for you{where}")
    for why, number in left.items():
        say(f"{counted(number, 'suggestion')} left out: {why}")


def _lines(suggestion: Suggestion) -> Iterator[str]:
    """A suggestion, with its entries below each other, and what would become of each."""
    yield f"{suggestion.entity}: {suggestion.reason}"
    fates = ("keep", "remove") if suggestion.operations else ("", "")
    for fate, entry in zip(fates, suggestion.entries, strict=True):
        place = f"line {entry.line}" if entry.entity == suggestion.entity else f"{entry.entity} line {entry.line}"
        day = f"{entry.day} " if entry.day else ""
        yield f"  {fate:<6} {place}  {day}{category_name(entry.category)} | {first_line(entry.body, _WIDTH)}"
