"""One profile that is not right stops nothing that concerns the others, and is told by every command over all of them."""

import pytest

from tests.end_to_end.terminal import copied, run, run_json, write_root
from tests.golden.case import put
from tests.together import together

URL = "sqlite:///.catmem/memory.db"
BAD, BAD_IN_A_DATABASE = "bad YAML", "bad YAML in a database"
BROKEN = {
    BAD: ("files", "tier: [2\n", "yaml_syntax"),
    BAD_IN_A_DATABASE: (URL, "tier: [2\n", "yaml_syntax"),
    "a category that is not declared": ("files", "user_memory_categories: [nothing]\n", "unknown_name"),
    "no file": ("files", None, "not_a_file"),
    "a folder out of the root": ("files", "memory_dir: ../elsewhere\n", "outside_root"),
}
"""The store, what the profile bad says, and the code of what is wrong. A profile is read before any store is opened."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """In each store a root in which neo, boss and bad have a history; neo has a file only where files are the store."""
    made = {store: tmp_path_factory.mktemp("made") for store in ("files", URL)}
    for store, folder in made.items():
        file = write_root(folder, "" if store == "files" else f"store: {store}\n")
        if store != "files":
            file.unlink()
        put(folder / "profiles" / "bad.yaml", "tier: 1\n")
        for name in ("neo", "bad"):
            run("add", "Pay on Friday.", "-p", name, "-c", "rules", "--root", folder)
    return made


@pytest.fixture(params=BROKEN)
def broken(request, written, tmp_path, monkeypatch):
    """The store, and the code of what is wrong with the profile bad."""
    store, text, code = BROKEN[request.param]
    copied(written[store], tmp_path, monkeypatch)
    path = tmp_path / "profiles" / "bad.yaml"
    path.unlink()
    if text is None:
        path.mkdir()
    else:
        put(path, text)
    return store, code


in_files = pytest.mark.parametrize("broken", [BAD], indirect=True)
in_both = pytest.mark.parametrize("broken", [BAD, BAD_IN_A_DATABASE], indirect=True)


def tells(result, code):
    """Whether the last that a command says is what is wrong with the profile, where, and what to do."""
    lines = result.stderr.splitlines()
    (said,) = (line for line in lines if line.startswith("error["))
    assert said.startswith(f"error[{code}]: ")
    assert "profiles/bad.yaml" in said
    assert lines[lines.index(said) + 1].startswith("  ")
    return True


NO_DAMAGE = "no damage in what could be looked at"
COMMANDS = {
    "doctor": ("homes/neo", "memory.db"),
    "fsck": (NO_DAMAGE, NO_DAMAGE),
    "fsck --repair": (NO_DAMAGE, NO_DAMAGE),
    "store info": ("neo/user", None),
    "log --verify": ("neo/user at revision", "neo/user at revision"),
    "access": ("neo", "neo"),
    "stats": ("neo", "neo"),
    "branches": ("", ""),
    "review --list": ("neo/user", ""),
    "export --format markdown": ("Prefers short answers.", "Pay on Friday."),
    "fsck --anchors": ("homes/neo", None),
    "fmt --check": ("", None),
}
"""What each shows of the others in files and in a database; None where it needs no profile, or has nothing to do."""
WITH_ERRORS = {"doctor", "fsck", "store info", "fsck --anchors", "fmt --check"}


@together(("command", "shown"), COMMANDS.items(), ids=COMMANDS)
def test_the_others_are_looked_at_and_it_is_told(broken, command, shown):
    store, code = broken
    expected = shown[store != "files"]
    if expected is None:
        return
    result = run(*command.split(), status=2)
    assert expected in result.stdout
    assert tells(result, code)
    if command in WITH_ERRORS:  # programs are told in the same object
        said = run_json(*command.split(), status=2)
        (error,) = said["unreadable"] if "unreadable" in said else [each["error"] for each in said["refused"]]
        assert error["code"] == code
        assert error["path"].endswith("profiles/bad.yaml")


@in_files
def test_formatting_goes_on_and_writes_the_others_and_not_what_may_be_of_that_profile(broken, tmp_path):
    put(tmp_path / "homes" / "neo" / "USER.md", "## Rules\n\n\nPay on Friday.\n")
    path = put(tmp_path / "homes" / "bad" / "USER.md", "## Rules\n\n\nPay on Friday.\n")
    before = path.read_bytes()
    assert tells(run("fmt", path, status=2), "yaml_syntax")
    assert run("fmt", status=2).stdout == "neo/user: formatted (revision 4)\n"
    assert path.read_bytes() == before


@in_both
def test_purge_names_it_as_not_reached(broken):
    told = run_json("purge", "neo", "Pay on Friday.", "--yes", status=1)
    assert told["entities"] == ["neo/user"]
    assert any("profiles/bad.yaml" in left["path"] and "not looked at" in left["why"] for left in told["left"])


@in_both
def test_all_are_seeded_but_those_it_concerns(broken, tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", "tier: 2\nseed_from: boss\nuser_memory_categories: [rules]\n")
    run("add", "Pay on Monday.", "-p", "boss", "-c", "rules")
    assert run_json("seed", "--all", "--check", status=2)["in_sync"] is False
    result = run("seed", "--all", status=2)
    assert result.stdout.startswith("neo/user: 1 added")
    assert tells(result, "yaml_syntax")
    (error,) = run_json("seed", "boss", "--all", "--dry-run", status=2)["unreadable"]
    assert error["code"] == "yaml_syntax"


@pytest.mark.parametrize("broken", ["a folder out of the root"], indirect=True)
def test_no_anchor_is_checked_while_a_profile_hides_where_a_history_is(broken):
    anchor = run("fsck", "--anchors", status=2).stdout.splitlines()[0]
    assert "profiles/bad.yaml" in run("fsck", "--check", "-", input=anchor, status=2).stderr


@pytest.mark.parametrize("broken", [BAD_IN_A_DATABASE], indirect=True)
def test_a_profile_that_says_another_tier_is_no_damage_of_a_database(broken, tmp_path):
    put(tmp_path / "profiles" / "bad.yaml", "tier: 3\n")
    assert run("fsck").stdout == "no damage\n"
