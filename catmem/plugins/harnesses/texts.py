"""What becomes of files of other harnesses, as people read it."""

from __future__ import annotations

from catmem.cli.output import emit, emit_json
from catmem.ops.table import Call
from catmem.plugins.harnesses.operations import HarnessSettings, HookAnswer


def _answer(done: HookAnswer, _: Call) -> None:
    emit(done.text)


def _settings(done: HarnessSettings, _: Call) -> None:
    emit_json(done.data)


TEXTS = {HookAnswer: _answer, HarnessSettings: _settings}
