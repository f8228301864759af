"""Sort memory files on disk: read one with what is proposed for it, and write what was chosen as one revision."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catmem import clock
from catmem.errors import CatmemError, ChangedMeanwhileError
from catmem.files import read_bounded
from catmem.model.splice import titled
from catmem.names import HERMES_FOLDER, TARGETS, UNCATEGORIZED
from catmem.sorting.proposals import ACTIONS, DROP, SECRET, SPLIT, STAYS, Proposer
from catmem.sorting.sort_list import Checker, as_text
from catmem.sorting.sorted_text import category_of, sort_document
from catmem.store.contract import Change
from catmem.text import DEFAULT_LIMITS, printable
from catmem.workspace.formatting import entity_at, memory_files
from catmem.workspace.init import starting_categories
from catmem.workspace.migrating import (
    Migrated,
    PlannedMigration,
    apply_migration,
    declare,
    plan_declaration,
    unread_of,
    warnings_of,
)
from catmem.workspace.migration import Proposed
from catmem.workspace.profile_memory import parsed_at, read_document
from catmem.workspace.root import load_each

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catmem.model.document import Document, Entry
    from catmem.sorting.proposals import SortLine
    from catmem.sorting.sort_list import ReadList
    from catmem.workspace.root import Root


@dataclass(frozen=True)
class SortPlan:
    """A file that is to be sorted. ``titles`` are those of the categories that may be chosen, in their order.

    ``lines`` has one line for each entry without a category, with what is proposed for it. ``entity`` is ``None`` for a
    file of no profile.
    """

    workspace: Root
    path: Path
    entity: str | None
    document: Document
    titles: Mapping[str, str]
    lines: tuple[SortLine, ...]
    proposer: Proposer

    @property
    def name(self) -> str:
        """The entity, or the name of the file."""
        return self.entity or self.path.name

    @property
    def checker(self) -> Checker:
        """What holds lists against the lines of this plan."""
        return Checker(self.lines, self.titles, self.workspace.config)

    def to_text(self, lines: Iterable[SortLine] | None = None) -> str:
        """The list to edit, of these ``lines`` if they are given; the parts of an entry are one line again."""
        by_number = {line.number: line for line in self.lines}
        for line in lines or ():
            by_number[line.number] = replace(by_number[line.number], choice=SPLIT) if line.part else line
        return as_text(list(by_number.values()), self.name, self.document.digest, self.titles)

    def to_dict(self) -> dict[str, Any]:
        """The list as JSON-ready data."""
        entries = [line.to_dict() for line in self.lines]
        titles, digest = dict(self.titles), self.document.digest
        return {"file": self.name, "digest": digest, "categories": titles, "actions": ACTIONS, "entries": entries}

    def harmless(self, *, unsure: bool = False) -> tuple[SortLine, ...]:
        """What is proposed, with ``unsure`` the best guess of each other entry too.

        What would be removed stays: no person looked at it. So does what looks hostile.
        """
        lines = []
        for line in self.lines:
            choice = STAYS if line.choice in {DROP, SECRET} else line.choice
            if unsure and line.choice == STAYS and line.likely and not line.private:
                choice = line.likely[0]
            lines.append(replace(line, choice=choice))
        return tuple(lines)

    def chosen(self, read: ReadList) -> tuple[SortLine, ...]:
        """The lines that a list chooses.

        Raises ``ConfigError`` (``bad_list``), and ``ChangedMeanwhileError`` for a list of another version.
        """
        if read.digest not in {None, self.document.digest}:
            raise self._of_another(read)
        return self.checker.chosen(read)

    def _of_another(self, read: ReadList) -> ChangedMeanwhileError:
        """Why a list is not of what is there: it is of another file, was applied, or the file changed."""
        log = list(self.workspace.store.log(self.entity)) if self.entity else []
        made_of = {each.revision for each in log if each.digest == read.digest}
        applied = [each.revision for each in log if each.op == "sort" and made_of.intersection(each.parents)]
        if isinstance(read.name, str) and read.name not in {self.name, printable(self.name)}:
            said = f"this list is of {printable(read.name)}, and not of {self.name}"
            hint = "Nothing was written. Name its file: -p PROFILE, with -t user or -t memory."
        elif applied:
            said = f"the version of {self.name} that this list was made of was sorted already, as revision {applied[0]}"
            whose = "-p {} -t {}".format(*str(self.entity).split("/"))
            hint = f"Nothing was written. 'catmem sort {whose}' makes a list of what is left."
        else:
            said = "this list was made of another version of the file"
            hint = (
                "Nothing was written. To use it all the same, take its first line away (in JSON the digest). "
                "Its entries are then found by how they begin, and each that is missing is named."
            )
        return ChangedMeanwhileError(said, path=self.path, hint=hint)


@dataclass(frozen=True, slots=True)
class Sorted:
    """What a sort did, or would do. ``declared`` are the titles of categories that were added to ``catmem.yaml``.

    ``counts`` has the number of entries (or parts) by category and action, ``secrets`` those to be erased, ``parts``
    those that ``split`` cut, with where they go, ``unread`` the categories that got entries no specialist reads here.
    """

    planned: PlannedMigration
    done: Migrated
    declared: Mapping[str, str]
    counts: Mapping[str, int]
    secrets: tuple[SortLine, ...]
    parts: tuple[SortLine, ...]
    unread: tuple[str, ...]
    written: bool

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready data; the text of a secret is not in it."""
        done = self.done
        return {
            "file": str(self.planned.path),
            "entity": self.planned.entity,
            "changed": self.planned.migration.changes,
            "written": self.written,
            "revision": done.revision,
            "restore": done.before,
            "backup": None if done.backup is None else str(done.backup),
            "declared": dict(self.declared),
            "counts": dict(self.counts),
            "secrets": [{"entry": line.number, "line": line.line} for line in self.secrets],
            "unread": list(self.unread),
            "warnings": list(self.planned.warnings),
        }


