"""Operations that read: what a file says, what a profile sees, its prompt, and what that saves."""

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from catmem.config.access import Rights, all_problems, targets_read, visible
from catmem.config.config import is_pattern, split
from catmem.config.json_schema import shown
from catmem.config.profile import Profile, profile_names, refuse_no_root
from catmem.errors import CatmemError, ForbiddenError
from catmem.files import read_bounded, shown_path
from catmem.jsonable import jsonable
from catmem.model.document import Document
from catmem.names import TARGETS, is_declared, parts_of, slugify
from catmem.ops.shared import (
    AnyProfile,
    AsOf,
    InCategory,
    OneFile,
    refuse_undeclared,
    tell_of_category,
    tell_of_file,
    tell_of_rows,
)
from catmem.ops.table import NO_TOOL, ONLY_TOOL, Call, Http, Option, Outcome, P, Tool, UsageError, operation
from catmem.staleness.freshness import advice
from catmem.text import MAX_FILE_BYTES, printable_json
from catmem.workspace.profile_memory import ProfileMemory, list_documents, read_document, read_memory, seen_file

if TYPE_CHECKING:
    from catmem.prompt.prompt import Prompt
    from catmem.search.search import SearchHit
    from catmem.workspace.workspace import Workspace

_LIMIT = 20


@operation(
    "show",
    examples=(
        "catmem show USER.md",
        "catmem show --format json - < USER.md",
        "catmem show -p trinity -t memory",
        "catmem show project:alpha",
    ),
    needs={"target": "profile"},
)
def show(
    call: Call,
    *,
    file: Annotated[str | None, P(argument=True)] = None,
    profile: Annotated[str | None, P("The profile whose memory this is.")] = None,
    target: OneFile = None,
) -> Outcome:
    """Show what FILE says: its categories, entries, tags and problems. FILE may be - for stdin.

    PROFILE/user or PROFILE/memory in place of FILE shows that file of a profile, whole. The name of an entity that
    catmem.yaml declares, such as project:alpha, shows its content; with --format json also its revision and digest.

    With -p, or the name of a profile in place of FILE, it shows what that profile may see of its own files; with
    --format json also the revision and digest of each, as --expected takes them.
    """
    if (file is None) == (profile is None):
        raise UsageError("Name either a FILE or a profile (-p NAME).")
    if file is not None and not os.path.lexists(file):
        if is_declared(file):
            return _show_declared(call, file)
        if file in profile_names(call.open("read").config.profiles_dir):
            profile = file
    if profile is not None:
        call.open("store" if call.for_program else "read")
        tell_of_rows(call, profile, target or "user")
        return _show_seen_part(call, profile, target or "user")
    workspace, document = _document_of_file(call, str(file))
    problems = all_problems(document, workspace.config)
    said = document.form(document.title, document.by_category, problems)
    return Outcome((said, document, problems), said)


def _show_declared(call: Call, entity: str) -> Outcome:
    from catmem.entities.contents import content_of
    from catmem.workspace.history import declared_of

    declared = declared_of(call.root, entity)
    now = call.root.store.read(entity)
    content = content_of(declared, now.data)
    said = {"entity": entity, "revision": now.revision, "digest": now.digest, "content": content}
    return Outcome(content if declared.content == "text" else f"{printable_json(content)}\n", said)


def _show_seen_part(call: Call, profile: str, target: str) -> Outcome:
    """What a profile may see of its file, with what names the text that was read."""
    file = seen_file(call.root, profile, target, recorded=call.for_program)
    tell_of_file(call, file)
    view = visible(file.document, target, call.root.profile(profile), call.root.config.taxonomy)
    problems = view.problems(all_problems(file.document, call.root.config))
    said = {**view.form(problems), "files": {target: jsonable(file)}}
    return Outcome((said, file.document, problems), said)


def _document_of_file(call: Call, file: str) -> tuple["Workspace", Document]:
    """The document, and the workspace of its root: that says what its aliases mean, wherever the command is run."""
    from catmem.workspace.workspace import Workspace

    if file == "-":
        workspace = call.open("root")
        return workspace, workspace.parse(call.stdin(MAX_FILE_BYTES))
    name, target = parts_of(file)
    if target in TARGETS and not os.path.lexists(file):
        workspace = call.open("read")
        tell_of_rows(call, name, target)
        return workspace, read_document(workspace, workspace.profile(name), target)
    workspace = call.open("root") if call.named_root else Workspace.open(Path(file).absolute().parent)
    return workspace, workspace.parse(read_bounded(file, MAX_FILE_BYTES), file)


