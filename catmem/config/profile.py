"""Profiles: who reads and writes which categories; checked by ``schemas/profile.schema.json``.

A profile is a file ``<name>.yaml`` in a folder of profiles. It may extend one other of the same folder: lists are
replaced, mappings merged. What belongs to one profile alone (``name``, ``title``, ``memory_dir``, ``allow_outside``) is
not inherited.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from catmem.config.config import (
    Config,
    Selectors,
    Taxonomy,
    days,
    expand_user,
    is_pattern,
    refuse_bad_name,
    selector_fault,
    split,
)
from catmem.config.json_schema import check_file, shown, suggestion
from catmem.config.yamlfile import YAML_LIMIT, YamlFile, key_text, parse_yaml
from catmem.errors import ConfigError, ErrorPlace, UnknownNameError, UnreadableError, wrong_type
from catmem.files import read_bounded
from catmem.names import TARGETS, is_name

T = TypeVar("T")

SELECTOR_KEYS = ("user_memory_categories", "memory_categories", "writable_categories", "may_approve")
ORCHESTRATOR_TIER = 1

YAML_SUFFIXES = (".yaml", ".yml")
"""How the name of a profile's file may end."""
_MAX_CHAIN = 8
_NOT_CANONICAL = frozenset(("path", "extends", "declared", "files"))
_NOT_INHERITED = frozenset(("name", "title", "extends", "memory_dir", "allow_outside"))


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """How a prompt is built. ``budget`` is in characters, by ``user``, ``memory`` and ``total``."""

    style: Literal["markdown", "xml", "hermes"] = "markdown"
    order: Literal["profile", "file"] = "profile"
    stale: Literal["note", "drop"] = "note"
    unverified: Literal["plain", "note"] = "plain"
    expired: Literal["drop", "note"] = "drop"
    budget: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile with everything inherited in it.

    ``limits`` are in characters by target (``user``, ``memory``), ``stale_after`` in days. ``include_uncategorized`` is
    ``None`` where the selectors decide (``sees_uncategorized``), ``may_verify`` where the tier does. ``may_approve``
    selects the categories in which it may approve what others propose.
    ``declared`` are the categories of the root's closed taxonomy, ``None`` for an open one and for a profile loaded
    without a configuration. ``files`` are what it is made of: its own, that of its parent, and so on.
    """

    name: str
    path: Path | None = None
    title: str | None = None
    tier: int = 2
    extends: str | None = None
    seed_from: str | None = None
    memory_dir: str | None = None
    allow_outside: bool = False
    user_memory_categories: tuple[str, ...] = ()
    memory_categories: tuple[str, ...] = ()
    writable_categories: tuple[str, ...] = ()
    include_uncategorized: bool | None = None
    may_verify: bool | None = None
    may_approve: tuple[str, ...] = ()
    prompt: PromptSettings = field(default_factory=PromptSettings)
    limits: Mapping[str, int] = field(default_factory=dict)
    stale_after: int | None = None
    domain: str | None = None
    declared: frozenset[str] | None = None
    files: tuple[YamlFile, ...] = field(default=(), compare=False, repr=False)

    def selectors(self, target: str, taxonomy: Taxonomy | None = None) -> Selectors:
        """What the profile reads of a target, ``user`` (USER.md) or ``memory`` (MEMORY.md); ``KeyError`` for another.

        ``taxonomy`` brings aliases and, if it is closed, bounds the patterns; by default the one the profile was loaded
        with.
        """
        patterns = {"user": self.user_memory_categories, "memory": self.memory_categories}[target]
        return self._selectors(patterns, taxonomy)

    def writable(self, taxonomy: Taxonomy | None = None) -> Selectors:
        """What the profile may write, in both targets; ``taxonomy`` as for ``selectors``."""
        return self._selectors(self.writable_categories, taxonomy)

    def approvable(self, taxonomy: Taxonomy | None = None) -> Selectors:
        """The categories in which the profile may approve what others propose; ``taxonomy`` as for ``selectors``."""
        return self._selectors(self.may_approve, taxonomy)

    def _selectors(self, patterns: tuple[str, ...], taxonomy: Taxonomy | None) -> Selectors:
        if taxonomy is None:
            return Selectors(patterns, self.declared)
        return taxonomy.selectors(patterns)

    @property
    def sees_uncategorized(self) -> bool:
        """Whether it sees entries without a category where no selector decides: by default if it names no category."""
        named = self.user_memory_categories or self.memory_categories
        return not named if self.include_uncategorized is None else self.include_uncategorized

    @property
    def verifies(self) -> bool:
        """Whether the profile may verify facts: as it says, else tier 1 only."""
        return self.tier == ORCHESTRATOR_TIER if self.may_verify is None else self.may_verify

    def is_base(self, profiles: Collection[Profile]) -> bool:
        """Whether the profile is there for those of ``profiles`` that extend it: it sees and writes nothing itself."""
        named = self.user_memory_categories or self.memory_categories or self.writable_categories
        return not (named or self.sees_uncategorized) and any(each.extends == self.name for each in profiles)

    def canonical(self) -> dict[str, Any]:
        """Every setting as JSON data with sorted keys, without the file it came from: equal roles give equal data.

        Lists keep their order, which means something. Left out are ``extends``, which is resolved, and ``declared``,
        which belongs to the root.
        """
        settings = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _NOT_CANONICAL}
        settings |= {key: list(settings[key]) for key in SELECTOR_KEYS}
        if not self.may_approve:
            del settings["may_approve"]
        prompt = {**asdict(self.prompt), "budget": dict(sorted(self.prompt.budget.items()))}
        settings |= {"prompt": dict(sorted(prompt.items())), "limits": dict(sorted(self.limits.items()))}
        return dict(sorted(settings.items()))


class _OneReading(NamedTuple):
    """What an operation has read of profiles: profiles by folder and name, by folder the layers by name, and places."""

    profiles: dict[tuple[Path, str, str], Profile]
    layers: dict[Path, dict[str, _Layer]]
    found: dict[Hashable, Any]


_read_now: ContextVar[_OneReading | None] = ContextVar("profiles of this operation", default=None)


@contextmanager
def one_reading() -> Iterator[None]:
    """Within it each profile and each parent is read once, so that an operation works on one state of the profiles."""
    # An operation inside another one is part of it. Threads that run in its context share its reading.
    if _read_now.get() is not None:
        yield
        return
    begun = _read_now.set(_OneReading({}, {}, {}))
    try:
        yield
    finally:
        _read_now.reset(begun)


def found_once(key: Hashable, find: Callable[[], T]) -> T:
    """What ``find`` gives; within an operation it is asked once for a key."""
    known = _read_now.get()
    if known is None:
        return find()
    if key not in known.found:
        known.found[key] = find()
    found: T = known.found[key]
    return found


def load_profile(path: str | Path, *, config: Config | None = None) -> Profile:
    """The profile in the file at ``path``; its parents are in the same folder.

    With ``config`` its prompt defaults and limits lie under the profile's, aliases of categories are resolved, and a
    closed taxonomy bounds the patterns.

    Raises ``ConfigError`` (``schema``, ``selector``, ``yaml_syntax``), ``UnknownNameError`` for a missing parent, and
    ``UnreadableError``.
    """
    file, known = Path(path), _read_now.get()
    if file.suffix not in YAML_SUFFIXES and file.suffix.lower() in YAML_SUFFIXES:
        hint = f"Rename it to {file.name.lower()}: until then nothing reads it."
        raise ConfigError(
            f"the file of a profile ends in .yaml, not in {file.suffix}", code="bad_name", path=file, hint=hint
        )
    read = {} if known is None else known.layers.setdefault(file.parent, {})
    return _profile(_layers(file, read), config)


def find_profile(config: Config, name: str) -> Profile:
    """The profile of that name in the root's folder of profiles."""
    if not isinstance(name, str):
        raise wrong_type("the name of a profile", name)
    known, key = _read_now.get() or _OneReading({}, {}, {}), (config.root, config.profiles, name)
    if key in known.profiles:
        return known.profiles[key]
    folder = config.profiles_dir
    file = _file_of(folder, name) if is_name(name) else None
    if file is None and config.path is not None and not folder.exists():
        said = f"catmem.yaml has its profiles in {config.profiles}, and there is no such folder"
        hint = "Bring it back, or set 'profiles' in catmem.yaml to where it is."
        raise UnreadableError(said, code="missing", path=folder, hint=hint)
    if file is None:
        raise UnknownNameError(
            f"there is no profile {shown(name)}",
            path=folder,
            hint=suggestion(name, profile_names(folder), "profiles"),
        )
    layers = _layers(file, known.layers.setdefault(folder, {}))
    profile = known.profiles[key] = _profile(layers, config)
    return profile


