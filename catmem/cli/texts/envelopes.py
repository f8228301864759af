"""Envelopes and what is written by them, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.cli.output import emit, printable_json, show_written
from catmem.store.envelope import Envelope
from catmem.writing.written import Written

if TYPE_CHECKING:
    from catmem.ops.table import Call


def _written(written: Written, call: Call) -> None:
    del call
    show_written(written, "written to" if written.entries else "written", {})


def _envelope(envelope: Envelope, call: Call) -> None:
    del call
    emit(printable_json(envelope.to_dict()) + "\n")


def _digest(digest: str, call: Call) -> None:
    del call
    emit(f"{digest}\n")


TEXTS = {Written: _written, Envelope: _envelope, str: _digest}
