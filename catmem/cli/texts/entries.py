"""Entries and prompts, and what waits for a person, as people read them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from catmem.cli.output import (
    NARROW,
    WIDE,
    columns,
    emit,
    print_error,
    root_words,
    say,
    say_all,
    show_written,
    shown_moment,
)
from catmem.config.json_schema import shown
from catmem.files import shown_path
from catmem.model.document import Document, Problem
from catmem.names import UNCATEGORIZED, parts_of
from catmem.staleness.freshness import advice
from catmem.text import first_line, plural, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.ops.review import Decisions
    from catmem.ops.table import Call
    from catmem.prompt.prompt import Prompt, Row
    from catmem.proposals.deciding import Decided
    from catmem.search.search import SearchHit
    from catmem.staleness.review import Answered, Review
    from catmem.workspace.profile_memory import ProfileMemory
    from catmem.workspace.reports import SharedEntry
    from catmem.workspace.seen_entry import SeenEntry

_DONE = {
    "add": "added to",
    "replace": "replaced in",
    "remove": "removed from",
    "move": "moved to",
    "verify": "verified in",
}


def _shown(value: tuple[dict[str, Any], Document, Sequence[Problem]], call: Call) -> None:
    said, document, problems = value
    emit("".join(_shown_lines(said)))
    if not said["categories"] and "files" in said:
        _say_first_memory(call, call.values["profile"] or call.values["file"])
    emit("\nproblems\n" if problems else "")
    for each in problems:
        emit(printable(f"  line {document.line(each.start)}: {each.rule}: {each.message}\n"))


def _say_first_memory(call: Call, profile: str | None) -> None:
    from catmem.workspace.overview import first_memory

    say_all(first_memory(call.root, profile) if profile and call.root.profile(profile).seed_from else ())


def _shown_lines(said: dict[str, Any]) -> Iterator[str]:
    if said["title"]:
        yield f"{printable(said['title'])}\n\n"
    if not said["categories"]:
        yield "(no entries)\n"
    width = max((len(str(entry["line"])) for entries in said["categories"].values() for entry in entries), default=0)
    for category, entries in said["categories"].items():
        yield f"{printable(category)} ({len(entries)})\n"
        for entry in entries:
            first, *others = printable(entry["body"]).split("\n")
            yield f"  {entry['line']:>{width}}  {first}\n".rstrip() + "\n"
            yield from (f"  {'':{width}}  {line}".rstrip() + "\n" for line in others)
            if entry["tags"]:
                tags = (
                    f"{key}: {value if isinstance(value, str) else ', '.join(value)}"
                    for key, value in entry["tags"].items()
                )
                yield f"  {'':{width}}  [{printable(', '.join(tags))}]\n"


def _listed(value: tuple[str | None, Sequence[Any]], call: Call) -> None:
    profile, entries = value
    if not entries:
        of = f" of {call.values['category']}" if call.values["category"] else ""
        say(f"No entries{of} in any file." if profile is None else "No entries that this profile can see.")
        _say_first_memory(call, profile)
    emit(columns([_folded_row(each) if profile is None else _list_row(each) for each in entries]))


def _list_row(listed: SeenEntry) -> tuple[str, ...]:
    blocked = f"blocked: {', '.join(listed.threats)}" if listed.threats else None
    state = blocked or listed.freshness.note or listed.freshness.state
    body = first_line(listed.entry.body, WIDE)
    return f"{listed.target}:{listed.line}", listed.entry.category, state, body


def _folded_row(found: SharedEntry[SeenEntry]) -> tuple[str, ...]:
    _, *row, body = _list_row(found.entry)
    return f"{found.entry.entity}:{found.entry.line}", *row, body + _others(found)


def _others(found: SharedEntry[Any]) -> str:
    """The names of the other profiles, or of the other file, that have the same entry."""
    own = parts_of(found.entry.entity).owner
    names = dict.fromkeys(parts_of(each.entity).owner for each in found.copies)
    others = [name if name != own else f"{own} again" for name in names]
    return printable(f"  (also in {', '.join(others)})") if others else ""


def _found(value: tuple[str | None, str, int, Sequence[Any]], _: Call) -> None:
    profile, query, total, hits = value
    if not hits:
        say(f"Nothing in sight fits {shown(query)}. Try other words, without quotes, or with fewer filters.")
    places = [_place(each) for each in hits] if profile else []
    if profile is None:
        places = [f"{parts_of(each.entry.entity).owner}/{_place(each.entry)}{_others(each)}" for each in hits]
        hits = [each.entry for each in hits]
    shown_hits = zip(places, hits, strict=True)
    emit("\n".join(f"{place}\n    {printable(each.snippet.text)}\n" for place, each in shown_hits))
    if advice(each.freshness.state for each in hits):
        owner = profile or parts_of(next(each for each in hits if each.freshness.state != "fresh").entity).owner
        say(f"Check what is not fresh before you rely on it. If it holds: catmem verify -p {owner} 'words of it'")
    if total > len(hits):
        say(f"{len(hits)} of {total:,} entries; --limit {total} shows all.")


def _place(found: SearchHit) -> str:
    state = found.freshness.note or found.freshness.state
    said = [f"{found.target}:{found.line}", found.entry.category, state]
    if found.threats:
        said.append(f"blocked: {', '.join(found.threats)}")
    return "  ".join(said)


LEFT_OUT = {
    "expired": "expired",
    "stale": "stale",
    "no_text": "without text",
    "blocked": "blocked",
    "over_budget": "over budget",
}


def _built(value: tuple[Prompt, ProfileMemory], call: Call) -> None:
    from catmem.prompt.prompt import without_room

    prompt, memory = value
    own = "" if call.values["budget"] is None else f" --budget {call.values['budget']}"
    explain = f"'catmem prompt {memory.profile.name}{own} --explain' shows"
    if not prompt.text:
        say("The prompt is empty." if call.values["explain"] else f"The prompt is empty. {explain} why.")
        _say_first_memory(call, memory.profile.name)
    for warning in memory.warnings():
        place = shown_path(warning.path or call.root.root) + (f":{warning.line}" if warning.line else "")
        say(f"warning: {place}: {warning.message}")
    if without_room(prompt) and not call.values["explain"]:
        say(f"{prompt.gaps[0]}. {explain} them")
    if call.values["explain"]:
        paths = {target: printable(shown_path(memory.paths[target])) for target in prompt.manifest.hidden}
        held = {target: Counter(each.category for each in memory.documents[target].entries) for target in paths}
        emit("".join(_explained(prompt, paths, held)))
    else:
        emit(prompt.text)


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
    return mark, f"line {row.line}", row.category, reason or state, first_line(row.preview, NARROW)


DONE = {
    "keep": "kept and verified",
    "edit": "changed and verified",
    "expire": "expired",
    "remove": "removed",
    "skip": "skipped",
}


def _due(review: Review, _: Call) -> None:
    due = review.due()
    rows = ((f"{each.entity}:{each.line}", each.entry.category, each.why, each.entry.body) for each in due)
    emit(columns((*place, first_line(body, WIDE)) for *place, body in rows))
    if not due:
        say("Nothing is due.")
    say_copies(review)


def say_copies(review: Review) -> None:
    """Say how many due facts a review does not ask about, since they are copies, which their source answers."""
    if copies := len(review.elsewhere()):
        say(f"{copies:,} more {plural(copies, 'is', 'are')} seeded from another profile, and asked about there.")


def revision(answered: Answered) -> str:
    """The revision that an answer made, if it made one."""
    return "" if answered.revision is None else f" (revision {answered.revision})"


def _proposals(value: Sequence[dict[str, Any]], _: Call) -> None:
    emit("".join(printable(f"{line}\n") for said in value for line in (*proposal_lines(said), "")))


def proposal_lines(said: dict[str, Any]) -> Iterator[str]:
    """A proposal, line by line."""
    from catmem.store.contract import who

    decision = said["decision"]
    maker = who(said["agent"], said.get("person"))
    yield f"{said['id']}  {said['entity']}  {maker}  {shown_moment(said['timestamp'])}"
    if decision is not None:
        by = f" by {decision['by']} in revision {decision['revision']}" if "by" in decision else ""
        why = f": {decision['reason']}" if decision["reason"] else ""
        yield f"  {said['state']}{by}, {shown_moment(decision['timestamp'])}{why}"
    elif said["state"] == "stale":
        yield "  stale: another entry by now, so reject it"
    yield from [f"  why: {said['reason']}"] if said["reason"] else []
    yield from (f"  checked against: {each}" for each in said.get("evidence", ()))
    for change in said["changes"]:
        yield f"  {change.get('place', change['category'])}"
        is_stale = change["stale"] and decision is None
        sides = {"before": "before:   ", "after": "proposed: ", "now": "now:      "}
        for side, sign in (sides if is_stale else {"before": "- ", "after": "+ "}).items():
            text = "(not there)" if is_stale and change[side] is None else change[side]
            if text is not None:
                yield f"  {sign}" + text.replace("\n", f"\n  {' ' * len(sign) if is_stale else sign}")


def _decisions(value: Decisions, _: Call) -> None:
    emit("".join(printable(f"{done_line(each)}\n") for each in value.done))
    for each in value.done:
        say_all(after(each) if len(value.done) == 1 else each.notes)
    seen = set[tuple[str, ...]]()
    for name, error in value.refused:
        say(f"{name}: refused")
        print_error(error, seen)


def done_line(each: Decided) -> str:
    """A decision in a line."""
    found = each.proposal
    return f"{each.verdict} {found.id} of {found.who} in {found.entity} (revision {each.revision})"


def after(each: Decided) -> list[str]:
    """How an approval is taken back, and what became of the words in the files of specialists."""
    undo = f"'catmem undo {each.proposal.entity} --expected {each.revision}{root_words()}' takes it back"
    return [*([undo] if each.verdict == "approved" else []), *each.notes]


TEXTS = {
    "Written": lambda written, call: show_written(
        written, _DONE[call.operation.name], call, to_agent=call.values["actor"] is not None
    ),
    "show": _shown,
    "str": lambda content, _: emit(printable(content)),
    "list": _listed,
    "search": _found,
    "prompt": _built,
    "Review": _due,
    "proposals": _proposals,
    "Decisions": _decisions,
}
"""The renderers, by the names of the types that they know."""
