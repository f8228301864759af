"""Operations on branches, recovery copies and the merge of git: list, merge, bring back what a file lacks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from catmem.config.config import find_root
from catmem.errors import CatmemError, EditError, MergeConflictError, UnreadableError
from catmem.files import read_bounded
from catmem.merging.branches import HowDecided, branches_of_all
from catmem.merging.merging import Difference, Reconciliation, reconcile
from catmem.model.document import Document, Entry, Version, parse
from catmem.model.merge import Conflict, Side
from catmem.names import is_declared
from catmem.ops.http_memory import with_head
from catmem.ops.seen import without_texts
from catmem.ops.shared import TRIED, Actor, AllowSecret, Interactive
from catmem.ops.table import FINDINGS, PROFILE, REFUSED, Call, Http, Option, Outcome, P, UsageError, operation
from catmem.syntax.scan import unclosed_spans
from catmem.text import MAX_FILE_BYTES, printable
from catmem.workspace.root import run_git
from catmem.workspace.workspace import Workspace
from catmem.writing.written import Written


@operation(
    "branches",
    examples=("catmem branches", "catmem branches trinity/user --format json"),
    http=Http(
        "GET",
        "/mem/branches",
        "List branches that are not merged",
        "Of an entity, or of all. For a person and a profile of tier 1.",
        "Branches",
    ),
    tier_1="look at branches",
)
def branches(
    call: Call,
    *,
    entity: Annotated[str | None, P("Of this entity only.", argument=True, called="entity_id", whose="file")] = None,
) -> Outcome:
    """List the branches of ENTITY, or of all files, that are not merged yet: name, origin, who, age, what, outlook.

    A branch is a write that was made on an older revision (--on-stale branch, or on_stale in catmem.yaml). What it says
    is not in the file until 'catmem merge' brings the two together. ENTITY is PROFILE/user or PROFILE/memory; PROFILE
    alone means PROFILE/user.
    """
    if entity is not None:
        one = call.root.branches(entity)
        return Outcome(one, {"branches": one})
    found, unreadable = branches_of_all(call.root)
    return Outcome(found, {"branches": found}, unreadable)


def _winners(named: str) -> str | list[str]:
    if named in {"ours", "theirs", "both"}:
        return named
    names = [name.strip() for name in named.split(",") if name.strip()]
    if not names:
        raise UsageError(
            "--precedence needs ours, theirs or both, or the name of an agent, or several with commas between."
        )
    return names


@operation(
    "merge",
    examples=(
        "catmem merge trinity",
        "catmem merge trinity/user 8a --dry-run",
        "catmem merge trinity --precedence ours",
        "catmem merge trinity --precedence auditor,planner",
        "catmem merge trinity --interactive",
        "catmem merge trinity 8a --drop",
        "catmem merge --all --dry-run",
        "catmem merge homes/trinity/USER.md.bak.20261121T120000Z",
        "catmem merge homes/trinity/USER.md.bak.20261121T120000Z --entry 2 --entry 5",
    ),
    http=Http(
        "POST",
        "/mem/merge",
        "Merge branches into the head",
        "For a person and a profile of tier 1. A conflict that nothing decides is a 409, and nothing is written.",
        "Merged",
    ),
    records=True,
    writes={"actor": Actor, **TRIED},
    apart={"interactive": "precedence drop every form", "drop": "precedence every", "numbers": "every"},
)
def merge(
    call: Call,
    *,
    entity: Annotated[str | None, P(argument=True, called="entity_id", whose="file", needed=True)] = None,
    branches: Annotated[
        list[str] | None,
        P(
            "All, if none is named.",
            argument=True,
            metavar="[BRANCH]...",
            form={"items": {"pattern": "^[1-9][0-9]{0,11}[a-z]{1,8}$"}, "maxItems": 100},
        ),
    ] = None,
    precedence: Annotated[
        str | list[str] | None,
        P(
            "Who wins conflicts: ours (the file), theirs (the branch), or both (both entries stay; of two tags, "
            "categories or titles those of the file). Or names of agents: the side wins whose last agent stands first.",
            metavar="WHO",
            form={
                "anyOf": [
                    {"enum": ["ours", "theirs", "both"]},
                    {"type": "array", "items": {"type": "string", **PROFILE}, "minItems": 1, "maxItems": 100},
                ]
            },
        ),
    ] = None,
    interactive: Interactive = False,
    drop: Annotated[bool, P("Close the branches, and take nothing from them; the history keeps them.")] = False,
    every: Annotated[
        bool,
        Option(
            "Merge all branches of the root that merge by themselves. Of a copy, bring over all, and accept entries "
            "over the limit of the file."
        ),
    ] = False,
    numbers: Annotated[list[int] | None, Option("Of a copy, bring over this entry; repeatable.", "--entry")] = None,
    allow_secret: AllowSecret = False,
) -> Outcome:
    """Merge the branches of ENTITY, or those that are named, into its file, as one revision.

    A change on one side only, or the same on both, merges by itself. If both sides changed one entry, nothing is
    written until you say who wins (--precedence, --interactive): exit status 3. 'catmem branches' lists what waits
    for a merge. ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.

    --all in place of ENTITY merges every branch of the root that merges by itself, as one revision a file. Those with
    conflicts are left (exit status 3).

    The path of a recovery copy (USER.md.bak.…) in place of ENTITY lists what the copy has and its file lacks, or has in
    other words (exit status 1 if there is something). --all or --entry brings it over: entries and tags are added, and
    no word of the file goes. --all also accepts an entry that is longer than the whole file may be, for which no agent
    may change the file.
    """
    if entity is not None and "." in entity and call.interface == "command":
        return _reconciled(call, entity, numbers or (), everything=every)
    if numbers:
        raise UsageError("--entry is for a recovery copy.")
    if every == (entity is not None):
        raise UsageError("Give either the ENTITY whose branches are merged, or --all for those of all files.")
    chosen: HowDecided = _winners(precedence) if isinstance(precedence, str) else precedence
    if drop and not branches and call.interface == "command":
        raise UsageError("Name the branches that --drop closes.")
    root = call.root
    if interactive:
        chosen = call.dialogue("merge")(root.config, {"actor": call.values["actor"], "allow_secret": allow_secret})
    if entity is None:
        everything = root.merge_all(precedence=chosen, **call.how)
        problems = everything.unreadable
        status = max([REFUSED if everything.left else 0, *(each.exit_status for each in problems)])
        return Outcome(everything, problems=problems, status=status)
    how: dict[str, Any] = {"precedence": chosen, "drop": drop, **call.how}
    try:
        with with_head(call, {"entity_id": entity}):
            # The dialogue has asked about each secret.
            joined = root.merge(entity, branches or (), allow_secret=interactive, session=call.session, **how)
    except MergeConflictError as error:
        if call.actor is not None and not is_declared(entity):
            error.conflicts = tuple(map(without_texts, error.conflicts))
        raise
    return Outcome(joined, status=REFUSED if joined.conflicts else 0, revision=joined.revision)


# --- recovery copies: what a file lacks of one, entry by entry -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a file lacks of a copy, and what was written."""

    found: Reconciliation
    chosen: Sequence[Difference]
    written: Written | None
    accepts: bool


