"""Prompts, what is in them, and what they save, as people read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from catmem.cli.output import columns, emit, emit_json, first_line, printable, say, shown_path
from catmem.jsonable import jsonable
from catmem.names import UNCATEGORIZED
from catmem.ops.prompts import Built
from catmem.ops.table import Call
from catmem.prompt.prompt import Manifest, Prompt, Row
from catmem.text import plural
from catmem.workspace.profile_memory import ProfileMemory
from catmem.workspace.workspace import Workspace

_WIDTH = 60
LEFT_OUT = {
    "expired": "expired",
    "stale": "stale",
    "no_text": "without text",
    "blocked": "blocked",
    "over_budget": "over budget",
}


def _built(value: Built, call: Call) -> None:
    prompt, memory = value.prompt, value.memory
    if not prompt.text:
        say(_why_empty(memory, prompt.manifest))
    if call.for_program:
        emit_json(jsonable(prompt))
        return
    _say_emptied(call.root, memory)
    for warning in memory.warnings():
        place = shown_path(warning.path or call.root.root) + (f":{warning.line}" if warning.line else "")
        say(f"warning: {place}: {warning.message}")
    if call.values["explain"]:
        paths = {target: printable(shown_path(memory.paths[target])) for target in prompt.manifest.hidden}
        held = {target: Counter(each.category for each in memory.documents[target].entries) for target in paths}
        emit("".join(_explained(prompt, paths, held)))
    else:
        emit(prompt.text)


def _say_emptied(workspace: Workspace, memory: ProfileMemory) -> None:
    """Name a file that is empty now, and was not when the store last saw it."""
    from catmem.digest import bytes_digest

    for target, document in memory.documents.items():
        if target not in memory.missing and not document.text.strip():
            entity = f"{memory.owner.name}/{target}"
            head = workspace.store.head(entity)
            if head is not None and head.digest != bytes_digest(workspace.store.peek(entity)):
                back = f"'catmem restore {entity} {head.revision}' brings back what it held"
                say(f"warning: {shown_path(memory.paths[target])}: has become empty: {back}")


def _explained(prompt: Prompt, paths: dict[str, str], held: dict[str, Counter[str]]) -> Iterator[str]:
    """``held`` counts the entries of each category that stand in a file."""
    manifest = prompt.manifest
    yield f"{manifest.profile}, as of {manifest.as_of}, style {manifest.style}\n"
    for target, hidden in manifest.hidden.items():
        rows = [row for row in manifest.rows if row.target == target]
        inside = sum(row.status == "in" for row in rows)
        budget = f" of {manifest.budget[target]:,}" if target in manifest.budget else ""
        size = f"{manifest.sizes[target]:,}{budget} characters"
        blocked = sum(row.status == "blocked" for row in rows)
        withheld = f", {blocked} blocked" if blocked else ""
        there = ", no such file yet" if target in manifest.missing else ""
        yield f"\n{target} ({paths[target]}{there}): {inside} of {len(rows)} entries in{withheld}, {size}\n"
        yield columns([_columns(row) for row in rows])
        loose = manifest.hidden_uncategorized[target]
        if hidden > loose:
            seen = {row.category for row in rows} | {UNCATEGORIZED}
            counts = ", ".join(f"{name} {count}" for name, count in held[target].items() if name not in seen)
            yield f"  {hidden - loose} {plural(hidden - loose, 'entry')} of other categories left out: "
            yield f"{printable(counts)}\n"
        if loose:
            yield f"  {loose} {plural(loose, 'entry')} without a category left out (include_uncategorized)\n"
    if "total" in manifest.budget:
        yield f"\ntotal: {len(prompt.text):,} of {manifest.budget['total']:,} characters\n"
    if any(row.status == "blocked" for row in manifest.rows):
        yield "\n! withheld by the threat scan: read the entry at its line, then reword or remove it"
        yield " (docs/security.md)\n"


def _columns(row: Row) -> tuple[str, ...]:
    reason = {"in": "", "blocked": f"blocked: {row.reason}", "out": f"out: {row.reason}"}[row.status]
    state = row.state if row.day is None else f"{row.state} {row.day}"
    mark = {"in": "  +", "blocked": "  !", "out": "  -"}[row.status]
    return mark, f"line {row.line}", row.category, reason or state, first_line(row.preview, _WIDTH)


def _why_empty(memory: ProfileMemory, manifest: Manifest) -> str:
    from catmem.prompt.sizes import left_out

    owner = memory.owner.name
    hidden = sum(manifest.hidden.values())
    if len(manifest.missing) == len(manifest.hidden):
        looked = " and ".join(printable(shown_path(memory.paths[target])) for target in manifest.missing)
        return f"The prompt is empty: {owner} has no memory files yet. Looked for {looked}."
    if not hidden and not manifest.rows:
        return f"The prompt is empty: the memory files of {owner} hold no entries."
    reasons = Counter(LEFT_OUT[reason] for row in manifest.rows if (reason := left_out(row)))
    if hidden:
        reasons["of other categories"] = hidden
    counts = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    return f"The prompt is empty: it leaves out all entries of {owner} ({counts})."


TEXTS = {Built: _built}
