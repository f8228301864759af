"""What was: the revisions of an entity, what each did in words, its text at each, and the way back to one of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from shlex import quote
from typing import Any, Unpack

from catmem.config.access import Rights, reads_entity
from catmem.config.config import DeclaredEntity
from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import Profile, limit_of, named_entities, refuse_no_root
from catmem.digest import content_digest
from catmem.errors import (
    CatmemError,
    DriftError,
    EditError,
    ForbiddenError,
    StaleError,
    UnknownNameError,
    UnreadableError,
    wrong_type,
)
from catmem.model.document import Document
from catmem.names import DECLARED_RULE, DROP, FILE_NAMES, SECRET, SPLIT, STAYS, category_name, is_declared, parts_of
from catmem.store.contract import DECISION, EXTERNAL, PERSON, PROPOSAL, Change, Current, Revision, Store
from catmem.text import decode, size_of, text_diff, unmerged_warnings
from catmem.workspace.profile_memory import lost_entries
from catmem.workspace.root import Root, person_name
from catmem.workspace.seen_entry import texts_of
from catmem.writing import gate
from catmem.writing.drift_guard import refuse_unshown
from catmem.writing.gate import Attempt
from catmem.writing.policy import check_threats
from catmem.writing.request import Asking, Request, checked_expected
from catmem.writing.written import FileUsage, Written, notes_on


def entity_of(workspace: Root, name: str) -> str:
    """The entity that is meant: ``trinity/user``, or ``trinity`` for the same, or one that catmem.yaml declares."""
    refuse_no_root(workspace.config)
    if not isinstance(name, str):
        raise wrong_type("entity", name)
    if ":" in name:
        return declared_of(workspace, name).name
    owner, target = parts_of(name)
    target = target or "user"
    if target not in FILE_NAMES:
        hint = suggestion(target, FILE_NAMES, "targets")
        raise UnknownNameError(f"{target!r} is not a target", code="unknown_target", hint=hint)
    return f"{workspace.profile(owner).name}/{target}"


def entity_for(workspace: Root, name: str, actor: str | None) -> str:
    """The entity that is meant, if the one who asks (``None``: a person) may know of it."""
    profile = None if actor is None else workspace.profile(actor)
    if ":" in name:
        return declared_of(workspace, name, profile).name
    Rights(profile, "user", workspace.config.taxonomy).refuse_other_owner(parts_of(name).owner)
    return entity_of(workspace, name)


def declared_of(workspace: Root, name: str, actor: Profile | None = None) -> DeclaredEntity:
    """The entity that catmem.yaml declares under a name, if the actor (``None``: a person) may know of it."""
    if not isinstance(name, str):
        raise wrong_type("entity", name)
    found = workspace.config.entities.get(name)
    if found is not None and reads_entity(found, actor):
        return found
    # In the same words whether there is one or not.
    known = [each for each, declared in workspace.config.entities.items() if reads_entity(declared, actor)]
    hint = suggestion(name, known, "entities") if is_declared(name) else DECLARED_RULE
    raise UnknownNameError(f"there is no entity {shown(name)}", code="unknown_entity", hint=hint)


def limit_of_entity(workspace: Root, entity: str) -> int | None:
    """How many characters the file of an entity may have; ``None`` is no limit, as a declared entity has none."""
    if is_declared(entity):
        return None
    owner, target = parts_of(entity)
    return limit_of(workspace.profile(owner), target, workspace.config)


def shown_text(workspace: Root, entity: str, data: bytes) -> str:
    """Bytes of an entity for a person to compare: JSON with a line for each value, what is no UTF-8 as escapes."""
    from catmem.entities.contents import content_of

    declared = workspace.config.entities.get(entity)
    if declared is not None and declared.content == "json" and data:
        with suppress(UnreadableError):
            return json.dumps(content_of(declared, data), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return data.decode(errors="backslashreplace")


def difference(workspace: Root, entity: str, old: bytes, new: bytes, ends: tuple[str, str] = ("", "")) -> str:
    """What changed between two texts of an entity, for a person; ``ends`` say what each is."""
    before, after = (shown_text(workspace, entity, data) for data in (old, new))
    # What follows the tab is no part of the name of the file: other programs that read diffs pass over it.
    names = (f"{side}/{entity}" + (f"\t{end}" if end else "") for side, end in zip("ab", ends, strict=True))
    return text_diff(before, after, *names)


def restore(
    workspace: Root,
    entity: str,
    revision: str,
    *,
    op_id: str | None = None,
    store: Store | None = None,
    **how: Unpack[Asking],
) -> Written:
    """Write the bytes of an old revision again, as a new one; what is there now stays in the history."""
    return _restored(workspace, Request(entity, revision, op_id=op_id, **how), store)


def _restored(workspace: Root, asked: Request, store: Store | None, undone: str | None = None) -> Written:
    """Write the bytes of the revision that is the content of a request; ``undone`` is what that takes back."""
    revision = asked.content
    with Attempt(workspace, asked.entity, "restore", asked.agent, asked.expected, asked.dry_run, store) as trying:
        seen = _checked(workspace, asked)
        entity, kept = asked.entity, store
        if kept is None:
            entity, kept = entity_of(workspace, asked.entity), workspace.store
            trying.entity = entity
        old = kept.read(entity, revision).data
        trying.refuse_proposal(revision)
        replaced: list[bytes] = []
        warnings: list[str | None] = []

        def update(current: Current) -> bytes:
            if asked.agent != PERSON and seen is None and store is None:
                refuse_unshown(workspace, entity, current.data, old)
            back = _brought_back(workspace, entity, current.data, old)
            warnings[:] = [check_threats(back, workspace.config, to_agent=asked.actor is not None, allow_secret=True)]
            replaced.append(current.data)
            return old

        request = content_digest(["restore", revision, asked.actor]) if asked.op_id else None
        note = {"restored": revision} | ({} if undone is None else {"undone": undone})
        drift = workspace.config.on_drift_of_texts
        change = Change(op="restore", agent=asked.agent, op_id=asked.op_id, request=request, note=note, on_drift=drift)
        made = trying.commit(seen, update, change)
        data = replaced[-1] if replaced else kept.read(entity).data
    text = old.decode(errors="backslashreplace")
    unread = [] if text.encode() == old else [f"revision {revision} is not UTF-8: no tool can read {entity} with it"]
    return Written(
        entity=entity,
        revision=made.revision,
        digest=made.digest,
        changed=data != old,
        before=data.decode(errors="backslashreplace"),
        after=text,
        entries=(),
        usage=FileUsage(size_of(text), limit_of_entity(workspace, entity) if store is None else None),
        notes=(*(["this empties the file"] if data.strip() and not old.strip() else []), *notes_on(made)),
        warnings=(*unread, *filter(None, warnings), *unmerged_warnings(entity, text)),
        adopted=made.adopted,
        repeated=not replaced,
    )


def _brought_back(workspace: Root, entity: str, now: bytes, then: bytes) -> list[str]:
    """The texts that an old revision has and the present one has not; none of bytes that no tool can read."""
    try:
        if entity in workspace.config.entities:
            return [] if now == then else [decode(then)]
        there = {entry.text for entry in workspace.parse(now).entries}
        return [each for entry in workspace.parse(then).entries if entry.text not in there for each in texts_of(entry)]
    except UnreadableError:
        return []


def _checked(workspace: Root, asked: Request) -> str | None:
    """What the caller saw; refuse one who may not restore."""
    seen = checked_expected(asked.expected)
    if asked.actor is not None:
        refuse_bounded(workspace, asked.actor, "restore old revisions")
    return seen


def undo(workspace: Root, entity: str | None = None, *, store: Store | None = None, **how: Unpack[Asking]) -> Written:
    """Take back the newest revision of an entity, by default the caller's last; after an undo, the one before."""
    asked = Request(entity or "*", None, **how)
    me = person_name() if asked.agent == PERSON else None
    with gate.checks(workspace, asked.entity, op="restore", agent=asked.agent, recorded=not asked.dry_run):
        seen = _checked(workspace, asked)
        newest, record = _taken_back(workspace, entity, seen, store) if entity else _last_of(workspace, asked.agent, me)
        why = "there is no revision to take back" if record is None else undo_fault(record)
        is_gone = newest and newest.size and not (store or workspace.store).peek(newest.entity).strip()
        if newest and is_gone:
            at = f"{newest.entity} {newest.revision}"
            why = f"{newest.entity} holds nothing any more: 'catmem restore {at}' brings back what it held"
        if newest is None or record is None or why is not None:
            hint = "'catmem log PROFILE' lists the revisions, and 'catmem restore' writes one of them again."
            if record is not None and not is_gone and (record.parents or record.op == "seed"):
                does = "empties the file" if parent_of(record) == "0" else "brings back the text before this one"
                hint += f" 'catmem restore {record.entity} {parent_of(record)}' {does}."
            other = None if entity else _last_of(workspace, asked.agent, me, undoable=True)[0]
            if other is not None:
                hint = f"'catmem undo {quote(other.entity)}' takes back what you wrote there last. {hint}"
            raise EditError(str(why), code="no_undo", hint=f"Nothing was written. {hint}")
        if seen is None and _is_of_another(record, me):
            raise EditError(
                f"revision {record.revision} of {record.entity} was made by {record.who}, and not by you ({me})",
                code="no_undo",
                hint=f"Nothing was written. 'catmem undo {quote(record.entity)} --expected {newest.revision}' takes it "
                "back all the same; 'catmem undo' alone takes back what you wrote last.",
            )
    entity, before, last = record.entity, parent_of(record), newest.revision
    try:
        done = _restored(
            workspace, replace(asked, entity=entity, content=before, expected=seen or last), store, record.revision
        )
    except (StaleError, DriftError) as error:
        if seen not in {None, last}:
            raise
        error.hint = (
            f"Nothing was written: revision {last} is not the last word any more. 'catmem diff {entity} "
            f"{last}' shows what came after it; 'catmem restore {entity} {before}' takes back that, too."
        )
        raise
    what = f"revision {record.revision} ({record.op}: {did(record)}) by {record.who}"
    redo = f"{what} is taken back; 'catmem restore {quote(entity)} {last}' makes it again"
    return replace(done, notes=(f"{what} would be taken back" if asked.dry_run else redo, *done.notes))


