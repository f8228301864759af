"""What the entries of a category must be like: ``schema`` of a category in ``catmem.yaml``, inline or in a file.

Such a schema has three parts, each optional: ``tags`` and ``body`` are JSON Schemas (draft 2020-12) of an entry's tags,
as an object, and of its body, as text; ``entries`` says how many there may be in one file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.policy.schema import faults_by, schema_fault, suggestion, validate
from catmem.policy.yamlfile import key_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catmem.model.document import TagValue
    from catmem.policy.config import Category
    from catmem.policy.yamlfile import KeyPath


class Fault(NamedTuple):
    """One thing that does not fit: where in the schema or the tags, what, and what to do."""

    key: KeyPath
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class EntrySchema:
    """A schema that can be used. ``tags`` and ``body`` are JSON texts, empty where nothing is said."""

    tags: str = ""
    body: str = ""
    least: int = 0
    most: int | None = None

    def tag_faults(self, tags: Mapping[str, TagValue]) -> Iterator[Fault]:
        """What does not fit in an entry's tags; of several forms that would do, what is nearest to one of them."""
        if not self.tags:
            return
        for key, message, hint in faults_by(self.tags, dict(tags)):
            words = message.replace("the key ", "the tag ", 1) if message.startswith("the key ") else message
            about = key_text(key) if words is message else None
            yield Fault(key, f"the tag {about} {words}" if about else words, hint or "")

    def body_faults(self, body: str) -> Iterator[Fault]:
        """What does not fit in an entry's body."""
        if self.body:
            for key, message, hint in faults_by(self.body, body):
                yield Fault(key, message, hint or "")


def entry_schema(category: Category, files: Mapping[str, Any]) -> EntrySchema | None:
    """The schema of a category's entries; ``None`` where there is none, and for one that cannot be used.

    ``files`` are the contents of the root's folder ``schemas``, by name.
    """
    said = files.get(category.schema) if isinstance(category.schema, str) else category.schema
    if said is None or faults_of_schema(said):
        return None
    entries = said.get("entries", {})
    tags, body = (json.dumps(said[part], sort_keys=True) if part in said else "" for part in ("tags", "body"))
    return EntrySchema(tags, body, entries.get("minItems", 0), entries.get("maxItems"))


def faults_of_schema(said: Any) -> list[Fault]:  # noqa: ANN401 - any YAML value
    """What is wrong with a schema of entries itself, with the key of each; none for one that can be used."""
    found = [
        Fault(fault.key, fault.message.replace("the file ", "the schema ", 1), fault.hint or "")
        for fault in validate(said, "category")
    ]
    if found:
        return found
    for part in ("tags", "body"):
        wrong = schema_fault(said[part]) if part in said else None
        if wrong is not None:
            hint = "See the keywords of JSON Schema, draft 2020-12, and docs/schemas.md."
            found.append(Fault((part, *wrong[0]), wrong[1], hint))
    return found


def missing_file(name: str, files: Mapping[str, Any]) -> Fault:
    """The fault of a category that names a schema file that is not there."""
    return Fault((), f"there is no schema {name!r} in the folder schemas", suggestion(name, files, "schema files"))
