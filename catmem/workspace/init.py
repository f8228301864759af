"""Make a root: the files of ``catmem init``, and the lines of ``catmem init --git``.

No file that exists is ever changed, but for lines added to a ``.gitignore`` and, with ``--git``, to ``.gitattributes``,
and for ``SEES_ALL`` in a profile that is named again. ``.gitattributes`` is committed and names the files which git
merges and shows by catmem; the repository's own configuration, which each clone has to itself, says what to run. What
another person set in it stays as it is.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from catmem.config.access import Rights, targets_read
from catmem.config.config import CONFIG_NAME, Config, Selectors, Taxonomy, config_of, load_config, refuse_bad_name
from catmem.config.json_schema import nearest, shown
from catmem.config.profile import (
    HERMES_LIMITS,
    ORCHESTRATOR_TIER,
    SELECTOR_KEYS,
    Profile,
    find_profile,
    profile_names,
    refuse_no_root,
)
from catmem.config.yamlfile import YAML_LIMIT, parse_yaml, scalar, with_categories
from catmem.errors import ConfigError, UnknownNameError, UnreadableError, WouldOverwriteError, errors_at
from catmem.files import os_errors, read_bounded, rewrite_file
from catmem.model.document import parse
from catmem.names import FILE_NAMES
from catmem.resources import example_files, package_text, profile_texts
from catmem.seeding.seed_lock import LOCK_NAME
from catmem.text import MAX_FILE_BYTES, size_of
from catmem.workspace.root import run_git

_SHARING = 2
"""A category of another kind of specialist is declared if so many of those that are made read it."""


_IGNORED = (".catmem/", "*.bak.*")
_GIT_FILE_LIMIT = 1 << 20

_SLIP = 0.85
"""How like a shipped name a name is that is taken for a slip of it: ``seo`` and ``web-specialist`` are not."""

_START = "workspace/start"
"""What a new root is made of, in the package."""
SEES_ALL = "workspace/start/sees_all.yaml"
"""How the profile of another program's agent says that it sees and writes all of its own files."""
ORCHESTRATOR = "orchestrator"
_HOME = f"homes/{ORCHESTRATOR}"


_NOT_MEMORY = (
    "Nothing was written. Name one USER.md (about the user), one MEMORY.md (notes), or their folder; catmem import "
    "takes what other programs keep."
)


class NewCategory(NamedTuple):
    """A category of new specialists; it is ``shared`` if all specialists of the root read it, old and new."""

    slug: str
    about: str
    readers: tuple[str, ...]
    writers: tuple[str, ...]
    shared: bool


@dataclass(frozen=True, slots=True)
class NewRoot:
    """What ``make_root`` did: paths relative to the root. ``kept`` were there already, with the same content.

    ``categories`` are those of new specialists, ``notes`` what else a person should know. ``source`` is the profile
    that specialists are seeded from, ``folder`` where profiles are.
    """

    root: Path
    written: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    categories: tuple[NewCategory, ...] = ()
    source: str = ORCHESTRATOR
    folder: str = "profiles"
    next: tuple[str, ...] = ()
    """The commands to type after a root that a plugin makes."""


class _RootFiles(NamedTuple):
    """The files of a root, and what is said of them; ``edits`` are names, old texts and new texts."""

    files: Mapping[str, bytes]
    said: NewRoot
    edits: Sequence[tuple[str, str, str]] = ()


