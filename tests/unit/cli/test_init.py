"""``catmem init``."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sysconfig
from functools import partial

import pytest

from catmem import resources
from catmem.workspace.init import kits, role_of
from tests.commands import KILLED_BY_THE_LIMIT, limited
from tests.end_to_end.pseudo_terminal import terminals
from tests.end_to_end.terminal import run as command
from tests.golden.case import contents, put
from tests.together import together

run = partial(command, "init")
TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"


FLAT = {"USER.md": "Prefers short answers.\n§\nUses tabs in Python code.\n", "MEMORY.md": "Acme is the cloud vendor.\n"}


@pytest.fixture
def flat(tmp_path):
    for name, text in FLAT.items():
        put(tmp_path / "old" / name, text)
    return tmp_path / "old"


@pytest.fixture
def started(flat, tmp_path, monkeypatch):
    """A root, which is the working folder, that began with these files; a coder is seeded of them."""
    run(tmp_path / "new", "--start", flat, "--profile", "coder")
    monkeypatch.chdir(tmp_path / "new")
    return tmp_path / "new"


def test_it_says_what_it_wrote_and_in_a_root_how_to_add_a_specialist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("un s")
    assert "  cd 'un s'\n" in result.stdout
    assert [line.rpartition("/")[2] for line in result.stdout.splitlines() if line.startswith("wrote ")] == [
        "catmem.yaml", "USER.md", "orchestrator.yaml", ".gitignore",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "status"), [(["-m", "catmem"], 2), (["-c", KILLED_BY_THE_LIMIT], -signal.SIGXFSZ)], ids=["full", "killed"]
)
def test_a_disk_that_is_full_and_a_kill_leave_no_half_of_a_profile(tmp_path, start, status):
    run(tmp_path, "--profile", "coder")
    done = limited(60, *start, "init", str(tmp_path), "--profile", "legal")
    assert (done.returncode, "cannot be written" in done.stderr) == (status, status == 2), done.stderr
    assert not (tmp_path / "profiles" / "legal.yaml").exists()
    assert "profiles/legal.yaml" in run(tmp_path, "--profile", "legal").stdout
    assert not list(tmp_path.rglob(".*.new"))


def test_profiles_that_are_named_and_there_already_are_always_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(".", "--profile", "neo", "--profile", "trinity")
    said = run("--profile", "neo", "--profile", "morpheus", "--profile", "trinity").stdout
    assert [line for line in said.splitlines() if line.startswith(("wrote ", "kept "))] == [
        "wrote ./profiles/morpheus.yaml",
        "kept ./profiles/neo.yaml, which was there already",
        "kept ./profiles/trinity.yaml, which was there already",
    ]
    before = contents(tmp_path)
    assert run("--profile", "neo").output == "nothing to do: profiles/neo.yaml is there already\n"
    assert contents(tmp_path) == before


def test_a_seed_from_a_source_without_entries_says_how_one_is_added(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(".", "--profile", "coder")
    said = command("seed", "--all").stderr
    assert "orchestrator has no entry in a category that its targets read: catmem add -p orchestrator" in said
    assert "In sync: 0 files." in command("seed", "--all", "--check").stderr


def test_a_check_of_a_source_that_gives_nothing_of_its_entries_says_so_once_and_fails(started):
    said = command("seed", "--all", "--check", status=1).stderr
    assert said == (
        "no entry of orchestrator/user and orchestrator/memory has a category, so none is seeded: "
        "catmem sort -p orchestrator\nNothing was written. 0 files would change, 0 unchanged.\n"
    )
    put(started / "homes" / "orchestrator" / "USER.md", "## Vendors\nAcme is the cloud vendor.\n")
    put(started / "homes" / "orchestrator" / "MEMORY.md", "")
    said = command("seed", "--all", "--check", status=1).stderr
    assert "orchestrator has no entry in a category that its targets read: " in said
    command("seed", "--all")


def test_a_seed_names_each_file_of_a_source_in_which_nothing_is_sorted_yet(started):
    command("sort", "-p", "orchestrator", "-t", "user", "--unsure")
    said = "no entry of orchestrator/memory has a category, so none is seeded: "
    sort = "catmem sort -p orchestrator -t memory"
    for check in ([], ["--check"], ["--dry-run"]):
        assert f"{said}{sort}\n" in command("seed", "--all", *check).stderr
    assert "orchestrator/user" not in command("seed", "--all").stderr
    command("move", "-p", "orchestrator", "-t", "memory", "Acme is the cloud vendor.", "-c", "vendors")
    assert said not in command("seed", "--all", "--check").stderr


def test_a_seed_of_what_has_no_category_to_a_profile_that_asks_for_it_is_no_note(started):
    profile = started / "profiles" / "coder.yaml"
    profile.write_text(f"{profile.read_text()}include_uncategorized: true\n")
    assert "has a category" not in command("seed", "--all").stderr


@pytest.mark.parametrize("secret", [f"Deploy key: {TOKEN}", "The router's password: Brunhild77!kk"])
def test_a_secret_in_a_file_that_was_copied_is_told_and_lint_finds_it(flat, tmp_path, monkeypatch, secret):
    put(flat / "MEMORY.md", f"{secret}\n§\nAcme is the vendor.\n")
    said = run(tmp_path / "new", "--start", flat).stderr
    assert said == "note: homes/orchestrator/MEMORY.md holds what looks like a secret: catmem lint --select CM605\n"
    monkeypatch.chdir(tmp_path / "new")
    assert "homes/orchestrator/MEMORY.md" in command("lint", "--select", "CM605", status=None).stdout


def test_a_secret_in_a_file_over_which_the_root_is_made_is_told(tmp_path):
    put(tmp_path / "homes" / "orchestrator" / "USER.md", "## Rules\nThe router's password: Brunhild77!kk\n")
    said = run(tmp_path).stderr
    assert said == "note: homes/orchestrator/USER.md holds what looks like a secret: catmem lint --select CM605\n"


def test_entries_below_a_heading_that_no_profile_reads_are_named_at_the_end(flat, tmp_path):
    put(flat / "USER.md", "## Recipes of old\nSoup.\n§\nBread.\n")
    said = run(tmp_path / "new", "--start", flat, "--profile", "coder").stdout
    assert said.endswith("  catmem access    # 1 category that no specialist reads (recipes-of-old)\n")


def test_a_home_that_the_shell_left_as_a_sign_is_the_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    put(tmp_path / "home" / "notes" / "USER.md", "Short answers.\n")
    run("~/memory", "--start=~/notes")
    assert (tmp_path / "home" / "memory" / "homes" / "orchestrator" / "USER.md").read_text() == "Short answers.\n"
    assert "Short answers." in command("list", "--root", "~/memory").stdout
    assert not (tmp_path / "~").exists()


def test_a_specialist_is_added_to_a_root_that_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("--profile", "coder")
    before = (tmp_path / "catmem.yaml").read_text(encoding="utf-8")
    assert "would write ./profiles/legal.yaml" in run("--profile", "legal", "--dry-run").stdout
    made = run("--profile", "legal")
    assert "Next:\n  $EDITOR profiles/legal.yaml" in made.stdout
    after = (tmp_path / "catmem.yaml").read_text(encoding="utf-8")
    new = [line for line in after.splitlines() if line not in before.splitlines()]
    assert [line.rpartition("/")[2] for line in made.stdout.splitlines() if line.startswith("wrote ")] == [
        "legal.yaml",
        "catmem.yaml",
    ]
    assert new
    assert all("{title: " in line for line in new)
    assert all(line in after.splitlines() for line in before.splitlines())
    command("add", "-p", "orchestrator", "-c", "communication-style", "Likes tea.")
    command("seed", "--all")
    assert "Likes tea." in command("prompt", "legal").stdout
    (tmp_path / "profiles" / "legal.yaml").write_text("seed_from: orchestrator\n", encoding="utf-8")
    assert "profiles/legal.yaml" in run("--profile", "legal", status=2).stderr


@pytest.mark.skipif(shutil.which("git") is None, reason="NOT TESTED: git is not installed on this machine")
def test_with_git_it_says_what_it_wrote(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    result = run(tmp_path, "--git")
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert sum("wrote " in line and ".gitattributes: " in line for line in lines) == 3
    assert "set merge.catmem.driver = catmem merge-driver %O %A %B %P" in lines
    assert run(tmp_path, "--git").stdout == "nothing to do\n"


def test_after_the_example_it_proposes_a_command_that_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "\nNext:\n  cd demo\n  catmem prompt trinity --explain\n" in run("demo", "--example").stdout
    assert "trinity" in command("prompt", "trinity", "--explain", "--root", "demo").stdout


# --- shipped profiles by name ---


@pytest.mark.parametrize(
    "names", [["specialist"], ["orchestrator"], ["neo", "morpheus"], ["scout", "trinity"]], ids="-".join
)
def test_every_root_of_shipped_profiles_works(tmp_path, names):
    run(tmp_path, *[word for name in names for word in ("--profile", name)])
    again = run(tmp_path, *[word for name in names for word in ("--profile", name)])
    assert again.stdout.startswith("nothing to do: profiles/")
    assert "warning" not in command("lint", "--root", tmp_path).stderr
    assert f"profiles/{names[0]}.yaml" in again.stdout
    put(tmp_path / "homes" / "orchestrator" / "USER.md", "# About\n\n## Communication Style\nShort.\n")
    found = {path.stem for path in (tmp_path / "profiles").iterdir()}
    assert found == {"orchestrator", *names} | ({"specialist"} if names != ["orchestrator"] else set())
    for name in names:
        assert (tmp_path / "profiles" / f"{name}.yaml").read_text() == resources.profile_texts()[name]
        prompt = command("prompt", name, "--from", "orchestrator", "--root", tmp_path)
        assert ("Short." in prompt.stdout) == (name != "specialist")
        assert "warning" not in prompt.stderr


def test_entries_without_a_category_are_counted(flat, tmp_path):
    put(flat / "USER.md", "Loose.\n\n## Talk\nPrefers short answers.\n")
    put(flat / "MEMORY.md", "## Notes\nSorted.\n")
    result = run(tmp_path / "a", "--start", flat)
    assert (
        "1 entry without a category in orchestrator/user: a profile that names categories does not see it\n"
        in result.stdout
    )
    assert "  catmem sort\n" in result.stdout
    assert "-t memory" not in result.stdout
    said = json.loads(run(tmp_path / "b", "--start", flat, "--format", "json").stdout)
    assert said["uncategorized"] == {"user": 1}
    assert said["next"] == ["catmem sort", "catmem prompt orchestrator"]


@together(
    ("start", "said"),
    [
        (["notes.md"], "notes.md is no memory file"),
        ([".", "USER.md"], "USER.md is the second USER.md"),
        (["empty"], "holds no USER.md and no MEMORY.md"),
        (["none/USER.md"], "no such file"),
        (["emty"], "no such file"),
        (["low"], "The names are in capitals: user.md is not read."),
        (["bad/USER.md"], "not UTF-8"),
    ],
)
def test_files_that_cannot_start_it_are_refused_and_nothing_is_written(flat, tmp_path, monkeypatch, start, said):
    monkeypatch.chdir(flat)
    put(flat / "notes.md", "x\n")
    put(flat / "bad" / "USER.md", b"\xff")
    (flat / "empty").mkdir(exist_ok=True)
    put(flat / "low" / "user.md", "x\n")
    result = run(tmp_path / "new", *(argument for each in start for argument in ("--start", each)), status=2)
    assert said in result.stderr
    assert not (tmp_path / "new").exists()


@together(
    ("names", "said"),
    [
        (["neo", "trinty", "morphues"], "'trinty' (perhaps trinity), 'morphues' (perhaps morpheus)"),
        (["Trinity"], "'Trinity' (perhaps trinity)"),
        (["Book Keeper"], "small letters"),
        (["person"], "cannot be the name of a profile"),
        (["Practice Manager"], "Use practice-manager."),
        (["coder,finance"], "'coder,finance' cannot be the name of a profile"),
    ],
)
def test_a_slip_of_a_shipped_name_and_a_name_that_none_can_have(tmp_path, names, said):
    assert said in run(tmp_path / "new", *(word for name in names for word in ("--profile", name)), status=2).stderr
    assert not (tmp_path / "new").exists()


def test_names_that_are_not_shipped_become_specialists_that_know_what_their_kind_knows(flat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("new", "--start", flat, "--profile", "coder", "--profile", "tax-advisor")
    *_, fill_in, seed, prompt = result.stdout.splitlines()
    assert (seed, prompt) == ("  catmem seed --all", "  catmem prompt coder")
    assert fill_in == "  $EDITOR profiles/coder.yaml profiles/tax-advisor.yaml    # change what each may see"
    root = tmp_path / "new"
    assert run(root, "--start", flat, "--profile", "coder", "--profile", "tax-advisor").stdout.startswith(
        "nothing to do: "
    )
    monkeypatch.chdir(root)
    own = root / "profiles" / "tax-advisor.yaml"
    assert command("prompt", "tax-advisor", "--from", "orchestrator").stdout == ""
    assert 'title: "Tax advisor"\n' in own.read_text()
    assert "writable_categories: [invoices, budget, taxes, banking]\n" in own.read_text()
    table = result.stdout.partition("\ncategory ")[2].splitlines()
    assert any(line.split() == ["invoices", "tax-advisor*"] for line in table)
    assert any(line.split() == ["communication-style", "all"] for line in table)
    assert any(line.split() == ["clients", "all"] for line in table)  # both read it, so it is declared
    three = run("three", "--profile", "tax-advisor", "--profile", "neo", "--profile", "bookkeeper").stdout
    assert "\ninvoices              bookkeeper*, tax-advisor*\n" in three
    command("sort", "--unsure")
    command("seed", "--all")
    assert "Prefers short answers." in command("prompt", "tax-advisor").stdout
    assert "error" not in command("lint").output


def test_flat_files_that_lie_there_are_not_passed_over(flat, tmp_path, monkeypatch):
    monkeypatch.chdir(flat)
    before = contents(flat)
    for arguments in ((), ("--profile", "neo"), ("--format", "json")):
        result = run(*arguments, status=2)
        assert result.stdout == ""
        assert "USER.md and MEMORY.md" in result.stderr
        assert "--start ." in result.stderr
    assert contents(flat) == before
    monkeypatch.chdir(tmp_path)
    assert "--start old" in run("old", status=2).stderr
    monkeypatch.chdir(flat)
    run("--start", ".")
    assert (flat / "homes" / "orchestrator" / "USER.md").read_text() == FLAT["USER.md"]
    assert run().stdout.startswith("nothing to do: catmem.yaml, ")  # a root now, whose files were taken


def test_a_dry_run_says_what_would_be_made_and_makes_nothing(tmp_path):
    (tmp_path / "USER.md").write_text("Prefers short answers.")
    arguments = ["--start", str(tmp_path), "--profile", "coder"]
    said = run(tmp_path / "new", *arguments, "--dry-run")
    assert not (tmp_path / "new").exists()
    done = run(tmp_path / "new", *arguments)
    table = done.output[done.output.index("\ncategory") : done.output.index("\nNext:")]
    assert (
        said.output
        == re.sub("^wrote", "would write", done.output.split("1 entry without")[0], flags=re.MULTILINE) + table
    )
    assert json.loads(run(tmp_path / "new", *arguments, "--dry-run", "--format", "json").output)["written"] == []
    run(tmp_path / "new", "--dry-run", "--git", status=2)
    (tmp_path / "new" / "catmem.yaml").write_text("version: 1\n")
    refused = run(tmp_path / "new", *arguments, "--dry-run", status=2).stderr
    assert "would_overwrite" in refused
    assert "catmem import --from hermes -p orchestrator FOLDER" in refused


def test_a_specialist_of_another_name_than_its_kind_is_named_and_the_help_knows_all_kinds(tmp_path):
    names = {"sound-design": "designer", "translator": "writer", "hr-coach": "people"}
    assert run(tmp_path / "root", "--profile", "coder", *(f"--profile={name}" for name in names)).stderr == "".join(
        f"note: {name} got what a specialist of the kind {kind} usually sees: change it in profiles/{name}.yaml\n"
        for name, kind in names.items()
    )
    coach = run(tmp_path / "other", "--profile", "coach").stderr
    assert coach.startswith("note: catmem does not know what coach works on, and made the category coach: ")
    assert run(tmp_path / "twice", "--profile", "coach", "--profile", "coach").stderr == coach
    told = run(tmp_path / "third", "--profile", "desiner").stderr
    assert "catmem does not know what desiner works on (did you mean designer?)" in told
    kinds = ", ".join(kits()["kits"]).replace(", home", " and home")
    assert f"The kinds are {kinds}." in " ".join(run("--help").stdout.split())


@together(
    ("name", "kind"),
    [
        ("ops", "devops"), ("ops-team", "devops"), ("my-ops", "devops"), ("ops-manager", "operations"),
        ("people-ops", "people"), ("operation", "operations"), ("recipe", "home"), ("trip", "home"), ("pet", "home"),
        ("invoice", "finance"), ("invoices", "finance"), ("salaries", "people"),
        ("salary", "people"), ("payroll", "finance"), ("writers", "writer"), ("translations", "writer"),
        ("ticket", "support"), ("contract", "legal"), ("patent", "legal"), ("deal", "sales"), ("event", "operations"),
        ("report", "data"), ("metric", "data"), ("doc", "writer"), ("ad", "marketing"), ("coders", "coder"),
        ("travel-planner", "home"), ("tax-manager", "finance"), ("payroll-manager", "finance"),
        ("project-manager", "operations"), ("event-planner", "operations"),
    ],
)  # fmt: skip
def test_a_kind_is_known_by_a_word_in_singular_and_plural_and_by_its_subject(name, kind):
    assert role_of(name) == kind


@pytest.mark.parametrize("name", ["42", "null", "true", "1e5"])
def test_a_name_that_yaml_reads_as_something_else_is_a_name(tmp_path, name):
    run(tmp_path / "root", "--profile", name)
    assert name in command("access", "--root", tmp_path / "root").stdout


@pytest.mark.parametrize("also", [["neo"], []], ids=["shipped", "new"])
def test_the_table_says_of_all_profiles_of_the_root_who_reads_a_category(tmp_path, monkeypatch, also):
    monkeypatch.chdir(tmp_path)
    run("--profile", "bookkeeper", "--profile", "tax-advisor", "--profile", "writer")
    said = run("--profile", "coder", *(word for name in also for word in ("--profile", name)))
    rows = [line.split(maxsplit=1) for line in said.stdout.partition("\ncategory ")[2].splitlines()[1:]]
    table = {row[0]: row[1].split(", ") for row in rows if len(row) == 2 and not row[1].endswith(".")}
    access = json.loads(command("access", "--format", "json").stdout)["matrix"]
    specialists = {"bookkeeper", "tax-advisor", "writer", "coder", *also}
    for row in access:
        if (named := table.get(row["category"])) is not None:
            readers = specialists & {*row["reads_user"], *row["reads_memory"]}
            assert {name.rstrip("*") for name in named} == ({"all"} if named == ["all"] else readers)
            assert named != ["all"] or readers == specialists
            assert {name.rstrip("*") for name in named if name.endswith("*")} == specialists & {*row["writes"]}
    assert {*table} >= {"projects", "code-style"}
    assert table["code-style"] == ["coder*"]


# --- on a terminal it asks what there is, and for specialists ---


def test_flat_files_beside_it_are_proposed(tmp_path):
    put(tmp_path / "USER.md", "Prefers short answers.\n")
    with terminals(tmp_path, "init", "root") as opening:
        terminal = opening()
        assert "2  flat USER.md and MEMORY.md" in terminal.wait_for("Number [2]: ")
        terminal.type("\n")
        terminal.wait_for("The files, or their folder [.]: ")
        terminal.type("\n")
        terminal.wait_for("(Enter: none): ")
        terminal.type("\n")
        terminal.wait_for("catmem sort")
        assert terminal.status() == 0
    assert (tmp_path / "root" / "homes" / "orchestrator" / "USER.md").read_text() == "Prefers short answers.\n"


def test_another_program_is_imported_next_from_the_place_that_is_named(tmp_path):
    notes = put(tmp_path / "old notes" / "MEMORY.md", "Uses tabs.\n").parent
    with terminals(tmp_path, "init", "root") as opening:
        terminal = opening()
        terminal.wait_for("[1]: ")
        terminal.type("4\n")
        terminal.wait_for("Which (cheetahclaws, claude, basic-memory, mcp-memory): ")
        terminal.type("claude\n")
        for wrong in ("nowhere", "''"):
            terminal.wait_for("Its file or folder: ")
            terminal.type(f"{wrong}\n")
            terminal.wait_for("Error: ")
        terminal.wait_for("Its file or folder: ")
        terminal.type("old notes\n")
        terminal.wait_for("(Enter: none): ")
        terminal.type("coder\n")
        terminal.wait_for(f"catmem import --from claude -p orchestrator {shlex.quote(str(notes))}")
        terminal.wait_for("To add a specialist later")
        assert terminal.status() == 0
    assert (tmp_path / "root" / "profiles" / "coder.yaml").exists()


def test_a_path_is_checked_at_once_and_several_specialists_are_made(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    put(home / "old" / "USER.md", "Prefers short answers.\n")
    with terminals(tmp_path, "init", "root") as opening:
        terminal = opening()
        terminal.wait_for("[1]: ")
        terminal.type("2\n")
        for wrong in ("nowhere", "~"):
            terminal.wait_for("The files, or their folder: ")
            terminal.type(f"{wrong}\n")
            terminal.wait_for("Error: ")
        terminal.wait_for("The files, or their folder: ")
        terminal.type("~/old\n")
        terminal.wait_for("(Enter: none): ")
        terminal.type("coder, Two Words\n")
        terminal.wait_for("Error: 'Two' cannot be the name of a profile")
        terminal.wait_for("(Enter: none): ")
        terminal.type("coder, tax-advisor\n")
        terminal.wait_for("catmem seed --all")
        assert terminal.status() == 0
    assert {path.stem for path in (tmp_path / "root" / "profiles").iterdir()} > {"coder", "tax-advisor"}
