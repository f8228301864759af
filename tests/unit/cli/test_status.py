"""``catmem status``: what is next, the numbers of the other commands, and nothing where nothing waits."""

import json
import shlex
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import pytest

from catmem import Workspace, memory_tool
from catmem.store.files.publication import Publication
from tests.end_to_end.terminal import run, run_json, snapshot
from tests.golden.case import put
from tests.together import together

CONFIG = "approval: others\non_stale: branch\n"
USER = """\
## Rules
[verified_date: 2026-11-20] Uses tabs.
§
[verified_date: 2026-11-20] Deploys go out on Fridays.
"""
TODAY = date(2026, 11, 21)


@pytest.fixture(autouse=True)
def _that_day(monkeypatch):
    monkeypatch.setattr("catmem.clock.today", lambda: TODAY)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "catmem.yaml", CONFIG)
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    rights = "user_memory_categories: [rules]\nwritable_categories: [rules]\n"
    put(tmp_path / "profiles" / "neo.yaml", rights)
    put(tmp_path / "homes" / "neo" / "USER.md", USER)
    run("verify", "-p", "neo", "tabs")
    return tmp_path


status = partial(run, "status")
replace = partial(run, "replace", "-p", "neo")


def counts(*arguments):
    return {each["kind"]: each["count"] for each in run_json("status", *arguments)["next"]}


def test_nothing_waits(place):
    before = snapshot(place)
    result = status()
    assert (result.stdout, result.stderr) == ("", "Nothing waits for you.\n")
    assert snapshot(place) == before
    status("--check")


def test_proposals(place, monkeypatch):
    replace("tabs", "Uses spaces.", "--as", "neo")
    replace("Fridays", "Never.", "--as", "neo")
    assert status().stdout == "2 proposals for you to decide  catmem proposals --interactive\n"
    replace("tabs", "Uses wide tabs.")
    assert counts() == {"proposals": 2, "due": 1}
    assert "2 proposals for you to decide (1 stale)  " in status("--check", status=1).stdout
    monkeypatch.setattr("catmem.clock.today", lambda: TODAY + timedelta(days=31))
    assert counts()["proposals"] == 2  # however long they wait


def test_facts_that_are_due_are_those_of_a_review(place):
    put(place / "catmem.yaml", f"{CONFIG}stale_after: 10d\n")
    replace("tabs", "Uses wide tabs.")
    run("add", "-p", "neo", "-c", "rules", "Likes tea.")
    day = ("--as-of", "2026-12-10")
    assert status(*day).stdout == "3 facts due for review (2 stale, 1 unverified)  catmem review\n"
    assert len(run_json("review", "--list", *day)["due"]) == 3
    run("review", *day, input="s\nq\n", status=1)
    assert counts(*day) == {"due": 3}
    assert run_json("status", *day)["as_of"] == "2026-12-10"


def test_seeds_and_files_of_other_programs(place):
    put(place / "profiles" / "trinity.yaml", "seed_from: neo\nuser_memory_categories: [rules]\n")
    run("seed", "--all")
    assert counts() == {}
    (place / "homes" / "neo" / "USER.md").write_text(USER.replace("tabs", "spaces"), encoding="utf-8")
    assert counts() == {"seeds": 1, "outside": 1}
    assert status().stdout == (
        "1 file changed by another program  catmem status --adopt\n"
        "1 profile behind its source        catmem seed --all\n"
    )
    assert "spaces" in status("--adopt").stdout
    assert counts() == {"seeds": 1}
    run("seed", "--all")
    assert counts() == {}


def test_labels_are_taken_off_before_a_file_is_sorted(place):
    put(place / "catmem.yaml", "taxonomy: {categories: {talk: {}}}\n")
    put(place / "homes" / "boss" / "USER.md", "[Talk] One.\n§\n[verified_date: 2026-11-20] Two.\n")
    assert status().stdout.splitlines()[0].split("  ")[-1] == "catmem sort -p boss -t user"
    assert "First run: catmem migrate homes/boss/USER.md" in run("sort", "-p", "boss", "-t", "user").stderr
    run("migrate", place / "homes" / "boss" / "USER.md", "--root", place)
    assert "1 entry without a category  " in status().stdout
    assert "catmem sort -p boss -t user\n" in status().stdout


def test_entries_without_a_category(place):
    put(
        place / "homes" / "boss" / "MEMORY.md",
        "[verified_date: 2026-11-20] One.\n§\n[verified_date: 2026-11-20] Two.\n",
    )
    assert counts() == {"unsorted": 2}
    assert status().stdout == "2 entries without a category  catmem sort -p boss -t memory\n"
    put(place / "homes" / "boss" / "USER.md", "[verified_date: 2026-11-20] Three.\n")
    assert status().stdout == "3 entries without a category (boss/user, boss/memory)  catmem sort -p boss\n"


