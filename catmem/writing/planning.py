"""What operations make of a document: rights, matching, tags and threats are looked at, and nothing is written.

A plan is made anew each time a store asks for the new bytes, from what is really there then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catmem.clock import read_date
from catmem.config.access import is_slip, known_categories, targets_read
from catmem.config.json_schema import known_tags, meant_tag, nearest
from catmem.config.profile import HERMES_LIMITS
from catmem.errors import DriftError, EditError
from catmem.model.document import LOOKS_TAGGED, Document, Entry, TagValue
from catmem.model.edit import Edited, add_entry, move_entry, remove_entry, replace_entry, retag_entry
from catmem.model.layout import is_shared, last_entries, shared_within, spans_of
from catmem.names import UNCATEGORIZED
from catmem.staleness.freshness import expired_on, unverified
from catmem.store.judgement import REMEDY
from catmem.syntax.scan import boundary_lines, rescan
from catmem.syntax.tags import block_size
from catmem.text import MAX_ENTRY_CHARS, MAX_FILE_BYTES, size_of
from catmem.workspace.seen_entry import preview, tag_texts
from catmem.writing.drift_guard import READ_FIRST, ToolSession, text_digest
from catmem.writing.matching import EntryWords, VisibleEntries, WriterView, entry_words, find_entry
from catmem.writing.policy import NAME_SHOWN, WritePolicy, body_of, each_of, undeclared
from catmem.writing.request import Operation
from catmem.writing.written import on_title, on_unshared, refuse_over_budget


def plan_operations(
    document: Document,
    operations: Sequence[Operation],
    policy: WritePolicy,
    view: WriterView | None = None,
    session: ToolSession | None = None,
) -> Plan:
    """Apply operations that passed ``check_beforehand`` one after the other, all or none; gives the finished plan.

    ``view`` is what the writer may have seen, ``None`` if that is all; in a conversation its ``session`` counts. Raises
    what refuses an operation: ``EditError``, ``ForbiddenError``, ``UnknownNameError`` and ``DriftError``.
    """
    plan = Plan(document, document, policy, view, session)
    each_of(operations, lambda operation: getattr(plan, operation.action)(operation))
    plan.finish()
    return plan


@dataclass(slots=True)
class Plan:
    """What operations come to, each a method of its name: the new document, and what was done for it."""

    document: Document
    original: Document
    policy: WritePolicy
    view: WriterView | None
    session: ToolSession | None
    entries: tuple[Entry, ...] = ()
    """What was made or touched, as it is in the new document; a removed entry is as it was."""
    actions: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    reworded: list[tuple[str, str]] = field(default_factory=list)
    """The old and the new words of each replacement that is not confirmed."""
    made: Counter[EntryWords] = field(default_factory=Counter)
    """What the entries say that these operations made: a later one may change them unseen."""
    touched: list[tuple[Entry, bool]] = field(default_factory=list)
    """Entries in the order of the operations, and whether each is gone."""
    taken_from: dict[str, None] = field(default_factory=dict)
    """The categories that an entry was taken out of, in their order."""
    by_another: Callable[[str], bool] | None = None  # of the history, which is read once: it stays under the lock

    # --- the five actions ------------------------------------------------------------------------------------------

    def add(self, operation: Operation) -> None:
        """Make an entry, if its category has none with these words."""
        content = operation.content or ""
        body = body_of(content)
        category = self._category_to_add_to(operation.category)
        tags = {key: value for key, value in (operation.tags or {}).items() if value is not None}
        self._check_threats([body, *tag_texts(tags), operation.category or ""], category)
        # Only among what the actor sees: or an addition would tell whether a text is there that is hidden from it.
        already = self._same_entry(category, body)
        if already is not None:
            said = f"is already in {already.category} of {self.policy.entity}, so no second copy was made"
            if any(already.tags.get(key) != value for key, value in tags.items()):
                how = "replace it with tags" if self.policy.to_agent else "use replace OLD --tag KEY=VALUE"
                said += f"; to give it these tags, {how}"
            self._leave_as_is("add", already, said)
            return
        self._remark_tags(tags)
        tags = self._dated(tags, body, operation)
        title = self.policy.title(category)
        made = self._accept("add", add_entry(self.document, content, category=category, tags=tags, title=title))
        self._remark_expiry(made, tags)
        self._remark_words(made, body)

    def replace(self, operation: Operation) -> None:
        """Give the entry other words or tags."""
        entry = self._meant_entry(operation)
        self.policy.refuse_unwritable(entry.category)
        body = entry.body if operation.content is None else body_of(operation.content)
        old_tags, given = entry.tags, operation.tags or {}
        self.policy.check_tags(given, old_tags)
        tags: dict[str, TagValue] = {k: value for k, value in {**old_tags, **given}.items() if value is not None}
        self.policy.check_domain(entry.category, old_tags, tags)
        if body == entry.body and tags == old_tags:
            self._leave_as_is("replace", entry, "already says that")
            return
        if body != entry.body:  # the verification of the old words is gone
            same_day = tags.get("verified_date") == old_tags.get("verified_date")
            tags = self.policy.dated(unverified(tags) if same_day else tags, body, None)
        self._check_threats([*([body] if body != entry.body else []), *tag_texts(given)])
        self._remark_tags(key for key, value in given.items() if value is not None)
        if operation.content is None or body == entry.body:
            self._accept_replacement(entry, retag_entry(self.document, entry, tags))
            return
        if not operation.confirm:
            self.reworded.append((entry.body, body))
        doubled = self._same_entry(entry.category, body) is not None
        new_tags = None if tags == old_tags else tags
        made = self._accept_replacement(entry, replace_entry(self.document, entry, operation.content, tags=new_tags))
        verified = read_date(old_tags.get("verified_date"))
        if verified is not None and "verified_date" not in tags and given.get("verified_date", True):
            self._remark(made, f"has new words, so its verification of {verified} is gone; verify it if they hold")
        self._remark(made, f"is in {made.category} twice now" if doubled else None)
        self._remark_words(made, body)

    def remove(self, operation: Operation) -> None:
        """Take the entry out."""
        entry = self._meant_entry(operation)
        self.policy.refuse_unwritable(entry.category)
        self.document = remove_entry(self.document, entry).document
        self.taken_from[entry.category] = None
        self._record("remove", entry, gone=True)

    def move(self, operation: Operation) -> None:
        """Put the entry into another category."""
        category = self.policy.destination(operation.to_category or "")
        entry = self._meant_entry(operation)
        self.policy.refuse_unwritable(entry.category)
        if entry.category == category:
            self._leave_as_is("move", entry, f"is already in {category}")
            return
        self._check_threats([operation.to_category or ""], category)
        doubled = self._same_entry(category, entry.body) is not None
        self.taken_from[entry.category] = None
        made = self._accept("move", move_entry(self.document, entry, category, title=self.policy.title(category)))
        self._remark(made, f"is in {category} twice now" if doubled else None)

    def verify(self, operation: Operation) -> None:
        """Say that the fact holds on a day."""
        entry = self._meant_entry(operation)
        old_tags, day = entry.tags, self._day(operation)
        verified = read_date(old_tags.get("verified_date"))
        if operation.as_of is not None and verified is not None and operation.as_of < verified:
            raise EditError(
                f"this entry was verified on {verified}, and {operation.as_of} is before that",
                code="bad_date",
                hint="Give that day or a later one; if it is wrong itself, replace the tag verified_date.",
            )
        tags: dict[str, TagValue] = {"verified_date": day, **old_tags} | {"verified_date": day}
        if tags == old_tags:
            self._leave_as_is("verify", entry, f"is verified as of {day} already")
        else:
            self._accept("verify", retag_entry(self.document, entry, tags))
        if operation.evidence is not None:
            self.actions[-1]["evidence"] = operation.evidence.strip()
        self._remark_expiry(entry, tags)

    def _same_entry(self, category: str, body: str) -> Entry | None:
        """An entry of the category with this body. Its text is searched first: a large file has many entries."""
        document, line = self.document, max(body.split("\n"), key=len)
        for start, end in spans_of(document, category):
            found = document.text.find(line, start, end)
            if found >= 0:
                within = [entry for entry in document.entries_between(found, end) if start <= entry.start < end]
                seen = self.policy.filter_visible(within)
                same = next((entry for entry in seen if entry.body == body), None)
                if same is not None:
                    return same
        return None

    # --- parts of them ---------------------------------------------------------------------------------------------

    def _meant_entry(self, operation: Operation) -> Entry:
        visible, narrowed = self.policy.visible_entries(self.document), operation.category
        category = None if narrowed is None else self.policy.category(narrowed)
        among = [entry for entry in visible if category in {None, entry.category}]
        sight = VisibleEntries(self.document, self.policy.entity, visible, self.policy.to_agent)
        entry, alike = find_entry(sight, operation.old_text or "", among)
        if alike > 1:
            self._remark(entry, f"is in {entry.category} {alike} times, word for word; the first of them was meant")
        if not self.made[entry_words(entry)]:
            self._refuse_unseen(entry, operation.expected)
            words = operation.content
            shortens = words is not None and len(body_of(words)) < len(entry.body)
            if operation.action != "replace" or shortens:  # of another replacement its result is looked at
                seen = operation.expected is not None or self.session is not None or self.view is None
                self._refuse_too_large(entry, shortens=shortens or operation.action == "remove", seen=seen)
        return entry

    def _refuse_unseen(self, entry: Entry, expected: str | None) -> None:
        """Refuse to touch an entry that the writer does not know as it is: see ``drift_guard``."""
        if expected is not None:
            if expected != text_digest(entry):
                raise unseen(entry, self.policy, "is not, as it is now, what expected names")
        elif self.session is not None:
            if not self.session.knows(self.policy.entity, entry):
                raise unseen(entry, self.policy)
        elif self.view is not None:
            to_agent = self.policy.to_agent  # who has to be shown also what another program wrote
            self.by_another = self.by_another or (self.policy.history().by_another if to_agent else lambda _: False)
            if self.view.differs(entry, to_agent=to_agent) or self.by_another(entry.body):
                raise DriftError(f"another writer changed {quoted(entry, self.policy)}", hint=REMEDY)

    def _refuse_too_large(self, entry: Entry, *, shortens: bool = False, seen: bool = False) -> None:
        """Refuse to touch an entry that no tool wrote so long, but to shorten it for a writer who has seen it."""
        limit, most = self.policy.limit, MAX_ENTRY_CHARS
        if limit is None and shortens:
            limit = HERMES_LIMITS[self.policy.target]
        whole = limit is not None and limit <= most
        allowed = limit if limit is not None and whole else most
        if len(entry.raw) <= allowed or (shortens and seen):
            return
        whose = "the whole limit of the file" if self.policy.limit is not None else "Hermes Agent lets a whole file be"
        raise DriftError(
            f"this entry has {len(entry.raw):,} characters, longer than {whose if whole else 'an entry may be'}, "
            f"{allowed:,}",
            code="entry_too_large",
            hint=REMEDY
            if shortens
            else "Nothing was written. Shorten or remove it once you have read it. Other entries can be changed.",
        )

    def _accept_replacement(self, entry: Entry, edited: Edited) -> Entry:
        shorter = edited.entry is not None and len(edited.entry.raw) < len(entry.raw)
        if not (shorter or self.made[entry_words(entry)]):
            self._refuse_too_large(entry)
        return self._accept("replace", edited)

    def _category_to_add_to(self, named: str | None) -> str:
        if named is not None:
            return self.policy.destination(named)  # whether it may be written was looked at beforehand
        policy = self.policy
        only = policy.only_category()
        if only is not None:
            return only
        if not self.document.scan.headers and policy.may_write(UNCATEGORIZED):
            return UNCATEGORIZED
        if not policy.unbounded:
            raise policy.no_category(policy.writable_names())
        seen = policy.visible_entries(self.document)
        names = [*policy.config.taxonomy.categories, *(entry.category for entry in seen)]
        read = [name for name in names if targets_read(name, policy.owner, policy.config.taxonomy)]
        raise policy.no_category(read or names)

    def _dated(self, tags: dict[str, TagValue], body: str, operation: Operation) -> dict[str, TagValue]:
        """The tags of an addition, with its day as ``created``; not in a shared file, where Hermes Agent shows tags."""
        undated = "created" in (operation.tags or {}) and self.policy.may_verify  # null takes it away
        day = None if undated or is_shared(self.document) else self._day(operation)
        return self.policy.dated(tags, body, day)

    def _day(self, operation: Operation) -> str:
        return (operation.as_of or self.policy.today).isoformat()

    def _check_threats(self, texts: Sequence[str], category: str = "") -> None:
        # The words of a category become the title of its section.
        warning = self.policy.check_threats([*texts, category.replace("-", " ")])
        if warning:
            self.warnings.append(warning)

    def _accept(self, action: str, edited: Edited) -> Entry:
        """Go on with an edited document; gives the entry that was made. Raises ``EditError`` (``too_large``)."""
        self.document = edited.document
        entry = edited.entry
        if entry is None:
            message = f"{action} made no entry"
            raise AssertionError(message)
        if len(entry.raw) > MAX_ENTRY_CHARS:
            raise EditError(
                f"an entry may have {MAX_ENTRY_CHARS:,} characters, and this one has {len(entry.raw):,}",
                code="too_large",
                hint="Split it, or keep it elsewhere and name the place.",
            )
        self.made[entry_words(entry)] += 1
        self._record(action, entry)
        return entry

    def _leave_as_is(self, action: str, entry: Entry, why: str) -> None:
        self._remark(entry, why)
        self._record(action, entry)

    def _remark(self, entry: Entry, what: str | None) -> None:
        if what is not None:
            self.notes.append(f"{preview(entry, to_agent=self.policy.to_agent)!r} {what}")

    def _remark_expiry(self, entry: Entry, tags: Mapping[str, TagValue]) -> None:
        day = expired_on(tags, self.policy.today)
        if day is not None:
            drops = self.policy.owner.prompt.expired == "drop"
            effect = "stays out of prompts until its tag expires is changed" if drops else "prompts say so"
            self._remark(entry, f"expired on {day}, and {effect}")

    def _remark_words(self, entry: Entry, body: str) -> None:
        """Say of a text with what would be tags or a boundary in a file that it is kept as words."""
        if boundary_lines(body, self.document.scan.categories):
            said = "has a line that looks like a boundary (§ or ##), and is kept as words of one entry"
            self._remark(entry, f"{said}; add each entry by itself, and name its category")
        if block_size(body) or LOOKS_TAGGED.match(body):
            option = "" if self.policy.to_agent else " (--tag KEY=VALUE)"
            self._remark(entry, f"begins like tags, and is kept as words; give tags by name{option}")

    def _remark_tags(self, given: Iterable[str]) -> None:
        """Say of tags that are slips, each once, that they have no effect, however many entries get them."""
        known = known_tags(self.policy.config.tag_schemas)
        for name in (each for each in given if each not in known):
            near = meant_tag(name, known)
            note = f"the tag {name[:NAME_SHOWN]} is not declared and has no effect; {near} may be meant"
            self.notes += [note] if near is not None and note not in self.notes else []

    def _record(self, action: str, entry: Entry, *, gone: bool = False) -> None:
        self.touched.append((entry, gone))
        self.actions.append({"action": action, "category": entry.category, "id": entry.id})

    # --- the result ------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Have the document laid out, and look at it as a whole."""
        if self.document.text == self.original.text:
            self.document = self.original
        else:
            self.document = self._in_layout(_ended(self.document))
            self._refuse_too_long(self.document)
        self.entries = tuple(self._final(self.document))
        if self.document is not self.original:
            put = dict.fromkeys(each["category"] for each in self.actions if each["action"] in _PUTTING)
            said = [on_title(self.original, self.document), *map(self._on_slip, put)]
            self.notes += [note for note in said if note is not None]
            self.notes += self._on_emptied(self.document)
            for category in put:
                self._warn_of_unread(category)

    def _on_slip(self, category: str) -> str | None:
        """What to know of a new category. Raises ``UnknownNameError`` for a slip of one that the actor knows."""
        taxonomy, policy = self.policy.taxonomy, self.policy
        # Of what an agent does not see, the answer has to be the same with it and without.
        there = {*filter(policy.may_see, (header.category for header in self.original.scan.headers))}
        if category in there or taxonomy.named(category):
            return None
        from catmem.workspace.reports import read_access

        named = known_categories([policy.owner], taxonomy)
        near = nearest(category, [*filter(policy.may_write, named), *there])
        if near is None:
            of_person = taxonomy.categories and not policy.to_agent
            return f"{category} is a new category; 'catmem access' says who reads it" if of_person else None
        if not is_slip(category, near):
            return f"{category} is a new category. Did you mean {near}?"
        # An agent learns nothing of other files.
        if category not in (named if policy.to_agent else read_access(policy.root).categories):
            raise undeclared(
                category, f"Did you mean {near!r}? If not, declare it below taxonomy.categories in catmem.yaml."
            )
        return None

    def _on_emptied(self, document: Document) -> list[str]:
        """What to tell a person of headings without an entry: they stay, and what is put below them is theirs."""
        headings = [] if self.policy.to_agent else [header.category for header in document.scan.headers]
        emptied = [each for each in self.taken_from if each in headings and not last_entries(document, each, 1)]
        remedy = ": 'catmem lint --select CM106 --fix --unsafe-fixes' takes such headings away"
        remedy = remedy if len(headings) > 1 else ""  # the only one stays
        return [f"{each} has no entry any more, and its heading stays{remedy}" for each in emptied]

    def _warn_of_unread(self, category: str) -> None:
        """Warn who writes where the owner's prompt reads nothing; a profile only if it reads it in its other file."""
        policy, name = self.policy, self.policy.owner.name
        read = targets_read(category, policy.owner, policy.config.taxonomy)
        if policy.target in read or (policy.to_agent and not read):
            return
        where = "entries without a category" if category == UNCATEGORIZED else f"the category {category}"
        said = f"the profile {name} does not read {where} ({policy.target}), so this will not be in its prompt"
        self.warnings.append("; ".join([said, *(f"it reads it in {each}: give the target {each}" for each in read)]))

    def _in_layout(self, document: Document) -> Document:
        """The document; where stock Hermes Agent edits it too, in the layout that is safe there, if that has room."""
        if not document.scan.headers or not self.policy.hermes_edits:
            return document
        limit = self.policy.limit
        text = shared_within(document, None if limit is None else max(limit, size_of(self.original.text)))
        if text is None:
            self.warnings.append(on_unshared(self.policy.entity))
            return document
        return document.reread(text)

    def _final(self, document: Document) -> list[Entry]:
        """The touched entries as they are in the end; one that a later operation changed again is listed once."""
        if len(self.touched) == 1 and not self.policy.hermes_edits:
            return [self.touched[0][0]]  # nothing came after it, so it stands where it was put
        left = {(entry.category, entry.raw): entry for entry in document.entries}
        found = (entry if gone else left.pop((entry.category, entry.raw), None) for entry, gone in self.touched)
        return [entry for entry in found if entry is not None]

    def _refuse_too_long(self, document: Document) -> None:
        refuse_over_budget(self.original, document, self.policy, lambda entry: bool(self.made[entry_words(entry)]))
        most = MAX_FILE_BYTES
        if 4 * len(document.text) > most and len(document.to_bytes()) > most:
            raise EditError(
                f"{self.policy.entity} would have more than {most:,} bytes, and catmem would not read it again",
                code="too_large",
                hint="Shorten or remove other entries first.",
            )


_PUTTING = ("add", "replace", "move")


def unseen(entry: Entry, policy: WritePolicy, why: str = "is another's, and was not shown to you whole") -> DriftError:
    """The refusal of a change of an entry that the writer does not know as it is now."""
    refusal = DriftError(f"{quoted(entry, policy)} {why}", hint=READ_FIRST)
    refusal.entry = entry
    return refusal


def quoted(entry: Entry, policy: WritePolicy) -> str:
    """An entry and its file, as a refusal names them."""
    return f"{preview(entry, to_agent=policy.to_agent)!r} in {policy.entity}"


def _ended(document: Document) -> Document:
    """The document with a newline at its end, so that what a shell appends begins a line; not in a shared file."""
    text = document.text
    if text.endswith("\n") or not text.strip() or is_shared(document):
        return document
    # Behind a CR an LF makes the two one line end.
    ending = "\n" if text.endswith("\r") else document.newline
    ended = Document(rescan(document.scan, text + ending, len(text), len(text)))
    return ended if _contents(ended) == _contents(document) else document


def _contents(document: Document) -> list[tuple[str, str]]:
    return [(entry.category, entry.raw) for entry in document.entries]
