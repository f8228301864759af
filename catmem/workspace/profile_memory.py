"""The memory of a profile as it is at one moment: the profile and its files, each read once; and what is kept of it.

Text, warnings and manifest of a prompt are made of one such state of the disk.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from catmem import clock
from catmem.config.access import Rights, View, all_problems, visible, visible_categories
from catmem.config.config import Config, Selectors, is_pattern, selector_fault, split
from catmem.config.json_schema import nearest, shown
from catmem.config.profile import Profile, one_reading
from catmem.digest import bytes_digest
from catmem.errors import CatmemError, ConfigError, NotUtf8Error, StoreError, UnreadableError, wrong_type
from catmem.model.document import Document, Entry
from catmem.names import TARGETS, parts_of, slugify
from catmem.staleness.freshness import Freshness, freshness
from catmem.syntax import tags as tag_blocks
from catmem.syntax.tags import TagPairs
from catmem.text import conflict_at, counted
from catmem.workspace.stores import backend_of, places

if TYPE_CHECKING:
    from catmem.prompt.prompt import Prompt
    from catmem.prompt.styles import Style
    from catmem.search.index import Index
    from catmem.staleness.lineage import EntryHistories
    from catmem.store.contract import Store
    from catmem.workspace.root import Root
    from catmem.workspace.seen_entry import SeenEntry
    from catmem.writing.drift_guard import ToolSession

_WORTH_A_WARNING = frozenset({"bad-tag", "malformed-tags"})
_LIKE, _VERY_LIKE = 0.7, 0.85
"""How like a category has to be to one that has no entry; and to a selector of a profile, which may be for later."""

TEXTS = 4
"""Texts of memory files that a workspace keeps at hand, with what was made of them."""


class Notice(NamedTuple):
    """Something a person should know, and where; ``line`` counts from 1."""

    path: Path | None
    line: int | None
    message: str


class Reading(NamedTuple):
    """A whole document as it is now, hidden categories included, and what to say as ``expected`` when writing to it.

    ``revision`` is ``None`` for bytes that no store has recorded yet; ``digest`` always names them. ``warning`` says
    why the history was not looked at, if it was not.
    """

    entity: str
    revision: str | None
    digest: str
    document: Document
    warning: str | None = None

    @property
    def __json__(self) -> str:
        return "revision digest"


@dataclass(frozen=True, slots=True)
class ProfileMemory:
    """What a profile may be shown: the documents of ``owner`` by target, and where they are, for a person."""

    profile: Profile
    owner: Profile
    documents: Mapping[str, Document]
    paths: Mapping[str, Path]
    config: Config
    missing: tuple[str, ...] = ()
    """The targets that have no file."""
    lost: Mapping[str, str] = field(default_factory=dict)
    """What to say of targets of which the profile sees nothing, though it saw entries in them before."""
    hints: tuple[str, ...] = ()
    """What to say of categories that narrow it and have no entry in sight."""

    def prompt(
        self, *, as_of: date | None = None, style: Style | None = None, counter: Callable[[str], int] = len
    ) -> Prompt:
        """The prompt of the profile; see ``Workspace.prompt``."""
        from catmem.prompt.prompt import build_prompt

        return build_prompt(
            self.documents,
            self.profile,
            as_of=clock.day(as_of),
            config=self.config,
            style=style,
            counter=counter,
            missing=self.missing,
            warnings=(*self.lost.values(), *self.hints),
        )

    def narrowed(self, categories: Sequence[str], budget: int | None = None) -> ProfileMemory:
        """Of what the profile may see, only these categories; all of it if there are none."""
        if isinstance(categories, str):
            raise wrong_type("categories", categories, "a list of texts")
        for selector in categories:
            if fault := selector_fault(selector):
                raise ConfigError(fault[0], code="selector", hint=fault[1])
        profile, taxonomy = self.profile, self.config.taxonomy
        if categories:
            selectors = Selectors(taxonomy.resolved(tuple(categories)), taxonomy.closed_slugs)
            user, memory = (
                tuple(
                    sorted(filter(selectors.matches, view.categories), key=lambda slug: selectors.position(slug) or 0)
                )
                for view in self._views()
            )
            profile = replace(
                profile, user_memory_categories=user, memory_categories=memory, include_uncategorized=False
            )
        if budget is not None:
            if type(budget) is not int or budget < 1:
                raise wrong_type("the budget", budget, "a number of characters from 1 on")
            profile = replace(profile, prompt=replace(profile.prompt, budget={"total": budget}))
        named = [name for _, name in map(split, categories) if not is_pattern(name)]
        return replace(self, profile=profile, hints=tuple(self.category_hints(named)))

    def _views(self) -> Sequence[View]:
        """What the profile sees of each target."""
        taxonomy = self.config.taxonomy
        return [visible(self.documents[target], target, self.profile, taxonomy) for target in TARGETS]

    def warnings(self) -> tuple[Notice, ...]:
        """What a person should know who builds that prompt; see ``Workspace.warnings``."""
        found = [notice for view in self._views() for notice in self._notices(view)]
        return tuple(dict.fromkeys((*found, *self.slips())))

    def _notices(self, view: View) -> Iterator[Notice]:
        """What is lost in one target of a profile, and tags of visible entries that do not count."""
        document, path = view.document, self.paths[view.target]
        if view.target in self.lost:
            yield Notice(path, None, self.lost[view.target])
        for warning in view.warnings(self.profile.name, self.owner.name):
            yield Notice(path, document.line(conflict_at(document.text) or 0), warning)
        for problem in view.problems(all_problems(document, self.config)):
            if problem.rule in _WORTH_A_WARNING:
                yield Notice(path, document.line(problem.start), problem.message)

    def slips(self, known: Collection[str] = ()) -> Sequence[Notice]:
        """The selectors that match nothing and are like a category that is declared, in a file or ``known``."""
        taxonomy, found = self.config.taxonomy, list[Notice]()
        for target, document in self.documents.items():
            there = {*known, *(section.category for section in document.sections)}
            for selector in self.profile.selectors(target, taxonomy).unmatched({*taxonomy.declared(), *there}):
                name = selector.removeprefix("!")
                near = nearest(name, taxonomy.categories) or nearest(name, there, _VERY_LIKE)
                message = f"the selector {selector!r} matches nothing; did you mean {near!r}?"
                found += [Notice(self.profile.path, None, message)] if near else []
        return [*dict.fromkeys(found)]

    def category_hints(self, categories: Sequence[str]) -> Iterator[str]:
        """Hints on categories without an entry in sight that are like one with some, or one that the profile reads."""
        if not categories:
            return
        taxonomy = self.config.taxonomy
        known = {category for view in self._views() for category in view.categories}
        for target in TARGETS:
            known |= {*visible_categories([*taxonomy.declared()], target, self.profile, taxonomy)}
        for category in categories:
            near = None if slugify(category) in known else nearest(slugify(category), known, _LIKE)
            if near:
                yield f"no entry in sight is in the category {shown(category)}; did you mean {near!r}?"


def read_memory(workspace: Root, name: str, *, source: str | None = None) -> ProfileMemory:
    """What the profile ``name`` may be shown of its own files, or of those of ``source``, as they are now."""
    with one_reading():
        profile = workspace.profile(name)
        owner = workspace.profile(source) if source is not None else profile
        paths = places(workspace.config, owner)
        documents = {target: read_document(workspace, owner, target, paths[target]) for target in TARGETS}
        missing = missing_of({target: document.text for target, document in documents.items()}, paths)
        said = {name: emptied_text(workspace, profile, f"{owner.name}/{name}", documents[name]) for name in TARGETS}
        lost = {target: each for target, each in said.items() if each}
        return ProfileMemory(profile, owner, documents, paths, workspace.config, missing, lost)


def emptied_text(workspace: Root, actor: Profile | None, entity: str, document: Document) -> str | None:
    """What to say of a file, gone or not, in which an actor sees nothing, and in which it saw entries."""
    rights = Rights(actor, parts_of(entity).target, workspace.config.taxonomy)
    return None if rights.visible_entries(document) else lost_text(workspace, actor, entity, document.to_bytes())


def lost_text(workspace: Root, actor: Profile | None, entity: str, data: bytes) -> str | None:
    """What to say of entries in sight of an actor that other programs took out of a file, which says ``data`` now."""
    try:
        lost = lost_entries(workspace, entity, data, actor) if _may_have_history(workspace, entity) else None
    except CatmemError:
        return None  # what looks at the history says so
    return str(lost) if lost else None


_LOOKED_AT = 256  # revisions


class LostEntries(NamedTuple):
    """The words of entries that other programs took out of a file and that are not back, and the revision before."""

    entity: str
    bodies: frozenset[str]
    before: str

    def __str__(self) -> str:
        """What to tell of it."""
        took = f"another program took {counted(len(self.bodies), 'entry', 'entries')} out of {self.entity}"
        at = f"{quote(self.entity)} {self.before}"
        return f"{took}: 'catmem diff {at}' shows what was there, and 'catmem restore {at}' brings that text back"


def lost_entries(workspace: Root, entity: str, data: bytes, actor: Profile | None = None) -> LostEntries | None:
    """What other programs took out of a file that says ``data`` now, since a person last said that it is right."""
    # Of what the actor may see, and of the newest revisions alone. What came back, or came in other words, is not lost.
    from catmem.store.contract import EXTERNAL, PERSON

    rights, store = Rights(actor, parts_of(entity).target, workspace.config.taxonomy), workspace.store

    def entries(text: bytes) -> Sequence[Entry]:
        return rights.filter_visible(workspace.parse(text).entries)

    lost: dict[str, tuple[int, str]] = {}
    """By its words how many an entry was, and in which revision."""

    def look(before: str, text: bytes, *, by_another: bool) -> str | None:
        """Count what is gone; of what is no text no entry is known, so then give ``before`` for the next look."""
        try:
            now = entries(text)
        except UnreadableError:
            return before if by_another else None
        for body in [each for each, (count, _) in lost.items() if _count(now, each) >= count]:
            del lost[body]
        with suppress(UnreadableError):
            gone = _gone(entries(store.read(entity, before).data), now) if by_another else {}
            for body, count in gone.items():
                lost.setdefault(body, (count, before))
        return None

    unread: str | None = None
    log = [each for each in islice(store.log(entity), _LOOKED_AT) if not each.is_branch]
    for revision in reversed(log):
        by_another = unread is not None or (revision.agent == EXTERNAL and bool(revision.parents))
        if revision.agent == PERSON and revision.op == "adopt":
            lost.clear()
            unread = None
        elif lost or by_another:
            text = store.read(entity, revision.revision).data
            unread = look(unread or (revision.parents[0] if revision.parents else "0"), text, by_another=by_another)
    if log and log[0].digest != bytes_digest(data):
        look(unread or log[0].revision, data, by_another=True)
    return LostEntries(entity, frozenset(lost), next(iter(lost.values()))[1]) if lost else None


def mend_hint(workspace: Root, entity: str) -> str:
    """How a file that is no text comes right: as the last revision with entries that no repair made, or by one."""
    name = quote(entity)
    mend = f"'catmem fsck {name} --repair' reads its wrong bytes as Windows-1252"
    with suppress(CatmemError):  # a history that cannot be read has a finding of its own
        log = islice(workspace.store.log(entity), _LOOKED_AT) if _may_have_history(workspace, entity) else ()
        for at in (each.revision for each in log if not each.is_branch and each.op != "repair"):
            with suppress(UnreadableError):
                if workspace.parse(workspace.store.read(entity, at).data).entries:
                    last = f"'catmem restore {name} {at}' brings back the last text that needed no repair"
                    return f"{last}; {mend}, for a file of which most is text."
    return f"{mend}."


def _count(entries: Sequence[Entry], body: str) -> int:
    return sum(entry.body == body for entry in entries)


def _gone(old: Sequence[Entry], new: Sequence[Entry]) -> dict[str, int]:
    """The words of entries that are no more, with how many said them. A new entry may be one of them in other words."""
    from catmem.model.pairing import pair_entries, words_of
    from catmem.workspace.redaction import is_purged

    still = pair_entries(old, new)
    fresh = [entry for place, entry in enumerate(new) if place not in still.values()]
    gone: dict[str, int] = {}
    for place, entry in enumerate(old):
        if place in still or is_purged(entry):
            continue
        words = words_of(entry.body)
        like = next((each for each in fresh if each.category == entry.category and words & words_of(each.body)), None)
        if like is not None:
            fresh.remove(like)
        else:
            gone[entry.body] = _count(old, entry.body)
    return gone


def _may_have_history(workspace: Root, entity: str) -> bool:
    """Whether the store may know of a file: no store is loaded for a folder in which none ever was."""
    if workspace._given is not None or not backend_of(workspace.config).has_files:  # noqa: SLF001 - a look without it
        return True
    from catmem.store.contract import SIDECAR

    return os.path.lexists(workspace.path(*parts_of(entity)).parent / SIDECAR)


def missing_of(texts: Mapping[str, str | bytes], paths: Mapping[str, Path]) -> tuple[str, ...]:
    """The targets that have no file yet. A store of another kind has no file at a path: there, those without text."""
    return tuple(target for target, text in texts.items() if not (text or os.path.lexists(paths[target])))


def seen_file(workspace: Root, name: str, target: str, *, recorded: bool = True) -> Reading:
    """A profile's file; if ``recorded`` with its revision. A history that cannot be read hides nothing of the file."""
    warning = None
    try:
        if recorded:
            return workspace.read(name, target)
    except StoreError as error:
        warning = f"the history of {name}/{target} cannot be read: {error}"
    document = workspace.view(name, target).document
    return Reading(f"{name}/{target}", None, document.digest, document, warning)