def test_a_seed_that_is_refused_is_not_offered_and_conflict_marks_are_named(place):
    put(place / "profiles" / "trinity.yaml", "seed_from: neo\nuser_memory_categories: [rules]\n")
    run("seed", "--all")
    run("add", "-p", "neo", "-c", "rules", "Tests come first.")
    assert counts() == {"seeds": 1}
    copy = place / "homes" / "trinity" / "USER.md"
    copy.write_text(copy.read_text() + "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", encoding="utf-8")
    status("--adopt")
    found = counts()
    assert (found.get("seeds"), found["refused"], found["marked"]) == (None, 1, 1)
    assert "catmem seed --all --dry-run\n" in status().stdout
    run("seed", "--all", status=3)


def test_a_source_that_is_unsorted_again_is_named_and_sorted_first(place):
    source = place / "homes" / "boss" / "USER.md"
    put(source, "## Rules\nUses tabs.\n")
    put(place / "profiles" / "trinity.yaml", "seed_from: boss\nuser_memory_categories: [rules]\n")
    run("seed", "--all")
    source.write_text("Uses tabs.\n", encoding="utf-8")
    (step,) = [each for each in run_json("status")["next"] if each["kind"] == "refused"]
    said = "boss/user has no category any more of what was seeded from it"
    assert (step["what"], step["command"]) == (f"1 profile that cannot be seeded ({said})", "catmem sort -p boss")
    refused = run("seed", "--all", status=2).stderr
    assert said in refused
    assert "Sort it again: catmem sort -p boss. Bring it back: catmem log boss/user" in refused
    source.unlink()
    (step,) = [each for each in run_json("status")["next"] if each["kind"] == "refused"]
    said = "boss/user is missing, or has nothing any more of what was seeded from it"
    assert (said in step["what"], step["command"]) == (True, "catmem seed --all --dry-run")


@pytest.mark.parametrize(
    "look", [("prompt", "tri"), ("prompt", "tri", "--explain"), ("list", "-p", "tri"), ("show", "tri")]
)
def test_a_profile_without_memory_names_what_brings_it(place, look):
    assert "no memory yet" not in run(*("neo" if each == "tri" else each for each in look)).stderr
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: [rules]\n")
    assert "no memory yet" not in run(*look).stderr  # the source has nothing for it
    put(place / "homes" / "boss" / "USER.md", "Uses tabs.\n")
    said = "tri has no memory yet: 'catmem sort -p boss', and then 'catmem seed --all' brings it\n"
    assert said in run(*look).stderr
    put(place / "homes" / "boss" / "USER.md", "## Rules\nUses tabs.\n")
    assert "tri has no memory yet: 'catmem seed --all' brings it\n" in run(*look).stderr
    run("seed", "--all")
    assert "no memory yet" not in run(*look).stderr
    (place / "homes" / "tri" / "USER.md").unlink()
    assert "no memory yet" not in run(*look).stderr  # since another program took it out, which it says


def test_a_file_that_is_not_utf_8_is_mended_by_fsck(place):
    put(place / "profiles" / "trinity.yaml", "seed_from: neo\nuser_memory_categories: [rules]\n")
    run("seed", "--all")
    (place / "homes" / "trinity" / "USER.md").write_bytes(b"## Rules\nUses \xff tabs.\n")
    (step,) = [each for each in run_json("status", status=2)["next"] if each["kind"] == "refused"]
    assert step["command"] == "catmem fsck"
    assert "is no text" in step["what"] or "UTF-8" in step["what"]


def test_a_misspelt_category_of_a_profile_brings_its_copies_back_when_it_is_mended(place):
    put(place / "homes" / "boss" / "USER.md", "## Code Style\nUses tabs.\n\n## Talk\nBe brief.\n")
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: [talk, code-style]\n")
    run("seed", "boss", "--all")
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: [talk, code-stile]\n")
    run("seed", "--all")
    assert "tabs" not in (place / "homes" / "tri" / "USER.md").read_text()
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: [talk, code-style]\n")
    run("seed", "--all")
    assert "tabs" in (place / "homes" / "tri" / "USER.md").read_text()


def test_a_change_by_another_program_stays_until_it_was_adopted_or_overwritten(place):
    path, config = place / "homes" / "neo" / "USER.md", (place / "catmem.yaml").read_text(encoding="utf-8")
    for answer in ("adopted", "overwritten"):
        path.write_text(path.read_text(encoding="utf-8").replace("tabs", f"tabs, {answer}"), encoding="utf-8")
        (place / "catmem.yaml").write_text(f"on_drift: refuse\n{config}", encoding="utf-8")
        replace("Uses tabs", "Uses spaces.", status=3)
        (place / "catmem.yaml").write_text(config, encoding="utf-8")
        assert run_json("log", "neo/user")["revisions"][0]["agent"] == "external"
        assert counts()["outside"] == 1
        status("--adopt") if answer == "adopted" else replace("Fridays", "Never on Fridays.")
        assert "outside" not in counts()


