"""``catmem promote``: the list of what specialists have, proposals of all of it, and what another program changed."""

import pytest

from tests.end_to_end.terminal import error_of, run, run_json, snapshot
from tests.golden.case import put


@pytest.fixture
def place(tmp_path, monkeypatch):
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(tmp_path / "profiles" / "neo.yaml", "seed_from: boss\nuser_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "boss" / "USER.md", "## Vendors\nAcme delivers paper.\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Vendors\nAcme delivers paper.\n§\nKern repairs the van.\n")
    put(tmp_path / "catmem.yaml", "version: 1\napproval: others\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_selected_category_it_proposes_in_all_that_both_sides_may_have(place):
    put(place / "profiles" / "neo.yaml", "seed_from: boss\nuser_memory_categories: [vendors]\n")
    put(place / "homes" / "neo" / "USER.md", "## Vendors\nKern repairs the van.\n\n## Own\nA note to itself.\n")
    result = run("promote", "--all")
    assert "neo -> boss/user  vendors: Kern repairs the van." in result.stdout
    assert "1 proposal made" in result.stderr
    put(place / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*', '!vendors']\n")
    put(place / "homes" / "neo" / "USER.md", "## Vendors\nLoom sells the looms.\n")
    assert run("promote", "--all").stdout.startswith("Nothing to promote: each source has these entries already")


def test_without_an_entry_it_lists_what_the_source_lacks_and_what_each_would_replace(place):
    long = "Invoices of the looms go by post to the office in the harbour, with a copy for the replica, " * 2
    run("add", "-p", "boss", "-c", "vendors", f"{long}on the 15th.")
    run("seed", "boss", "neo")
    run("replace", "-p", "neo", "Invoices", f"{long}on the 16th.")
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: ['*']\n")
    put(place / "homes" / "tri" / "USER.md", "## Rooms\nThe red room is booked.\n")
    before = snapshot(place)
    result = run("promote")
    assert result.stdout == (
        f"neo -> boss/user  vendors: {long}on the 16th.\n"
        f"  in place of: {long}on the 15th.\n"
        "neo -> boss/user  vendors: Kern repairs the van.\n"
        "tri -> boss/user  rooms: The red room is booked.\n"
    )
    assert result.stderr == "3 to promote; nothing was written. Propose all: catmem promote --all.\n"
    assert snapshot(place) == before
    listed = run_json("promote", "-p", "neo", "-c", "v*")
    assert [each["replaces"] for each in listed["promoted"]] == [f"{long}on the 15th.", None]
    assert (listed["dry_run"], run_json("proposals")["proposals"]) == (True, [])
    assert "--to goes with ENTRY" in run("promote", "--to", "boss", status=2).stderr
    assert "-p NAME ENTRY" in run("promote", "Kern", status=2).stderr


def test_the_list_shows_what_another_program_changed_and_leaves_it(place):
    path = edited_by_hand(place)
    for _ in range(2):
        result = run("promote", status=2)
        assert "another program changed boss/user\n" in result.stderr
        assert "] Wants tests with each change of the code." in result.stdout
        assert "  in place of: Wants tests with each change of the code.\n" in result.stdout
        assert "error[in_conflict]: boss/user has other words for it since the seed, too" in result.stderr
    run("promote", "--all", status=2)
    assert run("promote", status=2).stdout.count("neo -> boss/user") == 1  # what is new waits, and the conflict is left
    assert "of the code" in path.read_text()


def test_a_root_in_which_no_profile_is_seeded_says_so(place):
    put(place / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    error = error_of("promote", "--all")
    assert (error["code"], error["message"]) == ("no_source", "no profile is seeded from another")
    assert error["hint"].startswith("Name it in a profile (seed_from: NAME), or promote one entry: ")


def test_a_misspelt_category_is_named(place):
    error = error_of("promote", "--all", "-c", "vendrs")
    assert (error["code"], error["message"]) == ("unknown_category", "no category fits vendrs")
    assert error["hint"] == "Did you mean 'vendors'?"
    put(place / "catmem.yaml", "version: 1\napproval: {promote: [vendrs, 'v*']}\n")
    said = run("promote", "--all").stderr
    assert "no category fits vendrs, which approval.promote in catmem.yaml names. Did you mean 'vendors'?" in said
    assert "1 proposal made" in said


def edited_by_hand(place):
    """An entry of boss that another program reworded, whose copy neo reworded otherwise."""
    run("add", "-p", "boss", "-c", "vendors", "Wants tests with each change.")
    run("seed", "boss", "neo")
    run("replace", "-p", "neo", "Wants tests", "Wants tests with each change, and before it.")
    path = place / "homes" / "boss" / "USER.md"
    path.write_text(path.read_text().replace("with each change.", "with each change of the code."))
    return path


def test_what_another_program_changed_is_shown_and_the_promotion_waits(place):
    path = edited_by_hand(place)
    text = path.read_text()
    for number in (1, 2):
        result = run("promote", "-p", "neo", "Wants tests")
        assert result.stdout.count("] Wants tests with each change of the code.") == (number == 1)
        assert "boss/user has other words for it since the seed, too" in result.stderr
        assert ("it waits already" in result.stderr) == (number == 2)
        assert path.read_text() == text
    (waiting,) = run_json("proposals")["proposals"]
    assert "change of the code." in waiting["changes"][0]["before"]
    run("proposals", "--approve", waiting["id"])
    assert "Wants tests with each change, and before it." in path.read_text()
    assert "change of the code" not in path.read_text()
    assert run("log", "boss/user").stdout.count("Taken over") == 2


def test_what_a_limit_refuses_is_status_1_and_what_could_go_is_listed_once_for_all(place):
    put(place / "catmem.yaml", "version: 1\napproval: others\nlimits: {user: 45}\n")
    more = "Kern repairs the van.\n§\nLoom sells the looms.\n§\nRad makes wheels.\n"
    put(place / "homes" / "neo" / "USER.md", f"## Vendors\n{more}")
    listed = run("promote", "-c", "vendors", status=1).stderr
    assert listed.endswith("0 to promote, 3 refused; nothing was written.\n")
    said = run("promote", "--all", status=1).stderr
    counts = [said.count(each) for each in ("error[over_budget]", "These could go:", "Nothing was written.")]
    assert counts == [3, 1, 1]
    assert "Shorten or remove other entries first" in said
    assert said.splitlines()[-2:] == [
        "error[over_budget]: boss/user would have 51 characters, 6 over its limit of 45; it has 31 now",
        "0 proposals made, 3 refused. catmem proposals lists what waits.",
    ]


def test_what_a_person_rejected_is_nothing_to_do_and_no_failure_of_a_nightly_run(place):
    run("promote", "--all", "-c", "vendors")
    (waiting,) = run_json("proposals")["proposals"]
    run("proposals", "--reject", waiting["id"], "--reason", "Known.")
    assert "learned" not in [each["kind"] for each in run_json("status")["next"]]
    assert "left: this was proposed before" in run("promote", "--all", "-c", "vendors").stderr


def test_own_words_go_to_the_files_of_specialists_too(place):
    run("promote", "--all")
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: ['*']\n")
    put(place / "homes" / "tri" / "USER.md", "## Vendors\nKern repairs the van.\n")
    (found,) = run_json("proposals")["proposals"]
    said = run("proposals", "--edit", found["id"], "Kern repairs both vans.")
    assert "neo/user says it in these words too" in said.stderr
    assert "tri/user says it in these words too" in said.stderr
    assert (place / "homes" / "neo" / "USER.md").read_text().endswith("§\nKern repairs both vans.\n")
    assert run("promote").stdout.startswith("Nothing to promote")


def test_what_no_promotion_takes_is_no_next_step(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("init", "--example", ".")
    assert "1 refused" in run("promote", "--all", status=2).stderr
    assert "promote" not in run("status").stdout


def test_a_profile_that_is_not_right_is_named_and_what_others_learned_is_proposed(place):
    put(place / "profiles" / "tri.yaml", "seed_from: [\n")
    put(place / "profiles" / "ann.yaml", "seed_from: tri\nuser_memory_categories: ['*']\n")
    result = run("promote", "--all", status=2)
    assert "neo -> boss/user  vendors: Kern repairs the van." in result.stdout
    assert "1 proposal made" in result.stderr
    assert result.stderr.count("error[yaml_syntax]") == 1
    assert "tri.yaml" in result.stderr
    run("promote", "-p", "neo", "Kern repairs")
    assert "Kern repairs the van." in (place / "homes" / "boss" / "USER.md").read_text(encoding="utf-8")
    put(place / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    assert error_of("promote", "--all", status=2)["code"] == "yaml_syntax"


def test_a_file_that_cannot_be_read_is_named_and_what_others_learned_is_proposed(place):
    put(place / "profiles" / "tri.yaml", "seed_from: boss\nuser_memory_categories: ['*']\n")
    run("add", "-p", "tri", "-c", "rooms", "The red room is booked.")
    damaged = place / "homes" / "tri" / "USER.md"
    damaged.write_bytes(damaged.read_bytes() + b"Caf\xe9\n")
    for options, ends in ((), "1 to promote; nothing was written."), (("--all",), "1 proposal made."):
        result = run("promote", *options, status=2)
        assert "neo -> boss/user  vendors: Kern repairs the van.\n" in result.stdout
        assert ends in result.stderr
        assert result.stderr.count("error[not_utf8]: homes/tri/USER.md") == 1
    assert len(run_json("proposals")["proposals"]) == 1
    assert [each["op"] for each in run_json("log", "tri/user")["revisions"]] == ["put"]
    (unreadable,) = run_json("promote", status=2)["unreadable"]
    assert unreadable["code"] == "not_utf8"


def test_one_entry_goes_up_although_another_file_cannot_be_read(place):
    run("add", "-p", "boss", "-t", "memory", "The shop opens at ten.")
    damaged = place / "homes" / "boss" / "MEMORY.md"
    damaged.write_bytes(damaged.read_bytes() + b"Caf\xe9\n")
    result = run("promote", "-p", "neo", "Kern")
    assert "promoted to vendors in boss/user" in result.stdout
    assert [each["op"] for each in run_json("log", "boss/memory")["revisions"]] == ["put"]
