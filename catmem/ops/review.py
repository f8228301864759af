"""Operations on what waits for a person: what agents propose, and facts that are due."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from catmem.config.profile import has_profile
from catmem.errors import CatmemError
from catmem.jsonable import jsonable
from catmem.ops.shared import Actor, AsOf, InCategory, refuse_undeclared, tell_of_category
from catmem.ops.table import REFUSED, Call, Http, Option, Outcome, P, UsageError, operation
from catmem.proposals.deciding import Decided
from catmem.proposals.proposal import data_for, disclosed, disclosed_all
from catmem.proposals.proposal import proposals as proposals_in
from catmem.staleness.lineage import notes_of
from catmem.staleness.review import Review
from catmem.text import counted
from catmem.workspace.workspace import Workspace

_ID_AND_WORDS = 2


@dataclass(frozen=True, slots=True)
class Decisions:
    """What was decided, and what was refused, by id."""

    done: Sequence[Decided]
    refused: Sequence[tuple[str, CatmemError]] = ()

    def __json__(self) -> dict[str, Any]:
        return {"decided": self.done, "refused": [{"id": name, "error": error} for name, error in self.refused]}


@operation(
    "proposals",
    examples=(
        "catmem proposals",
        "catmem proposals --interactive",
        "catmem proposals --approve p-4be1c09a27 p-77d03f1e52",
        "catmem proposals --reject p-4be1c09a27 --reason 'The vendor is still Acme.'",
        "catmem proposals --edit p-4be1c09a27 'Vendor is Zenith Ltd. from May on.'",
    ),
    apart={
        "interactive": "approve reject edit ended form",
        "approve": "reject edit ended",
        "reject": "edit ended",
        "edit": "ended",
    },
    needs={"reason": "reject"},
    writes={"actor": Actor},
    http=Http(
        "GET",
        "/mem/proposals",
        "List writes that wait for a person",
        "The oldest first. An agent gets its own, also those that were decided, and those it may approve.",
        "Proposals",
    ),
)
def proposals(
    call: Call,
    *,
    which: Annotated[list[str] | None, Option(argument=True, metavar="[ENTITY|ID]...")] = None,
    interactive: Annotated[bool, Option("Show each that waits, and ask.")] = False,
    approve: Annotated[bool, Option("Make the changes that these IDs propose.")] = False,
    reject: Annotated[bool, Option("Close these IDs; the proposer is shown the --reason.")] = False,
    edit: Annotated[bool, Option("Approve the ID, but its entry says the words behind it.")] = False,
    ended: Annotated[bool, Option("List those that wait no more, too.", "--all")] = False,
    reason: Annotated[str | None, Option("Why you --reject; the proposer is shown it.")] = None,
) -> Outcome:
    """List the changes of agents that wait for you: id, file, who, when, why, and what changes.

    A yes removes the lines with - and adds those with +. A proposal is stale if its entry was changed since: you see
    the entry before, as proposed, and now. Its ID shows also one that was decided. ENTITY is PROFILE/user or
    PROFILE/memory; PROFILE alone means both files.

    Answers to --interactive: y approves, n REASON rejects, e WORDS approves in other words, s skips, a approves this
    one and all later ones of the same profile and categories, q quits, ? explains. In a pipe each line is one.

    Exit status 3: a decision was refused, and the others were made; 1: --interactive left some undecided.
    """
    if call.interface == "http":
        disclosed_ones, unreadable = disclosed_all(call.root, call.actor)
        known = list(map(_of_entity, disclosed_ones))
        return Outcome(known, {"proposals": known}, unreadable)
    names = which or []
    if edit and len(names) < _ID_AND_WORDS:
        what = "Say in which words" if names else "Say which"
        raise UsageError(f"{what}: catmem proposals --edit {names[0] if names else 'ID'} WORDS.")
    if (approve or reject) and not names:
        raise UsageError(f"Say which: catmem proposals --{'approve' if approve else 'reject'} ID.")
    if edit:
        return _decide_each(call, "edit", names[:1], " ".join(names[1:]))
    if approve or reject:
        return _decide_each(call, "approve" if approve else "reject", names, reason)
    if len(names) > 1 and (interactive or ended or not _are_ids(call, names)):
        raise UsageError("Give one ENTITY, or only IDs.")
    if interactive:
        asked: Outcome = call.dialogue("proposals")(call.root, names[0] if names else None, **call.how).run()
        return asked
    return _list(call, names, ended=ended)


def _are_ids(call: Call, which: Sequence[str]) -> bool:
    """Whether these are ids of proposals, be they right or wrong, and no names of profiles or files."""
    like_ids = all(each.lower().startswith("p-") and "/" not in each for each in which)
    return bool(which) and like_ids and not any(has_profile(call.root.config, each) for each in which)


def _of_entity(answer: dict[str, Any]) -> dict[str, Any]:
    """The same with the name that the API has for an entity."""
    return {("entity_id" if name == "entity" else name): value for name, value in answer.items()}


def _list(call: Call, which: Sequence[str], *, ended: bool) -> Outcome:
    wrong: Sequence[CatmemError] = ()
    actor = call.values["actor"]
    if has_ids := _are_ids(call, which):
        found = [call.root.proposal(name, actor=actor) for name in which]
    else:
        # Which profiles there are, is not for all: a profile asks for all that it may know of.
        entity = which[0] if which and actor is None else None
        found, wrong = proposals_in(call.root, entity, actor=actor, ended=ended)
        found = [each for each in found if f"{each.entity}/".startswith("".join(f"{name}/" for name in which))]
    said = tuple(data_for(call.root, each, actor) for each in found)
    waits = any(each.is_open for each in found)
    go_on = f"'catmem proposals --interactive{call.root_words}' goes through them."
    more = go_on if waits else "No proposal waits."
    return Outcome(said, {"proposals": said}, wrong, notes=[] if has_ids or call.for_program else [more])


def decide(workspace: Workspace, how: str, name: str, words: str | None, actor: str | None) -> Decided:
    """Approve, perhaps in other ``words``, or reject, with a reason."""
    if how == "reject":
        return workspace.reject(name, reason=words, actor=actor)
    return workspace.approve(name, words=words, actor=actor)


def _decide_each(call: Call, how: str, names: Sequence[str], words: str | None) -> Outcome:
    """Decide on each; of several, one that is refused keeps no other from being decided."""
    done: list[Decided] = []
    refused: list[tuple[str, CatmemError]] = []
    for name in dict.fromkeys(names):
        try:
            done.append(decide(call.root, how, name, words, call.values["actor"]))
        except CatmemError as error:
            if len(names) == 1:
                raise
            refused.append((name, error))
    return Outcome(Decisions(done, refused), status=REFUSED if refused else 0)


_ProposalId = Annotated[str, P("Which one, such as p-1f0c2a4b6d.", called="id")]


@operation(
    "proposal",
    http=Http("GET", "/mem/proposals/{id}", "What became of one", "Its changes, and how it was decided.", "Proposal"),
)
def proposal(call: Call, *, name: _ProposalId) -> dict[str, Any]:
    """Show one proposal, also one that was decided."""
    said: dict[str, Any] = disclosed(call.root, name, call.actor)
    return said


@operation(
    "approve",
    http=Http(
        "POST",
        "/mem/proposals/{id}/approve",
        "Write what a proposal says",
        "For a person, and a profile that may_approve what others propose. 409 if an entry that it changes is stale.",
        "Decided",
    ),
)
def approve(
    call: Call,
    *,
    name: _ProposalId,
    words: Annotated[str | None, P("Other words for the one entry that the proposal makes.")] = None,
) -> Outcome:
    """Write what a proposal says."""
    done = call.root.approve(name, words=words, actor=call.actor)
    return Outcome(done, revision=done.revision)


@operation(
    "reject",
    http=Http(
        "POST",
        "/mem/proposals/{id}/reject",
        "Close a proposal",
        "For the same. Its proposer withdraws it so, and is shown the reason of others.",
        "Decided",
    ),
)
def reject(
    call: Call,
    *,
    name: _ProposalId,
    reason: Annotated[str | None, P("Why, for the proposer.", form={"maxLength": 500})] = None,
) -> Outcome:
    """Close a proposal, or withdraw it."""
    done = call.root.reject(name, reason=reason, actor=call.actor)
    return Outcome(done, revision=done.revision)


@operation(
    "review", examples=("catmem review", "catmem review -p trinity --state stale", "catmem review --list --format json")
)
def review(
    call: Call,
    *,
    profiles: Annotated[Sequence[str], P("Only the memory of this profile; repeatable. By default all.")] = (),
    category: InCategory = None,
    states: Annotated[
        Sequence[Literal["stale", "expired", "unverified", "future"]],
        P("Only facts that are this; repeatable. future: dated in the future."),
    ] = (),
    only_list: Annotated[bool, P("List what is due, and ask nothing, as --format json does.", "--list")] = False,
    as_of: AsOf = None,
) -> Outcome:
    """Walk the facts that are due, one by one: keep, edit, expire, remove or skip each.

    A fact is due if it is expired, dated in the future, without a date, or stale. They come in this order. Each
    answer is written at once, so you can stop anywhere.

    Answers: k the fact holds and is verified, e WORDS gives it other words, x it no longer holds, r removes it, s skips
    it, q quits, ? explains. At a terminal one key is enough (e ends with Enter); in a pipe each line is an answer.

    Exit status 1: some are left without an answer.
    """
    refuse_undeclared(call, category)
    review = Review(call.root, profiles=profiles, category=category, states=states, as_of=as_of)
    if not review.due():
        tell_of_category(call, category)
    asks = not (only_list or call.for_program)
    if only_list:
        call.show(review)
    left = call.dialogue("review")(review) if asks else 0
    said = {"as_of": review.as_of.isoformat(), "due": [jsonable(due) for due in review.due()]}
    for note in notes_of(call.root):
        call.tell(f"note: {note}")
    waiting = len(proposals_in(call.root)[0])
    if waiting and not call.for_program:
        waits = f"{counted(waiting, 'proposal')} of agents"
        call.tell(f"{waits}: 'catmem proposals --interactive{call.root_words}' goes through what waits.")
    return Outcome(None, said, review.unreadable, 0 if review.unreadable else int(bool(left)))