def has_profile(config: Config, name: str) -> bool:
    """Whether there is a file for a profile of that name, as far as its folder lets that be seen."""
    return is_name(name) and _file_of(config.profiles_dir, name) is not None


def profile_names(folder: Path) -> list[str]:
    """The names of the profiles in ``folder``, sorted, without reading them."""
    return [file.stem for file in profile_files(folder) if is_name(file.stem) and file.suffix in YAML_SUFFIXES]


def agents_of(config: Config) -> dict[str, str]:
    """The profile of each agent of the root, by the agent; a profile is the agent of its own name."""
    return {name: name for name in profile_names(config.profiles_dir)} | dict(config.agents)


def named_entities(config: Config) -> list[str]:
    """Both files of each profile, also of one that is not right, and the entities that catmem.yaml declares."""
    files = (f"{name}/{target}" for name in profile_names(config.profiles_dir) for target in TARGETS)
    return [*files, *config.entities]


def is_root(config: Config) -> bool:
    """Whether the folder has a ``catmem.yaml``, or profiles at least."""
    return config.path is not None or (config.profiles_dir.is_dir() and bool(profile_names(config.profiles_dir)))


def refuse_no_root(config: Config) -> None:
    """Raise ``ConfigError`` (``no_root``) for a folder that is no root."""
    if not is_root(config):
        raise ConfigError(
            "no catmem.yaml was found here or above, and no profiles",
            code="no_root",
            path=config.root,
            hint="Go to the root or name it with --root; 'catmem init' makes one.",
        )