def make_root(
    folder: str | Path,
    *,
    example: bool = False,
    profiles: Sequence[str] = (),
    start: Iterable[str | Path] = (),
    dry_run: bool = False,
) -> NewRoot:
    """Write a configuration, profiles and a memory file into ``folder``, which is made if it is missing.

    In a root that is there already, ``profiles`` alone are added to it.
    """
    root, memory = Path(folder), _memory_files(start)
    is_there = bool(profiles) and not (example or memory) and os.path.lexists(root / CONFIG_NAME)
    if example:
        shipped = {f"profiles/{name}.yaml": text.encode() for name, text in profile_texts().items()}
        plan = _RootFiles({**shipped, **example_files()}, NewRoot(root))
    elif is_there:
        plan = _more_profiles(root, profiles)
    else:
        plan = _first_files(root, profiles or (ORCHESTRATOR,), memory)
    kept = tuple(name for name, data in sorted(plan.files.items()) if has_bytes(root / name, data))
    new = {name: data for name, data in sorted(plan.files.items()) if name not in kept}
    refuse_what_is_there(root, new, is_there=is_there)
    to_ignore = "" if is_there else _lines_to_add(root / ".gitignore", _IGNORED)
    if not dry_run:
        _write(root, new, to_ignore)
        for name, old, text in plan.edits:
            rewrite_file(root / name, old.encode(), text.encode())
    written = (*new, *(name for name, *_ in plan.edits), *([".gitignore"] if to_ignore else []))
    said = plan.said if CONFIG_NAME in written or (is_there and written) else NewRoot(root)
    return replace(said, written=written, kept=kept)


def _first_files(root: Path, names: Sequence[str], memory: Mapping[str, bytes]) -> _RootFiles:
    """The files of a new root with these profiles, and the orchestrator's first memory."""
    shipped = profile_texts()
    own, titles, unknown = _specialists(names, starting_categories())
    chosen = _chosen(shipped, names, own)
    places = {target: f"{_HOME}/{name}" for target, name in FILE_NAMES.items()}
    sizes = {target: size_of(memory[name].decode()) for target, name in places.items() if name in memory}
    large = {target: size for target, size in sizes.items() if 3 * size >= 2 * HERMES_LIMITS[target]}
    limits = ", ".join(f"{target}: {limit}" for target, limit in HERMES_LIMITS.items() if target not in large)
    said = f"limits: {{{limits}}}{'' if limits else '  # none: your files are too large'}\n"
    config = _config_for(chosen, titles) + said.encode()
    files = {f"profiles/{name}.yaml": text.encode() for name, text in chosen.items()}
    files |= {CONFIG_NAME: config, **memory}
    first, user = places["user"], package_text(f"{_START}/USER.md").encode()
    if not memory and (has_bytes(root / first, user) or not os.path.lexists(root / first)):
        files[first] = user
    over = (
        f"{places[target]} has {size:,} characters, and Hermes Agent lets it have {HERMES_LIMITS[target]:,}, which "
        f"leaves too little room for headings and tags; so catmem.yaml sets no limit for {target}"
        for target, size in large.items()
    )
    categories = _with_readers(titles, _as_profiles(chosen).values(), Taxonomy())
    return _RootFiles(files, NewRoot(root, notes=(*over, *unknown), categories=categories))


def _more_profiles(root: Path, names: Sequence[str]) -> _RootFiles:
    """Profiles for a root that is there, and in its ``catmem.yaml`` the categories that it does not declare yet."""
    refuse_bad_names(names)
    config, shipped = load_config(root), profile_texts()
    place = os.path.relpath(config.profiles_dir, config.root)
    there = {name: find_profile(config, name) for name in profile_names(config.profiles_dir)}
    # A root over the files of another program has a profile of its own in the orchestrator's place.
    first = [name for name, profile in there.items() if profile.tier == ORCHESTRATOR_TIER]
    source = first[0] if len(first) == 1 else ORCHESTRATOR
    own, titles, notes = _specialists(names, config.taxonomy.categories, place, source)
    declaration = plan_declaration(config, titles)
    # The configuration is first: after a stop between the two a profile can still be changed.
    edits = [(CONFIG_NAME, declaration.old, declaration.new)] if declaration.new != declaration.old else []
    changed: dict[str, str] = {}
    for name in sorted(own.keys() & there.keys() - {*first}):
        at = os.path.relpath(there[name].path or "", config.root)
        before = read_bounded(config.root / at, YAML_LIMIT).decode()
        if package_text(SEES_ALL) in before:
            lists = own.pop(name).partition("\n\n")[2]  # those of a new specialist
            after = before.replace(package_text(SEES_ALL), lists)
            changed[name] = re.sub("^# seed_from: ", "seed_from: ", after, flags=re.MULTILINE)
            edits.append((at, before, changed[name]))
            notes.append(f"{name} saw all of its own files, and now what it names: catmem sort -p {name}")
    texts = {
        name: text.replace(f"seed_from: {ORCHESTRATOR}", f"seed_from: {source}")
        for name, text in _chosen(shipped, [each for each in names if each not in changed], own).items()
        if name in names or name not in {*there, *({ORCHESTRATOR} - {source})}
    }
    every = (there | _as_profiles(texts | changed)).values()
    categories = _with_readers(titles, every, declaration.config.taxonomy)
    files = {f"{place}/{name}.yaml": each.encode() for name, each in texts.items()}
    said = NewRoot(root, notes=tuple(notes), categories=categories, source=source, folder=place)
    return _RootFiles(files, said, edits)


