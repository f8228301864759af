"""The three clocks of a fact: verified, created, first written by catmem."""

import threading
from datetime import date

import pytest

from catmem.clock import today
from catmem.plugins.sorting.migrating import plan_migrated, write_migrated
from catmem.staleness import lineage
from catmem.staleness.lineage import freshness_of, notes_of
from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.journal import Journal
from catmem.workspace.history import restore
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.unit.staleness.aging import LATER, Aging

OLD = "## Talk\nno calls before ten\n§\n[created: 2026-02-02] has a date\n\n## Rules\ntwo spaces, no tabs\n"


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    """Days are told where the person is; here that is where UTC is."""
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def aging(tmp_path):
    aging = Aging(tmp_path)
    yield aging
    aging.close()


@pytest.fixture
def legacy(aging):
    """A file that catmem wrote on 10 January."""
    aging.on("2026-01-10").store.commit("neo/user", None, lambda _: OLD.encode(), Change())
    return aging


TEN = "no calls before ten"
TABS = "two spaces, no tabs"
JANUARY, UNDATED = ("first_seen", "2026-01-10"), (None, None)


def test_the_first_write_of_catmem_dates_what_has_no_date_of_its_own(legacy):
    assert legacy.clocks() == {TEN: JANUARY, "has a date": ("created", "2026-02-02"), TABS: JANUARY}


def test_what_another_program_wrote_has_no_date_recorded_or_not(aging):
    aging.outsider(OLD, "2026-01-10")
    found = {TEN: UNDATED, "has a date": ("created", "2026-02-02"), TABS: UNDATED}
    assert aging.clocks() == found
    aging.on("2026-03-01").verify("neo", "has a date", as_of=date(2026, 3, 1))
    assert aging.clocks() == found | {"has a date": ("verified_date", "2026-03-01")}
    aging.on("2026-04-01").replace("neo", TEN, "no calls before ten, ever")
    assert aging.clocks()["no calls before ten, ever"] == UNDATED


def test_an_addition_without_a_date_is_as_old_as_its_record(legacy):
    workspace = legacy.on("2026-03-01")
    workspace.add("neo", "uses uv", category="talk", as_of=date(2026, 3, 1))
    legacy.on("2026-04-01").replace("neo", "uses uv", None, tags={"created": None})
    assert legacy.clocks()["uses uv"] == ("first_seen", "2026-03-01")


def _restored(aging):
    aging.on("2026-04-01").remove("neo", TEN)
    restore(aging.on("2026-05-01"), "neo", "1")


def _emptied_and_put_back(aging):
    aging.outsider("", "2026-04-01")
    aging.on("2026-04-02").add("neo", "in between", category="talk")
    aging.outsider(OLD, "2026-05-01")
    aging.on("2026-05-02").add("neo", "afterwards", category="talk")


def _moved(aging):
    aging.on("2026-04-01").move("neo", TEN, "rules")


def _tagged(aging):
    aging.on("2026-04-01").replace("neo", TEN, None, tags={"source": "a person"})


@pytest.mark.parametrize("work", [_restored, _emptied_and_put_back, _moved, _tagged])
def test_what_does_not_move_the_clock_of_an_entry(legacy, work):
    legacy.on("2026-03-01").add("neo", "the first write", category="talk")
    work(legacy)
    assert legacy.clocks()[TEN] == JANUARY


@pytest.mark.parametrize(
    ("old", "new"), [(TEN, "no calls before ten, ever"), (TEN, "nothing of it is left"), (TABS, "tabs")]
)
def test_new_words_from_catmem_do_not_make_a_fact_young(legacy, old, new):
    legacy.on("2026-04-01").replace("neo", old, new)
    assert legacy.clocks()[new] == JANUARY


def test_new_words_by_hand_keep_the_clock_if_half_of_them_are_the_old_ones(legacy):
    legacy.on("2026-04-01").add("neo", "x", category="talk")
    legacy.outsider(legacy.path.read_text().replace(TEN, "no calls before eleven"), "2026-05-01")
    assert legacy.clocks()["no calls before eleven"] == JANUARY
    legacy.on("2026-05-02").add("neo", "y", category="talk")
    assert legacy.clocks()["no calls before eleven"] == JANUARY


def test_what_somebody_else_adds_dates_neither_itself_nor_the_others(legacy):
    legacy.on("2026-04-01").add("neo", "x", category="talk")
    legacy.outsider(legacy.path.read_text() + "§\nby hand\n", "2026-05-01")
    for _ in "before", "after it is recorded":
        assert legacy.clocks()["by hand"] == UNDATED
        assert legacy.clocks()[TEN] == JANUARY
        legacy.on("2026-06-01").add("neo", "y", category="talk")


def test_a_migration_does_not_make_facts_young(aging):
    text = b"[rules] two spaces\n\xc2\xa7\n[talk] no calls\n\xc2\xa7\n[talk] in English\n"
    aging.on("2026-01-10").store.commit("neo/user", None, lambda _: text, Change())
    (aging.folder / "catmem.yaml").write_text("taxonomy: {categories: {talk: {}, rules: {}}}\n", encoding="utf-8")
    workspace = aging.on("2026-03-01")
    write_migrated(workspace, plan_migrated(workspace, aging.path))
    assert "## Rules" in aging.path.read_text(encoding="utf-8")
    assert aging.clocks() == dict.fromkeys(["two spaces", "no calls", "in English"], JANUARY)


