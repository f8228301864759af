"""ProposalList and decisions, as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from catmem.cli.output import emit, print_error, printable, say, say_all, shown_moment
from catmem.ops.proposals import Decisions, ProposalList
from catmem.ops.table import Call
from catmem.proposals.deciding import Decided
from catmem.store.contract import who

_WHY = {"stale": "another entry by now, so reject it", "expired": "its day is over", "done": "the file says it already"}


def _proposals(value: ProposalList, _: Call) -> None:
    emit("".join(printable(f"{line}\n") for said in value.found for line in (*lines_of(said), "")))
    say_all(value.next)


def lines_of(said: dict[str, Any]) -> Iterator[str]:
    """A proposal, line by line."""
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


def _decisions(value: Decisions, _: Call) -> None:
    emit("".join(printable(f"{done_line(each)}\n") for each in value.done))
    for each in value.done:
        say_all(after(each) if len(value.done) == 1 else each.notes)
    for name, error in value.refused:
        say(f"{name}: refused")
        print_error(error)


def done_line(each: Decided) -> str:
    """A decision in a line."""
    found = each.proposal
    return f"{each.verdict} {found.id} of {found.who} in {found.entity} (revision {each.revision})"


def after(each: Decided) -> list[str]:
    """How an approval is taken back, and what became of the words in the files of specialists."""
    undo = f"'catmem undo {each.proposal.entity} --expected {each.revision}' takes it back"
    return [*([undo] if each.verdict == "approved" else []), *each.notes]


TEXTS = {ProposalList: _proposals, Decisions: _decisions}