def read_document(workspace: Root, profile: Profile, target: str, path: Path | None = None) -> Document:
    """The document of a profile's file at ``path``; an empty one for a missing file. Raises ``UnreadableError``."""
    path = path or workspace.path_of(profile, target)
    return document_in(workspace, profile, target, workspace.bytes_of(profile, target, path), path)


def document_in(workspace: Root, profile: Profile, target: str, data: bytes, path: Path) -> Document:
    """The document in the bytes of a profile's file. Raises ``UnreadableError``, which says how the file is mended."""
    try:
        return workspace.parse(data, path)
    except NotUtf8Error as error:
        error.hint = f"The file is as it was. {mend_hint(workspace, f'{profile.name}/{target}')}"
        raise


# --- what is kept of it --------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Text:
    """One text of a memory file as its root reads it, with the index of its words, made when it is first searched."""

    data: str | bytes
    document: Document
    """What ``data`` reads as."""

    @cached_property
    def index(self) -> Index:
        """The places of its words."""
        from catmem.search.index import Index

        return Index(self.document)


class Cache:
    """All that a workspace keeps between calls: its open store, its last ``TEXTS``, and what histories hold.

    A text is found again by its very bytes, and a history goes on from the revision that it knows, so nothing kept here
    is ever old.
    """

    def __init__(self, config: Config) -> None:
        """Nothing yet."""
        self.store: Store | None = None
        self.opening = threading.RLock()
        self._config = config
        self.conversations: dict[str, ToolSession] = {}
        """What the agents know that name no conversation, by profile."""
        self._texts: tuple[Text, ...] = ()
        self._lock = threading.Lock()

    def text(self, data: str | bytes) -> Text:
        """What some bytes read as. Raises ``UnreadableError`` and its kinds."""
        # Bytes of which only one has been changed differ in length mostly, so a comparison is quicker than a hash.
        found = next((text for text in self._texts if type(text.data) is type(data) and text.data == data), None)
        if found is None:
            found = Text(data, self._config.taxonomy.parse(data))
        self._keep(found)
        return found

    def made(self, document: Document, old: Document, data: bytes) -> bytes:
        """The bytes of a document that edits made of ``old``, which is ``data``; ``text`` knows them."""
        (start, end), text = document.scan.changed_stretches(old.scan) or (-1, -1), old.text
        if start < 0:
            made = document.to_bytes()
        else:  # only what is new is encoded, and the shorter of the two sides, to know how many bytes it has
            first = len(text[:start].encode()) if 2 * start < len(text) else len(data) - len(text[start:].encode())
            new = document.text[start : end + len(document.text) - len(text)].encode()
            made = b"".join((data[:first], new, memoryview(data)[first + len(text[start:end].encode()) :]))
        self._keep(Text(made, document))
        return made

    def _keep(self, text: Text) -> None:
        with self._lock:
            self._texts = (text, *[each for each in self._texts if each is not text][: TEXTS - 1])

    @cached_property
    def histories(self) -> EntryHistories:
        """When entries were first seen."""
        from catmem.staleness.lineage import EntryHistories

        return EntryHistories()


def list_documents(  # noqa: PLR0913 - what narrows it, by keyword
    workspace: Root,
    profile: Profile,
    documents: Mapping[str, Document],
    *,
    category: str | None,
    as_of: date | None,
    whole: bool = False,
) -> list[SeenEntry]:
    """The entries that a profile sees in its own files, which say ``documents``; of one category if that is named.

    ``whole`` lists, for a person, also what the profile does not see.
    """
    from catmem.workspace.seen_entry import SeenEntry

    config, day = workspace.config, clock.day(as_of)
    wanted = None if category is None else config.taxonomy.category(category)
    found: list[SeenEntry] = []
    ages: dict[tuple[str, TagPairs], Freshness] = {}  # of what many entries say alike
    for target, document in documents.items():
        seen = document.entries if whole else visible(document, target, profile, config.taxonomy).entries
        for entry in seen if wanted is None else [each for each in seen if each.category == wanted]:
            says = entry.category, tag_blocks.read(entry.text)[0]
            age = ages.get(says) or ages.setdefault(says, freshness(entry, profile, config, as_of=day))
            found.append(SeenEntry(f"{profile.name}/{target}", document.line(entry.start), entry, age))
    return found
