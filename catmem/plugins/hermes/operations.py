"""The operations of the family hermes: the memory provider in homes of Hermes Agent."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import yaml

from catmem.config.config import CONFIG_NAME, find_root
from catmem.config.profile import profile_names
from catmem.errors import CatmemError, ConfigError
from catmem.files import os_errors, read_bounded, replace_file, rewrite_file, shown_path
from catmem.jsonable import jsonable
from catmem.model.layout import is_shared
from catmem.names import FILE_NAMES, TARGETS
from catmem.ops.shared import DryRun
from catmem.ops.table import FINDINGS, WRONG, Call, Outcome, P, UsageError, family, operation
from catmem.plugins.hermes import homes
from catmem.plugins.hermes.homes import SIZE, HermesConfig, HermesSettings, Home
from catmem.plugins.hermes.provider import shown_by_hermes, unfiltered
from catmem.resources import install_command
from catmem.text import MAX_FILE_BYTES, printable
from catmem.workspace.init import has_bytes
from catmem.workspace.profile_memory import read_document
from catmem.workspace.stores import hermes_edits
from catmem.workspace.workspace import Workspace
from catmem.writing.written import on_unshared

FOLDER = "plugins/catmem"
MARK = "Written by 'catmem hermes install'; 'catmem hermes uninstall' removes it."
BACKUP, OLD_SETTINGS = "config.yaml.before", "catmem.json.before"

# Hermes Agent looks for the word register_memory_provider in the first 8,192 characters.
PLUGIN = '''\
import logging
import sys

try:
    from catmem.plugins.hermes import provider as _provider
except ImportError as error:
    logging.getLogger("catmem.plugins.hermes").critical(
        "The memory provider catmem is switched on, and the Python of Hermes Agent cannot import it (%s). This "
        "conversation has no memory of catmem. 'catmem hermes status' has the command that installs it for %s",
        error,
        sys.executable,
    )
    raise


def register(ctx: object) -> None:
    """Called by Hermes Agent, which takes what goes to ctx.register_memory_provider()."""
    _provider.register(ctx)
'''

_MANIFEST = f"""\
# {MARK}
name: catmem
version: 1.0.0
description: Categorized memory, each profile its own categories (catmem)
kind: exclusive
"""

FILES = {
    "plugin.yaml": _MANIFEST,
    "__init__.py": f'"""catmem as the memory provider of Hermes Agent.\n\n{MARK}\n"""\n\n{PLUGIN}',
}
"""The texts of the plugin by name, in the folder ``FOLDER`` of a home.

