"""The resources of the MCP server: one for each category that the profile sees, ``memory://CATEGORY``.

They are listed and read anew each time. What the threat scan finds is withheld, as in a prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from mcp_types import Resource, ResourceTemplate

from catmem.names import TARGETS
from catmem.service.seen_entry import entry_dict
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from catmem.model.document import Entry
    from catmem.service.workspace import Workspace

MIME_TYPE = "text/markdown"
_SCHEME = "memory://"

TEMPLATES = (
    ResourceTemplate(
        name="category",
        title="A category of memory",
        uri_template=f"{_SCHEME}{{category}}",
        description="The entries of one category, as Markdown.",
        mime_type=MIME_TYPE,
    ),
)


def uri_of(category: str) -> str:
    """``memory://talk``; letters other than ASCII are percent-encoded."""
    return _SCHEME + quote(category, safe="")


def categories(workspace: Workspace, profile: str) -> tuple[str, ...]:
    """The categories with entries that the profile sees, those of its ``user`` file first, each in its own order."""
    seen = [name for target in TARGETS for name in workspace.view(profile, target).categories]
    return tuple(sorted(dict.fromkeys(seen), key=lambda name: name == UNCATEGORIZED))


def list_resources(workspace: Workspace, profile: str) -> list[Resource]:
    """A resource for each of the ``categories``."""
    return [
        Resource(
            uri=uri_of(category),
            name=category,
            title=_title(workspace, category),
            description=f"What {profile} sees of this category, in both of its files.",
            mime_type=MIME_TYPE,
        )
        for category in categories(workspace, profile)
    ]


def read_resource(workspace: Workspace, profile: str, uri: str) -> str | None:
    """The entries of a category as Markdown, a part for each file; ``None`` where there is nothing to see.

    That is the same for a category that is hidden and for one that is not there.
    """
    if not uri.startswith(_SCHEME):
        return None
    category = unquote(uri.removeprefix(_SCHEME))
    parts = []
    for target in TARGETS:
        entries = [entry for entry in workspace.view(profile, target).entries if entry.category == category]
        if entries:
            body = "\n§\n".join(map(_shown, entries))
            parts.append(f"## {_title(workspace, category)} ({target})\n{body}\n")
    return "\n".join(parts) or None


def _shown(entry: Entry) -> str:
    """An entry as it stands in the file, or the line that says why it is withheld."""
    told = entry_dict(entry, to_agent=True)
    return str(told["body"]) if "threats" in told else entry.raw


def _title(workspace: Workspace, category: str) -> str:
    if category == UNCATEGORIZED:
        return "Without a category"
    declared = workspace.config.taxonomy.categories.get(category)
    return declared.title if declared else category
