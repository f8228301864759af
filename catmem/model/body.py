"""An entry's body as plain text (for search and lint) or as HTML (for a page), by mistune.

A body may come from an attacker. mistune gets bodies of up to ``LIMIT`` characters, whole or not at all; HTML in them
is shown and not used, links lead to harmless schemes only, and images are not loaded: their words stand in their place.
"""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT = 64 * 1024
"""Characters of a body that are looked at as Markdown; a longer one is taken as plain text."""

_BREAKS = frozenset({"softbreak", "linebreak", "blank_line"})
_ENDS_LINE = frozenset(
    {"paragraph", "block_text", "heading", "block_code", "list_item", "thematic_break", "block_html"}
)


def plain_text(body: str) -> str:
    """The words of a body without its markup; each block on lines of its own, links and images as their words."""
    if len(body) > LIMIT:
        return body
    text = "".join(_words(_tokens()(body)))
    return "\n".join(line.strip() for line in text.split("\n") if line.strip())


def to_html(body: str) -> str:
    """The body as an HTML fragment that can be shown beside other people's: nothing in it is executed or loaded."""
    if len(body) > LIMIT:
        return f"<pre>{escape(body)}</pre>\n"
    html: str = _html()(body)
    return html


def _words(tokens: list[dict[str, Any]]) -> Iterator[str]:
    for token in tokens:
        kind = token["type"]
        if kind in _BREAKS:
            yield "\n"
        elif "children" in token:
            yield from _words(token["children"])
        else:
            yield token.get("raw", "")
        if kind in _ENDS_LINE:
            yield "\n"


@cache
def _tokens() -> Callable[[str], list[dict[str, Any]]]:
    from mistune import create_markdown

    parse = create_markdown(renderer=None)

    def tokens(body: str) -> list[dict[str, Any]]:
        found = parse(body)
        return found if isinstance(found, list) else []

    return tokens


@cache
def _html() -> Callable[[str], str]:
    from mistune import HTMLRenderer, create_markdown

    class Renderer(HTMLRenderer):
        """mistune's own, but that no image is loaded: fetching one would tell its owner who reads this memory."""

        def image(self, text: str, url: str, title: str | None = None) -> str:
            del url, title
            return f"<em>{text}</em>"  # rendered already, so it is escaped

    render = create_markdown(renderer=Renderer(escape=True))

    def html(body: str) -> str:
        return str(render(body))

    return html
