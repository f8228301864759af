"""The site of these pages: `make site` builds it with Sphinx into build/site.

The pages are plain Markdown, which reads as well in a repository. This module makes what Sphinx needs besides: the
navigation, from the lists of index.md, and llms.txt, an index for language models (https://llmstxt.org).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

import catmem  # noqa: E402 - from this checkout

project = "catmem"
version = release = catmem.__version__
copyright = "catmem contributors"  # noqa: A001 - the name that Sphinx reads
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
nitpicky = True
myst_heading_anchors = 4
myst_enable_extensions = ["fieldlist"]
html_theme = "furo"
html_title = f"catmem {release}"
html_copy_source = True
html_show_sphinx = False
# A shell session may quote in ways that the lexer does not know. It is then shown without colours.
suppress_warnings = ["misc.highlighting_failure"]

_LISTED = re.compile(r"^- \[[^\]]+\]\((?P<page>[\w-]+)\.md\)", re.MULTILINE)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _without_links_to_folders)
    app.connect("source-read", _with_navigation)
    app.connect("build-finished", _write_llms)


def groups(index: str) -> list[tuple[str, list[str]]]:
    """Each heading of index.md with the names of the pages that are listed below it."""
    parts = re.split(r"(?m)^## (.+)$", index)[1:]
    return [(title, _LISTED.findall(text)) for title, text in zip(parts[::2], parts[1::2], strict=True)]


def _without_links_to_folders(_app: Sphinx, _name: str, source: list[str]) -> None:
    """A link to a file of the repository becomes a download; of a folder only the name can be shown."""

    def shown(link: re.Match[str]) -> str:
        return f"`{link['text']}`" if (DOCS / link["path"]).is_dir() else link[0]

    source[0] = re.sub(r"\[(?P<text>[^\]]+)\]\((?P<path>\.\./[^)#]+)\)", shown, source[0])


def _with_navigation(_app: Sphinx, name: str, source: list[str]) -> None:
    if name == "index":
        source[0] += "".join(
            f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{chr(10).join(pages)}\n```\n"
            for title, pages in groups(source[0])
        )


def _write_llms(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        Path(app.outdir, "llms.txt").write_text(llms(app.env), encoding="utf-8")


def llms(env: BuildEnvironment) -> str:
    """The index for language models: each page with its first sentence, as Markdown."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    lines = [f"# {project}", "", f"> {_described(index)[1]}", ""]
    for title, pages in groups(index):
        lines += [f"## {title}", ""]
        for page in pages:
            heading, sentence = _described(Path(env.doc2path(page)).read_text(encoding="utf-8"))
            lines.append(f"- [{heading}](_sources/{page}.md.txt): {sentence}")
        lines.append("")
    return "\n".join(lines)


def _described(text: str) -> tuple[str, str]:
    """The title of a page, and the first sentence below it without links."""
    parts = [part for part in text.split("\n\n") if not part.startswith("<!--")]
    first = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(parts[1].split()))
    if not parts[0].startswith("# ") or first.startswith(("#", "```", "|", "- ")):
        message = f"a page does not begin with a title and a sentence: {text[:80]!r}"
        raise ValueError(message)
    return parts[0].strip("# \n"), re.split(r"(?<=[.:])\s", first, maxsplit=1)[0]
