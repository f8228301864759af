"""``catmem tidy``: the list for people and for programs, which files it is of, and what is left out."""

from __future__ import annotations

import sys

import pytest

from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import error_of, run, run_json, snapshot
from tests.golden.case import put

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LONG = f"Standup is at 10:00 every day{',' * 300}"
BOSS = f"""\
## Talk
[verified_date: 2026-05-01] Prefers short answers in chat.
§
In chat the user prefers short answers.
§
The deploy token is {TOKEN}
§
[expires: 2026-01-31] Book travel early.
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "version: 1\nlimits: {memory: 100}\n")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "boss" / "USER.md", BOSS)
    for name in ("neo", "tri"):
        put(tmp_path / "profiles" / f"{name}.yaml", "seed_from: boss\nuser_memory_categories: ['*']\n")
        put(tmp_path / "homes" / name / "USER.md", BOSS + "§\nThe fiscal year begins in July.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_prints_what_would_be_done_and_writes_nothing(place):
    before = snapshot(place)
    done = run("tidy", "--as-of", "2026-11-21")
    assert done.exit_code == 0
    assert (
        done.stdout
        == """\
expired  boss/user: it expired on 2026-01-31
  remove line 8  talk | Book travel early.
duplicate  boss/user: they say the same; the one that stays was verified on 2026-05-01
         line 2  talk | Prefers short answers in chat.
  remove line 4  talk | In chat the user prefers short answers.
         words that would go: the, user
lift  boss/user: all 2 specialists hold it, and boss does not
         neo/user line 10  talk | The fiscal year begins in July.
         tri/user line 10  talk | The fiscal year begins in July.
  add    talk | The fiscal year begins in July.
