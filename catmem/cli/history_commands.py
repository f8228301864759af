"""``catmem diff``, ``undo``, ``restore``, ``replay`` and ``watch``: the revisions of files."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catmem import clock
from catmem.cli.command import Command
from catmem.cli.door import given_root
from catmem.cli.options import (
    actor_option,
    common_options,
    dry_run_option,
    entity_argument,
    expected_option,
    format_choice,
    open_with_store,
    open_workspace,
    root_option,
)
from catmem.cli.output import (
    TOOK_BACK,
    emit,
    emit_json,
    fault_lines,
    in_json,
    print_unreadable,
    printable,
    printable_json,
    say,
    say_all,
    show_written,
    shown_moment,
    shown_path,
    text_diff,
)
from catmem.digest import bytes_digest
from catmem.files import read_bounded
from catmem.names import TARGETS
from catmem.text import DEFAULT_LIMITS, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from catmem.audit.rebuilding import Replay
    from catmem.store.contract import Store
    from catmem.workspace.change_feed import News, Watch
    from catmem.workspace.workspace import Workspace

_NOTHING = "0"
"""The revision of a file that was never written."""
_GIT_LIMIT = 1 << 29
"""Bytes; git itself takes a file that is larger for binary."""
_DAMAGE = 4
SUFFIX = ".md"
"""What the path of a file ends in; no name of a profile or of an entity does."""


def both_files(entity: str) -> list[str]:
    """The entities of the two files of the profile that an entity is of."""
    return [f"{entity.partition('/')[0]}/{target}" for target in TARGETS]


def found_file(name: str, actor: str | None = None) -> tuple[Workspace, str, Store]:
    """The workspace, the entity and the store that an argument means: an entity of the root, or the path of a file.

    A file of no profile has a store by itself, and its path stands for its entity. The name that an ``actor`` gives is
    looked up once it is known to have the right: which profiles there are, is not for all.
    """
    from catmem.workspace import history

    path = Path(name)
    if path.suffix != SUFFIX:
        workspace = open_with_store()
        return workspace, name if actor is not None else history.entity_of(workspace, name), workspace.store
    from catmem.workspace.formatting import entity_at, has_journal
    from catmem.workspace.stores import store_of_file
    from catmem.workspace.workspace import Workspace

    if not has_journal(path):
        read_bounded(path, DEFAULT_LIMITS.file_bytes)  # says so if there is no file either
    workspace = open_workspace() if given_root() is not None else Workspace.open(path.resolve().parent)
    entity = entity_at(workspace, path)
    store = store_of_file(workspace.config, path) if entity is None else workspace.store
    click.get_current_context().call_on_close(store.close)
    return workspace, entity or name, store


@click.command(
    cls=Command,
    examples=(
        "catmem diff trinity",
        "catmem diff trinity/user 7",
        "catmem diff trinity/memory 3 5",
        "catmem diff --git homes/trinity/USER.md",
    ),
)
@entity_argument
@click.argument("old", metavar="[FROM]", required=False)
@click.argument("new", metavar="[TO]", required=False)
@click.option(
    "--git",
    "for_git",
    is_flag=True,
    help="Print the memory file ENTITY, here the path of a file, as text that git compares (a textconv).",
)
@common_options
def diff(entity: str, old: str | None, new: str | None, *, for_git: bool) -> None:
    """Show what changed in ENTITY between the revisions FROM and TO, or between FROM and the file as it is now.

    Without either: what is in the file and not in the history yet, or else what the last revision changed. ENTITY is
    PROFILE/user or PROFILE/memory, or the path of a .md file; PROFILE alone means PROFILE/user.
    """
    if for_git:
        if old is not None or in_json() or given_root() is not None:
            raise click.UsageError("--git goes with the path of one file, and with nothing else.")
        from catmem.cli.git_commands import git_text

        # git compares larger files than catmem reads; how far is for git to say.
        emit(git_text(read_bounded(entity, _GIT_LIMIT)))
        return
    from catmem.workspace import history

    workspace, entity, store = found_file(entity)
    if old is None:
        old, new = _latest(store, entity)
    before, after = (store.read(entity, revision).data for revision in (old, new))
    ends = f"revision {old}", "now" if new is None else f"revision {new}"
    shown = [history.shown_text(workspace, entity, data) for data in (before, after)]
    # What follows the tab is no part of the name of the file: other programs that read diffs pass over it.
    difference = text_diff(shown[0], shown[1], f"a/{entity}\t{ends[0]}", f"b/{entity}\t{ends[1]}")
    if in_json():
        emit_json({"entity": entity, "from": old, "to": new, "changed": before != after, "diff": difference})
        return
    emit(difference)
    if not difference:
        say(f"No difference in {entity} between {ends[0]} and {ends[1]}.")


def _latest(store: Store, entity: str) -> tuple[str, str | None]:
    """The two ends of the latest change; ``None`` is the file as it is now."""
    newest = store.head(entity)
    if newest is None:
        return _NOTHING, None
    if newest.digest != bytes_digest(store.read(entity).data):
        return newest.revision, None
    return (newest.parents[0] if newest.parents else _NOTHING), newest.revision


@click.command(cls=Command, examples=("catmem restore trinity/user 7 --dry-run", "catmem restore trinity/user 7"))
@entity_argument
@click.argument("revision")
@actor_option
@expected_option
@dry_run_option
@common_options
def restore(entity: str, revision: str, actor: str | None, expected: str | None, *, dry_run: bool) -> None:
    """Write ENTITY as it was at REVISION ('catmem log' lists them). What is there now stays in the history.

    ENTITY is PROFILE/user or PROFILE/memory, or the path of a .md file; PROFILE alone means PROFILE/user.
    """
    from catmem.workspace import history

    workspace, entity, store = found_file(entity, actor)
    own = None if store is workspace.store else store
    written = history.restore(workspace, entity, revision, expected=expected, dry_run=dry_run, actor=actor, store=own)
    # A caller that may restore may see the whole file, so its dry run shows the lines around a change too.
    show_written(written, f"restored revision {revision}", {"dry_run": dry_run})


@click.command(cls=Command, examples=("catmem undo", "catmem undo trinity/memory", "catmem undo trinity --expected 7"))
@click.argument("entity", required=False)
@actor_option
@expected_option
@dry_run_option
@common_options
def undo(entity: str | None, actor: str | None, expected: str | None, *, dry_run: bool) -> None:
    """Take back the newest revision of ENTITY: the text before it becomes a new revision.

    Without ENTITY it takes back what you wrote last. A revision that another one follows stays ('catmem restore' is for
    that), and so does one that a seed, a merge or another program made. The approval of a proposal is taken back. A
    second undo goes further back; the answer names the 'catmem restore' that makes it again.
    ENTITY is PROFILE/user or PROFILE/memory, or the path of a .md file; PROFILE alone means PROFILE/user.
    """
    from catmem.workspace import history

    if entity is None:
        workspace, store = open_with_store(), None
    else:
        workspace, entity, found = found_file(entity, actor)
        store = None if found is workspace.store else found
    done = history.undo(workspace, entity, expected=expected, dry_run=dry_run, actor=actor, store=store)
    show_written(done, TOOK_BACK, {"dry_run": dry_run})


@click.command(
    cls=Command,
    examples=(
        "catmem replay --to /tmp/history",
        "catmem replay trinity/user --to /tmp/history",
        "catmem replay --heads --to /tmp/heads",
    ),
)
@click.argument("entity", required=False)
@click.option("--to", "folder", required=True, metavar="DIR", help="A folder that is new or empty.")
@click.option("--heads", is_flag=True, help="Write the heads only, and not every revision.")
@common_options
def replay(entity: str | None, folder: str, *, heads: bool) -> None:
    """Build every revision of ENTITY, or of all files of the root, from the journal alone, and write each as a file.

    Of each file the head is DIR/PROFILE/USER.md, and the revisions are DIR/PROFILE/USER/1.md and so on. What was built
    is compared with what the store has: revision, digest and bytes of the head, and the branches; and the history is
    looked over, as 'catmem fsck' does. ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.

    Exit status 4 if the two do not agree, or the history is damaged; 2 if a profile is not right: its files were passed
    over.
    """
    from catmem.audit.rebuilding import replay

    done = replay(open_with_store(), Path(folder), entity, heads_only=heads)
    if in_json():
        emit_json({"to": folder, **done.to_dict()})
    else:
        paths = [*(each.path for each in done.revisions), *(each.path for each in done.heads)]
        emit("".join(printable(f"{shown_path(path)}\n") for path in paths))
    _tell(done)
    status = print_unreadable(done.unreadable)
    sys.exit(_DAMAGE if done.damaged else status)


def _tell(done: Replay) -> None:
    for each in done.mismatches:
        say(f"mismatch: {each.entity}: {each.what}: rebuilt {each.rebuilt}, in the store {each.found}")
    say_all(line.rstrip("\n") for line in fault_lines(done.faults))
    if in_json():
        return
    for head in done.heads:
        if head.unrecorded:
            said = "was changed by another program, which the history does not hold yet"
            say(f"note: {head.entity} {said}; it was rebuilt as it was at revision {head.revision}")
    if done.revisions:
        say(f"{counted(len(done.revisions), 'revision')} written")
    if not done.heads:
        say("No revision is recorded yet.")
    elif done.mismatches:
        say("What was rebuilt is not what the store has. 'catmem fsck' looks for the damage.")
    elif done.damaged:
        say("The history is damaged, so what was rebuilt may not be all that was written. 'catmem fsck' says more.")
    else:
        say(f"{counted(len(done.heads), 'head')} rebuilt, byte for byte what the store recorded")


@click.command(
    cls=Command,
    examples=("catmem watch", "catmem watch trinity", "catmem watch trinity/user --as trinity -n 1 --format jsonl"),
)
@click.argument("entities", metavar="[ENTITY]...", nargs=-1)
@click.option("--as", "actor", metavar="NAME", help="Tell what this profile may hear. By default you, a person: all.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="End after N events.")
@root_option
@format_choice(
    *("text", "jsonl"),
    said="Output for people, or for programs (fields: docs/live.md): one JSON value a line.",
    exposed=False,
)
def watch(entities: tuple[str, ...], actor: str | None, limit: int | None) -> None:
    """Print each new revision and each change by another program as it happens, until you press Ctrl-C.

    It prints writes by any interface and edits by any program within a second. Without ENTITY it watches all files;
    ENTITY is PROFILE/user or PROFILE/memory, and PROFILE alone means both. With --format jsonl a line is an
    event of the server's stream, with its name as event.
    """
    from catmem.config.profile import refuse_no_root
    from catmem.workspace.change_feed import Watch, heard_name

    workspace = open_with_store()
    refuse_no_root(workspace.config)
    heard = [(name, heard_name(workspace, name, actor)) for name in entities]
    wanted = frozenset(each for name, one in heard for each in ([one] if one == name else both_files(one)))
    if actor is not None:
        workspace.profile(actor)
    with suppress(KeyboardInterrupt):
        watch = Watch(workspace)
        found = watch.look()
        say(f"Watching {', '.join(sorted(wanted)) or workspace.root}. Ctrl-C ends it.")
        for news, said in islice(_heard(watch, found, wanted, actor), limit):
            emit(printable_json({"event": news.kind, **said}) + "\n" if in_json() else _line(news, said))


def _heard(
    watch: Watch, found: Sequence[News], wanted: frozenset[str], actor: str | None
) -> Iterator[tuple[News, dict[str, Any]]]:
    """What is new for ``actor``, without end; ``found`` to begin with."""
    from catmem.workspace.change_feed import EVERY, concerns, heard

    while True:
        yield from heard(watch.workspace, (news for news in found if concerns(news, wanted)), actor)
        time.sleep(EVERY)
        found = watch.look()


def _line(news: News, said: dict[str, Any]) -> str:
    when = said.get("timestamp") or clock.timestamp_in_seconds(clock.now())
    parts = (shown_moment(when), news.entity or news.profile or "all files", _words(news, said))
    return printable("  ".join(parts)).replace("\n", "\\n") + "\n"


def _where(said: Mapping[str, Any]) -> str:
    if "message" not in said:
        return ""
    parts = [shown_path(said["path"])] if "path" in said else []
    place = ":".join([*parts, *(str(said[part]) for part in ("line", "column") if part in said)])
    return ", " + ": ".join(part for part in (place, said.get("key"), said["message"]) if part)


def _words(news: News, said: dict[str, Any]) -> str:
    match news.kind:
        case "revision":
            name = "branch" if said["branch"] else "revision"
            by = f", {news.record.op} by {news.record.who}" if "agent_id" in said and news.record else ""
            return f"{name} {said['revision']}{by}"
        case "drift" if news.recorded:
            none = said["revision"] == "0"
            return "is gone or empty, as before any revision" if none else f"is revision {said['revision']} again"
        case "drift":
            return f"changed by another program since revision {said['revision']}"
        case "trouble":
            what = "cannot be read" if news.profile is None else "this profile is not right"
            return f"{what}: {said['code']}{_where(said)}"
        case "recovered":
            return "can be read again" if news.profile is None else "this profile is right again"
        case _:
            return "changed more than is shown here: read it anew"