def _taken_back(
    workspace: Root, entity: str, seen: str | None, store: Store | None
) -> tuple[Revision | None, Revision | None]:
    """The newest revision of an entity, for a caller who saw ``seen`` that one, and the one that an undo takes back."""
    if store is None:
        entity, store = entity_of(workspace, entity), workspace.store
    newest = store.head(entity)
    if seen is not None:
        newest = next((each for each in store.log(entity) if each.revision == seen), newest)
    return newest, _before_undo(store, newest)


def _before_undo(store: Store, newest: Revision | None) -> Revision | None:
    """The revision whose text a newest one has: itself, or what an undo or a rejection left; ``None`` for nothing."""
    while newest is not None:
        rejects = newest.note.get(DECISION, {}).get("verdict", "approved") != "approved"
        if not rejects and "undone" not in newest.note:
            break
        at = parent_of(newest) if rejects else str(newest.note["restored"])
        newest = next((each for each in store.log(newest.entity) if each.revision == at), None)
    return newest


def undo_fault(revision: Revision) -> str | None:
    """Why going back to the text before a revision does not take back all that it did; ``None`` if it does."""
    name = f"revision {revision.revision} of {revision.entity}"
    if DECISION in revision.note:  # the text is all that an approval did
        return None
    if revision.is_branch or len(revision.parents) > 1 or closed(revision):
        did = "stands beside the file as a branch" if revision.is_branch else "merged branches or closed some"
        return f"{name} {did}, and an undo does not take that back"
    if revision.op == "seed":
        said = "for the next seed, entries that are gone count as removed here, and an emptied file is filled anew"
        return f"{name} is a seed from {revision.note.get('source')}: {said}"
    if revision.op == "purge":
        return f"{name} purged an entry, which is not in the history any more"
    if revision.op == "adopt" or revision.agent == EXTERNAL:
        first = "the file as catmem found it, and there is nothing before it"
        return f"{name} is {'what another program or an editor wrote to the file' if revision.parents else first}"
    return None


