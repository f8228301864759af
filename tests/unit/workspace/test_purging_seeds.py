"""What is purged goes from catmem.seed.lock too, and from the copies of it; what cannot be reached is named."""

import json
import os

import pytest

from catmem.seeding.seed_lock import LOCK_NAME, read_lock
from catmem.workspace.purging import purge
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.unit.seeding.seeds import DAY, bodies, locked, seed, write_files
from tests.unit.workspace.tree import holding

# No digest and no time of a journal has this text by chance.
CARD = 'The card is "4711-0815".\n\\## Not a header'
TEXT = f"## Talk\nLikes tea.\n§\n[source: call] {CARD}\n§\nAsk for 47 cards.\n"


@pytest.fixture
def workspace(tmp_path):
    opened = Workspace.open(write_files(tmp_path, text=TEXT), search=False)
    seed(opened, "neo", "ann")
    yield opened
    opened.store.close()


@pytest.fixture
def lock(workspace):
    return workspace.root / LOCK_NAME


def test_the_text_goes_from_the_lock_and_the_report_says_so(workspace, lock):
    before = lock.read_bytes()
    assert b"4711-0815" in before
    assert LOCK_NAME in purge(workspace, "boss", "4711-0815", dry_run=True).files
    assert lock.read_bytes() == before
    report = purge(workspace, "boss", "4711-0815")
    assert holding(workspace.root, b"4711-0815") == []
    assert LOCK_NAME in report.files
    assert report.left == ()
    assert locked(workspace) == locked(workspace, "ann/user") == ["Likes tea.", "Ask for 47 cards."]


@pytest.mark.parametrize("entity", ["boss", "neo"])
def test_a_seed_after_it_brings_nothing_back_and_takes_nothing_away(workspace, entity):
    purge(workspace, entity, "4711-0815")
    assert workspace.plan_seed("boss", ["neo", "ann"], as_of=DAY).in_sync
    seed(workspace, "neo", "ann")
    assert bodies(workspace) == ["Likes tea.", "Ask for 47 cards."]
    assert holding(workspace.root, b"4711-0815") == []


def test_the_words_that_a_target_keeps_go_too(workspace):
    for entity, old, new in (("neo/user", CARD, "Pay by 0815-4711 alone."), ("boss/user", CARD, "Cash it is.")):
        home = workspace.root / "homes" / entity.partition("/")[0] / "USER.md"
        home.write_text(home.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    seed(workspace, "neo", resolve="target")
    assert b"0815-4711" in (workspace.root / LOCK_NAME).read_bytes()
    report = purge(workspace, "neo", "0815-4711")
    assert holding(workspace.root, b"0815-4711") == [] == list(report.left)
    seed(workspace, "neo")
    assert bodies(workspace) == ["Likes tea.", "Ask for 47 cards."]


def test_a_lock_without_the_text_is_left_as_it_is(workspace, lock):
    workspace.add("boss", "The pin is odd.", category="talk")
    before = lock.read_bytes(), lock.stat().st_mtime_ns
    assert LOCK_NAME not in purge(workspace, "boss", "pin is odd").files
    assert (lock.read_bytes(), lock.stat().st_mtime_ns) == before


def test_no_lock_is_made_where_there_is_none(workspace, lock):
    lock.unlink()
    purge(workspace, "boss", "4711-0815")
    assert not lock.exists()


def test_what_only_the_lock_still_says_in_other_words_goes_as_well(workspace, lock):
    # The base of the next merge is an older wording, which the file and its history need not have.
    text = lock.read_text(encoding="utf-8")
    lock.write_text(text.replace("The card is", "Her card is"), encoding="utf-8")
    purge(workspace, "boss", "4711-0815")
    assert b"4711-0815" not in lock.read_bytes()


def test_the_same_words_in_a_file_that_no_seed_touched(workspace, lock):
    put(workspace.root / "profiles" / "zoe.yaml", "user_memory_categories: ['*']\n")
    put(workspace.root / "homes" / "zoe" / "USER.md", f"## Own\n{CARD}\n")
    report = purge(workspace, "zoe", "4711-0815")
    assert LOCK_NAME in report.files
    assert holding(workspace.root, b"4711-0815") == []


def test_a_text_that_no_record_names_goes(workspace, lock):
    data = json.loads(lock.read_bytes())
    for record in data["seeds"].values():
        record["boss/user"]["entries"] = {"talk": record["boss/user"]["entries"]["talk"][:1]}
    lock.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    assert read_lock(lock.read_bytes()).notes == ()
    purge(workspace, "boss", "4711-0815")
    assert b"4711-0815" not in lock.read_bytes()


SPELLINGS = {
    "as ASCII": (lambda text: json.dumps(text)[1:-1], True),
    "as ASCII in capitals, in no record": (lambda text: json.dumps(text)[1:-1].replace("\\u00fc", "\\u00FC"), False),
    "all as escapes, in no record": (lambda text: "".join(f"\\u{ord(each):04x}" for each in text), False),
}


@pytest.mark.parametrize(("spell", "named"), SPELLINGS.values(), ids=SPELLINGS)
def test_a_text_goes_however_json_spells_it(workspace, lock, spell, named):
    said = "The password für Zoë is swordfish."
    workspace.add("boss", said, category="talk")
    seed(workspace, "neo", "ann")
    data = json.loads(lock.read_bytes())
    if not named:
        for record in data["seeds"].values():
            record["boss/user"]["entries"] = {}
    spelled = json.dumps(data, ensure_ascii=False).replace(said, spell(said))
    lock.write_text(spelled, encoding="utf-8")
    copy = put(lock.with_name(f"{LOCK_NAME}.bak.20261121T000000000000Z"), spelled[:-9])
    purge(workspace, "boss", "password für Zoë")
    assert "swordfish" not in json.dumps(json.loads(lock.read_bytes()))
    assert not copy.exists()


BROKEN = {
    "cut": lambda data: data[:-9],
    "not UTF-8": lambda data: data + b"\xff",
    "of a newer version": lambda data: data.replace(b'"version": 1', b'"version": 2'),
    "both sides of a merge": lambda data: b"<<<<<<< a\n" + data + b"=======\n" + data + b">>>>>>> b\n",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_lock_that_cannot_be_read_is_named(workspace, lock, broken):
    data = broken(lock.read_bytes())
    lock.write_bytes(data)
    report = purge(workspace, "boss", "4711-0815")
    (left,) = report.left
    assert left.path == LOCK_NAME
    assert ("of version 2" if b'"version": 2' in data else "by hand") in left.why
    assert lock.read_bytes() == data


def test_a_lock_that_is_no_file_is_named(workspace, lock):
    lock.unlink()
    os.mkfifo(lock)
    (left,) = purge(workspace, "boss", "4711-0815").left
    assert left.path == LOCK_NAME


def test_copies_of_a_lock_that_was_not_whole_go(workspace, lock):
    lock.write_bytes(lock.read_bytes()[:-9])
    seed(workspace, "neo", "ann")
    (kept,) = workspace.root.glob(f"{LOCK_NAME}.bak.*")
    (workspace.root / f".{LOCK_NAME}-x1y2z3_4").write_bytes(b'"The card is \\"4711-0815\\".\\n## Not a header"')
    report = purge(workspace, "boss", "4711-0815")
    assert {kept.name, f".{LOCK_NAME}-x1y2z3_4"} <= set(report.removed)
    assert holding(workspace.root, b"4711-0815") == []
