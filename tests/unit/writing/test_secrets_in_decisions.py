"""Secrets in words that settle a merge or a seed, and in a snapshot that is brought back: asked as of any write."""

import json

import pytest

from catmem.errors import EditError
from catmem.jsonable import jsonable
from catmem.merging.branches import in_words
from catmem.workspace.workspace import Workspace
from tests.end_to_end.pseudo_terminal import terminals
from tests.end_to_end.terminal import run
from tests.unit.audit.audited import make_audited, outcomes
from tests.unit.writing.test_secret_policy import KEY, TEXT, everything_in

ANSWER = f"e {TEXT}\n"


@pytest.fixture
def place(tmp_path):
    """A root in which the head and a branch of neo/user reworded one entry, and a seed from boss meets another."""
    root = make_audited(tmp_path)
    root.add("neo", "Deploys happen at noon.", category="work")
    for words in ("Deploys happen at one.", "Deploys happen at two."):
        root.replace("neo", "noon", words, expected=1, on_stale="branch")
    root.add("boss", "Vendor is Acme.", category="talk")
    root.apply_seed(root.plan_seed("boss", "neo"))
    root.replace("boss", "Vendor", "Vendor is Bolt.")
    root.replace("neo", "Vendor", "Vendor is Core.")
    root.store.close()
    return tmp_path


def merging(root, **how):
    return root.merge("neo", ["2a"], precedence=lambda found: in_words(found.conflict, TEXT), **how)


@pytest.mark.parametrize(
    ("policy", "says_yes", "stored"),
    [("ask", True, True), ("ask", False, False), ("refuse", True, False), ("withhold", False, True)],
)
def test_words_of_your_own_are_looked_at_as_those_of_a_write(place, policy, says_yes, stored):
    (place / "catmem.yaml").write_text((place / "catmem.yaml").read_text() + f"secrets: {policy}\n")
    root = Workspace.open(place, search=False)
    if stored:
        merging(root, allow_secret=says_yes)
    else:
        with pytest.raises(EditError) as caught:
            merging(root, allow_secret=says_yes)
        assert caught.value.code == "secret"
        assert KEY[:12] not in json.dumps(jsonable(caught.value))
    assert (KEY in everything_in(place)) is stored


def test_a_profile_that_merges_cannot_say_yes(place):
    with pytest.raises(EditError):
        merging(Workspace.open(place, search=False), actor="boss", allow_secret=True)
    assert KEY[:12] not in everything_in(place)


COMMANDS = [("merge", "neo", "--interactive"), ("seed", "boss", "neo", "--interactive")]


@pytest.mark.parametrize("command", COMMANDS)
def test_off_a_terminal_the_command_refuses_them_without_the_option(place, command):
    refused = run(*command, "--root", place, input=ANSWER, status=2)
    assert "error[secret]" in refused.stderr
    assert KEY[:12] not in refused.output + everything_in(place)
    run(*command, "--allow-secret", "--root", place, input=ANSWER)
    assert KEY in everything_in(place)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("stored", [True, False])
def test_at_a_terminal_a_person_is_asked_and_may_give_other_words(place, command, stored):
    with terminals(place, *command) as opening:
        terminal = opening()
        terminal.wait_for("or ?: ")
        terminal.type(ANSWER)
        terminal.wait_for("[y/N]: ")
        terminal.type("y\n" if stored else "n\n")
        if not stored:
            terminal.wait_for("or ?: ")
            terminal.type("e It is in the vault.\n")
        assert terminal.status() == 0
    assert (KEY in everything_in(place)) is stored
    assert stored or "It is in the vault." in everything_in(place)


def test_a_snapshot_brings_no_secret_back_without_a_yes(place, tmp_path_factory):
    root = Workspace.open(place, search=False)
    root.add("boss", TEXT, category="work", allow_secret=True)
    kept = tmp_path_factory.mktemp("elsewhere") / "s.json"
    run("export", "--snapshot", kept, "--root", place)
    run("import", "--snapshot", kept, "--root", place)  # what the file holds already comes in with nothing
    run("purge", "boss", TEXT, "--yes", "--root", place)
    root.remove("boss", "Vendor is Bolt.")
    assert KEY not in everything_in(place)
    for more, lines in (((), [("refused", "secret")]), (("--dry-run",), [])):
        before = len(outcomes(root))
        refused = run("import", "--snapshot", kept, "--root", place, *more, status=2)
        assert refused.stderr.startswith("error[secret]: boss/user: ")
        assert KEY[:12] not in refused.output
        assert outcomes(root)[before:] == lines
    assert KEY[:12] not in everything_in(place)
    run("import", "--snapshot", kept, "--allow-secret", "--root", place)
    assert KEY in everything_in(place)
