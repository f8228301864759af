"""Search over all profiles: what is broken is told, and hides nothing of the others."""

import pytest

from catmem.errors import NotUtf8Error, QueryError
from catmem.search.search import search_everywhere
from tests.roots import make_root, put_bytes

TALK = "user_memory_categories: [talk]\nmemory_categories: [talk]\n"
PROFILES = {"boss": TALK, "neo": TALK, "pupil": TALK}
FILES = {
    "boss/user": "## Talk\nTea at nine.\n",
    "neo/user": "## Talk\nTea, tea and more tea.\n\n## Vault\nTea nobody sees.\n",
    "neo/memory": "## Talk\nTea is out of stock.\n",
}


@pytest.fixture
def workspace(tmp_path):
    return make_root(tmp_path, profiles=PROFILES, files=FILES)


def shown(searched):
    return {(row.entity.partition("/")[0], row.entry.body) for row in searched.found}


def test_each_profile_finds_what_it_sees_the_best_first(workspace):
    searched = search_everywhere(workspace, "tea")
    assert shown(searched) == {
        ("boss", "Tea at nine."),
        ("neo", "Tea, tea and more tea."),
        ("neo", "Tea is out of stock."),
    }
    scores = [row.score for row in searched.found]
    assert scores == sorted(scores, reverse=True)
    assert (searched.total, searched.unreadable) == (3, ())
    limited = search_everywhere(workspace, "tea", limit=2)  # for all together
    assert (len(limited.found), limited.total) == (2, 3)


def test_a_profile_that_is_not_right_hides_no_other(workspace):
    path = workspace.root / "profiles" / "boss.yaml"
    path.write_text("foo: [\n", encoding="utf-8")
    searched = search_everywhere(workspace, "tea")
    assert {row.entity.partition("/")[0] for row in searched.found} == {"neo"}
    (error,) = searched.unreadable
    assert error.path == str(path)


def test_a_file_that_cannot_be_read_hides_no_other_of_the_same_profile_either(workspace):
    put_bytes(workspace, "neo/user", b"## Talk\n\xff tea\n")
    searched = search_everywhere(workspace, "tea")
    assert shown(searched) == {("boss", "Tea at nine."), ("neo", "Tea is out of stock.")}
    (error,) = searched.unreadable
    assert isinstance(error, NotUtf8Error)
    with pytest.raises(NotUtf8Error):
        workspace.search("neo", "tea")  # for one profile it still fails


def test_a_file_that_was_not_asked_for_is_not_told(workspace):
    put_bytes(workspace, "neo/user", b"\xff")
    searched = search_everywhere(workspace, "tea", target="memory")
    assert (shown(searched), searched.unreadable) == ({("neo", "Tea is out of stock.")}, ())


def test_a_query_that_is_wrong_is_refused_also_where_nothing_can_be_searched(workspace):
    for name in PROFILES:
        (workspace.root / "profiles" / f"{name}.yaml").write_text("foo: [\n", encoding="utf-8")
    with pytest.raises(QueryError):
        search_everywhere(workspace, '"')