def test_a_write_that_is_not_in_its_file_yet_is_no_change_by_another_program(place, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Publication, "swap", refused)
        error = json.loads(replace("Uses tabs", "Uses spaces.", "--format", "json", status=None).stderr)["error"]
    assert error["code"] == "not_writable"
    assert (counts()["unfinished"], "outside" in counts()) == (1, False)
    assert "1 write that is not in its file yet  catmem fsck --repair" in status().stdout
    assert "Uses spaces." not in (place / "homes" / "neo" / "USER.md").read_text(encoding="utf-8")
    run("fsck", "--repair")
    assert "Uses spaces." in (place / "homes" / "neo" / "USER.md").read_text(encoding="utf-8")
    assert "unfinished" not in counts()


def test_a_category_that_no_specialist_reads_until_a_profile_names_it(place):
    run("add", "-p", "neo", "-c", "safe", "The code is 7.", "--tag", "verified_date=2026-11-21")
    assert counts() == {"unread": 1}
    assert status().stdout == "1 category that no specialist reads (safe)  catmem access\n"
    assert "safe" in run("access").stdout
    boss = place / "profiles" / "boss.yaml"
    boss.write_text(boss.read_text().replace("['*']", "['*', safe]"))
    assert counts() == {"hidden": 1}
    (place / "profiles" / "neo.yaml").unlink()
    boss.write_text("tier: 1\nuser_memory_categories: ['*']\n")
    assert counts() == {"unowned": 1}  # where there is no specialist, none has to read it


def test_a_mistyped_heading_is_named_with_the_category_that_is_meant(place):
    put(place / "profiles" / "tri.yaml", "user_memory_categories: ['*', banking]\n")
    put(place / "homes" / "tri" / "USER.md", "## Bankin\n[verified_date: 2026-11-21] Pays on Fridays.\n")
    said = "1 category that no profile names (bankin: did you mean banking?)"
    assert said in status().stdout
    assert "mistyped" in counts()
    assert "Not declared, and named by no profile:\n  bankin  did you mean banking?" in run("access").stdout
    assert run_json("access")["slips"] == {"bankin": "banking"}
    assert "the category bankin is not declared" in run("lint", "--select", "CM103,CM114", status=1).stdout


@together(
    "heading, said, listed",
    [
        (
            "## Bankin",
            "no profile names bankin, which is a category of boss/user; did you mean 'banking'?",
            "1 category that no profile names (bankin: did you mean banking?)  catmem lint --select CM103,CM114",
        ),
        (
            "##Banking",
            "line 4 of boss/user looks like a section header and is text of an entry: ## Banking",
            "1 heading in the text of an entry (boss/user)  catmem lint --select CM104",
        ),
    ],
)
def test_a_slip_in_a_heading_of_a_source_is_named_by_each_seed_and_by_status(place, heading, said, listed):
    put(place / "profiles" / "neo.yaml", "seed_from: boss\nuser_memory_categories: [rules, talk, banking]\n")
    path = place / "homes" / "boss" / "USER.md"
    put(path, "## Talk\nLikes tea.\n\n## Banking\nPays on Fridays.\n")
    assert "banking" not in run("seed", "--all").stderr
    path.write_text(path.read_text().replace("## Banking", heading))
    assert listed in status().stdout
    for how in (("--dry-run",), ("--check",), ()):
        assert said in run("seed", "--all", *how, status=None).stderr


def test_a_seed_of_two_sources_is_done_when_both_are_and_what_they_gave_is_nothing_learned(place):
    lead = place / "homes" / "lead" / "USER.md"
    put(place / "profiles" / "lead.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: [talk]\n")
    put(place / "homes" / "boss" / "USER.md", "## Talk\nLikes tea.\n")
    put(lead, "## Talk\nLikes coffee.\n")
    for source in ("boss", "lead"):
        run("seed", source, "tri")
    assert counts().keys() == {"due"}
    put(lead, "## Talk\nLikes milk.\n")
    assert "1 profile with old entries of another source  catmem seed lead tri" in status().stdout
    assert counts().keys() == {"due", "other_seeds"}
    said = "tri/user has 1 entry of lead/user that lead reworded or removed since: catmem seed lead tri"
    assert said in run("seed", "boss", "tri").stderr
    assert "Nothing to promote" in run("promote").stdout
    run("seed", "lead", "tri")
    assert counts().keys() == {"due"}
    assert "Nothing to promote" in run("promote").stdout


