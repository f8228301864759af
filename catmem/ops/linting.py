"""Operations of lint: find what is wrong, print the page of a rule, and the schemas of what catmem reads."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from catmem.errors import CatmemError, ConfigError
from catmem.jsonable import jsonable
from catmem.linting.diagnostic import Severity
from catmem.linting.root_lint import Linter, LintResult
from catmem.linting.rule import Rule
from catmem.ops.shared import AsOf
from catmem.ops.table import ONLY_COMMAND, STREAMED, Call, Http, Outcome, P, UsageError, operation


def _codes(values: Sequence[str]) -> list[str]:
    codes = [code.strip() for value in values for code in value.split(",") if code.strip()]
    if not codes:
        # A variable that a script forgot to set would stand for all rules.
        raise UsageError("names no rule")
    return codes


@dataclass(frozen=True, slots=True)
class FixesMade:
    """What fixes made of files: the new texts by name, how many findings they end, and what could not be written."""

    linter: "Linter"
    texts: Mapping[str, str]
    applied: int
    fighting: Mapping[str, Sequence[str]]
    failed: Sequence[CatmemError] = ()


@dataclass(frozen=True, slots=True)
class Linted:
    """What lint found, and what was fixed before."""

    linter: "Linter"
    found: "LintResult"
    fixed: FixesMade | None

    def __json__(self) -> dict[str, Any]:
        """JSON-ready, without secrets; ``errors`` are what could not be looked at."""
        from catmem.linting.renderers import Report, render

        text = render(Report(list(self.found.diagnostics), self.found.files, self.linter.text), "json")
        return {**json.loads(text), "errors": self.found.errors}


@operation(
    "lint",
    opens="root",
    formats=False,
    examples=("catmem lint", "catmem lint --fix homes/", "catmem lint --select CM2,CM6 --format sarif"),
    people=("lint", "Lint looks at everything, so it is for a person."),
    http=Http("GET", "/lint", "What lint finds in the root", "For a person.", "Lint"),
)
def lint(
    call: Call,
    *,
    paths: Annotated[list[str] | None, P(argument=True, at=ONLY_COMMAND)] = None,
    fix: Annotated[bool, P("Apply safe fixes until nothing changes, then say what is left.", at=ONLY_COMMAND)] = False,
    unsafe_fixes: Annotated[
        bool, P("With --fix or --diff: apply the fixes too that need a second look.", at=ONLY_COMMAND)
    ] = False,
    diff: Annotated[
        bool, P("Write nothing; print what --fix would change; exit 1 if anything.", at=ONLY_COMMAND)
    ] = False,
    select: Annotated[
        list[str] | None,
        P("Only these rules: CM203, or CM2.", metavar="CODES", read=_codes, at=ONLY_COMMAND),
    ] = None,
    ignore: Annotated[list[str] | None, P("Not these rules.", metavar="CODES", read=_codes, at=ONLY_COMMAND)] = None,
    form: Annotated[
        Literal["text", "json", "github", "sarif"],
        P("For people, for programs, for GitHub's checks, or for code scanners.", "--format", at=ONLY_COMMAND),
    ] = "text",
    min_severity: Annotated[
        Literal["error", "warning", "hint"] | None,
        P("Show nothing milder, and fail for nothing milder; it is counted all the same.", at=ONLY_COMMAND),
    ] = None,
    as_of: AsOf = None,
) -> Outcome:
    """Find what is wrong in memory files, profiles, catmem.yaml and schemas.

    PATHS are files or folders; without any, all that is below the root. For people, hints are counted, and shown with
    --select or --min-severity hint; what copies of one fact have in common is one finding. Exit status: 0 if
    there are hints at most, 1 with errors or warnings, 2 if the configuration is not right (all other files are
    looked at all the same).
    """
    if unsafe_fixes and not (fix or diff):
        raise UsageError("--unsafe-fixes goes with --fix or --diff.")
    call.refuse_beside("diff", "fix", "form", why="it writes nothing, and reports no findings.")

    from catmem.config.profile import refuse_no_root
    from catmem.linting.diagnostic import rank
    from catmem.linting.root_lint import Linter

    if call.interface == "http":
        with closing(Linter.open(call.root.root, search=False, as_of=as_of)) as linter:
            return Outcome(jsonable(Linted(linter, linter.run(), None)))
    chosen: dict[str, Any] = {
        "select": select or (),
        "ignore": ignore or (),
        "as_of": as_of,
        "min_severity": min_severity,
        "paths": paths or (),
    }
    root = call.named_root
    linter, fixed, status = Linter.open(root or ".", search=root is None, **chosen), None, 0
    if fix or diff:
        fixed = _fixed(linter, unsafe=unsafe_fixes, writes=not diff)
        status = max([int(bool(fixed.fighting)), *(error.exit_status for error in fixed.failed)])
        if diff:
            return Outcome(fixed, STREAMED, status=max(status, int(bool(fixed.texts)), 2 * bool(linter.errors)))
        linter = Linter.open(root or ".", search=root is None, **chosen)
    found = linter.run()
    if not paths and not found.files:
        refuse_no_root(linter.root.config)  # a slip of the folder must not look like a clean root
    if paths and not found.files and not found.errors:
        raise ConfigError(
            "there is nothing to lint in what was named",
            code="nothing_to_lint",
            path=paths[0],
            hint="In a folder that is USER.md, MEMORY.md, profiles and catmem.yaml; name any other file itself.",
        )
    if not call.for_program:
        once = (each.with_copies(copies) for each, copies in linter.once(found.diagnostics))
        found = replace(found, diagnostics=tuple(once))
    if form == "text" and not call.for_program:
        shown: Severity = "hint" if select or min_severity else "warning"
        found = replace(found, min_severity=min(found.min_severity, shown, key=rank))
    return Outcome(Linted(linter, found, fixed), STREAMED, problems=found.errors, status=max(status, found.exit_status))


def _fixed(linter: "Linter", *, unsafe: bool, writes: bool) -> FixesMade:
    """What fixes make of the files, which are written if that is wanted."""
    fixed = linter.fix(unsafe=unsafe)
    failed: list[CatmemError] = []
    for name, text in fixed.texts.items() if writes else ():
        try:
            linter.write(name, linter.text(name) or "", text)
        except CatmemError as error:
            failed.append(error)
    return FixesMade(linter, fixed.texts, len(fixed.applied), fixed.fighting, failed)


@dataclass(frozen=True, slots=True)
class Rules:
    """Lint rules; ``page``: the page of one."""

    found: Sequence["Rule"]
    page: bool = False

    def __json__(self) -> dict[str, Any]:
        said = jsonable(self.found)
        return said[0] if self.page else {"rules": said}


@operation("rule", rooted=False, examples=("catmem rule CM203", "catmem rule --all"))
def rule(
    _: Call,
    *,
    code: Annotated[str | None, P(argument=True)] = None,
    every: Annotated[bool, P("One line for each rule.", "--all")] = False,
) -> Rules:
    """Print the page of a lint rule. CODE is its code or its name."""
    from catmem.linting.rule import all_rules, unknown_rule

    rules = all_rules()
    if every == (code is not None):
        raise UsageError("Give the code of a rule, or --all.")
    if code is None:
        return Rules([*rules.values()])
    by_name = {rule.name: rule for rule in rules.values()}
    found = rules.get(code.upper()) or by_name.get(code)
    if found is None:
        raise unknown_rule(code)
    return Rules([found], page=True)


# --- operations on schemas: print those of what catmem reads and prints ----------------------------------------------


@operation(
    "schema",
    rooted=False,
    examples=("catmem schema", "catmem schema profile", "catmem schema --path", "catmem schema tags --path"),
)
def schema(
    _: Call,
    *,
    name: Annotated[str | None, P(argument=True)] = None,
    where: Annotated[bool, P("Print the folder of the schemas, or the file of one.", "--path")] = False,
) -> Outcome:
    """Print a JSON schema of what catmem reads and prints, for editors and other programs.

    NAME is profile, config, tags and so on; without it the schemas are listed, with their $id and what they describe.
    """
    from catmem.resources import SCHEMA_NAMES, schema_path, schema_text, schemas_folder
    from catmem.resources import schema as parsed

    if where:
        place = str(schemas_folder() if name is None else schema_path(name))
        return Outcome(f"{place}\n", {"path": place})
    if name is not None:
        return Outcome(schema_text(name), STREAMED)
    rows = []
    for each in SCHEMA_NAMES:
        said = parsed(each)
        more = {key: said[key] for key in ("title", "description")}
        rows.append({"name": each, "id": said["$id"], **more, "path": str(schema_path(each))})
    return Outcome(rows, {"schemas": rows})
