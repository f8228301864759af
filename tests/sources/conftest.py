"""A root, and the interfaces through which the tests of the sources use it: the command line and the memory tool."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from catmem import Workspace, memory_tool
from catmem.writing.drift_guard import ToolSession
from tests.commands import catmem

NAMES = {"user": "USER.md", "memory": "MEMORY.md"}


class Root:
    """A root in a folder, with a session of the memory tool for each profile that is asked for one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sessions: dict[str, tuple[Workspace, ToolSession]] = {}

    def run(self, *arguments: object, status: int = 0, said: str = "") -> Result:
        """Run a command that ends with ``status``."""
        result = catmem(self.folder, [str(each) for each in arguments], said=said)
        assert result.exit_code == status, result.output
        return result

    def data(self, *arguments: object, status: int = 0) -> Any:
        """What a command prints for programs; of one that fails the error."""
        result = self.run(*arguments, "--format", "json", status=status)
        return json.loads(result.stdout) if result.stdout else json.loads(result.stderr)["error"]

    def tool(self, profile: str, **arguments: Any) -> dict[str, Any]:
        """Call the memory tool in the session of a profile."""
        if profile not in self._sessions:
            self._sessions[profile] = (Workspace.open(self.folder, search=False), ToolSession())
        workspace, session = self._sessions[profile]
        return memory_tool(workspace, profile, arguments, session=session)

    def file(self, entity: str) -> Path:
        """The memory file of an entity, in a folder that exists."""
        profile, target = entity.split("/")
        path = self.folder / "homes" / profile / NAMES[target]
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def configure(self, old: str, new: str) -> None:
        """Change ``catmem.yaml``."""
        path = self.folder / "catmem.yaml"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def profile(self, name: str, text: str) -> None:
        """Write a profile."""
        (self.folder / "profiles" / f"{name}.yaml").write_text(f"name: {name}\n{text}", encoding="utf-8")


@pytest.fixture(scope="session")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What ``catmem init`` makes, and the worked example."""
    folder = tmp_path_factory.mktemp("sources")
    roots = {"bare": folder / "bare", "example": folder / "example"}
    for name, root in roots.items():
        root.mkdir()
        Root(root).run("init", *(["--example"] if name == "example" else []))
    return roots


@pytest.fixture
def made(initialised: dict[str, Path], tmp_path: Path) -> Root:
    """What ``catmem init`` makes, but that no change of an agent waits for a person."""
    shutil.copytree(initialised["bare"], tmp_path, dirs_exist_ok=True)
    root = Root(tmp_path)
    root.configure("approval: others\n", "approval: off\n")
    return root


@pytest.fixture
def example(initialised: dict[str, Path], tmp_path: Path) -> Root:
    """The worked example: an orchestrator, and neo, morpheus, trinity and scout."""
    shutil.copytree(initialised["example"], tmp_path, dirs_exist_ok=True)
    return Root(tmp_path)