@dataclass(frozen=True, slots=True)
class Declaration:
    """The text of ``catmem.yaml`` before and after some categories are declared in it, and what it then says."""

    old: str
    new: str
    config: Config


def plan_declaration(config: Config, titles: Mapping[str, str]) -> Declaration:
    """What ``catmem.yaml`` becomes with the categories of these titles, those that it declares already left out."""
    refuse_no_root(config)
    path = config.root / CONFIG_NAME
    old = read_bounded(path, YAML_LIMIT).decode()
    missing = {slug: title for slug, title in titles.items() if slug not in config.taxonomy.categories}
    new = with_categories(old, missing, path) if missing else old
    return Declaration(old, new, config_of(config.root, new))


def _as_profiles(texts: Mapping[str, str]) -> dict[str, Profile]:
    """What the texts of new profiles say of themselves; none of them has a selector from what it extends."""
    made = {}
    for name, text in texts.items():
        said = parse_yaml(text).data
        settings = {key: said[key] for key in ("tier", "extends", "include_uncategorized") if key in said}
        settings |= {key: tuple(said[key]) for key in SELECTOR_KEYS if key in said}
        made[name] = Profile(name, **settings)
    return made


def _with_readers(slugs: Iterable[str], every: Collection[Profile], taxonomy: Taxonomy) -> tuple[NewCategory, ...]:
    """New categories with those of all profiles of the root that read and write them."""
    usual, made = kits()["categories"], list[NewCategory]()
    specialists = [each for each in every if each.tier != ORCHESTRATOR_TIER and not each.is_base(every)]
    specialists.sort(key=lambda each: each.name)
    for slug in slugs:
        about = usual.get(slug, {"about": f"What {slug} works on."})["about"]
        readers = tuple(each.name for each in specialists if targets_read(slug, each, taxonomy))
        writers = tuple(each.name for each in specialists if Rights(each, "user", taxonomy).may_write(slug))
        made.append(NewCategory(slug, about, readers, writers, shared=len(readers) == len(specialists)))
    return tuple(made)


def refuse_what_is_there(root: Path, files: Iterable[str], *, is_there: bool) -> None:
    """Raise ``WouldOverwriteError`` for files with another content, and for links that lead out of a new root."""
    # The root may have another author, and nothing outside it is to be written.
    for folder in [] if is_there else [each for name in files for each in reversed(Path(name).parents[:-1])]:
        if (root / folder).is_symlink():
            said = "is a symbolic link, and a new root is not written through links"
            hint = "Nothing was written. Put a folder there, or move the link away."
            raise UnreadableError(said, code="symlink", path=root / folder, hint=hint)
    in_the_way = [name for name in files if os.path.lexists(root / name)]
    if in_the_way:
        hint = "Choose another folder or name, or move them away first. 'catmem init --profile NAME' adds a specialist."
        if CONFIG_NAME in in_the_way:
            hint += " 'catmem import --from hermes -p orchestrator FOLDER' brings the notes in a folder into this root."
        raise WouldOverwriteError(root, in_the_way, hint)


