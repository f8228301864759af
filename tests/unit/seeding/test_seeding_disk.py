"""Seeding on a disk: stopped at any moment, beside other seeds and editors, without rights, without descriptors."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from catmem.errors import BusyError
from catmem.seeding import seed_lock as seedfile
from catmem.staleness.lineage import CLOCKS, body_key, freshness_of
from catmem.workspace.purging import purge
from catmem.workspace.root import caller_name
from catmem.workspace.upkeep import fsck
from catmem.workspace.workspace import Workspace
from tests.lengths import at_length
from tests.unit.seeding.seeds import DAY, LOCK_NAME, NEO, TEXT, bodies, everything, locked, seed, states, write_files
from tests.unit.workspace.tree import as_somebody_else, holding

NEW = TEXT.replace("Likes tea.", "Likes green tea.").replace("## Pay", "§\nReceipts go to Bea.\n\n## Pay")
SIX = {f"p{number}": "seed_from: boss\nuser_memory_categories: [talk, rules]\n" for number in range(6)}


@pytest.fixture
def place(tmp_path):
    return write_files(tmp_path)


@pytest.fixture
def opened():
    stores = []

    def open_it(folder):
        workspace = Workspace.open(folder, search=False)
        stores.append(workspace)
        return workspace

    yield open_it
    for workspace in stores:
        workspace.store.close()


def user(folder, name):
    return folder / "homes" / name / "USER.md"


def texts(folder):
    return {path.parent.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("homes/*/USER.md"))}


# --- nothing to do ---


@pytest.fixture
def read_only():
    """A function that makes a root read-only, which lies where others may look."""
    folder = Path(tempfile.mkdtemp())

    def make(text=TEXT, then=None):
        write_files(folder, text=text)
        seed(Workspace.open(folder, search=False), "neo", "ann")
        if then is not None:
            user(folder, "boss").write_text(then, encoding="utf-8")
        shutil.rmtree(folder / "homes" / "boss" / ".catmem", ignore_errors=True)
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        return folder

    yield make
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    shutil.rmtree(folder)


def test_nothing_to_do_in_a_read_only_root(read_only):
    folder = read_only()
    before = everything(folder)

    def again():
        result = seed(Workspace.open(folder, search=False), "neo", "ann")
        return f"{result.exit_status} {[str(each.error) for each in result.refused]}"

    assert as_somebody_else(again) == "0 []"
    assert everything(folder) == before


def test_a_read_only_root_with_something_to_do_is_refused_whole(read_only):
    folder = read_only(then=NEW)
    before = everything(folder)

    def again():
        workspace = Workspace.open(folder, search=False)
        plan = workspace.plan_seed("boss", ["neo", "ann"], as_of=DAY)
        assert plan.changes
        try:
            workspace.apply_seed(plan)
        except Exception as error:  # noqa: BLE001 - told to the parent
            return f"{error.code} {Path(error.path).name}"  # type: ignore[attr-defined]
        return "no error"

    assert as_somebody_else(again) == f"not_writable {LOCK_NAME}"
    assert everything(folder) == before


# --- stopped in the middle ---

STOPPED = """
import os, signal, sys
from catmem.seeding import seed_lock
from catmem.store.files.file_store import FileStore
from catmem.workspace.workspace import Workspace
from tests.unit.seeding.seeds import seed

commit, begun = FileStore.commit, []

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def counted(self, *arguments):
    if str(len(begun)) == sys.argv[2]:
        die()
    begun.append(arguments)
    return commit(self, *arguments)

FileStore.commit = counted
if sys.argv[2] == "lock":
    seed_lock.rewrite_file = die
