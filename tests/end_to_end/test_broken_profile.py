"""One profile that is not right stops nothing that concerns the others, and is told by every command over all of them."""

import json

import pytest

from tests.end_to_end.terminal import copied, run, run_json, write_root
from tests.golden.case import put
from tests.together import together

URL = "sqlite:///.catmem/memory.db"
OUTSIDE = "memory_dir: ../elsewhere\n"
BROKEN = {
    "bad YAML": ("tier: [2\n", "yaml_syntax"),
    "a category that is not declared": ("user_memory_categories: [nothing]\n", "unknown_name"),
    "no file": (None, "not_a_file"),
}


def root(folder, store):
    """A root whose neo has a file only where files are the store."""
    file = write_root(folder, "" if store == "files" else f"store: {store}\n")
    if store != "files":
        file.unlink()


IN_STORES = [
    ("files", "bad YAML"),
    ("files", "a category that is not declared"),
    ("files", "no file"),
    (URL, "bad YAML"),
]


IN_FILES = pytest.mark.parametrize("broken", [("files", "bad YAML")], indirect=True, ids=[""])
IN_BOTH = pytest.mark.parametrize("broken", [("files", "bad YAML"), (URL, "bad YAML")], indirect=True, ids=" of ".join)


@pytest.fixture(params=IN_STORES, ids=" of ".join)
def broken(request):
    """A store, and what is wrong with a profile. The profile is read before any store is opened."""
    return request.param


@pytest.fixture
def store(broken):
    return broken[0]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """In each store a root in which neo, boss and bad have a history."""
    made = {store: tmp_path_factory.mktemp("made") for store in ("files", URL)}
    for store, folder in made.items():
        root(folder, store)
        put(folder / "profiles" / "bad.yaml", "tier: 1\n")
        for name in ("neo", "bad"):
            run("add", "Pay on Friday.", "-p", name, "-c", "rules", "--root", folder)
    return made


@pytest.fixture
def code(broken, store, written, tmp_path, monkeypatch):
    """The code of what is wrong with the profile bad."""
    copied(written[store], tmp_path, monkeypatch)
    text, code = BROKEN[broken[1]]
    path = tmp_path / "profiles" / "bad.yaml"
    path.unlink()
    if text is None:
        path.mkdir()
    else:
        path.write_text(text, encoding="utf-8")
    return code


def tells(result, code):
    """Whether the last that a command says is what is wrong with the profile, where, and what to do."""
    said = [line for line in result.stderr.splitlines() if line.startswith("error[")]
    assert [line.partition(": ")[0] for line in said] == [f"error[{code}]"]
    assert "profiles/bad.yaml" in said[0]
    lines = result.stderr.splitlines()
    assert lines[lines.index(said[0]) + 1].startswith("  ")
    return True


COMMANDS = {
    "doctor": ("homes/neo", "memory.db"),
    "fsck": ("no damage in what could be looked at", "no damage in what could be looked at"),
    "store info": ("neo/user", None),
    "log --verify rebuilt": ("rebuilt/neo/USER.md", "rebuilt/neo/USER.md"),
    "access": ("neo", "neo"),
    "stats": ("neo", "neo"),
    "branches": ("", ""),
    "review --list": ("neo/user", ""),
    "export --format markdown": ("Prefers short answers.", "Pay on Friday."),
    "fsck --anchors": ("homes/neo", None),
    "fmt --check": ("", None),
}


@together(("command", "shown"), COMMANDS.items(), ids=COMMANDS)
def test_the_others_are_looked_at_and_it_is_told(code, store, command, shown):
    expected = shown[store != "files"]
    if expected is None:
        return  # it needs no profile there, or has nothing to do in a database
    result = run(*command.split(), status=2)
    assert expected in result.stdout
    assert tells(result, code)


@together("command", ["doctor", "fsck", "store info", "fsck --anchors", "fmt", "log --verify rebuilt"])
def test_programs_are_told_in_the_same_object(code, store, command):
    if store != "files" and command in {"store info", "fsck --anchors", "fmt"}:
        return
    said = run_json(*command.split(), status=2)
    errors = said["unreadable"] if "unreadable" in said else [each["error"] for each in said["refused"]]
    assert [error["code"] for error in errors] == [code]
    assert errors[0]["path"].endswith("profiles/bad.yaml")


@IN_FILES
def test_formatting_goes_on_and_writes_the_others_and_not_what_may_be_of_that_profile(code, tmp_path):
    put(tmp_path / "homes" / "neo" / "USER.md", "## Rules\n\n\nPay on Friday.\n")
    path = put(tmp_path / "homes" / "bad" / "USER.md", "## Rules\n\n\nPay on Friday.\n")
    before = path.read_bytes()
    assert tells(run("fmt", path, status=2), code)
    assert run("fmt", status=2).stdout == "neo/user: formatted (revision 4)\n"
    assert path.read_bytes() == before


@IN_BOTH
def test_purge_names_it_as_not_reached(code, tmp_path):
    told = run_json("purge", "neo", "Pay on Friday.", "--yes", status=1)
    assert told["entities"] == ["neo/user"]
    assert any("profiles/bad.yaml" in left["path"] and "not looked at" in left["why"] for left in told["left"])


@IN_BOTH
def test_all_are_seeded_but_those_it_concerns(code, tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", "tier: 2\nseed_from: boss\nuser_memory_categories: [rules]\n")
    run("add", "Pay on Monday.", "-p", "boss", "-c", "rules")
    assert run_json("seed", "--all", "--check", status=2)["in_sync"] is False
    result = run("seed", "--all", status=2)
    assert result.stdout.startswith("neo/user: 1 added")
    assert tells(result, code)
    assert [error["code"] for error in run_json("seed", "boss", "--all", "--dry-run", status=2)["unreadable"]] == [code]


# --- places ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A root of files in which the profile bad has its folder where none may be."""
    write_root(tmp_path)
    monkeypatch.chdir(tmp_path)
    run("add", "Pay on Friday.", "-p", "neo", "-c", "rules")
    put(tmp_path / "profiles" / "bad.yaml", OUTSIDE)
    return tmp_path


@together("command", ["doctor", "fsck", "fsck --repair", "fsck --anchors", "fmt", "store info", "export --format json"])
def test_a_profile_whose_folder_leads_out_of_the_root_stops_no_other(outside, command):
    assert "outside_root" in run(*command.split(), status=2).stderr


def test_an_anchor_that_may_be_of_that_profile_is_neither_held_nor_lost(outside):
    anchor = {**json.loads(run("fsck", "--anchors", status=2).stdout), "folder": "homes/bad", "sequence": 900}
    said = run_json("fsck", "--check", "-", input=json.dumps(anchor), status=2)
    assert (said["held"], said["faults"][0]["code"], said["faults"][0]["damage"]) == (False, "not_checked", False)


def test_a_profile_that_says_another_tier_is_no_damage_of_a_database(tmp_path):
    root(tmp_path, URL)
    run("add", "Pay on Friday.", "-p", "neo", "-c", "rules", "--root", tmp_path)
    profile = tmp_path / "profiles" / "neo.yaml"
    profile.write_text("tier: 3\n" + profile.read_text(encoding="utf-8"), encoding="utf-8")
    assert run("fsck", "--root", tmp_path).stdout == "no damage\n"
