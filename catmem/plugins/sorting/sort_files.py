"""Sort memory files on disk: read one with what is proposed for it, and write what was chosen as one revision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from catmem.config.labels import Migration, PlannedEntry, Proposed, regrouped, tidied, with_one_title
from catmem.errors import CatmemError, ChangedMeanwhileError
from catmem.files import read_bounded, real_path
from catmem.model.document import Document, Entry, Version
from catmem.model.splice import titled
from catmem.names import (
    DROP,
    FILE_NAMES,
    HERMES_FOLDER,
    SECRET,
    SPLIT,
    STAYS,
    TARGETS,
    UNCATEGORIZED,
    parts_of,
    slugify,
)
from catmem.plugins.sorting.sort_lines import (
    ACTIONS,
    LABELLED,
    Checker,
    Described,
    Proposer,
    ReadList,
    SortLine,
    as_text,
)
from catmem.store.contract import Change
from catmem.syntax import tags as tag_blocks
from catmem.text import MAX_FILE_BYTES, printable
from catmem.threats import scan
from catmem.workspace.change_plan import FileChange, write_file
from catmem.workspace.formatting import (
    declare,
    entity_at,
    memory_files,
    plan_declaration,
    readers_of,
    unread_of,
    warnings_of,
)
from catmem.workspace.init import kits, starting_categories
from catmem.workspace.profile_memory import read_document
from catmem.workspace.root import Root, configured_now, load_each


def category_of(line: SortLine) -> str:
    if line.choice in ACTIONS:
        return UNCATEGORIZED
    return slugify(line.choice[1:]) if line.choice.startswith("+") else line.choice


def sort_document(
    document: Document, lines: Sequence[SortLine], titles: Mapping[str, str], *, shared: bool = False
) -> Migration:
    """What the lines of a list make of a document; ``titles`` give new sections their names and their order."""
    kept = [line for line in lines if line.choice not in {DROP, SECRET}]
    planned = tuple(_planned(line) for line in kept)
    if all(line.choice == STAYS and not line.part for line in lines):
        return Migration(document.text, document.text, planned, None)
    read = titled(document)
    made: list[list[Version]] = [[] for entry in read.entries if entry.category == UNCATEGORIZED]
    for line in kept:
        made[line.number - 1].append(_version(line))
    new = tidied(document, regrouped(with_one_title(read, planned), made, titles), shared=shared)
    return Migration(document.text, new, planned, read.title if document.title is None else None)


def _planned(line: SortLine) -> PlannedEntry:
    return PlannedEntry(line.entry, line.line, category_of(line), line.text, line.entry.tags, "", "")


def _version(line: SortLine) -> Version:
    tags = line.entry.tags
    text = tag_blocks.write(tags, line.text) if line.part else line.entry.text
    return Version(category_of(line), line.text, tags, text)


# --- sort memory files on disk: read one with what is proposed for it, and write what was chosen as one revision -----


@dataclass(frozen=True)
class SortPlan:
    """A file that is to be sorted. ``categories`` are those that may be chosen, in their order.

    ``lines`` has one line for each entry without a category, with what is proposed for it. ``entity`` is ``None`` for a
    file of no profile.
    """

    workspace: Root
    path: Path
    entity: str | None
    document: Document
    categories: Mapping[str, Described]
    lines: tuple[SortLine, ...]
    proposer: Proposer

    @property
    def name(self) -> str:
        return self.entity or self.path.name

    @property
    def titles(self) -> dict[str, str]:
        return {slug: category.title for slug, category in self.categories.items()}

    @property
    def checker(self) -> Checker:
        return Checker(self.lines, self.titles, self.workspace.config)

    def to_text(self) -> str:
        return as_text(self.lines, self.name, self.document.digest, self.categories)

    def harmless(self, *, unsure: bool = False) -> tuple[SortLine, ...]:
        """What is sure, with ``unsure`` any fair guess too; what would go, or is hostile or labelled, stays."""
        lines = []
        for line in self.lines:
            choice = line.likely[0] if unsure and line.choice == DROP and line.likely else line.choice
            takes = (line.sure or (unsure and line.fair)) and choice not in ACTIONS and LABELLED not in line.marks
            lines.append(replace(line, choice=choice if takes else STAYS))
        return tuple(lines)

    def chosen(self, read: ReadList) -> tuple[SortLine, ...]:
        is_other = read.name not in {None, self.name, printable(self.name)}
        if read.digest not in {None, self.document.digest} or (is_other and self.entity):
            raise self._of_another(read, is_other=is_other)
        return self.checker.chosen(read)

    def _of_another(self, read: ReadList, *, is_other: bool) -> ChangedMeanwhileError:
        """Why a list is not of what is there: it is of another file, or the file changed."""
        if is_other:
            said = f"this list is of {read.name}, and not of {self.name}"
            hint = "Nothing was written. Name its file: -p PROFILE, with -t user or -t memory."
        else:
            said = "this list was made of another version of the file, which changed since or was sorted already"
            hint = (
                "Nothing was written. To use it all the same, take its first line away. "
                "Its entries are then found by their words, and others stay as they are."
            )
        return ChangedMeanwhileError(said, path=self.path, hint=hint)


class SortedEntries(NamedTuple):
    """What a sort makes of entries. ``declared`` are the titles of categories that are added to ``catmem.yaml``.

    ``counts`` has the number of entries (or parts) by category and action, ``secrets`` those to be erased, ``parts``
    those that ``split`` cut, with where they go, ``unread`` the categories that get entries no specialist reads here.
    """

    declared: Mapping[str, str]
    counts: Mapping[str, int]
    secrets: tuple[SortLine, ...]
    parts: tuple[SortLine, ...]
    unread: tuple[str, ...]

    def __json__(self) -> dict[str, Any]:
        secrets = [{"entry": line.number, "line": line.line} for line in self.secrets]
        return {"declared": self.declared, "counts": self.counts, "secrets": secrets, "unread": self.unread}


def plan_sort(
    workspace: Root, name: str | None = None, target: str | None = None, *, file: str | Path | None = None
) -> SortPlan:
    """Read the file of a profile, or ``file``, and propose categories."""
    entity: str | None
    workspace = _now(workspace)
    if file is not None:
        path, _ = Path(file), memory_files(workspace, [file])
        entity = entity_at(workspace, path)
        document = workspace.parse(read_bounded(path, MAX_FILE_BYTES), path)
    else:
        profile = workspace.profile(str(name))
        found = [(each, read_document(workspace, profile, each)) for each in ([target] if target else TARGETS)]
        target, document = next((each for each in found if UNCATEGORIZED in each[1].by_category), found[0])
        path, entity = workspace.path_of(profile, target), f"{profile.name}/{target}"
    return plan_of(workspace, path, entity, document)


def _now(workspace: Root) -> Root:
    """The same root with the configuration as it is now: a sort declares categories."""
    return workspace if workspace.config.path is None else configured_now(workspace)


def plan_of(workspace: Root, path: Path, entity: str | None, document: Document) -> SortPlan:
    """The same for a document that was read already."""
    categories = _categories(workspace, entity, document)
    seldom = kits()["shared"] if path.name == FILE_NAMES["memory"] else ()
    # With the first section a heading at the top becomes the title: what stands below it is the first entry.
    proposer = Proposer(titled(document), workspace.config, categories, _known(workspace, entity, document), seldom)
    return SortPlan(workspace, path, entity, document, categories, proposer.lines(), proposer)


def unsorted_elsewhere(plan: SortPlan) -> list[str]:
    """The other entities of the same profile that have entries without a category."""
    name, used = parts_of(plan.entity or "")
    if not name:
        return []
    profile, others = plan.workspace.profile(name), (target for target in TARGETS if target != used)
    found = {f"{name}/{each}": read_document(plan.workspace, profile, each) for each in others}
    return [entity for entity, document in found.items() if UNCATEGORIZED in document.by_category]


def apply_sort(
    plan: SortPlan,
    lines: Sequence[SortLine],
    *,
    dry_run: bool = False,
    expected: str | None = None,
) -> FileChange:
    """Write what the lines choose, as one revision; new categories are declared in ``catmem.yaml``."""
    guesses = {line.number: {line.choice, *line.likely[:1]} for line in plan.lines}
    changed = [line.entry.id for line in lines if line.choice not in {*guesses[line.number], SPLIT}]
    workspace, parted = _now(plan.workspace), plan.proposer.parted
    lines = [part for line in lines for part in (parted(line) if line.choice == SPLIT else [line])]
    titles = dict(plan.titles)
    for line in lines:
        if line.choice.startswith("+"):
            titles.setdefault(category_of(line), line.choice[1:].strip())
    shared = real_path(plan.path).parent.name == HERMES_FOLDER
    migration = sort_document(plan.document, lines, titles, shared=shared)
    declared = _new_titles(workspace, plan, lines, titles)
    missing = [Proposed(slug, title) for slug, title in declared.items()]
    declaration = plan_declaration(workspace.config, missing) if missing else None
    then = workspace if declaration is None else type(workspace)(declaration.config)
    file = FileChange(
        plan.path,
        plan.entity,
        migration.old.encode(),
        migration.new.encode(),
        tuple(warnings_of(then, plan.entity, migration)) if plan.entity and migration.changes else (),
        _sorted(then, plan, lines, declared),
    )
    if dry_run or not file.changes:
        return file
    done: SortedEntries = file.about
    erased = [*dict.fromkeys(line.entry.id for line in done.secrets)]
    said = {"declared": [*done.declared], "secrets": erased, "changed": changed}
    note = {"sorted": dict(done.counts), **{name: each for name, each in said.items() if each}}
    if declaration is not None:
        declare(declaration)
    try:
        return write_file(workspace, file, Change(op="sort", note=note), expected=expected, keeps_copy=True)
    except CatmemError:
        if declaration is not None:
            declare(replace(declaration, old=declaration.new, new=declaration.old))
        raise


def _new_titles(
    workspace: Root, plan: SortPlan, lines: Sequence[SortLine], titles: Mapping[str, str]
) -> dict[str, str]:
    """The titles of the categories that are used and that the root does not declare yet."""
    if workspace.config.path is None:
        return {}
    known = {*workspace.config.taxonomy.categories, *(header.category for header in plan.document.scan.headers)}
    used = {category_of(line) for line in lines} - known
    return {slug: title for slug, title in titles.items() if slug in used}


def _sorted(workspace: Root, plan: SortPlan, lines: Sequence[SortLine], declared: Mapping[str, str]) -> SortedEntries:
    filled = dict.fromkeys(category_of(line) for line in lines if line.choice not in ACTIONS)
    return SortedEntries(
        declared,
        Counter(line.choice if line.choice in ACTIONS else category_of(line) for line in lines),
        secrets=tuple(line for line in lines if line.choice == SECRET),
        parts=tuple(line for line in lines if line.part),
        unread=tuple(unread_of(workspace, plan.entity, filled)) if plan.entity else (),
    )


def _categories(workspace: Root, entity: str | None, document: Document) -> dict[str, Described]:
    """The categories that may be chosen: those declared, else the file's own and those that ``init`` declares."""
    taxonomy = workspace.config.taxonomy
    titles = {slug: category.title for slug, category in taxonomy.categories.items()}
    if not (taxonomy.closed and titles):
        own = {header.category: header.title for header in document.scan.headers if header.category != UNCATEGORIZED}
        # A sort of a root without categories declares some of these: the others stay those that may be chosen.
        starting = starting_categories()
        titles = {**(starting if starting.keys() >= titles.keys() else {}), **own, **titles}
    # A title is shown in lists and to a model, where no secret and no hostile text may stand.
    titles = {slug: title for slug, title in titles.items() if not scan(title)}
    readers = readers_of(workspace, entity, titles) if workspace.config.path is not None else {}
    usual = kits()["categories"]
    return {
        slug: Described(title, usual.get(slug, {}).get("about", ""), tuple(readers.get(slug, ())))
        for slug, title in titles.items()
    }