_DECLARE = "To declare it, write '{0}: {{}}' below taxonomy.categories in catmem.yaml."


def check_profile(profile: Profile, config: Config) -> None:
    """Raise ``UnknownNameError`` for a category that the profile names and a closed taxonomy does not declare."""
    # Exact names only, those with `!` in front too: a pattern that matches nothing is for lint to report.
    if not config.taxonomy.closed:
        return
    declared = config.taxonomy.declared()
    for key in SELECTOR_KEYS:
        for index, selector in enumerate(getattr(profile, key)):
            name = split(selector)[1]
            if not is_pattern(name) and name not in declared:
                message = f"the category {shown(name)} is not declared in the taxonomy, which is closed"
                hint = f"{suggestion(name, declared, 'declared categories')} {_DECLARE.format(name)}"
                raise UnknownNameError(message, hint=hint, **where_set(profile, key, index))


def memory_dir(profile: Profile, config: Config) -> Path:
    """The folder of the profile's memory files, absolute and with symbolic links resolved; it need not exist."""
    key = config.root, profile.name, profile.memory_dir
    return found_once(key, lambda: _memory_dir(profile, config))


def _memory_dir(profile: Profile, config: Config) -> Path:
    # It is inside the root unless the profile says `allow_outside: true` or `homes` of `catmem.yaml`, the owner's own
    # word, plainly leads elsewhere.
    if profile.memory_dir is None:
        named = config.home(profile.name)
        may_leave = not is_inside(os.path.abspath(named), os.path.abspath(config.root))  # noqa: PTH100 - by its words
    else:
        named = config.root / expand_user(profile.memory_dir)
        may_leave = False
    try:
        folder, root = os.path.realpath(named), os.path.realpath(config.root)
    except (OSError, RuntimeError) as error:
        hint = "Mend the symbolic links on the way to it."
        raise UnreadableError(f"cannot be resolved: {error}", code="symlink", path=named, hint=hint) from error
    if may_leave or profile.allow_outside or is_inside(folder, root):
        return Path(folder)
    message = f"the memory folder {shown(str(named))} leads out of the root"
    hint = "Choose a folder inside the root, or say allow_outside: true in the profile if this is meant."
    raise ConfigError(message, code="outside_root", hint=hint, **where_set(profile, "memory_dir"))


