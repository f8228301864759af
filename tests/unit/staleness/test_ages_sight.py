"""Ages are worked out from what the one who asks may see, and from nothing else."""

from datetime import date

import pytest

from catmem.ops.memory_tool import memory_tool
from catmem.staleness import lineage
from catmem.staleness.lineage import CLOCKS, body_key, freshness_of
from catmem.store.contract import Change
from tests.golden.case import put
from tests.unit.staleness.aging import LATER, Aging

BOUND = "user_memory_categories: [talk, rules]\nmemory_categories: [talk]\nwritable_categories: [talk, rules, drop]\n"
GUESSED = "the code of the safe is on the back"
FLAT = f"## Talk\nno calls before ten\n§\nin English\n\n## Vault\n{GUESSED}\n§\nanother\n\n## Rules\ntwo spaces\n"
MARCH = date(2026, 3, 1)


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def aging(tmp_path):
    """A file of 10 January with a hidden section."""
    aging = Aging(tmp_path)
    put(tmp_path / "profiles" / "neo.yaml", BOUND)
    aging.on("2026-01-10").store.commit("neo/user", None, lambda _: FLAT.encode(), Change())
    aging.on("2026-02-01").add("neo", "begins", category="talk")
    yield aging
    aging.close()


def seen(aging, reader="neo", entity="neo/user"):
    """Basis and day of each entry in sight of a reader, by its body; ``None`` is a person."""
    workspace = aging.open()
    owner, target = entity.split("/")
    acting = None if reader is None else workspace.profile(reader)
    document = workspace.read(owner, target).document
    entries = document.entries if acting is None else workspace.view(owner, target).entries
    found = freshness_of(workspace, workspace.profile(owner), entity, document, entries, as_of=LATER, reader=acting)
    return {entry.body: (each.basis, str(each.day)) for entry, each in zip(entries, found, strict=True)}


def created(aging, content, actor="neo", category="talk"):
    """The ``created`` of an addition on the day that it is."""
    day = aging.system.day
    return aging.open().add("neo", content, category=category, actor=actor, as_of=day).entries[0].tags["created"]


def test_a_guess_of_a_hidden_text_is_told_no_day_of_it(aging):
    assert created(aging, GUESSED) == created(aging, "a wrong guess")


def test_nor_is_one_of_a_text_that_was_hidden_once_and_is_gone(aging):
    aging.on("2026-03-01").remove("neo", GUESSED)
    assert created(aging, GUESSED) == created(aging, "a wrong guess")


def test_words_in_sight_are_as_old_as_they_came_into_sight_and_not_as_a_hidden_section_had_them(aging):
    workspace = aging.on("2026-03-01")
    workspace.add("neo", GUESSED, category="talk", as_of=MARCH)
    workspace.replace("neo", GUESSED, None, category="talk", tags={"created": None})
    assert seen(aging)[GUESSED] == ("first_seen", "2026-03-01")
    assert seen(aging, None)[GUESSED] == ("first_seen", "2026-01-10")
    aging.on("2026-04-01").remove("neo", GUESSED, category="talk")
    assert created(aging, GUESSED) == "2026-03-01"


def test_what_is_moved_into_sight_is_as_old_as_that(aging):
    aging.on("2026-03-01").move("neo", GUESSED, "talk")
    assert seen(aging)[GUESSED] == ("first_seen", "2026-03-01")
    assert seen(aging, None)[GUESSED] == ("first_seen", "2026-01-10")


def test_so_is_what_comes_into_sight_with_its_whole_section(aging):
    aging.on("2026-03-01").store.commit(
        "neo/user", None, lambda current: current.data.replace(b"## Vault", b"## Talk"), Change()
    )
    found = seen(aging)
    assert found[GUESSED] == found["another"] == ("first_seen", "2026-03-01")
    assert found["in English"] == found["two spaces"] == ("first_seen", "2026-01-10")


def test_new_words_do_not_come_from_hidden_ones(aging):
    workspace = aging.on("2026-03-01")
    text = aging.path.read_text(encoding="utf-8")
    reworded = text.replace(f"{GUESSED}\n§\n", "").replace("in English", f"in English\n§\n{GUESSED} wall")
    workspace.store.commit("neo/user", None, lambda _: reworded.encode(), Change())
    assert seen(aging)[f"{GUESSED} wall"] == ("first_seen", "2026-03-01")


def test_hidden_revisions_leave_what_is_in_sight_as_old_as_it_is(aging):
    before = seen(aging)
    aging.on("2026-03-01").replace("neo", GUESSED, f"{GUESSED} wall")
    aging.on("2026-04-01").add("neo", "in English", category="vault")
    aging.on("2026-05-01").remove("neo", "in English", category="vault")
    assert seen(aging) == before


