"""Slices of one profile's memory, written into the files that Hermes Agent reads.

``catmem hermes sync`` is a seed (``catmem.seeding``) whose targets keep their files in homes of Hermes Agent:
under its locks, within its limits, and in the ``shared`` layout, which its own tool can edit without harm. What that
tool wrote since is adopted into the history and merged, as after any edit from outside.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from catmem.config.profile import limit_of
from catmem.errors import CatmemError, ConfigError, OverBudgetError
from catmem.model.layout import in_shared, is_shared
from catmem.names import TARGETS, parts_of
from catmem.plugins.hermes.homes import Home, read_config
from catmem.seeding.plan import SeedPlan, SeedRequest, refused_profiles, seed_order
from catmem.seeding.planner import plan_seed
from catmem.seeding.slices import CLONED_HINT, FilePlan, Resolve
from catmem.text import size_of
from catmem.workspace.change_plan import RefusedChange
from catmem.workspace.profile_memory import read_document
from catmem.workspace.root import entities_of_each
from catmem.workspace.stores import hermes_edits
from catmem.workspace.workspace import Workspace
from catmem.writing.written import could_go, on_unshared, over_budget


def plan_sync(
    workspace: Workspace, homes: Sequence[Home], asked: SeedRequest, *, resolve: Resolve | None = None
) -> SeedPlan:
    """What a sync would do; nothing is written.

    Without targets they are those profiles that name the source in ``seed_from`` and keep their files in one of
    ``homes``. Raises ``ConfigError`` (``hermes_homes``) for a target that does not, and as ``plan_seed`` does.
    """
    found = hermes_profiles(workspace, homes)
    unreadable: list[CatmemError] = []
    source, names = asked.source, asked.targets
    if names is None:
        sources, unreadable = seed_order(workspace)
        names = [name for name in sources.get(workspace.profile(source).name, ()) if name in found]
        if unreadable and not names:
            raise unreadable[0]
        if not names:
            raise ConfigError(
                f"no profile with seed_from: {source} keeps its files in a home of Hermes Agent",
                code="hermes_homes",
                path=workspace.config.path,
                hint="Name the targets, or say seed_from in their profiles (a profile of tier 3 has to be named).",
            )
    for name in names:
        workspace.profile(name)
        if name not in found:
            raise _elsewhere(workspace, name, homes)
    plan = plan_seed(workspace, replace(asked, targets=names, resolve=resolve or asked.resolve))
    kept: list[FilePlan] = []
    refused = list(plan.refused)
    for each in plan.files:
        home = found[parts_of(each.target).owner]
        try:
            kept.append(_for_hermes(workspace, each, home, asked.day))
        except CatmemError as error:
            refused.append(RefusedChange(each.target, error))
    mended = {each.target for each in kept if each.changes}
    left = [each for name in (source, *names) for each in unshared(workspace, name) if each not in mended]
    notes = (*plan.notes, *map(on_unshared, left))
    refused += refused_profiles(unreadable)
    return replace(plan, files=tuple(kept), refused=tuple(refused), notes=notes)


def unshared(workspace: Workspace, name: str) -> list[str]:
    """The entities of a profile that stock Hermes Agent edits and that are not in the layout for that."""
    profile = workspace.profile(name)
    if not hermes_edits(workspace.config, profile):
        return []
    found = {target: read_document(workspace, profile, target) for target in TARGETS}
    return [
        f"{profile.name}/{target}"
        for target, document in found.items()
        if document.scan.headers and not is_shared(document)
    ]


def hermes_profiles(workspace: Workspace, homes: Sequence[Home]) -> dict[str, Home]:
    """The profiles of a root that are right and keep their files in one of these homes, with that home."""
    folders = {os.path.realpath(home.memories): home for home in homes}
    found: dict[str, Home] = {}
    for name in (parts_of(entity).owner for entity in entities_of_each(workspace).paths):
        home = folders.get(os.path.realpath(workspace.path(name, "user").parent))
        if home is not None:
            found[name] = home
    return found


def _for_hermes(workspace: Workspace, plan: FilePlan, home: Home, as_of: date) -> FilePlan:
    """The plan of one file with its text in the ``shared`` layout. Raises ``OverBudgetError`` and ``EditError``."""
    if not plan.changes:
        return plan
    after = in_shared(workspace.parse(plan.after))
    name, target = parts_of(plan.target)
    profile = workspace.profile(name)
    limits = [read_config(home).limit(target)]
    own = limit_of(profile, target, workspace.config)
    limit = min(limits if own is None else [*limits, own])
    if size_of(after) > max(limit, size_of(plan.before)):
        named = could_go(workspace.parse(after).entries, profile, workspace.config, as_of)
        error: OverBudgetError = over_budget(plan.target, size_of(plan.before), size_of(after), limit, named)
        error.hint = (
            f"Nothing was written to it. {CLONED_HINT if plan.cloned else ''}Let the profile name fewer categories, "
            "shorten entries, or raise "
            f"memory.{target}_char_limit in Hermes Agent's {home.config.name} and the limit in catmem.yaml."
        )
        raise error
    return replace(plan, after=after)


def _elsewhere(workspace: Workspace, name: str, homes: Sequence[Home]) -> ConfigError:
    folder = workspace.path(name, "user").parent
    root = homes[0].root
    return ConfigError(
        f"the profile {name} keeps its files in {folder}, which is no folder of Hermes Agent's",
        code="hermes_homes",
        path=workspace.config.path or workspace.root,
        hint=f"Say homes: '{root}/profiles/{{name}}/memories' in catmem.yaml, or a memory_dir in the profile; "
        "'catmem seed' writes to files anywhere.",
    )
