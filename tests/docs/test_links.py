"""Links between the pages, and from them to files, lead somewhere; and every page can be reached from the README."""

from __future__ import annotations

import posixpath

from tests.docs.pages import ROOT, Page, pages, read
from tests.together import together

PAGES = {page.name: page for page in pages()}


def broken(page: Page, known: dict[str, Page]) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in page.links:
        if link.startswith(("https://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        name = resolved(page, target)
        if name in known:
            leads = not anchor or anchor in known[name].anchors
        else:
            leads = name is not None and (ROOT / name).exists()
        if not leads:
            found.append(link)
    return found


def resolved(page: Page, target: str) -> str | None:
    """The path from the top of the repository that a relative link names; None for one that leads out of it."""
    if not target:
        return page.name
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page.name), target))
    return None if target.startswith("/") or path.startswith("..") or ":" in target else path


@together("page", PAGES.values(), ids=PAGES.keys())
def test_links_lead_somewhere(page):
    assert broken(page, PAGES) == []


def test_every_page_of_docs_can_be_reached_from_the_readme():
    reached: set[str] = set()
    waiting = ["README.md"]
    while waiting:
        name = waiting.pop()
        if name in PAGES and name not in reached:
            reached.add(name)
            page = PAGES[name]
            waiting += [path for link in page.links if (path := resolved(page, link.partition("#")[0]))]
    assert {name for name in PAGES if name.startswith("docs/")} - reached == set()


@together(
    "link", ["nowhere.md", "#nowhere", "../pyproject.toml", "/etc/hosts", "http://example.com", "pyproject.toml/x"]
)
def test_a_broken_link_is_seen(link):
    page = read("made-up.md", f"# Here\n\n[text]({link})")
    assert broken(page, {"made-up.md": page}) == [link]


@together("link", ["pyproject.toml", "#here-and-there", "#here-and-there-1", "https://example.com", "docs"])
def test_a_good_link_passes(link):
    page = read("made-up.md", f"# Here, and *there*\n\n## Here and there\n\n![text]({link})")
    assert page.links == [link]
    assert broken(page, {"made-up.md": page}) == []


def test_links_in_code_are_not_links():
    assert read("made-up.md", "`[a](b)`\n\n```text\n[c](d)\n```\n").links == []
