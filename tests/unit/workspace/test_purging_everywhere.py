"""Where a text may lie besides the file, and that nothing else is touched."""

import os
import shutil
import subprocess
import sys

import pytest

from catmem.digest import bytes_digest
from catmem.errors import BusyError, DamagedError, UnreadableError
from catmem.jsonable import jsonable
from catmem.store.files.file_store import FileStore
from catmem.store.files.journal import Journal
from catmem.store.files.system import Features, System
from catmem.workspace.purging import purge
from catmem.workspace.upkeep import fsck
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.refusals import refusal
from tests.unit.workspace.tree import holding

SMALL = 3
SECRET = b"The card is 4711."
TEXT = "## Talk\nshort answers\n§\nin\n§\nCome in, the round begins.\n\n## Pay\nThe card is 4711.\n"


@pytest.fixture
def workspace(tmp_path):
    for name in ("neo", "ann"):
        put(tmp_path / "profiles" / f"{name}.yaml", "user_memory_categories: ['*']\nmemory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", TEXT)
    opened = Workspace.open(tmp_path, search=False)
    yield opened
    opened.store.close()


@pytest.fixture
def home(workspace):
    return workspace.path("neo", "user").parent


def revisions(workspace, entity="neo/user"):
    return [data for _, data in workspace.store.replay(entity)]


# --- other entries ------------------------------------------------------------------------------------------------


def test_a_short_entry_takes_nothing_else_with_it(workspace, home):
    for word in ("begin", "inside", "round"):
        workspace.add("neo", word, category="talk")
    before = revisions(workspace)
    purge(workspace, "neo", next(entry.id for entry in workspace.read("neo").document.entries if entry.body == "in"))
    *after, newest = revisions(workspace)
    assert after == [data.replace(b"\nin\n", b"\n[purged]\n") for data in before]
    assert newest == before[-1].replace(b"in\n\xc2\xa7\n", b"", 1) == (home / "USER.md").read_bytes()
    assert fsck(workspace).faults == ()


def test_a_revision_that_is_no_text_goes_whole_if_it_holds_the_text(workspace, home):
    workspace.add("neo", "x", category="talk")
    odd = [TEXT.replace("short", f"caf\udce9 {word}").encode(errors="surrogateescape") for word in ("4711", "in")]
    odd[1] = odd[1].replace(SECRET, b"Pay.")
    for data in odd:
        (home / "USER.md").write_bytes(data)
        with pytest.raises(Exception, match="not UTF-8"):
            workspace.add("neo", "y", category="talk")
    (home / "USER.md").write_text(TEXT, encoding="utf-8")
    assert purge(workspace, "neo", "The card is 4711").left == ()
    assert odd[0] not in revisions(workspace)
    assert {odd[1], b"[purged]"} <= set(revisions(workspace))
    assert holding(home, b" 4711.") == []


def test_what_no_text_that_can_be_read_holds_is_found_all_the_same(workspace, home):
    workspace.add("neo", "x", category="talk")
    (home / "USER.md").write_bytes(b"## Pay\ncaf\xe9 Wolpertinger\n")
    with pytest.raises(Exception, match="not UTF-8"):
        workspace.add("neo", "y", category="talk")
    (home / "USER.md").write_text(TEXT, encoding="utf-8")
    report = purge(workspace, "neo", "Wolpertinger")
    assert (report.entries, report.left, report.revisions > 0) == ((), (), True)
    assert holding(home, b"Wolpertinger") == []


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_file_that_is_no_text_is_refused_if_it_holds_the_text(workspace, home, dry_run):
    workspace.add("neo", "x", category="talk")
    odd = TEXT.encode() + b"\xc2\xa7\ncaf\xe9\n"
    (home / "USER.md").write_bytes(odd)
    with pytest.raises(UnreadableError, match="neo/user holds the text, and cannot be taken apart: not") as caught:
        purge(workspace, "neo", "4711", dry_run=dry_run)
    assert (caught.value.code, "catmem fsck" in caught.value.hint) == ("not_utf8", True)
    put(workspace.path("ann", "user"), TEXT)
    (left,) = purge(workspace, "ann", "4711", dry_run=dry_run).left
    assert (left.path, left.why.startswith("neo/user holds the text")) == ("homes/neo/USER.md", True)
    assert (home / "USER.md").read_bytes() == odd
    (home / "USER.md").write_bytes(odd.replace(SECRET, b"Pay."))
    assert purge(workspace, "neo", "4711", dry_run=dry_run).left == ()


# --- every place --------------------------------------------------------------------------------------------------


def as_backup(workspace, home):
    (home / "USER.md.bak.20261121T120000Z").write_bytes(TEXT.encode() + b"\xc2\xa7\r\n\xff\r\n")
    return {"USER.md.bak.20261121T120000Z": b"[purged]"}


