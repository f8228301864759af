"""Whole texts in envelopes: what each writer may change, what no tool is to write."""

from datetime import date

import pytest

from catmem.errors import CatmemError, EditError, EnvelopeError, ForbiddenError
from catmem.jsonable import jsonable
from tests.envelopes import PROFILES, TEXT
from tests.roots import make_root, newest, text_of

DAY = date(2026, 5, 1)
WATCHED = PROFILES | {
    "narrow": "tier: 1\nuser_memory_categories: [talk]\nwritable_categories: ['*']\n",
    "careful": "tier: 1\nmay_verify: false\nuser_memory_categories: ['*']\ninclude_uncategorized: true\n"
    "writable_categories: ['*', __uncategorized__]\n",
}


@pytest.fixture(autouse=True)
def today(monkeypatch):
    monkeypatch.setattr("catmem.clock.today", lambda: DAY)


@pytest.fixture
def workspace(tmp_path):
    return make_root(tmp_path, profiles=WATCHED, files={f"{name}/user": TEXT for name in WATCHED})


def submit(workspace, content, agent="neo", entity="neo"):
    return workspace.submit(workspace.envelope(entity, content, agent=agent, prev=newest(workspace, f"{entity}/user")))


def refused(workspace, content, agent="neo", entity="neo"):
    before = text_of(workspace, f"{entity}/user")
    with pytest.raises(CatmemError) as caught:
        submit(workspace, content, agent, entity)
    assert text_of(workspace, f"{entity}/user") == before
    return caught.value


# --- who may -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["neo", "other", "narrow"])
@pytest.mark.parametrize("content", [TEXT, "", "## Talk\nx\n"])
def test_who_does_not_see_everything_sends_no_whole_document(workspace, agent, content):
    error = refused(workspace, content, agent, agent if agent != "narrow" else "neo")
    assert isinstance(error, ForbiddenError)
    assert "operations" in error.hint


def test_it_is_refused_as_well_where_nothing_is_hidden(tmp_path):
    workspace = make_root(tmp_path, profiles=PROFILES, files={"neo/user": "## Talk\nx\n"})
    assert isinstance(refused(workspace, "## Talk\nx\n"), ForbiddenError)


def test_the_json_form_of_a_file_is_refused_by_the_schema(workspace):
    fields = jsonable(workspace.envelope("neo", TEXT, prev=newest(workspace)))
    with pytest.raises(EnvelopeError) as caught:
        workspace.submit(fields | {"content": {"partial": True, "categories": {"talk": []}}})
    assert (caught.value.code, caught.value.key) == ("schema", "content")
    assert "A list of operations" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[verified_date: 2026-01-01] short answers", "[verified_date: 2026-04-30] short answers"),
        ("[verified_date: 2026-01-01] short answers", "short answers"),
        ("[verified_date: 2026-01-01]", "[verified_date: 2026-01-01, created: 2026-04-30]"),
        ("be kind", "be kind\n§\n[verified_date: 2026-04-30] brand new"),
    ],
)
def test_the_clock_of_a_fact_needs_the_right_to_verify(workspace, old, new):
    assert isinstance(refused(workspace, TEXT.replace(old, new), "careful", "careful"), ForbiddenError)
    assert submit(workspace, TEXT.replace(old, new), "boss", "careful").changed


def test_the_verification_of_one_fact_is_not_moved_to_another(workspace):
    swapped = TEXT.replace("[verified_date: 2026-01-01] short", "short").replace(
        "no calls", "[verified_date: 2026-01-01] no calls"
    )
    assert isinstance(refused(workspace, swapped, "careful", "careful"), ForbiddenError)


# --- the content itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("## Talk\n```\nopen\n", "unclosed-fence"),
        ("## Talk\nx\n## Talk\ny\n", "duplicate-section"),
        ("## Talk\n[source: x]\n", "empty-body"),
        ("## Talk\n[source: a, source: b] x\n", "duplicate-tag"),
        ("## Talk\n[verified date: 2026-01-01] x\n", "malformed-tags"),
        ("## ?\nx\n", "empty-slug"),
        ("## Talk\n" + "x" * (1 << 20) + "y\n", "entry-too-large"),
    ],
)
def test_a_text_with_a_problem(workspace, text, rule):
    error = refused(workspace, text, agent=None)
    assert (type(error), error.code) == (EditError, "structure")
    assert f"({rule})" in str(error)


# --- new words are not verified ---

REWORDED = "short answers, always"


def test_a_text_that_keeps_the_verification_of_other_words_is_refused(workspace):
    kept = TEXT.replace("short answers", REWORDED)
    assert isinstance(refused(workspace, kept, "careful", "careful"), ForbiddenError)
    submit(workspace, kept.replace("[verified_date: 2026-01-01] ", ""), "careful", "careful")
    assert f"\n{REWORDED}\n" in text_of(workspace, "careful/user")
