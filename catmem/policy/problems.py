"""Problems of a document that its text alone does not show: they need the schemas of tags and the root's categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.model.document import Problem
from catmem.policy.schema import nearest, tag_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.model.document import Document, Entry
    from catmem.policy.config import Config


def all_problems(document: Document, config: Config) -> tuple[Problem, ...]:
    """Everything that looks wrong in a document of this root, in file order: its own problems and those of policy.

    ``bad-tag``: a tag's value does not fit its schema, so it counts as not given. ``unknown-category``: a section that
    a closed taxonomy does not declare, which no pattern of a profile selects.
    """
    found = [*document.problems, *_bad_tags(document.entries, config), *_unknown_categories(document, config)]
    return tuple(sorted(found, key=lambda problem: (problem.start, problem.rule)))


def _bad_tags(entries: tuple[Entry, ...], config: Config) -> Iterator[Problem]:
    for entry in entries:
        for tag, message in tag_faults(entry.tags, config.tag_schemas):
            yield Problem("bad-tag", entry.start, entry.end, f"{tag} {message}, so it does not count")


def _unknown_categories(document: Document, config: Config) -> Iterator[Problem]:
    if not config.taxonomy.closed:
        return
    declared = config.taxonomy.declared()
    for section in document.sections:
        if section.category not in declared:
            near = nearest(section.category, declared)
            hint = f"; did you mean {near}?" if near else ""
            message = f"the category {section.category} is not declared in catmem.yaml, so no pattern selects it{hint}"
            yield Problem("unknown-category", section.start, section.header_end, message)
