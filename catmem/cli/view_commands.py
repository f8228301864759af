"""``catmem show``, ``list`` and ``search``: what a file says, and what a profile sees."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.command import Command
from catmem.cli.door import given_root
from catmem.cli.options import (
    as_of_option,
    category_option,
    common_options,
    open_to_read,
    open_with_store,
    open_workspace,
    profile_option,
    refuse_undeclared,
    tag_option,
    target_option,
    words_argument,
)
from catmem.cli.output import (
    columns,
    emit,
    emit_json,
    first_line,
    in_json,
    print_unreadable,
    printable,
    printable_json,
    read_stdin,
    say,
    say_all,
    warn_of,
    warn_of_rows,
)
from catmem.digest import jsonable
from catmem.errors import CatmemError, UnreadableError
from catmem.names import TARGETS, is_declared
from catmem.staleness.freshness import advice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from catmem.model.document import Document, Problem
    from catmem.search.ranking import Snippet
    from catmem.search.search import Searched, SearchHit
    from catmem.workspace.everywhere import SharedEntry
    from catmem.workspace.seen_entry import SeenEntry
    from catmem.workspace.workspace import Workspace

_LIST_WIDTH = 72
_LIMIT = 20
_STATES = ["fresh", "stale", "expired", "unverified"]


@click.command(
    cls=Command,
    examples=(
        "catmem show USER.md",
        "catmem show --format json - < USER.md",
        "catmem show -p trinity -t memory",
        "catmem show project:alpha",
    ),
)
@click.argument("file", required=False)
@profile_option(required=False)
@target_option
@common_options
def show(file: str | None, profile: str | None, target: str | None) -> None:
    """Show what FILE says: its categories, entries, tags and problems. FILE may be - for stdin.

    In the place of FILE, PROFILE/user or PROFILE/memory is that file of a profile, whole. An entity that catmem.yaml
    declares, such as project:alpha, shows its content; with --format json also its revision and digest.

    With -p the same for a profile's own file, reduced to what the profile may see; with --format json also the
    revision and digest of the file, as --expected takes them.
    """
    if (file is None) == (profile is None):
        raise click.UsageError("Name either a FILE or a profile (-p NAME).")
    if target is not None and profile is None:
        raise click.UsageError("--target goes with --profile.")
    if file is not None and is_declared(file) and not os.path.lexists(file):
        _show_content(file)
        return
    if profile is not None:
        workspace = open_with_store() if in_json() else open_to_read()
        warn_of_rows(workspace, profile, target or "user")
        said, document, problems = _seen(workspace, profile, target or "user")
    else:
        workspace, document = _read(str(file))
        problems = workspace.problems(document)
        said = document.form(document.title, document.by_category, problems)
    if in_json():
        emit_json(said)
    else:
        emit("".join(_shown_lines(said)))
        emit("\nproblems\n" if problems else "")
        for each in problems:
            emit(printable(f"  line {document.line(each.start)}: {each.rule}: {each.message}\n"))


def _show_content(entity: str) -> None:
    from catmem.entities.contents import content_of
    from catmem.workspace.history import declared_of

    workspace = open_with_store()
    declared = declared_of(workspace, entity)
    now = workspace.store.read(entity)
    content = content_of(declared, now.data)
    if in_json():
        emit_json({"entity": entity, "revision": now.revision, "digest": now.digest, "content": content})
    elif declared.content == "text":
        emit(printable(content))
    else:
        emit(f"{printable_json(content)}\n")


def _seen(workspace: Workspace, profile: str, target: str) -> tuple[dict[str, Any], Document, tuple[Problem, ...]]:
    """What a profile may see of its file; as JSON with what names the text that was read."""
    from catmem.config.access import visible
    from catmem.workspace.profile_memory import seen_file

    if not in_json():
        view = workspace.view(profile, target)
        problems = view.problems(workspace.problems(view.document))
        return view.to_dict(problems), view.document, problems
    file = seen_file(workspace, profile, target)
    warn_of(file)
    view = visible(file.document, target, workspace.profile(profile), workspace.config.taxonomy)
    problems = view.problems(workspace.problems(file.document))
    return {**view.to_dict(problems), "files": {target: file.to_dict()}}, file.document, problems


def _read(file: str) -> tuple[Workspace, Document]:
    """The document, and the workspace of its root: that says what its aliases mean, wherever the command is run."""
    from catmem.files import read_bounded
    from catmem.text import DEFAULT_LIMITS
    from catmem.workspace.workspace import Workspace

    if file == "-":
        workspace = open_workspace()
        return workspace, workspace.parse(read_stdin(DEFAULT_LIMITS.file_bytes))
    name, _, target = file.partition("/")
    if target in TARGETS and not os.path.lexists(file):
        workspace = open_workspace()
        file = str(workspace.path_of(workspace.profile(name), target))
    else:
        workspace = open_workspace() if given_root() else Workspace.open(Path(file).absolute().parent)
    data = read_bounded(file, DEFAULT_LIMITS.file_bytes)
    try:
        return workspace, workspace.parse(data)
    except CatmemError as error:
        error.path = file
        raise


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


_whose_option = click.option(
    "-p", "--profile", metavar="NAME", help="The profile whose memory this is. By default that of all profiles."
)


@click.command(
    cls=Command,
    examples=("catmem list", "catmem list -p trinity", "catmem list -p trinity -t user -c communication-style"),
)
@_whose_option
@target_option
@category_option
@as_of_option
@common_options
def list_(profile: str | None, target: str | None, category: str | None, as_of: date | None) -> None:
    """List the entries that a profile sees in its own files: place, category, state, first line.

    Without -p all entries of all files; one that several files have word for word is one line, with their names. With
    --format json and -p also the revision and digest of each file, as --expected takes them.
    """
    workspace = open_with_store() if in_json() else open_to_read()
    refuse_undeclared(workspace, category)
    if profile is None:
        _list_everywhere(workspace, target, category, as_of)
        return
    warn_of_rows(workspace, profile, target)
    if in_json():
        _list_json(workspace, profile, target, category, as_of)
        return
    listed = workspace.list(profile, target=target, category=category, as_of=as_of)
    if not listed:
        say("No entries that this profile can see.")
    emit(columns([_list_row(each) for each in listed]))


def _list_everywhere(workspace: Workspace, target: str | None, category: str | None, as_of: date | None) -> None:
    from catmem.workspace.everywhere import folded, list_everywhere

    _warn_of_all(workspace, target)
    found, unreadable, _ = list_everywhere(workspace, target=target, category=category, as_of=as_of)
    listed = folded(found)
    if in_json():
        emit_json({"profile": None, "entries": [each.to_dict() for each in listed]})
    else:
        if not listed:
            say("No entries in any file.")
        emit(columns([_folded_row(each) for each in listed]))
    sys.exit(print_unreadable(unreadable))


def _folded_row(found: SharedEntry[SeenEntry]) -> tuple[str, ...]:
    _, *row, body = _list_row(found.entry)
    return f"{found.entry.entity}:{found.entry.line}", *row, body + _others(found)


def _others(found: SharedEntry[Any]) -> str:
    """The names of the other profiles, or of the other file, that have the same entry."""
    own = found.entry.entity.partition("/")[0]
    names = dict.fromkeys(each.entity.partition("/")[0] for each in found.copies)
    others = [name if name != own else f"{own} again" for name in names]
    return printable(f"  (also in {', '.join(others)})") if others else ""


def _warn_of_all(workspace: Workspace, target: str | None) -> None:
    from catmem.config.profile import refuse_no_root
    from catmem.workspace.root import load_each

    refuse_no_root(workspace.config)
    for each in load_each(workspace)[0]:
        warn_of_rows(workspace, each.name, target)


def _list_json(
    workspace: Workspace, profile: str, target: str | None, category: str | None, as_of: date | None
) -> None:
    from catmem.workspace.seen_entry import list_with_files

    entries, files = list_with_files(workspace, profile, target=target, category=category, as_of=as_of)
    for file in files.values():
        warn_of(file)
    said = {each: file.to_dict() for each, file in files.items()}
    emit_json({"profile": profile, "files": said, "entries": [entry.to_dict() for entry in entries]})


def _list_row(listed: SeenEntry) -> tuple[str, ...]:
    blocked = f"blocked: {', '.join(listed.threats)}" if listed.threats else None
    state = blocked or listed.freshness.note or listed.freshness.state
    body = first_line(listed.entry.body, _LIST_WIDTH)
    return f"{listed.target}:{listed.line}", listed.entry.category, state, body


@click.command(
    cls=Command,
    examples=(
        "catmem search -p trinity 'invoice approval'",
        "catmem search invoice",
        "catmem search -p trinity --state stale '\"due date\" tax'",
    ),
)
@words_argument("query", "QUERY...")
@_whose_option
@target_option
@category_option
@tag_option("Only entries with this tag and value; KEY= for those without the tag. May be repeated.")
@click.option(
    "--state", "states", type=click.Choice(_STATES), multiple=True, help="Only entries of this state. May be repeated."
)
@click.option("--limit", type=click.IntRange(min=1), default=_LIMIT, show_default=True, help="Show so many at most.")
@as_of_option
@common_options
def search(  # noqa: PLR0913, PLR0917 - one parameter an option
    query: str,
    profile: str | None,
    target: str | None,
    category: str | None,
    tags: dict[str, Any] | None,
    states: tuple[Any, ...],
    limit: int,
    as_of: date | None,
) -> None:
    """Find the entries that a profile sees in its own files, and that QUERY fits: the best and newest first.

    Without -p it searches all entries of all files; one that several files have word for word is one hit.
    QUERY is words, any of which is enough, and "quoted phrases", which an entry must have; - is stdin.
    """
    from catmem.search.search import search
    from catmem.staleness.ages import notes_of

    workspace = open_with_store()
    refuse_undeclared(workspace, category)
    filters: dict[str, Any] = {"target": target, "category": category, "tags": tags, "state": states or None}
    if profile is None:
        _search_everywhere(workspace, query, limit, {**filters, "as_of": as_of})
        return
    warn_of_rows(workspace, profile, target)
    found = search(workspace, profile, query, limit=limit, as_of=as_of, **filters)
    say_all(f"warning: {note}" for note in notes_of(workspace))
    if in_json():
        _search_json(workspace, profile, query, found)
        return
    if not found.total:
        given = {name: value for name, value in filters.items() if value}
        _say_nothing_found(workspace, profile, query, given, as_of)
    emit("\n".join(f"{_place(each)}\n    {_styled(each.snippet)}\n" for each in found.found))
    say_all(advice(each.freshness.state for each in found.found).values())
    if found.total > len(found.found):
        say(f"{len(found.found)} of {found.total:,} entries; --limit {found.total} shows all.")


def _search_everywhere(workspace: Workspace, query: str, limit: int, narrowing: Mapping[str, Any]) -> None:
    from catmem.config.json_schema import shown
    from catmem.search.search import search_everywhere
    from catmem.staleness.ages import notes_of
    from catmem.workspace.everywhere import folded

    _warn_of_all(workspace, narrowing["target"])
    searched = search_everywhere(workspace, query, whole=True, **narrowing)
    found = folded(searched.found)
    say_all(f"warning: {note}" for note in notes_of(workspace))
    best = found[:limit]
    if in_json():
        advised = advice(each.entry.freshness.state for each in best)
        entries = [each.to_dict() for each in best]
        emit_json({"profile": None, "query": query, "total": len(found), "entries": entries, **advised})
    else:
        if not found:
            say(f"Nothing in any file fits {shown(query)}.")
        lines = (f"{each.entry.entity.partition('/')[0]}/{_place(each.entry)}{_others(each)}" for each in best)
        texts = (_styled(each.entry.snippet) for each in best)
        emit("\n".join(f"{line}\n    {text}\n" for line, text in zip(lines, texts, strict=True)))
        say_all(advice(each.entry.freshness.state for each in best).values())
        if len(found) > limit:
            say(f"{limit} of {len(found):,} entries; --limit {len(found)} shows all.")
    sys.exit(print_unreadable(searched.unreadable))


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


def _say_nothing_found(
    workspace: Workspace, profile: str, query: str, filters: Mapping[str, Any], as_of: date | None
) -> None:
    from catmem.config.json_schema import shown
    from catmem.search.search import search

    where = f"{profile}/{filters['target']}" if "target" in filters else f"{profile}/user and {profile}/memory"
    say(f"Nothing that {profile} sees in {where} fits {shown(query)}.")
    if filters:
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


def _search_json(workspace: Workspace, profile: str, query: str, found: Searched) -> None:
    from catmem.search.usage import read_usage, usage_key

    usage = {each.target: read_usage(workspace, f"{profile}/{each.target}") for each in found.found}
    say_all({f"warning: {use.note}" for use in usage.values() if use.note is not None})
    entries = []
    for each in found.found:
        use = usage[each.target].uses.get(usage_key(each.entry))
        entries.append({**each.to_dict(), "used": jsonable(use)})
    advised = advice(entry["state"] for entry in entries)
    emit_json({"profile": profile, "query": query, "total": found.total, "entries": entries, **advised})
