"""A real git repository with a root in it, for tests of what git makes of memory files."""

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import NamedTuple

from catmem.model.document import parse
from tests.commands import catmem

FILE = "homes/neo/USER.md"
WAYS = ("merge", "merge the other way", "rebase", "cherry-pick")


class Result(NamedTuple):
    """What a merge left: git's status, what it said, and the file's bytes."""

    status: int
    said: str
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode()

    @property
    def bodies(self) -> list[str]:
        return [entry.body for entry in parse(self.data).entries]

    @property
    def tags(self) -> list[dict[str, object]]:
        return [entry.tags for entry in parse(self.data).entries]


class Repository:
    """A repository in ``folder``; ``catmem`` is on the PATH that git has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_EDITOR": "true",
            **{f"GIT_{who}_{what}": "neo@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        self.git("init", "--quiet", "--initial-branch=main")

    def run(self, *command: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, cwd=self.folder, env=self.environment, check=False, capture_output=True)

    def catmem(self, *arguments: str) -> None:
        done = catmem(self.folder, arguments, self.environment)
        assert done.exit_code == 0, done.output

    def git(self, *arguments: str) -> str:
        done = self.run("git", *arguments)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def set_up(self) -> None:
        """Have git merge as catmem does."""
        self.catmem("init", "--git")
        self.commit({}, "set up")

    def commit(self, files: dict[str, bytes], message: str) -> None:
        for name, data in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)

    def merged(self, base: bytes | None, ours: bytes, theirs: bytes, way: str = "merge", file: str = FILE) -> Result:
        """Merge two branches on which a file was changed; ``None`` as base: it was added on both."""
        self.commit({} if base is None else {file: base}, "base")
        self.git("checkout", "--quiet", "-b", "theirs")
        self.commit({file: theirs}, "theirs")
        self.git("checkout", "--quiet", "main")
        self.commit({file: ours}, "ours")
        if way == "merge the other way":
            self.git("checkout", "--quiet", "theirs")
        command = {
            "merge": ("merge", "--no-edit", "theirs"),
            "merge the other way": ("merge", "--no-edit", "main"),
            "rebase": ("rebase", "theirs"),
            "cherry-pick": ("cherry-pick", "--keep-redundant-commits", "theirs"),
        }[way]
        done = self.run("git", *command)
        return Result(done.returncode, (done.stdout + done.stderr).decode(), (self.folder / file).read_bytes())

    def unmerged(self) -> list[str]:
        return self.git("diff", "--name-only", "--diff-filter=U").splitlines()