They stay the same over versions of catmem: what they do is ``catmem.plugins.hermes.provider``, in the installed
package.
"""

SWITCH_OVER = {"memory_enabled": False, "user_profile_enabled": False, "provider": "catmem"}
"""What ``memory`` in ``config.yaml`` says from then on: all memory in the prompt comes from catmem, filtered."""
_USUAL = {"memory_enabled": True, "user_profile_enabled": True, "provider": ""}


@dataclass(frozen=True, slots=True)
class SetupStep:
    """What is to be done in one home, with notes for the person who decides."""

    home: Home
    done: str
    writes: dict[Path, bytes] = field(default_factory=dict)
    removes: tuple[Path, ...] = ()
    before: str = ""
    after: str = ""
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        return bool(self.writes or self.removes) or self.before != self.after

    def __json__(self) -> dict[str, Any]:
        return {
            "name": self.home.name,
            "home": str(self.home.path),
            "changes": self.changes,
            "config_changes": self.before != self.after,
            "writes": [str(path) for path in self.writes],
            "removes": [str(path) for path in self.removes],
            "notes": list(self.notes),
        }


def plan_install(home: Home, settings: HermesSettings, folder: Path | None = None) -> SetupStep:
    """What would put the provider into a home. Nothing is written."""
    config, backup = homes.read_config(home), home.path / FOLDER / BACKUP
    if config.text is None:
        raise ConfigError(
            "this home of Hermes Agent has no config.yaml",
            code="hermes_no_config",
            path=home.config,
            hint="Nothing was changed. Set Hermes Agent up first ('hermes setup'), then run this again.",
        )
    _refuse_other_plugin(home)
    homes.refuse_link(home)
    after = with_memory(config.text, SWITCH_OVER, home.config)
    writes = {home.path / FOLDER / name: text.encode() for name, text in FILES.items()}
    writes[home.settings] = settings.to_text(home).encode()
    if config.provider != "catmem" or not os.path.lexists(backup):
        writes[backup] = config.text.encode()
        if os.path.lexists(home.settings):
            writes[backup.with_name(OLD_SETTINGS)] = read_bounded(home.settings, SIZE)
    writes = {path: data for path, data in writes.items() if not has_bytes(path, data)}
    notes = _notes_on_files(home, folder or home.memories)
    if config.provider and config.provider != "catmem":
        notes.append(f"the memory provider {config.provider} is switched off; uninstall switches it on again")
    return SetupStep(home, "installed", writes, (), config.text, after, tuple(notes))


def plan_uninstall(home: Home) -> SetupStep:
    """What would take the provider out of a home again. Nothing is written."""
    folder, config = home.path / FOLDER, homes.read_config(home)
    if not installed(home):
        raise ConfigError(
            "catmem is not installed in this home of Hermes Agent",
            code="hermes_not_installed",
            path=home.path,
            hint="Nothing was changed. 'catmem hermes status --all' shows where it is.",
        )
    _refuse_other_plugin(home)
    homes.refuse_link(home)
    old = folder / OLD_SETTINGS
    writes = {home.settings: read_bounded(old, SIZE)} if os.path.lexists(old) else {}
    # What tells the plugin from others goes last.
    ours = [folder / BACKUP, old, *(folder / "__pycache__").glob("*.pyc"), *(folder / name for name in FILES)]
    removes = tuple(path for path in [*([] if writes else [home.settings]), *ours] if os.path.lexists(path))
    before, notes = config.text or "", tuple[str, ...]()
    after = before if config.text is None else _as_it_was(home, config)
    if after != before and after != _text(folder / BACKUP):
        notes = ("config.yaml changed since: only what catmem had set there goes back to what it was",)
    return SetupStep(home, "uninstalled", writes, removes, before, after, notes)


def _as_it_was(home: Home, config: HermesConfig) -> str:
    """The text of ``config.yaml`` before the install; where it changed since, with the keys alone set back."""
    text, kept = config.text or "", _text(home.path / FOLDER / BACKUP)
    with suppress(ConfigError):
        if kept is not None and text == with_memory(kept, SWITCH_OVER, home.config):
            return kept
    old = (homes.parse_config(kept, home.config).get("memory") or {}) if kept is not None else {}
    before = {**_USUAL, **old} if old.get("provider") != "catmem" else _USUAL
    ours = [key for key in _USUAL if config.memory.get(key) == SWITCH_OVER[key]]
    return with_memory(text, {key: before[key] for key in ours}, home.config)


def apply_step(step: SetupStep) -> None:
    """Carry out a step: the provider is whole before ``config.yaml`` names it, and no longer named before it goes."""
    hint = "Check the rights of the folder and the space on the disk, then run it again: it goes on."
    with os_errors("cannot be written", path=step.home.path, hint=hint, named=True):
        for path, data in step.writes.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)  # the copy of a configuration may hold secrets, so no other user reads it
        if step.before != step.after:
            rewrite_file(step.home.config, step.before.encode(), step.after.encode())
        for path in step.removes:
            path.unlink(missing_ok=True)
    for name in (f"{FOLDER}/__pycache__", FOLDER, "plugins") if step.removes else ():
        with suppress(OSError):  # it holds something else
            (step.home.path / name).rmdir()


def installed(home: Home) -> bool:
    """Whether the plugin of catmem is in a home, whatever ``config.yaml`` says."""
    return MARK in (_text(home.path / FOLDER / "__init__.py") or "")


def _notes_on_files(home: Home, folder: Path) -> list[str]:
    """What to know where catmem reads other files than those of Hermes Agent."""
    if os.path.realpath(folder) == os.path.realpath(home.memories):
        return []
    files = [path for name in FILE_NAMES.values() if (path := home.memories / name).is_file()]
    left = [path.name for path in files if read_bounded(path, MAX_FILE_BYTES).strip()]
    if not left:
        return []
    return [f"{' and '.join(left)} in {home.memories} will not be shown any more: catmem reads {folder}"]


def _refuse_other_plugin(home: Home) -> None:
    """Refuse files that catmem would write over or remove and did not write."""
    folder = home.path / FOLDER
    others = [folder / name for name in FILES if MARK not in (_text(folder / name) or MARK)]
    for path in [folder] if folder.is_symlink() else others:
        raise ConfigError(
            "is in the way: the plugin called catmem goes there, and catmem did not write this",
            code="hermes_in_the_way",
            path=path,
            hint="Nothing was changed. Move it away first.",
        )


def _text(path: Path) -> str | None:
    return read_bounded(path, SIZE).decode(errors="replace") if os.path.lexists(path) else None


# --- three keys of config.yaml ---------------------------------------------------------------------------------------


def with_memory(text: str, values: Mapping[str, object], path: Path) -> str:
    """The text with these keys of ``memory`` set: comments, order and quotes of all else in it stay.

    The file belongs to a person, so the edit counts only if the file then says what it said before, and these. Raises
    ``ConfigError``: ``hermes_config`` for what is no configuration, ``hermes_by_hand`` where more would change.
    """
    said = homes.parse_config(text, path)
    wanted = {**said, "memory": {**(said.get("memory") or {}), **values}}
    if said == wanted:
        return text
    scalars = {key: yaml.safe_dump([value], default_flow_style=True).strip()[1:-1] for key, value in values.items()}
    made = _edited(text, scalars)
    if _parsed(made) != wanted:
        by_hand = ", ".join(f"{key}: {scalar}" for key, scalar in scalars.items())
        raise ConfigError(
            "the section memory is written in a way that catmem does not edit",
            code="hermes_by_hand",
            path=path,
            key="memory",
            hint=f"Nothing was changed. Say there by hand: memory: {{{by_hand}}}",
        )
    return made


def _edited(text: str, scalars: Mapping[str, str]) -> str:
    """The text with these keys in ``memory``: one that is there keeps its place and its comment, others come first."""
    newline = "\r\n" if "\r\n" in text else "\n"
    top = yaml.compose(text, yaml.SafeLoader)
    text += newline if text and not text.endswith("\n") else ""
    pairs = top.value if isinstance(top, yaml.MappingNode) else []
    head, section = next(((key, value) for key, value in pairs if key.value == "memory"), (None, None))
    if head is None or section is None:
        return text + "".join(f"{line}{newline}" for line in ("memory:", *_lines(scalars, "  ")))
    inner = section.value if isinstance(section, yaml.MappingNode) else []
    if not inner:  # nothing, or empty braces
        text = text[: head.end_mark.index + 1] + text[section.end_mark.index :]
    there = {key.value: (key.end_mark.index + 1, value.end_mark.index) for key, value in inner}
    for name in sorted(there.keys() & scalars, key=lambda name: -there[name][0]):
        start, end = there[name]
        if "\n" not in text[start:end]:
            text = f"{text[:start]} {scalars[name]}{text[end:]}"
    below = text.index("\n", head.end_mark.index) + 1
    new = {name: scalar for name, scalar in scalars.items() if name not in there}
    indent = " " * inner[0][0].start_mark.column if inner else "  "
    return text[:below] + "".join(f"{line}{newline}" for line in _lines(new, indent)) + text[below:]


def _lines(scalars: Mapping[str, str], indent: str) -> list[str]:
    return [f"{indent}{name}: {scalar}" for name, scalar in scalars.items()]


def _parsed(text: str) -> Any:  # noqa: ANN401 - whatever the text holds
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return None


# --- how catmem stands in each home ----------------------------------------------------------------------------------

_FIRST_LINE = 4096
_SECONDS = 30
_TRY = "import catmem.plugins.hermes.provider"


@dataclass(slots=True)
class HomeStatus:
    """One home. ``provider`` is the one that its ``config.yaml`` names; ``own_tool`` is Hermes Agent's memory tool.

    ``shown_by_hermes`` are the targets whose whole file Hermes Agent shows itself, so that catmem leaves them out.
    ``loads`` says whether the Python of Hermes Agent can import catmem; ``None``: that Python is not known here.
    ``problems`` say what keeps the provider from working, or its filter from holding.
    """

    name: str
    home: str
    installed: bool = False
    provider: str = ""
    root: str | None = None
    profile: str | None = None
    own_tool: bool = True
    shown_by_hermes: tuple[str, ...] = ()
    loads: bool | None = None
    problems: list[str] = field(default_factory=list)
    __json__ = "name home installed active loads provider root profile own_tool shown_by_hermes problems"

    @property
    def active(self) -> bool:
        return self.installed and self.provider == "catmem"


def statuses(chosen: Iterable[Home]) -> list[HomeStatus]:
    """How catmem stands in each of these homes. Raises nothing for what is wrong in one of them: its row says so."""
    python = hermes_python()
    loads = None if python is None else can_import(python)
    return [_status(home, python, loads=loads) for home in chosen]


def _status(home: Home, python: Path | None, *, loads: bool | None) -> HomeStatus:
    found, config = HomeStatus(home.name, str(home.path)), HermesConfig()
    problems = found.problems
    try:
        found.installed = installed(home)
        config = homes.read_config(home)
    except CatmemError as error:
        problems.append(str(error))
    found.provider, found.own_tool = config.provider, config.shows("user") or config.shows("memory")
    named = config.provider == "catmem"
    is_ours = found.installed or named
    found.loads = loads if is_ours else None
    if named and not found.installed:
        problems.append("config.yaml names catmem, and its plugin is not here: run 'catmem hermes install'")
    if named and python is not None and loads is False:
        problems.append(
            "Hermes Agent cannot load it: its Python cannot import catmem. Install it with: "
            f"{install_command(python=str(python))}"
        )
    try:
        settings = homes.read_settings(home)
        if settings is None:
            problems += ["no root is set: run 'catmem hermes install'"] if is_ours else []
            return found
        workspace = Workspace.open(settings.root, search=False)
        if is_ours:
            found.root, found.profile = str(settings.root), settings.profile
            workspace.prompt(settings.profile)
            found.shown_by_hermes = shown_by_hermes(home, config, workspace, settings.profile)
            problems += unfiltered(workspace, settings.profile, found.shown_by_hermes if named else ())
        if found.own_tool and settings.profile in profile_names(workspace.config.profiles_dir):
            problems += map(on_unshared, _unshared(workspace, settings.profile))
    except CatmemError as error:
        problems.append(str(error))
    return found


def _unshared(workspace: Workspace, name: str) -> list[str]:
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
    python = Path(line.removeprefix(b"#!").decode(errors="replace").strip())
    is_python = line.startswith(b"#!") and python.is_absolute() and python.name.startswith("python")
    return python if is_python and python.is_file() else None


def can_import(python: Path) -> bool | None:
    """Whether an interpreter can import the provider; ``None`` if it does not answer."""
    with tempfile.TemporaryDirectory() as empty:
        # In a folder of its own: the working folder would count as a place to import from.
        try:
            done = subprocess.run(  # noqa: S603 - the interpreter that the user's own hermes command names
                [str(python), "-c", _TRY], cwd=empty, capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return done.returncode == 0


_HomeOption = Annotated[
    str | None, P("A home of Hermes Agent. By default what HERMES_HOME says, else ~/.hermes.", metavar="DIR")
]
_OneProfile = Annotated[
    str | None, P("The profile of Hermes Agent. By default the one whose home this is.", "-p --profile", metavar="NAME")
]
_All = Annotated[bool, P("Every profile of Hermes Agent.", "--all")]
_Yes = Annotated[bool, P("Do it without asking.")]

family(
    "hermes",
    "Put catmem into Hermes Agent as its memory provider.",
    ("catmem hermes install --dry-run", "catmem hermes status --all"),
)


@operation(
    "hermes install",
    examples=(
        "catmem hermes install --dry-run",
        "catmem hermes install --all --yes",
        "catmem hermes install --profile coder --root ~/memory --as neo",
    ),
    apart={"everybody": "profile name"},
)
def install(
    call: Call,
    *,
    home: _HomeOption = None,
    profile: _OneProfile = None,
    everybody: _All = False,
    name: Annotated[
        str | None, P("The profile of catmem that it acts as. By default the one of the same name.", "--as")
    ] = None,
    yes: _Yes = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Put the memory provider and its settings into homes of Hermes Agent.

    It first shows what would change, config.yaml as a diff. The root is that of --root, else the folder of Hermes
    Agent's homes if it has a catmem.yaml, else the root that this folder lies in. A second run changes nothing, and
    uninstall undoes it. If 'hermes' on the PATH runs in a Python that cannot import catmem, nothing is changed.
    """
    chosen = homes.chosen_homes(homes.find_home(home), profile, everybody=everybody)
    refuse_no_catmem()
    workspace = _workspace(call, chosen[0])
    steps: list[SetupStep] = []
    for each in chosen:
        settings = _settings(workspace, each, name or each.name)
        folder = workspace.path(settings.profile, "user").parent
        steps.append(plan_install(each, settings, folder))
    done = _carried_out(call, steps, yes=yes, dry_run=dry_run)
    if call.for_program or dry_run or done.status or not any(step.changes for step in steps):
        return done
    if hermes_python() is None:
        call.tell("Next: 'hermes memory status' says whether its Python can import catmem.")
        call.tell(f"If it cannot: {install_command(python='PYTHON')}, with the Python of Hermes Agent.")
    call.tell("It counts from the next conversation on.")
    return done


