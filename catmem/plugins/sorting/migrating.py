"""The operation migrate: labels in the text of entries become sections and tags; what sort does with files alike."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

from catmem.config.access import targets_read, visible
from catmem.config.config import CONFIG_NAME, Config
from catmem.config.json_schema import known_tags
from catmem.config.profile import ORCHESTRATOR_TIER, limit_of
from catmem.errors import errors_at
from catmem.files import real_path, rewrite_file
from catmem.jsonable import jsonable
from catmem.names import HERMES_FOLDER, TARGETS, UNCATEGORIZED, parts_of, slugify
from catmem.ops.shared import TRIED
from catmem.ops.table import Call, Outcome, P, operation
from catmem.plugins.sorting.labels import Migration, Proposed, plan_migration, propose
from catmem.store.contract import Change
from catmem.text import counted, size_of, unmerged_warnings
from catmem.workspace.change_plan import FileChange, apply, write_file
from catmem.workspace.formatting import entity_at, plan_files, read_memory_file
from catmem.workspace.init import Declaration, plan_declaration
from catmem.workspace.root import Root, load_each
from catmem.workspace.workspace import Workspace


def plan_migrated(workspace: Root, path: Path, *, may_be_link: bool = True) -> FileChange:
    """Read a file and plan its migration (``about``). Raises ``UnreadableError`` and ``EditError``, with the path."""
    document = read_memory_file(workspace, path, may_be_link=may_be_link)
    with errors_at(path):
        migration = plan_migration(document, workspace.config, shared=is_shared_file(path))
    file = planned_change(workspace, path, entity_at(workspace, path), migration, migration)
    before = (*unmerged_warnings(path.name, migration.new), *_undeclared(migration, workspace.config))
    rooted = workspace.config.path is not None
    unread = unread_of(workspace, file.entity, migration.sections) if rooted else ()
    after = (f"no specialist reads {category} in {path.name}" for category in unread)
    return replace(file, warnings=(*before, *file.warnings, *after))


def write_migrated(workspace: Root, planned: FileChange) -> FileChange:
    """Write a planned migration, if it makes another text."""
    change = Change(op="migrate", note={"migrated": planned.about.counts})
    return write_file(workspace, planned, change, keeps_copy=True)


def is_shared_file(path: Path) -> bool:
    """Whether stock Hermes Agent edits the file too."""
    return real_path(path).parent.name == HERMES_FOLDER


def planned_change(workspace: Root, path: Path, entity: str | None, migration: Migration, about: object) -> FileChange:
    """What is written of a migration, or a sort (``about``), with what the owner of the file should know."""
    warnings = warnings_of(workspace, entity, migration) if entity and migration.changes else ()
    return FileChange(path, entity, migration.old.encode(), migration.new.encode(), tuple(warnings), about)


def declare(declaration: Declaration) -> None:
    """Write ``catmem.yaml``. Raises ``ChangedMeanwhileError`` and ``UnreadableError``; the file is then as it was."""
    rewrite_file(declaration.config.root / CONFIG_NAME, declaration.old.encode(), declaration.new.encode())


def named_categories(workspace: Root) -> set[str]:
    """The categories that profiles name, declared or not."""
    taxonomy = workspace.config.taxonomy
    profiles = load_each(workspace)[0]
    return {name for each in profiles for target in TARGETS for name in each.selectors(target, taxonomy).names}


def _undeclared(migration: Migration, config: Config) -> Iterator[str]:
    """Tags that labels became and that the root does not declare."""
    made = {tag for each in migration.entries if each.label for tag in each.tags}
    unknown = sorted(made.difference(known_tags(config.tag_schemas)))
    if unknown:
        yield f"without effect, since 'tags' in catmem.yaml does not declare it: {', '.join(unknown)}"


def warnings_of(workspace: Root, entity: str, migration: Migration) -> Iterator[str]:
    """What the owner's prompt no longer has, and a limit that the headers go over."""
    name, target = parts_of(entity)
    owner, config = workspace.profile(name), workspace.config
    old, new = (workspace.parse(text) for text in (migration.old, migration.new))
    read_before = {*visible(old, target, owner, config.taxonomy).categories}
    read_after = {*visible(new, target, owner, config.taxonomy).categories}
    if UNCATEGORIZED in read_before:
        now = Counter(each.category for each in migration.entries if each.category not in read_after)
        for category, number in now.items():
            yield f"the prompt of {name} loses {counted(number, 'entry')} that will be in {category}"
    size, limit = size_of(migration.new), limit_of(owner, target, config)
    if limit is not None and size > limit:
        yield f"{entity} has {size:,} characters with its headers, over its limit of {limit:,}"


