"""The site's index: what Sphinx makes its navigation of, and llms.txt."""

from __future__ import annotations

import importlib.util

import pytest

from tests.docs.pages import ROOT

SPEC = importlib.util.spec_from_file_location("site_conf", ROOT / "docs" / "conf.py")
CONF = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(CONF)

PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md") if path.stem != "index")
GROUPS = CONF.groups((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))


def test_every_page_stands_in_the_index_once():
    assert sorted(page for _, pages in GROUPS for page in pages) == PAGES


def test_the_index_has_a_door_for_each_kind_of_reader_and_groups_for_the_rest():
    doors, rest = GROUPS[:4], [title for title, _ in GROUPS[4:]]
    assert [len(pages) for _, pages in doors] == [5] * 4
    assert all(title.startswith("You ") for title, _ in doors)
    assert rest == ["Memory where agents live", "Many writers and control", "Run it", "Look up", "For contributors"]


@pytest.mark.parametrize("page", ["index", *PAGES])
def test_a_page_begins_with_a_title_and_a_sentence(page):
    title, sentence = CONF._described((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert title
    assert sentence.endswith((".", ":"))
    assert "\n\n" not in sentence