seed(Workspace.open(sys.argv[1], search=False), *sys.argv[3:])
"""


def stopped(folder, after, *targets):
    """Seed in a process of its own, which kills itself after so many files, or before the lock is written."""
    ended = subprocess.run(
        [sys.executable, "-c", STOPPED, folder, after, *targets], cwd=Path(__file__).parents[3], check=False
    )
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize("first", [True, False], ids=["the first seed", "a later seed"])
@pytest.mark.parametrize("after", [*map(str, at_length([*range(6)], [3])), "lock"])
def test_a_seed_that_is_killed_and_run_again_comes_to_the_same(tmp_path, opened, first, after):
    place, whole = (write_files(tmp_path / name, profiles=SIX) for name in ("place", "whole"))
    if not first:
        for folder in (place, whole):
            seed(opened(folder), *SIX)
            user(folder, "boss").write_text(NEW, encoding="utf-8")
    opened(place).store.close()
    stopped(place, after, *SIX)
    # Each file is seeded whole, or not at all.
    seed(opened(whole), *SIX)
    done = texts(whole)["p0"]
    before = NEO if not first else None
    assert {texts(place).get(name) for name in SIX} <= {done, before}
    seed(opened(place), *SIX)
    assert texts(place) == texts(whole)
    assert [locked(opened(place), f"{name}/user") for name in SIX] == [
        locked(opened(whole), f"{name}/user") for name in SIX
    ]
    assert opened(place).plan_seed("boss", [*SIX], as_of=DAY).in_sync
    assert not fsck(opened(place)).damaged


# --- at the same time ---


def test_two_seeds_at_once_come_to_the_same_as_one(tmp_path, opened):
    place, whole = (write_files(tmp_path / name, profiles=SIX) for name in ("place", "whole"))
    seed(opened(whole), *SIX)
    command = [sys.executable, "-m", "catmem", "seed", "boss", *SIX, "--root", place, "--as-of", DAY.isoformat()]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    for each in running:
        said = each.communicate(timeout=120)
        assert each.returncode == 0, said
    assert texts(place) == texts(whole)
    assert [locked(opened(place), f"{name}/user") for name in SIX] == [
        locked(opened(whole), f"{name}/user") for name in SIX
    ]
    assert [opened(place).store.head(f"{name}/user").revision for name in SIX] == ["1"] * 6


def test_a_seed_waits_for_another_and_gives_up(place, opened, monkeypatch):
    monkeypatch.setattr(seedfile, "_PATIENCE", 0.0)
    folder = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with pytest.raises(BusyError) as caught:
            seed(opened(place), "neo")
    finally:
        os.close(folder)
    assert (caught.value.code, caught.value.exit_status) == ("locked", 3)
    assert not user(place, "neo").exists()
    assert seed(opened(place), "neo").exit_status == 0


def test_a_target_edited_between_plan_and_apply_keeps_the_edit(place, opened):
    seed(opened(place), "neo")
    user(place, "boss").write_text(NEW, encoding="utf-8")
    workspace = opened(place)
    plan = workspace.plan_seed("boss", ["neo"], as_of=DAY)
    edited = NEO.replace("No calls before ten.", "No calls before nine.") + "§\nmine\n"
    user(place, "neo").write_text(edited, encoding="utf-8")
    result = workspace.apply_seed(plan)
    assert bodies(workspace) == [
        "Likes green tea.", "No calls before nine.", "Vendor is Acme.", "Receipts go to Bea.", "mine",
    ]  # fmt: skip
    assert states(result) == ["changed_in_source", "changed_in_target", "in_sync", "new"]
    assert any(op == "adopt" for op in (each.op for each in workspace.store.log("neo/user")))


def test_what_was_purged_between_plan_and_apply_does_not_come_back(place, opened):
    seed(opened(place), "neo")
    opened(place).add("boss", "The password is swordfish.", category="talk")
    workspace = opened(place)
    plan = workspace.plan_seed("boss", ["neo"], as_of=DAY)
    assert plan.changes
    purge(opened(place), "boss", "swordfish")
    result = workspace.apply_seed(plan)
    assert [each.changes for each in result.files] == [False]
    assert holding(place, b"swordfish") == []


def test_a_profile_that_reads_less_by_now_gets_no_more_than_that(place, opened):
    workspace = opened(place)
    plan = workspace.plan_seed("boss", ["neo"], as_of=DAY)
    profile = place / "profiles" / "neo.yaml"
    profile.write_text("user_memory_categories: [talk]\nseed_from: boss\n", encoding="utf-8")
    workspace.apply_seed(plan)
    assert {entry.category for entry in workspace.read("neo").document.entries} == {"talk"}


def test_what_another_program_wrote_into_the_source_is_said_before_it_is_handed_on(place, opened):
    opened(place).add("boss", "One more.", category="talk")
    assert opened(place).plan_seed("boss", ["neo"], as_of=DAY).notes == ()
    user(place, "boss").write_text(f"{user(place, 'boss').read_text()}\n§\nSalary is 95,000.\n", encoding="utf-8")
    (note,) = opened(place).plan_seed("boss", ["neo"], as_of=DAY).notes
    assert note == "another program changed boss/user, which this hands on: 'catmem diff boss/user' shows it"


def test_a_copy_of_what_was_reworded_by_hand_is_as_old_as_the_fact(place, opened):
    opened(place).add("boss", "Likes mate.", category="talk", tags={"created": None})
    written = opened(place).store.head("boss/user").timestamp
    by_hand = user(place, "boss").read_text(encoding="utf-8").replace("Likes mate.", "Likes green mate.")
    user(place, "boss").write_text(by_hand, encoding="utf-8")
    workspace = opened(place)
    seed(workspace, "neo")
    clocks = workspace.store.head("neo/user").note[CLOCKS]
    assert clocks[body_key("Likes green mate.")] == written
    assert clocks[body_key("Likes tea.")] is None  # which another program wrote, before the history began
    document = workspace.read("neo").document
    ages = freshness_of(
        workspace, workspace.profile("neo"), "neo/user", document, document.entries, as_of=DAY, reader=None
    )
    assert "Likes tea." in [e.body for e, age in zip(document.entries, ages, strict=True) if age.day is None]


def test_an_editor_that_writes_all_the_time_loses_nothing(place, opened):
    workspace, done, written = opened(place), threading.Event(), []

    def append():
        while not done.is_set() and len(written) < 200:
            with user(place, "neo").open("a", encoding="utf-8") as stream:
                stream.write(f"§\nown {len(written)}\n")
            written.append(f"own {len(written)}")

    seed(workspace, "neo")
    editor = threading.Thread(target=append)
    editor.start()
    for number in range(8):
        user(place, "boss").write_text(NEW.replace("Bea", f"Bea {number}"), encoding="utf-8")
        seed(workspace, "neo")
    done.set()
    editor.join()
    seed(workspace, "neo")
    workspace.list("neo")
    found = bodies(opened(place))
    assert [each for each in written if each not in found] == []
    assert "Receipts go to Bea 7." in found


# --- drift ---


def drifted(place, opened):
    """Both targets seeded; then the source changes, and by hand one of the targets."""
    seed(opened(place), "neo", "ann")
    user(place, "boss").write_text(NEW, encoding="utf-8")
    text = user(place, "ann").read_text(encoding="utf-8") + "§\nby hand\n"
    user(place, "ann").write_text(text, encoding="utf-8")
    return text


def test_on_drift_refuse_keeps_a_copy_and_the_others_go_on(place, opened):
    text = drifted(place, opened)
    (place / "catmem.yaml").write_text("on_drift: refuse\n", encoding="utf-8")
    workspace = opened(place)
    plan = workspace.plan_seed("boss", ["ann", "neo"], as_of=DAY)
    result = workspace.apply_seed(plan)
    (refusal,) = result.refused
    assert (refusal.name, refusal.error.code, result.exit_status) == ("ann/user", "drift", 3)
    assert Path(refusal.error.drift_backup).read_text(encoding="utf-8") == text
    assert user(place, "ann").read_text(encoding="utf-8") == text
    assert bodies(workspace)[0] == "Likes green tea."
    # Once: the view is fresh, and the next seed works on what is there now.
    assert seed(opened(place), "ann", "neo").exit_status == 0
    assert bodies(opened(place), "ann/user") == ["Likes green tea.", "No calls before ten.", "by hand"]


# --- many ---

FEW_DESCRIPTORS = """
import sys
from catmem.workspace.workspace import Workspace
from tests.unit.seeding.seeds import seed

