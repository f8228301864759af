"""Envelopes on a memory file: operations, or a whole document in text or in JSON form, made on a named revision.

A content in JSON form is laid into the text that is there, so entries that stay keep their bytes. A text takes its
place whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from catmem.config.access import Rights, all_problems, visible_categories
from catmem.config.json_schema import shown
from catmem.envelopes.envelope import Content, Envelope
from catmem.errors import (
    CatmemError,
    DriftError,
    EditError,
    EnvelopeError,
    ForbiddenError,
    OperationCollisionError,
    RefusedError,
    StaleError,
    TooLargeError,
    UnknownNameError,
    UnknownRevisionError,
)
from catmem.model.document import Document, Entry, Version, gone_entries
from catmem.model.layout import is_shared
from catmem.model.pairing import pair_entries
from catmem.model.splice import Slot, spliced, titled
from catmem.names import UNCATEGORIZED
from catmem.store.contract import EXTERNAL, Current, stale
from catmem.syntax import tags as tag_blocks
from catmem.text import equal_ends
from catmem.workspace.seen_entry import tag_texts
from catmem.writing.entry_write import OperationsWrite, Write
from catmem.writing.planning import Plan, ended, unseen
from catmem.writing.policy import WritePolicy, body_of, check_beforehand, policy_of
from catmem.writing.request import Operation
from catmem.writing.written import on_title, refuse_over_budget

AGAIN = "Nothing was written. Read it again, and repeat the change on what is there now."
ALIKE = 0.6
"""The share of common words below which a new text has little in common with the old one."""


class DocumentWrite(OperationsWrite):
    """The content of an envelope for a memory file, and the refusals that only envelopes have."""

    envelope: Envelope

    def found_policy(self) -> WritePolicy:
        """The policy of the write. Raises ``ForbiddenError`` for an entity that is none of the writer's business."""
        envelope = self.envelope
        name, _, target = envelope.entity_id.partition("/")
        try:
            Rights(self.acting, target, self.workspace.config.taxonomy).refuse_other_owner(name)
        except UnknownNameError as error:
            message = f"{envelope.agent_id} may not write to {shown(envelope.entity_id)}"
            raise ForbiddenError(message, hint=error.hint) from None
        return policy_of(self.workspace, name, target, self.acting, allow_secret=self.asked.allow_secret)

    def check(self) -> None:
        """Raise what is forbidden whatever the file holds; what else is wrong with the content comes later."""
        self.policy = self.found_policy()
        actor, content, merges = self.policy.actor, self.envelope.content, self.asked.merges
        self.begin_session()
        self.describe()
        refuse_out_of_scope(content, self.operations, self.policy)
        if merges and actor is not None and not self.policy.unbounded:
            raise ForbiddenError(
                f"{actor.name} may not merge branches", hint="A person or a profile of tier 1 may do it."
            )
        for revision in merges:
            self.refuse_proposal(revision)
        if merges and (self.operations or (isinstance(content, dict) and content.get("partial"))):
            raise EnvelopeError(
                "parents names branches, and only a whole document says what becomes of their text",
                key="parents",
                hint=f"Nothing was written. Leave them out; catmem merge {self.entity} brings branches in.",
            )
        self.hide_proposal()

    def planned(self, document: Document, current: Current) -> Plan:
        if current.revision != self.expected:
            refuse_second_of_a_number(self)
        return self._plan_of(document, current)

    def _plan_of(self, document: Document, current: Current) -> Plan:
        content, base = self.envelope.content, current.base
        if isinstance(content, list):
            check_beforehand(self.operations, self.policy)
            return super().planned(document, current)
        if base is None or base == document.to_bytes():
            plan = plan_document(document, content, self.policy, self.workspace.parse)
            self._refuse_unseen(document, plan.document)
            return plan
        return self._joined(document, base, content)

    def _joined(self, document: Document, base: bytes, content: str | dict[str, Any]) -> Plan:
        """The plan on what the writer saw, brought together with what is there: nothing of either side is lost."""
        from catmem.model.merge import merge

        seen, parse = self.parsed(base), self.workspace.parse
        plan = plan_document(seen, content, self.policy, parse)
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
        if self.document is not None:
            self._alert(self.document)
        super().alert()

    def _alert(self, document: Document) -> None:
        """Refuse a document that has little in common with the old one. Operations say what they change."""
        content = self.envelope.content
        if not isinstance(content, list):
            asked = ALIKE if self.envelope.alert else 0
            words = words_replaced(content, document, self.policy)
            self.warn([words], max(asked, self.policy.config.semantic_alert))

    # --- refusals --------------------------------------------------------------------------------------------------

    def refusal(self, error: CatmemError) -> CatmemError:
        """The first refusal that holds, in the order of docs/envelopes.md."""
        error = self.without_proposal(error)
        try:
            if isinstance(error, StaleError | DriftError | UnknownRevisionError):
                self._refuse_what_comes_before(error)
        except CatmemError as first:
            error = first
        if isinstance(error, RefusedError):
            error.found = error.found or head_of(self)
        elif isinstance(error, UnknownRevisionError):
            error.hint = f"{self.entity} is at revision {head_of(self)}. {AGAIN}"
        return super().refusal(error)

    def _refuse_what_comes_before(self, error: CatmemError) -> None:
        """Raise what stands before an old view in the order, or before a change by another program."""
        refuse_second_of_a_number(self)
        seen = self._seen_text()
        if isinstance(error, UnknownRevisionError) or seen is None:
            return
        try:
            self._plan_of(seen, Current(seen.to_bytes(), str(self.envelope.prev_rev), None))
        except ForbiddenError:
            raise
        except CatmemError:
            pass  # what is wrong with the content comes after an old view
        if isinstance(error, DriftError):
            refuse_stale_before_drift(self, error)
            self._alert(seen)

    def _seen_text(self) -> Document | None:
        """What the writer saw; ``None`` if there is no such revision, and for what cannot be read."""
        with suppress(UnknownRevisionError):
            return self.parsed_or_none(self.workspace.store.read(self.entity, str(self.envelope.prev_rev)).data)
        return None