@operation(
    "hermes uninstall",
    examples=("catmem hermes uninstall --dry-run", "catmem hermes uninstall --all --yes"),
    rooted=False,
    apart={"everybody": "profile"},
)
def uninstall(
    call: Call,
    *,
    home: _HomeOption = None,
    profile: _OneProfile = None,
    everybody: _All = False,
    yes: _Yes = False,
    dry_run: DryRun = False,
) -> Outcome:
    """Take the memory provider out again. Memory files and roots stay as they are.

    config.yaml gets back the bytes it had; if it was changed since, only the keys that install had set go back.
    """
    chosen = homes.chosen_homes(homes.find_home(home), profile, everybody=everybody)
    with_catmem = [each for each in chosen if installed(each)]
    return _carried_out(call, [plan_uninstall(each) for each in (with_catmem or chosen[:1])], yes=yes, dry_run=dry_run)


@operation(
    "hermes status",
    examples=("catmem hermes status", "catmem hermes status --all --format json"),
    rooted=False,
    apart={"everybody": "profile"},
)
def status(call: Call, *, home: _HomeOption = None, profile: _OneProfile = None, everybody: _All = False) -> Outcome:
    """Say where the memory provider is on, with which root and profile, and what is wrong (exit status 1)."""
    found = statuses(homes.chosen_homes(homes.find_home(home), profile, everybody=everybody))
    findings = FINDINGS if any(each.problems for each in found) else 0
    return Outcome(found, {"homes": [jsonable(each) for each in found]}, status=findings)


