"""What an entity shows to each caller: to a person everything, to a profile what it sees and may know.

``actor`` is the name of the profile that asks, ``None`` for a person. The answer to a profile has no digest of a whole
file, no word of an entry that its selectors do not show it, and no text in which the threat scan finds something.
Another profile's file is refused in the same words whether it is there or not.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem import clock
from catmem.config.access import Rights
from catmem.entities.contents import content_of
from catmem.envelopes.agents import role_hash
from catmem.errors import ForbiddenError
from catmem.names import TARGETS, is_declared
from catmem.staleness.freshness import advice, freshness
from catmem.store.contract import DECISION, revision_number
from catmem.workspace.history import declared_of, entity_of, refuse_bounded
from catmem.workspace.profile_memory import ProfileMemory, missing_of, parsed_at
from catmem.workspace.seen_entry import entry_dict, rules_in
from catmem.writing.drift_guard import SHOWN, shown_by_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    from catmem.config.profile import Profile
    from catmem.merging.branches import Branch
    from catmem.model.document import Entry
    from catmem.prompt.styles import Style
    from catmem.store.contract import Revision
    from catmem.workspace.root import Root


class LazyAnswer(NamedTuple):
    """An answer: ``make`` makes it of ``made_of``, the question and the configuration, and nothing else.

    ``revision`` is that of the text, ``None`` for one that no history has yet; ``digest`` is that of the whole text,
    and not for the caller. Both are ``None`` where it is not of one text.
    """

    make: Callable[[], dict[str, Any]]
    made_of: tuple[object, ...]
    revision: str | None = None
    digest: str | None = None


def head_answer(workspace: Root, name: str, actor: str | None) -> LazyAnswer:
    """Which revision an entity is at: ``mem_rev`` is what an envelope gives as ``prev_rev`` (0: none yet).

    ``recorded`` is false after an external change. Raises ``UnknownNameError``.
    """
    entity = _entity(workspace, name, _asking(workspace, actor))
    now = workspace.store.read(entity)
    head = workspace.store.head(entity)
    if head is not None and now.revision not in {None, head.revision}:
        # The head may be ahead of the file, and a write on it would drop what the caller has not read.
        head = next(each for each in workspace.store.log(entity) if each.revision == now.revision)
    number = "0" if head is None else head.revision
    answer: dict[str, Any] = {
        "entity_id": entity,
        "revision": number,
        "mem_rev": revision_number(number),
        "recorded": now.revision is not None,
    }
    if head is not None and (actor is None or is_declared(entity)):
        answer |= {"agent_id": head.agent, "op": head.op, "timestamp": head.timestamp, "digest": head.digest}
    return LazyAnswer(lambda: answer, (), now.revision, now.digest)


def read_answer(  # noqa: PLR0913 - what is asked for, by keyword
    workspace: Root,
    name: str,
    actor: str | None,
    *,
    category: str | None = None,
    revision: str | None = None,
    offset: int = 0,
    limit: int | None = None,
    as_of: date | None = None,
) -> LazyAnswer:
    """The entries of an entity that the actor sees, in file order, perhaps of one category.

    ``revision`` is for a person and a profile of tier 1. In the answer it is ``None`` for a text that no history has
    yet. A person is also given the whole text and its digest. Of a declared entity every reader is given the content,
    at any revision. Raises ``UnknownNameError``, ``ForbiddenError``,
    ``UnknownRevisionError`` and what reading raises.
    """
    asking = _asking(workspace, actor)
    entity = _entity(workspace, name, asking)
    if is_declared(entity):
        return _content_answer(workspace, entity, revision)
    if revision is not None and actor is not None:
        refuse_bounded(workspace, actor, "read old revisions")
    named, _, target = entity.partition("/")
    owner = asking if asking is not None and asking.name == named else workspace.profile(named)
    now = workspace.store.read(entity, revision)
    measure, day = asking or owner, as_of or clock.today()

    def make() -> dict[str, Any]:
        document = parsed_at(workspace, now.data, workspace.path_of(owner, target))
        entries = Rights(asking, target, workspace.config.taxonomy).in_sight(document)
        if category is not None:
            wanted = workspace.config.taxonomy.category(category)
            entries = tuple(entry for entry in entries if entry.category == wanted)
        shown = entries[offset : None if limit is None else offset + limit]
        whole = {} if actor is not None else {"digest": now.digest, "text": document.text}
        rows = list(_entries(workspace, shown, measure, day, to_agent=actor is not None))
        advised = {} if actor is None else advice(row["state"] for row in rows)
        answer = {"entity_id": entity, "revision": now.revision, **whole, "entries": rows, "total": len(entries)}
        return answer | advised

    return LazyAnswer(make, (measure, day, now.revision, now.data), now.revision, now.digest)


def _content_answer(workspace: Root, entity: str, revision: str | None) -> LazyAnswer:
    now = workspace.store.read(entity, revision)

    def make() -> dict[str, Any]:
        content = content_of(workspace.config.entities[entity], now.data)
        number = {} if now.revision is None else {"mem_rev": revision_number(now.revision)}
        return {"entity_id": entity, "revision": now.revision, **number, "digest": now.digest, "content": content}

    return LazyAnswer(make, (now.revision, now.data), now.revision, now.digest)


def log_answer(workspace: Root, name: str, actor: str | None, limit: int) -> dict[str, Any]:
    """The newest revisions of an entity, at most ``limit``.

    A bounded profile is shown those that it wrote itself, and no profile what they did: their notes may name
    categories that it does not see. What waits for a person, and what became of it, is not among them: the name of its
    branch would tell of others (``catmem.proposals.disclosure``). Of a declared entity every reader is shown all.
    """
    entity = _entity(workspace, name, _asking(workspace, actor))
    found: Iterator[Revision] = iter(workspace.store.log(entity))
    if actor is None:
        return {"entity_id": entity, "revisions": [each.to_dict() for each in islice(found, limit)]}
    if not (is_declared(entity) or _rights(workspace, _asking(workspace, actor)).unbounded):
        found = (each for each in found if _acted(each) == actor and not (each.is_proposal or DECISION in each.note))
    return {"entity_id": entity, "revisions": [_discreet(each) for each in islice(found, limit)]}


def branches_answer(workspace: Root, name: str | None, actor: str | None) -> dict[str, Any]:
    """The branches of an entity, or of all, that are not merged yet: for a person and a profile of tier 1.

    ``unreadable`` is there where profiles or histories could not be looked at; an agent gets the codes alone.
    """
    from catmem.merging.branches import branches, branches_of_all

    if name is not None and ":" in name:
        _entity(workspace, name, _asking(workspace, actor))
    elif actor is not None:
        refuse_bounded(workspace, actor, "look at branches")
    if name is not None:
        return {"branches": [_branch_dict(each, actor) for each in branches(workspace, name)]}
    found = branches_of_all(workspace)
    said: dict[str, Any] = {"branches": [_branch_dict(each, actor) for each in found.branches]}
    if found.unreadable:
        said["unreadable"] = [
            {"code": error.code} if actor is not None else error.to_dict() for error in found.unreadable
        ]
    return said


def _branch_dict(branch: Branch, actor: str | None) -> dict[str, Any]:
    """A branch; an agent gets no person's name, as in the log."""
    return {name: value for name, value in branch.to_dict().items() if actor is None or name != "person"}


