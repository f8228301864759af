"""Rules on ``catmem.yaml`` and profiles of a root."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from catmem.config.config import CONFIG_NAME
from catmem.config.json_schema import suggestion, validate
from catmem.config.profile import SELECTOR_KEYS
from catmem.config.selector import is_pattern, split
from catmem.config.yamlfile import key_text
from catmem.errors import ConfigError
from catmem.linting.diagnostic import Finding
from catmem.linting.rule import rule
from catmem.names import UNCATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from catmem.config.profile import Profile, SettingPlace
    from catmem.config.selector import Selectors
    from catmem.config.yamlfile import KeyPath
    from catmem.errors import CatmemError
    from catmem.linting.linted import Context, LintedFile, LintedYaml

_CHAIN = frozenset({"extends_cycle", "extends_depth", "unknown_name"})
_OUTSIDE = "outside_root"
_TARGETS = {"user_memory_categories": "user", "memory_categories": "memory"}


@rule("CM401", "invalid-configuration", severity="error", scope="config")
def invalid_configuration(file: LintedYaml, _: Context) -> Iterator[Finding]:
    """Find what is wrong in `catmem.yaml`, and schema files that are no YAML."""
    yield from _invalid(file, "config" if file.kind == "config" else None)


@rule("CM402", "invalid-profile", severity="error", scope="profile")
def invalid_profile(file: LintedYaml, _: Context) -> Iterator[Finding]:
    """Find profiles that cannot be used as they are."""
    if file.error is None or file.error.code not in {*_CHAIN, _OUTSIDE}:
        yield from _invalid(file, "profile")


@rule("CM403", "undeclared-selector", scope="profile")
def undeclared_selector(file: LintedYaml, context: Context) -> Iterator[Finding]:
    """Find selectors of a profile that match no category of a closed taxonomy."""
    if file.profile is None or not context.taxonomy.closed:
        return
    declared = context.taxonomy.declared()
    for key, selector in _unmatched(file.profile, set(declared.values()), context):
        hint = suggestion(split(selector)[1], declared, "declared categories")
        yield Finding(*_span(file, key), f"{selector!r} matches no declared category", hint)


@rule("CM404", "broken-extends", severity="error", scope="profile")
def broken_extends(file: LintedYaml, _: Context) -> Iterator[Finding]:
    """Find profiles that extend each other in a circle, too deeply, or a profile that is not there."""
    if file.error is not None and file.error.code in _CHAIN:
        yield _at_error(file, file.error)


@rule("CM405", "unread-category", severity="hint", scope="config")
def unread_category(file: LintedYaml, context: Context) -> Iterator[Finding]:
    """Find declared categories that no profile reads."""
    if file.kind != "config" or not context.profiles:
        return
    reading = _reading(context.profiles.values(), context)
    for category in context.taxonomy.categories:
        if not any(selectors.matches(category) for selectors in reading):
            place = ("taxonomy", "categories", category)
            yield Finding(*file.span_of(place), f"no profile reads the category {category}", "Name it in a profile.")


@rule("CM406", "writable-not-readable", scope="profile")
def writable_not_readable(file: LintedYaml, context: Context) -> Iterator[Finding]:
    """Find categories that a profile may write and not read."""
    profile = file.profile
    if profile is None:
        return
    writable, reading = profile.writable(context.taxonomy), _reading([profile], context)
    named = [name for negative, name in map(split, writable.patterns) if not negative and not is_pattern(name)]
    for category in dict.fromkeys((*named, *context.taxonomy.categories)):
        if writable.matches(category) and not any(each.matches(category) for each in reading):
            place = ("writable_categories", writable.position(category) or 0)
            message = f"{profile.name} may write {category} and does not read it"
            yield Finding(*_span(file, place), message, "Add it to what the profile reads.")


@rule("CM407", "memory-outside-root", severity="error", scope="profile")
def memory_outside_root(file: LintedYaml, _: Context) -> Iterator[Finding]:
    """Find profiles whose memory folder lies outside the root."""
    if file.error is not None and file.error.code == _OUTSIDE:
        yield _at_error(file, file.error)


@rule("CM409", "selector-without-match", scope="root")
def selector_without_match(files: Mapping[str, LintedFile], context: Context) -> Iterator[Finding]:
    """Find selectors that match no category of any file, and those of `approval` in `catmem.yaml`."""
    config, taxonomy, said = context.config_file, context.taxonomy, "matches no category that is declared or in a file"
    if not files and not taxonomy.closed:
        return
    present = {*taxonomy.categories}
    for file in files.values() if not taxonomy.closed else ():
        present.update(header.category for header in file.headers)
        present.update(entry.category for entry in file.entries)
    known = {*present, UNCATEGORIZED}
    policy = context.config.approval
    selected = {"categories": policy.categories, "promote": policy.promote} if policy is not None else {}
    for name, selectors in selected.items():
        for selector in selectors.unmatched(known):
            at = ("approval", name, selectors.patterns.index(selector))
            hint = suggestion(split(selector)[1], known, "categories")
            if config is not None:
                yield Finding(*config.span_of(at), f"{selector!r} {said} ({key_text(at)})", hint, path=config.path)
    for profile in context.profiles.values() if not taxonomy.closed else ():
        for key, selector in _unmatched(profile, known, context):
            place = profile.places.get(key)
            if place is not None:
                hint = suggestion(split(selector)[1], present, "categories")
                yield _at_place(f"{selector!r} {said}", hint, place, key, context)


@rule("CM410", "nobody-reads", severity="hint", scope="root")
def unread_sections(files: Mapping[str, LintedFile], context: Context) -> Iterator[Finding]:
    """Find sections of a profile's file whose category no profile reads."""
    if not context.profiles:
        return
    known = {*context.taxonomy.declared(), UNCATEGORIZED}
    reading, profiles = _reading(context.profiles.values(), context), context.profiles.values()
    is_read = cache(lambda category: any(each.matches(category) for each in reading))
    said = {split(each)[1] for profile in profiles for key in SELECTOR_KEYS for each in getattr(profile, key)}
    named = {*context.taxonomy.categories, *(name for name in said if not is_pattern(name))}
    for path, file in files.items():
        first = {header.category: header for header in reversed(file.headers)} if file.owner is not None else {}
        for category, header in reversed(first.items()):
            if category not in known and not is_read(category):
                message = f"no profile reads the category {category}"
                yield Finding(header.start, header.end, message, suggestion(category, named, "categories"), path=path)


