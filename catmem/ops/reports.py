"""Reports on a whole root: what is next, who may do what, and what prompts save."""

from collections.abc import Mapping
from typing import Annotated

from catmem.config.profile import refuse_no_root
from catmem.ops.shared import AsOf, ExternalChange
from catmem.ops.table import Call, Outcome, P, operation
from catmem.store.contract import EXTERNAL
from catmem.workspace.reports import AccessExplanation, explain, read_access, read_stats


@operation("status", examples=("catmem status", "catmem status --adopt", "catmem status --check --format json"))
def status(
    call: Call,
    *,
    adopt: Annotated[bool, P("Show what other programs changed, and take it into the history.")] = False,
    check: Annotated[bool, P("Exit status 1 if anything is on the list.")] = False,
    as_of: AsOf = None,
) -> Outcome:
    """Print what is next, in the order in which you best do it, each line with its command.

    First come a catmem.yaml that is missing or says nothing, git's conflict markers, entries with a secret or hostile
    text, entries without room in a prompt or without a category, and what other programs took out or changed. Then come
    categories that no specialist reads, entries that the file's own profile does not read, seeds, branches and
    proposals, what specialists added or reworded, and facts that are due for review.

    Exit status 0, also if something waits (then 1 with --check); 2 if a profile or a file cannot be read.
    """
    from catmem.workspace.overview import next_steps

    found = next_steps(call.root, as_of)
    adopted = _adopt(call, found.overview.outside) if adopt else []
    if adopted:
        found = next_steps(call.root, as_of)
    status = 0 if found.unreadable else int(check and bool(found.steps))
    return Outcome(found, more={"adopted": adopted} if adopt else {}, problems=found.unreadable, status=status)


def _adopt(call: Call, outside: Mapping[str, str]) -> list[ExternalChange]:
    """Show what another program changed in each, and take it into its history as seen."""
    from catmem.workspace.history import adopt, difference

    store, adopted = call.root.store, []
    for entity, whole in outside.items():
        now = store.read(entity)
        own = (each for each in store.log(entity) if each.agent != EXTERNAL and not each.is_branch)
        before = store.read(entity, whole or next((each.revision for each in own), "0"))
        changed = difference(call.root, entity, before.data, now.data)
        adopted.append(ExternalChange(entity, adopt(call.root, entity, expected=now.digest, seen=True), changed))
        call.show(adopted[-1])
    return adopted


@operation(
    "access",
    opens="root",
    examples=("catmem access", "catmem access -p trinity -p neo", "catmem access --why trinity finance-payroll"),
    apart={"why": "profiles"},
)
def access(
    call: Call,
    *,
    why: Annotated[
        list[str] | None,
        P(
            "Say what decides whether PROFILE reads, may write and may verify CATEGORY (slug, title or alias), and "
            "where it stands.",
            metavar="PROFILE CATEGORY",
            words_at_once=2,
        ),
    ] = None,
    profiles: Annotated[list[str] | None, P("Only this profile; repeatable.")] = None,
) -> Outcome:
    """Print who reads and who may write which category, over all profiles of the root.

    r reads, rw reads and may write, d may write and not read, . neither. USER.md and MEMORY.md count together; the page
    and --format json have each. With too many profiles for columns, each category has a line with their names.

    Below stand the categories that most profiles read, and those that only tier 1 or no profile reads. An entry that
    several files have counts once. The last table has the entities that catmem.yaml declares: who writes, who only
    reads.

    Exit status 2 if a profile or a file cannot be read; the report has all others.
    """
    refuse_no_root(call.root.config)
    if why is not None:
        found: AccessExplanation = explain(call.root, *why)
        if found.note is not None:
            call.tell(found.note)
        return Outcome(found, problems=found.problems)
    read = read_access(call.root, profiles or ())
    more = {"entities": [*call.root.config.entities.values()], "problems": read.problems}
    return Outcome(read, more=more, problems=read.problems)


@operation(
    "stats",
    opens="read",
    examples=("catmem stats", "catmem stats --from orchestrator", "catmem stats --as-of 2026-11-21"),
)
def stats(
    call: Call,
    *,
    source: Annotated[str | None, P("Read the files of this profile instead of their own.")] = None,
    as_of: AsOf = None,
) -> Outcome:
    """Print what each prompt saves beside flat files, and what it keeps out.

    prompt is what 'catmem prompt' prints. flat is what an agent without catmem loads: the texts of all entries of the
    same files (of a seeded profile those of its source), without tags and headers. Both stand in characters, then in
    estimated tokens (docs/fleet.md). entries are those that the profile sees, of those in the files.

    The words behind say what the prompt leaves out, what is stale or unverified, and how full budgets and limits are.
    In the total a file counts once for each profile that reads it.

    Exit status 2 if a profile or a file cannot be read; the report has all others.
    """
    refuse_no_root(call.root.config)
    found = read_stats(call.root, source=source, as_of=as_of)
    return Outcome(found, problems=found.problems)
