"""What a file says and what a profile sees, as people read it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.output import columns, emit, first_line, printable, printable_json, say, say_all
from catmem.ops.reading import EntryList, Found, ShownContent, ShownFile
from catmem.ops.table import Call
from catmem.staleness.freshness import advice

if TYPE_CHECKING:  # what they load takes long, and a list needs none of it
    from catmem.search.index import Snippet
    from catmem.search.search import SearchHit
    from catmem.workspace.everywhere import SharedEntry
    from catmem.workspace.seen_entry import SeenEntry

_LIST_WIDTH = 72


def _shown(value: ShownFile, _: Call) -> None:
    emit("".join(_shown_lines(value.said)))
    emit("\nproblems\n" if value.problems else "")
    for each in value.problems:
        emit(printable(f"  line {value.document.line(each.start)}: {each.rule}: {each.message}\n"))


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


def _content(value: ShownContent, _: Call) -> None:
    emit(printable(value.content) if value.is_text else f"{printable_json(value.content)}\n")


def _listed(value: EntryList, _: Call) -> None:
    if not value.entries:
        say("No entries in any file." if value.profile is None else "No entries that this profile can see.")
    emit(columns([_folded_row(each) if value.profile is None else _list_row(each) for each in value.entries]))


def _list_row(listed: SeenEntry) -> tuple[str, ...]:
    blocked = f"blocked: {', '.join(listed.threats)}" if listed.threats else None
    state = blocked or listed.freshness.note or listed.freshness.state
    body = first_line(listed.entry.body, _LIST_WIDTH)
    return f"{listed.target}:{listed.line}", listed.entry.category, state, body


def _folded_row(found: SharedEntry[SeenEntry]) -> tuple[str, ...]:
    _, *row, body = _list_row(found.entry)
    return f"{found.entry.entity}:{found.entry.line}", *row, body + _others(found)


def _others(found: SharedEntry[Any]) -> str:
    """The names of the other profiles, or of the other file, that have the same entry."""
    own = found.entry.entity.partition("/")[0]
    names = dict.fromkeys(each.entity.partition("/")[0] for each in found.copies)
    others = [name if name != own else f"{own} again" for name in names]
    return printable(f"  (also in {', '.join(others)})") if others else ""


def _found(value: Found, _: Call) -> None:
    say_all(value.hints)
    hits, places = value.hits, [_place(each) for each in value.hits] if value.profile else []
    if value.profile is None:
        places = [f"{each.entry.entity.partition('/')[0]}/{_place(each.entry)}{_others(each)}" for each in hits]
        hits = [each.entry for each in hits]
    emit("\n".join(f"{place}\n    {_styled(each.snippet)}\n" for place, each in zip(places, hits, strict=True)))
    say_all(advice(each.freshness.state for each in hits).values())
    if value.total > len(hits):
        say(f"{len(hits)} of {value.total:,} entries; --limit {value.total} shows all.")


def _place(found: SearchHit) -> str:
    state = found.freshness.note or found.freshness.state
    said = [f"{found.target}:{found.line}", found.entry.category, state]
    if found.threats:
        said.append(f"blocked: {', '.join(found.threats)}")
    return "  ".join(said)


def _styled(snippet: Snippet) -> str:
    """The snippet, with what was looked for in bold on a terminal."""
    text = snippet.text
    bold = sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    parts: list[str] = []
    done = 0
    for start, end in snippet.hits:
        hit = printable(text[start:end])
        parts += [printable(text[done:start]), click.style(hit, bold=True) if bold else hit]
        done = end
    return "".join([*parts, printable(text[done:])])


TEXTS = {ShownFile: _shown, ShownContent: _content, EntryList: _listed, Found: _found}
