"""``catmem envelope``, ``catmem write``, ``catmem role-hash`` and ``catmem key``."""

import json
from pathlib import Path

import pytest

from catmem.envelopes.agents import role_hash
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import run, user_text
from tests.envelopes import make_files
from tests.together import together

ADD = ("envelope", "-p", "neo", "--as", "neo", "--add", "tea, not coffee", "-c", "talk")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    make_files(tmp_path / "root")
    monkeypatch.chdir(tmp_path / "root")
    return tmp_path / "root"


def test_a_text_is_for_a_declared_entity_and_is_held_to_the_alert(place):
    with (place / "catmem.yaml").open("a") as config:
        config.write("semantic_alert: 0.6\nentities: {'notes:alpha': {content: text}}\n")
    for text, status in (("nothing else\n", 0), ("quite another\n", 3)):
        made = run("envelope", "-p", "notes:alpha", "--text", "-", input=text)
        said = run("write", "--envelope", "-", input=made.stdout, status=status).stderr
    assert "error[semantic_collision]" in said
    run("write", "--envelope", "-", "--confirm", input=made.stdout)
    assert "error[schema]" in run("envelope", "-p", "neo", "--text", "-", input="## Talk\nx\n", status=2).stderr


def test_json_content(place):
    content = '[{"action": "remove", "old_text": "no calls"}]'
    made = run("envelope", "-p", "neo", "--as", "neo", "--json", "-", input=content)
    run("write", "--envelope", "-", input=made.stdout)
    assert "no calls" not in user_text(place)
    told = run("envelope", "-p", "neo", "--as", "neo", "--json", "-", input='{"categories": {}}', status=2).stderr
    assert "content" in told
    assert "operations" in told.lower()


@together(
    ("arguments", "status", "said"),
    [
        (["envelope", "-p", "neo"], 2, "Give one of"),
        (["envelope", "-p", "neo", "--json", "x.json", "-c", "talk"], 2, "no such file"),
        (["envelope", "-p", "neo", "--json", "catmem.yaml"], 2, "error[schema]"),
        (["envelope", "-p", "neo", "--text", "catmem.yaml", "-c", "talk"], 2, "--category goes with --add"),
        ([*ADD[:3], "--as", "noe", "--add", "x"], 2, "Did you mean 'neo'?"),
        ([*ADD, "--signed"], 2, "catmem key new neo makes one."),
        ([*ADD, "--prev", "latest"], 2, "error[schema]: prev_rev"),
        (["write", "--envelope", "none.json"], 2, "none.json: no such file"),
        (["write", "--envelope", "catmem.yaml"], 2, "error[schema]: catmem.yaml:1:1: not JSON"),
        (["key", "new", "../neo"], 2, "cannot be the name of an agent"),
        (["key", "remove", "neo"], 2, "neo has no key"),
    ],
)
def test_wrong_input(place, arguments, status, said):
    result = run(*arguments, status=status)
    assert said in result.stderr
    assert result.stdout == ""


def test_role_hash(place):
    digest = role_hash(Workspace.open(place).profile("neo"))
    assert run("role-hash", "neo").stdout == f"{digest}\n"
    said = json.loads(run("role-hash", "neo", "--format", "json").stdout)
    assert said == {"profile": "neo", "role_hash": digest, "agents": ["neo"]}


def test_keys(place):
    made = json.loads(run("key", "new", "neo", "--format", "json").stdout)
    assert made["agent"] == "neo"
    listed = run("key", "list")
    assert listed.stdout.split()[:3] == ["neo", made["key_id"], "signs"]
    folder = Path(made["path"]).parent
    assert listed.stderr == f"The keys of this root are in {folder}.\n"
    envelope = json.loads(run(*ADD).stdout)
    assert envelope["key_id"] == made["key_id"]
    assert run("key", "remove", "neo", made["key_id"]).stdout == f"removed the key {made['key_id']} of neo\n"
    assert "error[bad_signature]" in run("write", "--envelope", "-", input=json.dumps(envelope), status=2).stderr


def test_several_keys_are_removed_with_a_yes(place):
    ids = [json.loads(run("key", "new", "neo", "--format", "json").stdout)["key_id"] for _ in range(2)]
    said = run("key", "remove", "neo", status=2).stderr
    assert f"neo has 2 keys: name one of {', '.join(sorted(ids))}, or remove all with --yes." in said
    assert len(run("key", "remove", "neo", "--yes").stdout.splitlines()) == 2


@pytest.mark.parametrize(("config", "told"), [("", True), ("signing: {keys: ../office}\n", False)])
def test_a_folder_that_goes_by_the_path_of_the_root_is_told(place, config, told):
    (place / "catmem.yaml").write_text(f"version: 1\n{config}", encoding="utf-8")
    assert ("a root that is moved or copied has another one" in run("key", "new", "neo").stderr) is told


def test_what_is_missing_is_told_in_plain_words(place):
    fields = json.loads(run(*ADD).stdout)
    del fields["op_id"], fields["timestamp"], fields["content"]
    said = run("write", "--envelope", "-", input=json.dumps(fields), status=2).stderr
    assert said == (
        "error[schema]: standard input: op_id: the keys op_id, timestamp, content are missing\n  Add what is missing.\n"
    )
    said = run("write", "--envelope", "-", input=json.dumps(fields | {"mood": "good"}), status=2).stderr
    assert "content are missing (and 1 more fault)\n" in said


def test_who_has_to_sign_is_told_so(place):
    (place / "catmem.yaml").write_text("signing: {required: true}\n", encoding="utf-8")
    assert "catmem key new neo makes a key." in run(*ADD).stderr
