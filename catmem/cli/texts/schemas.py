"""Schemas, as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.cli.output import columns, emit, emit_text
from catmem.ops.schemas import SchemaPlace, Schemas, SchemaText

if TYPE_CHECKING:
    from catmem.ops.table import Call


def _schemas(value: Schemas, _: Call) -> None:
    rows = ((each["name"], each["id"], each["description"].partition(". ")[0].rstrip(".")) for each in value.found)
    emit(columns(rows))


TEXTS = {
    Schemas: _schemas,
    SchemaText: lambda value, _: emit_text(value.text),
    SchemaPlace: lambda value, _: emit(f"{value.path}\n"),
}