"""
    )
    assert "1 expired, 1 duplicate, 1 lift; nothing was written" in done.stderr
    assert "3 entries with a secret or hostile text left out" in done.stderr
    assert TOKEN not in done.output
    assert snapshot(place) == before


def test_it_is_of_one_profile_and_of_some_kinds(place):
    assert run_json("tidy", "-p", "neo")["suggestions"] == []
    found = run_json("tidy", "-p", "boss", "--kind", "expired", "--kind", "split")
    assert [each["kind"] for each in found["suggestions"]] == ["expired"]
    assert found["private"] == 1
    (only,) = found["suggestions"]
    assert set(only) == {"kind", "entity", "operations", "reason", "entries", "lost"}
    assert set(only["entries"][0]) == {"entity", "category", "line", "id", "tags", "text"}
    assert [each["action"] for each in only["operations"]] == ["remove"]


def test_what_it_asks_for_can_be_written(place):
    from catmem import Workspace
    from catmem.tidying.root_tidy import list_tidy

    put(
        place / "homes" / "boss" / "USER.md",
        BOSS + "§\n[domain: code] Likes tea\n§\n- Likes rain\n- Bills come in May\n",
    )
    workspace = Workspace.open(place)
    while found := [each for each in list_tidy(workspace).suggestions if each.operations]:
        name, _, target = found[0].entity.partition("/")
        workspace.write(name, list(found[0].operations), target=target)
    text = (place / "homes" / "boss" / "USER.md").read_text()
    assert [line for line in text.splitlines() if "token" not in line and line not in {"§", "## Talk"}] == [
        "[verified_date: 2026-05-01] Prefers short answers in chat.",
        "[domain: code] Likes tea",
        "Likes rain",
        "Bills come in May",
        "The fiscal year begins in July.",
    ]


def test_tags_that_go_to_the_entry_that_stays_are_named(place):
    put(place / "homes" / "boss" / "USER.md", "## Talk\n[domain: code] Likes tea.\n§\nLikes very hot tea.\n")
    lines = run("tidy", "-p", "boss").stdout.splitlines()
    assert lines[1:3] == ["  retag  line 4  talk | Likes very hot tea.", "  remove line 2  talk | Likes tea."]


def test_a_file_over_its_limit_has_its_long_entries_marked(place):
    put(place / "homes" / "boss" / "MEMORY.md", f"## Talk\n{'Word ' * 70}\n")
    (only,) = run_json("tidy", "--kind", "long")["suggestions"]
    assert (only["entity"], only["operations"]) == ("boss/memory", [])


def test_a_file_that_cannot_be_read_hides_no_other(place):
    (place / "homes" / "neo" / "USER.md").write_bytes(b"\xff\xfe")
    done = run("tidy", "-p", "boss")
    assert done.exit_code == 0
    assert "they say the same" in done.stdout
    assert "USER.md" in done.stderr


def test_a_profile_that_there_is_not(place):
    assert error_of("tidy", "-p", "nemo")["code"] == "unknown_name"


def test_proposals_change_no_file_and_are_made_once(place):
    before = {path: path.read_bytes() for path in place.rglob("*.md")}
    done = run("tidy", "-p", "boss", "--propose", "--as-of", "2026-11-21")
    assert done.exit_code == 0
    assert {path: path.read_bytes() for path in place.rglob("*.md")} == before
    workspace = Workspace.open(place)
    waiting = workspace.proposals()
    assert {each.reason.split(":")[0] for each in waiting} == {"tidy, duplicate", "tidy, expired", "tidy, lift"}
    for each in waiting:
        workspace.reject(each.id) if "expired" in each.reason else workspace.approve(each.id)
    left = run("tidy", "-p", "boss", "--propose", "--kind", "expired", "--as-of", "2026-11-21").stderr
    assert "1 suggestion left out: you rejected the same before" in left
    assert "rejected_before" not in left
    again = run_json("tidy", "-p", "boss", "--propose", "--kind", "expired", "--as-of", "2026-11-21")
    assert [(each["proposal"], each["error"]["code"]) for each in again["proposed"]] == [(None, "rejected_before")]
    assert "In chat the user prefers" not in (place / "homes" / "boss" / "USER.md").read_text()


def test_a_command_is_asked_for_shorter_wordings(place):
    long = "The user would really like it if invoices from Acme were paid by bank transfer within 30 days. " * 4
    put(place / "homes" / "boss" / "USER.md", f"## Talk\n{long}\n§\nThe deploy token is {TOKEN} {long}\n")
    put(place / "model.py", "import sys\nopen('asked', 'w').write(sys.stdin.read())\nprint(open('answer').read())\n")
    put(place / "answer", '{"entries": [{"entry": 1, "text": "Invoices from Acme: bank transfer within 30 days."}]}')
    before = snapshot(place / "homes")
    ask = ("--ask", f"{sys.executable} model.py")
    done = run("tidy", "-p", "boss", "--kind", "shorter", *ask)
    assert "shorter  boss/user: 49 characters in the place of 379\n" in done.stdout
    assert "  with   talk | Invoices from Acme: bank transfer within 30 days.\n" in done.stdout
    assert TOKEN not in (place / "asked").read_text()
    put(place / "answer", '{"entries": [{"entry": 1, "text": "Invoices from Globex: bank transfer."}]}')
    error = error_of("tidy", "-p", "boss", *ask)
    assert (error["code"], "Globex" in error["hint"]) == ("bad_answer", True)
    failed = error_of("tidy", "--ask", "no-such-command --key x")
    assert (failed["code"], failed["message"].endswith(": no-such-command")) == ("ask_failed", True)
    assert run_json("tidy", "-p", "neo", "--kind", "shorter", *ask)["suggestions"] == []
    assert snapshot(place / "homes") == before


def test_a_proposal_names_the_words_that_stay(place):
    put(
        place / "homes" / "boss" / "USER.md",
        f"{BOSS}§\nThe standup is at 9:30.\n§\n[verified_date: 2026-10-12] {LONG}\n",
    )
    run("tidy", "-p", "boss", "--propose", "--as-of", "2026-11-21")
    reasons = {each.reason.split(":")[0]: each.reason for each in Workspace.open(place).proposals()}
    assert reasons["tidy, duplicate"] == (
        "tidy, duplicate: they say the same; the one that stays was verified on 2026-05-01; "
        'what stays: "Prefers short answers in chat."; words that would go: the, user'
    )
    assert 'what stays: "Standup is at 10:00 every day' in reasons["tidy, contradiction"]
    assert max(map(len, reasons.values())) < 400


def test_the_reason_of_a_proposal_holds_no_words_of_another_category(place):
    text = "## Talk\nThe standup is at 9:30.\n\n## Board\n[verified_date: 2026-10-12] Standup is at 10:00.\n"
    put(place / "homes" / "boss" / "USER.md", text)
    run("tidy", "-p", "boss", "--propose", "--kind", "contradiction", "--as-of", "2026-11-21")
    (only,) = Workspace.open(place).proposals()
    assert only.reason == "tidy, contradiction: another entry of boss says otherwise, and was verified later"


def test_good_wordings_are_taken_and_a_bad_one_is_named(place):
    long = "The user would really like it if invoices from {} were paid by bank transfer within 30 days. "
    put(place / "homes" / "boss" / "USER.md", f"## Talk\n{long.format('Acme') * 4}\n§\n{long.format('Kern') * 4}\n")
    answer = '{"entries": [{"entry": 1, "text": "Invoices from Acme: bank transfer within 30 days."}, {"entry": 2, "text": "Lutz"}]}'
    put(place / "answer", answer)
    done = run("tidy", "-p", "boss", "--kind", "shorter", "--ask", "cat answer")
    assert "Invoices from Acme: bank transfer" in done.stdout
    assert "the wording of boss/user line 4 is left out: names what the entry does not: Lutz" in done.stderr


def test_shorter_wordings_need_a_command(place):
    assert "--kind shorter goes with --ask" in run("tidy", "--kind", "shorter", status=2).stderr