def plan_sort(
    workspace: Root, name: str | None = None, target: str | None = None, *, file: str | Path | None = None
) -> SortPlan:
    """Read the file of a profile, or ``file``, and propose categories.

    Without a ``target`` it is the first file of the profile that has entries without a category. Raises
    ``ConfigError``, ``UnknownNameError`` and ``UnreadableError``.
    """
    entity: str | None
    if file is not None:
        path, _ = Path(file), memory_files(workspace, [file])
        entity = entity_at(workspace, path)
        document = parsed_at(workspace, read_bounded(path, DEFAULT_LIMITS.file_bytes), path)
    else:
        profile = workspace.profile(str(name))
        found = [(each, read_document(workspace, profile, each)) for each in ([target] if target else TARGETS)]
        target, document = next((each for each in found if UNCATEGORIZED in each[1].by_category), found[0])
        path, entity = workspace.path_of(profile, target), f"{profile.name}/{target}"
    return plan_of(workspace, path, entity, document)


def plan_of(workspace: Root, path: Path, entity: str | None, document: Document) -> SortPlan:
    """The same for a document that was read already."""
    titles = _titles(workspace, document)
    # With the first section a heading at the top becomes the title: what stands below it is the first entry.
    proposer = Proposer(titled(document), workspace.config, titles, _known(workspace, document), clock.today())
    return SortPlan(workspace, path, entity, document, titles, proposer.lines(), proposer)


def unsorted_elsewhere(plan: SortPlan) -> dict[str, int]:
    """The other entities of the same profile that have entries without a category, with their number."""
    name, _, used = (plan.entity or "").partition("/")
    found: dict[str, int] = {}
    for target in TARGETS if name else ():
        entries = read_document(plan.workspace, plan.workspace.profile(name), target).by_category
        if target != used and UNCATEGORIZED in entries:
            found[f"{name}/{target}"] = len(entries[UNCATEGORIZED])
    return found


def apply_sort(
    plan: SortPlan, lines: Sequence[SortLine], *, dry_run: bool = False, expected: str | None = None
) -> Sorted:
    """Write what the lines choose, as one revision; new categories are declared in ``catmem.yaml``.

    The parts of a line that says ``split`` go where they are proposed. ``expected`` is the revision that the plan was
    made of, if that has to be the newest. Raises ``EditError`` (``not_possible``), ``ConfigError``
    (``declare_by_hand``), and as ``apply_migration``; file and configuration are then as they were.
    """
    workspace, config, parted = plan.workspace, plan.workspace.config, plan.proposer.parted
    lines = [part for line in lines for part in (parted(line) if line.choice == SPLIT else [line])]
    titles = dict(plan.titles)
    for line in lines:
        if line.choice.startswith("+"):
            titles.setdefault(category_of(line), line.choice[1:].strip())
    shared = plan.path.resolve().parent.name == HERMES_FOLDER
    migration = sort_document(plan.document, lines, titles, shared=shared)
    known = {*config.taxonomy.categories, *(header.category for header in plan.document.scan.headers)}
    used = {category_of(line) for line in lines} - known if config.path is not None else set()
    declared = {slug: title for slug, title in titles.items() if slug in used}
    missing = [Proposed(slug, title) for slug, title in declared.items()]
    declaration = plan_declaration(config, missing) if missing else None
    then = workspace if declaration is None else type(workspace)(declaration.config)
    warnings = tuple(warnings_of(then, plan.entity, migration)) if plan.entity and migration.changes else ()
    planned = PlannedMigration(plan.path, plan.entity, migration, warnings)
    counts = Counter(line.choice if line.choice in ACTIONS else category_of(line) for line in lines)
    secrets = tuple(line for line in lines if line.choice == SECRET)
    written, done = migration.changes and not dry_run, Migrated()
    if written:
        if declaration is not None:
            declare(declaration)
        try:
            said = {"declared": [*declared], "secrets": [*dict.fromkeys(line.entry.id for line in secrets)]}
            note = {"sorted": dict(counts), **{name: each for name, each in said.items() if each}}
            done = apply_migration(workspace, planned, Change(op="sort", note=note), expected)
        except CatmemError:
            if declaration is not None:
                declare(replace(declaration, old=declaration.new, new=declaration.old))
            raise
    parts = tuple(line for line in lines if line.part)
    filled = dict.fromkeys(category_of(line) for line in lines if line.choice not in ACTIONS)
    unread = tuple(unread_of(then, plan.entity, filled)) if plan.entity else ()
    return Sorted(planned, done, declared, counts, secrets, parts, unread, written)


def _titles(workspace: Root, document: Document) -> dict[str, str]:
    """The categories that may be chosen: those declared, else the file's own and those that ``init`` declares."""
    taxonomy = workspace.config.taxonomy
    declared = {slug: category.title for slug, category in taxonomy.categories.items()}
    if taxonomy.closed and declared:
        return declared
    own = {header.category: header.title for header in document.scan.headers if header.category != UNCATEGORIZED}
    return {**({} if declared else starting_categories()), **own, **declared}


def _known(workspace: Root, document: Document) -> Iterator[Entry]:
    """The entries of this file and of all profiles that can be read: a person sees all of them, and learns of them."""
    yield from document.entries
    for profile in load_each(workspace)[0] if workspace.config.path is not None else ():
        for target in TARGETS:
            try:
                found = read_document(workspace, profile, target)
            except CatmemError:
                continue  # a file that cannot be read teaches nothing, and 'catmem lint' says what is wrong with it
            if found.digest != document.digest:
                yield from found.entries
