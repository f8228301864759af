"""Findings of lint, pages of its rules and schemas, as people and programs read them."""

from __future__ import annotations

from dataclasses import replace

from catmem import __version__
from catmem.cli.output import columns, emit, emit_text, print_unreadable, say, shown_path, text_diff
from catmem.ops.linting import FixesMade, Linted, Rules
from catmem.ops.table import Call
from catmem.text import plural


def _fixed(value: FixesMade, call: Call) -> None:
    for name, codes in value.fighting.items():
        say(f"error: {name}: fixes of {', '.join(codes)} undo each other or never end, so none was made")
    if call.values["diff"]:
        from catmem.linting.renderers import mask_both

        for name, text in value.texts.items():
            shown = shown_path(value.linter.root.path(name))
            emit(text_diff(*mask_both(value.linter.text(name) or "", text), f"a/{shown}", f"b/{shown}"))
        return
    print_unreadable(value.failed)
    if value.applied:
        written = len(value.texts) - len(value.failed)
        say(f"fixed {value.applied} {plural(value.applied, 'finding')} in {written} {plural(written, 'file')}")


def _linted(value: Linted, call: Call) -> None:
    if value.fixed is not None:
        _fixed(value.fixed, call)
    linter, found, form = value.linter, value.found, call.values["form"]
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
    emit(render(report, form))
    if form == "text":
        hidden = {name: " (not shown)" for name in SEVERITIES if rank(name) > rank(found.min_severity)}
        hidden |= {"hint": " (see --min-severity hint)"} if found.min_severity == "warning" else {}
        said = ", ".join(
            f"{count} {plural(count, name)}{hidden.get(name, '')}"
            for name, count in report.severities().items()
            if count
        )
        say(f"{found.files} {plural(found.files, 'file')}: {said or 'nothing found'}")


def _rules(value: Rules, _: Call) -> None:
    if not value.page:
        emit(columns([(rule.code, rule.name, rule.severity, rule.summary) for rule in value.found]))
        return
    (found,) = value.found
    fix = f", {found.fixes} fix" if found.fixes else ""
    emit(f"# {found.code} {found.name}\n\nSeverity: {found.severity}{fix}.\n\n{found.page}\n")


# --- schemas, as people read them ------------------------------------------------------------------------------------


def _schemas(value: list[dict[str, str]], _: Call) -> None:
    rows = ((each["name"], each["id"], each["description"].partition(". ")[0].rstrip(".")) for each in value)
    emit(columns(rows))


TEXTS = {
    FixesMade: _fixed,
    Linted: _linted,
    Rules: _rules,
    list: _schemas,
    str: lambda value, _: emit_text(value),
}