def _write(root: Path, files: Mapping[str, bytes], to_ignore: str) -> None:
    hint = "Choose a folder that this user may write. What was written before stays; run it again to go on."
    with os_errors("cannot be written", path=root, hint=hint, named=True):
        root.mkdir(parents=True, exist_ok=True)
        _append(root / ".gitignore", to_ignore)
        # The configuration comes last: with it the folder is a root, to which profiles alone are added.
        for name in sorted(files, key=CONFIG_NAME.__eq__):
            put_new(root / name, files[name])


def put_new(path: Path, data: bytes) -> None:
    """Put a file where none is. A stop leaves all of it or nothing: half would be in the way when it is run again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        with new.open("xb") as stream:
            stream.write(data)
        os.link(new, path)  # and no rename, which would replace what another program has put there meanwhile
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS}:
            raise
        new.rename(path)  # this file system has no links
    finally:
        new.unlink(missing_ok=True)


def has_bytes(path: Path, data: bytes) -> bool:
    """Whether a path is a file with just these bytes."""
    return path.is_file() and path.stat().st_size == len(data) and read_bounded(path, len(data)) == data


# --- memory to start with ------------------------------------------------------------------------------------------


def memory_paths(place: Path) -> list[Path]:
    """The memory file at a place, or those in a folder. Raises ``ConfigError`` and ``UnreadableError`` for none."""
    if not place.is_dir():
        if place.exists() and place.name not in FILE_NAMES.values():
            raise ConfigError(f"{place} is no memory file", code="not_memory", hint=_NOT_MEMORY)
        return [place]
    found = [place / name for name in FILE_NAMES.values() if (place / name).exists()]
    if not found:
        hint = "Nothing was written. The names are in capitals: user.md is not read."
        raise UnreadableError("holds no USER.md and no MEMORY.md", code="missing", path=place, hint=hint)
    return found


def _memory_files(start: Iterable[str | Path]) -> dict[str, bytes]:
    """The bytes of memory files, and of those in folders, by where they go."""
    found: dict[str, bytes] = {}
    for path in (each for place in start for each in memory_paths(Path(place))):
        name = f"{_HOME}/{path.name}"
        if name in found:
            raise ConfigError(f"{path} is the second {path.name}", code="not_memory", hint=_NOT_MEMORY)
        found[name] = data = read_bounded(path, MAX_FILE_BYTES)
        with errors_at(path):
            parse(data)
    return found


# --- profiles and their categories ---------------------------------------------------------------------------------


@cache
def kits() -> Mapping[str, Any]:
    """``shared`` slugs, ``kits`` with ``names``, ``own`` and ``reads``, ``categories`` with ``about`` and words."""
    data: Mapping[str, Any] = parse_yaml(package_text(f"{_START}/kits.yaml")).data
    return data


def starting_categories() -> dict[str, str]:
    """The titles of the categories that a new root declares, by slug."""
    declared = parse_yaml(package_text(f"{_START}/{CONFIG_NAME}")).data["taxonomy"]["categories"]
    return {slug: category["title"] for slug, category in declared.items()}


def _specialists(
    names: Sequence[str], standing: Collection[str], place: str = "profiles", source: str = ORCHESTRATOR
) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """The profiles of those names that are not shipped, the titles of their categories, and what a person should know.

    ``standing`` categories are declared already; the files go to ``place``, and what they hold comes from ``source``.
    """
    data, found, notes = kits(), dict[str, Mapping[str, list[str]]](), list[str]()
    for name in (each for each in dict.fromkeys(names) if each not in profile_texts()):
        role, words = role_of(name), _words_of(name)
        found[name] = kit = data["kits"].get(role, {"own": [words], "reads": []})
        if role not in {None, words}:
            said = f"{name} got what a specialist of the kind {role} usually sees"
            notes.append(f"{said}: change it in {place}/{name}.yaml")
        near = nearest(name, [each for kind in data["kits"].values() for each in kind["names"]], _SLIP)
        notes += [
            f"catmem does not know what {name} works on{f' (did you mean {near}?)' if near else ''}, and made the "
            f"category {slug}: name others in {place}/{name}.yaml"
            for slug in set(kit["own"]) - data["categories"].keys()
        ]
    if not found:
        return {}, {}, []
    read = Counter(slug for kit in found.values() for slug in kit["reads"])
    own = [slug for kit in found.values() for slug in kit["own"]]
    also = [slug for slug, count in read.items() if count >= _SHARING or slug in standing]
    declared = {slug: slug.replace("-", " ").title() for slug in (*data["shared"], *own, *also)}
    # A budget cuts the last categories first.
    seen = {name: [*dict.fromkeys((*kit["own"], *data["shared"], *kit["reads"]))] for name, kit in found.items()}
    form = package_text(f"{_START}/specialist.yaml")
    profiles = {
        name: form.format(
            title=re.sub("[-_]", " ", name).capitalize(),
            seen=", ".join(scalar(slug) for slug in seen[name] if slug in declared),
            own=", ".join(map(scalar, kit["own"])),
            source=source,
        )
        for name, kit in found.items()
    }
    return profiles, declared, notes


def role_of(name: str) -> str | None:
    """The kind of the longest name that stands in ``name`` as whole words: "my-tax-advisor" is of finance.

    The subject counts more than the words of a ``general`` kind: "travel-planner" is of home, "project-manager" is not.
    """
    words, all_kits = _words_of(name), kits()["kits"]
    said = [(each, role) for role, kit in all_kits.items() for each in kit["names"] if f"-{each}-" in f"-{words}-"]
    found = [(each == words, "general" not in all_kits[role], len(each), role) for each, role in said]
    return max(found)[-1] if found else None


def _words_of(name: str) -> str:
    """A name as kits spell theirs. Of a name of no kit the one category is called so."""
    return re.sub("[^a-z0-9]+", "-", name).strip("-")


def refuse_bad_names(names: Iterable[str]) -> None:
    """Raise ``UnknownNameError`` for a slip of a shipped profile, ``ConfigError`` for what no profile can be called."""
    shipped = profile_texts()
    others = [name for name in names if name not in shipped]
    slips = {name: near for name in others if (near := nearest(name.lower(), shipped, _SLIP))}
    if slips:
        said = ", ".join(f"{shown(name)} (perhaps {near})" for name, near in slips.items())
        hint = f"Nothing was written. Shipped are {', '.join(shipped)}. A new one needs a name that is less like them."
        raise UnknownNameError(f"there is no shipped profile {said}", hint=hint)
    for name in others:
        refuse_bad_name(name)


def _chosen(shipped: Mapping[str, str], names: Sequence[str], own: Mapping[str, str]) -> dict[str, str]:
    """The profiles of these names, and what they extend or are seeded from: shipped ones, and new specialists."""
    refuse_bad_names(names)
    known = {**shipped, **own}
    chosen: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in chosen:
            chosen[name] = known[name]
            said = parse_yaml(known[name]).data
            waiting += [said[key] for key in ("extends", "seed_from") if key in said]
    return chosen


def _config_for(profiles: Mapping[str, str], new: Mapping[str, str]) -> bytes:
    """The first configuration, with the categories of the worked example that these profiles name, and ``new`` ones."""
    example = parse_yaml(example_files()[CONFIG_NAME]).data["taxonomy"]["categories"]
    own, said = starting_categories(), [parse_yaml(text).data for text in profiles.values()]
    named = [selector for each in said for key in SELECTOR_KEYS for selector in each.get(key, ())]
    selectors = Selectors(tuple(each.removeprefix("!") for each in named if each != "*"))
    titles = {slug: each["title"] for slug, each in example.items() if slug not in own and selectors.matches(slug)}
    titles |= {slug: title for slug, title in new.items() if slug not in own}
    return with_categories(package_text(f"{_START}/{CONFIG_NAME}"), titles, Path(CONFIG_NAME)).encode()


# --- git -------------------------------------------------------------------------------------------------------------

ATTRIBUTES = ".gitattributes"
CONFIG = {
    "merge.catmem.name": "catmem: memory files, entry by entry",
    "merge.catmem.driver": "catmem merge-driver %O %A %B %P",
    "diff.catmem.textconv": "catmem diff --git --",
    "diff.catmem.xfuncname": "^## .*$",
}
"""What the repository's configuration is given; the last lets git name the section above each change."""

