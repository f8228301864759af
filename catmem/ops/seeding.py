"""Operations between profiles: seed slices of one to others, and promote what these learned."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

from catmem.config.profile import Profile, refuse_no_root
from catmem.errors import CatmemError, ForbiddenError, UnknownNameError
from catmem.jsonable import jsonable
from catmem.model.merge import Conflict
from catmem.names import TARGETS, Target
from catmem.ops.shared import CATEGORY, EITHER, TRIED, Actor, ExternalChange, Interactive, ReasonOption
from catmem.ops.table import NO_TOOL, ONLY_TOOL, Call, Http, Option, Outcome, P, Tool, UsageError, operation
from catmem.seeding.plan import HowSeeded, SeedPlan, SeedRequest, seed_order
from catmem.seeding.slices import Choice, FilePlan, conflict_id
from catmem.workspace.history import adopt, difference
from catmem.workspace.workspace import Workspace
from catmem.writing.request import How

if TYPE_CHECKING:  # what it loads takes long, and a seed needs none of it
    from catmem.proposals.promoting import Promoted

_Settlements: TypeAlias = Mapping[str, Choice]
"""What is said of conflicts, by the beginning of their ids; of all the others by an empty one."""
ReplaceCloned = Annotated[
    bool,
    Option(
        "In a clone of the source's file, as after 'hermes profile create --clone', remove the entries that the source "
        "has too and that no seed put there. All else stays."
    ),
]


@dataclass(frozen=True, slots=True)
class Seeds:
    """What seeds did, source by source, or would do; ``unreadable`` is what is wrong with other profiles."""

    plans: Sequence[SeedPlan]
    unreadable: Sequence[CatmemError]

    @property
    def done(self) -> bool:
        """Whether they were made."""
        return any(plan.done for plan in self.plans)

    @property
    def in_sync(self) -> bool:
        """Whether there is nothing to do."""
        return all(plan.in_sync for plan in self.plans)

    def __json__(self) -> dict[str, Any]:
        said = {"seeds": self.plans, "unreadable": self.unreadable}
        return said if self.done else {"in_sync": self.in_sync and not self.unreadable, **said}


@operation(
    "seed",
    examples=(
        "catmem seed orchestrator trinity neo --dry-run",
        "catmem seed orchestrator neo -c talk",
        "catmem seed orchestrator --all",
        "catmem seed orchestrator --all --interactive",
        "catmem seed --all --check",
    ),
    http=Http(
        "POST",
        "/seed",
        "Seed other profiles",
        "For a person and, from its own files, a profile of tier 1. Files that were refused make it a 409; the others "
        "are seeded.",
        "Seeded",
    ),
    records=True,
    tool=Tool(
        "Seed other profiles",
        "Copy slices of your files to profiles seeded from you (tier 1 only).",
        writes=True,
        repeats=True,
        destroys=True,
    ),
    apart={
        "targets": "everybody",
        "dry_run": "check interactive",
        "check": "interactive",
        "interactive": "settle form",
    },
)
def seed(
    call: Call,
    *,
    source: Annotated[str | None, P(argument=True, whose="profile", caller=ONLY_TOOL, needed=True)] = None,
    targets: Annotated[
        list[str] | None,
        P(
            "By default all that name the source in seed_from, but those of tier 3.",
            argument=True,
            whose="profile",
            form={"minItems": 1, "maxItems": 1000},
            brief="Profiles; by default all seeded from you.",
        ),
    ] = None,
    everybody: Annotated[
        bool,
        Option(
            "Every profile whose seed_from is SOURCE; of tier 3 only those that were seeded before. Without SOURCE: "
            "every source in turn, from the top down.",
            "--all",
        ),
    ] = False,
    dry_run: Annotated[bool, P("Write nothing; show what would change.", at=NO_TOOL)] = False,
    check: Annotated[bool, Option("Write nothing; exit status 1 if anything is out of date (for CI).")] = False,
    target: Annotated[Target | None, P("Only USER.md or only MEMORY.md.", brief=EITHER)] = None,
    categories: Annotated[
        list[str] | None,
        P(
            "Only this category; repeatable. Entries of others are neither copied nor removed.",
            form={"items": CATEGORY, "minItems": 1, "maxItems": 100},
            brief="Only these.",
        ),
    ] = None,
    settle: Annotated[
        Sequence[str],
        Option(
            "Settle conflicts: 'target' keeps its entries for good, 'source' takes the source's, 'both' keeps both. "
            "ID=SIDE settles one; repeatable.",
            "--resolve",
            metavar="[ID=]SIDE",
        ),
    ] = (),
    interactive: Interactive = False,
    replace_cloned: ReplaceCloned = False,
    actor: Actor = None,
    as_of: Annotated[date | None, Option("The day to judge dates by, YYYY-MM-DD. By default today.")] = None,
) -> Outcome:
    """Copy from SOURCE's files to those of each TARGET the entries whose categories the target's profile names.

    Run it again whenever the source has changed: its edits arrive, and what a target added or changed stays. What both
    changed is a conflict, which is left to you (exit status 3): --interactive asks who wins, --resolve says it.

    What was seeded stands in catmem.seed.lock; commit it with the files. Expired entries, and those that a prompt would
    withhold, are not seeded. What expires after it was seeded expires in the copies. With --all a profile that cannot
    be used is named in the end (exit status 2), and the others are seeded.
    """
    if call.interface != "command":
        return _of_agent(call, SeedRequest(str(source), targets, target, categories, actor=call.actor))
    settling, named = settlements(settle), targets or []
    _refuse_slips(call, settling)
    root = call.root
    how: HowSeeded = {
        "target": target, "categories": categories or None, "as_of": as_of, "actor": actor,
        "every_entry": check, "replace_cloned": replace_cloned,
    }  # fmt: skip
    settle_in = call.dialogue("seed")() if interactive else partial(settled, settling)

    def seeded(each: str, profiles: Sequence[str]) -> SeedPlan:
        plan = settle_in(partial(root.plan_seed, each, profiles, **how))
        return plan if dry_run or check else root.apply_seed(plan)

    seeds, unreadable = _seeds(root, source, named, everybody=everybody)
    done = Seeds([seeded(*each) for each in seeds], unreadable)
    ended = int(not done.in_sync) if check else max(each.exit_status for each in done.plans)
    return Outcome(done, problems=unreadable, status=0 if unreadable else ended)


def _of_agent(call: Call, asked: SeedRequest) -> Outcome:
    """What a seed did, for a caller at another interface: for a person all, for an agent numbers and no texts."""
    from catmem.seeding.planner import plan_seed, seed_answer

    if call.actor is not None:
        if call.session is not None and call.session.proposes:
            raise ForbiddenError("a seed cannot wait for a person", hint="A person may seed.")
        if asked.source != call.actor:
            said = f"{call.actor} may not seed that"
            raise ForbiddenError(said, hint="A profile of tier 1 seeds from its own files.")
    plan = plan_seed(call.root, asked)
    done = plan if call.dry_run else call.root.apply_seed(plan)
    if call.actor is None:
        failed = {"code": done.errors[0].code, "message": "some files were not seeded"} if done.errors else {}
        return Outcome({**jsonable(done), **failed}, conflict=bool(done.errors))
    answer = seed_answer(done)
    if call.interface == "http" and not answer["success"]:
        answer |= {"code": answer["reason"], "message": answer["error"]}
    return Outcome(answer, conflict=bool(done.errors))


def _refuse_slips(call: Call, settling: _Settlements) -> None:
    """Raise ``UsageError`` for options that do not go together."""
    source, targets = call.values["source"], call.values["targets"] or ()
    if not (call.values["everybody"] or (source and targets)):
        raise UsageError("Name the source and the targets, or give --all.")
    if any(settling) and source is None:
        raise UsageError("--resolve ID=SIDE goes with the SOURCE of that conflict.")
    if call.values["categories"] and source is None:
        raise UsageError("--category goes with the SOURCE that has it.")


def _seeds(
    root: Workspace, source: str | None, targets: Sequence[str], *, everybody: bool
) -> tuple[Sequence[tuple[str, Sequence[str]]], Sequence[CatmemError]]:
    """The sources with their targets, in the order in which they are seeded, and what is wrong with other profiles."""
    if not everybody:
        return [(str(source), targets)], ()
    sources, unreadable = seed_order(root)
    order = [each for each in sources.items() if source is None or each[0] == root.profile(source).name]
    if unreadable and not order:
        raise unreadable[0]
    if not order:
        refuse_no_root(root.config)
        said = "no profile has a seed_from" if source is None else f"no profile has seed_from: {source}"
        raise UsageError(f"There is no profile to seed: {said} (tier 3 does not count). Name the targets instead.")
    return order, unreadable


# --- conflicts -------------------------------------------------------------------------------------------------------


def settlements(values: Sequence[str]) -> _Settlements:
    """Read the values of --resolve. Raises ``UsageError``."""
    settling: dict[str, Choice] = {}
    for value in values:
        beginning, found, word = value.rpartition("=")
        side = next((each for each in get_args(Choice) if each == word), None)
        if side is None or (found and not beginning):
            said = f"{value!r} is none of target, source, both, ID=target, ID=source and ID=both"
            raise UsageError(f"Invalid value for '--resolve': {said}")
        if settling.setdefault(beginning, side) != side:
            raise UsageError("Invalid value for '--resolve': says two things of one conflict")
    return settling


def settled(settling: _Settlements, planned: Callable[..., SeedPlan]) -> SeedPlan:
    """The plan with the conflicts settled of which it is said what becomes of them; the others are open in it."""
    if not any(settling):
        return planned(resolve=settling.get(""))
    found = [name for name, _, _ in open_conflicts(planned())]
    chosen: dict[str, Choice] = dict.fromkeys(found, settling[""]) if "" in settling else {}
    for beginning, side in ((each, settling[each]) for each in settling if each):
        named = [name for name in found if name.startswith(beginning)]
        if len(named) != 1:
            there = ", ".join(named or found)
            raise UnknownNameError(
                f"{beginning!r} fits the ids of {len(named) or 'no'} open conflicts",
                code="unknown_conflict",
                hint=f"Nothing was seeded. {f'Name one of {there}.' if there else 'No conflict is open.'}",
            )
        chosen[named[0]] = side
    return planned(resolve=chosen)


def open_conflicts(plan: SeedPlan) -> list[tuple[str, FilePlan, Conflict]]:
    """The open conflicts of a plan by their ids."""
    return [(conflict_id(each.target, found), each, found) for each in plan.files for found in each.conflicts]


# --- operations that bring what specialists learned to their sources: promote ----------------------------------------


@dataclass(frozen=True, slots=True)
class Promotions:
    """What became of each; what a person rejected before is no failure."""

    each: "Sequence[Promoted]"
    dry_run: bool

    @property
    def failed(self) -> Sequence[CatmemError]:
        """Why some were refused."""
        return [one.error for one in self.each if one.error is not None and one.error.code != "rejected_before"]


@operation(
    "promote",
    examples=(
        "catmem promote",
        "catmem promote -p neo 'Releases are cut on Tuesdays'",
        "catmem promote -p neo 'Releases are cut' --to orchestrator --propose --reason 'All of them need it.'",
        "catmem promote --all",
    ),
    writes=TRIED,
    apart={"all_learned": "entry"},
    needs={"to": "entry"},
)
def promote(
    call: Call,
    *,
    entry: Annotated[str | None, P(argument=True)] = None,
    profile: Annotated[str | None, P("The profile whose memory this is.")] = None,
    to: Annotated[
        str | None, P("Where it goes. By default the profile that -p is seeded from.", metavar="NAME")
    ] = None,
    categories: Annotated[Sequence[str], P("The category of the ENTRY; without an ENTRY a selector, repeatable.")] = (),
    reason: ReasonOption = None,
    propose: Annotated[bool, P("Make it a proposal, which waits for a person.")] = False,
    all_learned: Annotated[
        bool,
        P(
            "Propose all that specialists added or reworded, in the categories of -c, else of approval.promote in "
            "catmem.yaml, else in all that both profiles name.",
            "--all",
        ),
    ] = False,
) -> Outcome:
    """Bring what a specialist added or reworded to the profile that it is seeded from.

    Without ENTRY it lists what specialists have and their source lacks, each with the entry that it would replace.
    What another program changed in the files of both is shown first.

    ENTRY is words of one entry of the profile of -p. If the source has an entry that says nearly the same, this rewords
    it. If another program changed that entry, the rewording waits as a proposal.

    With --all each fact becomes a proposal, which 'catmem proposals' lists, so you can run it nightly. Without ENTRY
    the exit status is that of what is refused, but for what you rejected before; 2 if a file cannot be read.
    """
    from catmem.proposals.promoting import promote as promoted
    from catmem.proposals.promoting import promote_learned, promoted_between, unmatched_selectors

    workspace = call.root
    if all_learned or entry is None:
        for selector, hint in unmatched_selectors(workspace, categories).items():
            if categories:
                raise UnknownNameError(f"no category fits {selector}", code="unknown_category", hint=hint)
            call.tell(f"no category fits {selector}, which approval.promote in catmem.yaml names. {hint}")
        dry_run = call.dry_run or not all_learned
        external = _external(call, promoted_between(workspace, profile)[0], dry_run=dry_run)
        learned, wrong = promote_learned(workspace, profile, categories=categories, dry_run=dry_run)
        done = Promotions(learned, dry_run)
        status = 0 if wrong else max((error.exit_status for error in done.failed), default=0)
        said = {"promoted": done.each, "external": external, "dry_run": dry_run, "unreadable": wrong}
        return Outcome(done, said, problems=wrong, status=status)
    if profile is None:
        raise UsageError("Say whose entry it is: -p NAME ENTRY.")
    if len(categories) > 1:
        raise UsageError("With an ENTRY, -c names its one category.")
    external = _external(call, promoted_between(workspace, profile, to)[0], dry_run=call.dry_run)
    how: How = {"reason": reason, "proposes": propose, "dry_run": call.dry_run}
    written = promoted(workspace, profile, entry, to, category=next(iter(categories), None), **how).written
    return Outcome(written, more={"external": external})


def _external(call: Call, sides: Iterable[tuple[Profile, Profile]], *, dry_run: bool) -> list[ExternalChange]:
    """Take what another program changed in the files of both sides into the history, and show it."""
    store, found = call.root.store, []
    for entity in dict.fromkeys(f"{each.name}/{target}" for pair in sides for each in pair for target in TARGETS):
        head, now = store.head(entity), store.read(entity)
        if head is None or head.digest == now.digest:
            continue
        changed = difference(call.root, entity, store.read(entity, head.revision).data, now.data)
        stays = dry_run or now.data.decode(errors="ignore").encode() != now.data  # what is no text stays for fsck
        found.append(ExternalChange(entity, None if stays else adopt(call.root, entity), changed))
        call.show(found[-1])
    return found
