"""Rules on ``catmem.yaml``, profiles and schemas, and on entries by the schema of their category."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from catmem.config.config import Selectors, is_pattern, split
from catmem.config.json_schema import SchemaFault, faults_by, schema_fault, suggestion, validate
from catmem.config.profile import SELECTOR_KEYS, Profile
from catmem.config.yamlfile import KeyPath, key_text
from catmem.errors import ConfigError
from catmem.linting.linted import Context, LintedEntry, LintedFile, LintedYaml, span_of_first_line
from catmem.linting.rule import Finding, rule
from catmem.names import TARGETS
from catmem.syntax.scan import Header

_CategorySchema: TypeAlias = Mapping[str, Any]


@rule("CM401", "invalid-configuration", severity="error", scope="config")
def invalid_configuration(file: LintedYaml, context: Context) -> Iterator[Finding]:
    """Find what is wrong in `catmem.yaml`."""
    yield from _invalid(file, "config")
    if context.config.is_empty and context.profile_names:
        hint = "Bring its text back, from git or a backup; if this is meant, write 'version: 1'."
        yield Finding(*file.span_at(1), "says nothing, so that every default holds, and there are profiles", hint)


@rule("CM402", "invalid-profile", severity="error", scope="profile")
def invalid_profile(file: LintedYaml, _: Context) -> Iterator[Finding]:
    """Find profiles that cannot be used as they are."""
    yield from _invalid(file, "profile")


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
            # The first line for what the profile inherits from another file.
            span = file.span_of(place) if place[:1] in file.yaml.positions else file.span_at(1)
            yield Finding(*span, message, "Add it to what the profile reads.")


@rule("CM409", "selector-without-match", scope="root")
def selector_without_match(files: Mapping[str, LintedFile], context: Context) -> Iterator[Finding]:
    """Find selectors of profiles, and of `approval` in `catmem.yaml`, that match no category."""
    taxonomy = context.taxonomy
    if not files and not taxonomy.closed:
        return
    known = {*taxonomy.declared()}
    for file in files.values() if not taxonomy.closed else ():
        known.update(header.category for header in file.headers)
        known.update(entry.category for entry in file.entries)
    for yaml in context.yaml.values():
        for key, selectors in _selectors(yaml, context):
            for selector in selectors.unmatched(known):
                place = (*key, selectors.patterns.index(selector))
                message = f"{selector!r} matches no category that is declared or in a file ({key_text(place)})"
                hint = suggestion(split(selector)[1], known, "categories")
                yield Finding(*yaml.span_of(place), message, hint, path=yaml.path)


def _selectors(file: LintedYaml, context: Context) -> Iterator[tuple[KeyPath, Selectors]]:
    """The lists of selectors that stand in a file, each with its key."""
    policy, profile, taxonomy = context.config.approval, file.profile, context.taxonomy
    if file.kind == "config" and policy is not None:
        for key, selectors in (("categories", policy.categories), ("promote", policy.promote)):
            yield ("approval", key), selectors
    for key in SELECTOR_KEYS if profile is not None else ():
        if (key,) in file.yaml.positions:
            yield (key,), taxonomy.selectors(getattr(profile, key))


@rule("CM410", "nobody-reads", severity="hint", scope="root")
def unread_sections(files: Mapping[str, LintedFile], context: Context) -> Iterator[Finding]:
    """Find sections of a profile's file whose category no profile reads."""
    if not context.profiles or context.profile_names - context.profiles.keys():
        return  # what one reads that is not right is not known
    known, reading = context.taxonomy.declared(), _reading(context.profiles.values(), context)
    is_read = cache(lambda category: any(each.matches(category) for each in reading))
    for path, file in files.items():
        first: dict[str, Header] = {}
        for header in file.headers if file.owner is not None else ():
            first.setdefault(header.category, header)
        for category, header in first.items():
            if category not in known and not is_read(category):
                hint = "Name it in a profile, or give the section the name of a category that is read."
                yield Finding(header.start, header.end, f"no profile reads the category {category}", hint, path=path)


@rule("CM411", "broken-seed-from", severity="error", scope="profile")
def broken_seed_from(file: LintedYaml, context: Context) -> Iterator[Finding]:
    """Find profiles that are seeded from a profile that is not there."""
    source = file.profile.seed_from if file.profile is not None else None
    if source is not None and source not in context.profile_names and ("seed_from",) in file.yaml.positions:
        hint = suggestion(source, context.profile_names, "profiles")
        yield Finding(*file.span_of(("seed_from",)), f"there is no profile {source!r} to be seeded from", hint)


