"""What plugins add to catmem: operations, kinds of stores, importers, roots, steps of a write, rules, and pages.

A plugin is an entry point of the group ``catmem.plugins`` that names a function ``register(registry)``. Those of
``catmem/plugins`` are listed there like everybody's. What is added is named by its place, ``module:name``, and is
imported when it is used. Plugins are looked up where a name is unknown, for help, by servers and by ``catmem doctor``:
the lookup costs some milliseconds, which the everyday commands need not pay. ``docs/first-change.md`` writes one.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.commands import COMMANDS, GROUPS
from catmem.errors import ConfigError
from catmem.text import printable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "catmem.plugins"
VERSION = 1
"""That of this interface: a plugin that says another one is not loaded."""


class AddedCommand(NamedTuple):
    """An operation of the command line: its heading in ``catmem help --all``, its line there, and its module."""

    heading: str
    said: str
    module: str
    is_first: bool = False


class Plugin(NamedTuple):
    """A plugin that was found, and why it is not loaded, if it is not."""

    name: str
    error: ConfigError | None = None


@dataclass
class Registry:
    """What is added, each by its name."""

    commands: dict[str, AddedCommand] = field(default_factory=dict)
    stores: dict[str, str] = field(default_factory=dict)
    importers: dict[str, str] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    steps: dict[str, tuple[str, str]] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    plugins: list[Plugin] = field(default_factory=list)

    def needs(self, version: int) -> None:
        """Say which version of this interface a plugin is made for. Raises ``ConfigError`` (``bad_plugin``)."""
        if version != VERSION:
            raise bad_plugin(f"it is made for version {version} of plugins, and this catmem has {VERSION}")

    def add_operation(self, name: str, module: str, *, heading: str, said: str, is_first: bool = False) -> None:
        """The row or family ``name`` of the table of operations, in ``module``, below a heading of catmem help.

        ``is_first`` puts it on the first screen, ``catmem --help``, too.
        """
        if name in COMMANDS:
            raise bad_plugin(f"the command {name!r} is catmem's own")
        if heading not in GROUPS:
            raise bad_plugin(f"catmem help has no heading {heading!r}; it has {', '.join(GROUPS)}")
        _add(self.commands, "command", name, AddedCommand(heading, said, module, is_first))

    def add_store(self, scheme: str, place: str) -> None:
        """A ``workspace.stores.Backend`` for what ``store`` in catmem.yaml names by ``scheme:``."""
        if scheme == "files":
            raise bad_plugin("the store 'files' is catmem's own")
        _add(self.stores, "store", scheme, place)

    def add_importer(self, program: str, place: str) -> None:
        """A function ``read(path) -> Imported`` of what a program keeps, for ``catmem import --from PROGRAM``."""
        _add(self.importers, "importer", program, place)

    def add_root(self, program: str, place: str) -> None:
        """A function ``make(folder, dry_run=…)``, which gives a ``NewRoot`` and why homes are not in it."""
        _add(self.roots, "root", program, place)

    def add_step(self, name: str, place: str, *, before: str = "approval") -> None:
        """A function ``refuse(attempt)`` of a write, where ``steps`` of catmem.yaml names it; see ``writing.write``."""
        _add(self.steps, "step", name, (place, before))

    def add_rules(self, module: str) -> None:
        """A module with rules of ``catmem lint``, functions with the decorator ``linting.rule.rule``."""
        self.rules.append(module)

    def add_pages(self, module: str) -> None:
        """What ``catmem serve`` shows a browser: a module with ``routes()`` and ``error_page(request, error)``."""
        if self.pages:
            raise bad_plugin(f"there are pages already, those of {self.pages[0]}")
        self.pages.append(module)


def _add(added: dict[str, Any], kind: str, name: str, value: str | tuple[str | bool, ...]) -> None:
    texts: tuple[object, ...] = (name, value) if isinstance(value, str) else (name, *value)
    if not all(isinstance(each, bool) or (isinstance(each, str) and each.isprintable()) for each in texts):
        raise bad_plugin(f"what it says of a {kind} is no text of one line")
    if name in added:
        raise bad_plugin(f"there is a {kind} {name!r} already")
    added[name] = value


def bad_plugin(message: str) -> ConfigError:
    """The error of a plugin that cannot be loaded."""
    return ConfigError(message, code="bad_plugin")


def at(place: str) -> Any:  # noqa: ANN401 - whatever stands there
    """What stands at ``module:name``, or the ``module``. Raises ``ConfigError`` (``bad_plugin``)."""
    module, _, name = place.partition(":")
    try:
        with redirect_stdout(sys.stderr):  # what a plugin prints is no data of a command
            found = import_module(module)
        return getattr(found, name) if name else found
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # others wrote what is imported, and may call exit
        raise bad_plugin(f"what a plugin adds as {place} is not there: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    from traceback import format_exception_only

    return printable(" ".join(format_exception_only(error)[-1].split()))


@cache
def registry() -> Registry:
    """What the installed plugins add. One that fails is named in ``plugins`` with its reason, and adds nothing."""
    from importlib.metadata import entry_points

    found = Registry()
    # Its own come first, so that no other takes a name of theirs.
    points = sorted(entry_points(group=GROUP), key=lambda each: (not each.value.startswith(f"{GROUP}."), each.name))
    for point in points:
        found = loaded(point, found)
    return found


def loaded(point: EntryPoint, before: Registry) -> Registry:
    """The registry with what a plugin adds: all of it, or nothing and the reason."""
    trial = Registry(*map(copy, vars(before).values()))
    try:
        with redirect_stdout(sys.stderr):  # what a plugin prints is no data of a command
            point.load()(trial)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - others wrote what is called, and may call exit
        reason = error.message if isinstance(error, ConfigError) else _reason(error)
    else:
        trial.plugins.append(Plugin(point.name))
        return trial
    said = bad_plugin(f"the plugin {point.name!r} ({point.value}) is not loaded: {reason}")
    said.hint = "What the others add works. Update the package that it is from, or remove it."
    before.plugins.append(Plugin(point.name, said))
    return before


def unloaded() -> list[ConfigError]:
    """Why plugins are not loaded."""
    return [each.error for each in registry().plugins if each.error is not None]
