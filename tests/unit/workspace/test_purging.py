"""What is forgotten, and what is not."""

import pytest

from catmem.errors import AmbiguousError, EditError, NoMatchError
from catmem.model.document import parse
from catmem.workspace.purging import purge
from catmem.workspace.upkeep import fsck
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.together import together

TEXT = "## Talk\nshort answers\n\n## Pay\nThe card is 4711.\n"


@pytest.fixture
def workspace(tmp_path):
    for name in ("neo", "ann"):
        put(tmp_path / "profiles" / f"{name}.yaml", "user_memory_categories: ['*']\n")
        put(tmp_path / "homes" / name / "USER.md", TEXT)
    opened = Workspace.open(tmp_path, search=False)
    yield opened
    opened.store.close()


def kept(workspace, entity="neo/user"):
    """All that an entity's file and history hold."""
    store = workspace.store
    return b"\0".join([store.peek(entity), *(data for _, data in store.replay(entity))]).decode()


def texts(report):
    return [each.entry.body for each in report.entries if each.entity == "neo/user"]


def test_older_wordings_that_hold_the_text_are_forgotten_with_the_present_one(workspace):
    workspace.replace("neo", "4711", "Pay with 4711.")
    workspace.add("neo", "4711 is blocked", category="talk", tags={"source": "a call"})
    workspace.remove("neo", "is blocked")
    report = purge(workspace, "neo", "4711\n")
    assert set(texts(report)) == {"Pay with 4711.", "4711 is blocked", "The card is 4711."}
    assert "4711" not in kept(workspace)
    assert "short answers" in workspace.store.peek("neo/user").decode()
    assert not fsck(workspace).damaged


def test_a_dry_run_lists_each_body_with_its_newest_category_and_id(workspace):
    workspace.verify("neo", "4711")
    workspace.replace("neo", "4711", "Pay with 4711.")
    workspace.move("neo", "4711", "talk")
    before = kept(workspace)
    report = purge(workspace, "neo", "4711", dry_run=True)
    (now,) = [entry for entry in workspace.read("neo").document.entries if "4711" in entry.body]
    assert [(each.entity, each.entry.category, each.entry.body) for each in report.entries] == [
        ("neo/user", "talk", "Pay with 4711."),
        ("neo/user", "pay", "Pay with 4711."),
        ("neo/user", "pay", "The card is 4711."),
        ("ann/user", "pay", "The card is 4711."),
    ]
    assert report.entries[0].entry.id == now.id
    assert report.entries[2].entry.tags
    assert (report.entities, kept(workspace)) == (("neo/user", "ann/user"), before)


def test_the_same_words_elsewhere_go_and_other_words_stay(workspace):
    workspace.add("ann", "4711 is my lucky number", category="talk")
    report = purge(workspace, "neo", "4711")
    assert report.entities == ("neo/user", "ann/user")
    assert "The card" not in kept(workspace, "ann/user")
    assert "4711 is my lucky number" in kept(workspace, "ann/user")


def test_an_id_means_one_body_whatever_its_tags(workspace):
    workspace.add("neo", "The card is 4711. Sign for it.", category="pay")
    workspace.verify("neo", "The card is 4711.")
    report = purge(workspace, "neo", parse(TEXT).entries[1].id)
    assert set(texts(report)) == {"The card is 4711."}
    assert kept(workspace).count("The card is 4711.") == kept(workspace).count("The card is 4711. Sign for it.") > 0
    assert not [fault for fault in fsck(workspace).faults if fault.code == "changed_outside"]


def test_several_present_bodies_are_ambiguous(workspace):
    workspace.add("neo", "The card is 4711. Sign for it.", category="pay")
    before = kept(workspace)
    with pytest.raises(AmbiguousError) as caught:
        purge(workspace, "neo", "The card is 4711.")
    assert len(caught.value.places) == 2
    assert caught.value.hint.startswith("Nothing was forgotten.")
    assert kept(workspace) == before


def test_with_every_all_bodies_go_at_once(workspace):
    for text in ("4711 opens the door.", "The card is 4711. Sign for it."):
        workspace.add("neo", text, category="pay")
    assert set(texts(purge(workspace, "neo", "4711", every=True, dry_run=True))) >= {"4711 opens the door."}
    assert "4711" in kept(workspace)
    report = purge(workspace, "neo", "4711", every=True)
    assert set(texts(report)) == {"The card is 4711.", "4711 opens the door.", "The card is 4711. Sign for it."}
    assert "4711" not in kept(workspace)


def test_one_body_in_several_places_is_not(workspace):
    workspace.add("neo", "The card is 4711.", category="talk")
    purge(workspace, "neo", "4711")
    assert "4711" not in kept(workspace)


def test_what_nobody_holds_any_more_is_found_in_the_past(workspace):
    workspace.replace("neo", "4711", "No card.")
    assert texts(purge(workspace, "neo", "4711")) == ["The card is 4711."]
    assert "4711" not in kept(workspace)
    assert "No card." in kept(workspace)


@together(
    ("old_text", "error"),
    [("", EditError), (" \n", EditError), ("4712", NoMatchError), ("b2:" + "0" * 32, NoMatchError)],
)
def test_what_is_no_entry(workspace, old_text, error):
    with pytest.raises(error):
        purge(workspace, "neo", old_text)