def test_what_was_learned_is_counted_where_the_seed_is_refused(place):
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: ['*']\nlimits: {user: 60}\n")
    put(place / "homes" / "boss" / "USER.md", "## Talk\nLikes tea.\n")
    run("seed", "boss", "tri")
    run("add", "-p", "tri", "-c", "talk", "Learned this.")
    assert counts()["learned"] == 1
    put(place / "homes" / "boss" / "USER.md", f"## Talk\nLikes tea.\n§\n{'Is long. ' * 9}\n")
    assert (counts()["refused"], counts()["learned"]) == (1, 1)


@pytest.mark.parametrize("profile", [None, "tier: [\n"])
def test_a_source_that_is_gone_or_not_right_stops_no_seed_of_another(place, profile):
    lead = place / "profiles" / "lead.yaml"
    put(lead, "tier: 1\nuser_memory_categories: ['*']\n")
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: [talk]\n")
    put(place / "homes" / "boss" / "USER.md", "## Talk\nLikes tea.\n")
    put(place / "homes" / "lead" / "USER.md", "## Talk\nLikes coffee.\n")
    for source in ("boss", "lead"):
        run("seed", source, "tri")
    lead.unlink()
    if profile is not None:
        put(lead, profile)
    put(place / "homes" / "boss" / "USER.md", "## Talk\nLikes green tea.\n")
    gone = "there is no profile lead any more, so 1 entry of lead/user in tri/user counts as its own now: catmem remove"
    assert "there is no profile" not in status(status=None).stdout
    assert (gone in run("seed", "boss", "tri", "--dry-run").stderr) is (profile is None)
    assert (gone in run("seed", "boss", "tri").stderr) is (profile is None)
    assert (place / "homes" / "tri" / "USER.md").read_text() == "## Talk\nLikes coffee.\n§\nLikes green tea.\n"
    assert gone not in run("seed", "boss", "tri").stderr  # it is said once
    run("seed", "--all", "--check", status=0 if profile is None else None)


def test_a_misspelt_selector_is_named_once(place):
    put(place / "profiles" / "neo.yaml", "user_memory_categories: [rlues, other]\nwritable_categories: [rlues]\n")
    line = "1 selector of profiles that matches nothing (rlues: did you mean rules?)"
    assert f"{line}  " in status().stdout
    assert "catmem lint --select CM409" in status().stdout
    put(place / "profiles" / "neo.yaml", "user_memory_categories: [rules]\nwritable_categories: [rules]\n")
    assert "selectors" not in counts()