def as_other_backup(workspace, home):
    (home / "USER.md.bak.1700000000").write_bytes(b"## Pay\n[source: x] The card is 4711.\n")
    return {"USER.md.bak.1700000000": b"## Pay\n[purged]\n"}


def as_leftover(workspace, home):
    (home / ".catmem" / "gen" / "left-1").write_bytes(b"## Pay\nThe card is 4711.\n\xff")
    return {".catmem/gen/left-1": None}


def as_stopped_write(workspace, home):
    (home / ".catmem" / "tmp" / "abc").write_bytes(TEXT.encode())
    return {".catmem/tmp/abc": None}


def as_damaged_journal(workspace, home):
    aside = home / ".catmem" / "damaged-20261121T120000Z-00000000"
    shutil.copytree(home / ".catmem" / "journal", aside)
    (segment,) = aside.glob("*.log")
    data = segment.read_bytes()
    segment.write_bytes(data.replace(b'"op":"put"', b'"op":"pat"'))
    return {f".catmem/{aside.name}/{segment.name}": None}


def as_good_journal_aside(workspace, home):
    aside = home / ".catmem" / "damaged-20261121T120000Z-00000000"
    shutil.copytree(home / ".catmem" / "journal", aside)
    return {f".catmem/{aside.name}/{path.name}": None for path in aside.iterdir()}


def as_retired_file_aside(workspace, home):
    aside = home / ".catmem" / "damaged-20261121T120000Z-00000000-gen"
    aside.mkdir()
    name = f"{7:012d}-{bytes_digest(TEXT.encode()).removeprefix('sha256:')}"
    (aside / name).write_text(TEXT, encoding="utf-8")
    (aside / "other").write_text("in\n", encoding="utf-8")
    return {f".catmem/{aside.name}/{name}": None, f".catmem/{aside.name}/other": b"in\n"}


PLACES = [
    as_backup, as_other_backup, as_leftover, as_stopped_write, as_damaged_journal, as_good_journal_aside, as_retired_file_aside,
]  # fmt: skip


def now_holds(home, expected):
    return {name: (home / name).read_bytes() if (home / name).exists() else None for name in expected}


@pytest.mark.parametrize("place", PLACES)
def test_the_text_goes_from_everywhere(workspace, home, place):
    workspace.add("neo", "x", category="talk")
    expected = place(workspace, home)
    workspace.store.close()
    before = holding(workspace.root, b" 4711")
    report = purge(workspace, "neo", "4711", dry_run=True)
    assert holding(workspace.root, b" 4711") == before
    holders = {name for name in expected if expected[name] != b"in\n"}
    assert holders <= {os.path.relpath(workspace.root / name, home) for name in (*report.files, *report.removed)}
    report = purge(workspace, "neo", "4711")
    assert holding(home, b" 4711") == []
    # A recovery may have moved what a stopped write left.
    assert now_holds(home, expected) == expected
    assert report.left == ()
    changed = {os.path.relpath(workspace.root / name, home) for name in (*report.files, *report.removed)}
    assert place is as_stopped_write or holders <= changed
    assert not fsck(workspace).damaged
    refusal("no_match", purge, workspace, "neo", "4711")


@pytest.mark.parametrize("place", [as_backup, as_other_backup, as_leftover, as_damaged_journal])
def test_what_only_lies_beside_is_found(workspace, home, place):
    workspace.add("neo", "x", category="talk")
    expected = place(workspace, home)
    shutil.rmtree(home / ".catmem" / "journal")
    (home / ".catmem" / "published").unlink()
    for retired in (home / ".catmem" / "gen").glob("0*"):
        retired.unlink()
    (home / "USER.md").write_text("## Talk\nin\n", encoding="utf-8")
    purge(workspace, "neo", "4711")
    assert holding(home, b" 4711") == []
    assert now_holds(home, expected) == expected


# --- what is left, and named --------------------------------------------------------------------------------------


def test_a_file_of_somebody_else_is_named_and_left(workspace, home):
    (home / ".USER.md.swp").write_bytes(b"b0VIM\0The card is 4711.\0")
    (home / "notes.md").write_text("The card is 4711. Or not.\n")
    report = purge(workspace, "neo", "4711")
    why = "catmem did not make it; see to it yourself"
    assert {(left.path, left.why) for left in report.left} == {
        ("homes/neo/.USER.md.swp", why),
        ("homes/neo/notes.md", why),
    }
    assert jsonable(report)["left"] == [{"path": left.path, "why": left.why} for left in report.left]