# --- what tells who wrote in between -------------------------------------------------------------------------------


def head_of(a: Write) -> str:
    """The revision at the head, ``"0"`` for none."""
    head = a.workspace.store.head(a.entity)
    return "0" if head is None else head.revision


def refuse_second_of_a_number(a: Write) -> None:
    """Raise ``OperationCollisionError`` for a second revision of one number from the writer of the first."""
    # Only a write that was not made on the head can be one. In branch mode it becomes a branch, as any other write on
    # an old view does.
    envelope = a.envelope
    if envelope is None or (a.asked.on_stale or a.workspace.config.on_stale) == "branch":
        return
    # An external change since, which this commit may have taken in, changes nothing.
    log = a.workspace.store.log(a.entity)
    last = next((each for each in log if each.agent != EXTERNAL and not each.is_branch), None)
    if last is None or last.agent != envelope.agent_id or last.op_id == envelope.op_id:
        return
    first = last.note.get("envelope", {}).get("mem_hash")
    same_place = last.revision == str(envelope.mem_rev) and last.parents == tuple(map(str, envelope.parents))
    if same_place and first is not None and first != envelope.mem_hash:
        raise OperationCollisionError(
            f"{last.who} wrote something newer before this: revision {last.revision}, with other content",
            expected=str(envelope.prev_rev),
            found=head_of(a),
            hint=f"It may come from another tab, session or process of {last.who}. {AGAIN} With on_stale: branch in "
            "catmem.yaml such writes are kept as branches.",
        )


def refuse_stale_before_drift(a: Write, error: DriftError) -> None:
    """Raise the refusal of an old view instead of that of an external change, if a write came between, too."""
    for revision in a.workspace.store.log(a.entity):
        if revision.revision == a.expected:
            return
        if revision.agent != EXTERNAL and not revision.is_branch:
            refusal = stale(a.entity, a.expected or "0", head_of(a))
            refusal.drift_backup = error.drift_backup
            raise refusal from error


# --- whose business the content is ----------------------------------------------------------------------------------


_PARTLY = "Send operations instead, or the JSON form with partial: true and the categories that it sees and may write."


