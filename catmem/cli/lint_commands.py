"""``catmem lint`` and ``catmem rule``: find what is wrong, fix what is safe to fix, and say what a rule is about."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catmem import __version__
from catmem.cli.command import Command
from catmem.cli.door import given_root
from catmem.cli.options import as_of_option, format_choice, format_option, refuse_beside, root_option
from catmem.cli.output import columns, emit, emit_json, in_json, print_unreadable, printable, say, shown_path, text_diff
from catmem.errors import CatmemError, ConfigError
from catmem.files import os_errors
from catmem.text import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import date

    from catmem.linting.diagnostic import Severity
    from catmem.linting.renderers import Format
    from catmem.linting.root_lint import Linter, LintResult
    from catmem.linting.rule import Rule


_EVERY = 0.5
"""Seconds between two looks; what takes less shows nothing."""
_CLEAR = "\r\x1b[K"


def _codes(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    codes = tuple(code.strip() for value in values for code in value.split(",") if code.strip())
    if values and not codes:
        # A variable that a script forgot to set would stand for all rules.
        raise click.BadParameter("names no rule")
    return codes


@click.command(
    cls=Command, examples=("catmem lint", "catmem lint --fix homes/", "catmem lint --select CM2,CM6 --format sarif")
)
@click.argument("paths", nargs=-1)
@click.option("--fix", is_flag=True, help="Apply safe fixes until nothing changes, then say what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: apply the fixes too that need a second look.")
@click.option("--diff", is_flag=True, help="Write nothing; print what --fix would change; exit 1 if anything.")
@click.option("--select", metavar="CODES", multiple=True, callback=_codes, help="Only these rules: CM203, or CM2.")
@click.option("--ignore", metavar="CODES", multiple=True, callback=_codes, help="Not these rules.")
@format_choice(
    *("text", "json", "github", "sarif"), said="For people, for programs, for GitHub's checks, or for code scanners."
)
@click.option(
    "--min-severity",
    type=click.Choice(["error", "warning", "hint"]),
    help="Show nothing milder, and fail for nothing milder; it is counted all the same.",
)
@click.option("--hints", is_flag=True, help="With the format text: show hints too, and not their number alone.")
@as_of_option
@click.option("--statistics", is_flag=True, help="With the format text: how often each rule found something.")
@click.option("--output", metavar="FILE", help="Write the findings to a file and not to standard output.")
@root_option
def lint(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    form: Format,
    min_severity: Severity | None,
    as_of: date | None,
    output: str | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    statistics: bool,
    hints: bool,
) -> None:
    """Find what is wrong in memory files, profiles, catmem.yaml and schemas.

    PATHS are files or folders; without any, all that is below the root. For people, hints are counted, and shown with
    --hints, --select or --min-severity; what copies of one fact have in common is one finding. Exit status: 0 if
    there are hints at most, 1 with errors or warnings, 2 if the configuration is not right (all other files are
    looked at all the same).
    """
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes goes with --fix or --diff.")
    if statistics and form != "text":
        raise click.UsageError("--statistics goes with --format text.")
    refuse_beside("diff", "fix", "statistics", "output", "form", why="it writes nothing, and reports no findings.")

    from catmem.config.profile import refuse_no_root
    from catmem.linting.diagnostic import Related, rank
    from catmem.linting.root_lint import Linter

    root = given_root()

    def opened() -> Linter:
        chosen: dict[str, Any] = {"select": select, "ignore": ignore, "as_of": as_of, "min_severity": min_severity}
        return Linter.open(root or ".", search=root is None, paths=paths, **chosen)

    linter = opened()
    status = 0
    if fix or diff:
        status = _fix(linter, unsafe=unsafe_fixes, diff=diff)
        linter = opened()
    with _progress() as linter.begins:
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
    diagnostics = []
    for each, copies in linter.once(found.diagnostics) if form != "json" else ((one, ()) for one in found.diagnostics):
        same = (Related(one.path, one.start, one.end, "the same in a copy", one.line, one.column) for one in copies)
        diagnostics.append(replace(each, related=(*each.related, *same)))
    found = replace(found, diagnostics=tuple(diagnostics))
    if form == "text":
        shown: Severity = "hint" if hints or select or min_severity else "warning"
        found = replace(found, min_severity=min(found.min_severity, shown, key=rank))
    _report(linter, found, form, statistics=statistics, output=output)
    print_unreadable(found.errors)
    raise SystemExit(max(status, found.exit_status))


def _fix(linter: Linter, *, unsafe: bool, diff: bool) -> int:
    """Write what fixes make of the files, or end with the ``diff``; the worst exit status of what was not written."""
    with _progress() as linter.begins:
        fixed = linter.fix(unsafe=unsafe)
    for name, codes in fixed.fighting.items():
        say(f"error: {name}: fixes of {', '.join(codes)} undo each other or never end, so none was made")
    status = int(bool(fixed.fighting))
    if diff:
        from catmem.linting.renderers import mask_both

        for name, text in fixed.texts.items():
            shown = shown_path(linter.root.path(name))
            emit(text_diff(*mask_both(linter.text(name) or "", text), f"a/{shown}", f"b/{shown}"))
        raise SystemExit(max(status, int(bool(fixed.texts)), 2 * bool(linter.errors)))
    failed: list[CatmemError] = []
    for name, text in fixed.texts.items():
        try:
            linter.write(name, linter.text(name) or "", text)
        except CatmemError as error:
            failed.append(error)
    status = max(status, print_unreadable(failed))
    if fixed.applied:
        applied, written = len(fixed.applied), len(fixed.texts) - len(failed)
        say(f"fixed {applied} {plural(applied, 'finding')} in {written} {plural(written, 'file')}")
    return status


def _report(linter: Linter, found: LintResult, form: Format, *, statistics: bool, output: str | None) -> None:
    from catmem.linting.diagnostic import SEVERITIES, rank
    from catmem.linting.renderers import Report, render

    names: dict[str, str] = {}
    diagnostics = []
    for each in found.diagnostics:
        # As its paths are from the working folder.
        related = (replace(one, path=one.path and shown_path(linter.root.path(one.path))) for one in each.related)
        diagnostics.append(replace(each, path=shown_path(linter.root.path(each.path)), related=tuple(related)))
        names[diagnostics[-1].path] = each.path
    report = Report(
        diagnostics, found.files, lambda path: linter.text(names.get(path, path)), __version__, found.min_severity
    )
    text = render(report, form, statistics=statistics)
    if output is None:
        emit(text)
    elif Path(output).suffix.lower() in {".md", ".markdown", ".yaml", ".yml"}:
        raise ConfigError(
            "findings are not written over files that lint reads",
            code="would_replace",
            path=output,
            hint="Nothing was written. Name a file that ends in .txt, .json or .sarif.",
        )
    else:
        with os_errors("cannot be written", path=output, hint="Name another file."):
            Path(output).write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    if form == "text":
        hidden = {name: " (not shown)" for name in SEVERITIES if rank(name) > rank(found.min_severity)}
        hidden |= {"hint": " (see --hints)"} if found.min_severity == "warning" else {}
        said = ", ".join(
            f"{count} {plural(count, name)}{hidden.get(name, '')}"
            for name, count in report.severities().items()
            if count
        )
        say(f"{found.files} {plural(found.files, 'file')}: {said or 'nothing found'}")


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Give what takes the name of each step, and show the last one with the seconds so far on standard error.

    It stands on a line by itself, which is gone when the command goes on. Nothing is shown where that is no terminal,
    or one that cannot clear a line.
    """
    stderr = sys.stderr
    if stderr is None or not stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield lambda _: None
        return
    begin, over, step = time.monotonic(), threading.Event(), ""

    def begins(name: str) -> None:
        nonlocal step
        step = name

    def show() -> None:
        while not over.wait(_EVERY):
            line = printable(f"{time.monotonic() - begin:.0f} s: {step}")
            stderr.write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])
            stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield begins
    finally:
        over.set()
        thread.join()
        stderr.write(_CLEAR)
        stderr.flush()