NOT_MADE = ["diary.bak.md", "neo.bak.20261121T120000Z", "CLAUDE.md.bak.0123abcd", "memory.bak.1.json.txt"]


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("words", ["4711", "b2:"])
def test_a_copy_in_the_root_that_catmem_did_not_make_is_named_and_left(workspace, words, dry_run):
    text = "Ten years of notes.\nThe card is 4711.\n"
    if words == "b2:":
        words = next(each.id for each in workspace.read("neo").document.entries if "4711" in each.body)
    for name in NOT_MADE:
        put(workspace.root / name, text)
    put(workspace.root / "poem.bak.md", "Roses.\n")
    made = [f"AGENTS.md.bak.{bytes_digest(text.encode())[7:15]}", "memory.bak.1700000000-2.json"]
    for name in made:
        put(workspace.root / name, text)
    report = purge(workspace, "neo", words, dry_run=dry_run)
    assert {each.path for each in report.left} == set(NOT_MADE)
    assert set(made) <= set(report.removed)
    assert [(workspace.root / name).exists() for name in (*NOT_MADE, "poem.bak.md", *made)] == [
        *[True] * 5, *[dry_run] * 2
    ]  # fmt: skip


def test_words_of_several_entries_take_no_copy_without_them(workspace, home):
    put(home / "USER.md", "[source: desk 9] The card is 4711.\n§\n[source: desk 9] A pin.\n")
    for name in ("diary.bak.md", "memory.bak.1700000000.json"):
        put(workspace.root / name, "Roses.\n")
    assert purge(workspace, "neo", "desk 9", every=True).left == ()
    assert (workspace.root / "diary.bak.md").exists()
    assert (workspace.root / "memory.bak.1700000000.json").exists()


def test_a_retired_file_that_is_open_is_named_and_left(workspace, home):
    workspace.add("neo", "x", category="talk")
    (retired,) = (home / ".catmem" / "gen").iterdir()
    with retired.open("rb"):
        (left,) = purge(workspace, "neo", "4711").left
    assert left.path == f"homes/neo/.catmem/gen/{retired.name}"
    assert left.why.startswith("a program has it open")
    assert holding(home, b" 4711") == [f".catmem/gen/{retired.name}"]
    assert purge(workspace, "neo", "4711").removed == (left.path,)
    assert holding(home, b" 4711") == []


def test_without_leases_retired_files_are_named_and_left(workspace, home, monkeypatch):
    monkeypatch.setattr(System, "features", lambda _: Features(leases=False))
    workspace.add("neo", "x", category="talk")
    report = purge(workspace, "neo", "4711")
    assert {left.why.partition(",")[0] for left in report.left} == {"it is unknown whether a program has it open"}
    assert len(report.left) == len(holding(home, b" 4711")) == 2


def test_what_was_written_late_to_a_retired_file_is_taken_in_first(workspace, home):
    workspace.add("neo", "known", category="talk")
    with (home / "USER.md").open("ab") as late:
        workspace.add("neo", "x", category="talk")
        late.write("§\nwritten late\n".encode())
    assert b"written late" not in (home / "USER.md").read_bytes()
    report = purge(workspace, "neo", "4711")
    assert b"written late" in (home / "USER.md").read_bytes()
    assert holding(home, b" 4711") == []
    assert report.left == ()


def test_what_fails_elsewhere_is_named_and_stops_nothing(workspace, home):
    (workspace.path("ann", "user").parent / "USER.md").mkdir(parents=True)
    report = purge(workspace, "neo", "4711")
    assert holding(home, b" 4711") == []
    assert [left.path for left in report.left] == ["homes/ann/USER.md"]


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_damaged_history_is_refused_before_any_byte_changes(workspace, home, dry_run, monkeypatch):
    monkeypatch.setattr(Journal, "_is_full", lambda _, segment: len(segment.steps) == SMALL)
    for number in range(2 * SMALL):
        workspace.add("neo", f"note {number}", category="talk")
    as_backup(workspace, home)
    put(workspace.path("ann", "user"), TEXT)
    workspace.store.close()
    first, *_ = sorted((home / ".catmem" / "journal").iterdir())
    first.unlink()
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    with pytest.raises(DamagedError, match="missing") as caught:
        purge(workspace, "neo", "4711", dry_run=dry_run)
    assert "Nothing was erased there." in caught.value.hint
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    left, file, *_ = purge(workspace, "ann", "4711", dry_run=dry_run).left
    assert left.path.startswith("homes/neo/.catmem/journal/")
    assert "missing" in left.why
    # Without these records it is unknown of which file of the folder the retired ones are: the other is named too.
    assert file == ("homes/neo/USER.md", "neo/user holds the words too: purge it there")
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


# --- other entities, and the record -------------------------------------------------------------------------------


