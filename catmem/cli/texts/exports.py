"""Exports, as people and programs get them."""

from __future__ import annotations

from pathlib import Path

from catmem.cli.output import emit_json, emit_text, printable, say, shown_path
from catmem.jsonable import jsonable
from catmem.ops.exports import ExportedSnapshot, Exports
from catmem.ops.table import Call
from catmem.text import counted


def _snapshot(value: ExportedSnapshot, _: Call) -> None:
    say(f"wrote {shown_path(value.path.absolute())} ({counted(value.count, 'row')})")


def _exports(value: Exports, call: Call) -> None:
    if value.names is None:
        _print(value)
    for name in value.names or ():
        say(f"wrote {shown_path(Path(call.values['output']).absolute() / name)}")
    for each in value.made:
        if value.form != "json" and printable(each.text) != each.text:
            name = f"{each.profile}/{each.target}"
            say(f"{name}: characters that a terminal acts on are kept as they are; --format json escapes them")
        if each.lost:
            say(f"{each.profile}/{each.target}: this form has no place for {' and '.join(each.lost)}")


def _print(value: Exports) -> None:
    made = value.made
    if value.form == "json":
        emit_json(jsonable(value))
    elif value.form == "hermes":
        emit_text("".join(each.text for each in made))
    else:
        names = [f"# {each.profile}: {each.target}\n\n" if len(made) > 1 else "" for each in made]
        emit_text("\n".join(f"{name}{each.text}" for name, each in zip(names, made, strict=True)))


TEXTS = {ExportedSnapshot: _snapshot, Exports: _exports}