def _known(workspace: Root, entity: str | None, document: Document) -> list[Entry]:
    """The entries of this file and of all profiles that can be read: a person sees all of them, and learns of them.

    A guess of a sort that no person changed teaches nothing where it put an entry, nor in a copy, until a person moves
    or rewords it: one slip would draw others behind it, run by run. No history of a file of no profile says which.
    """
    known, guessed = [*document.entries] if entity else [], set[tuple[str, str]]()
    for profile in load_each(workspace)[0] if workspace.config.path is not None else ():
        for target in TARGETS:
            try:
                found = read_document(workspace, profile, target)
                guessed |= _guessed(workspace, f"{profile.name}/{target}")
            except CatmemError:
                continue  # a file that cannot be read teaches nothing, and 'catmem lint' says what is wrong with it
            known += found.entries if found.digest != document.digest else ()
    return [entry for entry in known if (entry.category, entry.body) not in guessed]


def _guessed(workspace: Root, entity: str) -> set[tuple[str, str]]:
    """The categories and bodies of what sorts of an entity took as it was guessed."""
    found: set[tuple[str, str]] = set()
    for each in workspace.store.log(entity):
        if each.op == "sort":
            texts = (workspace.store.read(entity, name).data for name in (each.revision, *each.parents))
            after, *before = (workspace.parse(text).entries for text in texts)
            known = {(entry.category, entry.body) for some in before for entry in some}
            changed = {entry.body for some in before for entry in some if entry.id in each.note.get("changed", ())}
            found |= {(entry.category, entry.body) for entry in after if entry.body not in changed} - known
    return found
