"""What a profile sees, entry by entry, with places and states; and what a person should know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem import clock
from catmem.errors import StoreError
from catmem.names import TARGETS
from catmem.policy.access import all_problems, visible
from catmem.policy.schema import nearest
from catmem.policy.staleness import Freshness, freshness, stale_after_days
from catmem.policy.threats import BuiltinScanner, scan_each
from catmem.text import conflict_at, unmerged_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date
    from pathlib import Path

    from catmem.model.document import Document, Entry
    from catmem.policy.access import View
    from catmem.policy.config import Config
    from catmem.policy.profile import Profile
    from catmem.service.workspace import Workspace

_WORTH_A_WARNING = frozenset({"bad-tag", "malformed-tags"})


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """One visible entry with its place and its state on a day."""

    target: str
    path: Path
    line: int
    entry: Entry
    freshness: Freshness
    threats: tuple[str, ...]
    """The rules of the threat scan for which a prompt withholds the entry. People may see it, agents should not."""

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON-ready data."""
        day = self.freshness.day
        return {
            "target": self.target,
            "category": self.entry.category,
            "line": self.line,
            "id": self.entry.id,
            "state": self.freshness.state,
            "date": None if day is None else day.isoformat(),
            "threats": list(self.threats),
            "tags": self.entry.tags,
            "body": self.entry.body,
        }


class Notice(NamedTuple):
    """Something a person should know, and where; ``line`` counts from 1."""

    path: Path | None
    line: int | None
    message: str


class SeenFile(NamedTuple):
    """A file as it was read to be shown, with what a write may give as ``expected``.

    ``revision`` is ``None`` for a text that is not recorded yet. ``warning`` says why the history was not looked at.
    """

    document: Document
    revision: str | None
    digest: str
    warning: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """``revision`` and ``digest``."""
        return {"revision": self.revision, "digest": self.digest}


def seen_file(workspace: Workspace, name: str, target: str) -> SeenFile:
    """A profile's file, with its revision. A history that cannot be read hides nothing of the file itself."""
    try:
        reading = workspace.read(name, target)
    except StoreError as error:
        document = workspace.view(name, target).document
        return SeenFile(document, None, document.digest, f"the history of {name}/{target} cannot be read: {error}")
    return SeenFile(reading.document, reading.revision, reading.digest)


def list_with_files(
    workspace: Workspace,
    name: str,
    *,
    target: str | None = None,
    category: str | None = None,
    as_of: date | None = None,
) -> tuple[list[ListedEntry], dict[str, SeenFile]]:
    """What ``Workspace.list`` lists, and the files that it was read from, by target."""
    profile = workspace.profile(name)
    files = {each: seen_file(workspace, profile.name, each) for each in ([target] if target else TARGETS)}
    documents = {each: file.document for each, file in files.items()}
    return list_documents(workspace, profile, documents, category=category, as_of=as_of or clock.today()), files


def list_documents(
    workspace: Workspace, profile: Profile, documents: Mapping[str, Document], *, category: str | None, as_of: date
) -> list[ListedEntry]:
    """The entries that a profile sees in its own files, which say ``documents``; of one category if that is named."""
    config = workspace.config
    wanted = None if category is None else config.taxonomy.category(category)
    listed: list[ListedEntry] = []
    for target, document in documents.items():
        path = workspace.path_of(profile, target)
        view = visible(document, target, profile, config.taxonomy)
        entries = [entry for entry in view.entries if wanted is None or entry.category == wanted]
        scans = scan_each(BuiltinScanner(), [entry.body for entry in entries])
        for entry, findings in zip(entries, scans, strict=True):
            limit = stale_after_days(entry.category, entry.tags, profile, config)
            state = freshness(entry.tags, as_of=as_of, stale_after=limit)
            threats = tuple(sorted({finding.rule for finding in findings}))
            listed.append(ListedEntry(target, path, document.line(entry.start), entry, state, threats))
    return listed


def notices(view: View, path: Path, profile: Profile, config: Config) -> Iterator[Notice]:
    """Tags of visible entries that do not count, and selectors that slip, in one target of a profile."""
    for warning in unmerged_warnings(f"the {view.target} file", view.document.text):
        yield Notice(path, view.document.line(conflict_at(view.document.text) or 0), warning)
    for problem in view.problems(all_problems(view.document, config)):
        if problem.rule in _WORTH_A_WARNING:
            yield Notice(path, view.document.line(problem.start), problem.message)
    declared = config.taxonomy.declared()
    known = {*declared, *(section.category for section in view.document.sections)}
    for selector in profile.selectors(view.target, config.taxonomy).unmatched(known):
        near = nearest(selector.removeprefix("!"), config.taxonomy.categories)
        if near:
            yield Notice(profile.path, None, f"the selector {selector!r} matches nothing; did you mean {near!r}?")