def _workspace(call: Call, home: Home) -> Workspace:
    """The root that was named, else that of Hermes Agent's own folder, else the one that the working folder lies in."""
    root = call.named_root
    if root is not None:
        workspace = Workspace.open(root, search=False)
        if workspace.config.path is None:
            raise _no_root(root)
        return workspace
    if (home.root / CONFIG_NAME).is_file():
        return Workspace.open(home.root, search=False)
    if find_root(".") is None:
        raise _no_root(str(home.root), home)
    return Workspace.open(".")


def _no_root(folder: str, home: Home | None = None) -> ConfigError:
    over = "" if home is None else f" {quote(shown_path(home.root))}"
    return ConfigError(
        "there is no catmem.yaml here",
        code="no_root",
        path=folder,
        hint=f"Name a root with --root DIR, or make one over Hermes Agent's own files: catmem init --from-hermes{over}",
    )


def _settings(workspace: Workspace, home: Home, name: str) -> HermesSettings:
    try:
        workspace.profile(name)
    except CatmemError as error:
        if error.code == "unknown_name":
            said = f"Say which profile of this root it is: --profile {home.name} --as NAME"
            error.hint = f"{error.hint or ''} {said}".strip()
        raise
    try:
        homes.read_settings(home)  # what is wrong with the old ones is said, and they stay
    except ConfigError as error:
        if error.code != "hermes_copied":  # a copy of another home becomes one of its own
            raise
    return HermesSettings(workspace.root, name)


def _carried_out(call: Call, steps: Sequence[SetupStep], *, yes: bool, dry_run: bool) -> Outcome:
    changing = [step for step in steps if step.changes]
    if call.for_program and not (yes or dry_run):
        raise UsageError("--format json asks nothing: give --yes or --dry-run.")
    for step in steps:
        call.show(step)
    if dry_run:
        if not call.for_program:
            call.tell("Nothing was written.")
    elif changing and not yes:
        on_terminal = sys.stdin is not None and sys.stdin.isatty()
        if not (on_terminal and call.dialogue("confirm")("Do this?")):
            call.tell("Nothing was written." if on_terminal else "Nothing was written. Give --yes to do it.")
            return Outcome(None, status=WRONG)
    for step in () if dry_run else changing:
        apply_step(step)
        call.show(printable(f"{step.done} in {shown_path(step.home.path)}\n"))
    return Outcome(None, {"dry_run": dry_run, "homes": [jsonable(step) for step in steps]})