@click.command(cls=Command, examples=("catmem rule CM203", "catmem rule --all"))
@click.argument("code", required=False)
@click.option("--all", "every", is_flag=True, help="One line for each rule.")
@format_option
def rule(code: str | None, *, every: bool) -> None:
    """Print the page of a lint rule. CODE is its code or its name."""
    from catmem.linting.rule import all_rules
    from catmem.linting.settings import unknown_rule

    rules = all_rules()
    if every == (code is not None):
        raise click.UsageError("Give the code of a rule, or --all.")
    if code is None:
        if in_json():
            emit_json({"rules": [_rule_dict(rule) for rule in rules.values()]})
        else:
            emit(columns([(rule.code, rule.name, rule.severity, rule.summary) for rule in rules.values()]))
        return
    by_name = {rule.name: rule for rule in rules.values()}
    found = rules.get(code.upper()) or by_name.get(code)
    if found is None:
        raise unknown_rule(code)
    if in_json():
        emit_json(_rule_dict(found))
    else:
        fix = f", {found.fixes} fix" if found.fixes else ""
        emit(f"# {found.code} {found.name}\n\nSeverity: {found.severity}{fix}.\n\n{found.page}\n")


def _rule_dict(rule: Rule) -> dict[str, Any]:
    fields = ("code", "name", "severity", "scope", "fixes", "summary", "options", "page")
    options = {name: list(value) if isinstance(value, tuple) else value for name, value in rule.options.items()}
    return {field: options if field == "options" else getattr(rule, field) for field in fields}
