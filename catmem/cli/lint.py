"""``catmem lint``: find what is wrong, fix what is safe to fix."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem import __version__
from catmem.cli.options import as_of_option, refuse_beside, root_option
from catmem.cli.output import emit, print_error, printable, say, shown_path, text_diff
from catmem.errors import CatmemError, ConfigError, UnreadableError
from catmem.files import os_errors, read_bounded

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from catmem.policy.lint.diagnostic import Diagnostic
    from catmem.policy.lint.fixing import Fixed
    from catmem.policy.lint.renderers import Format
    from catmem.service.linting.lint import Found, Linter

_BASELINE = "catmem.lint.json"
_LARGEST = 64 << 20
_REPORTING = ("statistics", "output", "form")
_APART = {
    "diff": (("fix", "write_baseline", "baseline", *_REPORTING), "it writes nothing, and reports no findings."),
    "write_baseline": (_REPORTING, "it writes the findings to the baseline alone."),
}
"""Options that leave others nothing to do."""


def _codes(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    codes = tuple(code.strip() for value in values for code in value.split(",") if code.strip())
    if values and not codes:
        # A variable that a script forgot to set would stand for all rules.
        raise click.BadParameter("names no rule", ctx=ctx, param=param)
    return codes


def _remember_format(ctx: click.Context, param: click.Parameter, value: str) -> str:
    del param
    ctx.meta["catmem.json"] = value == "json"
    return value


@click.command(epilog="Examples: catmem lint   catmem lint --fix homes/   catmem lint --select CM2,CM6 --format sarif")
@click.argument("paths", nargs=-1)
@click.option("--fix", is_flag=True, help="Apply safe fixes until nothing changes, then say what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: apply the fixes too that need a second look.")
@click.option("--diff", is_flag=True, help="Write nothing; print what --fix would change; exit 1 if anything.")
@click.option("--select", metavar="CODES", multiple=True, callback=_codes, help="Only these rules: CM203, or CM2.")
@click.option("--ignore", metavar="CODES", multiple=True, callback=_codes, help="Not these rules.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    is_eager=True,
    callback=_remember_format,
    help="For people, for programs, for GitHub's checks, or for code scanners.",
)
@as_of_option
@click.option("--baseline", metavar="FILE", help="Findings that do not count. By default what catmem.yaml says.")
@click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline, so that none of them counts.")
@click.option("--statistics", is_flag=True, help="With the format text: how often each rule found something.")
@click.option("--output", metavar="FILE", help="Write the findings to a file and not to standard output.")
@root_option
def command(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    form: Format,
    as_of: date | None,
    baseline: str | None,
    output: str | None,
    root_folder: str | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    write_baseline: bool,
    statistics: bool,
) -> None:
    """Find what is wrong in memory files, profiles, catmem.yaml and schemas.

    PATHS are files or folders; without any, all that is below the root. Exit status: 0 if there are hints at most, 1
    with errors or warnings, 2 if the configuration is not right (all other files are looked at all the same).
    """
    _refuse_idle(unsafe=unsafe_fixes and not (fix or diff), statistics=statistics and form != "text")
    from catmem.service.linting.lint import Linter

    def opened() -> Linter:
        return Linter.open(
            "." if root_folder is None else root_folder,
            search=root_folder is None,
            paths=paths,
            select=select,
            ignore=ignore,
            as_of=as_of,
        )

    linter = opened()
    as_json = form == "json"
    status = 0
    if fix or diff:
        fixed = linter.fix(unsafe=unsafe_fixes)
        _say_fighting(fixed)
        status = int(bool(fixed.fighting))
        if diff:
            from catmem.policy.lint.renderers import mask_both

            for name, text in fixed.texts.items():
                shown = _shown(linter, name)
                emit(text_diff(*mask_both(linter.text(name) or "", text), f"a/{shown}", f"b/{shown}"))
            raise SystemExit(max(status, int(bool(fixed.texts)), 2 * bool(linter.errors)))
        status = max(status, _write(linter, fixed, as_json=as_json))
        linter = opened()
    found = linter.run()
    if paths and not found.files and not found.errors:
        raise ConfigError(
            "there is nothing to lint in what was named",
            code="nothing_to_lint",
            path=paths[0],
            hint="In a folder that is USER.md, MEMORY.md, profiles and catmem.yaml; name any other file itself.",
        )
    known = _baseline_path(linter, baseline, must_be_there=not write_baseline)
    if write_baseline:
        _write_baseline(found, known or linter.root.path(_BASELINE))
        raise SystemExit(2 * bool(found.errors))
    if known is not None:
        found = linter.without_baseline(found, known)
    _report(linter, found, form, statistics=statistics, output=output)
    for error in found.errors:
        print_error(error, as_json=as_json)
    raise SystemExit(max(status, found.exit_status))


def _refuse_idle(*, unsafe: bool, statistics: bool) -> None:
    """Refuse options that would have nothing to do."""
    if unsafe:
        raise click.UsageError("--unsafe-fixes goes with --fix or --diff.")
    if statistics:
        raise click.UsageError("--statistics goes with --format text.")
    for option, (others, why) in _APART.items():
        refuse_beside(option, *others, why=why)


def _report(linter: Linter, found: Found, form: Format, *, statistics: bool, output: str | None) -> None:
    from catmem.policy.lint.renderers import Report, render

    names: dict[str, str] = {}
    diagnostics = [_from_here(linter, diagnostic, names) for diagnostic in found.diagnostics]
    report = Report(diagnostics, found.files, lambda path: linter.text(names.get(path, path)), __version__)
    text = render(report, form, statistics=statistics)
    if output is None:
        emit(text)
    else:
        _refuse_source(Path(output))
        _write_text(Path(output), text)
    if form == "text":
        said = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in report.severities().items() if count)
        hidden = len(report.diagnostics) - len(report.counting)
        extra = f", {hidden} suppressed" if hidden else ""
        say(f"{found.files} file{'s' * (found.files != 1)}: {said or 'nothing found'}{extra}")


def _from_here(linter: Linter, diagnostic: Diagnostic, names: dict[str, str]) -> Diagnostic:
    """The diagnostic with its paths as they are from the working folder; ``names`` learns what they stand for."""
    path = _shown(linter, diagnostic.path)
    names[path] = diagnostic.path
    related = tuple(replace(one, path=_shown(linter, one.path) if one.path else "") for one in diagnostic.related)
    return replace(diagnostic, path=path, related=related)


def _shown(linter: Linter, name: str) -> str:
    return shown_path(linter.root.path(name))


def _say_fighting(fixed: Fixed) -> None:
    for name, codes in fixed.fighting.items():
        say(f"error: {printable(name)}: fixes of {', '.join(codes)} undo each other or never end, so none was made")


def _write(linter: Linter, fixed: Fixed, *, as_json: bool) -> int:
    """Write the fixed texts; the worst exit status of what could not be written."""
    status, written = 0, 0
    for name, text in fixed.texts.items():
        try:
            linter.write(name, linter.text(name) or "", text)
            written += 1
        except CatmemError as error:
            print_error(error, as_json=as_json)
            status = max(status, error.exit_status)
    if fixed.applied:
        say(
            f"fixed {len(fixed.applied)} finding{'s' * (len(fixed.applied) != 1)} in {written} "
            f"file{'s' * (written != 1)}"
        )
    return status


def _baseline_path(linter: Linter, given: str | None, *, must_be_there: bool) -> Path | None:
    if given is not None:
        path = Path(given)
        if must_be_there and not path.exists():
            raise UnreadableError("no such baseline", code="missing", path=path, hint="--write-baseline makes one.")
        return path
    if linter.settings.baseline is None:
        return None
    path, root = linter.root.path(linter.settings.baseline), linter.root.path(".").resolve()
    if not path.resolve().is_relative_to(root):
        raise ConfigError(
            f"the baseline {linter.settings.baseline!r} leads out of the root",
            code="outside_root",
            path=root / "catmem.yaml",
            key="lint.baseline",
            hint="Choose a file inside, or name one with --baseline.",
        )
    return path


def _write_baseline(found: Found, path: Path) -> None:
    from catmem.policy.lint.suppress import write_baseline

    _refuse_to_replace(path, _is_baseline)
    _write_text(path, write_baseline(found.diagnostics))
    say(f"wrote {printable(shown_path(path))}; name it as 'baseline' under 'lint' in catmem.yaml, or with --baseline")


def _refuse_to_replace(path: Path, is_ours: Callable[[bytes], bool]) -> None:
    """Raise ``ConfigError`` for a file that this command did not write: a slip must not cost a memory file."""
    if path.is_file() and not is_ours(read_bounded(path, _LARGEST)):
        raise ConfigError(
            "is there already, and is not what this command writes",
            code="would_replace",
            path=path,
            hint="Nothing was written. Name another file, or move this one away first.",
        )


def _refuse_source(path: Path) -> None:
    """Raise ``ConfigError`` for a file of the kinds that lint reads: findings go to a file of their own."""
    if path.suffix.lower() in {".md", ".markdown", ".yaml", ".yml"}:
        raise ConfigError(
            "findings are not written over files that lint reads",
            code="would_replace",
            path=path,
            hint="Nothing was written. Name a file that ends in .txt, .json or .sarif.",
        )


def _is_baseline(data: bytes) -> bool:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and {"version", "findings"} <= said.keys()


def _write_text(path: Path, text: str) -> None:
    with os_errors("cannot be written", path=path, hint="Name another file."):
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
