"""What a profile may write through the workspace, and what its refusals tell."""

from datetime import date

import pytest

from catmem.errors import (
    EditError,
    ForbiddenError,
    NoMatchError,
)
from catmem.jsonable import jsonable
from catmem.workspace.workspace import Workspace
from catmem.writing.request import Operation
from tests.golden.case import put
from tests.refusals import refusal
from tests.roots import make_root, put_bytes, text_of

DAY = date(2026, 5, 1)
PROFILES = {
    "neo": "user_memory_categories: [talk, rules]\nwritable_categories: [talk, drop]\n",
    "one": "user_memory_categories: [talk, rules]\nwritable_categories: [talk]\n",
    "auditor": "user_memory_categories: [talk, rules]\nmay_verify: true\n",
    "boss": "tier: 1\nuser_memory_categories: [talk]\n",
}
TEXT = "loose\n\n## Talk\nshort answers\n\n## Rules\nbe kind\n\n## Drop\nhidden drop\n\n## Pay\nhidden pay, short\n"


@pytest.fixture
def workspace(tmp_path):
    files = {f"{name}/user": TEXT for name in PROFILES}
    return make_root(tmp_path, profiles=PROFILES, files=files)


@pytest.mark.parametrize("hidden", [1, 7])
def test_what_several_entries_hold_tells_an_agent_nothing_of_what_stands_before_them(workspace, hidden):
    above = "\n§\n".join(f"secret {number}" for number in range(hidden))
    put_bytes(workspace, "neo/user", f"## Pay\n{above}\n\n## Talk\nsame thing one\n§\nsame thing two\n")
    told = refusal("ambiguous", workspace.remove, "neo", "same thing", actor="neo")
    assert [sorted(place) for place in told.places] == [["category", "id"]] * 2
    assert "line" not in told.message
    told = refusal("ambiguous", workspace.remove, "neo", "same thing")
    first = 2 * hidden + 3
    assert told.message.endswith(f" hold 'same thing': line {first} (talk), line {first + 2} (talk)")


@pytest.mark.parametrize("owner", ["one", "nobody", "../neo"])
def test_another_profiles_files_look_as_if_there_were_none(workspace, owner):
    assert jsonable(refusal("unknown_name", workspace.add, owner, "x", category="talk", actor="neo")) == {
        "code": "unknown_name",
        "message": f"there is no profile {owner!r}",
        "hint": "neo acts on its own files only: use the name 'neo'.",
    }


def test_a_tier_1_profile_writes_to_every_profiles_files(workspace):
    # "hidden pay, short" is not there for it.
    assert workspace.remove("neo", "short", actor="boss").entries[0].category == "talk"
    assert workspace.add("neo", "x", category="pay", tags={"verified_date": "2026-01-01"}, actor="boss").changed


@pytest.mark.parametrize("old_text", ["hidden pay", "hidden", "hidden pay, short", "b2:"])
@pytest.mark.parametrize("verb", ["remove", "verify", "replace", "move"])
def test_it_acts_on_what_its_selectors_show_it_and_is_told_of_nothing_else(workspace, verb, old_text):
    if old_text == "b2:":
        old_text = workspace.read("neo").document.by_category["pay"][0].id
    more = {"replace": ["x"], "move": ["talk"]}.get(verb, [])
    for category in (None, "pay"):
        with pytest.raises(NoMatchError) as caught:
            getattr(workspace, verb)("neo", old_text, *more, category=category, actor="boss")
        assert "hidden" not in caught.value.hint
    assert text_of(workspace) == TEXT


# --- categories ---


@pytest.mark.parametrize("category", ["talk", "drop"])
def test_a_profile_adds_to_what_it_may_write_whether_it_sees_it_or_not(workspace, category):
    assert workspace.add("neo", "x", category=category, actor="neo").entries[0].category == category


