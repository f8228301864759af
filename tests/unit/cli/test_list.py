"""``catmem list``, ``show`` and ``search``: of one profile, of all files of a root, and names with a slip in them."""

import json
from functools import partial

import pytest

from catmem.workspace import stores
from catmem.workspace.stores import open_store
from tests.end_to_end.terminal import error_of, run, run_json, write_root
from tests.golden.case import put
from tests.together import together

USER = """\
## Talk
[verified_date: 2026-01-01] Green tea
in the morning
§
[created: 2026-11-20] black Tea

## Pay
[created: 2026-11-21] tea money
"""
MUCH = "much else " * 30
DAY = ("--as-of", "2026-11-21")
show = partial(run, "show")


@pytest.fixture
def place(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "taxonomy: {categories: {talk: {aliases: [speech]}}}\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\nmemory_categories: [notes]\n")
    put(tmp_path / "homes" / "neo" / "USER.md", USER)
    put(tmp_path / "homes" / "neo" / "MEMORY.md", f"## Notes\n[created: 2026-11-01] {MUCH}and tea {MUCH}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_list_for_people(place):
    result = run("list", "-p", "neo", *DAY)
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "user:2 talk stale: verified 2026-01-01 Green tea …",
        "user:5 talk fresh black Tea",
        f"memory:2 notes fresh {MUCH[:71]}…",
    ]


def test_no_entry_of_a_category_in_any_file(place):
    assert run("list", "-c", "tlak").stderr == (
        "No profile names the category 'tlak' and no file has it yet. Did you mean 'talk'?\nNo entries of tlak in any file.\n"
    )


@together(
    ("words", "said"),
    [
        (
            ("review", "--list", "-c", "tlak"),
            "No profile names the category 'tlak' and no file has it yet. Did you mean",
        ),
        (("search", "-c", "tlak", "tea"), "No profile names the category 'tlak' and no file has it yet. Did you mean"),
        (("prompt", "neo", "-c", "qqq"), "neo does not read qqq: catmem access --why neo qqq"),
        (("prompt", "all", "-c", "qqq"), "no entry in sight is in the category 'qqq'"),
    ],
)
def test_a_category_that_is_nowhere_is_told_by_each_command(place, words, said):
    put(place / "profiles" / "all.yaml", "user_memory_categories: ['*']\n")
    assert said in run(*words).stderr


@together("output_format", ["text", "json"])
def test_a_category_out_of_sight_is_like_one_that_is_not_there(place, output_format):
    hidden, absent = (run("list", "-p", "neo", "-c", name, "--format", output_format) for name in ("pay", "none"))
    assert (hidden.stdout, hidden.stderr) == (absent.stdout, absent.stderr)
    if output_format == "text":
        assert hidden.stderr == "No entries that this profile can see.\n"


@together(
    ("category", "said"),
    [
        ("tlak", "the category 'tlak' is not declared in catmem.yaml\n  Did you mean 'talk'?"),
        ("Tlak!", "the category 'Tlak!' is not declared in catmem.yaml\n  Did you mean 'talk'?"),
        ("speach", "Did you mean 'speech'?"),
        ("zebra", "The declared categories are pay, talk."),
    ],
)
def test_a_category_that_a_closed_taxonomy_does_not_declare(place, category, said):
    put(place / "catmem.yaml", "taxonomy: {closed: true, categories: {talk: {aliases: [speech]}, pay: {}}}\n")
    put(place / "profiles" / "neo.yaml", "user_memory_categories: [talk]\n")
    result = run("list", "-p", "neo", "-c", category, status=2)
    assert result.stdout == ""
    assert result.stderr.startswith("error[unknown_category]: ")
    assert result.stderr.endswith(f"{said}\n")
    for declared in ("talk", "speech", "Talk", "pay", "__uncategorized__"):
        assert "declared" not in run("list", "-p", "neo", "-c", declared).stderr


# --- show ------------------------------------------------------------------------------------------------------------


