"""``catmem search``: find what a profile sees, the best first."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.options import (
    as_of_option,
    format_option,
    open_with_store,
    profile_option,
    root_option,
    tag_option,
    target_option,
    words_argument,
)
from catmem.cli.output import emit, emit_json, printable, say, warn_of_rows
from catmem.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from catmem.policy.search_rank import Snippet
    from catmem.service.search import Searched, SearchHit
    from catmem.service.workspace import Workspace

_LIMIT = 20
_STATES = ["fresh", "stale", "expired", "unverified"]


@click.command(
    epilog="Examples: catmem search -p trinity 'invoice approval'   "
    "catmem search -p trinity --state stale '\"due date\" tax'"
)
@words_argument("query", "QUERY...")
@profile_option(required=True)
@target_option
@click.option("-c", "--category", metavar="SLUG", help="Only this category.")
@tag_option("Only entries with this tag and value; KEY= for those without the tag. May be repeated.")
@click.option(
    "--state", "states", type=click.Choice(_STATES), multiple=True, help="Only entries of this state. May be repeated."
)
@click.option("--limit", type=click.IntRange(min=1), default=_LIMIT, show_default=True, help="Show so many at most.")
@as_of_option
@root_option
@format_option
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    query: str,
    profile: str,
    target: str | None,
    category: str | None,
    tags: dict[str, Any] | None,
    states: tuple[Any, ...],
    limit: int,
    as_of: date | None,
    root_folder: str | None,
    *,
    as_json: bool,
) -> None:
    """Find the entries that a profile sees in its own files, and that QUERY fits: the best and newest first.

    QUERY is words, any of which is enough, and "quoted phrases", which an entry must have; - is stdin.
    """
    from catmem.service.ages import notes_of
    from catmem.service.search import search

    workspace = open_with_store(root_folder)
    warn_of_rows(workspace, profile, target)
    filters: dict[str, Any] = {"target": target, "category": category, "tags": tags, "state": states or None}
    found = search(workspace, profile, query, limit=limit, as_of=as_of, **filters)
    for note in notes_of(workspace):
        say(printable(f"warning: {note}"))
    if as_json:
        _print_json(workspace, profile, query, found)
        return
    if not found.total:
        given = {name: value for name, value in filters.items() if value}
        _say_nothing_found(workspace, profile, query, given, as_of)
    emit("\n".join(_lines(found.found)))
    if found.total > len(found.found):
        say(f"{len(found.found)} of {found.total:,} entries; --limit {found.total} shows all.")


def _lines(found: Sequence[SearchHit]) -> list[str]:
    """Two lines for each entry: where it stands and how old it is, and the piece that shows why it was found."""
    return [f"{_place(each)}\n    {_styled(each.snippet)}\n" for each in found]


def _place(found: SearchHit) -> str:
    state = found.freshness.note or found.freshness.state
    said = [f"{found.target}:{found.line}", found.entry.category, state]
    if found.threats:
        said.append(f"blocked: {', '.join(found.threats)}")
    return "  ".join(said)


def _styled(snippet: Snippet) -> str:
    """The snippet, with what was looked for in bold on a terminal."""
    text, bold = snippet.text, _is_terminal()
    parts: list[str] = []
    done = 0
    for start, end in snippet.hits:
        hit = printable(text[start:end])
        parts += [printable(text[done:start]), click.style(hit, bold=True) if bold else hit]
        done = end
    return "".join([*parts, printable(text[done:])])


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _say_nothing_found(
    workspace: Workspace, profile: str, query: str, filters: Mapping[str, Any], as_of: date | None
) -> None:
    """What was searched in vain, and what would find something."""
    from catmem.policy.schema import shown
    from catmem.service.search import search
    from catmem.service.writing.terms import undeclared

    where = f"{profile}/{filters['target']}" if "target" in filters else f"{profile}/user and {profile}/memory"
    say(printable(f"Nothing that {profile} sees in {where} fits {shown(query)}."))
    hint = undeclared(filters["category"], workspace.config.taxonomy) if "category" in filters else None
    if hint is not None:
        say(printable(hint))
    elif filters:
        try:
            total = search(workspace, profile, query, limit=0, as_of=as_of).total
        except UnreadableError:
            total = 0  # the file that was not asked for: this is a hint, and no reason to fail
        names = {"target": "-t", "category": "-c", "tags": "--tag", "state": "--state"}
        left_out = " and ".join(names[each] for each in filters)
        if total:
            say(f"Without {left_out} it finds {total:,}.")
    if '"' in query:
        say("A quoted phrase must stand in an entry word for word; without the quotes any of its words is enough.")


def _print_json(workspace: Workspace, profile: str, query: str, found: Searched) -> None:
    from catmem.service.usage import read_usage, usage_key

    usage = {each.target: read_usage(workspace, f"{profile}/{each.target}") for each in found.found}
    for note in {use.note for use in usage.values() if use.note is not None}:
        say(printable(f"warning: {note}"))
    entries = []
    for each in found.found:
        use = usage[each.target].uses.get(usage_key(each.entry))
        entries.append({**each.to_dict(), "used": None if use is None else use.to_dict()})
    emit_json({"profile": profile, "query": query, "total": found.total, "entries": entries})