def refuse_out_of_scope(content: Content, operations: Sequence[Operation], policy: WritePolicy) -> None:
    """Raise ``ForbiddenError`` for what the writer may not send, whatever is in the file."""
    # A whole document from a writer who does not see all of the old one would tell, by what becomes of it, whether it
    # is equal to what is hidden; so would the whole of a category that it does not see.
    if isinstance(content, list):
        for operation in operations:
            try:
                check_beforehand([operation], policy)
            except ForbiddenError:
                raise
            except CatmemError:  # what is wrong with the content itself is reported after what is there was looked at
                continue
    elif isinstance(content, str) or not content.get("partial"):
        if not policy.unbounded:
            name = "" if policy.actor is None else policy.actor.name
            raise ForbiddenError(f"{name} may not write a whole document: it does not see all of it", hint=_PARTLY)
    else:
        _refuse_partial(content, policy)


def _refuse_partial(content: Mapping[str, Any], policy: WritePolicy) -> None:
    actor = policy.actor
    for named in content["categories"]:
        category = policy.category(named)
        policy.refuse_unwritable(category, named)
        if actor is not None and not visible_categories((category,), policy.target, actor, policy.taxonomy):
            raise ForbiddenError(
                f"{actor.name} may not write the whole of the category {category!r}, which it does not see",
                hint="Add to it by operations.",
            )
    if "title" in content and actor is not None and not policy.unbounded:
        raise ForbiddenError(f"{actor.name} may not write the title of the document", hint="Leave title out.")


# --- what a whole document makes of the one that is there -------------------------------------------------------------


_PASSED_OVER = frozenset({"bad-tag"})
"""Problems that were looked at with the tags, entry by entry."""


class Part(NamedTuple):
    """What a content is about: the categories, ``None`` for all, what their entries are to say, and its title."""

    categories: frozenset[str] | None
    entries: tuple[Version, ...]
    title: tuple[str | None, ...] = ()

    def covers(self, category: str) -> bool:
        """Whether the content says what becomes of a category."""
        return self.categories is None or category in self.categories


class EntryChange(NamedTuple):
    """An entry before and after; one of the two is ``None`` for an addition or a removal."""

    old: Version | None
    new: Version | None


def plan_document(
    document: Document, content: str | dict[str, Any], policy: WritePolicy, parse: Callable[[bytes], Document]
) -> Plan:
    """The document that a content makes of this one."""
    new: Document | None = None
    if isinstance(content, str) or not content.get("partial"):
        _refuse_unseen(document, policy)
    if isinstance(content, str):
        new = _parsed(content, parse)
        part = Part(None, tuple(map(Version.from_entry, new.entries)))
    else:
        part = _part(content, policy)
    is_text = new is not None
    old = [Version.from_entry(entry) for entry in document.entries if part.covers(entry.category)]
    pairs = pair_entries(old, part.entries)
    changes = _changes(old, part.entries, pairs)
    fault = _first_fault(changes, policy, is_text=is_text)
    if fault is not None:
        raise fault
    if new is None:
        part = _dated(part, old, pairs, policy, dated=not is_shared(document))
        changes = _changes(old, part.entries, pairs)
        new = _laid_in(document, part, policy, parse)
    _check_structure(document, new, policy, lines=is_text)
    warning = policy.check_threats(_new_texts(document, new, changes))
    made = {(change.new.category, change.new.body) for change in changes if change.new is not None}
    refuse_over_budget(document, new, policy, lambda entry: (entry.category, entry.body) in made)
    return _plan(document, new, changes, [warning] if warning else [])


def words_replaced(content: str | dict[str, Any], document: Document, policy: WritePolicy) -> tuple[str, str]:
    """The bodies that a content is about, as they are and as they are to be.

    Of those that are there only what the writer sees: or it could guess at the words of the others.
    """
    now: Sequence[Entry] = policy.visible_entries(document)
    if isinstance(content, str):
        new = [content]
    else:
        names = {policy.category(name) for name in content["categories"]} if content.get("partial") else None
        now = [entry for entry in now if names is None or entry.category in names]
        new = [entry["body"] for entries in content["categories"].values() for entry in entries]
    return "\n".join(entry.body for entry in now), "\n".join(new)


# --- what is asked -------------------------------------------------------------------------------------------------


def _parsed(text: str, parse: Callable[[bytes], Document]) -> Document:
    try:
        return parse(text.encode())
    except TooLargeError as error:
        raise EditError(error.message, code="structure", hint=error.hint) from error