def prompt_answer(  # noqa: PLR0913 - what is asked for, by keyword
    workspace: Root,
    name: str,
    actor: str | None,
    *,
    source: str | None = None,
    categories: Sequence[str] = (),
    budget: int | None = None,
    style: Style | None = None,
    as_of: date | None = None,
) -> LazyAnswer:
    """A profile's prompt, and the role that its envelopes name; for a person also what the prompt is made of.

    A profile is given its own, one of tier 1 only its own as well: what others see is none of its business. The files
    of another profile (``source``) are for a person and for tier 1. ``categories`` and ``budget`` narrow it; see
    ``ProfileMemory.narrowed``. The answer to a profile has ``drift_guard.SHOWN``, which an interface takes out.
    """
    if actor is not None and name != actor:
        _rights(workspace, _asking(workspace, actor)).refuse_other_owner(name)
        raise ForbiddenError(f"{actor} is given its own prompt only", hint=f"Ask for {actor!r}.")
    profile, day = workspace.profile(name), as_of or clock.today()
    if actor is not None and source is not None:
        _rights(workspace, profile).refuse_other_owner(source)
    owner = profile if source is None else workspace.profile(source)
    paths = {target: workspace.path_of(owner, target) for target in TARGETS}
    files = {target: workspace.bytes_of(owner, target, path) for target, path in paths.items()}
    missing = missing_of(files, paths)

    def make() -> dict[str, Any]:
        documents = {target: parsed_at(workspace, data, paths[target]) for target, data in files.items()}
        memory = ProfileMemory(profile, owner, documents, paths, workspace.config, missing)
        prompt = memory.narrowed(categories, budget).prompt(as_of=day, style=style)
        said = prompt.to_dict()
        role = {"profile": profile.name, "role_id": profile.name, "role_hash": role_hash(profile)}
        warnings: list[str] = []
        for target, document in documents.items():
            rights = Rights(None if actor is None else profile, target, workspace.config.taxonomy)
            warnings += rights.unmerged(f"the {target} file", document.text, workspace.parse)
        shown = {name: said[name] for name in ("text", "digest")} | role | {"warnings": warnings}
        if actor is None:
            return {**shown, "manifest": said["manifest"]}
        whole = {SHOWN: shown_by_prompt(prompt, documents)}
        return shown | whole | advice(row["state"] for row in said["manifest"]["entries"] if row["status"] == "in")

    return LazyAnswer(make, (profile, owner, day, missing, *files.values()))