@rule("CM413", "unknown-entity-profile", scope="config")
def unknown_entity_profile(file: LintedYaml, context: Context) -> Iterator[Finding]:
    """Find names under `writers` and `readers` of a declared entity that no profile has."""
    for entity, declared in context.config.entities.items():
        for key in ("writers", "readers"):
            for number, name in enumerate(getattr(declared, key)):
                if name not in context.profile_names:
                    hint = suggestion(name, context.profile_names, "profiles")
                    place = ("entities", entity, key, number)
                    yield Finding(*file.span_of(place), f"{key} of {entity}: there is no profile {name!r}", hint)


def _invalid(file: LintedYaml, schema: str) -> Iterator[Finding]:
    """Every fault by the schema, else the error that loading stopped at."""
    values = {} if file.yaml.data is None and file.error is None else file.yaml.data
    faults = validate(values, schema) if values is not None else []
    for fault in faults:
        key = key_text(fault.key)
        yield Finding(*file.span_of(fault.key), f"{key}: {fault.message}" if key else fault.message, fault.hint or "")
    if file.error is not None and not faults:
        error = file.error
        # One in a parent's file is reported here all the same, on line 1.
        is_here = error.path is None or str(error.path).replace("\\", "/").endswith(file.path)
        place = (error.line, error.column) if isinstance(error, ConfigError) and is_here else (1, 1)
        yield Finding(*file.span_at(*place), error.message, error.hint or "")


def _reading(profiles: Iterable[Profile], context: Context) -> list[Selectors]:
    return [each.selectors(target, context.taxonomy) for each in profiles for target in TARGETS]


# --- schemas of categories, and entries that break them --------------------------------------------------------------


@rule("CM351", "tags-against-schema", severity="error")
def tags_against_schema(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries whose tags do not fit the schema of their category."""
    for entry, schema in _with_schema(file, context):
        for key, message, hint in _faults(schema, "tags", dict(entry.tags)):
            words = f"the tag {key_text(key)} {message}" if key else message
            if message.startswith("the key "):
                words = message.replace("the key ", "the tag ", 1)
            yield Finding(*span_of_first_line(entry), f"{words} (schema of {entry.category})", hint or "")


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
            yield Finding(*span_of_first_line(entries[most]), message, "Merge or remove entries.")
        elif len(entries) < least:
            message = f"the category {category} must have {least} entries and {there}"
            yield Finding(*span_of_first_line(entries[0]), message, "Add what is missing.")


@rule("CM408", "invalid-category-schema", severity="error", scope="config")
def invalid_category_schema(file: LintedYaml, context: Context) -> Iterator[Finding]:
    """Find schemas of categories that cannot be used."""
    for slug, category in context.taxonomy.categories.items():
        for fault in _faults_of_schema(category.schema) if category.schema is not None else ():
            key = key_text(fault.key)
            words = fault.message.replace("the file ", "the schema ", 1)
            message = f"this schema cannot be used: {key}: {words}" if key else words
            place = ("taxonomy", "categories", slug, "schema", *fault.key)
            yield Finding(*file.span_of(place), message, fault.hint or "")


def _with_schema(file: LintedFile, context: Context) -> Iterator[tuple[LintedEntry, _CategorySchema]]:
    """The entries whose category has a schema that can be used; a broken one is a finding of the configuration."""
    declared = {slug: each.schema for slug, each in context.taxonomy.categories.items() if each.schema is not None}
    schemas: dict[str, _CategorySchema] = {}
    for slug in {entry.category for entry in file.entries} & declared.keys() if declared else ():
        if not _faults_of_schema(declared[slug]):
            schemas[slug] = declared[slug]
    return ((entry, schemas[entry.category]) for entry in file.entries if entry.category in schemas)


def _faults(schema: _CategorySchema, part: str, value: object) -> list[SchemaFault]:
    return faults_by(json.dumps(schema[part], sort_keys=True), value) if part in schema else []


def _faults_of_schema(said: Any) -> list[SchemaFault]:  # noqa: ANN401 - any YAML value
    """What is wrong with a schema of entries itself; none for one that can be used."""
    found = validate(said, "category")
    for part in ("tags", "body") if not found else ():
        wrong = schema_fault(said[part]) if part in said else None
        if wrong is not None:
            hint = "See the keywords of JSON Schema, draft 2020-12, and docs/schemas.md."
            found.append(SchemaFault((part, *wrong[0]), wrong[1], hint))
    return found
