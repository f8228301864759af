"""Envelopes on a memory file: operations, or a whole text that takes its place, made on a named revision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from catmem.config.access import Rights, all_problems, visible_categories
from catmem.config.json_schema import shown
from catmem.config.profile import Profile
from catmem.envelopes.envelope import Envelope
from catmem.errors import (
    CatmemError,
    DriftError,
    EditError,
    EnvelopeError,
    ForbiddenError,
    RefusedError,
    TooLargeError,
    UnknownNameError,
    UnknownRevisionError,
)
from catmem.model.document import Document, Entry, Version, gone_entries
from catmem.model.merge import merge
from catmem.model.pairing import pair_entries
from catmem.names import parts_of
from catmem.store.contract import Current
from catmem.workspace.seen_entry import tag_texts
from catmem.writing.entry_write import OperationsWrite, Write
from catmem.writing.planning import Plan, unseen
from catmem.writing.policy import WritePolicy, check_beforehand, policy_of
from catmem.writing.written import on_title, refuse_over_budget

AGAIN = "Nothing was written. Read it again, and repeat the change on what is there now."


class DocumentWrite(OperationsWrite):
    """The content of an envelope for a memory file, and the refusals that only envelopes have."""

    envelope: Envelope

    def found_policy(self) -> WritePolicy:
        """The policy of the write. Raises ``ForbiddenError`` for an entity that is none of the writer's business."""
        envelope = self.envelope
        name, target = parts_of(envelope.entity_id)
        try:
            Rights(self.acting, target, self.workspace.config.taxonomy).refuse_other_owner(name)
        except UnknownNameError as error:
            message = f"{envelope.agent_id} may not write to {shown(envelope.entity_id)}"
            raise ForbiddenError(message, hint=error.hint) from None
        return policy_of(self.workspace, name, target, self.acting, allow_secret=self.asked.allow_secret)

    def check(self) -> None:
        """Raise what is wrong whatever the file holds."""
        self.policy = self.found_policy()
        actor, content, merges = self.policy.actor, self.asked.content, self.asked.merges
        self.begin_session()
        self.describe()
        if isinstance(content, str) and not self.policy.unbounded:
            # What becomes of it would tell whether it is equal to what its writer does not see.
            raise whole_text_refused(actor)
        check_beforehand(self.operations, self.policy)
        if merges and actor is not None and not self.policy.unbounded:
            raise ForbiddenError(
                f"{actor.name} may not merge branches", hint="A person or a profile of tier 1 may do it."
            )
        for revision in merges:
            self.refuse_proposal(revision)
        if merges and self.operations:
            raise EnvelopeError(
                "parents names branches, and only a whole text says what becomes of theirs",
                key="parents",
                hint=f"Nothing was written. Leave them out; catmem merge {self.entity} brings branches in.",
            )
        self.hide_proposal()

    def planned(self, document: Document, current: Current) -> Plan:
        content, base = self.asked.content, current.base
        if not isinstance(content, str):
            return super().planned(document, current)
        if base is None or base == document.to_bytes():
            plan = plan_text(document, content, self.policy, self.workspace.parse)
            self._refuse_unseen(document, plan.document)
            return plan
        return self._joined(document, base, content)

    def _joined(self, document: Document, base: bytes, content: str) -> Plan:
        """The plan on what the writer saw, brought together with what is there: nothing of either side is lost."""
        seen, parse = self.parsed(base), self.workspace.parse
        plan = plan_text(seen, content, self.policy, parse)
        merged = merge(seen, document, plan.document)
        if merged.conflicts:
            raise DriftError(f"{self.policy.entity} was changed where this write would change it", hint=AGAIN)
        if merged.text == document.text:
            return Plan(document, (), (), plan.notes, plan.warnings)
        new = parse(merged.text.encode())
        self._refuse_unseen(document, new)
        return plan._replace(document=new)

    def _refuse_unseen(self, document: Document, new: Document) -> None:
        """Refuse a whole text that takes away an entry or a heading which the conversation does not know as it is."""
        session = self.asked.session
        if session is None:
            return
        entry = next((each for each in gone_entries(document.entries, new.entries) if not self.knows(each)), None)
        if entry is not None:
            raise unseen(entry, self.policy)
        heading = session.lost_heading(self.policy.entity, document, new)
        if heading is not None:
            raise DriftError(
                f"your text of {self.policy.entity} lacks the heading {shown(heading)}, which another program wrote",
                hint="Nothing was written. Put the heading into your text, and write it again.",
            )

    def alert(self) -> None:
        content = self.asked.content
        if isinstance(content, str) and self.document is not None:
            # Only what the writer sees: or it could guess at the words of the rest.
            old = "\n".join(entry.body for entry in self.policy.visible_entries(self.document))
            self.warn([(old, content)])
        super().alert()

    # --- refusals --------------------------------------------------------------------------------------------------

    def refusal(self, error: CatmemError) -> CatmemError:
        """The same, which names the head."""
        error = self.without_proposal(error)
        if isinstance(error, RefusedError):
            error.found = error.found or head_of(self)
        elif isinstance(error, UnknownRevisionError):
            error.hint = f"{self.entity} is at revision {head_of(self)}. {AGAIN}"
        return super().refusal(error)


