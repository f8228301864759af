"""Findings of lint, schemas, and stores that are looked after, as people read of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catmem import __version__
from catmem.cli.output import columns, emit, emit_text, fault_lines, print_unreadable, say
from catmem.cli.texts.files import diff_of, show_plan
from catmem.files import shown_path
from catmem.registry import registry, unloaded
from catmem.text import counted, plural, printable, printable_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.linting.rule import Rule
    from catmem.ops.table import Call
    from catmem.ops.upkeep import FixesMade, Linted
    from catmem.store.contract import FolderReport
    from catmem.workspace.change_plan import ChangePlan
    from catmem.workspace.copying import CopiedEntity, StoredEntity
    from catmem.workspace.purging import PurgeReport
    from catmem.workspace.upkeep import DoctorReport, FsckReport


def _fixed(value: FixesMade, call: Call) -> None:
    if call.values["diff"]:
        for each in value.plan.files:
            emit(diff_of(each))
        return
    print_unreadable(value.plan.errors)
    if value.applied:
        say(f"fixed {counted(value.applied, 'finding')} in {counted(len(value.plan.files), 'file')}")


def _linted(value: Linted, call: Call) -> None:
    if value.fixed is not None:
        _fixed(value.fixed, call)
    linter, found, form = value.linter, value.found, call.values["form"]
    from catmem.linting.renderers import render
    from catmem.linting.rule import SEVERITIES, rank

    names: dict[str, str] = {}
    diagnostics = []
    for each in found.diagnostics:
        # As its paths are from the working folder.
        related = (replace(one, path=one.path and shown_path(linter.root.path(one.path))) for one in each.related)
        diagnostics.append(replace(each, path=shown_path(linter.root.path(each.path)), related=tuple(related)))
        names[diagnostics[-1].path] = each.path
    shown = replace(found, diagnostics=diagnostics, source=lambda path: found.source(names.get(path, path)))
    emit(render(shown, form, __version__))
    if form == "text":
        hidden = {name: " (not shown)" for name in SEVERITIES if rank(name) > rank(found.min_severity)}
        hidden |= {"hint": " (see --min-severity hint)"} if found.min_severity == "warning" else {}
        said = ", ".join(
            f"{count} {plural(count, name)}{hidden.get(name, '')}"
            for name, count in found.severities().items()
            if count
        )
        say(f"{found.files} {plural(found.files, 'file')}: {said or 'nothing found'}")


def _rules(value: Sequence[Rule], _: Call) -> None:
    emit(columns([(rule.code, rule.name, rule.severity, rule.summary) for rule in value]))


def _rule(found: Rule, _: Call) -> None:
    fix = f", {'safe or unsafe' if found.fixes == 'both' else found.fixes} fix" if found.fixes else ""
    emit(f"# {found.code} {found.name}\n\nSeverity: {found.severity}{fix}.\n\n{found.page}\n")


# --- schemas, as people read them ------------------------------------------------------------------------------------


def _schemas(value: list[dict[str, str]], _: Call) -> None:
    rows = ((each["name"], each["id"], each["description"].partition(". ")[0].rstrip(".")) for each in value)
    emit(columns(rows))


def _fsck(report: FsckReport, _: Call) -> None:
    emit("".join(printable(f"mended: {line}\n") for line in report.done))
    emit("".join(fault_lines(report.faults)))
    damage = sum(fault.damage for fault in report.faults)
    whole = "no history is damaged" if any(fault.code == "not_utf8" for fault in report.faults) else "no damage"
    said = f"{counted(damage, 'thing')} {plural(damage, 'is', 'are')} damaged" if damage else whole
    emit(f"{said}{' in what could be looked at' if report.unreadable else ''}\n")


def _doctor(value: tuple[DoctorReport, dict[str, Any]], _: Call) -> None:
    report, tokens = value
    plugins = [each.name for each in registry().plugins if each.error is None]
    emit(printable(f"catmem {report.catmem}, Python {report.python}, {report.platform}\nroot {report.root}\n"))
    emit(printable(f"tokens: {_of_tokens(tokens)}\nplugins: {', '.join(plugins) or 'none'}\n"))
    emit("".join(printable(f"{error.message}. {error.hint}\n") for error in unloaded()))
    for folder in report.folders:
        emit("".join(_lines(folder)))


def _of_tokens(said: dict[str, Any]) -> str:
    if said["note"] is not None:
        return f"{said['note']}; 'catmem serve' will not start"
    if said["count"]:
        return f"{said['count']} in {said['path']}"
    if said["wanted"] is not None:
        return f"none in {said['path']}, and this root wants some ({said['wanted']}): 'catmem serve' will not start"
    return "none: 'catmem serve' takes every caller from this machine for a person"


def _lines(folder: FolderReport) -> Iterator[str]:
    history = "no history yet" if folder.records is None else f"history of {folder.records:,} records"
    kind = f"{folder.file_system}, " if folder.file_system else ""
    yield printable(f"\n{shown_path(folder.path)}: {kind}{history}\n")
    if folder.note:
        yield printable(f"  {folder.note}\n")
    yield columns([("", "yes" if each.there else "no", each.name, each.means) for each in folder.features])


def _repair(plan: ChangePlan, call: Call) -> None:
    show_plan(plan, call, "mended")
    if plan.changed and not plan.done:
        say("Nothing was written. Do it with --repair.")


def _purged(report: PurgeReport, call: Call) -> None:
    from catmem.workspace.purging import unsaid

    root, words = call.root.root, call.values["old"]
    done = "would be erased" if report.dry_run else "erased"
    emit(printable(f"{done} from {', '.join(report.entities)} and {counted(report.revisions, 'revision')}:\n"))
    emit(columns([("", place) for place in report.places]))
    for entity, some in groupby(report.entries, key=lambda each: each.entity):
        emit(printable(f"in {entity}:\n") if entity != report.entities[0] else "")
        # What was to be forgotten is not written once more, to a terminal or a log.
        found = ((each.entry, each.entry.body if report.dry_run else "") for each in some)
        emit(columns([("", unsaid(at.category, words), at.id, unsaid(body, words)) for at, body in found]))
    _show_files("rewritten", [shown_path(root / name) for name in report.files])
    kept = Counter(str(Path(name).parent) for name in report.removed if Path(name).parent.name == "gen")
    removed = [shown_path(root / name) for name in report.removed if str(Path(name).parent) not in kept]
    texts = [
        f"{shown_path(root / name)}: {counted(count, 'kept text')} of old revisions" for name, count in kept.items()
    ]
    _show_files("removed", [*removed, *texts])
    _show_files("not reached", [f"{shown_path(root / left.path)}: {left.why}" for left in report.left])
    if any(words.strip() in each.entry.category for each in report.entries):
        say("A category (***) is called so: take the name out of catmem.yaml and the profiles, and seed once more.")
    unreached = "Copies in other stores, in git, in other backups and in prompts are not reached."
    say("Nothing was erased." if report.dry_run else unreached)


def _show_files(what: str, lines: list[str]) -> None:
    if lines:
        emit(f"{what}:\n" + "".join(printable(f"  {line}\n") for line in lines))


def _info(value: Sequence[StoredEntity], call: Call) -> None:
    from catmem.workspace.stores import shown_store

    say(f"store: {shown_store(call.root.config.store)}")
    if not value:
        say("No entity has a revision yet.")
        return
    rows = [("entity", "head", "revisions", "branches", "generation"), *map(_stored_row, value)]
    emit(printable(columns(rows)))


def _stored_row(each: StoredEntity) -> tuple[str, ...]:
    known, found = each.generation_observed, each.generation_actual
    generation = "-" if found is None else f"{found}" if known == found else f"{known}, found {found}"
    return each.entity, each.head, f"{each.revisions:,}", ", ".join(each.branches) or "-", generation


def _copied(value: Sequence[CopiedEntity], call: Call) -> None:
    from catmem.workspace.stores import shown_store

    emit(printable(columns(_copied_row(each) for each in value)))
    if not value:
        say("There is nothing to copy: no entity has a revision or a text.")
        return
    if any(each.adopted for each in value):
        say("adopted: what others wrote, and no record of the source has, is the last revision of the copy")
    say("Every revision was read again from the copy, and is the same.")
    to = shown_store(call.values["target"])
    say(f"Next: let catmem.yaml say `store: {to}`. Until then this root goes on with the store it has.")
    say("catmem.seed.lock is in no store: it stays where it is.")


def _copied_row(each: CopiedEntity) -> tuple[str, ...]:
    branches = f", branches {', '.join(each.branches)}" if each.branches else ""
    head = f"head {each.head}{', adopted' if each.adopted else ''}{branches}"
    return "copied", each.entity, counted(each.revisions, "revision"), head


TEXTS = {
    "FixesMade": _fixed,
    "Linted": _linted,
    "rule": _rules,
    "Rule": _rule,
    "schema": _schemas,
    "str": lambda value, _: emit_text(value),
    "FsckReport": _fsck,
    "doctor": _doctor,
    "Anchors": lambda found, _: emit("".join(f"{printable_json(anchor)}\n" for anchor in found.anchors)),
    "CheckedAnchors": lambda found, _: emit("".join(fault_lines(found.faults)) or "the histories hold every anchor\n"),
    "ChangePlan": _repair,
    "PurgeReport": _purged,
    "store info": _info,
    "store copy": _copied,
}
"""The renderers, by the names of the types that they know."""
