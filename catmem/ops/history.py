"""Operations on the history of files: revisions, who wrote what, and what is taken back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import sleep
from typing import Annotated, Any, Literal, NamedTuple

from catmem.audit import Replay, replay
from catmem.config.profile import refuse_no_root
from catmem.digest import bytes_digest
from catmem.errors import NoMatchError, UnreadableError
from catmem.files import read_bounded, real_path
from catmem.jsonable import jsonable
from catmem.names import TARGETS, parts_of
from catmem.ops.shared import RESTORED, EntityArgument
from catmem.ops.table import DAMAGE, STREAMED, Call, Http, Option, Outcome, P, operation
from catmem.store.contract import Revision, Store
from catmem.text import MAX_FILE_BYTES
from catmem.workspace import history
from catmem.workspace.change_feed import all_entities, changes_since
from catmem.workspace.history import words_of
from catmem.workspace.stores import store_of_file
from catmem.workspace.workspace import Workspace
from catmem.writing.written import Written

_NOTHING = "0"
"""The revision of a file that was never written."""
_EVERY = 0.75
"""Seconds from the end of one look of a watch to the next."""
_GIT_LIMIT = 1 << 29
"""Bytes; git itself takes a file that is larger for binary."""
SUFFIX = ".md"
"""What the path of a file ends in; no name of a profile or of an entity does."""


# --- which file ------------------------------------------------------------------------------------------------------


def both_files(entity: str) -> list[str]:
    """The entities of the two files of the profile that an entity is of."""
    return [f"{parts_of(entity).owner}/{target}" for target in TARGETS]


class HistoryFile(NamedTuple):
    """A file with a history: the root that reads it, its entity, and the store that has it."""

    workspace: Workspace
    entity: str
    store: Store


def found_file(call: Call, name: str) -> HistoryFile:
    """The workspace, the entity and the store that an argument means: an entity of the root, or the path of a file."""
    path = Path(name)
    if path.suffix != SUFFIX:
        workspace = call.open("store")
        # Which entities there are, is not for all: of a profile that acts it is decided where it is written.
        acts = call.values.get("actor") is not None
        return HistoryFile(workspace, name if acts else history.entity_of(workspace, name), workspace.store)
    from catmem.workspace.change_plan import has_journal
    from catmem.workspace.formatting import entity_at

    if not has_journal(path):
        read_bounded(path, MAX_FILE_BYTES)  # says so if there is no file either
    workspace = call.open("root") if call.named_root is not None else Workspace.open(real_path(path).parent)
    entity = entity_at(workspace, path)
    store = store_of_file(workspace.config, path) if entity is None else workspace.store
    call.on_close(store.close)
    return HistoryFile(workspace, entity or name, store)


def _files_of(call: Call, name: str) -> list[HistoryFile]:
    """What ``found_file`` finds, but both files for the name of a profile."""
    found = found_file(call, name)
    if found.entity == name or Path(name).suffix == SUFFIX:
        return [found]
    return [found._replace(entity=each) for each in both_files(found.entity)]


# --- log and blame ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoggedFile:
    """What a log shows of one file."""

    entity: str
    revisions: Sequence[Revision]
    words: Mapping[str, str]
    outside: dict[str, Any] | None
    head: Revision | None
    __json__ = "entity unrecorded=outside revisions"


@dataclass(frozen=True, slots=True)
class RevisionLog:
    """Revisions of an entity, the newest first; ``limit`` are shown."""

    entity: str
    revisions: Iterator[Revision]
    limit: int

    def __json__(self) -> dict[str, Any]:
        return {"entity": self.entity, "revisions": list(islice(self.revisions, self.limit))}


@operation(
    "log",
    examples=(
        "catmem log",
        "catmem log trinity/user -n 5",
        "catmem log trinity --entry 'Vendor is'",
        "catmem log --verify",
    ),
    http=Http(
        "GET", "/mem/log", "List revisions", "The newest first. A bounded profile is shown those that it wrote.", "Log"
    ),
    apart={"verify": "limit wanted"},
    needs={"wanted": "entity"},
)
def log(
    call: Call,
    *,
    entity: Annotated[
        str | None,
        P(
            "PROFILE/user or PROFILE/memory (PROFILE alone is PROFILE/user), or one that catmem.yaml declares.",
            argument=True,
            called="entity_id",
            whose="file",
            needed=True,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        P(
            "Only the newest N revisions of a file; over HTTP 100 by default.",
            "-n --limit",
            minimum=1,
            form={"maximum": 10_000},
        ),
    ] = None,
    wanted: Annotated[str | None, Option("Only those that changed the entries that hold TEXT.", "--entry")] = None,
    verify: Annotated[
        bool, Option("Build every revision from the history alone, and compare with the store.", "--verify")
    ] = False,
) -> RevisionLog | Outcome:
    """List the revisions of ENTITY, the newest first; without ENTITY the newest one of each file.

    A line has the number, the time (UTC), who, what, the size, and the words of a changed entry. On top
    stands a change by another program that no revision has yet. A branch such as 8a was made on an older revision, and
    a merge says what it brought in. --entry follows an entry through new words and moves, also one that is gone.

    ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means both. It may be the path of a .md file, which needs no
    root if it has a history beside it.

    --verify rebuilds each revision, and compares with the store: revision, digest and bytes of the head, and the
    branches. It also checks the history, as 'catmem fsck' does. Exit status 4 if the two differ or the history is
    damaged; 2 if a profile cannot be used, so that its files were left out.
    """
    if verify:
        done: Replay = replay(call.root, entity)
        return Outcome(done, problems=done.unreadable, status=DAMAGE if done.damaged else 0)
    if entity is None:
        refuse_no_root(call.opener("root").config)
        workspace, store = call.open("store"), call.root.store
        newest = [_logged(call, HistoryFile(workspace, each, store), limit or 1, None) for each in store.entities()]
        newest.sort(key=lambda each: each.head.timestamp if each.head else "", reverse=True)
        return Outcome(newest, {"files": newest})
    if call.interface == "http":
        return RevisionLog(entity, call.root.store.log(entity), limit or 100)
    files = _files_of(call, entity)
    chosen = None if wanted is None else _of_entry(entity, files, wanted)
    of_each = ((each, None if chosen is None else chosen.get(each.entity, set())) for each in files)
    logged = [_logged(call, each, limit, some) for each, some in of_each]
    return Outcome(logged, _of_files(entity, jsonable(logged)))


def _of_files(name: str, files: Sequence[Any]) -> Any:  # noqa: ANN401 - JSON-ready data
    """What is said of one file, or of both of a profile."""
    return files[0] if len(files) == 1 else {"profile": name, "files": files}


def _of_entry(name: str, files: Sequence[HistoryFile], wanted: str) -> dict[str, set[str]]:
    """The revisions of the entries that hold a text, by entity. Raises ``NoMatchError`` if there are none at all."""
    from catmem.config.json_schema import shown
    from catmem.staleness.lineage import revisions_of

    found: dict[str, set[str]] = {}
    for number, (workspace, entity, store) in enumerate(files, 1):
        try:
            found[entity] = revisions_of(workspace, store, entity, wanted)
        except NoMatchError as error:
            if number == len(files) and not found:
                raise NoMatchError(f"no entry of {name} holds {shown(wanted)}, or held it", hint=error.hint) from None
    return found


def _logged(call: Call, file: HistoryFile, limit: int | None, chosen: set[str] | None) -> LoggedFile:
    """The newest revisions, at most ``limit``; of those that are ``chosen``, if some are."""
    workspace, entity, store = file
    revisions = (each for each in store.log(entity) if chosen is None or each.revision in chosen)
    shown = list(islice(revisions, limit))
    words = {} if call.for_program else words_of(workspace, store, shown)
    outside = _unrecorded(call, store, entity) if chosen is None else None
    return LoggedFile(entity, shown, words, outside, store.head(entity))


def _unrecorded(call: Call, store: Store, entity: str) -> dict[str, Any] | None:
    """Digest and size of the file as it is now, if the newest revision is not that."""
    try:
        data = store.read(entity).data
    except UnreadableError as error:
        call.tell(f"warning: what the file holds now cannot be read: {error}")
        return None
    digest = bytes_digest(data)
    head = store.head(entity)
    if head.digest == digest if head else not data:
        return None
    return {"digest": digest, "size": len(data)}


@operation("blame", examples=("catmem blame trinity", "catmem blame trinity/user --format json"))
def blame(call: Call, *, entity: EntityArgument) -> Outcome:
    """Say of each entry of ENTITY who wrote it: line, revision, time (UTC), who, verification, category, words.

    It names the revision that gave the entry its words, also of a branch; a move, a tag or a merge does not count.
    ENTITY is PROFILE/user or PROFILE/memory, or the path of a .md file; PROFILE alone means both files. 'catmem log
    --entry' lists every revision of an entry.
    """
    from catmem.staleness.lineage import blame

    files = _files_of(call, entity)
    found = [(name, blame(workspace, store, name)) for workspace, name, store in files]
    said = [{"entity": name, "entries": jsonable(entries)} for name, entries in found]
    return Outcome(found, _of_files(entity, said))


# --- what changed ----------------------------------------------------------------------------------------------------


@operation(
    "diff",
    examples=(
        "catmem diff trinity",
        "catmem diff trinity/user 7",
        "catmem diff trinity/memory 3 5",
        "catmem diff --git homes/trinity/USER.md",
    ),
    apart={"for_git": "old form root"},
)
def diff(
    call: Call,
    *,
    entity: EntityArgument,
    old: Annotated[str | None, P(argument=True, metavar="[FROM]")] = None,
    new: Annotated[str | None, P(argument=True, metavar="[TO]")] = None,
    for_git: Annotated[
        bool,
        P("Print the memory file ENTITY, here the path of a file, as text that git compares (a textconv).", "--git"),
    ] = False,
) -> dict[str, Any] | str:
    """Show what changed in ENTITY between the revisions FROM and TO, or between FROM and the file as it is now.

    Without FROM it shows what no revision has yet, or else what the last revision changed. ENTITY is PROFILE/user or
    PROFILE/memory, or the path of a .md file; PROFILE alone means PROFILE/user.
    """
    if for_git:
        from catmem.ops.branches import git_text

        # git compares larger files than catmem reads; how far is for git to say.
        return git_text(read_bounded(entity, _GIT_LIMIT))
    workspace, entity, store = found_file(call, entity)
    if old is None:
        old, new = _latest(store, entity)
    before, after = (store.read(entity, revision).data for revision in (old, new))
    ends = f"revision {old}", "now" if new is None else f"revision {new}"
    changed = history.difference(workspace, entity, before, after, ends)
    return {"entity": entity, "from": old, "to": new, "changed": before != after, "diff": changed}


def _latest(store: Store, entity: str) -> tuple[str, str | None]:
    """The two ends of the latest change; ``None`` is the file as it is now."""
    newest = store.head(entity)
    if newest is None:
        return _NOTHING, None
    if newest.digest != bytes_digest(store.read(entity).data):
        return newest.revision, None
    return (newest.parents[0] if newest.parents else _NOTHING), newest.revision


@operation(
    "restore",
    writes=RESTORED,
    examples=("catmem restore trinity/user 7 --dry-run", "catmem restore trinity/user 7"),
)
def restore(call: Call, *, entity: EntityArgument, revision: Annotated[str, P(argument=True)]) -> Written:
    """Write ENTITY as it was at REVISION ('catmem log' lists them). What is there now stays in the history.

    ENTITY is PROFILE/user or PROFILE/memory, or the path of a .md file; PROFILE alone means PROFILE/user.
    """
    workspace, entity, store = found_file(call, entity)
    own = None if store is workspace.store else store
    return history.restore(workspace, entity, revision, store=own, **call.how)


@operation(
    "undo", writes=RESTORED, examples=("catmem undo", "catmem undo trinity/memory", "catmem undo trinity --expected 7")
)
def undo(call: Call, *, entity: Annotated[str | None, P(argument=True)] = None) -> Written:
    """Take back the newest revision of ENTITY: the text before it becomes a new revision.

    Without ENTITY it takes back what you wrote last, also the approval of a proposal. A second undo goes further back.
    It refuses a revision that another one follows, and one by a seed, a merge or another program: use 'catmem restore'.
    It refuses one by another person too, where both names are known, unless you name it with --expected.
    The answer names the 'catmem restore' that makes the revision again.
    ENTITY is PROFILE/user or PROFILE/memory, or the path of a .md file; PROFILE alone means PROFILE/user.
    """
    if entity is None:
        workspace, store = call.root, None
    else:
        workspace, entity, found = found_file(call, entity)
        store = None if found is workspace.store else found
    return history.undo(workspace, entity, store=store, **call.how)


# --- as it happens ---------------------------------------------------------------------------------------------------


@operation(
    "watch",
    examples=("catmem watch", "catmem watch trinity", "catmem watch trinity/user -n 1 --format jsonl"),
)
def watch(
    call: Call,
    *,
    entities: Annotated[list[str] | None, P(argument=True, metavar="[ENTITY]...")] = None,
    limit: Annotated[int | None, P("End after N events.", "-n --limit", minimum=1)] = None,
    form: Annotated[
        Literal["text", "jsonl"],
        P("Output for people, or for programs (fields: docs/live.md): one JSON value a line.", "--format"),
    ] = "text",
) -> Outcome:
    """Print each new revision and each change by another program as it happens, until you press Ctrl-C.

    It prints writes by any interface and edits by any program within a second. Without ENTITY it watches all files;
    ENTITY is PROFILE/user or PROFILE/memory, and PROFILE alone means both. With --format jsonl each line is an event,
    as in docs/live.md.
    """
    root = call.root
    refuse_no_root(root.config)
    heard = [(name, history.entity_of(root, name)) for name in entities or ()]
    wanted = [each for name, one in heard for each in ([one] if one == name else both_files(one))]
    return Outcome(islice(_news(call, wanted), limit), STREAMED)


def _news(call: Call, wanted: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """What is new, from the first look on, without end; what cannot be read is said once."""
    troubles: Sequence[Any] = ()
    since = changes_since(call.root, dict.fromkeys(wanted or all_entities(call.root, None)), None).since
    call.tell(f"Watching {', '.join(wanted) or call.root.root}. Ctrl-C ends it.")
    while True:
        known = wanted or sorted(all_entities(call.root, None))
        since, found = changes_since(call.root, {each: since.get(each, "0") for each in known}, None)
        yield from (each for each in found if each not in troubles)
        troubles = [each for each in found if each["event"] == "trouble"]
        sleep(_EVERY)


@operation(
    "changes",
    http=Http(
        "GET",
        "/mem/changes",
        "What is new since the caller asked last",
        "Of all that the caller may hear of: a profile of its own files, one of tier 1 and a person of all.",
        "Changes",
    ),
)
def changes(
    call: Call,
    *,
    since: Annotated[
        list[str] | None,
        P(
            "What the answer before gave as since: entities, each as PROFILE/user@REVISION. "
            "One without a revision, and no list at all, begins now.",
            whose="entity",
        ),
    ] = None,
) -> Outcome:
    """Say what is new of some entities. Raises ``UnknownNameError`` and ``ForbiddenError``."""
    seen: dict[str, str | None] = dict.fromkeys(all_entities(call.root, call.actor) if since is None else ())
    for each in since or ():
        name, _, revision = each.partition("@")
        seen[name] = revision or None
    return Outcome(changes_since(call.root, seen, call.actor))
