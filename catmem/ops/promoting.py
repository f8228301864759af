"""Operations that bring what specialists learned to their sources: promote."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from catmem.errors import CatmemError, UnknownNameError
from catmem.names import TARGETS
from catmem.ops.shared import DryRun, OneFile, Reason
from catmem.ops.table import Call, Outcome, P, UsageError, operation
from catmem.text import text_diff

if TYPE_CHECKING:
    from catmem.config.profile import Profile
    from catmem.proposals.promoting import Promoted


@dataclass(frozen=True, slots=True)
class External:
    """What another program changed in a file, which is in the history now as ``revision``, unless it is a dry run."""

    entity: str
    revision: str | None
    diff: str


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
)
def promote(
    call: Call,
    *,
    entry: Annotated[str | None, P(argument=True)] = None,
    profile: Annotated[str | None, P("The profile whose memory this is.", "-p --profile", metavar="NAME")] = None,
    to: Annotated[
        str | None, P("Where it goes. By default the profile that -p is seeded from.", metavar="NAME")
    ] = None,
    target: OneFile = None,
    categories: Annotated[
        Sequence[str],
        P(
            "The category of the ENTRY; without one a selector, and can be given several times.",
            "-c --category",
            metavar="SLUG",
        ),
    ] = (),
    reason: Reason = None,
    propose: Annotated[bool, P("Have it wait as a proposal.")] = False,
    all_learned: Annotated[
        bool,
        P(
            "Propose all that specialists added or reworded, in the categories of -c, else of approval.promote in "
            "catmem.yaml, else in all that both profiles name.",
            "--all",
        ),
    ] = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Bring what a specialist added or reworded to the profile that it is seeded from.

    Without ENTRY it lists what there is. The list has what specialists have and their source has not, each with the
    entry that it would replace. ENTRY is words of one entry of the profile of -p. If the other profile has an entry
    that says nearly the same, this rewords it; if another program changed that entry, the rewording waits as a
    proposal. What another program changed in the files of both is shown first. With --all each fact becomes a proposal,
    which 'catmem proposals' lists: so it is safe to run nightly. The exit status is that of what was refused, but for
    what you rejected before.
    """
    from catmem.proposals.promoting import promote as promoted
    from catmem.proposals.promoting import promote_learned, promoted_between, unmatched_selectors

    workspace = call.root
    if all_learned or entry is None:
        if entry is not None or to is not None:
            raise UsageError("--all takes no ENTRY, and --to goes with an ENTRY.")
        for selector, hint in unmatched_selectors(workspace, categories).items():
            if categories:
                raise UnknownNameError(f"no category fits {selector}", code="unknown_category", hint=hint)
            call.tell(f"no category fits {selector}, which approval.promote in catmem.yaml names. {hint}")
        dry_run = dry_run or not all_learned
        external = _external(call, promoted_between(workspace, profile), dry_run=dry_run)
        done = Promotions(promote_learned(workspace, profile, categories=categories, dry_run=dry_run), dry_run)
        status = max((error.exit_status for error in done.failed), default=0) if all_learned else 0
        promotions = [one.to_dict() for one in done.each]
        return Outcome(done, {"promoted": promotions, "external": external, "dry_run": dry_run}, status=status)
    if profile is None:
        raise UsageError("Say whose entry it is: -p NAME ENTRY.")
    if len(categories) > 1:
        raise UsageError("With an ENTRY, -c names its one category.")
    external = _external(call, promoted_between(workspace, profile, to), dry_run=dry_run)
    which: dict[str, Any] = {"to": to, "target": target, "category": next(iter(categories), None)}
    written = promoted(workspace, profile, entry, **which, reason=reason, proposes=propose, dry_run=dry_run).written
    return Outcome(written, written and {**written.to_dict(), "external": external, "dry_run": dry_run})


def _external(call: Call, sides: "Iterable[tuple[Profile, Profile]]", *, dry_run: bool) -> list[dict[str, Any]]:
    """Take what another program changed in the files of both sides into the history, and show it."""
    from catmem.workspace.history import adopt, shown_text

    found = []
    store = call.root.store
    for entity in dict.fromkeys(f"{each.name}/{target}" for pair in sides for each in pair for target in TARGETS):
        head, now = store.head(entity), store.read(entity)
        if head is None or head.digest == now.digest:
            continue
        before, after = (shown_text(call.root, entity, each.data) for each in (store.read(entity, head.revision), now))
        difference = text_diff(before, after, f"a/{entity}", f"b/{entity}")
        changed = External(entity, None if dry_run else adopt(call.root, entity), difference)
        found.append(asdict(changed))
        call.show(changed)
    return found
