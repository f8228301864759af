"""What a profile may write through the workspace, and what its refusals tell."""

from __future__ import annotations

from datetime import date

import pytest

from catmem.errors import AmbiguousError, CatmemError, EditError, ForbiddenError, NoMatchError, UnknownNameError
from tests.roots import make_root, put_bytes, text_of

DAY = date(2026, 5, 1)
PROFILES = {
    "neo": "user_memory_categories: [talk, rules]\nwritable_categories: [talk, drop]\n",
    "one": "user_memory_categories: [talk, rules]\nwritable_categories: [talk]\n",
    "auditor": "user_memory_categories: [talk, rules]\nmay_verify: true\n",
    "boss": "tier: 1\nuser_memory_categories: [talk]\n",
}
TEXT = "loose\n\n## Talk\nshort answers\n\n## Rules\nbe kind\n\n## Drop\nhidden drop\n\n## Pay\nhidden pay, short\n"


@pytest.fixture(autouse=True)
def today(monkeypatch):
    monkeypatch.setattr("catmem.service.workspace.today", lambda: DAY)


@pytest.fixture
def workspace(tmp_path):
    files = {f"{name}/user": TEXT for name in PROFILES}
    return make_root(tmp_path, profiles=PROFILES, files=files)


def test_the_actor_is_on_the_record(workspace):
    workspace.add("neo", "x", category="talk", actor="neo")
    head = workspace.store.head("neo/user")
    (action,) = head.note.pop("actions")
    assert (head.agent, head.op, head.note) == ("neo", "put", {"target": "user", "actor": "neo"})
    assert (action["action"], action["category"]) == ("add", "talk")
    workspace.add("neo", "y", category="talk")
    assert workspace.store.head("neo/user").agent == "person"


def test_an_unknown_actor(workspace):
    with pytest.raises(UnknownNameError, match="nobody"):
        workspace.add("neo", "x", category="talk", actor="nobody")


@pytest.mark.parametrize("owner", ["one", "nobody", "../neo"])
def test_another_profiles_files_look_as_if_there_were_none(workspace, owner):
    with pytest.raises(UnknownNameError) as caught:
        workspace.add(owner, "x", category="talk", actor="neo")
    assert caught.value.to_dict() == {
        "code": "unknown_name",
        "message": f"there is no profile {owner!r}",
        "hint": "neo acts on its own files only: use the name 'neo'.",
    }


def test_a_tier_1_profile_writes_to_every_profiles_files(workspace):
    assert workspace.remove("neo", "hidden pay", actor="boss").changed
    assert workspace.add("neo", "x", category="pay", tags={"verified_date": "2026-01-01"}, actor="boss").changed


# --- categories ---


@pytest.mark.parametrize("category", ["talk", "drop"])
def test_a_profile_adds_to_what_it_may_write_whether_it_sees_it_or_not(workspace, category):
    assert workspace.add("neo", "x", category=category, actor="neo").entries[0].category == category


def test_a_profile_with_one_writable_category_need_not_name_it(workspace):
    assert workspace.add("one", "x", actor="one").entries[0].category == "talk"
    assert workspace.add("one", "x", target="memory", actor="one", as_of=DAY).after == (
        "## Talk\n[created: 2026-05-01] x\n"
    )


@pytest.mark.parametrize("target", ["user", "memory"])
def test_a_profile_with_several_has_to(workspace, target):
    with pytest.raises(EditError) as caught:
        workspace.add("neo", "x", target=target, actor="neo")
    assert (caught.value.code, caught.value.hint) == ("no_category", "Name one of talk, drop.")


def test_a_profile_without_any_is_told_so(workspace):
    with pytest.raises(EditError) as caught:
        workspace.add("auditor", "x", actor="auditor")
    assert (caught.value.code, caught.value.hint) == ("no_category", "There is none that may be written.")


@pytest.mark.parametrize("category", ["rules", "pay", "not-there", "__uncategorized__"])
def test_what_it_may_not_write_is_refused_in_the_same_words(workspace, category):
    for write in (
        lambda: workspace.add("neo", "x", category=category, actor="neo"),
        lambda: workspace.move("neo", "short", category, actor="neo"),
    ):
        with pytest.raises(ForbiddenError) as caught:
            write()
        assert caught.value.message == f"neo may not write to the category {category!r}"
        assert caught.value.hint == "It may write to talk, drop."


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
    with pytest.raises(ForbiddenError) as caught:
        write(workspace)
    assert caught.value.hint == "It may write to talk, drop."
    assert text_of(workspace) == TEXT


