"""What is forgotten, and what is not."""

import pytest

from catmem import Operation
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
    assert report.left == (("homes/ann/USER.md", "ann/user holds the words too: purge it there"),)
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


# --- where no body holds it ------------------------------------------------------------------------------------------


def test_an_entry_that_holds_it_in_its_tags_is_one_that_holds_it(workspace):
    for name in ("neo", "ann"):
        workspace.add(name, "Ask the porter.", category="talk", tags={"source": "letter about 4711"})
    workspace.add("ann", "Ask the porter.", category="pay")
    with pytest.raises(AmbiguousError):
        purge(workspace, "neo", "4711")
    report = purge(workspace, "neo", "4711", every=True)
    assert (report.entities, report.left) == (("neo/user", "ann/user"), ())
    assert "4711" not in kept(workspace) + kept(workspace, "ann/user")
    assert [entry.category for entry in workspace.read("ann").document.entries if "porter" in entry.body] == ["pay"]
    assert not fsck(workspace).damaged


def test_only_a_tag_that_held_it_once_is_found_in_the_past(workspace):
    workspace.add("neo", "Ask the porter.", category="talk", tags={"source": "letter 4712"})
    workspace.remove("neo", "porter")
    assert texts(purge(workspace, "neo", "4712")) == ["Ask the porter."]
    assert "4712" not in kept(workspace)


@pytest.mark.parametrize("dry_run", [True, False])
@together("line", ["## The 4711 desk\nfront door\n", "# About 4711\n"])
def test_a_line_outside_all_entries_is_refused_and_goes_from_the_past(workspace, line, dry_run):
    path = workspace.path("neo", "user")
    path.write_text(line + TEXT, encoding="utf-8")
    workspace.add("neo", "a note", category="talk")
    before = path.read_bytes()
    with pytest.raises(EditError) as caught:
        purge(workspace, "neo", "4711", dry_run=dry_run)
    assert (caught.value.code, str(caught.value)) == (
        "in_line",
        "line 1 of neo/user holds the text outside its entries",
    )
    assert path.read_bytes() == before
    path.write_bytes(before.replace(line.encode(), line.replace("4711", "front").encode()))
    report = purge(workspace, "neo", "4711", dry_run=dry_run)
    assert report.left == ()
    if not dry_run:
        assert "4711" not in kept(workspace)
        assert "a note" in kept(workspace)
        assert not fsck(workspace).damaged


def test_a_heading_alone_that_held_it_goes_from_the_past(workspace):
    path = workspace.path("neo", "user")
    path.write_text("## The 4712 desk\nfront door\n" + TEXT, encoding="utf-8")
    workspace.add("neo", "a note", category="talk")
    path.write_bytes(path.read_bytes().replace(b"4712", b"front"))
    assert purge(workspace, "neo", "4712").entries == ()
    assert "4712" not in kept(workspace)
    assert "## [purged]" in kept(workspace)


def test_the_name_of_a_writer_that_holds_it_is_named(workspace, monkeypatch):
    monkeypatch.setenv("CATMEM_PERSON", "Zebra Smith")
    workspace.write("neo", [Operation("add", content="The plan is called Zebra.", category="talk")])
    left = {each.why for each in purge(workspace, "neo", "Zebra").left}
    assert "the name of who wrote a revision says it, and stays in the history" in left
    assert any("name of a writer or a note there" in why for why in left)


def test_an_op_id_with_it_is_named(workspace):
    for name in ("neo", "ann"):
        workspace.write(name, [Operation("add", content="a note", category="talk")], op_id="call 4711")
    left = purge(workspace, "neo", "4711").left
    assert {each.path for each in left} == {"homes/neo/.catmem/journal", "homes/ann/.catmem/journal"}
    assert {each.why for each in left} == {"the op_id of a write says it, and stays in the history"}


def test_a_piece_of_the_mark_is_refused(workspace):
    workspace.add("neo", "It was purged.", category="talk")
    with pytest.raises(EditError, match="a piece of it"):
        purge(workspace, "neo", "purged")


@together(
    ("old_text", "error"),
    [("", EditError), (" \n", EditError), ("4712", NoMatchError), ("b2:" + "0" * 32, NoMatchError)],
)
def test_what_is_no_entry(workspace, old_text, error):
    with pytest.raises(error):
        purge(workspace, "neo", old_text)