workspace = Workspace.open(sys.argv[1], search=False)
result = seed(workspace)
print(len(result.files), result.exit_status, [str(each.error) for each in result.refused][:2])
"""


def test_two_hundred_targets_with_256_descriptors(tmp_path):
    fleet = {f"p{number:03}": "seed_from: boss\nuser_memory_categories: [talk]\n" for number in range(200)}
    place = write_files(tmp_path, profiles=fleet)
    said = subprocess.run(
        ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", sys.executable, "-c", FEW_DESCRIPTORS, place],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.stdout, said.stderr) == ("202 0 []\n", "")
    assert len(set(texts(place).values())) == 3  # the boss's, neo's, and one for all others


def test_whoever_asks_for_a_seed_is_who_made_its_revisions(place, opened):
    workspace = opened(place)
    token = caller_name.set("Maria")
    try:
        seed(workspace, "neo", "ann")
    finally:
        caller_name.reset(token)
    assert [each.person for name in ("neo", "ann") for each in workspace.store.log(f"{name}/user")] == ["Maria"] * 2


def test_a_target_that_was_mended_since_the_plan_is_seeded_also_where_another_seed_came_between(place, opened):
    user(place, "ann").parent.mkdir(parents=True)
    user(place, "ann").write_bytes(b"caf\xe9\n")
    workspace = opened(place)
    plan = workspace.plan_seed("boss", ["ann"], as_of=DAY)
    assert [each.error.code for each in plan.refused] == ["not_utf8"]
    user(place, "ann").write_text("## Talk\nmine\n", encoding="utf-8")
    seed(opened(place), "neo")
    assert workspace.apply_seed(plan).refused == ()
    assert bodies(workspace, "ann/user") == ["Likes tea.", "No calls before ten.", "mine"]
    assert (len(locked(workspace, "ann/user")), len(locked(workspace))) == (2, 3)