def parent_of(revision: Revision) -> str:
    """The revision that it was made on, ``0`` for nothing."""
    return revision.parents[0] if revision.parents and revision.parents[0] not in closed(revision) else "0"


def closed(revision: Revision) -> tuple[str, ...]:
    """The branches that a revision merged or dropped."""
    return tuple(str(each) for name in ("merged", "dropped") for each in revision.note.get(name, ()))


def _is_of_another(revision: Revision, me: str | None) -> bool:
    """Whether another person made it than the one of this name; not so where a name is unknown."""
    return None not in {me, revision.person} and revision.person != me


def _last_of(
    workspace: Root, agent: str, me: str | None, *, undoable: bool = False
) -> tuple[Revision | None, Revision | None]:
    """The newest revision of all that an agent, a person of this name, wrote and did not undo, behind its entity's.

    With ``undoable`` it is the last of its entity, and an undo takes all back that it did.
    """
    refuse_no_root(workspace.config)
    found: list[tuple[Revision | None, Revision]] = []

    def is_own(revision: Revision) -> bool:
        return revision.agent == agent and not revision.is_branch and not _is_of_another(revision, me)

    for log in (workspace.store.log(entity) for entity in named_entities(workspace.config)):
        newest = next(filter(is_own, islice(log, 1 if undoable else None)), None)
        record = _before_undo(workspace.store, newest)
        if record is not None and is_own(record) and not (undoable and undo_fault(record)):
            found.append((newest, record))
    return max(found, key=lambda both: (both[1].timestamp, both[1].sequence), default=(None, None))