def _part(content: Mapping[str, Any], policy: WritePolicy) -> Part:
    grouped: dict[str, list[Version]] = {}
    for name, given in content["categories"].items():
        category = policy.category(name)
        if category in grouped:
            raise EditError(
                f"the category {category} is given twice, under two names",
                code="structure",
                hint="Name each category once.",
            )
        grouped[category] = [
            Version(category, body_of(fields["body"]), dict(fields.get("tags", {})), "") for fields in given
        ]
    entries = tuple(entry for each in grouped.values() for entry in each)
    title = (content["title"],) if "title" in content else ()
    return Part(frozenset(grouped) if content.get("partial") else None, entries, title)


def _dated(part: Part, old: Sequence[Version], pairs: Mapping[int, int], policy: WritePolicy, *, dated: bool) -> Part:
    """The part with a day for each entry that is new, as an addition gets one; words that come back are no younger."""
    day = policy.today.isoformat() if dated else None
    before = {there: old[here] for here, there in pairs.items()}
    entries: list[Version] = []
    for index, entry in enumerate(part.entries):
        tags, was = entry.tags, before.get(index)
        if was is None:
            tags = policy.dated(tags, entry.body, day)
        elif was.body != entry.body:
            tags = policy.reworded(tags, was.tags, entry.body)
        entries.append(entry._replace(tags=tags))
    return part._replace(entries=tuple(entries))


def _changes(old: Sequence[Version], new: Sequence[Version], pairs: Mapping[int, int]) -> list[EntryChange]:
    """What differs, in the order of the old entries; additions come last."""
    changed: list[EntryChange] = []
    for index, entry in enumerate(old):
        partner = new[pairs[index]] if index in pairs else None
        if partner is None or not partner.says(entry):
            changed.append(EntryChange(entry, partner))
    added = sorted(set(range(len(new))) - set(pairs.values()))
    return changed + [EntryChange(None, new[index]) for index in added]


# --- who may -------------------------------------------------------------------------------------------------------


def _refuse_unseen(document: Document, policy: WritePolicy) -> None:
    """Raise ``ForbiddenError`` if the document has entries that its writer does not see."""
    actor, present = policy.actor, {entry.category for entry in document.entries}
    if actor is not None and present > visible_categories(present, policy.target, actor, policy.taxonomy).keys():
        hint = "Send operations instead, or the JSON form with partial: true."
        raise ForbiddenError(f"{actor.name} may not write a whole document: it does not see all of it", hint=hint)


def _first_fault(changes: Iterable[EntryChange], policy: WritePolicy, *, is_text: bool) -> EditError | None:
    """The first thing that is wrong with the tags of what changes; what is forbidden is raised at once."""
    # New words go without the verification of the old ones. A text is taken as it is, so it must not keep it.
    first: EditError | None = None
    for change in changes:
        if change.new is None:
            continue
        old = None if change.old is None else change.old.tags
        given: dict[str, Any] = {**dict.fromkeys(old or {}), **change.new.tags}
        changed = {key: value for key, value in given.items() if (old or {}).get(key) != value}
        if change.old is not None and change.old.body != change.new.body:
            if "verified_date" not in change.new.tags:
                changed.pop("verified_date", None)
            elif is_text:
                policy.refuse_unverified("verified_date")
        try:
            if change.old is not None:
                policy.check_domain(change.old.category, change.old.tags, change.new.tags)
            policy.check_tags(changed, old)
        except EditError as error:
            first = first or error
        known = None if change.old is not None else policy.day_before(change.new.tags, change.new.body)
        if known is not None and first is None:
            first = EditError(
                f"these words were there before, since {known}, and are no younger now",
                code="bad_date",
                hint=f"Give created: {known}, or leave it out.",
            )
    return first


# --- the new text --------------------------------------------------------------------------------------------------


def _laid_in(document: Document, part: Part, policy: WritePolicy, parse: Callable[[bytes], Document]) -> Document:
    """The document with the entries of a JSON form in the places of its own."""
    wanted: dict[str, list[Version]] = {}
    for entry in part.entries:
        wanted.setdefault(entry.category, []).append(entry)
    for category in wanted:
        policy.writable_category(category)
    sectioned = bool(document.scan.headers) or set(wanted) > {UNCATEGORIZED}
    base = titled(document) if sectioned else document
    slots = [Slot(entry, [Version.from_entry(entry)]) for entry in base.entries]
    by_category: dict[str, list[Slot]] = {}
    for slot in slots:
        if part.covers(slot.entry.category):
            by_category.setdefault(slot.entry.category, []).append(slot)
    # What comes first in its category, before all slots.
    first: dict[str, list[Version]] = {}
    for category in dict.fromkeys((*by_category, *wanted)):
        if early := _fill(by_category.get(category, []), wanted.get(category, ())):
            first[category] = early
    titles = {category: title for category in wanted if (title := policy.title(category)) is not None}
    title = part.title[0] if part.title and sectioned else base.title
    # Where nothing is left to be changed the bytes stay as they are.
    text = spliced(base, slots, first, titles, title)
    return document if text == document.text else ended(parse(text.encode()))