def test_what_is_touched_elsewhere_is_told_by_entity(workspace):
    put(workspace.path("ann", "memory"), "## Cards\n[source: x] The card is 4711.\n")
    put(workspace.path("ann", "user"), "4711 is lucky\n")
    report = purge(workspace, "neo", "4711")
    assert report.entities == ("neo/user", "ann/memory")
    assert [(each.entity, each.entry.category, each.entry.body) for each in report.entries] == [
        ("neo/user", "pay", "The card is 4711."),
        ("ann/memory", "cards", "The card is 4711."),
    ]
    assert [entry["entity"] for entry in jsonable(report)["entries"]] == ["neo/user", "ann/memory"]
    assert " 4711" not in str(jsonable(report))
    assert next(workspace.store.log("neo/user")).op == "purge"
    assert workspace.store.peek("ann/user") == b"4711 is lucky\n"


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_file_that_shares_a_folder_with_one_that_held_it_is_not_told(workspace, home, dry_run):
    for target, text in (("user", "x"), ("memory", "The card is 4711."), ("memory", "y"), ("memory", "z")):
        workspace.add("ann", text, category="cards", target=target)
    report = purge(workspace, "neo", "4711", dry_run=dry_run)
    assert report.entities == ("neo/user", "ann/memory")
    retired = workspace.path("ann", "user").parent / ".catmem" / "gen"
    assert any(path.startswith("homes/ann/.catmem/gen/") for path in report.removed)
    assert bool(holding(retired, b" 4711")) is dry_run


def test_what_a_stopped_process_left_of_no_known_file_is_told_of_one_alone(workspace, home):
    workspace.add("ann", "x", category="talk")
    left = workspace.path("ann", "user").parent / ".catmem" / "gen" / "left"
    left.write_bytes(b"## Pay\n" + SECRET + b"\n")
    report = purge(workspace, "neo", "4711")
    assert (report.entities, left.exists()) == (("neo/user", "ann/user"), False)


# --- at the same time ---------------------------------------------------------------------------------------------

WRITER = """
import sys
from catmem.workspace.workspace import Workspace
workspace = Workspace.open(sys.argv[1], search=False)
number = 0
while True:
    workspace.add("neo", f"note {number}", category="talk")
    print(number, flush=True)
    number += 1
"""


def test_writers_lose_nothing_and_do_not_bring_it_back(workspace, home):
    workspace.add("neo", "x", category="talk")
    with subprocess.Popen([sys.executable, "-c", WRITER, workspace.root], stdout=subprocess.PIPE, text=True) as writer:
        written = [writer.stdout.readline() for _ in range(5)]
        report = purge(workspace, "neo", "4711")
        written += [writer.stdout.readline() for _ in range(5)]
        writer.terminate()
        written += writer.stdout.readlines()
    assert report.left == ()
    # Whatever the writer was stopped at is finished by the next one.
    workspace.add("neo", "last", category="talk")
    there = {entry.body for entry in workspace.read("neo").document.entries}
    assert {f"note {number.strip()}" for number in written} <= there
    assert holding(home, b" 4711") == []
    assert not fsck(workspace).damaged


def test_a_text_that_is_put_back_during_the_purge_goes_too(workspace, home, monkeypatch):
    erase, again = FileStore.erase, [TEXT, TEXT]

    def erase_and_save_the_old_text(store, entity, erasure):
        erased = erase(store, entity, erasure)
        if again:
            (home / "USER.md").write_text(again.pop(), encoding="utf-8")
        return erased

    monkeypatch.setattr(FileStore, "erase", erase_and_save_the_old_text)
    assert purge(workspace, "neo", "4711").left == ()
    assert holding(home, b" 4711") == []


def test_a_file_that_is_busy_is_tried_again(workspace, home, monkeypatch):
    erase, busy = FileStore.erase, [BusyError("busy"), BusyError("busy")]

    def erase_later(store, entity, erasure):
        if busy:
            raise busy.pop()
        return erase(store, entity, erasure)

    monkeypatch.setattr(FileStore, "erase", erase_later)
    assert purge(workspace, "neo", "4711").left == ()
    assert holding(home, b" 4711") == []
    busy += [BusyError("busy")] * 5
    refusal("busy", purge, workspace, "neo", "short")


def test_a_new_entry_with_the_text_stays_and_is_named(workspace, home, monkeypatch):
    erase = FileStore.erase

    def erase_and_add(store, entity, erasure):
        erased = erase(store, entity, erasure)
        with (home / "USER.md").open("a", encoding="utf-8") as file:
            file.write("§\n4711 is blocked\n")
        return erased

    monkeypatch.setattr(FileStore, "erase", erase_and_add)
    (left,) = purge(workspace, "neo", "4711").left
    assert left.path == "homes/neo/USER.md"
    assert left.why == "it was written again meanwhile; purge once more"
    assert b"4711 is blocked" in (home / "USER.md").read_bytes()
