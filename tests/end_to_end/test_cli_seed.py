"""``catmem seed`` in every mode: what it says, on which stream, with which status, and what is in the files then."""

from pathlib import Path

import pytest

from tests.end_to_end.terminal import copied, error_of, run, run_json
from tests.golden.case import put
from tests.patches import patched
from tests.together import together
from tests.unit.seeding.seeds import DAY, LOCK_NAME, NEO, TEXT, everything, write_files

AS_OF = ("--as-of", DAY.isoformat())


SCOUT = {"scout": "tier: 3\nseed_from: boss\nuser_memory_categories: [talk]\n"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(write_files(tmp_path, profiles=SCOUT))
    return tmp_path


@pytest.fixture
def neo(place):
    return place / "homes" / "neo" / "USER.md"


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(write_files(tmp_path_factory.mktemp("seeded"), profiles=SCOUT))
        run("seed", "boss", "--all", *AS_OF)
        return Path.cwd()


@pytest.fixture
def clashing(seeded, place, neo, monkeypatch):
    """Seeded; then the source has two edits, and neo's file another version of one of them."""
    copied(seeded, place, monkeypatch)
    boss = place / "homes" / "boss" / "USER.md"
    boss.write_text(TEXT.replace("Acme", "Bolt").replace("Likes tea", "Likes green tea"), encoding="utf-8")
    neo.write_text(NEO.replace("Acme", "Core"), encoding="utf-8")
    return place


CONFLICT = """\
  neo/user: conflict 033428948a in rules: both sides reworded this entry
     base:   Vendor is Acme.
     target: Vendor is Core.
     source: Vendor is Bolt.
     settle: catmem seed boss neo --resolve 033428948a=source (or =target, =both)
"""


def test_in_sync_says_what_the_target_changed_or_removed(place, neo):
    run("seed", "boss", "neo", *AS_OF)
    neo.write_text(NEO.replace("Likes tea.\n§\n", "").replace("Acme", "Core"), encoding="utf-8")
    said = "neo/user: in sync, 1 kept as changed here, 1 removed here and left out\n"
    for mode in ((), ("--check",)):
        assert run("seed", "boss", "neo", *mode, *AS_OF).stdout == said


def test_what_a_seed_brought_is_said_to_be_of_its_source_and_can_be_taken_back_by_hand(place, neo):
    put(neo, "## Talk\nHer own.\n")
    run("seed", "boss", "neo", *AS_OF)
    said = {line.rpartition("  ")[2]: line for line in run("blame", "neo/user").stdout.splitlines()}
    assert "seeded from boss  " in said["Likes tea."]
    assert "seeded" not in said["Her own."]
    error = error_of("undo", "neo/user", status=2)
    assert (error["code"], error["message"].partition(":")[0]) == (
        "no_undo",
        "revision 2 of neo/user is a seed from boss/user",
    )
    assert "'catmem restore neo/user 1' brings back the text before this one" in error["hint"]
    run("restore", "neo/user", "1")
    assert neo.read_text(encoding="utf-8") == "## Talk\nHer own.\n"
    assert run("seed", "boss", "neo", *AS_OF).stdout == "neo/user: in sync, 3 removed here and left out\n"


def test_a_first_seed_is_taken_back_by_an_empty_file_which_the_next_one_fills(place, neo):
    run("seed", "boss", "neo", *AS_OF)
    there = neo.read_text(encoding="utf-8")
    error = error_of("undo", "neo/user", status=2)
    assert error["message"].endswith(
        "for the next seed, entries that are gone count as removed here, and an emptied file is filled anew"
    )
    assert "'catmem restore neo/user 0' empties the file" in error["hint"]
    run("restore", "neo/user", "0")
    assert neo.read_text(encoding="utf-8") == ""
    run("seed", "boss", "neo", *AS_OF)
    assert neo.read_text(encoding="utf-8") == there


def test_a_dry_run_is_a_diff_that_makes_the_file(clashing, neo):
    before = everything(clashing)
    old = neo.read_text(encoding="utf-8")
    result = run("seed", "boss", "neo", "--dry-run", "--resolve", "source", *AS_OF)
    assert result.stderr == "Nothing was written. 1 file would change, 0 unchanged.\n"
    assert everything(clashing) == before
    run("seed", "boss", "neo", "--resolve", "source", *AS_OF)
    assert neo.read_text(encoding="utf-8") == patched(old, result.stdout)
    assert "Vendor is Bolt." in neo.read_text(encoding="utf-8")


def test_all_without_a_source_goes_from_the_top_down(place):
    put(place / "profiles" / "pal.yaml", "seed_from: neo\nuser_memory_categories: ['*']\n")
    assert run("seed", "--all", *AS_OF).stdout == (
        "ann/user: 2 added (revision 1)\nneo/user: 3 added (revision 1)\npal/user: 3 added (revision 1)\n"
    )


def test_a_check_ends_with_status_1_when_out_of_date_and_writes_nothing(place):
    before = everything(place)
    for selected in (("--all",), ("boss", "neo")):
        assert "neo/user: 3 added\n" in run("seed", *selected, "--check", *AS_OF, status=1).stdout
    assert everything(place) == before
    run("seed", "--all", *AS_OF)
    assert "In sync" in run("seed", "--all", "--check", *AS_OF).stderr


def test_a_check_is_a_line_a_file_and_in_json_every_entry(clashing, place):
    text = TEXT.replace("## Pay", "§\n[expires: 2026-01-01] Receipts go to Bea.\n\n## Pay")
    put(place / "homes" / "boss" / "USER.md", text.replace("Acme", "Bolt"))
    run("seed", "--all", *AS_OF, status=3)
    said = run("seed", "--all", "--check", *AS_OF, status=1).stdout
    assert said == f"ann/user: in sync\nneo/user: 1 in conflict, 1 expired left out\n{CONFLICT}"
    (plan,) = run_json("seed", "--all", "--check", *AS_OF, status=1)["seeds"]
    assert all(each["entries"] for each in plan["files"])
    assert [each["body"] for file in plan["files"] for each in file["withheld"]] == ["Receipts go to Bea."]


def test_a_conflict_is_left_to_a_person_with_status_3(clashing, neo):
    result = run("seed", "boss", "neo", *AS_OF, status=3)
    assert result.stdout == f"neo/user: 1 changed, 1 in conflict (revision 3)\n{CONFLICT}"
    assert result.stderr == (
        "neo/user: another program changed the file before; that is revision 2 of its history\n"
        "1 file written, 0 unchanged, 1 conflict left to you (--interactive asks who wins, --resolve says it).\n"
    )
    assert neo.read_text(encoding="utf-8") == NEO.replace("Acme", "Core").replace("tea", "green tea")
    assert "1 settled" in run("seed", "boss", "neo", "--resolve", "target", *AS_OF).stdout
    result = run("seed", "boss", "neo", "--resolve", "source", *AS_OF)
    assert result.stdout == "neo/user: in sync, 1 kept as changed here\n"
    assert "Nothing is in conflict, so --resolve settled nothing." in result.stderr
    run("replace", "-p", "neo", "Vendor is Core.", "Vendor is Bolt.")
    assert run("seed", "boss", "neo", *AS_OF).stdout == "neo/user: in sync\n"


def test_a_copy_that_was_verified_differs_from_a_removed_entry_by_its_tags(place, neo):
    run("seed", "boss", "neo", *AS_OF)
    run("verify", "-p", "neo", "Likes tea", *AS_OF)
    run("remove", "-p", "boss", "Likes tea")
    said = run("seed", "boss", "neo", *AS_OF, status=3).stdout
    assert f"     target: [verified_date: {DAY}] Likes tea.\n     source: (not there)\n" in said


def test_a_seed_names_what_it_takes_out_at_most_three_of_a_file(place):
    boss = place / "homes" / "boss" / "USER.md"
    text = boss.read_text(encoding="utf-8")
    gone = "".join(f"Likes {each}.\n§\n" for each in ("jam", "rum", "rye", "figs", "nuts"))
    boss.write_text(text.replace("## Talk\n", f"## Talk\n{gone}"), encoding="utf-8")
    run("seed", "boss", "neo", *AS_OF)
    boss.write_text(text, encoding="utf-8")
    run("status", "--adopt")
    said = "neo/user: 5 removed (revision 2)\n"
    said += "  removed: Likes jam.\n  removed: Likes rum.\n  removed: Likes rye.\n  and 2 more\n"
    assert run("seed", "boss", "neo", *AS_OF).stdout == said


def test_a_source_whose_only_entry_a_person_removed_says_how_its_copies_go_too(place, neo):
    run("seed", "boss", "neo", *AS_OF)
    for words in ("Likes tea", "No calls", "Vendor is Acme", "The pay"):
        run("remove", "-p", "boss", words)
    hint = error_of("seed", "boss", "neo", *AS_OF)["hint"]
    assert "(or add one: catmem add -p boss -c CATEGORY TEXT)" in hint
    run("add", "-p", "boss", "-c", "talk", "Likes water.")
    assert "3 removed" in run("seed", "boss", "neo", *AS_OF).stdout


# --- settling conflicts ----------------------------------------------------------------------------------------------

ID = "033428948a"


def vendors(neo):
    return [
        line.partition("] ")[2] or line for line in neo.read_text(encoding="utf-8").splitlines() if "Vendor" in line
    ]


def test_lines_and_control_characters_of_an_entry_forge_no_line(place, neo):
    run("seed", "boss", "neo", *AS_OF)
    put(place / "homes" / "boss" / "USER.md", TEXT.replace("Acme", "Bolt"))
    put(neo, NEO.replace("Vendor is Acme.", "Vendor is Core.\n::error::x\x1b[2J"))
    shown = run("seed", "boss", "neo", "--check", *AS_OF, status=1).stdout
    assert "     target: Vendor is Core.\\n::error::x\\x1b[2J\n" in shown


SETTLED = [
    ("both", ["Vendor is Core.", "Vendor is Bolt."]),
    (f"{ID}=target", ["Vendor is Core."]),
    (f"{ID[:4]}=source", ["Vendor is Bolt."]),
]


@pytest.mark.parametrize(("side", "left"), SETTLED)
def test_what_was_settled_is_no_conflict_in_the_next_seed(clashing, neo, side, left):
    result = run("seed", "boss", "neo", "--resolve", side, *AS_OF)
    assert "neo/user: 1 changed, 1 settled (revision 3)\n" in result.stdout
    assert vendors(neo) == left
    assert "in sync" in run("seed", "boss", "neo", *AS_OF).stdout
    assert "In sync" in run("seed", "boss", "neo", "--check", *AS_OF).stderr
    assert vendors(neo) == left


@pytest.fixture
def twice(clashing, place, neo):
    """Two conflicts: the vendor, and the tea."""
    put(place / "homes" / "neo" / "USER.md", NEO.replace("Acme", "Core").replace("Likes tea", "Likes red tea"))
    return clashing


def ids_of(*arguments):
    (seed,) = run_json("seed", "boss", "neo", "--dry-run", *AS_OF, *arguments, status=3)["seeds"]
    return {conflict["source"]["body"]: conflict["id"] for conflict in seed["files"][0]["conflicts"]}


def test_one_is_settled_and_another_stays_open(twice, neo):
    ids = ids_of()
    assert list(ids) == ["Likes green tea.", "Vendor is Bolt."]
    result = run("seed", "boss", "neo", "--resolve", f"{ids['Likes green tea.']}=source", *AS_OF, status=3)
    assert result.stdout.startswith("neo/user: 1 settled, 1 in conflict (revision 3)\n")
    assert "Likes green tea." in neo.read_text(encoding="utf-8")
    assert ids_of() == {"Vendor is Bolt.": ids["Vendor is Bolt."]}


def test_a_conflict_that_changed_since_it_was_looked_at_is_not_settled_by_its_old_id(clashing, place, neo):
    put(place / "homes" / "boss" / "USER.md", TEXT.replace("Acme", "Dust"))
    before = everything(place)
    error = error_of("seed", "boss", "neo", "--resolve", f"{ID}=source", *AS_OF)
    assert (error["code"], "Name one of " in error["hint"]) == ("unknown_conflict", True)
    assert everything(place) == before


def test_each_conflict_is_shown_and_asked_for(twice, neo):
    result = run("seed", "boss", "neo", "-i", *AS_OF, input="s\nt\n")
    assert "     base:   Likes tea.\n     target: Likes red tea.\n     source: Likes green tea.\n" in result.stdout
    assert result.stdout.endswith("neo/user: 2 settled (revision 3)\n")
    assert "Likes green tea." in neo.read_text(encoding="utf-8")
    assert vendors(neo) == ["Vendor is Core."]
    assert run("seed", "boss", "neo", *AS_OF).stdout.startswith("neo/user: in sync")
    assert "In sync" in run("seed", "boss", "neo", "--check", *AS_OF).stderr


def test_a_bad_answer_leaves_the_source_too_as_it_was(twice, place):
    before = everything(place)
    run("seed", "boss", "neo", "-i", *AS_OF, input="s\nx\n", status=2)
    assert everything(place) == before


@pytest.mark.parametrize(("answers", "left"), [("s\nq\n", 1), ("l\nt\n", 1)])
def test_what_was_answered_is_settled_and_the_next_run_asks_for_the_rest(twice, neo, answers, left):
    run("seed", "boss", "neo", "-i", *AS_OF, input=answers, status=3)
    assert run("seed", "boss", "neo", "-i", *AS_OF, input="b\n" * left).stdout.count("conflict ") == left
    assert "In sync" in run("seed", "boss", "neo", "--check", *AS_OF).stderr


# --- what is refused ---


SIDES = "is none of target, source, both, ID=target, ID=source and ID=both"
TWICE = "says two things of one conflict"
USAGE = [
    ((), "Name the source and the targets, or give --all."),
    (("boss",), "Name the source and the targets, or give --all."),
    (("boss", "neo", "--all"), "TARGETS does not go with --all."),
    (("boss", "neo", "--check", "--dry-run"), "--dry-run does not go with --check."),
    (("ann", "--all"), "no profile has seed_from: ann"),
    (("boss", "neo", "--resolve", "mine"), SIDES),
    (("boss", "neo", "--resolve", "=target"), SIDES),
    (("boss", "neo", "--resolve", "target", "--resolve", "source"), TWICE),
    (("boss", "neo", "--resolve", f"{ID}=target", "--resolve", f"{ID}=source"), TWICE),
    (("--all", "--resolve", f"{ID}=target"), "--resolve ID=SIDE goes with the SOURCE of that conflict."),
    (("--all", "-c", "rules"), "--category goes with the SOURCE that has it."),
    *(
        (("boss", "neo", "--interactive", *other), " does not go with ")
        for other in (("--resolve", "target"), ("--check",), ("--format", "json"))
    ),
    (("boss", "neo", "boss"), "error[seed_target]"),
    (("boss", "neo", "--as", "ann"), "error[forbidden]"),
]


@together(("arguments", "said"), USAGE)
def test_what_cannot_be_meant_is_refused_and_nothing_is_written(clashing, place, arguments, said):
    before = everything(place)
    result = run("seed", *arguments, status=2)
    assert said in result.stderr
    assert (result.stdout, everything(place)) == ("", before)
    assert not said.startswith("error[") or "\n  " in result.stderr  # what to do


def test_a_lock_that_git_left_in_conflict_is_told_and_kept(place):
    run("seed", "boss", "--all", *AS_OF)
    lock = place / LOCK_NAME
    text = lock.read_text(encoding="utf-8")
    lock.write_text(f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> theirs\n", encoding="utf-8")
    result = run("seed", "boss", "--all", *AS_OF)
    assert f"{LOCK_NAME} cannot be read: line 1" in result.stderr
    assert f"is kept as {LOCK_NAME}.bak." in result.stderr
