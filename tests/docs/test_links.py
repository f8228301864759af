"""Links lead somewhere, every page can be reached from the README and stands in the index, from which the site is made."""

import importlib.util
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


def test_links_in_code_are_not_links():
    assert read("made-up.md", "`[a](b)`\n\n```text\n[c](d)\n```\n").links == []


# --- the site: what Sphinx makes its navigation of, and llms.txt ---

SPEC = importlib.util.spec_from_file_location("site_conf", ROOT / "docs" / "conf.py")
CONF = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(CONF)

STEMS = sorted(path.stem for path in (ROOT / "docs").glob("*.md") if path.stem != "index")
GROUPS = CONF.groups((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))


def test_every_page_stands_in_the_index_once():
    assert sorted(page for _, pages in GROUPS for page in pages) == STEMS


def test_the_index_has_a_door_for_each_kind_of_reader_and_groups_for_the_rest():
    doors, rest = GROUPS[:4], [title for title, _ in GROUPS[4:]]
    assert [len(pages) for _, pages in doors] == [5] * 4
    assert all(title.startswith("You ") for title, _ in doors)
    assert rest == ["Memory where agents live", "Many writers and control", "Run it", "Look up", "For contributors"]


@together("page", ["index", *STEMS])
def test_a_page_begins_with_a_title_and_a_sentence(page):
    title, sentence = CONF._described((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert title
    assert sentence.endswith((".", ":"))
    assert "\n\n" not in sentence