def adopt(workspace: Root, entity: str, *, expected: str | int | None = None, seen: bool = False) -> str:
    """Take an external change of an entity into its history; the revision of what is there afterwards."""
    with Attempt(workspace, entity, "adopt", PERSON, expected) as trying:
        trying.entity = entity_of(workspace, entity)
        written = trying.commit(checked_expected(expected), lambda current: current.data, Change(op="adopt"))
        head = workspace.store.head(trying.entity)
        is_lost = seen and not is_declared(trying.entity) and lost_entries(workspace, trying.entity, written.data)
        if seen and head is not None and ((head.agent == EXTERNAL and head.parents) or is_lost):
            # A revision of its own, so that writes without a view go on.
            look = Change(op="adopt", note={"seen": written.revision}, keeps_note=True)
            written = trying.commit(written.revision, lambda current: current.data, look)
        return written.revision or "0"


def refuse_bounded(workspace: Root, actor: str, what: str) -> None:
    """Raise ``ForbiddenError`` unless the profile ``actor`` may do anything: what it asks for spans all categories."""
    if not Rights(workspace.profile(actor), "user", workspace.config.taxonomy).unbounded:
        raise ForbiddenError(f"{actor} may not {what}", hint="A person or a profile of tier 1 may do it.")


# --- what revisions did, in words ----------------------------------------------------------------------------------

MOST_READ = 1_000_000
"""Bytes of old texts that are read for the words of a list of revisions."""

