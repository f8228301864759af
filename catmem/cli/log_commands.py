"""``catmem log`` and ``blame``: the revisions of files, and who wrote which entry."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.command import Command
from catmem.cli.history_commands import SUFFIX, both_files, found_file
from catmem.cli.options import common_options, entity_argument
from catmem.cli.output import columns, emit, emit_json, first_line, in_json, printable, say, shown_moment
from catmem.digest import bytes_digest
from catmem.errors import NoMatchError, UnreadableError
from catmem.store.contract import DECISION, PROPOSAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.store.contract import Revision, Store
    from catmem.workspace.changed_entries import Blamed
    from catmem.workspace.workspace import Workspace

_WORDS = 60
"""Characters of an entry beside what was done with it."""


@click.command(
    cls=Command,
    examples=(
        "catmem log trinity",
        "catmem log trinity/user -n 5",
        "catmem log trinity --entry 'Vendor is'",
        "catmem log trinity/user --graph",
    ),
)
@entity_argument
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N revisions of a file.")
@click.option("--entry", "wanted", metavar="TEXT", help="Only those that changed the entries that hold TEXT.")
@click.option("--graph", is_flag=True, help="Draw how the revisions follow each other, one column a line of them.")
@common_options
def log(entity: str, limit: int | None, wanted: str | None, *, graph: bool) -> None:
    """List the revisions of ENTITY, the newest first.

    A line has the number, the time (UTC), who, what, the size and its change, and the words of the entry if it was on
    one. ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means both. The path of a .md file means that file;
    it needs no root if it has a history beside it. A change by another program that the history does
    not hold yet stands on top; so does a file that catmem never wrote and that has no history. A branch such as 8a
    stands beside the file: it was made on an older revision, and a merge says what it brought in. --entry follows an
    entry through new words and moves, also one that is gone.
    """
    if graph and in_json():
        raise click.UsageError("--graph draws for people; in JSON each revision names its parents.")
    if graph and wanted is not None:
        raise click.UsageError("--graph draws all revisions, and --entry picks some.")
    files = _files_of(entity)
    chosen = None if wanted is None else _of_entry(entity, files, wanted)
    shown = [_Logged.of(*each, limit, None if chosen is None else chosen.get(each[1], set())) for each in files]
    if in_json():
        said = [each.to_dict() for each in shown]
        emit_json(said[0] if len(said) == 1 else {"profile": entity, "files": said})
        return
    # A file of two with nothing in it has nothing to say.
    there = [each for each in shown if each.revisions or each.outside] or shown[:1]
    for number, each in enumerate(there):
        rows, numbers = each.rows(graph=graph)
        if not rows:
            say(f"No revision of {each.entity} is recorded yet.")
        emit(f"{chr(10) * bool(number)}{printable(each.entity)}\n" if len(there) > 1 else "")
        emit(columns(rows, right=numbers))


def _of_entry(name: str, files: Sequence[tuple[Workspace, str, Store]], wanted: str) -> dict[str, set[str]]:
    """The revisions of the entries that hold a text, by entity. Raises ``NoMatchError`` if there are none at all."""
    from catmem.config.json_schema import shown
    from catmem.workspace.changed_entries import revisions_of

    found: dict[str, set[str]] = {}
    for number, (workspace, entity, store) in enumerate(files, 1):
        try:
            found[entity] = revisions_of(workspace, store, entity, wanted)
        except NoMatchError as error:
            if number == len(files) and not found:
                raise NoMatchError(f"no entry of {name} holds {shown(wanted)}, or held it", hint=error.hint) from None
    return found


@dataclass(frozen=True, slots=True)
class _Logged:
    """What a log shows of one file: ``known`` is one revision more, from which the change of size is counted."""

    entity: str
    revisions: Sequence[Revision]
    known: Sequence[Revision]
    words: Mapping[str, str]
    outside: dict[str, Any] | None
    head: Revision | None

    @classmethod
    def of(cls, workspace: Workspace, entity: str, store: Store, limit: int | None, chosen: set[str] | None) -> _Logged:
        """The newest revisions, at most ``limit``; of those that are ``chosen``, if some are."""
        from catmem.workspace.changed_entries import words_of

        if chosen is None:
            known = list(islice(store.log(entity), None if limit is None else limit + 1))
            shown = known[:limit]
        else:
            known = list(store.log(entity))
            shown = [each for each in known if each.revision in chosen][:limit]
        words = {} if in_json() else words_of(workspace, store, shown)
        outside = _unrecorded(store, entity) if chosen is None else None
        return cls(entity, shown, known, words, outside, store.head(entity))

    def to_dict(self) -> dict[str, Any]:
        """The file and its revisions, as JSON-ready data."""
        revisions = [revision.to_dict() for revision in self.revisions]
        return {"entity": self.entity, "unrecorded": self.outside, "revisions": revisions}

    def rows(self, *, graph: bool) -> tuple[list[tuple[str, ...]], tuple[int, ...]]:
        """The lines, and which of their columns are numbers."""
        rows = [_row(each, self.known, self.words.get(each.revision, "")) for each in self.revisions]
        if self.outside is not None:
            size, head = self.outside["size"], self.head
            change = f"{size - (head.size if head else 0):+,}"
            why = "changed by another program" if head else "no history yet: the first write begins it"
            rows.insert(0, ("-", "(not recorded yet)", "", "", f"{size:,} bytes", change, why))
        if not graph:
            return rows, (0, 4, 5)
        drawn = [*[""] * (self.outside is not None), *_drawn(self.revisions)]
        return [(picture, *row) for picture, row in zip(drawn, rows, strict=True)], (1, 5, 6)


@click.command(cls=Command, examples=("catmem blame trinity", "catmem blame trinity/user --format json"))
@entity_argument
@common_options
def blame(entity: str) -> None:
    """Say of each entry of ENTITY who wrote it: line, revision, time (UTC), who, verification, category, words.

    It names the revision that gave the entry its words; a move or a tag does not count. ENTITY is PROFILE/user or
    PROFILE/memory, or the path of a .md file; PROFILE alone means both files. 'catmem log --entry' lists every
    revision of an entry.
    """
    from catmem.workspace.changed_entries import blame

    files = _files_of(entity)
    found = [(name, blame(workspace, store, name)) for workspace, name, store in files]
    if in_json():
        said = [{"entity": name, "entries": [each.to_dict() for each in entries]} for name, entries in found]
        emit_json(said[0] if len(said) == 1 else {"profile": entity, "files": said})
        return
    there = [each for each in found if each[1]]
    for number, (name, entries) in enumerate(there):
        emit(f"{chr(10) * bool(number)}{printable(name)}\n" if len(there) > 1 else "")
        emit(columns([_blame_row(each) for each in entries], right=(0, 1)))
    if not there:
        say(f"No entries in {entity}.")


def _blame_row(blamed: Blamed) -> tuple[str, ...]:
    worded, verified = blamed.worded, blamed.verified
    day = blamed.entry.tags.get("verified_date")
    by = "" if verified is None else f" by {verified.who}"
    return (
        str(blamed.line),
        "-" if worded is None else worded.revision,
        "(not recorded yet)" if worded is None else shown_moment(worded.timestamp),
        "" if worded is None else printable(_maker(worded)),
        "not verified" if day is None else printable(f"verified {day}{by}"),
        blamed.entry.category,
        first_line(blamed.entry.body, _WORDS),
    )


def _maker(revision: Revision) -> str:
    """Who made a revision, and of one that approved a proposal also who proposed it; of a seed, where it is from."""
    if revision.op == "seed" and "source" in revision.note:
        return f"{revision.who}, seeded from {str(revision.note['source']).partition('/')[0]}"
    said = revision.note.get(DECISION)
    done = "reworded" if said and said.get("reworded") else "approved"
    return f"{said['proposed_by']}, {done} by {revision.who}" if said else revision.who


def _files_of(name: str) -> list[tuple[Workspace, str, Store]]:
    """What ``_found`` finds, but both files for the name of a profile."""
    workspace, entity, store = found_file(name)
    if entity == name or Path(name).suffix == SUFFIX:
        return [(workspace, entity, store)]
    return [(workspace, each, store) for each in both_files(entity)]


def _unrecorded(store: Store, entity: str) -> dict[str, Any] | None:
    """Digest and size of the file as it is now, if the newest revision is not that."""
    try:
        data = store.read(entity).data
    except UnreadableError as error:
        say(f"warning: what the file holds now cannot be read: {error}")
        return None
    digest = bytes_digest(data)
    head = store.head(entity)
    if head.digest == digest if head else not data:
        return None
    return {"digest": digest, "size": len(data)}


def _row(revision: Revision, found: Sequence[Revision], words: str) -> tuple[str, ...]:
    sizes = {each.revision: each.size for each in found}
    parent = revision.parents[0] if revision.parents else None
    before = 0 if parent is None else sizes.get(parent)
    when = shown_moment(revision.timestamp)
    change = "" if before is None else f"{revision.size - before:+,}"
    size = f"{revision.size:,} bytes"
    return revision.revision, when, printable(revision.who), revision.op, size, change, _remarks(revision, words)


def _drawn(revisions: Sequence[Revision]) -> list[str]:
    """A picture before each revision: a column for each line of revisions that goes on below, ``*`` for its own.

    The first column is that of the file, the others are of branches.
    """
    lines: list[str | None] = [next((each.revision for each in revisions if not each.is_branch), None)]
    pictures: list[str] = []
    for revision in revisions:
        if revision.revision not in lines:
            _put(lines, revision.revision)
        own = lines.index(revision.revision)
        marks = ("*" if at == own else " " if each is None else "|" for at, each in enumerate(lines))
        pictures.append(" ".join(marks).rstrip())
        lines = [None if each == revision.revision else each for each in lines]
        for number, parent in enumerate(revision.parents):
            if number == 0:
                lines[own] = parent
            elif parent not in lines:
                _put(lines, parent)
    return pictures


def _put(lines: list[str | None], revision: str) -> None:
    free = next((at for at, each in enumerate(lines) if at and each is None), None)
    if free is None:
        lines.append(revision)
    else:
        lines[free] = revision


def _remarks(revision: Revision, words: str) -> str:
    from catmem.workspace.changed_entries import did

    decision = revision.note.get(DECISION, {})
    name = decision.get("proposal", revision.note.get(PROPOSAL, {}).get("id"))
    aside = [name] if name else []
    aside += ["in other words"] if decision.get("reworded") else []
    aside += [f"branch from {', '.join(revision.parents) or 'nothing'}"] if revision.is_branch else []
    said = did(revision) + (f" ({', '.join(aside)})" if aside else "")
    remarks = printable(f"{said}: {decision['reason']}" if "reason" in decision else said)
    return f"{remarks}: {first_line(words, _WORDS)}" if words else remarks
