"""What a whole document in an envelope makes of the one that is there: rights, structure, threats and size.

A content in JSON form is laid into the text that is there, so entries that stay keep their bytes. A text takes its
place whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from catmem.clock import read_date
from catmem.config.access import Rights, all_problems, visible_categories
from catmem.config.json_schema import shown
from catmem.config.profile import ORCHESTRATOR_TIER
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
from catmem.model.document import Document, Entry, TagValue
from catmem.model.layout import is_shared
from catmem.model.pairing import pair_entries
from catmem.model.splice import Slot, spliced, titled
from catmem.model.version import Version
from catmem.names import UNCATEGORIZED
from catmem.staleness.freshness import unverified
from catmem.store.contract import EXTERNAL, Current, stale
from catmem.store.envelope import Content, Envelope
from catmem.syntax import tags as tag_blocks
from catmem.workspace.root import Root
from catmem.workspace.seen_entry import tag_texts
from catmem.writing import gate
from catmem.writing.drift_guard import gone_entries
from catmem.writing.editor import OperationsEditor
from catmem.writing.matching import hide_digests
from catmem.writing.operation import Operation
from catmem.writing.planning import Plan, ended, unseen
from catmem.writing.terms import Terms, body_of, check_beforehand, terms_of
from catmem.writing.write import WriteAttempt
from catmem.writing.written import on_tags, on_title, refuse_over_budget

_WORD = re.compile(r"\w+")
_PASSED_OVER = frozenset({"bad-tag"})
"""Problems that were looked at with the tags, entry by entry."""


class Said(NamedTuple):
    """What an entry is to say."""

    category: str
    body: str
    tags: dict[str, TagValue]


class Part(NamedTuple):
    """What a content is about: the categories, ``None`` for all, what their entries are to say, and its title."""

    categories: frozenset[str] | None
    entries: tuple[Said, ...]
    title: tuple[str | None, ...] = ()

    def covers(self, category: str) -> bool:
        """Whether the content says what becomes of a category."""
        return self.categories is None or category in self.categories


class EntryChange(NamedTuple):
    """An entry before and after; one of the two is ``None`` for an addition or a removal."""

    old: Said | None
    new: Said | None


def plan_document(
    document: Document, content: str | dict[str, Any], terms: Terms, parse: Callable[[bytes], Document]
) -> Plan:
    """The document that a content makes of this one."""
    new: Document | None = None
    if isinstance(content, str):
        new = _parsed(content, parse)
        _refuse_unseen(document, None, terms)
        part = Part(None, tuple(map(_said, new.entries)))
    else:
        named = [terms.category(name) for name in content["categories"]] if content.get("partial") else None
        _refuse_unseen(document, named, terms)
        part = _part(content, terms)
    is_text = new is not None
    old = [_said(entry) for entry in document.entries if part.covers(entry.category)]
    pairs = pair_entries(old, part.entries)
    changes = _changes(old, part.entries, pairs)
    fault = _first_fault(changes, terms, is_text=is_text)
    if fault is not None:
        raise fault
    if new is None:
        part = _dated(part, old, pairs, terms, dated=not is_shared(document))
        changes = _changes(old, part.entries, pairs)
        new = _laid_in(document, part, terms, parse)
    _check_structure(document, new, terms, lines=is_text)
    warning = terms.check_threats(_new_texts(document, new, changes))
    made = {(change.new.category, change.new.body) for change in changes if change.new is not None}
    refuse_over_budget(document, new, terms, lambda entry: (entry.category, entry.body) in made)
    return _plan(document, new, changes, terms, [warning] if warning else [])


def overlap(content: str | dict[str, Any], document: Document, terms: Terms) -> float:
    """How alike the bodies are that a content is about, as they are and as they are to be: the Jaccard overlap of their
    words, without regard to case and form; 1 where there are none yet.

    Of those that are there only what the writer sees: or it could guess at the words of the others.
    """  # noqa: D205 - one sentence
    now: Sequence[Entry] = terms.rights.in_sight(document)
    if isinstance(content, str):
        new = [content]
    else:
        names = {terms.category(name) for name in content["categories"]} if content.get("partial") else None
        now = [entry for entry in now if names is None or entry.category in names]
        new = [entry["body"] for entries in content["categories"].values() for entry in entries]
    old_words, new_words = _words([entry.body for entry in now]), _words(new)
    return len(old_words & new_words) / len(old_words | new_words) if old_words else 1.0


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold())}


# --- what is asked -------------------------------------------------------------------------------------------------


def _parsed(text: str, parse: Callable[[bytes], Document]) -> Document:
    try:
        return parse(text.encode())
    except TooLargeError as error:
        raise EditError(error.message, code="structure", hint=error.hint) from error


def _part(content: Mapping[str, Any], terms: Terms) -> Part:
    grouped: dict[str, list[Said]] = {}
    for name, given in content["categories"].items():
        category = terms.category(name)
        if category in grouped:
            raise EditError(
                f"the category {category} is given twice, under two names",
                code="structure",
                hint="Name each category once.",
            )
        grouped[category] = [Said(category, body_of(fields["body"]), dict(fields.get("tags", {}))) for fields in given]
    entries = tuple(entry for each in grouped.values() for entry in each)
    title = (content["title"],) if "title" in content else ()
    return Part(frozenset(grouped) if content.get("partial") else None, entries, title)


def _dated(part: Part, old: Sequence[Said], pairs: Mapping[int, int], terms: Terms, *, dated: bool) -> Part:
    """The part with a day for each entry that is new, as an addition gets one; words that come back are no younger."""
    # New words lose the `verified_date` of the old ones.
    before = {there: old[here] for here, there in pairs.items()}
    entries: list[Said] = []
    for index, entry in enumerate(part.entries):
        tags, was = entry.tags, before.get(index)
        if was is None and dated and "created" not in tags:
            tags = {"created": terms.today.isoformat(), **tags}
        known = _known_since(tags, entry.body, terms) if was is None or was.body != entry.body else None
        if was is not None and was.body != entry.body and tags.get("verified_date") == was.tags.get("verified_date"):
            tags = unverified(tags)
        entries.append(entry._replace(tags=tags if known is None else {**tags, "created": known}))
    return part._replace(entries=tuple(entries))


def _known_since(tags: Mapping[str, TagValue], body: str, terms: Terms) -> str | None:
    """The day that words which come back had, if their ``created`` is later and the actor may not verify."""
    created = read_date(tags.get("created"))
    if created is None or terms.rights.may_verify:
        return None
    known = terms.known_since(body)
    return known.isoformat() if known is not None and known < created else None


def _said(entry: Entry) -> Said:
    return Said(entry.category, entry.body, entry.tags)


def _changes(old: Sequence[Said], new: Sequence[Said], pairs: Mapping[int, int]) -> list[EntryChange]:
    """What differs, in the order of the old entries; additions come last."""
    changed: list[EntryChange] = []
    for index, entry in enumerate(old):
        partner = new[pairs[index]] if index in pairs else None
        if partner != entry:
            changed.append(EntryChange(entry, partner))
    added = sorted(set(range(len(new))) - set(pairs.values()))
    return changed + [EntryChange(None, new[index]) for index in added]


# --- who may -------------------------------------------------------------------------------------------------------


def _refuse_unseen(document: Document, named: Sequence[str] | None, terms: Terms) -> None:
    """Raise ``ForbiddenError`` if the content is about entries that the writer does not see."""
    actor = terms.rights.actor
    if actor is None:
        return
    # Of named categories also those that are empty: or the answer would tell whether something hidden is there.
    present = dict.fromkeys((entry.category for entry in document.entries) if named is None else named)
    seen = visible_categories(present, terms.target, actor, terms.config.taxonomy)
    for category in present:
        if category in seen:
            continue
        if named is None:
            hint = "Send operations instead, or the JSON form with partial: true."
            raise ForbiddenError(f"{actor.name} may not write a whole document: it does not see all of it", hint=hint)
        refuse_unseen_category(terms, category, seen=False)


def _first_fault(changes: Iterable[EntryChange], terms: Terms, *, is_text: bool) -> EditError | None:
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
                changed["verified_date"] = change.new.tags["verified_date"]
        try:
            # What is forbidden comes first, whatever else is wrong with the tags.
            terms.check_dates(changed, old)
            if change.old is not None:
                terms.check_domain(change.old.category, change.old.tags, change.new.tags)
            terms.check_tags(changed, old)
        except EditError as error:
            first = first or error
        known = None if change.old is not None else _known_since(change.new.tags, change.new.body, terms)
        if known is not None and first is None:
            first = EditError(
                f"these words were there before, since {known}, and are no younger now",
                code="bad_date",
                hint=f"Give created: {known}, or leave it out.",
            )
    return first


# --- the new text --------------------------------------------------------------------------------------------------


def _laid_in(document: Document, part: Part, terms: Terms, parse: Callable[[bytes], Document]) -> Document:
    """The document with the entries of a JSON form in the places of its own."""
    wanted: dict[str, list[Said]] = {}
    for entry in part.entries:
        wanted.setdefault(entry.category, []).append(entry)
    for category in wanted:
        terms.writable_category(category)
    sectioned = bool(document.scan.headers) or set(wanted) > {UNCATEGORIZED}
    base = titled(document) if sectioned else document
    slots, first = _slots(base, part, wanted)
    titles = {category: title for category in wanted if (title := terms.title(category)) is not None}
    title = part.title[0] if part.title and sectioned else base.title
    # Where nothing is left to be changed the bytes stay as they are.
    text = spliced(base, slots, first, titles, title)
    return document if text == document.text else ended(parse(text.encode()))


def _slots(
    document: Document, part: Part, wanted: Mapping[str, Sequence[Said]]
) -> tuple[list[Slot], dict[str, list[Version]]]:
    """The places of all entries with what is to stand there, and what comes first in its category."""
    slots = [Slot(entry, [Version.of(entry)]) for entry in document.entries]
    by_category: dict[str, list[Slot]] = {}
    for slot in slots:
        if part.covers(slot.entry.category):
            by_category.setdefault(slot.entry.category, []).append(slot)
    first: dict[str, list[Version]] = {}
    for category in dict.fromkeys((*by_category, *wanted)):
        early = _fill(by_category.get(category, []), wanted.get(category, ()))
        if early:
            first[category] = early
    return slots, first


def _fill(slots: Sequence[Slot], entries: Sequence[Said]) -> list[Version]:
    """Give the slots of one category what is to stand there, in order; what comes before all of them is returned."""
    # Equal entries at both ends stay where they are, and the rest is filled in between.
    kept = {(version.body, str(version.tags)): version for slot in slots for version in slot.versions}
    versions = [
        kept.get((entry.body, str(entry.tags))) or Version(*entry, tag_blocks.write(entry.tags, entry.body))
        for entry in entries
    ]
    start = _same(slots, versions)
    end = _same(slots[start:][::-1], versions[start:][::-1])
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


def _same(slots: Sequence[Slot], versions: Sequence[Version]) -> int:
    count = 0
    for slot, version in zip(slots, versions, strict=False):
        if not slot.versions[0].says(version):
            break
        count += 1
    return count


# --- the content itself --------------------------------------------------------------------------------------------


def _check_structure(old: Document, new: Document, terms: Terms, *, lines: bool) -> None:
    """Raise ``EditError`` (``structure``) for a problem that the old document has not: no tool is to write it."""
    # `lines` says where; not to a writer who does not see what stands above.
    most = new.limits.file_bytes
    if 4 * len(new.text) > most and len(new.to_bytes()) > most:
        raise EditError(f"a file may have {most:,} bytes, and this would have more", code="structure", hint=_SHORTER)
    before = all_problems(old, terms.config)
    there = Counter((problem.rule, old.text[problem.start : problem.end]) for problem in before)
    for problem in all_problems(new, terms.config):
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
        before = change.old or Said("", "", {})
        if change.new.body != before.body:
            texts.append(change.new.body)
        tags = {key: value for key, value in change.new.tags.items() if before.tags.get(key) != value}
        texts += tag_texts(tags)
    headings = {section.title for section in old.sections} | {old.title}
    return texts + [title for title in (new.title, *(s.title for s in new.sections)) if title and title not in headings]


def _plan(old: Document, new: Document, changes: Sequence[EntryChange], terms: Terms, warnings: Sequence[str]) -> Plan:
    if new.text == old.text:
        return Plan(old, (), (), ("it says that already",), ())
    added = [change.new for change in changes if change.new is not None and change.old is None]
    replaced = [change.new for change in changes if change.new is not None and change.old is not None]
    gone = [change.old for change in changes if change.new is None and change.old is not None]
    touched = (
        ("add", _found(new.entries, added)),
        ("replace", _found(new.entries, replaced)),
        ("remove", _found(old.entries, gone)),
    )
    entries = tuple(entry for _, found in touched for entry in found)
    actions = [{"action": name, "category": each.category, "id": each.id} for name, found in touched for each in found]
    given = dict.fromkeys(
        key
        for change in changes
        if change.new is not None
        for key in change.new.tags
        if change.old is None or key not in change.old.tags
    )
    notes = (on_title(old, new), *on_tags(given, terms))
    return Plan(new, entries, tuple(actions), tuple(note for note in notes if note), tuple(warnings))


def _found(entries: Sequence[Entry], said: Collection[Said]) -> list[Entry]:
    wanted = Counter((each.category, each.body, str(each.tags)) for each in said)
    found: list[Entry] = []
    for entry in entries if wanted else ():
        key = entry.category, entry.body, str(entry.tags)
        if wanted[key] > 0:
            wanted[key] -= 1
            found.append(entry)
    return found


# --- the editor ------------------------------------------------------------------------------------------------------


AGAIN = "Nothing was written. Read it again, and repeat the change on what is there now."
ALIKE = 0.6
"""The share of common words below which a new text has little in common with the old one."""


class DocumentEditor(OperationsEditor):
    """The content of an envelope for a memory file, and the refusals that only envelopes have."""

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What is to be done; nothing where a whole document is given."""
        content = self.attempt.asked.content
        return content if isinstance(content, tuple) else ()

    @property
    def envelope(self) -> Envelope:
        """The envelope that the write came in."""
        if self.attempt.envelope is None:
            raise AssertionError(self.attempt.asked)
        return self.attempt.envelope

    def found_terms(self) -> Terms:
        """The terms of the write. Raises ``ForbiddenError`` for an entity that is none of the writer's business."""
        a, envelope = self.attempt, self.envelope
        name, _, target = envelope.entity_id.partition("/")
        try:
            Rights(a.acting, target, a.workspace.config.taxonomy).refuse_other_owner(name)
        except UnknownNameError as error:
            message = f"{envelope.agent_id} may not write to {shown(envelope.entity_id)}"
            raise ForbiddenError(message, hint=error.hint) from None
        return terms_of(a.workspace, name, target, a.acting, allow_secret=a.asked.allow_secret)

    def check(self) -> None:
        """Raise what is forbidden whatever the file holds; what else is wrong with the content comes later."""
        a, rights = self.attempt, self.terms.rights
        a.begin_session()
        self.check_reason()
        refuse_out_of_scope(self.envelope.content, self.operations, self.terms)
        if a.asked.merges and rights.actor is not None and not rights.unbounded:
            raise ForbiddenError(
                f"{rights.actor.name} may not merge branches", hint="A person may, and a tier-1 profile."
            )
        for revision in a.workspace.store.log(a.entity) if a.asked.merges else ():
            if revision.revision in a.asked.merges and revision.is_proposal:
                raise gate.on_proposal(a.entity, revision.revision)
        content = self.envelope.content
        if a.asked.merges and (self.operations or (isinstance(content, dict) and content.get("partial"))):
            raise EnvelopeError(
                "parents names branches, and only a whole document says what becomes of their text",
                key="parents",
                hint=f"Nothing was written. Leave them out; catmem merge {a.entity} brings branches in.",
            )
        self.hide_proposal()

    def planned(self, document: Document, current: Current) -> Plan:
        if current.revision != self.attempt.expected:
            self._refuse_second_of_a_number()
        return self._plan_of(document, current)

    def _plan_of(self, document: Document, current: Current) -> Plan:
        content, base = self.envelope.content, current.base
        if isinstance(content, list):
            check_beforehand(self.operations, self.terms)
            return super().planned(document, current)
        if base is None or base == document.to_bytes():
            plan = plan_document(document, content, self.terms, self.attempt.workspace.parse)
            self._refuse_unseen(document, plan.document)
            return plan
        return self._merged(document, base, content)

    def _merged(self, document: Document, base: bytes, content: str | dict[str, Any]) -> Plan:
        """The plan on what the writer saw, brought together with what is there: nothing of either side is lost."""
        from catmem.model.merge import merge

        seen, parse = self.legible(base), self.attempt.workspace.parse
        plan = plan_document(seen, content, self.terms, parse)
        merged = merge(seen, document, plan.document)
        if merged.conflicts:
            raise DriftError(f"{self.terms.entity} was changed where this write would change it", hint=AGAIN)
        if merged.text == document.text:
            return Plan(document, (), (), plan.notes, plan.warnings)
        new = parse(merged.text.encode())
        self._refuse_unseen(document, new)
        return plan._replace(document=new)

    def _refuse_unseen(self, document: Document, new: Document) -> None:
        """Refuse a whole text that takes away an entry or a heading which the conversation does not know as it is."""
        session = self.attempt.asked.session
        if session is None:
            return
        entry = next((each for each in gone_entries(document, new) if not self.knows(each)), None)
        if entry is not None:
            raise unseen(entry, self.terms)
        heading = session.lost_heading(self.terms.entity, document, new)
        if heading is not None:
            raise DriftError(
                f"your text of {self.terms.entity} lacks the heading {shown(heading)}, which another program wrote",
                hint="Nothing was written. Put the heading into your text, and write it again.",
            )

    def alert(self) -> None:
        """Refuse what the writer wanted to be warned of, and what the root does."""
        if self.document is not None:
            self._alert(self.document)
        super().alert()

    def _alert(self, document: Document) -> None:
        """Refuse, once, a document that has little in common with the old one. Operations say what they change."""
        a, content = self.attempt, self.envelope.content
        if not self.envelope.alert or a.asked.confirm or a.alerted or isinstance(content, list):
            return
        alike = overlap(content, document, self.terms)
        if alike < ALIKE:
            a.alert(little_in_common(alike))

    def reworded(self, plan: Plan) -> Sequence[tuple[str, str]]:
        """Of a whole document: what the writer sees of each category that it changes, before and after."""
        if self.operations or self.document is None:
            return plan.reworded
        sides = []
        for each in (self.document, plan.document):
            bodies: dict[str, list[str]] = {}
            for entry in self.terms.rights.in_sight(each):
                bodies.setdefault(entry.category, []).append(entry.body)
            sides.append(bodies)
        was, now = sides
        changed = [name for name in was if was[name] != now.get(name)]
        return [("\n".join(was[name]), "\n".join(now.get(name, []))) for name in changed]

    # --- refusals --------------------------------------------------------------------------------------------------

    def refusal(self, error: CatmemError) -> CatmemError:
        """The first refusal that holds, in the order of docs/envelopes.md."""
        error = self.without_proposal(error)
        try:
            if isinstance(error, StaleError | DriftError | UnknownRevisionError):
                self._refuse_second_of_a_number()
                self._refuse_what_comes_before(error)
            elif isinstance(error, RefusedError):
                self._tell(error)
        except CatmemError as first:
            error = first
        return super().refusal(error)

    def _refuse_second_of_a_number(self) -> None:
        """Raise ``OperationCollisionError`` for a second revision of one number from the writer of the first."""
        a = self.attempt
        error = second_of_a_number(a)
        if error is not None:
            self._tell(error)
            raise error

    def _refuse_what_comes_before(self, error: CatmemError) -> None:
        """Raise what stands before an old view in the order, if that is wrong too; else complete the error."""
        document, a = None, self.attempt
        if not isinstance(error, UnknownRevisionError):
            with suppress(UnknownRevisionError):
                seen = a.workspace.store.read(a.entity, str(self.envelope.prev_rev))
                document = self.legible_or_none(seen.data)
        if document is not None:
            try:
                self._plan_of(document, Current(seen.data, str(self.envelope.prev_rev), None))
            except ForbiddenError:
                raise
            except CatmemError:
                pass  # what is wrong with the content comes after an old view
            if isinstance(error, DriftError):
                refusal = stale_before_drift(a, error)
                if refusal is not None:
                    raise refusal from error
                self._alert(document)
        if isinstance(error, RefusedError):
            self._tell(error)
        else:
            error.hint = f"{a.entity} is at revision {head_of(a.workspace, a.entity)}. {AGAIN}"

    def _tell(self, error: RefusedError) -> None:
        """Let a refusal say what is at the head, as far as the writer may know it."""
        if not self.terms.rights.unbounded:
            hide_digests(error)
        if error.found is None:
            error.found = head_of(self.attempt.workspace, self.terms.entity)