_NOTED = {
    "snapshot": "Snapshot of {} restored",
    "merged": "Merged {}",
    "dropped": "Dropped {}",
    "restored": "Revision {} restored",
    "source": "Seeded from {}",
}
_BY_OP = {
    "adopt": "Taken over from outside", "fmt": "Formatted", "late": "A late change from outside taken in",
    "lint": "Mended by lint", "merge": "Merged", "migrate": "Migrated", "put": "Written", "repair": "Repaired",
    "restore": "Restored", "seed": "Seeded", "sort": "Sorted", "verify": "Verified",
}  # fmt: skip
_MOST_ACTIONS = 3
_DONE = {
    "add": "added to", "replace": "changed in", "remove": "removed from", "move": "moved to", "verify": "verified in",
}  # fmt: skip


def did(revision: Revision) -> str:
    """What a revision did, in words: ``Added to talk, removed from rules (2), checked against the invoice``."""
    note = revision.note
    noted = (words.format(_listed(note[name])) for name, words in _NOTED.items() if name in note)
    actions: Sequence[Mapping[str, Any]] = note.get("actions", ())
    said = next(noted, "") or _actions(actions) or _BY_OP.get(revision.op, revision.op.capitalize())
    said += _sorted(note["sorted"]) if "sorted" in note else ""
    if DECISION in note:
        verdict = note[DECISION]["verdict"]
        said = "Proposed by" if verdict == "approved" else "Nothing changed: proposed by"
        said += f" {note[DECISION]['proposed_by']}, {verdict}"
    if PROPOSAL in note:
        said = f"Proposed: {said}"
    # In one line, whatever its line ends are.
    against = dict.fromkeys(" ".join(each["evidence"].split()) for each in actions if "evidence" in each)
    said += f", checked against {'; '.join(against)}" if against else ""
    said += f", set back: {_listed(note['set_back'])}" if "set_back" in note else ""
    return f"{said}, after a stop of the machine" if "after_stop" in note else said


def _actions(actions: Sequence[Mapping[str, Any]]) -> str:
    kinds = ((str(each.get("action")), category_name(str(each.get("category")))) for each in actions)
    counts = Counter(f"{_DONE.get(kind, kind)} {category}" for kind, category in kinds)
    done = [each if count == 1 else f"{each} ({count})" for each, count in counts.items()]
    text = ", ".join(done[:_MOST_ACTIONS]) + (f" and {len(done) - _MOST_ACTIONS} more" if done[_MOST_ACTIONS:] else "")
    return text[:1].upper() + text[1:]


def _sorted(counts: Mapping[str, int]) -> str:
    """Behind ``Sorted``, what a sort did: ``: 2 to finance, 1 removed``; nothing of what stayed."""
    done = [f"{count:,} to {name}" for name, count in counts.items() if name not in {STAYS, DROP, SECRET, SPLIT}]
    removed = counts.get(DROP, 0) + counts.get(SECRET, 0)
    done += [f"{removed:,} removed"] if removed else []
    return f": {', '.join(done)}" if done else ""


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def words_of(workspace: Root, store: Store, records: Sequence[Revision]) -> dict[str, str]:
    """The words of the one entry that each revision was on, by its name; of ``MOST_READ`` bytes of texts, the first."""
    from catmem.staleness.lineage import found_by

    found: dict[str, str] = {}
    documents: dict[str, Document] = {}
    most = MOST_READ
    for record in records:
        actions: Sequence[Mapping[str, Any]] = record.note.get("actions", ())
        if len(actions) != 1:
            continue
        action = actions[0]
        # What was removed stands in the text before it.
        text = parent_of(record) if action.get("action") == "remove" else record.revision
        if text not in documents:
            most -= record.size
            if most < 0:
                break
            try:
                documents[text] = workspace.parse(store.read(record.entity, text).data)
            except CatmemError:
                continue  # its own page says why
        if (entry := found_by(documents[text], action)) is not None:
            found[record.revision] = entry.body
    return found
