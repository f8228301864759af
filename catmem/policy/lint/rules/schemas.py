"""Rules on entries by the schema that their category has in ``catmem.yaml``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.policy.entryschema import EntrySchema, entry_schema
from catmem.policy.lint.diagnostic import Finding
from catmem.policy.lint.rule import rule
from catmem.policy.lint.spans import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.lint.linted import Context, LintedEntry, LintedFile


@rule("CM351", "tags-against-schema", severity="error")
def tags_against_schema(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries whose tags do not fit the schema of their category.

    ## Why
    What a root needs of an entry, such as who owns a vendor and when that was last confirmed, is checked when the file
    changes and not when somebody needs it.

    ## Example
    With this in `catmem.yaml`:

    ```yaml
    taxonomy:
      categories:
        vendors:
          schema:
            tags:
              required: [owner]
              properties:
                owner: {enum: [ana, ben]}
    ```

    Bad:

    ```
    ## Vendors
    [owner: anna] Acme delivers on Tuesdays.
    ```

    Good:

    ```
    ## Vendors
    [owner: ana] Acme delivers on Tuesdays.
    ```

    ## Fix
    Change the tag. Where a schema allows several forms, the message is about the one that fits best.
    """
    for entry, schema in _with_schema(file, context):
        for fault in schema.tag_faults(entry.tags):
            yield Finding(*first_line(entry), f"{fault.message} (schema of {entry.category})", fault.hint)


@rule("CM352", "body-against-schema", severity="error")
def body_against_schema(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries whose text does not fit the schema of their category.

    ## Why
    A category that programs read, or that must stay short, has a form. An entry of another form is overlooked.

    ## Example
    With this in `catmem.yaml`:

    ```yaml
    taxonomy:
      categories:
        vendors:
          schema:
            body: {pattern: "^Vendor ", maxLength: 200}
    ```

    Bad:

    ```
    ## Vendors
    We buy paper at Acme.
    ```

    Good:

    ```
    ## Vendors
    Vendor Acme: paper.
    ```

    ## Fix
    Write the entry in the form that the schema asks for, or move it to another category.
    """
    for entry, schema in _with_schema(file, context):
        for fault in schema.body_faults(entry.body):
            message = f"the text {_without_value(fault.message)} (schema of {entry.category})"
            yield Finding(entry.start, entry.end, message, fault.hint)


@rule("CM353", "number-of-entries")
def number_of_entries(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find categories with more or fewer entries in a file than their schema says.

    ## Why
    A category grows until nobody reads it, and a prompt with it. A limit asks for a decision: which entries still
    matter?

    ## Example
    With `schema: {entries: {maxItems: 1}}` for the category `vendors` in `catmem.yaml`:

    Bad:

    ```
    ## Vendors
    Acme delivers on Tuesdays.
    §
    Bolt delivers on Fridays.
    ```

    Good:

    ```
    ## Vendors
    Acme delivers on Tuesdays, Bolt on Fridays.
    ```

    ## Fix
    Merge or remove entries; the finding stands at the first one over the limit.
    """
    counts: dict[str, list[LintedEntry]] = {}
    schemas: dict[str, EntrySchema] = {}
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


def _with_schema(file: LintedFile, context: Context) -> Iterator[tuple[LintedEntry, EntrySchema]]:
    """The entries whose category has a schema that can be used; a broken one is a finding of the configuration."""
    declared = {slug: each for slug, each in context.taxonomy.categories.items() if each.schema is not None}
    if declared:
        present = {entry.category for entry in file.entries} & declared.keys()
        schemas = {slug: entry_schema(declared[slug], context.schemas) for slug in present}
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