_LINES = (*(f"{name} merge=catmem diff=catmem" for name in FILE_NAMES.values()), f"{LOCK_NAME} merge=catmem")


@dataclass(frozen=True, slots=True)
class GitSetup:
    """What ``set_up_git`` did. ``attributes`` and ``config`` are what was added, empty the second time."""

    repository: Path
    attributes: tuple[str, ...]
    config: tuple[str, ...]
    warnings: tuple[str, ...]
    """What keeps git from using it."""


def find_repository(folder: str | Path) -> Path:
    """The top of the git working tree that ``folder``, or the nearest folder above it that exists, lies in."""
    start = Path(os.path.abspath(folder))  # noqa: PTH100 - absolute() keeps "..", which parents would climb through
    nearest = next(each for each in (start, *start.parents) if each.is_dir())
    done = _git(nearest, "rev-parse", "--show-toplevel")
    if done.returncode:
        hint = "Nothing was written. Run 'git init' first, or leave --git out."
        raise ConfigError("is in no git repository", code="no_repository", path=folder, hint=hint)
    return Path(done.stdout.rstrip("\n"))


def set_up_git(root: str | Path) -> GitSetup:
    """Write what git needs to merge the memory files of ``root`` by entry; what is there already stays."""
    folder = Path(root)
    repository = find_repository(folder)
    missing = _lines_to_add(folder / ATTRIBUTES, _LINES)
    config, warnings = _set_config(folder)
    hint = "Choose a folder that this user may write. Running it again goes on."
    with os_errors("cannot be written", path=folder / ATTRIBUTES, hint=hint):
        _append(folder / ATTRIBUTES, missing)
    if shutil.which("catmem") is None:
        warnings.append(
            "there is no catmem on PATH, and git runs it from there: a merge would leave our side alone in the file"
        )
    added = tuple(missing.strip("\n").split("\n")) if missing else ()
    return GitSetup(repository, added, tuple(config), tuple(warnings))


