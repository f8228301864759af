"""``catmem proposals``: what agents propose, and what a person says of it."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.command import Command
from catmem.cli.dialogue import Dialogue
from catmem.cli.options import actor_option, common_options, open_with_store
from catmem.cli.output import (
    emit,
    emit_json,
    in_json,
    print_error,
    print_unreadable,
    printable,
    say,
    say_all,
    shown_moment,
)
from catmem.errors import CatmemError, ConfigError
from catmem.store.contract import who
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from catmem.cli.dialogue import Reply
    from catmem.proposals.deciding import Decided
    from catmem.proposals.proposal import Proposal
    from catmem.workspace.workspace import Workspace

_LEFT, _REFUSED = 1, 3
_ID = re.compile("p-[0-9a-f]{6,14}", re.IGNORECASE)
"""What is meant for an id, if it is misspelt too."""
_WHY = {"stale": "another entry by now, so reject it", "expired": "its day is over", "done": "the file says it already"}
_HELP = """\
  y         yes: approve it
  n REASON  no: reject it; the agent is shown the REASON
  e WORDS   edit: approve it, but the entry says WORDS
  s         skip it: it still waits
  a         approve all that are left of this profile in the same categories
  q         quit: what was decided stays, and the rest still waits"""


@click.command(
    cls=Command,
    examples=(
        "catmem proposals",
        "catmem proposals --interactive",
        "catmem proposals --approve p-4be1c09a27 p-77d03f1e52",
        "catmem proposals --reject p-4be1c09a27 --reason 'The vendor is still Acme.'",
        "catmem proposals --edit p-4be1c09a27 'Vendor is Zenith Ltd. from May on.'",
    ),
)
@click.argument("which", metavar="[ENTITY|ID]...", nargs=-1)
@click.option("-i", "--interactive", is_flag=True, help="Show each that waits, and ask.")
@click.option("--approve", is_flag=True, help="Make the changes that these IDs propose.")
@click.option("--reject", is_flag=True, help="Close these IDs; the proposer is shown the --reason.")
@click.option("--edit", is_flag=True, help="Approve the ID, but its entry says the words behind it.")
@click.option("--expire", is_flag=True, help="Close all whose day is over, and all that are done.")
@click.option("--all", is_flag=True, help="List those that wait no more, too.")
@click.option("--reason", metavar="TEXT", help="Why you --reject; the proposer is shown it.")
@actor_option
@common_options
def proposals(which: tuple[str, ...], *, reason: str | None, actor: str | None, **ways: bool) -> None:
    """List the changes of agents that wait for you: id, file, who, when, until when, why, and what changes.

    Lines with - go, lines with + come. A proposal is stale if its entry was changed since; then you see the entry as
    it was, as proposed and as it is now. One is done, and waits no more, if the file says by now what it proposes. By
    its ID you see one that was decided, too. ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means both files.

    The answers of --interactive, one a line: y approves, n REASON rejects, e WORDS approves in other words, s skips, a
    approves all that are left of the same profile and categories, q quits, ? explains.

    Exit status 3: a decision was refused, and the others were made; 1: --interactive left some.
    """
    how, *others = [name for name, given in ways.items() if given] or ["list"]
    has_ids, on_ids = bool(which) and all(map(_ID.fullmatch, which)), how in {"approve", "reject", "edit"}
    most = len(which) if on_ids or (how == "list" and has_ids) else 0 if how == "expire" else 1
    faults = {
        f"--{how} and --{''.join(others[:1])} exclude each other.": bool(others),
        "--reason goes with --reject.": reason is not None and how != "reject",
        f"--{how} is for a person, without --as.": actor is not None and how == "expire",
        "--interactive is for people; programs decide with --approve and --reject.": how == "interactive" and in_json(),
        f"Say which: catmem proposals --{how} ID{' WORDS' * (how == 'edit')}.": len(which) < on_ids + (how == "edit"),
        f"--{how} takes no ENTITY." if most == 0 else "Give one ENTITY, or only IDs.": len(which) > most,
    }
    for said in (fault for fault, is_so in faults.items() if is_so):
        raise click.UsageError(said)
    from catmem.proposals.deciding import expire

    workspace, entity = open_with_store(), which[0] if which else None
    match how:
        case "interactive":
            sys.exit(_ProposalDialogue(workspace, entity, actor).run())
        case "expire":
            _tell(expire(workspace))
        case "approve" | "reject" | "edit":
            ids, words = (which[:1], " ".join(which[1:])) if how == "edit" else (which, reason)
            sys.exit(_decide_each(workspace, how, ids, words, actor))
        case _:
            sys.exit(_list(workspace, which, actor, has_ids=has_ids, ended=how == "all"))


def _print(said: dict[str, Any], lines: Iterable[str]) -> None:
    """Data for programs, or lines for people."""
    if in_json():
        emit_json(said)
    else:
        emit("".join(printable(f"{line}\n") for line in lines))


def _list(workspace: Workspace, which: Sequence[str], actor: str | None, *, has_ids: bool, ended: bool) -> int:
    from catmem.proposals.proposal import proposals as proposals_in

    wrong: Sequence[CatmemError] = ()
    if has_ids:
        found = [workspace.proposal(name, actor=actor) for name in which]
    else:
        # Which profiles there are, is not for all: a profile asks for all that it may know of.
        entity = which[0] if which and actor is None else None
        found, wrong = proposals_in(workspace, entity, actor=actor, ended=ended)
        found = [each for each in found if f"{each.entity}/".startswith("".join(f"{name}/" for name in which))]
    said = [_shown(workspace, each, actor) for each in found]
    _print({"proposals": said}, (line for each in said for line in (*_lines(each), "")))
    if not (has_ids or in_json()):
        say_all(_next(found, actor))
    return print_unreadable(wrong)


def _next(found: Sequence[Proposal], actor: str | None) -> list[str]:
    """What to do with a list."""
    states = {each.state for each in found if each.is_open and each.agent != actor}
    if not any(each.is_open for each in found):
        return ["No proposal waits."]
    late = ["'catmem proposals --expire' closes those that expired."]
    some = ["'catmem proposals --interactive' goes through them."]
    return [*(some if states - {"expired"} else []), *(late if "expired" in states and actor is None else [])]


def _shown(workspace: Workspace, found: Proposal, actor: str | None) -> dict[str, Any]:
    """A proposal as data, of which ``actor`` is given what it may know."""
    from catmem.proposals.disclosure import disclosed

    if actor is not None:
        return disclosed(workspace, found.id, actor)
    said = found.to_dict()
    for change, one in zip(found.changes, said["changes"], strict=True):
        one["place"] = change.place
        if found.state == "waiting" and change.approved is not None:
            one["after"] = change.approved.text  # to the letter what a yes writes
    return said


def _lines(said: dict[str, Any]) -> Iterator[str]:
    decision = said["decision"]
    maker = who(said["agent"], said.get("person"))
    yield f"{said['id']}  {said['entity']}  {maker}  {shown_moment(said['timestamp'])}, until {said['until']}"
    if decision is not None:
        by = f" by {decision['by']} in revision {decision['revision']}" if "by" in decision else ""
        why = f": {decision['reason']}" if decision["reason"] else ""
        yield f"  {said['state']}{by}, {shown_moment(decision['timestamp'])}{why}"
    elif said["state"] != "waiting":
        yield f"  {said['state']}: {_WHY[said['state']]}"
    yield from [f"  why: {said['reason']}"] if said["reason"] else []
    yield from (f"  checked against: {each}" for each in said.get("evidence", ()))
    for change in said["changes"]:
        yield f"  {change.get('place', change['category'])}"
        is_stale = change["stale"] and decision is None and said["state"] != "done"
        sides = {"before": "before:   ", "after": "proposed: ", "now": "now:      "}
        for side, sign in (sides if is_stale else {"before": "- ", "after": "+ "}).items():
            text = "(not there)" if is_stale and change[side] is None else change[side]
            if text is not None:
                yield f"  {sign}" + text.replace("\n", f"\n  {' ' * len(sign) if is_stale else sign}")


def _decide(workspace: Workspace, how: str, name: str, words: str | None, actor: str | None) -> Decided:
    """Approve, perhaps in other ``words``, or reject, with a reason."""
    if how in {"reject", "n"}:
        return workspace.reject(name, reason=words, actor=actor)
    return workspace.approve(name, words=words, actor=actor)


def _decide_each(workspace: Workspace, how: str, names: Sequence[str], words: str | None, actor: str | None) -> int:
    """Decide on each; of several, one that is refused keeps no other from being decided. The exit status."""
    done: list[Decided] = []
    refused: list[tuple[str, CatmemError]] = []
    for name in dict.fromkeys(names):
        try:
            done.append(_decide(workspace, how, name, words, actor))
        except CatmemError as error:
            if len(names) == 1:
                raise
            refused.append((name, error))
    return _tell(done, refused)


def _tell(done: Sequence[Decided], refused: Sequence[tuple[str, CatmemError]] = ()) -> int:
    """Say what was decided and what was not; the exit status."""
    errors = [{"id": name, "error": error.to_dict()} for name, error in refused]
    _print({"decided": [each.to_dict() for each in done], "refused": errors}, map(_done, done))
    for each in () if in_json() else done:
        say_all(_after(each) if len(done) == 1 else each.notes)
    for name, error in () if in_json() else refused:
        say(f"{name}: refused")
        print_error(error)
    return _REFUSED if refused else 0


def _done(each: Decided) -> str:
    found = each.proposal
    return f"{each.verdict} {found.id} of {found.who} in {found.entity} (revision {each.revision})"


def _after(each: Decided) -> list[str]:
    """How an approval is taken back, and what became of the words in the files of specialists."""
    undo = f"'catmem undo {each.proposal.entity} --expected {each.revision}' takes it back"
    return [*([undo] if each.verdict == "approved" else []), *each.notes]


class _ProposalDialogue(Dialogue):
    """Shows one proposal after the other, and asks what becomes of it."""

    keys = "ynesaq?"
    has_only_keys = True
    letters = "y, n REASON, e WORDS, s, a, q or ?"
    explained = _HELP
    stays = "what was decided before it stays, and the rest still waits."
    refused = f"Nothing was written for it; {stays}"

    def __init__(self, workspace: Workspace, entity: str | None, actor: str | None) -> None:
        super().__init__()
        self._workspace, self._actor = workspace, actor
        found = workspace.proposals(entity, actor=actor)
        self._left = [each for each in found if each.state != "expired" and each.agent != actor]
        self._status = self._skipped = 0

    def run(self) -> int:
        """Until none is left, or the answers end; the exit status."""
        total = len(self._left)
        while self._left:
            found = self._left[0]
            lines = _lines(_shown(self._workspace, found, self._actor))
            emit(printable("\n".join((f"{total - len(self._left) + 1:,} of {total:,}", *lines, ""))))
            kind = found.agent, found.categories, "waiting"
            alike = [each for each in self._left if (each.agent, each.categories, each.state) == kind]
            if len(alike) > 1:
                say(f"a approves {len(alike)} of {found.who} in {', '.join(sorted(found.categories))}")
            line = self.read("n REASON, s, q or ?: " if found.state == "stale" else None)
            if line is None or line.letter == "q":
                self._say_left()
                return self._status or _LEFT
            try:
                self._act(line, found, alike)
            except ConfigError:  # what is no answer ends a pipe
                self._say_left()
                raise
        say(f"{counted(self._skipped, 'proposal')} skipped." if self._skipped else "No proposal is left.")
        return self._status

    def _say_left(self) -> None:
        skipped = f", and {self._skipped} skipped" if self._skipped else ""
        left = counted(len(self._left), "proposal")
        say(f"{left} left{skipped}. What was decided stays; run it again to go on.")

    def _act(self, line: Reply, found: Proposal, alike: Sequence[Proposal]) -> None:
        """Do what a line says; what is decided or skipped is left no more."""
        letter, words = line.letter, line.rest
        if letter not in {"y", "n", "e", "s", "a"} or (letter in {"y", "s", "a"} and words):
            self.explain(line)
            return
        if letter == "e":
            words = self.words(line, next((each.after.body for each in found.changes if each.after), ""))
            if not words:
                say("Nothing was changed.")
                return
        elif letter == "n" and self.on_terminal:
            words = words or self.line("Reason (Enter for none): ")
        self._skipped += letter == "s"
        for each in (letter == "a" and alike) or [found]:
            try:
                if letter != "s":
                    done = _decide(self._workspace, letter, each.id, words or None, self._actor)
                    emit(printable(f"{_done(done)}\n"))
                    say_all(_after(done))
            except CatmemError as error:
                print_error(error)
                if self.on_terminal:
                    continue  # it is asked about again
                self._status = _REFUSED
            self._left.remove(each)