def head_of(a: Write) -> str:
    """The revision at the head, ``"0"`` for none."""
    head = a.workspace.store.head(a.entity)
    return "0" if head is None else head.revision


# --- what a whole text makes of the document that is there ----------------------------------------------------------


_PASSED_OVER = frozenset({"bad-tag"})
"""Problems that were looked at with the tags, entry by entry."""
_MEND = "Nothing was written. Mend that in the content; docs/format.md tells what each problem is."

ChangedEntries: TypeAlias = "Sequence[tuple[Entry | None, Entry | None]]"
"""Entries before and after; one of the two is ``None`` for an addition or a removal."""


def whole_text_refused(actor: Profile | None) -> ForbiddenError:
    """The refusal of a whole text by a profile that does not see all of the old one."""
    name = "" if actor is None else actor.name
    message = f"{name} may not write a whole document: it does not see all of it"
    return ForbiddenError(message, hint="Send operations instead.")


def plan_text(document: Document, text: str, policy: WritePolicy, parse: Callable[[bytes], Document]) -> Plan:
    """The plan of a text in the place of the document."""
    actor, present = policy.actor, {entry.category for entry in document.entries}
    if actor is not None and present > visible_categories(present, policy.target, actor, policy.taxonomy).keys():
        raise whole_text_refused(actor)
    try:
        new = parse(text.encode())
    except TooLargeError as error:
        raise EditError(error.message, code="structure", hint=error.hint) from error
    changed = _changed(document, new)
    fault = _first_fault(changed, policy)
    if fault is not None:
        raise fault
    _check_structure(document, new, policy)
    warning = policy.check_threats(_new_texts(document, new, changed))
    made = {(entry.category, entry.body) for _, entry in changed if entry is not None}
    refuse_over_budget(document, new, policy, lambda entry: (entry.category, entry.body) in made)
    if new.text == document.text:
        return Plan(document, (), (), ("it says that already",), ())
    touched = [
        ("add" if old is None else "remove" if entry is None else "replace", entry or cast("Entry", old))
        for old, entry in changed
    ]
    actions = tuple({"action": name, "category": entry.category, "id": entry.id} for name, entry in touched)
    title = on_title(document, new)
    notes, warnings = () if title is None else (title,), (warning,) if warning else ()
    return Plan(new, tuple(entry for _, entry in touched), actions, notes, warnings)


def _changed(document: Document, new: Document) -> ChangedEntries:
    """What differs, in the order of the old entries; additions come last."""
    old, now = Version.of_each(document, new)
    pairs = pair_entries(old, now)
    changed: list[tuple[Entry | None, Entry | None]] = []
    for index, entry in enumerate(document.entries):
        there = pairs.get(index)
        if there is None or not now[there].says(old[index]):
            changed.append((entry, None if there is None else new.entries[there]))
    return changed + [(None, new.entries[index]) for index in sorted(set(range(len(now))) - set(pairs.values()))]


def _first_fault(changed: ChangedEntries, policy: WritePolicy) -> EditError | None:
    """The first thing that is wrong with the tags of what changes; what is forbidden is raised at once."""
    # A text is taken as it is, so new words must not keep the verification of the old ones.
    first: EditError | None = None
    for old, new in changed:
        if new is None:
            continue
        was = None if old is None else old.tags
        given: dict[str, Any] = {**dict.fromkeys(was or {}), **new.tags}
        tags = {key: value for key, value in given.items() if (was or {}).get(key) != value}
        if old is not None and old.body != new.body:
            if "verified_date" in new.tags:
                policy.refuse_unverified("verified_date")
            else:
                tags.pop("verified_date", None)
        try:
            if old is not None:
                policy.check_domain(old.category, old.tags, new.tags)
            policy.check_tags(tags, was)
        except EditError as error:
            first = first or error
        known = None if old is not None else policy.day_before(new.tags, new.body)
        if known is not None and first is None:
            first = EditError(
                f"these words were there before, {f'since {known}' if known else 'undated'}, and are no younger now",
                code="bad_date",
                hint=f"Give created: {known}, or leave it out." if known else "Leave created out.",
            )
    return first


def _check_structure(old: Document, new: Document, policy: WritePolicy) -> None:
    """Raise ``EditError`` (``structure``) for a problem that the old document has not: no tool is to write it."""
    before = all_problems(old, policy.config)
    there = Counter((problem.rule, old.text[problem.start : problem.end]) for problem in before)
    for problem in all_problems(new, policy.config):
        key = problem.rule, new.text[problem.start : problem.end]
        there[key] -= 1
        if there[key] < 0 and problem.rule not in _PASSED_OVER:
            where = f"line {new.line(problem.start)}"
            raise EditError(f"{where}: {problem.message} ({problem.rule})", code="structure", hint=_MEND)


def _new_texts(old: Document, new: Document, changed: ChangedEntries) -> list[str]:
    """The words that were not here before: of entries, tags, and headings."""
    texts: list[str] = []
    for was, entry in changed:
        if entry is None:
            continue
        if was is None or entry.body != was.body:
            texts.append(entry.body)
        before = {} if was is None else was.tags
        texts += tag_texts({key: value for key, value in entry.tags.items() if before.get(key) != value})
    headings = {section.title for section in old.sections} | {old.title}
    return texts + [title for title in (new.title, *(s.title for s in new.sections)) if title and title not in headings]
