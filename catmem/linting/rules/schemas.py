"""Rules on entries by the schema that their category has in ``catmem.yaml``, inline or in a file, and on such schemas.

A schema has three parts, each optional: ``tags`` and ``body`` are JSON Schemas (draft 2020-12) of an entry's tags (an
object) and of its body (text); ``entries`` says how many there may be in one file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from catmem.config.json_schema import SchemaFault, faults_by, schema_fault, suggestion, validate
from catmem.config.yamlfile import key_text
from catmem.linting.diagnostic import Finding
from catmem.linting.rule import rule
from catmem.linting.spans import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catmem.config.yamlfile import KeyPath
    from catmem.linting.linted import Context, LintedEntry, LintedFile, LintedYaml

    _Schema: TypeAlias = Mapping[str, Any]


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
    groups: dict[str, tuple[_Schema, list[LintedEntry]]] = {}
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


def _with_schema(file: LintedFile, context: Context) -> Iterator[tuple[LintedEntry, _Schema]]:
    """The entries whose category has a schema that can be used; a broken one is a finding of the configuration."""
    declared = {slug: each.schema for slug, each in context.taxonomy.categories.items() if each.schema is not None}
    schemas: dict[str, _Schema] = {}
    for slug in {entry.category for entry in file.entries} & declared.keys() if declared else ():
        named = declared[slug]
        said = context.schemas.get(named) if isinstance(named, str) else named
        if said is not None and not _faults_of_schema(said):
            schemas[slug] = said
    return ((entry, schemas[entry.category]) for entry in file.entries if entry.category in schemas)


def _faults(schema: _Schema, part: str, value: object) -> list[tuple[KeyPath, str, str | None]]:
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