# --- what tells who wrote in between -------------------------------------------------------------------------------


def head_of(workspace: Root, entity: str) -> str:
    """The revision at the head, ``"0"`` for none."""
    head = workspace.store.head(entity)
    return "0" if head is None else head.revision


def little_in_common(alike: float, least: float = ALIKE) -> RefusedError:
    """The refusal of a content that shares so few words with the old one that its writer wanted to be warned."""
    return RefusedError(
        f"the new text has little in common with the old one: {alike:.2f} of all words, under {least}",
        code="semantic_collision",
        hint="Nothing was written. Look at what is there now; to write it all the same, send it again with confirm "
        "(catmem write --confirm).",
    )


def second_of_a_number(a: WriteAttempt) -> OperationCollisionError | None:
    """The refusal of a second revision of one number from the writer of the first, ``None`` for another write."""
    # Only a write that was not made on the head can be one. In branch mode it becomes a branch, as any other write on
    # an old view does.
    workspace, envelope = a.workspace, a.envelope
    if envelope is None or (a.asked.on_stale or workspace.config.on_stale) == "branch":
        return None
    log = workspace.store.log(envelope.entity_id)
    # An external change since, which this commit may have taken in, changes nothing.
    last = next((each for each in log if each.agent != EXTERNAL and not each.is_branch), None)
    if last is None or last.agent != envelope.agent_id or last.op_id == envelope.op_id:
        return None
    first = last.note.get("envelope", {}).get("mem_hash")
    same_place = last.revision == str(envelope.mem_rev) and last.parents == tuple(map(str, envelope.parents))
    if not same_place or first is None or first == envelope.mem_hash:
        return None
    return OperationCollisionError(
        f"{last.who} wrote something newer before this: revision {last.revision}, with other content",
        expected=str(envelope.prev_rev),
        found=head_of(workspace, envelope.entity_id),
        hint=f"It may come from another tab, session or process of {last.who}. {AGAIN} With on_stale: branch in "
        "catmem.yaml such writes are kept as branches.",
    )