def unread_of(workspace: Root, entity: str | None, categories: Iterable[str]) -> Iterator[str]:
    """Those categories of a file of tier 1, or of no profile, that no specialist reads in it, if there are any."""
    return (category for category, readers in readers_of(workspace, entity, categories).items() if not readers)


def readers_of(workspace: Root, entity: str | None, categories: Iterable[str]) -> dict[str, list[str]]:
    """The specialists that read each category of a file of tier 1, or of no profile; empty if there are none."""
    taxonomy = workspace.config.taxonomy
    name, target = parts_of(entity or "")
    profiles = load_each(workspace)[0]
    specialists = [each for each in profiles if each.tier != ORCHESTRATOR_TIER and not each.is_base(profiles)]
    if not specialists or (name and workspace.profile(name).tier != ORCHESTRATOR_TIER):
        return {}
    targets = {target} if target else {*TARGETS}
    return {
        category: [each.name for each in specialists if targets.intersection(targets_read(category, each, taxonomy))]
        for category in categories
    }


# --- the operation ---------------------------------------------------------------------------------------------------


@operation(
    "migrate",
    examples=(
        "catmem migrate --dry-run homes/neo/USER.md",
        "catmem migrate --declare homes/neo/USER.md",
    ),
    opens="read",
    writes=TRIED,
)
def migrate(
    call: Call,
    *,
    files: Annotated[Sequence[str], P(argument=True, metavar="FILE...")],
    declares: Annotated[
        bool,
        P(
            "First declare in catmem.yaml a category for each label that names none; without it they are only "
            "proposed. A label that begins the name of one category, declared or named by a profile, goes to that one.",
            "--declare",
        ),
    ] = False,
) -> Outcome:
    """Turn labels in the text of entries, such as [COMM] or [project:x], into sections and tags.

    A label that names a category of catmem.yaml by its slug, title or an alias ([COMM] ..., Finance: ...) moves its
    entry there and leaves the text. [project:x] becomes a tag. Only entries without a category are looked at; what
    fits none stays as it is, in front of the first section.

    catmem restore takes it back for the file of a profile; of any other file a copy is kept beside it.
    """
    workspace = call.root
    declared: Sequence[Proposed] = ()
    if declares:
        workspace, declared = _declared(call, files)
    plan = plan_files(workspace, files, plan_migrated)
    if not call.dry_run:
        with closing(workspace.store):
            plan = apply(plan, partial(write_migrated, workspace))
    found = [each.about for each in plan.files]
    left = propose(found, workspace.config.taxonomy, named_categories(workspace))
    call.show(plan)
    call.show(left)
    said = {**jsonable(plan), "dry_run": call.dry_run, "declared": declared, "proposed": left}
    return Outcome(None, said, plan.errors)


class DeclaredLabels(NamedTuple):
    """The categories that are declared for labels, and what that makes of ``catmem.yaml``."""

    declaration: Declaration
    proposed: Sequence[Proposed]


def _declared(call: Call, files: Sequence[str]) -> tuple[Workspace, Sequence[Proposed]]:
    """Declare what labels name, and the workspace as it is then; what is wrong with files is said when they migrate."""
    workspace = call.root
    plans = [each.about for each in plan_files(workspace, files, plan_migrated).files]
    found = propose(plans, workspace.config.taxonomy, named_categories(workspace))
    proposed = tuple(each for each in found if not each.may_be)
    if not proposed:
        call.tell("no label is without a category: nothing to declare")
        return workspace, ()
    declaration = plan_declaration(workspace.config, {each.slug: each.title for each in proposed})
    if not call.dry_run and declaration.new != declaration.old:
        declare(declaration)
    call.show(DeclaredLabels(declaration, proposed))
    return type(workspace)(_with_aliases(declaration.config, proposed)), proposed


def _with_aliases(config: Config, proposed: Sequence[Proposed]) -> Config:
    """The configuration in which the labels of what is declared are aliases, which ``catmem.yaml`` does not say."""
    categories = dict(config.taxonomy.categories)
    for each in proposed:
        aliases = {*map(slugify, each.labels)} - {each.slug}
        known = categories[each.slug]
        categories[each.slug] = known._replace(aliases=(*known.aliases, *sorted(aliases)))
    return replace(config, taxonomy=replace(config.taxonomy, categories=categories))