@pytest.mark.parametrize("category", ["rules", "pay", "not-there", "__uncategorized__"])
def test_what_it_may_not_write_is_refused_in_the_same_words_also_as_the_place_to_look(workspace, category):
    for write in (
        lambda: workspace.add("neo", "x", category=category, actor="neo"),
        lambda: workspace.move("neo", "short", category, actor="neo"),
        lambda: workspace.remove("neo", "hidden", category=category, actor="neo"),
        lambda: workspace.replace("neo", "zebra", "x", category=category, actor="neo"),
        lambda: workspace.move("neo", "be", "talk", category=category, actor="neo"),
    ):
        caught = refusal("forbidden", write)
        assert caught.message == f"neo may not write to the category {category!r}"
        assert caught.hint == "It may write to talk, drop."


@pytest.mark.parametrize(
    "write",
    [
        lambda ws: ws.replace("neo", "be kind", "x", actor="neo"),
        lambda ws: ws.replace("neo", "be kind", None, tags={"source": "x"}, actor="neo"),
        lambda ws: ws.remove("neo", "be kind", actor="neo"),
        lambda ws: ws.move("neo", "be kind", "talk", actor="neo"),
    ],
)
def test_what_it_only_sees_stays(workspace, write):
    assert refusal("forbidden", write, workspace).hint == "It may write to talk, drop."
    assert text_of(workspace) == TEXT


@pytest.mark.parametrize("actor", ["neo", "boss"])
def test_an_addition_does_not_tell_whether_a_hidden_text_is_there(workspace, actor):
    there = workspace.add("neo", "hidden drop", category="drop", actor=actor)
    new = workspace.add("neo", "something else", category="drop", actor=actor)
    assert (there.changed, there.notes) == (new.changed, new.notes) == (True, ())


def test_uncategorized_entries_may_be_seen_and_still_not_writable(tmp_path):
    workspace = make_root(tmp_path, profiles={"neo": "{}\n"}, files={"neo/user": "loose\n"})
    refusal("forbidden", workspace.remove, "neo", "loose", actor="neo")


def test_hidden_names_are_not_suggested(tmp_path):
    config = "taxonomy: {card_titles: true, categories: {talk: {}, pay-roll: {}}}\n"
    profiles = {"neo": "writable_categories: ['*', '!pay-roll']\n"}
    workspace = make_root(tmp_path, config=config, profiles=profiles)
    caught = refusal("unknown_category", workspace.add, "neo", "x", category="pay-rol", actor="neo")
    assert caught.hint == "The categories to write to are talk."


# --- verifying ---


@pytest.mark.parametrize(
    ("write", "leave_out"),
    [
        (lambda ws, **how: ws.verify("neo", "short", **how), False),
        (lambda ws, **how: ws.add("neo", "x", category="talk", tags={"verified_date": "2026-01-01"}, **how), True),
        (lambda ws, **how: ws.replace("neo", "short", "x", tags={"verified_date": "2026-01-01"}, **how), True),
    ],
    ids=["verify", "add", "replace"],
)
def test_a_profile_without_the_right_verifies_nothing(workspace, write, leave_out):
    assert ("Leave verified_date out" in refusal("forbidden", write, workspace, actor="neo").hint) is leave_out
    assert text_of(workspace) == TEXT


DATED = "## Talk\n[verified_date: 2026-01-01, created: 2025-01-01, expires: 2026-06-01] x\n§\nplain\n"


@pytest.mark.parametrize(
    ("old_text", "tags"),
    [
        ("x", {"verified_date": "2026-02-01"}),
        ("x", {"verified_date": "2020-01-01"}),
        ("x", {"verified_date": None}),
        ("x", {"created": "2026-02-01"}),
        ("x", {"created": None}),
        ("x", {"expires": "2030-01-01"}),
        ("x", {"expires": "2026-05-01"}),
        ("x", {"expires": None}),
        ("plain", {"created": "2026-05-01"}),
    ],
)
@pytest.mark.parametrize("content", [None, "other words"])
def test_nor_does_it_turn_the_clock_of_a_fact(workspace, old_text, tags, content):
    put_bytes(workspace, "neo/user", DATED)
    caught = refusal("forbidden", workspace.replace, "neo", old_text, content, tags=tags, actor="neo")
    assert caught.hint.startswith(f"Leave {next(iter(tags))} out. ")
    assert text_of(workspace) == DATED
    assert workspace.replace("neo", old_text, content, tags=tags).changed