def _reconciled(call: Call, copy: str, numbers: Sequence[int], *, everything: bool) -> Outcome:
    """Bring over what the file of a recovery copy lacks of it."""
    if call.dry_run and not (everything or numbers):
        raise UsageError("--dry-run needs --all or --entry: without a choice nothing is written.")
    others = call.given - {"entity", "numbers", "every", "dry_run"}
    if others:
        raise UsageError("Recovery copies are brought over one at a time, with --all, --entry and --dry-run alone.")
    found = reconcile(call.root, copy)
    chosen = found.differences if everything else _numbered(found, numbers or ())
    written = found.write_chosen(call.root, chosen, dry_run=call.dry_run) if chosen else None
    accepts = everything and bool(found.over)
    if accepts and not call.dry_run:
        found.accept(call.root)
    to_do = (written is None and found.differences) or (found.over and not accepts)
    said = {
        "entity": found.entity,
        "copy": str(found.copy),
        "entries": found.differences,
        "over_limit": [{"id": each.id, "category": each.category, "size": len(each.raw)} for each in found.over],
        "accepted": accepts and not call.dry_run,
        "written": written,
        "dry_run": call.dry_run,
    }
    return Outcome(Reconciled(found, chosen, written, accepts), said, status=FINDINGS if to_do else 0)


def _numbered(found: Reconciliation, numbers: Sequence[int]) -> list[Difference]:
    by_number = {each.number: each for each in found.differences}
    lacks = f"it lacks {', '.join(map(str, by_number))}" if by_number else "the file has all that the copy has"
    for number in numbers:
        if not 1 <= number <= found.count:
            said = f"there is no entry {number}; the copy has 1 to {found.count}"
            raise UsageError(f"Invalid value for --entry: {said}.")
        if number not in by_number:
            raise UsageError(f"Invalid value for --entry: the file has entry {number} of the copy already; {lacks}.")
    return [by_number[number] for number in sorted(set(numbers))]


_STOP = 129
"""The least status with which git gives the whole merge up."""
_GitFile = Annotated[str, P(argument=True)]


@operation(
    "merge-driver",
    examples=("catmem merge-driver %O %A %B %P", "catmem merge-driver old.md ours.md theirs.md homes/neo/USER.md"),
    formats=False,
    options_first=True,
)
def merge_driver(
    call: Call,
    *,
    base: _GitFile,
    ours: _GitFile,
    theirs: _GitFile,
    name: Annotated[str | None, P(argument=True, metavar="[PATH]")] = None,
) -> Outcome:
    """Merge the files OURS and THEIRS, which come from BASE, by entry, and write the result to OURS.

    git runs this, by the line that 'catmem init --git' writes into its configuration. PATH is where the file stands
    in the repository; its root says what aliases mean. A catmem.seed.lock is merged by what it means.

    Exit status 1 if there are conflicts. Each stands in the file as one entry, both sides between git's marks. A file
    that is not UTF-8 or too large gets git's own conflict.
    """
    name = name or ours
    try:
        text, conflicts = _merged(call, name, *map(Path, (base, ours, theirs)))
    except CatmemError as error:
        _leave_to_git(call, base, ours, theirs)
        error.path, error.exit_status = name, FINDINGS
        error.hint = "The file is as git merges it, line by line. Mend it by hand, then 'git add' it."
        raise
    except BaseException:
        _leave_to_git(call, base, ours, theirs)  # whatever it was, our side alone must not pass for the merge
        raise
    _write(Path(ours), text)
    return Outcome((name, conflicts), status=FINDINGS if conflicts else 0)


