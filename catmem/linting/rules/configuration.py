"""Rules on ``catmem.yaml``, profiles and schemas, and on entries by the schema of their category."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from catmem.config.config import CONFIG_NAME
from catmem.config.json_schema import SchemaFault, faults_by, schema_fault, suggestion, validate
from catmem.config.profile import SELECTOR_KEYS, Profile, SettingPlace
from catmem.config.selector import Selectors, is_pattern, split
from catmem.config.yamlfile import KeyPath, key_text
from catmem.errors import CatmemError, ConfigError
from catmem.linting.diagnostic import Finding
from catmem.linting.linted import Context, LintedEntry, LintedFile, LintedYaml, first_line
from catmem.linting.rule import rule
from catmem.names import UNCATEGORIZED

if TYPE_CHECKING:
    _CategorySchema: TypeAlias = Mapping[str, Any]


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


# --- schemas of categories, and entries that break them --------------------------------------------------------------


@rule("CM351", "tags-against-schema", severity="error")
def tags_against_schema(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries whose tags do not fit the schema of their category."""
    for entry, schema in _with_schema(file, context):
        for key, message, hint in _faults(schema, "tags", dict(entry.tags)):
            words = f"the tag {key_text(key)} {message}" if key else message
            if message.startswith("the key "):
                words = message.replace("the key ", "the tag ", 1)
            yield Finding(*first_line(entry), f"{words} (schema of {entry.category})", hint or "")


@rule("CM352", "body-against-schema", severity="error")
def body_against_schema(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries whose text does not fit the schema of their category."""
    for entry, schema in _with_schema(file, context):
        for _, message, hint in _faults(schema, "body", entry.body):
            # The text itself stands at the place of the finding.
            words = message.partition(", and is the text ")[0]
            words = "does not have the right form" if message.endswith(" does not have the right form") else words
            yield Finding(entry.start, entry.end, f"the text {words} (schema of {entry.category})", hint or "")


@rule("CM353", "number-of-entries")
def number_of_entries(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find categories with more or fewer entries in a file than their schema says."""
    groups: dict[str, tuple[_CategorySchema, list[LintedEntry]]] = {}
    for entry, schema in _with_schema(file, context):
        groups.setdefault(entry.category, (schema, []))[1].append(entry)
    for category, (schema, entries) in groups.items():
        number, there = schema.get("entries", {}), f"has {len(entries)} in this file"
        least, most = number.get("minItems", 0), number.get("maxItems")
        if most is not None and len(entries) > most:
            message = f"the category {category} may have {most} entries and {there}"
            yield Finding(*first_line(entries[most]), message, "Merge or remove entries.")
        elif len(entries) < least:
            message = f"the category {category} must have {least} entries and {there}"
            yield Finding(*first_line(entries[0]), message, "Add what is missing.")


@rule("CM408", "invalid-category-schema", severity="error", scope="config")
def invalid_category_schema(file: LintedYaml, context: Context) -> Iterator[Finding]:
    """Find schemas of categories that cannot be used."""
    if file.kind == "schema":
        name = file.path.rpartition("/")[2]
        used = any(category.schema == name for category in context.taxonomy.categories.values())
        if used and file.error is None:
            yield from _schema_findings(file, (), file.values)
        return
    for slug, category in context.taxonomy.categories.items():
        place = ("taxonomy", "categories", slug, "schema")
        if isinstance(category.schema, str):
            if category.schema not in context.schemas:
                message = f"there is no schema {category.schema!r} in the folder schemas"
                hint = suggestion(category.schema, context.schemas, "schema files")
                yield Finding(*file.span_of(place), message, hint)
        elif category.schema is not None:
            yield from _schema_findings(file, place, category.schema)


def _with_schema(file: LintedFile, context: Context) -> Iterator[tuple[LintedEntry, _CategorySchema]]:
    """The entries whose category has a schema that can be used; a broken one is a finding of the configuration."""
    declared = {slug: each.schema for slug, each in context.taxonomy.categories.items() if each.schema is not None}
    schemas: dict[str, _CategorySchema] = {}
    for slug in {entry.category for entry in file.entries} & declared.keys() if declared else ():
        named = declared[slug]
        said = context.schemas.get(named) if isinstance(named, str) else named
        if said is not None and not _faults_of_schema(said):
            schemas[slug] = said
    return ((entry, schemas[entry.category]) for entry in file.entries if entry.category in schemas)


def _faults(schema: _CategorySchema, part: str, value: object) -> list[tuple[KeyPath, str, str | None]]:
    return faults_by(json.dumps(schema[part], sort_keys=True), value) if part in schema else []


def _schema_findings(file: LintedYaml, place: KeyPath, said: object) -> Iterator[Finding]:
    for fault in _faults_of_schema(said):
        key = key_text(fault.key)
        words = fault.message.replace("the file ", "the schema ", 1)
        message = f"this schema cannot be used: {key}: {words}" if key else words
        yield Finding(*file.span_of((*place, *fault.key)), message, fault.hint or "")


def _faults_of_schema(said: Any) -> list[SchemaFault]:  # noqa: ANN401 - any YAML value
    """What is wrong with a schema of entries itself; none for one that can be used."""
    found = validate(said, "category")
    for part in ("tags", "body") if not found else ():
        wrong = schema_fault(said[part]) if part in said else None
        if wrong is not None:
            hint = "See the keywords of JSON Schema, draft 2020-12, and docs/schemas.md."
            found.append(SchemaFault((part, *wrong[0]), wrong[1], hint))
    return found
