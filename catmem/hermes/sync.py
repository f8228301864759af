"""Slices of one profile's memory, written into the files that Hermes Agent reads.

``catmem hermes sync`` is a seed (``catmem.seeding``) whose targets keep their files in homes of Hermes Agent:
under its locks, within its limits, and in the ``shared`` layout, which its own tool can edit without harm. What that
tool wrote since is adopted into the history and merged, as after any edit from outside.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from catmem.config.profile import limit_of
from catmem.errors import CatmemError, ConfigError, OverBudgetError
from catmem.hermes.setup_homes import HermesConfig, read_config
from catmem.model.layout import formatted, is_shared
from catmem.seeding.order import seed_order
from catmem.seeding.plan import SeedRefusal
from catmem.store.contract import Change
from catmem.store.files.folder import HERMES_FOLDER
from catmem.text import size_of
from catmem.workspace.root import entities_of_each
from catmem.writing import gate
from catmem.writing.written import could_go, over_budget

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from catmem.hermes.setup_homes import Home
    from catmem.seeding.plan import SeedPlan, SeedResult
    from catmem.seeding.slices import FilePlan
    from catmem.store.contract import Current, Snapshot
    from catmem.workspace.workspace import Workspace


def plan_sync(
    workspace: Workspace, homes: Sequence[Home], source: str, names: Sequence[str] | None, *, as_of: date
) -> SeedPlan:
    """What a sync would do; nothing is written.

    Without ``names`` the targets are those profiles that name the source in ``seed_from`` and keep their files in one
    of ``homes``. Raises ``ConfigError`` (``hermes_homes``) for a target that does not, and as ``plan_seed`` does.
    """
    found = hermes_profiles(workspace, homes)
    unreadable: tuple[CatmemError, ...] = ()
    if names is None:
        order = seed_order(workspace)
        unreadable = order.unreadable
        names = [name for name in order.targets(workspace.profile(source).name) if name in found]
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
    plan = workspace.plan_seed(source, names, as_of=as_of)
    kept: list[FilePlan] = []
    refused = list(plan.refused)
    for each in plan.files:
        home = found[each.target.partition("/")[0]]
        try:
            kept.append(_for_hermes(workspace, each, home, as_of))
        except CatmemError as error:
            refused.append(SeedRefusal(each.target, error))
    return replace(plan, files=tuple(kept), refused=tuple(refused), unreadable=unreadable)


def apply_sync(workspace: Workspace, plan: SeedPlan) -> SeedResult:
    """Carry it out. Raises as ``apply_seed`` does; what goes wrong with one file stands in the result."""
    result = workspace.apply_seed(plan)
    for each in result.files:
        if each.revision is not None:
            # The file may have changed since the plan: then the merge was made anew, in the plain layout.
            name, _, target = each.plan.target.partition("/")
            keep_shared(workspace, name, target)
    return result


def hermes_profiles(workspace: Workspace, homes: Sequence[Home]) -> dict[str, Home]:
    """The profiles of a root that are right and keep their files in one of these homes, with that home."""
    folders = {os.path.realpath(home.memories): home for home in homes}
    found: dict[str, Home] = {}
    for name in (entity.partition("/")[0] for entity in entities_of_each(workspace).names):
        home = folders.get(os.path.realpath(workspace.path(name, "user").parent))
        if home is not None:
            found[name] = home
    return found


def keep_shared(workspace: Workspace, name: str, target: str) -> Snapshot | None:
    """Put a file with sections into the ``shared`` layout, if Hermes Agent's own tool may edit it.

    Returns what it is then, or ``None`` where nothing was to do: another folder, no sections, or no room for the few
    characters more within the limit.
    """
    if workspace.path(name, target).parent.name != HERMES_FOLDER:
        return None
    reading = workspace.read(name, target)
    text = _shared(workspace, reading.document.text)
    limit = limit_of(workspace.profile(name), target, workspace.config)
    if text == reading.document.text or (limit is not None and size_of(text) > limit):
        return None

    def update(current: Current) -> bytes:
        # What is there by now, which Hermes Agent may have changed since it was read.
        return _shared(workspace, workspace.parse(current.data).text).encode()

    return gate.commit(workspace, reading.entity, None, update, Change(op="fmt"))


def _for_hermes(workspace: Workspace, plan: FilePlan, home: Home, as_of: date) -> FilePlan:
    """The plan of one file with its text in the ``shared`` layout. Raises ``OverBudgetError`` and ``EditError``."""
    if not plan.changes:
        return plan
    after = _shared(workspace, plan.after)
    name, _, target = plan.target.partition("/")
    profile = workspace.profile(name)
    limits = [(read_config(home) or HermesConfig("", {}, {})).limit(target)]
    own = limit_of(profile, target, workspace.config)
    limit = min(limits if own is None else [*limits, own])
    if size_of(after) > max(limit, size_of(plan.before)):
        named = could_go(workspace.parse(after).entries, profile, workspace.config, as_of, to_agent=False)
        error: OverBudgetError = over_budget(plan.target, size_of(plan.before), size_of(after), limit, named)
        error.hint = (
            "Nothing was written to it. Let the profile name fewer categories, shorten entries, or raise "
            f"memory.{target}_char_limit in Hermes Agent's {home.config.name} and the limit in catmem.yaml."
        )
        raise error
    return replace(plan, after=after)


def _shared(workspace: Workspace, text: str) -> str:
    """A text in the ``shared`` layout; one without sections, or in it already, as it is."""
    document = workspace.parse(text)
    if not document.sections or is_shared(document):
        return text
    return formatted(document, "shared")


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