def stale_before_drift(a: WriteAttempt, error: DriftError) -> StaleError | None:
    """The refusal of an old view in the place of that of an external change, if another write came between, too."""
    for revision in a.workspace.store.log(a.entity):
        if revision.revision == a.expected:
            return None
        if revision.agent != EXTERNAL and not revision.is_branch:
            refusal = stale(a.entity, a.expected or "0", head_of(a.workspace, a.entity))
            refusal.drift_backup = error.drift_backup
            return refusal
    return None


# --- whose business the content is ----------------------------------------------------------------------------------


_PARTLY = "Send operations instead, or the JSON form with partial: true and the categories that it sees and may write."


def refuse_out_of_scope(content: Content, operations: Sequence[Operation], terms: Terms) -> None:
    """Raise ``ForbiddenError`` for what the writer may not send, whatever is in the file."""
    # A whole document from a writer who does not see all of the old one would tell, by what becomes of it, whether it
    # is equal to what is hidden; so would the whole of a category that it does not see.
    rights = terms.rights
    if isinstance(content, list):
        for operation in operations:
            try:
                check_beforehand([operation], terms)
            except ForbiddenError:
                raise
            except CatmemError:  # what is wrong with the content itself is reported after what is there was looked at
                continue
    elif isinstance(content, str) or not content.get("partial"):
        if not _may_send_whole(rights):
            name = "" if rights.actor is None else rights.actor.name
            raise ForbiddenError(f"{name} may not write a whole document: it does not see all of it", hint=_PARTLY)
    else:
        _refuse_partial(content, terms)