@operation(
    "list", examples=("catmem list", "catmem list -p trinity", "catmem list -p trinity -t user -c communication-style")
)
def list_(
    call: Call, *, profile: AnyProfile = None, target: OneFile = None, category: InCategory = None, as_of: AsOf = None
) -> Outcome:
    """List the entries that a profile sees in its own files: place, category, state, first line.

    Without -p it lists all entries of all files; one that several files have word for word is one line, at its source,
    with their names. With -p, --format json has the revision and digest of each file too, as --expected takes them.
    """
    refuse_undeclared(call, category)
    narrowed: dict[str, Any] = {"target": target, "category": category, "as_of": as_of}
    if profile is None:
        from catmem.workspace.reports import folded, list_everywhere

        profiles = _tell_of_all(call, target)
        found, unreadable, _ = list_everywhere(call.root, **narrowed)
        _tell_of_slips(call, None, None if found else category)
        shared = folded(found, profiles)
        return Outcome((None, shared), {"profile": None, "entries": shared}, unreadable)
    tell_of_rows(call, profile, target)
    files = {each: seen_file(call.root, profile, each) for each in ([target] if target else TARGETS)}
    documents = {each: file.document for each, file in files.items()}
    entries = list_documents(call.root, call.root.profile(profile), documents, category=category, as_of=as_of)
    for file in files.values() if call.for_program else ():
        tell_of_file(call, file)
    _tell_of_slips(call, profile, None if entries else category)
    return Outcome((profile, entries), {"profile": profile, "files": files, "entries": entries})


def _tell_of_slips(call: Call, profile: str | None, category: str | None) -> None:
    """Say to a person which ``category`` was meant, and what the files and selectors of a profile lack."""
    if profile is None:
        tell_of_category(call, category)
    if profile is None or call.for_program:
        return
    with suppress(CatmemError):  # a file that was not asked for: this is a hint, and no reason to fail
        memory = read_memory(call.root, profile)
        slips = (f"{shown_path(each.path or call.root.root)}: {each.message}" for each in memory.slips())
        for said in (*memory.lost.values(), *slips):
            call.tell(f"warning: {said}")
        for said in memory.category_hints([] if category is None else [category]):
            call.tell(said)


def _tell_of_all(call: Call, target: str | None) -> list[Profile]:
    """The profiles of the root, with which rows of their files are not shown."""
    from catmem.workspace.root import load_each

    refuse_no_root(call.root.config)
    for each in (profiles := load_each(call.root)[0]):
        tell_of_rows(call, each.name, target)
    return profiles


def _search_outcome(profile: str | None, query: str, total: int, hits: Sequence[Any]) -> Outcome:
    """The best of ``total`` hits, or of several files hits with their copies."""
    entries = jsonable(hits)
    said = {"profile": profile, "query": query, "total": total, "entries": entries}
    return Outcome((profile, query, total, hits), said | advice(each["state"] for each in entries))


def verified_in(root: "Workspace", found: "SearchHit") -> str:
    """The profile in whose file a fact is verified: of a copy the one that it is seeded from."""
    owners = [parts_of(found.entity).owner]
    with suppress(CatmemError):  # of a source that cannot be read the copy is verified
        while (source := root.profile(owners[-1]).seed_from) is not None and source not in owners:
            if found.entry.body not in root.bytes_of(root.profile(source), found.target).decode(errors="replace"):
                break
            owners.append(source)
    return owners[-1]


@operation(
    "search",
    examples=(
        "catmem search -p trinity 'invoice approval'",
        "catmem search invoice",
        "catmem search -p trinity --state stale '\"due date\" tax'",
    ),
)
def search(
    call: Call,
    *,
    query: Annotated[str, P(argument=True, metavar="QUERY...", words=True)],
    profile: AnyProfile = None,
    target: OneFile = None,
    category: InCategory = None,
    tags: Annotated[
        dict[str, Any] | None,
        P("Only entries with this tag and value; KEY= for those without the tag. Repeatable.", tags=True),
    ] = None,
    states: Annotated[
        list[Literal["fresh", "stale", "expired", "unverified"]] | None, P("Only entries of this state. Repeatable.")
    ] = None,
    limit: Annotated[int, P("Show so many at most.", minimum=1)] = _LIMIT,
    as_of: AsOf = None,
) -> Outcome:
    """Find entries that a profile sees in its own files and that fit QUERY, the best and newest first.

    Without -p it searches all entries of all files; one that several files have word for word is one hit, at
    its source. QUERY has words, of which an entry needs one, and "quoted phrases", which it must have. - reads stdin.
    """
    from catmem.search.search import search, search_everywhere
    from catmem.staleness.lineage import notes_of
    from catmem.workspace.reports import folded

    refuse_undeclared(call, category)
    state = tuple(states or ()) or None
    filters: dict[str, Any] = {"target": target, "category": category, "tags": tags, "state": state}
    look = partial(search_everywhere, call.root, query, whole=True, as_of=as_of)
    if profile is None:
        profiles = _tell_of_all(call, target)
        found = look(**filters)
        hits = sorted(folded(found.found, profiles), key=lambda each: -each.entry.score)
        done = _search_outcome(None, query, len(hits), hits[:limit])
        done.problems = found.unreadable
    else:
        tell_of_rows(call, profile, target)
        look = partial(search, call.root, profile, query, limit=limit, as_of=as_of)
        found = look(**filters)
        done = _search_outcome(profile, query, found.total, found.found)
    _tell_of_slips(call, profile, None if found.total else category)
    if not (found.total or call.for_program):
        for option, name in zip(("-t", "-c", "--tag", "--state"), filters, strict=True):
            with suppress(CatmemError):  # a file that was not asked for
                if filters[name] is not None and look(**filters | {name: None}).total:
                    call.tell(f"Without {option} there are entries that fit.")
    for note in notes_of(call.root):
        call.tell(f"warning: {note}")
    return done


