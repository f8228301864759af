"""A home with harnesses in it, and a root whose profiles they are to see."""

import os
from contextlib import contextmanager
from pathlib import Path

from catmem.plugins.harnesses.syncing import SyncAsked, chosen_syncs, remove_blocks, sync_files
from catmem.workspace.workspace import Workspace

PROFILE = (
    "user_memory_categories: [style, rules]\nmemory_categories: [ledger]\nwritable_categories: [style, rules, ledger]\n"
)
CANARY = "CANARY-7f3a"
USER = f"""## Style
Prefers short answers.
§
Wants numbers in a table.

## Rules
Invoices go out on Fridays.

## Secret Plans
{CANARY}: sells the house.
"""
MEMORY = f"""## Ledger
Acme Ltd is the vendor.

## Payroll
{CANARY}: the salaries.
"""


class Home:
    """Where everything is, and what a sync is asked."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root, self.project = folder / "home", folder / "home" / "memory", folder / "home" / "shop"
        for each in (self.root / "profiles", self.root / "homes" / "trinity", self.project):
            each.mkdir(parents=True)
        for each in (
            ".claude",
            ".codex",
            ".gemini",
            ".copilot",
            ".kiro",
            ".config/opencode",
            ".config/zed",
            ".openclaw/workspace",
            "Documents/Cline",
        ):
            (self.home / each).mkdir(parents=True)
        (self.root / "profiles" / "trinity.yaml").write_text(PROFILE)
        (self.root / "homes" / "trinity" / "USER.md").write_text(USER)
        (self.root / "homes" / "trinity" / "MEMORY.md").write_text(MEMORY)
        self.declare(harness="claude-agent")

    def declare(self, name="one", **said) -> None:
        """Have catmem.yaml declare one sync."""
        said = {"profile": "trinity"} | said
        pairs = ", ".join(
            f"{key}: {value if isinstance(value, bool | int) else repr(str(value))}".replace("True", "true")
            for key, value in said.items()
        )
        (self.root / "catmem.yaml").write_text(f"version: 1\nsync:\n  {name}: {{{pairs}}}\n")

    @property
    def agent(self) -> Path:
        return self.home / ".claude" / "agent-memory" / "trinity" / "MEMORY.md"

    @property
    def workspace(self) -> Workspace:
        return Workspace.open(self.root, search=False)

    def sync(self, *, again=False, dry=False):
        root = self.workspace
        syncs = chosen_syncs(root.config, ())
        try:
            return sync_files(root, syncs, SyncAsked(again=again, dry=dry))
        finally:
            root.store.close()

    def one(self, **how):
        (done,) = self.sync(**how)
        return done

    def remove(self, **how):
        return remove_blocks(self.workspace, (), SyncAsked(**how))

    def tree(self) -> dict[str, bytes]:
        """All files of the home but those of the root."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and not path.is_relative_to(self.root)
        }

    def folders(self) -> set[str]:
        return {
            str(path.relative_to(self.home))
            for path in self.home.rglob("*")
            if path.is_dir() and not path.is_relative_to(self.root)
        }


@contextmanager
def home_of(folder: Path):
    """The home, as that of the user for as long as it lasts."""
    names = ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ["HOME"] = str(folder / "home")
    try:
        yield Home(folder)
    finally:
        os.environ.update(before)