def where_set(profile: Profile, *key: str | int) -> ErrorPlace:
    """Where a setting stands, for an error: in the profile's own file, or in that of a parent which it has it from."""
    for file in profile.files if key[0] not in _NOT_INHERITED else profile.files[:1]:
        if key in file.positions:
            line, column = file.positions[key]
            return {"path": str(file.path), "line": line, "column": column, "key": key_text(key)}
        if key[0] in SELECTOR_KEYS and key[:1] in file.positions:
            break  # this list stands in the place of the parent's
    return {"path": profile.path, "key": key_text(key)}


def is_inside(path: str, folder: str) -> bool:
    """Whether a plain path, without ``..`` and links, is a folder or leads into it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# --- files ---------------------------------------------------------------------------------------------------------


def profile_files(folder: Path) -> list[Path]:
    """What is meant for a profile in ``folder``, also with an ending in capitals, by name; hidden files are none."""
    try:
        named = [file for file in folder.iterdir() if not file.name.startswith(".")]
        files = [file for file in named if file.suffix.lower() in YAML_SUFFIXES]
    except FileNotFoundError:
        return []
    except OSError as error:
        message = f"the folder of profiles cannot be read: {error.strerror or error}"
        raise UnreadableError(message, code="io", path=folder, hint="Check 'profiles' in catmem.yaml.") from error
    return sorted(files, key=lambda file: (file.stem, file.suffix))


def _file_of(folder: Path, name: str) -> Path | None:
    """The file of the profile ``name``, a checked name, or ``None``."""
    for suffix in YAML_SUFFIXES:
        file = folder / f"{name}{suffix}"
        if os.path.lexists(file):
            return file
    return None


class _Layer(NamedTuple):
    """One of the files that a profile is made of."""

    name: str
    path: Path
    file: YamlFile
    data: Mapping[str, Any]


def _layers(file: Path, read: dict[str, _Layer]) -> list[_Layer]:
    """The profile's own layer, its parent's, and so on; ``read`` keeps what was read in its folder."""
    layers: list[_Layer] = []
    layer = read.get(file.stem) or read.setdefault(file.stem, _read(file))
    while True:
        layers.append(layer)
        parent = layer.data.get("extends")
        if parent is None:
            return layers
        chain = [one.name for one in layers]
        if parent in chain:
            circle = " -> ".join((*chain[chain.index(parent) :], parent))
            message = f"the profiles extend each other in a circle: {circle}"
            raise layer.file.fault(("extends",), message, "Remove one 'extends' of the circle.")
        if len(chain) == _MAX_CHAIN:
            message = f"{file.stem} would be built of more than {_MAX_CHAIN} profiles that extend each other"
            hint = "Let one of them extend a profile further up, and write out what lies between."
            raise layer.file.fault(("extends",), message, hint)
        parent_file = _file_of(file.parent, parent)
        if parent_file is None:
            others = [name for name in profile_names(file.parent) if name not in chain]
            message = f"there is no profile {parent!r} to extend"
            hint = suggestion(parent, others, "profiles")
            raise layer.file.fault(("extends",), message, hint, code=UnknownNameError.code, kind=UnknownNameError)
        layer = read.get(parent) or read.setdefault(parent, _read(parent_file))


def _read(file: Path) -> _Layer:
    refuse_bad_name(file.stem, file)
    for suffix in YAML_SUFFIXES:
        if suffix != file.suffix and os.path.lexists(f"{os.fspath(file).removesuffix(file.suffix)}{suffix}"):
            message = f"the profile {file.stem} stands in two files, {file.name} and {file.stem}{suffix}"
            raise ConfigError(message, code="schema", path=file, hint="Remove one of them.")
    return _layer(file, read_bounded(file, YAML_LIMIT))


@lru_cache(maxsize=4096)
def _layer(file: Path, raw: bytes) -> _Layer:
    """The layer of a file with these bytes. Kept, since the same profiles are asked for again and again."""
    found = parse_yaml(raw, file)
    data = check_file(found, "profile")
    if found.data is None:
        # With every default in its place it would see what it was kept from.
        hint = "Bring back what it said. A profile without settings of its own says its name: 'name: {}'."
        raise found.fault((), "the file of the profile is empty", hint.format(file.stem))
    if data.get("name", file.stem) != file.stem:
        message = f"the name is {data['name']!r}, but the file is {file.name}"
        raise found.fault(("name",), message, "Rename one of the two, or leave 'name' out.")
    for key in SELECTOR_KEYS:
        for index, selector in enumerate(data.get(key, ())):
            wrong = selector_fault(selector)
            if wrong:
                raise found.fault((key, index), *wrong, code="selector")
    return _Layer(file.stem, file, found, data)


# --- merging -------------------------------------------------------------------------------------------------------


def _profile(layers: list[_Layer], config: Config | None) -> Profile:
    """The profile of its layers."""
    taxonomy = config.taxonomy if config else Taxonomy()
    settings = {"prompt": dict(config.prompt), "limits": dict(config.limits)} if config else {}
    own, *parents = layers
    for layer in reversed(parents):
        settings = _laid_over(settings, layer, taxonomy, left_out=_NOT_INHERITED)
    data = _laid_over(settings, own, taxonomy)
    plain = ("title", "extends", "seed_from", "memory_dir", "allow_outside", "include_uncategorized", "may_verify")
    return Profile(
        name=own.name,
        path=own.path,
        tier=int(data.get("tier", 2)),
        limits=data.get("limits", {}),
        domain=data.get("domain"),
        prompt=PromptSettings(**data.get("prompt", {})),
        stale_after=days(data["stale_after"]) if "stale_after" in data else None,
        declared=taxonomy.closed_slugs,
        files=tuple(layer.file for layer in layers),
        **{key: data[key] for key in (*plain, *SELECTOR_KEYS) if key in data},
    )


def _laid_over(
    below: Mapping[str, Any], layer: _Layer, taxonomy: Taxonomy, left_out: Collection[str] = ()
) -> dict[str, Any]:
    data = dict(below)
    for key, value in layer.data.items():
        if key not in left_out:
            data[key] = _merged(data.get(key), taxonomy.resolved(value) if key in SELECTOR_KEYS else value)
    return data


def _merged(below: Any, above: Any) -> Any:  # noqa: ANN401 - any YAML value
    """``above`` over ``below``: mappings key by key, everything else replaced."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}


HERMES_LIMITS = {"user": 1375, "memory": 2200}
"""The limits that Hermes Agent has by default for a file, in characters."""


def limit_of(owner: Profile, target: str, config: Config) -> int | None:
    """The limit of a profile's file in characters (code points): its own, else the root's."""
    return owner.limits.get(target, config.limits.get(target))
