"""Seeds on the page: the files that are ticked are written, and what is refused is told."""

import re

import pytest

from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace
from tests.roots import text_of
from tests.unit.seeding.seeds import NEO, TEXT, bodies, locked, seed, write_files
from tests.unit.server.page.forms import Forms, refused, sent, shown
from tests.unit.server.page.markup import Markup

ONE = "/page/seeds/neo"
ALL = "/page/seeds/from/boss"


@pytest.fixture
def workspace(tmp_path):
    """The boss seeds neo and ann, who have nothing yet."""
    workspace = Workspace.open(write_files(tmp_path), search=False)
    workspace.store.commit("boss/user", None, lambda _: TEXT.encode(), Change())
    return workspace


@pytest.fixture
def in_conflict(workspace):
    """neo and the boss changed the same entry."""
    seed(workspace)
    workspace.replace("neo", "Likes tea.", "Likes black tea.")
    workspace.replace("boss", "Likes tea.", "Likes green tea.")


def told(answer):
    return Markup(answer.text).text


def test_one_profile_is_seeded_as_it_was_shown(client, workspace):
    answer = sent(client, shown(client, ONE).named("Seed neo/user"))
    assert answer.headers["location"] == f"{ONE}?did=neo/user@1"
    assert (text_of(workspace), text_of(workspace, "ann/user")) == (NEO, "")
    assert workspace.plan_seed("boss", ["neo"]).in_sync
    assert "Seeded from boss/user" in told(client.get(answer.headers["location"]))


def test_all_that_a_profile_seeds_is_written_at_once_and_told(client):
    answer = sent(client, shown(client, ALL).named("Seed what is ticked"))
    assert answer.headers["location"] == f"{ALL}?did=ann/user@1+neo/user@1"
    page = client.get(answer.headers["location"])
    assert "ann/user, revision 1" in told(page)
    assert "neo/user, revision 1" in told(page)
    assert "Undo" not in str(Forms(page.text).all)  # it would leave the record of seeds as it is
    assert "no later seed brings back" in told(page)


def test_without_any_file_nothing_is_done(client, workspace):
    form = shown(client, ONE).named("Seed neo/user")
    del form["fields"]["file-neo/user"]
    page, _ = refused(sent(client, form), 422)
    assert "no file is chosen" in page.text
    assert text_of(workspace) == ""


def source_changed(workspace):
    workspace.replace("boss", "Likes tea.", "Likes green tea.")


def target_changed(workspace):
    workspace.add("neo", "Likes green tea.", category="talk")


@pytest.mark.parametrize("change", [source_changed, target_changed])
def test_what_changed_since_the_page_was_shown_is_seeded_as_well(client, workspace, change):
    form = shown(client, ONE).named("Seed neo/user")
    change(workspace)
    assert sent(client, form).status_code == 303
    assert {"Likes green tea.", "Vendor is Acme."} <= set(bodies(workspace))
    assert workspace.plan_seed("boss", ["neo"]).in_sync


def test_one_of_two_files_that_is_refused_is_told_and_the_other_is_written(client, workspace):
    form = shown(client, ALL).named("Seed what is ticked")
    workspace.store.commit("neo/user", None, lambda _: b"## Talk\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> on\n", Change())
    page, _ = refused(sent(client, form))
    assert "The others were seeded: 1." in page.text
    assert locked(workspace) == []


@pytest.mark.usefixtures("in_conflict")
def test_a_conflict_stays_open_until_somebody_settles_it(client, workspace):
    page = client.get(ONE)
    assert "Settle 1 conflict" in told(page)
    assert "change/seed" not in page.text
    assert bodies(workspace)[0] == "Likes black tea."


@pytest.mark.parametrize(
    ("side", "button", "body"),
    [
        ("source", "Seed neo/user", "Likes green tea."),
        ("target", "Keep the words of neo/user: those of boss are not offered again", "Likes black tea."),
    ],
)
@pytest.mark.usefixtures("in_conflict")
def test_a_conflict_is_settled_as_it_was_shown(client, workspace, side, button, body):
    form = shown(client, f"{ONE}?resolve={side}").named(button)
    assert sent(client, form).status_code == 303
    assert bodies(workspace)[0] == body
    assert workspace.plan_seed("boss", ["neo"]).in_sync


@pytest.fixture
def two_conflicts(in_conflict, workspace):
    """The tea, and the vendor."""
    workspace.replace("boss", "Vendor is Acme.", "Vendor is Bolt.")
    workspace.replace("neo", "Vendor is Acme.", "Vendor is Core.")


def choices(page, of):
    """Where the links lead that settle one conflict, by their sides."""
    text = re.sub("</?mark>", "", page.text)
    (section,) = [part for part in text.split("pair-conflict")[1:] if of in part]
    return {
        link.rpartition("-")[2]: link
        for link in re.findall(r'href="([^"]+resolve=[^"]+)"', section.partition("</section>")[0])
    }


@pytest.mark.usefixtures("two_conflicts")
def test_each_conflict_is_settled_by_itself(client, workspace):
    page = client.get(ONE)
    assert "seeded lastLikes tea. neoLikes black tea. bossLikes green tea." in told(page)
    one = choices(page, "green tea")
    assert set(one) == {"source", "target", "both"}
    half = client.get(one["source"])
    assert "1 conflict, settled" in told(half)
    assert "Settle " not in told(half)
    whole = shown(client, choices(half, "Core")["both"])
    assert sent(client, whole.named("Seed neo/user")).status_code == 303
    assert bodies(workspace)[0] == "Likes green tea."
    assert {"Vendor is Core.", "Vendor is Bolt."} <= set(bodies(workspace))
    assert workspace.plan_seed("boss", ["neo"]).in_sync