@pytest.mark.parametrize("verifies", [True, False])
def test_the_search_of_the_tool_tells_no_day_of_a_hidden_text(aging, verifies):
    """In the shared layout, where an addition gets no date, and for whoever may give or take one."""
    put(aging.folder / "profiles" / "neo.yaml", f"{BOUND}may_verify: {str(verifies).lower()}\n")
    shared = f"## Talk\n§\nno calls before ten\n§\n## Vault\n§\n{GUESSED}\n§\n## __uncategorized__\n"
    aging.outsider(shared, "2026-02-02")
    workspace = aging.on("2026-03-01")
    states = []
    for words in (GUESSED, "a wrong guess"):
        added = memory_tool(workspace, "neo", {"action": "add", "content": words, "category": "talk"})
        assert added["success"], added
        assert "created" not in aging.path.read_text(encoding="utf-8")
        (entry,) = memory_tool(workspace, "neo", {"action": "search", "query": f'"{words}"'})["entries"]
        assert words in str(entry)
        states.append({key: value for key, value in entry.items() if words not in str(value) and key != "id"})
    assert states[0]
    assert states[0] == states[1]


def test_a_seed_brings_no_day_of_what_its_target_does_not_see(aging):
    """The source had the words in a category that the target does not name, long before it had them in this one."""
    put(aging.folder / "profiles" / "pal.yaml", "user_memory_categories: [talk]\n")
    workspace = aging.on("2026-03-01")
    workspace.add("neo", GUESSED, category="talk")
    workspace.replace("neo", GUESSED, None, category="talk", tags={"created": None})
    workspace = aging.on("2026-04-01")
    workspace.apply_seed(workspace.plan_seed("neo", ["pal"]))
    clocks = workspace.store.head("pal/user").note[CLOCKS]
    assert clocks[body_key(GUESSED)] == "2026-03-01T12:00:00.000000Z"
    assert clocks[body_key("in English")] == "2026-01-10T12:00:00.000000Z"


def test_a_seed_of_an_older_build_noted_the_clock_too(aging):
    put(aging.folder / "profiles" / "pal.yaml", "user_memory_categories: [talk]\n")
    old, undated, odd = "first seen in January", "in a file of January", "noted in no way"
    january = "2026-01-10T12:00:00.000000Z"
    note = {body_key(old): ["first_seen", january], body_key(undated): ["file_time", january], body_key(odd): [7]}
    text = f"## Talk\n{old}\n§\n{undated}\n§\n{odd}\n"
    store = aging.on("2026-04-01").store
    store.commit("pal/user", None, lambda _: text.encode(), Change(op="seed", note={CLOCKS: note}))
    days = {body: day for body, (_, day) in seen(aging, None, "pal/user").items()}
    assert days == {old: "2026-01-10", undated: "None", odd: "None"}


# --- what is kept of it ---


def test_what_is_kept_is_what_the_journal_tells_anew(aging):
    workspace = aging.on("2026-03-01")
    view = workspace.view("neo", "user")
    for number in range(4):
        workspace.add("neo", f"fact {number}", category=("talk", "vault")[number % 2])
        workspace.replace("neo", "in English", None, tags={"source": str(number)})
        found = freshness_of(
            workspace, workspace.profile("neo"), "neo/user", view.document, view.entries, as_of=LATER,
            reader=workspace.profile("neo"),
        )  # fmt: skip
        told = {entry.body: (each.basis, str(each.day)) for entry, each in zip(view.entries, found, strict=True)}
    assert told.items() <= {**seen(aging), "begins": told["begins"]}.items()


def test_what_was_purged_is_worked_out_anew(aging):
    from catmem.workspace.purging import purge

    workspace = aging.on("2026-03-01")
    document = workspace.read("neo").document
    workspace.add("neo", "a leaked secret", category="talk")

    def known():
        freshness_of(
            workspace, workspace.profile("neo"), "neo/user", document, document.entries, as_of=LATER, reader=None
        )
        return workspace._cache.histories._kept["neo/user"].known

    assert body_key("a leaked secret") in known()
    purge(workspace, "neo", "a leaked secret")
    assert body_key("a leaked secret") not in known()


def test_how_much_is_kept_has_a_bound(aging, monkeypatch):
    monkeypatch.setattr(lineage, "KEPT", 20)
    workspace = aging.on("2026-03-01")
    for number in range(30):
        text = f"## Talk\nThe count is {number}.\n§\nwhat stays\n".encode()
        workspace.store.commit("neo/user", None, lambda _, text=text: text, Change())
    document = workspace.read("neo").document
    for reader in (None, "neo"):
        acting = None if reader is None else workspace.profile(reader)
        owner = workspace.profile("neo")
        freshness_of(workspace, owner, "neo/user", document, document.entries, as_of=LATER, reader=acting)
    kept = workspace._cache.histories._kept.values()
    assert [each.rights.actor for each in kept] == [workspace.profile("neo")]  # who asked last
