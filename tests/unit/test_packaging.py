"""What an installation holds: metadata, the command, the typing marker and the data that the package ships."""

import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

import catmem

WHEEL_TEST = pytest.mark.skipif(
    os.environ.get("CATMEM_TESTED") == "wheel", reason="this run tests a wheel that is built already"
)


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_one(project):
    assert importlib.metadata.version("catmem") == catmem.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc|\.dev)\d+)?", catmem.__version__)


def test_the_command_is_installed():
    (entry_point,) = importlib.metadata.entry_points(group="console_scripts", name="catmem")
    assert entry_point.value == "catmem.__main__:main"
    assert callable(entry_point.load())


def test_python_m_catmem_is_the_command():
    command = Path(sysconfig.get_path("scripts")) / "catmem"
    by_name = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    by_module = subprocess.run(
        [sys.executable, "-m", "catmem", "--version"], capture_output=True, text=True, check=True
    )
    assert by_name.stdout == by_module.stdout
    assert catmem.__version__ in by_name.stdout


def test_every_dependency_has_a_lower_bound(project):
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    assert [line for line in wanted if not re.match(r"[A-Za-z0-9-]+(\[[a-z]+\])?>=\d", line)] == []


def test_the_package_is_typed(package):
    assert (package / "py.typed").is_file()


@WHEEL_TEST
def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(root, tmp_path):
    # Without isolation: the build backend of this environment, and no network.
    run = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = {name.split("/")[-1] for name in archive.namelist() if ".dist-info/" in name}
    assert held == expected(root)
    assert {"METADATA", "entry_points.txt", "LICENSE", "WHEEL", "RECORD"} == metadata


def expected(root: Path) -> set[str]:
    """The files that a wheel of this tree has to hold."""
    own = {path for path in (root / "catmem").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    data = {
        f"catmem/data/{folder}/{path.relative_to(root / folder).as_posix()}"
        for folder in ("schemas", "profiles")
        for path in (root / folder).rglob("*")
        if path.is_file()
    }
    assert data
    return {path.relative_to(root).as_posix() for path in own} | data | {"catmem/data/docs/rules.md"}
