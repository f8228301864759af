"""The guard that keeps agents from writing over what they have not seen; the same for every interface of an agent.

It has two rules (docs/writing.md, "What an agent may change"). While a file shows a *sign* that another program wrote
into it, no agent changes it. And an agent changes the entries alone that its conversation knows: an answer that
succeeded showed them whole, it wrote them itself, or they stood in its profile's file when it began; where the file has
a history then, only those that it has, and that no other program put there since it began. A refusal is no look: what
lifts it is an answer with the entry, or the ``text_digest`` that the refusal names.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from catmem.clock import read_date
from catmem.config.access import Rights
from catmem.config.profile import Profile, limit_of
from catmem.digest import bytes_digest, content_digest
from catmem.errors import CatmemError, DriftError, UnreadableError
from catmem.model.document import Document, Entry, gone_entries
from catmem.names import TARGETS, is_declared, parts_of
from catmem.store.contract import EXTERNAL, PERSON, Store
from catmem.store.judgement import REMEDY, last_own
from catmem.text import unify_newlines
from catmem.workspace.stores import hermes_edits
from catmem.writing.matching import parse_for_write

if TYPE_CHECKING:
    from catmem.prompt.prompt import Manifest
    from catmem.workspace.root import Root

QUIET_SECONDS = 60.0
"""Without a call for so long, the next one belongs to a new turn."""

ShownWords: TypeAlias = tuple[str, frozenset[tuple[str, Any]] | None]
"""What an entry says: its body, and its tags but for dates in ``_DATES``; its whole text where a tag stands twice."""
_DATES = frozenset({"verified_date", "created", "expires"})


def text_digest(entry: Entry) -> str:
    """What a refusal calls the text of an entry: nothing else names it, so who gives it was shown the text."""
    return content_digest(["text", entry.text])


# --- signs of another program --------------------------------------------------------------------------------------

ACCEPTED = "accepted"
"""In the note of a revision: the ``text_digest`` of entries over the limit of their file that a person accepted."""
_DELIMITER = "\n§\n"


def unaccepted(document: Document, limit: int | None, entity: str, store: Store) -> list[Entry]:
    """The entries that are longer than their whole file may be, and that no person accepted: no tool wrote them so."""
    if limit is None or len(document.text) <= limit:
        return []
    over = [entry for entry in document.entries if len(entry.raw) > limit]
    notes = [each.note for each in store.log(entity) if each.agent == PERSON] if over else ()
    accepted = {digest for note in notes for digest in note.get(ACCEPTED, ())}
    return [entry for entry in over if text_digest(entry) not in accepted]


def refuse_signs(root: Root, entity: str, data: bytes, store: Store) -> None:
    """Raise ``DriftError`` while a memory file shows a sign of another program, by Hermes Agent's own guard."""
    owner, target = parts_of(entity)
    if not target:
        return
    try:
        profile, document = root.profile(owner), root.parse(data)
    except UnreadableError:
        return  # the write itself says what is wrong with it
    limit = limit_of(profile, target, root.config)
    if unaccepted(document, limit, entity, store):
        raise _sign(
            f"{entity} has an entry longer than the whole file may be ({limit:,} characters)",
            "A person takes it apart, or accepts it (catmem merge COPY --all)",
        )
    text = unify_newlines(document.text).strip()
    as_hermes_writes = _DELIMITER.join(filter(None, map(str.strip, text.split(_DELIMITER))))
    if hermes_edits(root.config, profile) and text != as_hermes_writes:
        raise _sign(
            f"{entity} holds what Hermes Agent's own tool would not write so, such as a blank line beside a §",
            "A person puts it into the shared layout (catmem fmt --layout shared)",
        )


def _sign(message: str, remedy: str) -> DriftError:
    refusal = DriftError(
        f"{message}: another program wrote it",
        hint=f"Nothing was written, and until that is settled no agent changes this file. {remedy}; the copy has all "
        "that the file has, to bring over what is missing.",
    )
    refusal.is_of_file = True
    return refusal


# --- what a conversation knows -------------------------------------------------------------------------------------


