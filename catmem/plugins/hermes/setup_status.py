"""How catmem stands in each home of Hermes Agent; whether its Python can import catmem, and what installs it there."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from catmem.config.profile import profile_names
from catmem.errors import CatmemError, ConfigError
from catmem.plugins.hermes.provider import shown_by_hermes, unfiltered
from catmem.plugins.hermes.setup import installed
from catmem.plugins.hermes.setup_homes import HermesConfig, Home, read_config, read_settings
from catmem.plugins.hermes.sync import unshared
from catmem.resources import install_command
from catmem.writing.written import on_unshared

_FIRST_LINE = 4096
_SECONDS = 30
_TRY = "import catmem.plugins.hermes.plugin"


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """One home. ``provider`` is the one that its ``config.yaml`` names; ``own_tool`` is Hermes Agent's memory tool.

    ``shown_by_hermes`` are the targets whose whole file Hermes Agent shows itself, so that catmem leaves them out.
    ``loads`` says whether the Python of Hermes Agent can import catmem; ``None``: that Python is not known here.
    ``problems`` say what keeps the provider from working, or its filter from holding.
    """

    name: str
    home: str
    installed: bool
    provider: str
    root: str | None = None
    profile: str | None = None
    own_tool: bool = True
    shown_by_hermes: tuple[str, ...] = ()
    loads: bool | None = None
    problems: tuple[str, ...] = field(default=())
    __json__ = "name home installed active loads provider root profile own_tool shown_by_hermes problems"

    @property
    def active(self) -> bool:
        """Whether the plugin is here and the configuration names it."""
        return self.installed and self.provider == "catmem"


def statuses(homes: Iterable[Home]) -> list[HomeStatus]:
    """How catmem stands in each of these homes. Raises nothing for what is wrong in one of them: its row says so."""
    python = hermes_python()
    loads = None if python is None else can_import(python)
    return [_status(home, python, loads=loads) for home in homes]


def _status(home: Home, python: Path | None, *, loads: bool | None) -> HomeStatus:
    from catmem.workspace.workspace import Workspace

    problems: list[str] = []
    is_there, config = False, HermesConfig("", {}, {})
    try:
        is_there = installed(home)
        config = read_config(home) or config
    except CatmemError as error:
        problems.append(str(error))
    active = config.provider == "catmem"
    if active and not is_there:
        problems.append("config.yaml names catmem, and its plugin is not here: run 'catmem hermes install'")
    if active and python is not None and loads is False:
        problems.append(
            "Hermes Agent cannot load it: its Python cannot import catmem. Install it with: "
            f"{install_command(python=str(python))}"
        )
    root = profile = None
    twice: tuple[str, ...] = ()
    own_tool = config.shows("user") or config.shows("memory")
    try:
        settings = read_settings(home)
        if settings is None:
            problems += ["no root is set: run 'catmem hermes install'"] if is_there or active else []
        else:
            workspace = Workspace.open(settings.root, search=False)
            if is_there or active:
                root, profile = str(settings.root), settings.profile
                workspace.prompt(settings.profile)
                twice = shown_by_hermes(home, config, workspace, settings.profile)
                problems += unfiltered(workspace, settings.profile, twice if active else ())
            if own_tool and settings.profile in profile_names(workspace.config.profiles_dir):
                problems += map(on_unshared, unshared(workspace, settings.profile))
    except CatmemError as error:
        problems.append(str(error))
    return HomeStatus(
        name=home.name,
        home=str(home.path),
        installed=is_there,
        provider=config.provider,
        root=root,
        profile=profile,
        own_tool=own_tool,
        shown_by_hermes=twice,
        loads=loads if is_there or active else None,
        problems=tuple(problems),
    )


def refuse_no_catmem() -> None:
    """Raise ``ConfigError`` (``hermes_import``) if the Python of Hermes Agent is known and cannot import catmem."""
    python = hermes_python()
    if python is not None and can_import(python) is False:
        raise ConfigError(
            "the Python of Hermes Agent cannot import catmem, so its agents would have no memory",
            code="hermes_import",
            path=python,
            hint=f"Nothing was changed. Install catmem there first: {install_command(python=str(python))}",
        )


def hermes_python() -> Path | None:
    """The interpreter that the ``hermes`` command names in its first line; ``None`` where that cannot be known."""
    found = shutil.which("hermes")
    if found is None:
        return None
    try:
        with Path(found).open("rb") as stream:
            line = stream.readline(_FIRST_LINE)
    except OSError:
        return None  # nothing is known of it then, and that is what is said
    if not line.startswith(b"#!"):
        return None
    python = Path(line[2:].decode(errors="replace").strip())
    is_python = python.is_absolute() and python.name.startswith("python")
    return python if is_python and python.is_file() else None


def can_import(python: Path) -> bool | None:
    """Whether an interpreter can import the plugin; ``None`` if it does not answer."""
    with tempfile.TemporaryDirectory() as empty:
        # In a folder of its own: the working folder would count as a place to import from.
        try:
            done = subprocess.run(  # noqa: S603 - the interpreter that the user's own hermes command names
                [str(python), "-c", _TRY], cwd=empty, capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return done.returncode == 0