def _may_send_whole(rights: Rights) -> bool:
    """Whether a whole document may come from this writer; of tier 1 it is looked at what the file holds, too."""
    actor = rights.actor
    if actor is None or actor.tier == ORCHESTRATOR_TIER:
        return True
    if rights.taxonomy.closed:  # only a person sees an undeclared section
        return False
    everything = all(
        "*" in selectors.patterns and not any(pattern.startswith("!") for pattern in selectors.patterns)
        for selectors in (actor.selectors(rights.target, rights.taxonomy), actor.writable(rights.taxonomy))
    )
    return everything and actor.include_uncategorized is True and rights.may_write("__uncategorized__")


def _refuse_partial(content: Mapping[str, Any], terms: Terms) -> None:
    rights = terms.rights
    name = "" if rights.actor is None else rights.actor.name
    for named in content["categories"]:
        category = terms.category(named)
        rights.refuse_unwritable(category, named)
        refuse_unseen_category(terms, category, seen=rights.may_see(category))
    if "title" in content and not rights.unbounded:
        raise ForbiddenError(f"{name} may not write the title of the document", hint="Leave title out.")


def refuse_unseen_category(terms: Terms, category: str, *, seen: bool) -> None:
    """Raise ``ForbiddenError`` for the whole of a category that the writer does not see."""
    actor = terms.rights.actor
    if actor is not None and not seen:
        raise ForbiddenError(
            f"{actor.name} may not write the whole of the category {category!r}, which it does not see",
            hint="Add to it by operations.",
        )