@operation(
    "prompt",
    opens="read",
    examples=(
        "catmem prompt trinity",
        "catmem prompt trinity --explain",
        "catmem prompt --from orchestrator -c communication-style -c 'approval-*' --budget 800",
    ),
    http=Http(
        "GET",
        "/prompt/{profile}",
        "The prompt of a profile",
        "As text, or, where the caller accepts JSON alone, with its digest and the role of the profile. A profile is "
        "given its own.",
        "Prompt",
        as_text=True,
    ),
    tool=Tool("Slice of memory", "Give what you see as text, for an agent without a profile."),
)
def prompt(
    call: Call,
    *,
    profile: Annotated[
        str | None, P("Whose prompt.", argument=True, whose="profile", caller=ONLY_TOOL, needed=True)
    ] = None,
    explain: Annotated[bool, Option("Show each entry of the profile's categories: in or out, and why.")] = False,
    style: Annotated[
        Literal["markdown", "xml", "hermes"] | None, P("Override the profile's style.", at=NO_TOOL)
    ] = None,
    source: Annotated[
        str | None,
        P(
            "Read the files of this profile instead of its own.",
            called="from",
            whose="profile",
            brief="The profile whose files it is made of (tier 1 only).",
            unbounded=True,
        ),
    ] = None,
    categories: Annotated[
        list[str] | None,
        P(
            "Only this category, or those of a selector; repeatable.",
            metavar="SELECTOR",
            brief="Only these, or patterns (rules-*, !rules-pay).",
        ),
    ] = None,
    budget: Annotated[
        int | None,
        P(
            "At most N characters, in place of the profile's.",
            minimum=1,
            form={"maximum": 10**9},
            brief="Most characters.",
        ),
    ] = None,
    as_of: AsOf = None,
) -> Outcome:
    """Print the text for PROFILE's system prompt: its categories, and nothing else.

    The same files, profile and day give the same bytes. -c and --budget print a slice of that prompt, for an agent
    without a profile. Without PROFILE it is a slice of what --from sees. --format json has text, digest and manifest.
    """
    if profile is None and source is None:
        raise UsageError("Missing argument PROFILE.")
    profile = profile or str(source)
    if call.actor is not None and profile != call.actor:
        raise ForbiddenError(f"{call.actor} is given its own prompt only", hint=f"Ask for {call.actor!r}.")
    memory = read_memory(call.root, profile, source=source)
    if call.interface == "command":
        _tell_of_narrowing(call, categories or (), memory)
    memory = memory.narrowed(categories or (), budget)
    made = memory.prompt(as_of=as_of, style=style)
    if call.interface == "command":
        return Outcome((made, memory), made)
    from catmem.writing.drift_guard import shown_by_prompt

    data = _role_and_text(call, made, memory)
    if call.interface == "tool":
        given = {name: value for name, value in data.items() if name in {"text", "warnings", "advice"}}
        data = {"success": True, "action": "prompt", **given, "message": f"{len(data['text']):,} characters."}
    return Outcome(data, shows=lambda _: shown_by_prompt(made.manifest, memory.documents))


def _tell_of_narrowing(call: Call, categories: Sequence[str], memory: ProfileMemory) -> None:
    """Say to a person why categories that narrow a prompt leave nothing of it, and which rows are not shown."""
    names = [name for _, name in map(split, categories) if name and not is_pattern(name)]
    tell_of_rows(call, memory.owner.name)
    for name in names:
        refuse_undeclared(call, name)
        meant = next(memory.category_hints([name]), None)
        if not targets_read(slugify(name), memory.profile, call.root.config.taxonomy):
            call.tell(f"{memory.profile.name} does not read {name}: catmem access --why {memory.profile.name} {name}")
        elif meant is None and not any(slugify(name) in each.by_category for each in memory.documents.values()):
            meant = f"no entry in sight is in the category {shown(name)}"
        if meant is not None:
            call.tell(meant)


def _role_and_text(call: Call, made: "Prompt", memory: ProfileMemory) -> dict[str, Any]:
    """A profile's prompt and the role that its envelopes name; for a person also what the prompt is made of."""
    from catmem.envelopes.agents import role_hash

    manifest, own = made.manifest, memory.profile
    warnings = [*memory.lost.values(), *memory.hints, *made.gaps]
    for target, document in memory.documents.items():
        rights = Rights(None if call.actor is None else own, target, call.root.config.taxonomy)
        warnings += rights.unmerged(f"the {target} file", document.text, call.root.parse)
    role = {"profile": own.name, "role_id": own.name, "role_hash": role_hash(own)}
    shown = {"text": made.text, "digest": made.digest, **role, "warnings": warnings}
    if call.actor is None:
        return {**shown, "manifest": manifest}
    states = (row.state for row in manifest.rows if row.status == "in")
    return shown | advice(states)
