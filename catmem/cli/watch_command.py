"""``catmem watch``: what is new, as it happens."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from catmem import clock
from catmem.cli.options import format_choice, open_with_store, root_option
from catmem.cli.output import emit, in_json, printable, printable_json, say, shown_moment, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from catmem.workspace.change_feed import News, Watch


@click.command(
    epilog="Examples: catmem watch   catmem watch trinity   catmem watch trinity/user --as trinity -n 1 --format jsonl"
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
    """Print each new revision and each external change as it happens, until you press Ctrl-C.

    It prints writes by any interface and edits by any program within a second. Without ENTITY it watches all files;
    ENTITY is PROFILE/user or PROFILE/memory, and PROFILE alone means PROFILE/user. With --format jsonl a line is an
    event of the server's stream, with its name as event.
    """
    from catmem.config.profile import refuse_no_root
    from catmem.workspace.change_feed import Watch, heard_name

    workspace = open_with_store()
    refuse_no_root(workspace.config)
    wanted = frozenset(heard_name(workspace, name, actor) for name in entities)
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
    """What is new, as somebody hears of it, without end; ``found`` to begin with."""
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
            by = f", {said['op']} by {said['agent_id']}" if "agent_id" in said else ""
            return f"{name} {said['revision']}{by}"
        case "drift" if news.recorded:
            none = said["revision"] == "0"
            return "is gone or empty, as before any revision" if none else f"is revision {said['revision']} again"
        case "drift":
            return f"changed by other means since revision {said['revision']}"
        case "trouble":
            what = "cannot be read" if news.profile is None else "this profile is not right"
            return f"{what}: {said['code']}{_where(said)}"
        case "recovered":
            return "can be read again" if news.profile is None else "this profile is right again"
        case _:
            return "changed more than is told here: read it anew"