def test_the_parts_of_a_fact_are_as_old_as_the_whole(legacy):
    legacy.on("2026-04-01").add("neo", "first the one thing, then quite another thing altogether", category="talk")
    workspace = legacy.on("2026-05-01")
    workspace.replace("neo", "first the one thing", None, tags={"created": None})
    text = legacy.path.read_text(encoding="utf-8")
    split = text.replace("first the one thing, then", "first the one thing,\n§\nthen")
    legacy.outsider(split, "2026-06-01")
    found = legacy.clocks()
    assert found["first the one thing,"] == found["then quite another thing altogether"] == ("first_seen", "2026-04-01")


# --- dates in the future, days, damage -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "clock"),
    [
        ("verified_date: 2030-01-01, created: 2026-01-05", ("created", "2026-01-05")),
        ("verified_date: 2030-01-01, created: 2030-01-01", JANUARY),
        ("verified_date: soon", JANUARY),
    ],
)
def test_a_date_that_is_none_or_in_the_future_dates_nothing(aging, tags, clock):
    data = f"[{tags}] a fact\n".encode()
    aging.on("2026-01-10").store.commit("neo/user", None, lambda _: data, Change())
    assert aging.clocks()["a fact"] == clock


def test_what_the_journal_saw_later_than_the_day_that_is_asked_about(legacy):
    assert legacy.clocks(date(2026, 1, 5))[TEN] == UNDATED


def test_a_damaged_journal_dates_nothing_and_is_told(legacy):
    legacy.on("2026-03-01").add("neo", "x", category="talk")
    (segment,) = (legacy.path.parent / ".catmem" / "journal").glob("*.log")
    segment.write_bytes(b"damage" + segment.read_bytes())
    assert legacy.clocks()[TEN] == UNDATED
    (note,) = notes_of(legacy.workspace)
    assert "the history of neo/user cannot be read" in note


def test_facts_with_dates_of_their_own_need_no_history(legacy, monkeypatch):
    workspace = legacy.open()
    document = workspace.view("neo", "user").document
    dated = [entry for entry in document.entries if entry.tags]
    monkeypatch.setattr("catmem.staleness.lineage.histories_of", None)  # would be called, and cannot be
    (found,) = freshness_of(workspace, workspace.profile("neo"), "neo/user", document, dated, as_of=LATER, reader=None)
    assert found.basis == "created"


def test_an_addition_opens_no_history_that_it_knows_already(aging, monkeypatch):
    put(aging.folder / "profiles" / "neo.yaml", "tier: 2\nwritable_categories: ['*']\nuser_memory_categories: ['*']\n")
    monkeypatch.setattr(Journal, "_is_full", lambda _, segment: len(segment.steps) == 4)
    workspace = aging.open()
    for number in range(9):
        target = "user" if number else "memory"  # whose only record lies behind two segments of the other's
        workspace.add("neo", f"Fact {number}.", target=target, category="talk", actor="neo")
    opened, own_folder = [], FileStore._own_folder
    monkeypatch.setattr(FileStore, "_own_folder", lambda store, place: opened.append(place) or own_folder(store, place))
    workspace.add("neo", "It goes on from what it knows.", category="talk", actor="neo")
    assert opened == []


# --- asked for by those who read and by those who write, at once ---


RIGHTS = "user_memory_categories: [talk]\nwritable_categories: [talk]\n"
"""Who has no right to verify, so that each write asks how old its words are."""
MOST = 120
"""Seconds after which a thread that has not ended waits for ever."""


@pytest.fixture
def workspace(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", RIGHTS)
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\nwithout a date\n")
    workspace = Workspace.open(tmp_path)
    yield workspace
    workspace.store.close()


def read(workspace):
    """Ask how old everything is, as a page does."""
    document = workspace.view("neo", "user").document
    profile = workspace.profile("neo")
    return freshness_of(workspace, profile, "neo/user", document, document.entries, as_of=today(), reader=None)


def test_a_reader_and_a_write_do_not_wait_for_each_other(workspace, monkeypatch):
    """The reader comes while the write holds the lock of the store, and is asking for ages when the write does so."""
    workspace.add("neo", "a history", category="talk")
    in_write, reading = threading.Event(), threading.Event()
    known_days, follow = lineage.known_days, lineage.followed

    def asked_in_a_write(*asked):
        in_write.set()
        assert reading.wait(MOST)
        return known_days(*asked)

    def followed(*asked):
        if threading.current_thread() is reader:
            reading.set()
        return follow(*asked)

    monkeypatch.setattr(lineage, "known_days", asked_in_a_write)
    monkeypatch.setattr(lineage, "followed", followed)
    writer = threading.Thread(
        target=workspace.add, args=("neo", "from an agent"), kwargs={"category": "talk", "actor": "neo"}, daemon=True
    )

    def once_in_the_write():
        assert in_write.wait(MOST)
        read(workspace)

    reader = threading.Thread(target=once_in_the_write, daemon=True)
    for each in (writer, reader):
        each.start()
    for each in (writer, reader):
        each.join(MOST)
    assert not writer.is_alive()
    assert not reader.is_alive()
    assert "from an agent" in workspace.view("neo", "user").document.text


def test_many_that_write_and_read_at_once_all_end(workspace):
    writes, writers, readers = 8, 3, 2
    refused: list[Exception] = []

    def write(number):
        for count in range(writes):
            try:
                workspace.add("neo", f"fact {number}.{count}", category="talk", actor="neo")
            except Exception as error:  # noqa: BLE001 - told below
                refused.append(error)

    def look():
        for _ in range(writes):
            try:
                read(workspace)
            except Exception as error:  # noqa: BLE001 - told below
                refused.append(error)

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(writers)]
    threads += [threading.Thread(target=look, daemon=True) for _ in range(readers)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(MOST)
    assert not any(each.is_alive() for each in threads)
    assert refused == []
    assert len(workspace.view("neo", "user").document.entries) == 1 + writers * writes
