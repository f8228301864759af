"""Sort memory files on disk: read one with what is proposed for it, and write what was chosen as one revision."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catmem.errors import CatmemError, ChangedMeanwhileError, UnreadableError
from catmem.files import read_bounded
from catmem.model.splice import titled
from catmem.names import TARGETS, UNCATEGORIZED
from catmem.sorting.proposals import ACTIONS, SECRET, SPLIT, Proposer
from catmem.sorting.sort_list import Checker
from catmem.sorting.sorted_text import category_of, sort_document
from catmem.store.contract import Change
from catmem.text import DEFAULT_LIMITS
from catmem.workspace.formatting import entity_at
from catmem.workspace.init import starting_categories
from catmem.workspace.migrating import (
    Migrated,
    PlannedMigration,
    apply_migration,
    declare,
    files_to_migrate,
    plan_declaration,
    warnings_of,
)
from catmem.workspace.migration import Proposed
from catmem.workspace.profile_memory import parsed_at, read_document
from catmem.workspace.root import load_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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

    @cached_property
    def checker(self) -> Checker:
        """What holds lists against the lines of this plan."""
        return Checker(self.lines, self.titles, self.workspace.config, self.proposer.parted)

    def with_lines(self, lines: Sequence[SortLine]) -> SortPlan:
        """The plan with other proposals, and a line for each part of an entry for which ``split`` was chosen."""
        made: list[SortLine] = []
        for line in lines:
            made += self.proposer.parted(line) if line.choice == SPLIT else (line,)
        return replace(self, lines=tuple(made))

    def chosen(self, read: ReadList) -> tuple[SortLine, ...]:
        """The lines that a list chooses.

        Raises ``ConfigError`` (``bad_list``), and ``ChangedMeanwhileError`` for a list of another version.
        """
        if read.digest not in {None, self.document.digest}:
            raise ChangedMeanwhileError(
                "this list was made of another version of the file",
                path=self.path,
                hint="Nothing was written. --read LIST --write NEW makes a new list that keeps what you chose.",
            )
        return self.checker.chosen(read)


@dataclass(frozen=True, slots=True)
class Sorted:
    """What a sort did, or would do. ``declared`` are the titles of categories that were added to ``catmem.yaml``.

    ``counts`` has the number of entries (or parts) by category and action, ``secrets`` those to be erased.
    """

    planned: PlannedMigration
    done: Migrated
    declared: Mapping[str, str]
    counts: Mapping[str, int]
    secrets: tuple[SortLine, ...]
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
            "secrets": [{"entry": line.place, "line": line.line} for line in self.secrets],
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
        path = _only_file(workspace, file)
        entity = entity_at(workspace, path)
        document = parsed_at(workspace, read_bounded(path, DEFAULT_LIMITS.file_bytes), path)
    else:
        profile = workspace.profile(str(name))
        found = [(each, read_document(workspace, profile, each)) for each in ([target] if target else TARGETS)]
        target, document = next((each for each in found if UNCATEGORIZED in each[1].by_category), found[0])
        path, entity = workspace.path_of(profile, target), f"{profile.name}/{target}"
    titles = _titles(workspace, document)
    # With the first section a heading at the top becomes the title: what stands below it is the first entry.
    proposer = Proposer(titled(document), workspace.config, titles, _known(workspace, document))
    return SortPlan(workspace, path, entity, document, titles, proposer.lines(), proposer)


def unsorted_elsewhere(plan: SortPlan) -> dict[str, int]:
    """The other entities of the same profile that have entries without a category, with their number."""
    if plan.entity is None:
        return {}
    name, _, used = plan.entity.partition("/")
    profile = plan.workspace.profile(name)
    documents = {each: read_document(plan.workspace, profile, each) for each in TARGETS if each != used}
    found = {f"{name}/{each}": document.by_category.get(UNCATEGORIZED, ()) for each, document in documents.items()}
    return {each: len(entries) for each, entries in found.items() if entries}


def apply_sort(plan: SortPlan, lines: Sequence[SortLine], *, dry_run: bool = False) -> Sorted:
    """Write what the lines choose, as one revision; new categories are declared in ``catmem.yaml``.

    A line that still says ``split`` has its parts go where they are proposed. Raises ``EditError`` (``not_possible``),
    ``ConfigError`` (``declare_by_hand``), and as ``apply_migration``; file and configuration are then as they were.
    """
    workspace = plan.workspace
    lines = plan.with_lines(lines).lines
    new = {category_of(line): line.choice[1:].strip() for line in lines if line.choice.startswith("+")}
    used = {category_of(line) for line in lines}
    titles = {**plan.titles, **new}
    migration = sort_document(plan.document, lines, titles)
    known = {*workspace.config.taxonomy.categories, *(header.category for header in plan.document.scan.headers)}
    declared = {slug: title for slug, title in titles.items() if slug in used - known}
    if workspace.config.path is None:
        declared = {}
    missing = [Proposed(slug, title, (), 0, None) for slug, title in declared.items()]
    declaration = plan_declaration(workspace.config, missing) if missing else None
    then = workspace if declaration is None else type(workspace)(declaration.config)
    warnings = tuple(warnings_of(then, plan.entity, migration)) if plan.entity and migration.changes else ()
    planned = PlannedMigration(plan.path, plan.entity, migration, warnings)
    counts = Counter(line.choice if line.choice in ACTIONS else category_of(line) for line in lines)
    done = Migrated()
    if migration.changes and not dry_run:
        if declaration is not None:
            declare(declaration)
        try:
            done = apply_migration(workspace, planned, Change(op="sort", note={"sorted": dict(counts)}))
        except CatmemError:
            if declaration is not None:
                declare(replace(declaration, old=declaration.new, new=declaration.old))
            raise
    secrets = tuple(line for line in lines if line.choice == SECRET)
    return Sorted(planned, done, declared, counts, secrets, migration.changes and not dry_run)


def _only_file(workspace: Root, file: str | Path) -> Path:
    try:
        files = files_to_migrate(workspace, [file])
    except UnreadableError as error:
        if error.code == "not_markdown":
            error.hint = "Name a file that ends in .md or .markdown."
        raise
    if list(files) != [Path(file)]:
        raise UnreadableError("is a folder", code="not_a_file", path=file, hint="Name one file, or a profile with -p.")
    return Path(file)


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
