"""What a category is called on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.server.page.shown import UNCATEGORIZED_TITLE
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from catmem.model.document import Document
    from catmem.service.workspace import Workspace


def title_of(workspace: Workspace, document: Document, category: str) -> str:
    """What a category is called: as declared, else as its section is."""
    declared = workspace.config.taxonomy.categories.get(category)
    if declared is not None and declared.title:
        return declared.title
    if category == UNCATEGORIZED:
        return UNCATEGORIZED_TITLE
    return next((section.title for section in document.sections if section.category == category), category)