def _merged(call: Call, name: str, *sides: Path) -> tuple[str, Sequence[Conflict]]:
    """The text of a merge, and what a person has to look at in it."""
    from catmem.seeding.seed_lock import LOCK_LIMIT, LOCK_NAME

    if Path(name).name == LOCK_NAME:
        return _merged_locks(_root(call, name), *(read_bounded(path, LOCK_LIMIT) for path in sides)), ()
    texts = [read_bounded(path, MAX_FILE_BYTES) for path in sides]
    from catmem.model.merge import merge

    root = _root(call, name)  # without one, every level-2 heading opens a section
    documents = [(root.parse if root else parse)(text) for text in texts]
    return merge(*documents, precedence=_marked).text, merge(*documents).conflicts


def _marked(conflict: Conflict) -> Version | Side:
    """What stands for a conflict: both sides between the marks of git, each with its tags. A title has no place."""
    ours, theirs = conflict.ours, conflict.theirs
    if conflict.reason == "title":
        return "ours"
    if any(unclosed_spans(side.text) for side in (ours, theirs) if side is not None):
        raise EditError("a side of a conflict opens a fence and does not close it", code="not_possible")
    said = ["" if side is None else f"{side.text}\n" for side in (ours, theirs)]
    names = [f": {side.category}" if side and conflict.reason == "category" else "" for side in (ours, theirs)]
    text = f"<<<<<<< ours{names[0]}\n{said[0]}=======\n{said[1]}>>>>>>> theirs{names[1]}"
    place = next(side for side in (ours, theirs) if side is not None)
    return Version(place.category, text, {}, text)


def _merged_locks(root: Workspace | None, *sides: bytes) -> str:
    from catmem.seeding.seed_lock import SeedLock, merge_locks, read_lock

    locks = map(read_lock, sides)
    was, mine, other = (each.renamed(root.config.taxonomy.of_slug) for each in locks) if root else locks
    for side in (mine, other):
        if side.notes:
            raise UnreadableError(f"a side of the merge {side.notes[0]}", code="not_mergeable")
    # A base that is not whole tells nothing: then only what both sides hold is sure.
    return merge_locks(SeedLock() if was.notes else was, mine, other).to_text()


def _root(call: Call, name: str) -> Workspace | None:
    """The root of a file, which says what its categories are called."""
    root = call.named_root or find_root(Path(name).parent)
    return None if root is None else Workspace.open(root, search=False)


def _leave_to_git(call: Call, base: str, ours: str, theirs: str) -> None:
    """Let git merge the lines, conflict marks and all. A file that it takes for binary stays as our side has it."""
    labels = [part for label in ("ours", "base", "theirs") for part in ("-L", label)]
    try:
        done = run_git("merge-file", *labels, "--", ours, base, theirs)
    except OSError as error:
        call.tell(f"git merge-file cannot be run: {error.strerror or error}")
        return
    if done.stderr:
        call.tell(done.stderr.rstrip("\n"))


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode())
    except OSError as error:
        failed = UnreadableError(
            f"cannot be written: {error.strerror or error}",
            code="not_writable",
            path=path,
            hint="git stops this merge. Check the disk, then merge again.",
        )
        failed.exit_status = _STOP
        raise failed from error


def git_text(data: bytes) -> str:
    """The text for ``data``. What is no memory file is shown as it is, since git gives up on a diff that fails."""
    try:
        document = parse(data)
    except CatmemError as error:
        return printable(f"({error.message})\n{data.decode(errors='backslashreplace')}")
    # Titles and not categories: git calls this for copies of the file that lie in no root.
    return printable("".join(f"{line}\n" for line in _text_lines(document)))


def _text_lines(document: Document) -> Iterator[str]:
    if document.title is not None:
        yield f"# {document.title}"
    sections = document.sections
    first = sections[0].start if sections else len(document.text)
    yield from (line for entry in document.entries_between(0, first) if entry.start < first for line in _entry(entry))
    for section in sections:
        yield ""
        yield f"## {section.title}"
        for entry in document.entries_between(section.header_end, section.end):
            if section.header_end <= entry.start < section.end:
                yield from _entry(entry)


def _entry(entry: Entry) -> Iterator[str]:
    lines = entry.body.split("\n")
    yield f"- {lines[0]}".rstrip()
    yield from (f"  {line}".rstrip() for line in lines[1:])
    for key, value in sorted(entry.tags.items()):
        yield f"  [{key}: {value if isinstance(value, str) else ', '.join(value)}]"