@pytest.mark.parametrize(
    "tags",
    [
        {"created": "2025-01-01", "expires": "2026-06-01", "verified_date": "2026-01-01", "source": "me"},
        {"source": "me"},
    ],
)
def test_a_clock_that_is_given_as_it_is_stays(workspace, tags):
    put_bytes(workspace, "neo/user", DATED)
    assert workspace.replace("neo", "x", None, tags=tags, actor="neo").changed


# --- what is refused leaves no trace ---


@pytest.mark.parametrize(
    "write",
    [
        lambda ws, **how: ws.add("auditor", "x", **how),
        lambda ws, **how: ws.add("auditor", "x", category="talk", **how),
        lambda ws, **how: ws.remove("auditor", "short", **how),
        lambda ws, **how: ws.replace("auditor", "short", "x", **how),
        lambda ws, **how: ws.move("auditor", "short", "rules", **how),
        lambda ws, **how: ws.verify("auditor", "hidden", category="pay", **how),
        lambda ws, **how: ws.write(
            "auditor", [Operation("verify", old_text="short"), Operation("remove", old_text="short")], **how
        ),
    ],
)
def test_who_has_no_right_does_not_touch_the_store(tmp_path, write):
    put(tmp_path / "profiles" / "auditor.yaml", PROFILES["auditor"])
    file = put(tmp_path / "homes" / "auditor" / "USER.md", TEXT)
    workspace = Workspace.open(tmp_path, search=False)
    try:
        for expected in (None, "0"):
            with pytest.raises((ForbiddenError, EditError)):
                write(workspace, actor="auditor", expected=expected)
        assert [each.name for each in file.parent.iterdir()] == ["USER.md"]
        assert workspace.store.head("auditor/user") is None
    finally:
        workspace.store.close()


def test_of_several_operations_the_one_without_a_right_is_named(workspace):
    operations = [Operation("remove", old_text="zebra"), Operation("add", content="x", category="pay")]
    assert refusal("forbidden", workspace.write, "neo", operations, actor="neo").key == "operations[1]"


def test_a_date_that_is_there_already_verifies_no_new_words(workspace):
    put_bytes(workspace, "neo/user", "## Talk\n[verified_date: 2026-01-01] x\n")
    tags = {"verified_date": "2026-01-01"}
    assert workspace.replace("neo", "x", "y", tags=tags, actor="neo").entries[0].tags == {}


def test_who_may_verify_verifies_what_it_sees_and_need_not_write_it(workspace):
    assert workspace.verify("auditor", "be kind", as_of=DAY, actor="auditor").entries[0].tags == {
        "verified_date": "2026-05-01"
    }
    refusal("no_match", workspace.verify, "auditor", "hidden pay", actor="auditor")
    refusal("forbidden", workspace.replace, "auditor", "be kind", "be cruel", actor="auditor")


# --- domains, and how long a fact in one is fresh ---

DOMAINS = """\
version: 1
stale_after: 30d
domains: {daily: {stale_after: 1d}, archive: {stale_after: 9999d}}
taxonomy: {categories: {talk: {}, drop: {stale_after: 9999d}, rules: {}}}
"""
DOMAIN_TEXT = "## Talk\n[created: 2026-01-01] x\n§\n[created: 2026-01-01, domain: daily] y\n"


@pytest.fixture
def domains(tmp_path):
    return make_root(tmp_path, config=DOMAINS, profiles=PROFILES, files={"neo/user": DOMAIN_TEXT})


@pytest.mark.parametrize(
    ("old_text", "domain"), [("x", "archive"), ("x", ["archive"]), ("y", "archive"), ("y", None), ("y", "unheard-of")]
)
@pytest.mark.parametrize("content", [None, "other words"])
def test_nor_does_it_choose_a_domain_in_which_a_fact_is_fresh_for_longer(domains, old_text, domain, content):
    caught = refusal("forbidden", domains.replace, "neo", old_text, content, tags={"domain": domain}, actor="neo")
    assert caught.hint.startswith("Leave domain out. ")
    assert text_of(domains) == DOMAIN_TEXT
    assert domains.replace("neo", old_text, content, tags={"domain": domain}).changed


def test_a_move_to_where_facts_are_fresh_for_longer_is_for_who_may_write_there(domains):
    assert domains.move("neo", "x", "drop", actor="neo").changed
