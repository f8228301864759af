"""Rules on entries by the schema that their category has in ``catmem.yaml``, inline or in a file, and on such schemas.

A schema has three parts, each optional: ``tags`` and ``body`` are JSON Schemas (draft 2020-12) of an entry's tags (an
object) and of its body (text); ``entries`` says how many there may be in one file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.config.json_schema import SchemaFault, faults_by, schema_fault, suggestion, validate
from catmem.config.yamlfile import key_text
from catmem.linting.diagnostic import Finding
from catmem.linting.rule import rule
from catmem.linting.spans import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catmem.config.config import Category
    from catmem.config.yamlfile import KeyPath
    from catmem.linting.linted import Context, LintedEntry, LintedFile, LintedYaml


class _EntrySchema(NamedTuple):
    """A schema that can be used. ``tags`` and ``body`` are JSON texts, empty where nothing is said."""

    tags: str
    body: str
    least: int
    most: int | None


@rule("CM351", "tags-against-schema", severity="error")
def tags_against_schema(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries whose tags do not fit the schema of their category."""
    for entry, schema in _with_schema(file, context):
        for key, message, hint in faults_by(schema.tags, dict(entry.tags)) if schema.tags else ():
            words = _about_tag(key, message)
            yield Finding(*first_line(entry), f"{words} (schema of {entry.category})", hint or "")


@rule("CM352", "body-against-schema", severity="error")
def body_against_schema(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries whose text does not fit the schema of their category."""
    for entry, schema in _with_schema(file, context):
        for _, message, hint in faults_by(schema.body, entry.body) if schema.body else ():
            words = f"the text {_without_value(message)} (schema of {entry.category})"
            yield Finding(entry.start, entry.end, words, hint or "")


@rule("CM353", "number-of-entries")
def number_of_entries(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find categories with more or fewer entries in a file than their schema says."""
    counts: dict[str, list[LintedEntry]] = {}
    schemas: dict[str, _EntrySchema] = {}
    for entry, schema in _with_schema(file, context):
        counts.setdefault(entry.category, []).append(entry)
        schemas[entry.category] = schema
    for category, entries in counts.items():
        least, most = schemas[category].least, schemas[category].most
        there = f"has {len(entries)} in this file"
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


def _with_schema(file: LintedFile, context: Context) -> Iterator[tuple[LintedEntry, _EntrySchema]]:
    """The entries whose category has a schema that can be used; a broken one is a finding of the configuration."""
    declared = {slug: each for slug, each in context.taxonomy.categories.items() if each.schema is not None}
    if declared:
        present = {entry.category for entry in file.entries} & declared.keys()
        schemas = {slug: _entry_schema(declared[slug], context.schemas) for slug in present}
        for entry in file.entries:
            schema = schemas.get(entry.category)
            if schema is not None:
                yield entry, schema


def _without_value(message: str) -> str:
    """A message about a text without the text itself, which stands at the place of the finding."""
    if message.endswith(" does not have the right form"):
        return "does not have the right form"
    before, said, _ = message.partition(", and is the text ")
    return before if said else message


def _about_tag(key: KeyPath, message: str) -> str:
    if message.startswith("the key "):
        return message.replace("the key ", "the tag ", 1)
    about = key_text(key)
    return f"the tag {about} {message}" if about else message


def _entry_schema(category: Category, files: Mapping[str, Any]) -> _EntrySchema | None:
    said = files.get(category.schema) if isinstance(category.schema, str) else category.schema
    if said is None or _faults_of_schema(said):
        return None
    entries = said.get("entries", {})
    tags, body = (json.dumps(said[part], sort_keys=True) if part in said else "" for part in ("tags", "body"))
    return _EntrySchema(tags, body, entries.get("minItems", 0), entries.get("maxItems"))


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
