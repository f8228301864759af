"""Words of a person's own in the place of a conflict."""

import pytest

from catmem.merging.branches import in_words
from tests.roots import make_root, text_of

BASE = "## Talk\n[verified_date: 2026-01-01, domain: sales] no calls before ten\n\n## Rules\nx\n"


@pytest.fixture
def workspace(tmp_path):
    """Revision 2 and branch 2a reword the same entry."""
    root = make_root(
        tmp_path,
        config="on_stale: branch\n",
        profiles={"neo": "user_memory_categories: ['*']\n"},
        files={"neo/user": BASE},
    )
    for word in ("nine", "eight"):
        root.replace("neo", "before ten", f"no calls before {word}", expected=1)
    return root


@pytest.mark.parametrize("words", ["mine", "[verified_date: 2030-01-01] mine", "§", "## Rules\nmine", "a\n§\nb"])
def test_they_are_one_entry_of_that_category_with_its_tags_and_not_verified(workspace, words):
    workspace.merge("neo", ["2a"], precedence=lambda found: in_words(found.conflict, f"\n {words} \n"))
    (entry,) = workspace.parse(text_of(workspace)).by_category["talk"]
    assert (entry.body, entry.tags) == (words, {"domain": "sales"})
