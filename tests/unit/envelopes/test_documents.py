"""Whole documents in envelopes: what stays, what each writer may change, what no tool is to write."""

from datetime import date

import pytest

from catmem.errors import CatmemError, EditError, ForbiddenError
from catmem.jsonable import jsonable
from tests.envelopes import PROFILES, TEXT
from tests.roots import make_root, newest, text_of

DAY = date(2026, 5, 1)
SHORT = {"body": "short answers", "tags": {"verified_date": "2026-01-01"}}
CALLS = {"body": "no calls before ten in the morning, please"}
WATCHED = PROFILES | {
    "auditor": "user_memory_categories: ['*']\nwritable_categories: ['*', __uncategorized__]\ninclude_uncategorized: true\nmay_verify: true\n",
    "narrow": "tier: 1\nuser_memory_categories: [talk]\nwritable_categories: ['*']\n",
    "careful": "tier: 1\nmay_verify: false\nuser_memory_categories: ['*']\ninclude_uncategorized: true\n",
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


def partly(**categories):
    return {"partial": True, "categories": categories}


# --- the JSON form -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "section"),
    [
        ([SHORT, CALLS], "[verified_date: 2026-01-01] short answers\n§\nno calls before ten in the morning, please"),
        ([CALLS, SHORT], "no calls before ten in the morning, please\n§\n[verified_date: 2026-01-01] short answers"),
        ([SHORT], "[verified_date: 2026-01-01] short answers"),
        ([CALLS], "no calls before ten in the morning, please"),
        (
            [SHORT, CALLS, {"body": "new"}],
            "[verified_date: 2026-01-01] short answers\n§\nno calls before ten in the morning, please\n§\n[created: 2026-05-01] new",
        ),
        (
            [{"body": "new"}, SHORT, CALLS],
            "[created: 2026-05-01] new\n§\n[verified_date: 2026-01-01] short answers\n§\nno calls before ten in the morning, please",
        ),
        (
            [SHORT, {"body": "new"}, CALLS],
            "[verified_date: 2026-01-01] short answers\n§\n[created: 2026-05-01] new\n§\nno calls before ten in the morning, please",
        ),
        (
            [SHORT, {"body": "no calls before eleven in the morning, please"}],
            "[verified_date: 2026-01-01] short answers\n§\nno calls before eleven in the morning, please",
        ),
    ],
)
def test_a_category_becomes_what_the_content_says_and_the_rest_stays(workspace, entries, section):
    submit(workspace, partly(talk=entries))
    old = "[verified_date: 2026-01-01] short answers\n§\nno calls before ten in the morning, please"
    assert text_of(workspace) == TEXT.replace(old, section)


def test_what_was_shown_can_be_sent_back(workspace):
    form = jsonable(workspace.view("neo", "user").document)
    assert not submit(workspace, form, agent=None).changed


def test_a_whole_form_empties_what_it_does_not_name(workspace):
    submit(workspace, {"title": "Other", "categories": {"talk": [CALLS], "tea": [{"body": "green"}]}}, agent=None)
    document = workspace.parse(text_of(workspace))
    assert document.title == "Other"
    assert {name: [entry.body for entry in entries] for name, entries in document.by_category.items()} == {
        "talk": [CALLS["body"]], "tea": ["green"],
    }  # fmt: skip


# --- who may -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["neo", "other", "narrow"])
@pytest.mark.parametrize("content", [TEXT, "", {"categories": {}}, {"categories": {"talk": [CALLS]}}])
def test_who_does_not_see_everything_sends_no_whole_document(workspace, agent, content):
    error = refused(workspace, content, agent, agent if agent != "narrow" else "neo")
    assert isinstance(error, ForbiddenError)
    assert "operations" in error.hint


@pytest.mark.parametrize(
    "content", ["## Talk\nx\n", {"categories": {"talk": [CALLS]}}, partly(drop=[]), partly(__uncategorized__=[])]
)
def test_it_is_refused_as_well_where_nothing_is_hidden(tmp_path, content):
    workspace = make_root(tmp_path, profiles=PROFILES, files={"neo/user": "## Talk\nx\n"})
    assert isinstance(refused(workspace, content), ForbiddenError)


@pytest.mark.parametrize("category", ["rules", "vault", "drop", "nothing", "__uncategorized__"])
def test_a_whole_category_needs_the_right_to_see_and_to_write_it(workspace, category):
    error = refused(workspace, {"partial": True, "categories": {category: [{"body": "x"}]}})
    assert isinstance(error, ForbiddenError)


def test_tier_1_does_not_overwrite_a_category_that_it_does_not_see(workspace):
    error = refused(workspace, partly(vault=[]), "narrow")
    assert str(error) == "narrow may not write the whole of the category 'vault', which it does not see"


def test_the_title_is_not_a_bounded_writers(workspace):
    assert isinstance(refused(workspace, partly(talk=[SHORT, CALLS]) | {"title": "X"}), ForbiddenError)


@pytest.mark.parametrize(
    "entry",
    [
        {"body": "short answers", "tags": {"verified_date": "2026-04-30"}},
        {"body": "short answers"},
        {"body": "short answers", "tags": {"verified_date": "2026-01-01", "created": "2026-04-30"}},
        {"body": "brand new", "tags": {"verified_date": "2026-04-30"}},
    ],
)
def test_the_clock_of_a_fact_needs_the_right_to_verify(workspace, entry):
    assert isinstance(refused(workspace, partly(talk=[entry, CALLS])), ForbiddenError)
    assert submit(workspace, partly(talk=[entry, CALLS]), "boss").changed


def test_the_verification_of_one_fact_is_not_moved_to_another(workspace):
    swapped = [{"body": "short answers"}, CALLS | {"tags": {"verified_date": "2026-01-01"}}]
    assert isinstance(refused(workspace, partly(talk=swapped)), ForbiddenError)


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


def test_a_refusal_tells_no_line_to_who_does_not_see_what_stands_above(workspace):
    error = refused(workspace, partly(talk=[SHORT, CALLS, {"body": "```\nopen"}]))
    assert error.code == "structure"
    assert "line" not in str(error)


# --- new words are not verified ---

REWORDED = "short answers, always"


@pytest.mark.parametrize("agent", ["neo", "auditor"])
@pytest.mark.parametrize("tags", [{}, {"verified_date": "2026-01-01"}])
def test_reworded_entries_lose_their_verification(workspace, agent, tags):
    submit(workspace, partly(talk=[{"body": REWORDED, "tags": tags}, CALLS]), agent, agent)
    (entry,) = [each for each in workspace.read(agent).document.entries if each.body == REWORDED]
    assert "verified_date" not in entry.tags


def test_a_text_that_keeps_the_verification_of_other_words_is_refused(workspace):
    everything = WATCHED["careful"] + "writable_categories: ['*', __uncategorized__]\n"
    (workspace.root / "profiles" / "careful.yaml").write_text(everything)
    kept = TEXT.replace("short answers", REWORDED)
    assert isinstance(refused(workspace, kept, "careful", "careful"), ForbiddenError)
    submit(workspace, kept.replace("[verified_date: 2026-01-01] ", ""), "careful", "careful")
    assert f"\n{REWORDED}\n" in text_of(workspace, "careful/user")
