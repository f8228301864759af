"""What the tests of seeding share: a root with a boss and two that are seeded from it, and what they look at."""

from datetime import date
from pathlib import Path

from catmem.seeding.plan import SeedPlan
from catmem.seeding.seed_lock import LOCK_NAME, SeedFile
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.roots import make_root

DAY = date(2026, 11, 21)
PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nmemory_categories: ['*']\n",
    "neo": "seed_from: boss\nuser_memory_categories: [talk, rules]\nmemory_categories: [notes]\n",
    "ann": "seed_from: boss\nuser_memory_categories: [talk]\n",
}
TEXT = (
    "## Talk\nLikes tea.\n§\n[verified_date: 2026-03-02] No calls before ten.\n\n"
    "## Rules\n[created: 2026-01-02] Vendor is Acme.\n\n## Pay\nThe pay is a secret.\n"
)
NEO = (
    "## Talk\nLikes tea.\n§\n[verified_date: 2026-03-02] No calls before ten.\n\n"
    "## Rules\n[created: 2026-01-02] Vendor is Acme.\n"
)


def seed_root(folder: Path, *, profiles: dict[str, str] | None = None, text: str = TEXT, config: str = "") -> Workspace:
    """The root, on a store in memory; the boss's USER.md is ``text``."""
    return make_root(folder, config=config, profiles={**PROFILES, **(profiles or {})}, files={"boss/user": text})


def write_files(folder: Path, *, profiles: dict[str, str] | None = None, text: str = TEXT, config: str = "") -> Path:
    """The same root with its files on disk, without any history."""
    put(folder / "catmem.yaml", config or "version: 1\n")
    for name, said in {**PROFILES, **(profiles or {})}.items():
        put(folder / "profiles" / f"{name}.yaml", said)
    put(folder / "homes" / "boss" / "USER.md", text)
    return folder


def seed(workspace: Workspace, *targets: str, source: str = "boss", **how: object) -> SeedPlan:
    """Plan and apply in one."""
    plan = workspace.plan_seed(source, targets or None, **{"as_of": DAY, **how})  # type: ignore[arg-type]
    return workspace.apply_seed(plan)


def bodies(workspace: Workspace, entity: str = "neo/user") -> list[str]:
    """What the entries of an entity say."""
    return [entry.body for entry in workspace.parse(workspace.store.peek(entity)).entries]


def locked(workspace: Workspace, target: str = "neo/user", source: str = "boss/user") -> list[str]:
    """The texts that count as seeded."""
    record = SeedFile(workspace).read()[1].records.get((target, source))
    return [] if record is None else [each.text for each in record.entries]


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder, with its time and its bytes."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def states(result_or_plan: object, target: str = "neo/user") -> list[str]:
    """The states of the rows of one file."""
    files = [getattr(each, "plan", each) for each in result_or_plan.files]  # type: ignore[attr-defined]
    return [row.state for each in files if each.target == target for row in each.rows]


__all__ = ["DAY", "LOCK_NAME", "NEO", "TEXT", "bodies", "everything", "locked", "seed", "seed_root", "states"]