def lint_answer(workspace: Root, actor: str | None, *, as_of: date | None = None) -> dict[str, Any]:
    """What lint finds in the whole root, without secrets. It quotes files of everybody, so it is for a person."""
    from catmem.linting.renderers import Report, render
    from catmem.linting.root_lint import Linter

    if actor is not None:
        raise ForbiddenError(f"{actor} may not lint", hint="Lint looks at everything, so it is for a person.")
    linter = Linter.open(workspace.root, search=False, as_of=as_of)
    try:
        found = linter.run()
        text = render(Report(list(found.diagnostics), found.files, linter.text), "json")
    finally:
        linter.close()
    errors = [each.to_dict() for each in found.errors]
    return {**json.loads(text), "errors": errors}


# --- who sees what -------------------------------------------------------------------------------------------------


def _asking(workspace: Root, actor: str | None) -> Profile | None:
    return None if actor is None else workspace.profile(actor)


def _entity(workspace: Root, name: str, asking: Profile | None) -> str:
    """The entity of a name, if the one who asks may know of it."""
    if ":" in name:
        return declared_of(workspace, name, asking).name
    _rights(workspace, asking).refuse_other_owner(name.partition("/")[0])
    return entity_of(workspace, name)


def _rights(workspace: Root, asking: Profile | None) -> Rights:
    return Rights(asking, "user", workspace.config.taxonomy)


def _entries(
    workspace: Root, entries: Sequence[Entry], measure: Profile, as_of: date, *, to_agent: bool
) -> Iterator[dict[str, Any]]:
    """Entries as JSON-ready data, each with its state by the measure of a profile, and the date of that.

    A person is shown a hostile text as it stands, with ``threats``; an agent the line that says why it is withheld.
    """
    for entry in entries:
        answer = entry_dict(entry, to_agent=to_agent)
        if not to_agent:
            answer["threats"] = list(rules_in([entry.body]))
        yield answer | freshness(entry, measure, workspace.config, as_of=as_of).to_dict()


def _acted(revision: Revision) -> str | None:
    actor = revision.note.get("actor")
    return actor if isinstance(actor, str) else None


def _discreet(revision: Revision) -> dict[str, Any]:
    return {
        "revision": revision.revision,
        "parents": list(revision.parents),
        "timestamp": revision.timestamp,
        "op": revision.op,
        "agent": revision.agent,
        "op_id": revision.op_id,
    }