def test_a_file_by_its_name_is_shown_from_any_store(place):
    kept = show("neo/user").stdout
    assert kept == show(place / "homes" / "neo" / "USER.md").stdout
    run("store", "copy", "files", "sqlite:///memory.db")
    with (place / "catmem.yaml").open("a") as config:
        config.write("store: sqlite:///memory.db\n")
    assert show("neo/user").stdout == kept
    assert json.loads(show("neo/user", "--format", "json").stdout)["categories"].keys() == {"talk", "pay"}


def test_the_name_of_a_profile_is_no_file_but_the_profile(place):
    assert show("neo").stdout == show("-p", "neo").stdout
    put(place / "neo", "## Other\nx\n")
    assert show("neo").stdout.startswith("other (1)")  # a file that is there goes first


def test_standard_input(place):
    assert "talk (2)" in show("-", input=USER).stdout
    assert "talk (1)" in show("-", input="## Speech\nx").stdout
    assert show("-", input="").stdout == "(no entries)\n"
    assert json.loads(show("-", "--format", "json", input=b"\xef\xbb\xbf## A\r\nx\r\n").stdout)["categories"]


def test_the_files_own_root_says_what_its_aliases_mean(place, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    file = put(place / "homes" / "neo" / "USER.md", "## Speech\nx\n")
    assert show(file).stdout.startswith("talk (1)")


def test_what_people_are_shown_of_a_file_needs_no_store(place, monkeypatch):
    run("add", "-p", "neo", "-c", "talk", "three")
    opened = []
    monkeypatch.setattr(stores, "open_store", lambda *given: opened.append(given) or open_store(*given))
    assert "three" in show("-p", "neo").stdout
    assert opened == []
    (place / "homes" / "neo" / "USER.md").unlink()
    assert "another program took" in show("-p", "neo").stderr
    assert len(opened) == 1


# --- search ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def look(place):
    return partial(run, "search", "-p", "neo", *DAY)


def test_a_limit_says_what_it_leaves_out(look):
    result = look("tea", "--limit", "1")
    assert len(result.stdout.splitlines()) == 2
    assert result.stderr == "1 of 3 entries; --limit 3 shows all.\n"


@together(
    ("choices", "lines"),
    [
        (("-t", "user"), {"user:5", "user:2"}),
        (("-t", "memory"), {"memory:2"}),
        (("-c", "speech"), {"user:5", "user:2"}),
        (("-t", "memory", "-c", "talk"), set()),
        (("--state", "stale"), {"user:2"}),
        (("--state", "stale", "--state", "fresh"), {"user:5", "user:2", "memory:2"}),
        (("--tag", "created=2026-11-20"), {"user:5"}),
        (("--tag", "created="), {"user:2"}),
        (("--tag", "created=", "--tag", "verified_date=2026-01-01"), {"user:2"}),
    ],
)
def test_filters(look, choices, lines):
    assert {line.split()[0] for line in look("tea", *choices).stdout.splitlines() if line and line[0] != " "} == lines
    if not {"--state", "--tag"} & {*choices}:
        listed = run("list", "-p", "neo", *choices).stdout.splitlines()
        assert {line.split()[0] for line in listed} == lines


@together(
    ("arguments", "lifted"),
    [
        (("zebra", "-c", "talk"), []),
        (("tea", "-c", "pay"), ["-c"]),
        (("tea", "-c", "xyz"), ["-c"]),
        (("money", "-t", "memory"), []),
        (("black", "--state", "expired"), ["--state"]),
        (("black", "--state", "expired", "-t", "memory"), []),
        (("morning", "--tag", "created=2026-11-20", "-t", "user"), ["--tag"]),
        (('"tea money"',), []),
    ],
)
def test_nothing_found_is_told_with_the_filter_that_hides_what_fits(look, arguments, lifted):
    result = look(*arguments)
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Nothing in sight fits ")]
    assert lines == [f"Without {option} there are entries that fit." for option in lifted]
    assert "there are entries" not in look(*arguments, "--format", "json").stderr


def test_a_hint_fails_for_no_file_that_was_not_asked_for(look, place):
    assert "Without -t there are entries that fit." in run("search", "money", "-t", "memory").stderr
    (place / "homes" / "neo" / "MEMORY.md").write_bytes(b"\xff")
    assert len(look("zebra", "-t", "user").stderr.splitlines()) == 1
    assert len(look("notes", "-t", "user").stderr.splitlines()) == 1
    look("zebra", status=2)


@together(
    ("arguments", "status", "said"),
    [
        (("§",), 2, "error[empty_query]: this query has no word in it"),
        (("x" * 2000,), 2, "error[long_query]: this query has 2,000 characters, and 1,000 is the most"),
        (("tea", "--tag", "created"), 2, "is not of the form KEY=VALUE"),
        (("--", "-tea"), 0, ""),
    ],
)
def test_a_query_that_is_none(look, arguments, status, said):
    assert said in look(*arguments, status=status).stderr


# --- all files of a root, copies folded ---


@pytest.fixture
def team(tmp_path, monkeypatch):
    """Two entries of neo stand in boss's file too, one of them with other tags."""
    write_root(tmp_path)
    text = "## Talk\nPrefers short answers.\n\n## Rules\n[source: neo] Invoices are due on the 15th.\n§\nBoss alone.\n"
    put(tmp_path / "homes" / "boss" / "USER.md", text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_list_of_all_has_each_entry_once_with_the_names(team):
    lines = run("list").stdout.splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("boss/user:2")
    assert lines[0].endswith("Prefers short answers.  (also in neo)")
    # A person sees all, what no profile does too.
    assert lines[-1].startswith("neo/user:10  pay")
    (first, *_) = run_json("list")["entries"]
    assert [first["entity"], first["line"]] == ["boss/user", 2]
    assert [each["entity"] for each in first["copies"]] == ["neo/user"]
    assert len(run("list", "-c", "rules").stdout.splitlines()) == 2
    assert len(run("list", "-c", "speech").stdout.splitlines()) == 2
    assert run("list", "-t", "memory").stdout == ""
    assert error_of("list", "-c", "nope")["code"] == "unknown_category"


def test_a_copy_is_verified_in_the_file_that_it_is_seeded_from(tmp_path, monkeypatch):
    for name, more in {"boss": "tier: 1\n", "neo": "seed_from: boss\n", "ann": "seed_from: neo\n"}.items():
        put(tmp_path / "profiles" / f"{name}.yaml", f"{more}user_memory_categories: [talk]\n")
        put(tmp_path / "homes" / name / "USER.md", "## Talk\nLikes tea.\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\nLikes tea.\n§\nLikes water.\n")
    put(tmp_path / "catmem.yaml", "")
    monkeypatch.chdir(tmp_path)
    assert "catmem verify -p boss 'words" in run("search", "-p", "ann", "tea").stderr
    assert "catmem verify -p neo 'words" in run("search", "-p", "neo", "water").stderr
    put(tmp_path / "homes" / "boss" / "USER.md", b"\xff")
    assert "catmem verify -p neo 'words" in run("search", "-p", "ann", "tea").stderr


def test_a_search_of_all_finds_what_no_profile_sees(team):
    assert "Nothing in sight fits 'zebra'." in run("search", "zebra").stderr
    assert run("search", "secret").stdout.startswith("neo/user:10  pay  unverified\n")
    assert run("search", "invoices").stdout.startswith("boss/user:5  rules  unverified  (also in neo)\n")
    said = run_json("search", "invoices", "15th", "boss")
    assert (said["profile"], said["total"]) == (None, 2)
    result = run("search", "invoices boss", "--limit", "1")
    assert result.stdout.count("\n    ") == 1
    assert "1 of 2 entries; --limit 2 shows all." in result.stderr


def test_an_entry_stands_at_its_source_and_its_copies_are_named_beside(tmp_path, monkeypatch):
    """A fact of the orchestrator that a lead was seeded with, and a developer from the lead; one fact is the lead's."""
    monkeypatch.chdir(tmp_path)
    write_root(tmp_path)
    profiles = {"zoe": "tier: 1", "lead": "seed_from: zoe", "dev": "seed_from: lead", "aide": "tier: 2"}
    for name, said in profiles.items():
        put(tmp_path / "profiles" / f"{name}.yaml", f"{said}\nuser_memory_categories: [talk]\n")
        put(tmp_path / "homes" / name / "USER.md", "## Talk\nTea is served at nine.\n")
    lead = "## Talk\n[source: lead] Tea is served at nine.\n§\nThe lead likes tea.\n"
    put(tmp_path / "homes" / "lead" / "USER.md", lead)
    put(tmp_path / "homes" / "dev" / "USER.md", "## Talk\nTea.\n§\nThe lead likes tea.\n§\nTea is served at nine.\n")
    expected = [("lead/user", ["dev/user"]), ("zoe/user", ["aide/user", "lead/user", "dev/user"])]
    for command in (["list", "-c", "talk"], ["search", "tea"]):
        entries = [each for each in run_json(*command)["entries"] if each["copies"]]
        assert sorted((each["entity"], [copy["entity"] for copy in each["copies"]]) for each in entries) == expected
    places = [line.split()[0] for line in run("list", "-c", "talk").stdout.splitlines()]
    assert places == ["zoe/user:2", "lead/user:4", "dev/user:2", "neo/user:2", "neo/user:4"]
    scores = [each["score"] for each in run_json("search", "tea")["entries"]]
    assert scores == sorted(scores, reverse=True)
    # Profiles that are seeded in a circle are listed too.
    put(tmp_path / "profiles" / "zoe.yaml", "tier: 1\nseed_from: dev\nuser_memory_categories: [talk]\n")
    assert len(run_json("list", "-c", "talk")["entries"]) == 5


# --- a slip in a category or selector is told, with the name that is most likely meant ---


@pytest.fixture
def finance(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [finance, talk]\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Finance\nPays by card.\n\n## Vault\nA secret place.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@together(
    ("words", "status"),
    [
        (("list", "-p", "neo", "-c", "finanse"), 0),
        (("search", "-p", "neo", "-c", "finanse", "card"), 0),
        (("prompt", "neo", "-c", "finanse"), 0),
        (("prompt", "neo", "-c", "finanse", "-c", "finance"), 0),
        (("replace", "-p", "neo", "-c", "finanse", "Pays", "Pays in cash."), 2),
        (("remove", "-p", "neo", "-t", "user", "-c", "finanse", "Pays"), 2),
    ],
)
def test_a_category_without_an_entry_is_told_with_the_near_one(finance, words, status):
    said = run(*words, status=status).stderr
    assert "no entry in sight is in the category 'finanse'; did you mean 'finance'?" in said


def test_what_is_out_of_sight_is_no_near_name(finance):
    assert "vault" not in run("list", "-p", "neo", "-c", "vaults").stderr


@together("words", [("list", "-p", "neo"), ("prompt", "neo")])
def test_a_slip_in_the_selectors_of_both_files_is_told_once(finance, words):
    slip = "user_memory_categories: [finanse, talk]\nmemory_categories: [finanse, talk]\n"
    put(finance / "profiles" / "neo.yaml", slip)
    said = run(*words).stderr
    assert said.count("the selector 'finanse'") == 1
    assert "the selector 'finanse' matches nothing; did you mean 'finance'?" in said


def test_a_seed_tells_of_the_slip_that_takes_copies_out(finance):
    def of_tri(categories):
        put(finance / "profiles" / "tri.yaml", f"seed_from: neo\nuser_memory_categories: [{categories}]\n")

    of_tri("finance")
    run("seed", "--all")
    of_tri("finanse")
    slip = "profile tri: the selector 'finanse' matches nothing; did you mean 'finance'?"
    for how in (("--dry-run",), ("--check",), (), ("--dry-run",), ("--check",)):
        assert slip in run("seed", "--all", *how, status=None).stderr
    assert slip in str(run_json("seed", "--all"))
    of_tri("finance, rulez")
    put(finance / "homes" / "tri" / "USER.md", "## Rulez\nIts own.\n")
    put(finance / "catmem.yaml", "taxonomy: {categories: {rules: {}}}\n")
    assert "did you mean" not in run("seed", "--all").stderr
