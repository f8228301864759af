"""From a flat file to sections, and what memory says twice.

::

    document ── sort_lines ──> what is proposed, as a list <──> a person's editor, a model's answer
                                        └── operations ──> one new text, one revision
"""

from __future__ import annotations

from catmem.registry import Registry


def register(registry: Registry) -> None:
    registry.needs(1)
    registry.add_operation(
        "migrate",
        "catmem.plugins.sorting.migrating",
        heading="Keep facts true",
        said="Turn labels in the text of entries into sections and tags.",
    )
    registry.add_operation(
        "sort",
        "catmem.plugins.sorting.operations",
        heading="Keep facts true",
        said="Sort entries without a category into sections.",
        is_first=True,
    )
    registry.add_operation(
        "tidy",
        "catmem.plugins.sorting.operations",
        heading="Keep facts true",
        said="List what memory says twice, and what you should look at together.",
    )
    registry.add_rules("catmem.plugins.sorting.labels")