def test_what_the_profile_of_the_source_does_not_read_is_named_and_counts_once(place):
    put(place / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: [talk]\n")
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: [safe]\n")
    put(place / "homes" / "boss" / "USER.md", "## Safe\nThe code is 7.\n")
    said = (
        "the profile boss does not read safe of its own files, so none of it is seeded: catmem access --why boss safe"
    )
    assert said in run("seed", "boss", "tri").stderr
    put(place / "homes" / "neo" / "USER.md", "## Design\nLess is more.\n")
    put(place / "homes" / "neo" / "MEMORY.md", "## Design\nMore is less.\n")
    assert "1 category that no specialist reads (design)" in status().stdout


def test_an_entry_that_the_profile_of_its_file_does_not_read_is_named_with_the_way_to_see_why(place):
    day = ("--tag", "verified_date=2026-11-21")
    put(place / "profiles" / "tri.yaml", "user_memory_categories: [safe]\nwritable_categories: [inbox]\n")
    run("add", "-p", "neo", "-c", "safe", "The code is 7.", *day)
    run("add", "-p", "tri", "-c", "safe", "The code is 8.", *day)
    assert status().stdout == (
        "1 entry that the file's own profile does not read (neo safe)  catmem access --why neo safe\n"
    )
    assert "reads it in USER.md: no" in run("access", "--why", "neo", "safe").stdout
    put(place / "profiles" / "neo.yaml", "user_memory_categories: [rules, safe]\n")
    assert counts() == {}
    run("add", "-p", "tri", "-c", "inbox", "For boss.", *day)  # tri may write there, and not read: a drop
    assert "hidden" not in counts()


def test_facts_of_a_folder_that_two_profiles_share_are_due_once_as_in_a_review(place):
    put(place / "homes" / "neo" / "USER.md", "## Rules\nUndated.\n")
    put(place / "profiles" / "twin.yaml", "memory_dir: homes/neo\nuser_memory_categories: [rules]\n")
    assert counts()["due"] == len(run_json("review", "--list")["due"]) == 1


def test_facts_of_a_file_are_due_where_the_other_file_of_the_profile_cannot_be_read(place):
    put(place / "homes" / "neo" / "USER.md", "## Rules\nUndated.\n")
    put(place / "homes" / "neo" / "MEMORY.md", b"\xff")
    assert "1 fact due for review" in status(status=2).stdout
    assert len(run_json("review", "--list", status=2)["due"]) == 1


# --- no dead end ---------------------------------------------------------------------------------------------------

MARKS = "\n\u00a7\n<<<<<<< ours\nLikes tea.\n=======\nLikes coffee.\n>>>>>>> theirs\n"
ANSWERS = {
    "merge": "o\n" * 9,
    "seed": "s\n" * 9,
    "proposals": "y\nn Not now.\n" * 9,
    "review": "k\n" * 30,
}
"""What a person says to the commands that ask."""


@pytest.fixture
def busy(place):
    """A root in which there is some of everything to do."""
    put(
        place / "profiles" / "trinity.yaml",
        "seed_from: neo\nuser_memory_categories: [rules]\nwritable_categories: [rules]\n",
    )
    put(
        place / "profiles" / "smith.yaml",
        "seed_from: neo\nuser_memory_categories: [rules]\nwritable_categories: [rules]\n",
    )
    put(place / "homes" / "smith" / "MEMORY.md", "## Rules\nUndated.\n\n## Safe\nThe code is 7.\n")
    run("seed", "--all")
    run("add", "-p", "smith", "-c", "rules", "Tests come first.")
    run("replace", "-p", "neo", "Uses tabs", "Uses spaces.")
    run("replace", "-p", "trinity", "Uses tabs", "Uses wide tabs.")
    head = run_json("add", "-p", "neo", "-c", "rules", "Works from home.")["revision"]
    run("add", "-p", "neo", "-c", "rules", "Meets at ten.")
    run("add", "-p", "neo", "-c", "rules", "Meets at noon.", "--expected", head, "--on-stale", "branch")
    run("replace", "-p", "neo", "Uses spaces", "Uses no tabs.")
    run("replace", "-p", "neo", "Uses spaces", "Uses two spaces.", "--expected", head, "--on-stale", "branch")
    run("replace", "-p", "neo", "Fridays", "Never.", "--as", "neo")
    run("add", "-p", "boss", "-c", "rules", "Reads on trains.")
    for name, more in (("boss", "\u00a7\nBy hand.\n"), ("neo", MARKS)):
        path = place / "homes" / name / "USER.md"
        path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    put(
        place / "homes" / "boss" / "MEMORY.md",
        "A rule: never deploys without tests.\n\u00a7\n[expires: 2020-01-01] A rule of last year.\n",
    )
    return place


def acted(command, place):
    """What a person does who follows a command of the list."""
    what = command[1]
    answers = ANSWERS.get(what)
    run(*command[1:], *(["--unsure"] if what == "sort" else []), input=answers, catch_exceptions=False, status=None)
    if what == "lint":
        for path in place.glob("homes/*/*.md"):
            path.write_text(path.read_text(encoding="utf-8").replace(MARKS, ""), encoding="utf-8")
    if "--why" in command:  # the entries of a file that its own profile does not read
        boss = place / "profiles" / "boss.yaml"
        boss.write_text(f"{boss.read_text()}memory_categories: ['*']\n", encoding="utf-8")
    elif what == "access":
        put(
            place / "profiles" / "smith.yaml",
            "seed_from: neo\nuser_memory_categories: [rules]\nmemory_categories: [rules, safe, workflow-rules]\n",
        )


def test_no_command_of_the_list_is_a_dead_end(busy):
    kinds, done = set(), []
    while steps := run_json("status")["next"]:
        kinds |= {each["kind"] for each in steps}
        done.append(steps[0]["command"])
        assert len(done) < 25, (done, steps, run("access").stdout)
        acted(shlex.split(steps[0]["command"]), busy)
    assert kinds == {
        "marked", "unsorted", "unread", "seed_conflicts", "seeds", "branch_conflicts", "branches", "proposals", "learned",
        "outside", "due", "refused", "hidden",
    }  # fmt: skip


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """The USER.md, which is not there yet, of a root with one profile that may read and write all; it is the working folder."""
    put(tmp_path / "catmem.yaml", "version: 1\n")
    rights = ("user_memory_categories", "memory_categories", "writable_categories")
    put(tmp_path / "profiles" / "neo.yaml", "".join(f"{each}: ['*']\n" for each in rights))
    monkeypatch.chdir(tmp_path)
    return Path("homes", "neo", "USER.md")


LOST = "1 entry that another program took out (neo/user)  catmem diff neo/user 1\n"


def test_a_file_that_has_become_empty_is_no_file_without_entries(alone):
    lost = (
        "another program took 1 entry out of neo/user: 'catmem diff neo/user 1' shows what was there, and 'catmem "
        "restore neo/user 1' brings that text back"
    )
    said = f"warning: {alone}: {lost}\n"
    put(alone, "")
    assert "took" not in run("prompt", "neo").stderr
    run("add", "-p", "neo", "-c", "talk", "Be brief.")
    for lose in (lambda: put(alone, "\n"), alone.unlink):
        lose()
        for how in ((), ("--explain",), ("--format", "json")):
            assert (said in run("prompt", "neo", *how).stderr) == (how != ("--format", "json"))
        for words in (
            ("list", "-p", "neo"),
            ("list", "-p", "neo", "--format", "json"),
            ("search", "brief", "-p", "neo"),
        ):
            assert f"warning: {lost}\n" in run(*words).stderr
        root = Workspace.open(".")
        assert root.prompt("neo").warnings == (lost, "the prompt is empty")
        assert [each.message for each in root.warnings("neo")] == [lost]
        assert memory_tool(root, "neo", {"action": "prompt"})["warnings"] == [lost, "the prompt is empty"]
        assert memory_tool(root, "neo", {"action": "list"})["warnings"] == [lost]
        assert memory_tool(root, "neo", {"action": "search", "query": "brief"})["warnings"] == [lost]
        assert LOST in run("status").stdout
    run("status", "--adopt")  # then it was shown
    assert "took" not in run("prompt", "neo").stderr


def test_what_another_program_took_out_is_told_until_a_person_says_that_it_is_right(alone):
    for words in ("Be brief.", "Never call before ten."):
        run("add", "-p", "neo", "-c", "talk", words)
    put(alone, alone.read_text().replace("Be brief.", "Be very brief."))  # other words are no loss
    run("status", "--adopt")
    assert run_json("status")["next"] == []
    put(alone, "## Talk\nBe very brief.\n")
    took = "another program took 1 entry out of neo/user: 'catmem diff neo/user 4' shows what was there"
    for number, who in enumerate(((), ("--as", "neo"))):
        told = run("add", "-p", "neo", "-c", "talk", f"Writes on, {number}.", *who).stderr
        assert (took in told) == (number == 0)  # once: it has been shown
        step = run_json("status")["next"][0]
        assert (step["kind"], step["count"]) == ("lost", 1)
    assert "-[created: 2026-11-21] Never call before ten.\n" in run(*shlex.split(step["command"])[1:]).stdout
    assert "-[created: 2026-11-21] Never call before ten.\n" in run("status", "--adopt").stdout
    assert LOST.partition(" (")[0] not in run("status").stdout


MILK, EGGS, BREAD = "Milk comes on Monday.", "Eggs come on Tuesday.", "Bread is here."
STORIES = {
    "an undo of something else": ([MILK, BREAD], [("add", "Zinc.", "-c", "rest", "-p", "neo"), ("undo",)], 1),
    "many writes": ([MILK, BREAD], [("add", f"Line {number}.", "-c", "rest", "-p", "neo") for number in range(70)], 1),
    "one entry that is like two": (["Trains come on Sunday.", BREAD], [], 1),
    "put back and removed": ([MILK, BREAD], [("add", "Zinc.", "-c", "rest", "-p", "neo"), ("add", EGGS, "-c", "talk", "-p", "neo"), ("remove", "Eggs", "-p", "neo")], 0),
    "purged": ([MILK, BREAD], [("purge", "neo/user", "Eggs", "--yes")], 0),
    "one of two that say the same": ([EGGS, BREAD], [("add", "Zinc.", "-c", "rest", "-p", "neo")], 1),
}  # fmt: skip


@pytest.mark.parametrize(("talk", "then", "count"), STORIES.values(), ids=STORIES)
def test_when_an_entry_is_lost(alone, talk, then, count):
    for category, words in (("talk", MILK), ("talk", EGGS), ("talk", BREAD), ("rest", MILK)):
        run("add", "-p", "neo", "-c", category, words)
    file = "## Talk\n" + "\n§\n".join(talk) + f"\n\n## Rest\n{MILK}\n"
    put(alone, file)
    for command in then:
        run(*command)
    found = {each["kind"]: each["count"] for each in run_json("status")["next"]}
    assert found.get("lost", 0) == count


def test_a_branch_takes_nothing_for_lost_that_came_after_its_base(alone):
    put(alone.parents[2] / "catmem.yaml", "version: 1\non_stale: branch\n")
    run("add", "-p", "neo", "-c", "talk", "Be brief.")
    with alone.open("a") as file:
        file.write("§\nAppended by an editor.\n")
    said = run("add", "-p", "neo", "-c", "talk", "Late.", "--expected", "0").stderr
    assert "kept as branch" in said
    assert "out of neo/user" not in said


def test_a_profile_hears_nothing_of_a_lost_text_of_which_it_saw_nothing(alone):
    put(Path("profiles", "neo.yaml"), "user_memory_categories: [talk]\nwritable_categories: [talk, pay]\n")
    run("add", "-p", "neo", "-c", "pay", "95,000.")
    alone.unlink()
    assert Workspace.open(".").prompt("neo").warnings == ("the prompt is empty",)
    assert "warnings" not in memory_tool(Workspace.open("."), "neo", {"action": "list"})
    assert LOST in run("status").stdout


def test_entries_without_room_in_a_prompt_are_told(alone):
    put(Path("profiles", "neo.yaml"), "user_memory_categories: ['*']\nprompt: {budget: {total: 60}}\n")
    put(alone, "## Talk\nBe brief.\n§\nNever call before ten, and write first.\n")
    (step,) = [each for each in run_json("status")["next"] if each["kind"] == "cut"]
    assert (step["count"], step["what"]) == (1, "1 entry without room in a prompt (neo)")
    assert "out: over the total budget" in run(*shlex.split(step["command"])[1:]).stdout
    put(Path("profiles", "neo.yaml"), "user_memory_categories: ['*']\n")
    assert "without room" not in run("status").stdout


def test_a_file_over_its_limit_is_told_and_lint_marks_where(alone):
    put(Path("profiles", "neo.yaml"), "user_memory_categories: ['*']\nlimits: {user: 30}\n")
    put(alone, "## Talk\nBe brief.\n§\nNever call before ten.\n§\nTea.\n")
    (step,) = [each for each in run_json("status")["next"] if each["kind"] == "full"]
    assert (step["count"], step["what"]) == (1, "1 file over its limit (USER.md of neo: 49 of 30 characters)")
    (found,) = run_json(*shlex.split(step["command"])[1:], status=1)["diagnostics"]
    assert (found["line"], found["hint"]) == (4, "Remove or shorten entries, or raise the limit.")
    put(alone, "## Talk\n[expires: 2020-01-01] Be brief, and never call before ten.\n")
    (found,) = run_json(*shlex.split(step["command"])[1:], status=1)["diagnostics"]
    assert found["hint"] == "Remove or shorten entries, first expired ones, or raise the limit."
    put(alone, "## Talk\nBe brief.\n")
    assert "over its limit" not in run("status").stdout


def test_a_tag_that_does_not_count_is_told(alone):
    put(alone, "## Talk\n[expires: 2025-13-01] Office closed.\n")
    (step,) = [each for each in run_json("status")["next"] if each["kind"] == "tags"]
    assert (step["count"], step["what"]) == (1, "1 tag whose value does not count")
    assert "CM303" in run(*shlex.split(step["command"])[1:], status=1).stdout


def test_a_declared_entity_that_another_program_changed_is_told_and_adopted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "catmem.yaml", "version: 1\nentities:\n  'project:alpha': {content: json, writers: [neo]}\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    run("write", "project:alpha", "-", "--expected", "0", input='{"a": 1}')
    put(tmp_path / "entities" / "project%3Aalpha" / "content.json", '{"a": 2}')
    assert [each["kind"] for each in run_json("status")["next"]] == ["outside"]
    assert [each["entity"] for each in run_json("status", "--adopt")["adopted"]] == ["project:alpha"]
    assert run_json("status")["next"] == []


def test_a_revision_that_was_no_text_hides_nothing_and_is_no_loss(alone):
    for words in (MILK, EGGS):
        run("add", "-p", "neo", "-c", "talk", words)
    alone.write_bytes(alone.read_bytes() + "§\nCafé.\n".encode("latin-1"))
    run("status", status=2)
    run("fsck", "neo/user", "--repair")
    assert {each["kind"] for each in run_json("status")["next"]} <= {"due"}
    put(alone, f"## Talk\n{MILK}\n")
    assert run_json("status")["next"][0]["kind"] == "lost"
    run("add", "-p", "neo", "-c", "talk", "Another.")
    run("status", "--adopt")
    assert "lost" not in {each["kind"] for each in run_json("status")["next"]}


def test_a_revision_that_was_no_text_is_no_error_of_the_file_that_an_editor_mended(alone):
    run("add", "-p", "neo", "-c", "talk", MILK)
    text = alone.read_bytes()
    alone.write_bytes(text + "§\nCafé.\n".encode("latin-1"))
    run("add", "-p", "neo", "-c", "talk", EGGS, status=None)
    alone.write_bytes(text + "§\nCafé.\n".encode())
    assert "1 file changed by another program" in run("status").stdout
    for words in (("prompt", "neo"), ("list", "neo"), ("diff", "neo/user", "1"), ("doctor",)):
        assert "UTF-8" not in run(*words).output


def test_a_folder_of_profiles_that_is_not_there_is_named_and_no_profile_is_proposed(place):
    put(place / "catmem.yaml", "version: 1\nprofiles: profilez\n")
    for words in (("prompt", "neo"), ("list", "-p", "neo"), ("status",)):
        said = run(*words, status=2).stderr
        assert "catmem.yaml has its profiles in profilez, and there is no such folder\n  Bring it back, or" in said
    assert "init" not in said
    assert run_json("status", status=2)["next"] == []


@pytest.mark.parametrize("homes", ["homes", "agents/{name}/memory"])
def test_a_folder_that_belongs_to_no_profile_is_told(alone, homes):
    put(Path("catmem.yaml"), f"version: 1\nhomes: {homes}\n")
    homes = homes if "{" in homes else f"{homes}/{{name}}"
    for name in ("base", "ann", "bob"):
        put(Path("profiles", f"{name}.yaml"), "user_memory_categories: [talk]\nwritable_categories: [talk]\n")
    put(Path("profiles", "neo.yaml"), "extends: base\n")
    for name in ("neo", "ann", "bob", "base"):
        put(Path(homes.replace("{name}", name), "USER.md"), "")
    run("add", "-p", "ann", "-c", "talk", MILK)
    put(Path(homes.replace("{name}", "empty"), "notes.txt"), "")
    assert "unowned" not in {each["kind"] for each in run_json("status")["next"]}
    Path("profiles", "ann.yaml").unlink()
    Path("profiles", "bob.yaml").rename("profiles/rob.yaml")
    Path(homes.replace("{name}", "ann"), "USER.md").unlink()  # its history is left
    (step,) = [each for each in run_json("status")["next"] if each["kind"] == "unowned"]
    places = ", ".join(homes.replace("{name}", name) for name in ("ann", "bob"))
    assert step["what"] == f"2 folders that belong to no profile ({places})"
    run(*shlex.split(step["command"])[1:])
    assert "1 folder that belongs to no profile" in run("status").stdout
    put(Path("profiles", "odd.yaml"), "tier: many\n")
    assert "to no profile" not in run("status", status=2).stdout


def test_a_configuration_that_was_emptied_or_is_missing_is_named(alone):
    assert "emptied" not in counts()
    for text in ("", "# all gone\n"):
        put(Path("catmem.yaml"), text)
        (step,) = [each for each in run_json("status")["next"] if each["kind"] == "emptied"]
        assert (
            step["what"] == "1 configuration of the root (catmem.yaml) that says nothing, so that every default holds"
        )
        said = run(*shlex.split(step["command"])[1:], status=1).stdout
        assert "catmem.yaml:1:1: error CM401 says nothing, so that every default holds, and there are profiles" in said
    Path("catmem.yaml").unlink()
    (step,) = [each for each in run_json("status")["next"] if each["kind"] == "unconfigured"]
    assert step["what"] == "1 configuration of the root (catmem.yaml) that is missing, so that every default holds"
    run(*shlex.split(step["command"])[1:])
    put(Path("catmem.yaml"), "version: 1\n")
    assert not {"emptied", "unconfigured"} & counts().keys()
    run("lint", "--select", "CM401")


@pytest.mark.parametrize("name", ["coder2.YAML", "Coder2.Yml"])
def test_a_profile_whose_file_ends_in_capitals_is_named(alone, name):
    put(Path("profiles", name), "tier: 2\n")
    said = f"the file of a profile ends in .yaml, not in .{name.partition('.')[2]}"
    result = run("status", status=2)
    assert said in result.stderr
    assert f"Rename it to {name.lower()}" in result.stderr
    assert said in run("lint", "--select", "CM402", status=2).stdout
    assert "coder2" not in run("list", "-p", "coder", status=2).stderr.replace(name, "")


def test_adopt_leaves_a_file_that_is_no_text_and_takes_in_the_others(place):
    run("add", "-p", "boss", "-c", "rules", "Be short.")
    damaged, edited = place / "homes" / "neo" / "USER.md", place / "homes" / "boss" / "USER.md"
    damaged.write_bytes(damaged.read_bytes() + b"Caf\xe9\n")
    put(edited, edited.read_text() + "\u00a7\nBe kind.\n")
    before = run_json("log", "neo/user")
    result = status("--adopt", status=2)
    assert "what is there now is revision 3 of boss/user" in result.stderr
    assert result.stderr.count("error[not_utf8]: homes/neo/USER.md") == 1
    assert "; 'catmem fsck neo/user --repair' reads its wrong bytes as Windows-1252, for a file of" in result.stderr
    assert run_json("log", "neo/user") == before
    run("fsck", "neo/user", "--repair")
    assert "outside" not in counts()