def _set_config(folder: Path) -> tuple[list[str], list[str]]:
    """The settings that were made, and warnings of those that a person made otherwise."""
    made: list[str] = []
    warnings: list[str] = []
    for key, value in CONFIG.items():
        present = _git(folder, "config", "--local", "--get-all", key).stdout.rstrip("\n")
        if not present:
            done = _git(folder, "config", "--local", key, value)
            if done.returncode:
                said = done.stderr.strip() or f"git config ended with status {done.returncode}"
                raise ConfigError(said, code="git", path=folder, hint="Do what git says, then run this again.")
            made.append(f"{key} = {value}")
        elif present != value:
            warnings.append(f"{key} is {present!r} in this repository, and was left so; catmem's own is {value!r}")
    return made, warnings


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return run_git("-C", str(folder), *arguments)
    except FileNotFoundError:
        hint = "Nothing was written. Install git, or leave --git out."
        raise ConfigError("there is no git on PATH", code="no_git", hint=hint) from None


def _append(path: Path, text: str) -> None:
    if text:
        with path.open("a", encoding="utf-8", newline="") as stream:
            stream.write(text)


def _lines_to_add(path: Path, wanted: Iterable[str]) -> str:
    """What to add to a file of git's for the ``wanted`` lines, with a newline in front if its last line has none."""
    present = ""
    if os.path.lexists(path):
        with errors_at(hint="Nothing was written. Put a file there, or move away what is there."):
            # Git follows no link here, and nothing outside the folder is to be written.
            present = read_bounded(path, _GIT_FILE_LIMIT, follow_symlink=False).decode(errors="replace")
    lines = {" ".join(line.split()) for line in present.split("\n")}
    missing = [line for line in wanted if line not in lines]
    start = "\n" if missing and present and not present.endswith("\n") else ""
    return start + "".join(f"{line}\n" for line in missing)
