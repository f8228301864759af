"""The audit log and the rollout, as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from catmem.audit.log_queries import Audit, Counts, RolloutReport, RolloutState
from catmem.audit.rollout import Bypass
from catmem.cli.output import columns, emit, printable, say, say_all, shown_moment
from catmem.jsonable import jsonable
from catmem.ops.audit import Following, Switched, damage_notes
from catmem.ops.table import Call
from catmem.store.audit_log import AuditLine, Damage
from catmem.text import counted

_SECONDS = 19
"""Characters of a time stamp up to its seconds."""
_KINDS = {"status": "by_status", "code": "by_reason", "agent": "by_agent", "entity": "by_entity"}
_MODES = {
    "shadow": "refusals that a rollout may let pass are noted in the audit log, and the writes pass",
    "canary": "refusals are enforced for {canary} % of all entities, by their names; elsewhere they are noted",
    "enforce": "every refusal is enforced",
}


def _audit(found: Audit, call: Call) -> None:
    if call.for_program:
        emit("".join(line.to_json().decode() for line in found.lines))
    else:
        emit(columns([_row(line) for line in found.lines]))


def _following(value: Following, call: Call) -> None:
    with suppress(KeyboardInterrupt):
        for each in value.lines:
            if isinstance(each, Damage):
                say_all(damage_notes([each]))
            else:
                emit(each.to_json().decode() if call.for_program else "  ".join(_row(each)).rstrip() + "\n")


def _row(line: AuditLine) -> tuple[str, ...]:
    revisions = f"{_revision(line.prev_rev)} -> {_revision(None if line.is_refused else line.mem_rev)}"
    said = " ".join(each for each in (line.reason, f"({line.note})" if line.note else None) if each)
    row = shown_moment(line.ts), line.status, line.entity_id, line.op, printable(line.who), revisions, said
    return tuple(printable(cell).replace("\n", "\\n").replace("\t", "\\t") for cell in row)


def _revision(revision: str | None) -> str:
    if revision is None:
        return "-"
    return f"{revision[:_SECONDS]}…" if len(revision) > _SECONDS else revision


def _counts(counts: Counts, _: Call) -> None:
    said = jsonable(counts)
    kinds = {title: said[key] for title, key in _KINDS.items()}
    kinds |= {"branches of": said["branches"], "overwrites prevented": said["prevented"]}
    rows = [("operations", "", f"{said['operations']:,}"), *_counted(kinds)]
    if said["latency"]["operations"]:
        mean = 1000 * said["latency"]["seconds"] / said["latency"]["operations"]
        rows.append(("mean time", "", f"{mean:.1f} ms"))
    emit(printable(columns(rows)))


def _counted(kinds: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, ...]]:
    """A row for each name, the most frequent first; the kind stands before its first."""
    for kind, numbers in kinds.items():
        named = sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))
        yield from (("" if place else kind, name, f"{number:,}") for place, (name, number) in enumerate(named))


def _state(state: RolloutState, _: Call) -> None:
    emit(printable(_standing(state)))
    emit(columns([(printable(name), "enforced" if on else "noted") for name, on in state.entities.items()]))


def _standing(state: RolloutState) -> str:
    """How the rollout stands; a bypass first, since until it ends nothing of the rest holds."""
    mode = f"rollout is {state.mode}: {_MODES[state.mode].format(canary=state.canary)}\n"
    if state.bypass is None:
        return mode
    until = "Until then no refusal that a rollout may let pass is enforced, for any entity. After it:"
    return f"{_on(state.bypass)}\n{until}\n{mode}"


def _on(bypass: Bypass) -> str:
    return f"A bypass is on until {shown_moment(jsonable(bypass)['until'])}: {bypass.reason}"


def _report(found: RolloutReport, _: Call) -> None:
    emit(printable(_standing(found.state) + "".join(_tallies(found))))


def _tallies(found: RolloutReport) -> Iterator[str]:
    if found.since is None:
        yield "No operation is recorded.\n"
    else:
        yield f"{counted(found.writes, 'operation')} since {shown_moment(found.since)}\n"
    parts = {
        "let pass, and refused if everything were enforced": found.shadowed,
        "let pass by a bypass": found.bypassed,
        "refused, with a code that a rollout may let pass": found.refused,
        "refused in any mode": found.always,
    }
    for title, tally in parts.items():
        said = jsonable(tally)
        rows = _counted({kind: said[key] for kind, key in _KINDS.items() if key in said})
        yield f"\n{title}: {tally.operations:,}\n{columns(('', *row) for row in rows)}"


def _switched(value: Switched, _: Call) -> None:
    if value.bypass is None:
        say("No bypass was on.")
    else:
        say(_on(value.bypass) if value.on else "The bypass is ended.")


TEXTS = {
    Audit: _audit, Following: _following, Counts: _counts, RolloutState: _state, RolloutReport: _report,
    Switched: _switched,
}  # fmt: skip