@dataclass(slots=True)
class ToolSession:
    """What one conversation knows, and how often each call was refused in this turn, by its hash.

    It begins with a file at ``begin``, which a server calls when it starts, else at the first call. The interface calls
    ``new_turn`` when the user has spoken.
    """

    refusals: Counter[int] = field(default_factory=Counter)
    proposes: bool = False
    """Whether every write waits for a person, whatever the policy of the root says."""
    _known: set[ShownWords | str] = field(default_factory=set, repr=False)
    _began: dict[str, _Beginning | None] = field(default_factory=dict, repr=False)

    def new_turn(self) -> None:
        """Start counting refusals anew."""
        self.refusals.clear()

    def alone(self) -> ToolSession:
        """A session that knows and learns the same, and counts refusals for itself."""
        return replace(self, refusals=Counter())

    def begin(self, root: Root, profile: str) -> None:
        """Begin with both files of a profile and the declared entities, if not done before."""
        for each in (*(f"{profile}/{target}" for target in TARGETS), *root.config.entities):
            if each in self._began:
                continue
            try:
                self._began[each] = _Beginning.at_present(root, root.profile(profile), each)
            except CatmemError:
                self._began[each] = None

    def learn(self, shown: Iterable[ShownWords | str]) -> None:
        """Remember what an answer showed; see ``Outcome.shows``."""
        self._known.update(shown)

    def wrote(self, entries: Iterable[Entry]) -> None:
        """Remember entries that this conversation wrote."""
        for each in entries:
            self._known |= {words_of_entry(each), heading(each.category)}

    def knows(self, entity: str, entry: Entry) -> bool:
        """Whether the conversation knows the words of an entry of an entity."""
        return self._has(entity, words_of_entry(entry))

    def knows_content(self, entity: str, digest: str) -> bool:
        """Whether it knows the content of a declared entity, by the digest of its bytes."""
        return self._has(entity, digest)

    def lost_heading(self, entity: str, old: Document, new: Document) -> str | None:
        """The first heading that only the old text of an entity has, and that the conversation does not know."""
        stays = headings_of(new)
        gone = ((key, said) for key, said in headings_of(old).items() if key not in stays)
        return next((said for key, said in gone if not self._has(entity, key)), None)

    def _has(self, entity: str, known: ShownWords | str) -> bool:
        began = self._began.get(entity)
        return known in self._known or (began is not None and known in began.known)


def words_of_entry(entry: Entry) -> ShownWords:
    """What an entry says. Answers have the first of a tag that stands there twice, so these do not show all of it."""
    return (entry.text, None) if entry.repeated_tags else _words(entry.body, entry.tags)


def _words(body: str, tags: Mapping[str, Any]) -> ShownWords:
    said = ((name, value if isinstance(value, str) else tuple(value)) for name, value in tags.items())
    return body, frozenset(each for each in said if each[0] not in _DATES or read_date(each[1]) is None)


def heading(category: str) -> str:
    """How a conversation knows the header of a category: an answer has the slug that its title makes."""
    return f"## {category}"


def headings_of(document: Document) -> dict[str, str]:
    """The title and the headers of a document, with how a conversation knows them."""
    title = {} if document.title is None else {f"# {document.title}": document.title}
    return title | {heading(each.category): each.title for each in document.sections}