@rule("CM411", "broken-seed-from", severity="error", scope="root")
def broken_seed_from(_: Mapping[str, LintedFile], context: Context) -> Iterator[Finding]:
    """Find profiles that are seeded from each other in a circle, or from a profile that is not there."""
    said: set[Finding] = set()
    for profile in context.profiles.values():
        place, source, chain = profile.places.get(("seed_from",)), profile.seed_from, [profile.name]
        if place is None or source is None:
            continue
        fault = f"there is no profile {source!r} to be seeded from"
        hint = suggestion(source, context.profiles, "profiles")
        if source in context.profiles:
            while source is not None and source in context.profiles and source not in chain:
                chain.append(source)
                source = context.profiles[source].seed_from
            if source != profile.name:
                continue  # a circle further up is said of those who are in it
            fault = f"the profiles are seeded from each other in a circle: {' -> '.join([*chain, profile.name])}"
            hint = "Remove one 'seed_from' of the circle."
        found = _at_place(fault, hint, place, ("seed_from",), context)
        if found not in said:
            said.add(found)  # one that several inherit is said once
            yield found


@rule("CM413", "unknown-entity-profile", scope="config")
def unknown_entity_profile(file: LintedYaml, context: Context) -> Iterator[Finding]:
    """Find names under `writers` and `readers` of a declared entity that no profile has."""
    if file.kind != "config":
        return
    for entity, declared in context.config.entities.items():
        for key in ("writers", "readers"):
            for number, name in enumerate(getattr(declared, key)):
                if name not in context.profiles:
                    hint = suggestion(name, context.profiles, "profiles")
                    place = ("entities", entity, key, number)
                    yield Finding(*file.span_of(place), f"{key} of {entity}: there is no profile {name!r}", hint)


def _invalid(file: LintedYaml, schema: str | None) -> Iterator[Finding]:
    """Every fault by the schema, else the error that loading stopped at."""
    values = {} if file.values is None and file.error is None else file.values
    faults = validate(values, schema, positions=file.positions) if schema and values is not None else []
    for fault in faults:
        key = key_text(fault.key)
        yield Finding(*file.span_of(fault.key), f"{key}: {fault.message}" if key else fault.message, fault.hint or "")
    if file.error is not None and not faults:
        yield _at_error(file, file.error)
    for error in file.further:
        yield _at_error(file, error)


def _at_error(file: LintedYaml, error: CatmemError) -> Finding:
    # One in a parent's file is reported here all the same, on line 1.
    is_here = error.path is None or str(error.path).replace("\\", "/").endswith(file.path)
    place = (error.line, error.column) if isinstance(error, ConfigError) and is_here else (1, 1)
    return Finding(*file.span_at(*place), error.message, error.hint or "")


def _unmatched(profile: Profile, known: set[str], context: Context) -> Iterator[tuple[KeyPath, str]]:
    """The selectors that match none of the ``known`` categories, with their keys."""
    taxonomy = context.taxonomy
    for key in SELECTOR_KEYS:
        target = _TARGETS.get(key)
        others = profile.approvable if key == "may_approve" else profile.writable
        selectors = profile.selectors(target, taxonomy) if target else others(taxonomy)
        unmatched = set(selectors.unmatched(known))
        # Aliases are resolved one by one, so an index is the same in both lists.
        for index, (said, resolved) in enumerate(zip(getattr(profile, key), selectors.patterns, strict=True)):
            if resolved in unmatched:
                yield (key, index), said


def _span(file: LintedYaml, key: KeyPath) -> tuple[int, int]:
    """The span of a setting; the first line for one that the profile inherits from another file."""
    return file.span_of(key) if key[:1] in file.positions else file.span_at(1)


def _reading(profiles: Iterable[Profile], context: Context) -> list[Selectors]:
    return [each.selectors(target, context.taxonomy) for each in profiles for target in _TARGETS.values()]


def _at_place(message: str, hint: str, place: SettingPlace, key: KeyPath, context: Context) -> Finding:
    """A finding in a file that was not read with its positions: the message names the setting and its line."""
    name, root = place.path.replace("\\", "/"), f"{context.config.root}".replace("\\", "/").rstrip("/") + "/"
    message = f"{message} ({key_text(key)}, line {place.line})"
    return Finding(0, 0, message, hint, path=name.removeprefix(root) or CONFIG_NAME)
