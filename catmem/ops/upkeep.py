"""Operations that look after files and stores: lint, schemas, fsck, doctor, purge, store."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from shutil import which
from typing import Annotated, Any, Literal

from catmem.config.config import Config, find_root
from catmem.config.profile import refuse_no_root
from catmem.errors import CatmemError, ConfigError
from catmem.jsonable import jsonable
from catmem.linting.root_lint import Linter
from catmem.linting.rule import LintResult, Severity, all_rules, rank, unknown_rule
from catmem.ops.shared import TRIED, AsOf, EntityArgument
from catmem.ops.table import DAMAGE, FINDINGS, STREAMED, Call, Outcome, P, UsageError, family, operation
from catmem.registry import registry
from catmem.resources import SCHEMA_NAMES, schema_path, schema_text
from catmem.resources import schema as parsed
from catmem.workspace.change_plan import ChangePlan, apply
from catmem.workspace.root import entities_of_each, run_git
from catmem.workspace.stores import shown_store


def _codes(option: str, values: Sequence[str] | None) -> list[str]:
    codes = [code.strip() for value in values or () for code in value.split(",") if code.strip()]
    if values and not codes:
        # A variable that a script forgot to set would stand for all rules.
        raise UsageError(f"{option} names no rule.")
    return codes


@dataclass(frozen=True, slots=True)
class FixesMade:
    """What fixes make of files, and how many findings they end."""

    plan: ChangePlan
    applied: int


@dataclass(frozen=True, slots=True)
class Linted:
    """What lint found, and what was fixed before."""

    linter: Linter
    found: LintResult
    fixed: FixesMade | None

    def __json__(self) -> dict[str, Any]:
        """JSON-ready, without secrets; ``errors`` are what could not be looked at."""
        from catmem.linting.renderers import render

        text = render(replace(self.found, min_severity="hint"), "json")
        return {**json.loads(text), "errors": self.found.errors}


@operation(
    "lint",
    opens="root",
    examples=("catmem lint", "catmem lint --fix homes/", "catmem lint --select CM2,CM6 --format sarif"),
    apart={"diff": "fix form"},
    needs={"unsafe_fixes": "fix diff"},
)
def lint(
    call: Call,
    *,
    paths: Annotated[list[str] | None, P(argument=True)] = None,
    fix: Annotated[bool, P("Apply safe fixes until nothing changes, then say what is left.")] = False,
    unsafe_fixes: Annotated[bool, P("With --fix or --diff: apply the fixes too that need a second look.")] = False,
    diff: Annotated[bool, P("Write nothing; print what --fix would change; exit 1 if anything.")] = False,
    select: Annotated[list[str] | None, P("Only these rules: CM203, or CM2.", metavar="CODES")] = None,
    ignore: Annotated[list[str] | None, P("Not these rules.", metavar="CODES")] = None,
    form: Annotated[
        Literal["text", "json", "github", "sarif"],
        P("For people, for programs, for GitHub's checks, or for code scanners.", "--format"),
    ] = "text",
    min_severity: Annotated[
        Literal["error", "warning", "hint"] | None,
        P("Show nothing milder, and fail for nothing milder; it is counted all the same."),
    ] = None,
    as_of: AsOf = None,
) -> Outcome:
    """Find what is wrong in memory files, profiles and catmem.yaml.

    PATHS are files or folders; without any it looks at all below the root. The text for people counts hints, and shows
    them with --select or --min-severity hint. Copies of one fact make one finding.

    Exit status 0 if there are hints at most, 1 with errors or warnings, 2 if the configuration is wrong (all other
    files are looked at too).
    """
    chosen: dict[str, Any] = {"as_of": as_of, "paths": paths or ()}
    chosen |= {"select": _codes("--select", select), "ignore": _codes("--ignore", ignore)}
    folder = call.named_root or find_root(".") or "."
    linter, fixed, status = Linter.open(folder, **chosen), None, 0
    if fix or diff:
        fixed = _fixed(linter, unsafe=unsafe_fixes, writes=not diff)
        status = fixed.plan.exit_status
        if diff:
            return Outcome(fixed, STREAMED, status=max(status, int(fixed.plan.changes), 2 * bool(linter.errors)))
        linter = Linter.open(folder, **chosen)
    found = linter.run()
    found = replace(found, min_severity=min_severity or found.min_severity)
    if not paths and not found.files:
        refuse_no_root(linter.root.config)  # a slip of the folder must not look like a clean root
    if paths and not found.files and not found.errors:
        raise ConfigError(
            "there is nothing to lint in what was named",
            code="nothing_to_lint",
            path=paths[0],
            hint="In a folder it looks at USER.md, MEMORY.md, profiles and catmem.yaml. Name any other file.",
        )
    if not call.for_program:
        once = (each.with_copies(copies) for each, copies in linter.once(found.diagnostics))
        found = replace(found, diagnostics=tuple(once))
    if form == "text" and not call.for_program:
        shown: Severity = "hint" if select or min_severity else "warning"
        found = replace(found, min_severity=min(found.min_severity, shown, key=rank))
    return Outcome(Linted(linter, found, fixed), STREAMED, problems=found.errors, status=max(status, found.exit_status))


def _fixed(linter: Linter, *, unsafe: bool, writes: bool) -> FixesMade:
    """What fixes make of the files, which are written if that is wanted."""
    texts, done = linter.fix(unsafe=unsafe)
    plan = ChangePlan(tuple(linter.planned(name, text) for name, text in texts.items()))
    return FixesMade(apply(plan, linter.write) if writes else plan, len(done))


@operation("rule", rooted=False, examples=("catmem rule", "catmem rule CM203"))
def rule(_: Call, *, code: Annotated[str | None, P(argument=True)] = None) -> Outcome:
    """Print the page of a lint rule, or without CODE a line of each. CODE is its code or its name."""
    rules = all_rules()
    if code is None:
        return Outcome([*rules.values()], {"rules": [*rules.values()]})
    by_name = {rule.name: rule for rule in rules.values()}
    found = rules.get(code.upper()) or by_name.get(code)
    if found is None:
        raise unknown_rule(code)
    return Outcome(found)


# --- operations on schemas: print those of what catmem reads and prints ----------------------------------------------


@operation("schema", rooted=False, examples=("catmem schema", "catmem schema profile"))
def schema(_: Call, *, name: Annotated[str | None, P(argument=True)] = None) -> Outcome:
    """Print a JSON schema of what catmem reads and prints, for editors and other programs.

    NAME is profile, config, tags and so on. Without it, it lists the schemas with their $id and what they describe;
    with --format json also their files.
    """
    if name is not None:
        return Outcome(schema_text(name), STREAMED)
    rows = []
    for each in SCHEMA_NAMES:
        said = parsed(each)
        more = {key: said[key] for key in ("title", "description")}
        rows.append({"name": each, "id": said["$id"], **more, "path": str(schema_path(each))})
    return Outcome(rows, {"schemas": rows})


@operation(
    "fsck",
    examples=(
        "catmem fsck",
        "catmem fsck --repair",
        "catmem fsck trinity/user --repair",
        "catmem fsck --anchors > anchors.jsonl",
        "catmem fsck --check anchors.jsonl",
    ),
    opens="look",
    apart={"ends": "entity repair check", "check": "entity repair"},
)
def fsck(
    call: Call,
    *,
    entity: Annotated[str | None, P(argument=True)] = None,
    repair: Annotated[bool, P("Mend what is safe to mend. What cannot be used is moved aside, and kept.")] = False,
    ends: Annotated[
        bool, P("Print where the history of each folder ends, one JSON object a line.", "--anchors")
    ] = False,
    check: Annotated[
        str | None,
        P(
            "Say whether the histories still hold what FILE, from an earlier --anchors, says; or -.",
            metavar="FILE",
            file=True,
        ),
    ] = None,
) -> Outcome:
    """Check every file and its history: what is damaged, and what is only worth knowing.

    Exit status 4 if something is damaged (and, with --repair, still is), 1 if a file is no text, 2 if a profile is not
    right, so that its files could not be looked at, else 0.

    With ENTITY it plans how to mend a file that is not UTF-8: it reads such bytes as Windows-1252. Without --repair it
    only shows the plan: exit status 1 if there is something to mend.
    ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.

    Each record of a history vouches for those before it, and none for the last ones: only an anchor that is kept
    elsewhere reveals that a history was cut short or put back. Exit status 4 if --check finds that.
    """
    from catmem.workspace import upkeep

    if entity is not None:
        return _repaired(call, entity, yes=repair)
    if ends:
        found = upkeep.anchors(call.root)
        return Outcome(found, problems=found.unreadable)
    if check is not None:
        checked = upkeep.check_anchors(call.root, check)
        return Outcome(checked, status=DAMAGE if checked.faults else 0)
    report = upkeep.fsck(call.root, repair=repair)
    status = DAMAGE if report.damaged else FINDINGS if any(fault.code == "not_utf8" for fault in report.faults) else 0
    return Outcome(report, problems=report.unreadable, status=status)


def _repaired(call: Call, entity: str, *, yes: bool) -> Outcome:
    from catmem.workspace.formatting import plan_repair, write_repaired

    plan = plan_repair(call.root, entity)
    if not yes:
        return Outcome(plan, status=FINDINGS if plan.changed else 0)
    # The first note says what a repair would do, so one that is made goes without it.
    notes = plan.notes[1:] if plan.changes else plan.notes
    done = apply(replace(plan, notes=notes), partial(write_repaired, call.root))
    return Outcome(done, problems=done.errors)


@operation("doctor", examples=("catmem doctor", "catmem doctor --format json"), opens="look")
def doctor(call: Call) -> Outcome:
    """Say where memory and tokens are: the file system and the history of each folder, or what the database gives.

    It names plugins, also those that cannot be loaded, and says if git would commit the history.

    Exit status 2 if a profile cannot be used, so that its folder is unknown.
    """
    from catmem.workspace import upkeep

    report = upkeep.doctor(call.root)
    tokens, plugins = _tokens(call.root.config), registry().plugins
    said = {**jsonable(report), "tokens": tokens, "plugins": plugins}
    # Of no repository git says 128.
    loose = which("git") and run_git("-C", report.root, "check-ignore", "-q", ".catmem/journal").returncode == 1
    notes = ["warning: git does not ignore .catmem/: a commit takes in the history. Add it to .gitignore"] * bool(loose)
    return Outcome((report, tokens), said, notes=notes, problems=report.unreadable)


def _tokens(config: Config) -> dict[str, Any]:
    """Where the tokens of callers are, how many, why they are wanted, and why they cannot be read."""
    from catmem.envelopes.tokens import read_tokens, tokens_place, why_wanted

    said: dict[str, Any] = {"path": None, "count": None, "wanted": None, "note": None}
    try:
        path = tokens_place(config)
        said |= {"path": str(path), "wanted": why_wanted(config, path)}
        said["count"] = len(read_tokens(path))
    except CatmemError as error:
        said["note"] = error.message
    return said


@operation(
    "purge",
    examples=(
        "catmem purge trinity/user 'The card number is' --dry-run",
        "catmem purge trinity/user - --every --yes < secret.txt",
    ),
    writes=TRIED,
)
def purge(
    call: Call,
    *,
    entity: EntityArgument,
    old: Annotated[str, P(argument=True, stdin=True)],
    every: Annotated[bool, P("Erase all entries that hold OLD, also where several do now.", "--every")] = False,
    yes: Annotated[bool, P("Do it. It cannot be undone.")] = False,
) -> Outcome:
    """Erase an entry from ENTITY and its whole history, from backups, and from the files of all other profiles.

    OLD is a piece of the text of one entry, its id, or - for stdin. Older wordings that held OLD go too; an id erases
    that body alone. If several entries hold OLD now, nothing is erased without --every; --dry-run lists them. Exit
    status 1 if something could not be reached, which is named. ENTITY is PROFILE/user or PROFILE/memory; PROFILE
    alone means PROFILE/user.

    Of an entity that catmem.yaml declares, such as project:alpha, each revision, branch and copy that holds OLD goes
    whole.
    """
    from catmem.workspace import purging

    if yes == call.dry_run:
        raise UsageError("Purging cannot be undone. See what would go with --dry-run, then do it with --yes.")
    report = purging.purge(call.root, entity, old, every=every, dry_run=call.dry_run)
    return Outcome(report, status=FINDINGS if report.left and not call.dry_run else 0)


family(
    "store",
    """Say what the store of a root keeps, or copy it to another kind of store, with its whole history.""",
    ("catmem store info", "catmem store copy files sqlite:///.catmem/memory.db"),
)


@operation("store info", examples=("catmem store info", "catmem store info --format json"))
def info(call: Call) -> Outcome:
    """Print where a root keeps its entities, and how many revisions and unmerged branches each has.

    In a database also its generation, which counts changes of its rows. `4, found 7` means that another program changed
    them since generation 4; the next write records that.

    Exit status 2 if a profile cannot be used, so that the place of its files is unknown.
    """
    from catmem.workspace.copying import store_info

    refuse_no_root(call.opener("root").config)  # a database would be made there
    workspace = call.root
    found = store_info(workspace.store)
    unreadable = () if workspace.store.has_catalog else entities_of_each(workspace).unreadable
    said = {"store": shown_store(workspace.config.store), "entities": found, "unreadable": unreadable}
    return Outcome(found, said, problems=unreadable)


@operation(
    "store copy",
    examples=(
        "catmem store copy files sqlite:///.catmem/memory.db",
        "catmem store copy files postgresql://db.example.com/memory",
        "catmem store copy sqlite:///.catmem/memory.db files",
    ),
    opens="root",
)
def copy(
    call: Call,
    *,
    source: Annotated[str, P(argument=True, metavar="FROM")],
    target: Annotated[str, P(argument=True, metavar="TO")],
) -> Outcome:
    """Copy all entities of a root from one store to another, with their whole history, and compare the two.

    FROM and TO are values of `store` in catmem.yaml, as in the examples above. FROM is only read; let nothing write
    to it during the copy. If TO has a history of an entity of FROM, nothing is copied: after a copy that was stopped,
    remove TO first.

    Rows of a database that are no entries, or of no profile, are refused: nothing is copied before you mend or delete
    them.
    """
    from catmem.workspace.copying import copy_root

    copied = copy_root(call.root, source, target)
    return Outcome(copied, {"from": shown_store(source), "to": shown_store(target), "entities": copied})