def _fill(slots: Sequence[Slot], entries: Sequence[Version]) -> list[Version]:
    """Give the slots of one category what is to stand there, in order; what comes before all of them is returned."""
    # Equal entries at both ends stay where they are, and the rest is filled in between.
    kept = {(version.body, str(version.tags)): version for slot in slots for version in slot.versions}
    versions = [
        kept.get((entry.body, str(entry.tags))) or entry._replace(text=tag_blocks.write(entry.tags, entry.body))
        for entry in entries
    ]
    there = [slot.versions[0] for slot in slots]
    start, end = equal_ends([each[:3] for each in there], [each[:3] for each in versions])
    middle, new = slots[start : len(slots) - end], versions[start : len(versions) - end]
    for index, slot in enumerate(middle):
        slot.versions = list(new[index : index + 1])
    rest = new[len(middle) :]
    if middle:
        middle[-1].behind = rest
    elif start:
        slots[start - 1].behind = rest
    else:
        return rest
    return []


# --- the content itself --------------------------------------------------------------------------------------------


def _check_structure(old: Document, new: Document, policy: WritePolicy, *, lines: bool) -> None:
    """Raise ``EditError`` (``structure``) for a problem that the old document has not: no tool is to write it."""
    # `lines` says where; not to a writer who does not see what stands above.
    most = new.limits.file_bytes
    if 4 * len(new.text) > most and len(new.to_bytes()) > most:
        raise EditError(f"a file may have {most:,} bytes, and this would have more", code="structure", hint=_SHORTER)
    before = all_problems(old, policy.config)
    there = Counter((problem.rule, old.text[problem.start : problem.end]) for problem in before)
    for problem in all_problems(new, policy.config):
        key = problem.rule, new.text[problem.start : problem.end]
        there[key] -= 1
        if there[key] < 0 and problem.rule not in _PASSED_OVER:
            where = f"line {new.line(problem.start)}: " if lines else ""
            raise EditError(f"{where}{problem.message} ({problem.rule})", code="structure", hint=_MEND)


_SHORTER = "Nothing was written. Send less."
_MEND = "Nothing was written. Mend that in the content; docs/format.md tells what each problem is."


def _new_texts(old: Document, new: Document, changes: Iterable[EntryChange]) -> list[str]:
    """The words that were not here before: of entries, tags, and headings."""
    texts: list[str] = []
    for change in changes:
        if change.new is None:
            continue
        before = change.old or Version("", "", {}, "")
        if change.new.body != before.body:
            texts.append(change.new.body)
        tags = {key: value for key, value in change.new.tags.items() if before.tags.get(key) != value}
        texts += tag_texts(tags)
    headings = {section.title for section in old.sections} | {old.title}
    return texts + [title for title in (new.title, *(s.title for s in new.sections)) if title and title not in headings]


def _plan(old: Document, new: Document, changes: Sequence[EntryChange], warnings: Sequence[str]) -> Plan:
    if new.text == old.text:
        return Plan(old, (), (), ("it says that already",), ())
    entries: list[Entry] = []
    actions: list[dict[str, Any]] = []
    was, now = ({_said(entry): entry for entry in document.entries} for document in (old, new))
    for before, after in changes:
        name = "add" if before is None else "remove" if after is None else "replace"
        found = now.get(_said(after)) if after is not None else was.get(_said(before)) if before is not None else None
        if found is not None:
            entries.append(found)
            actions.append({"action": name, "category": found.category, "id": found.id})
    title = on_title(old, new)
    return Plan(new, tuple(entries), tuple(actions), () if title is None else (title,), tuple(warnings))


def _said(entry: Entry | Version) -> tuple[str, str, str]:
    return entry.category, entry.body, str(entry.tags)