@dataclass
class _Beginning:
    """What stood in an entity when a conversation began; ``recorded`` and ``sequence`` are those of the head."""

    root: Root
    actor: Profile | None
    entity: str
    now: bytes
    digest: str
    recorded: bytes | None
    sequence: int

    @classmethod
    def at_present(cls, root: Root, actor: Profile | None, entity: str) -> _Beginning:
        now, head = root.store.read(entity), root.store.head(entity)
        is_head = head is not None and head.digest == now.digest
        recorded = None if head is None else now.data if is_head else root.store.read(entity, head.revision).data
        return cls(root, actor, entity, now.data, now.digest, recorded, 0 if head is None else head.sequence)

    @cached_property
    def known(self) -> frozenset[ShownWords | str]:
        """What is known of it, worked out when it is first asked for; of a declared entity the digest."""
        is_recorded = self.recorded in {None, self.now}
        log = [one for one in self.root.store.log(self.entity) if not one.is_branch and one.sequence <= self.sequence]
        by_another = any(each.agent == EXTERNAL for each in log[:-1])
        if is_declared(self.entity):
            return frozenset({self.digest} if is_recorded and not by_another else ())
        now = self._words_in(self.now)
        now = now if is_recorded else now & self._words_in(self.recorded or b"")
        return now & self._written() if by_another else now

    def _written(self) -> set[ShownWords | str]:
        """What writers of catmem put there. What another program did at first is what they went on from."""
        from catmem.staleness.lineage import steps

        written: set[ShownWords | str] = set()
        before: dict[str, str] | None = None
        for revision, after, found in steps(self.root.store.replay(self.entity), None, self.root.parse):
            if revision.is_branch or after is None:
                continue
            headings = headings_of(after)
            if before is None or revision.agent != EXTERNAL:
                written |= {*map(words_of_entry, found.new)}.difference(map(words_of_entry, found.old))
                written |= headings.keys() - (before or {}).keys()
            before = headings
        return written

    def _words_in(self, data: bytes) -> frozenset[ShownWords | str]:
        try:
            document = self.root.parse(data)
        except CatmemError:
            return frozenset()  # a text that cannot be read was shown to no writer
        rights = Rights(self.actor, parts_of(self.entity).target, self.root.config.taxonomy)
        return frozenset([*map(words_of_entry, rights.visible_entries(document)), *headings_of(document)])


def shown_rows(answer: Mapping[str, Any]) -> set[ShownWords | str]:
    """What the entries say that an answer shows whole, in its rows ``entries``."""
    rows = answer.get("entries", ())
    shown: set[ShownWords | str] = {heading(row["category"]) for row in rows}
    return shown | {_words(row["body"], row["tags"]) for row in rows if not (row.get("cut") or row.get("threats"))}


def shown_by_prompt(manifest: Manifest, documents: Mapping[str, Document]) -> list[ShownWords | str]:
    """What the entries of a prompt say, but for those with words in their tags, which it leaves out."""
    within = {row.id for row in manifest.rows if row.status == "in"}
    entries = [entry for document in documents.values() for entry in document.entries if entry.id in within]
    return [words for entry in entries if (words := words_of_entry(entry))[1] == frozenset()]


READ_FIRST = "Nothing was written. Read it as it is now, and bring over what is missing. Then repeat the change."
"""What to do in a conversation, where nothing but an answer with the entry lifts a refusal."""


def refuse_unshown(root: Root, entity: str, now: bytes, new: bytes, session: ToolSession | None = None) -> None:
    """Raise ``DriftError``, which quotes nothing, for an agent's text that lacks what another program wrote unseen."""
    refusal = DriftError(
        f"this would take away what another program wrote into {entity}, and you were not shown that",
        hint=REMEDY if session is None else READ_FIRST,
    )
    if is_declared(entity):
        own = last_own(root.store.head(entity), {each.revision: each for each in root.store.log(entity)}.get)
        before = b"" if own is None else root.store.read(entity, own.revision).data
        if before != now and (session is None or not session.knows_content(entity, bytes_digest(now))):
            raise refusal
        return
    there, after = (parse_for_write(root.parse, entity, data) for data in (now, new))
    if session is None:
        session = ToolSession(_began={entity: _Beginning.at_present(root, None, entity)})
    gone = gone_entries(there.entries, after.entries)
    if session.lost_heading(entity, there, after) or not all(session.knows(entity, each) for each in gone):
        raise refusal


class Sessions:
    """The conversations of one server by who speaks."""

    def __init__(self, root: Root, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` counts seconds and never goes back."""
        self._root = root
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[object, tuple[ToolSession, float]] = {}

    def session(self, caller: object, profile: str) -> ToolSession:
        """The conversation of that caller, begun with the files of a profile; after a quiet time in a new turn."""
        now = self._clock()
        with self._lock:
            session, before = self._open.get(caller, (ToolSession(), now))
            if now - before >= QUIET_SECONDS:
                session.new_turn()
            session.begin(self._root, profile)
            self._open[caller] = session, now
        return session