@pytest.mark.parametrize(
    "write",
    [
        lambda ws, **how: ws.replace("neo", "hidden", "x", **how),
        lambda ws, **how: ws.remove("neo", "hidden", **how),
        lambda ws, **how: ws.remove("neo", "hidden", category="pay", **how),
        lambda ws, **how: ws.remove("neo", "hidden", category="drop", **how),
        lambda ws, **how: ws.remove("neo", "loose", **how),
        lambda ws, **how: ws.move("neo", "hidden", "talk", **how),
    ],
)
def test_what_it_does_not_see_is_not_there(workspace, write):
    with pytest.raises(NoMatchError) as caught:
        write(workspace, actor="neo")
    assert "hidden" not in caught.value.hint
    assert text_of(workspace) == TEXT


def test_the_id_of_a_hidden_entry_names_nothing(workspace):
    hidden = workspace.read("neo").document.by_category["pay"][0]
    with pytest.raises(NoMatchError):
        workspace.remove("neo", hidden.id, actor="neo")


def test_hidden_entries_make_no_text_ambiguous(workspace):
    with pytest.raises(AmbiguousError):
        workspace.remove("neo", "short")
    assert workspace.remove("neo", "short", actor="neo").entries[0].category == "talk"


def test_an_addition_does_not_tell_whether_a_hidden_text_is_there(workspace):
    there = workspace.add("neo", "hidden drop", category="drop", actor="neo")
    new = workspace.add("neo", "something else", category="drop", actor="neo")
    assert (there.changed, there.notes) == (new.changed, new.notes) == (True, ())


def test_uncategorized_entries_of_a_flat_file_are_seen_and_still_not_writable(workspace):
    put_bytes(workspace, "neo/user", "loose\n")
    with pytest.raises(ForbiddenError):
        workspace.remove("neo", "loose", actor="neo")


def test_hidden_names_are_not_suggested(tmp_path):
    config = "taxonomy: {card_titles: true, categories: {talk: {}, pay-roll: {}}}\n"
    profiles = {"neo": "writable_categories: ['*', '!pay-roll']\n"}
    workspace = make_root(tmp_path, config=config, profiles=profiles)
    with pytest.raises(CatmemError) as caught:
        workspace.add("neo", "x", category="pay-rol", actor="neo")
    assert (caught.value.code, caught.value.hint) == ("unknown_category", "The categories to write to are talk.")


# --- verifying ---


@pytest.mark.parametrize(
    "write",
    [
        lambda ws, **how: ws.verify("neo", "short", **how),
        lambda ws, **how: ws.add("neo", "x", category="talk", tags={"verified_date": "2026-01-01"}, **how),
        lambda ws, **how: ws.replace("neo", "short", "x", tags={"verified_date": "2026-01-01"}, **how),
    ],
)
def test_a_profile_without_the_right_verifies_nothing(workspace, write):
    with pytest.raises(ForbiddenError) as caught:
        write(workspace, actor="neo")
    assert "Leave verified_date out" in caught.value.hint
    assert text_of(workspace) == TEXT


def test_a_date_that_is_there_already_is_no_verification(workspace):
    put_bytes(workspace, "neo/user", "## Talk\n[verified_date: 2026-01-01] x\n")
    tags = {"verified_date": "2026-01-01"}
    assert workspace.replace("neo", "x", "y", tags=tags, actor="neo").entries[0].tags == tags


def test_who_may_verify_verifies_what_it_sees_and_need_not_write_it(workspace):
    assert workspace.verify("auditor", "be kind", as_of=DAY, actor="auditor").entries[0].tags == {
        "verified_date": "2026-05-01"
    }
    with pytest.raises(NoMatchError):
        workspace.verify("auditor", "hidden pay", actor="auditor")
    with pytest.raises(ForbiddenError):
        workspace.replace("auditor", "be kind", "be cruel", actor="auditor")
