"""Who did it: ``catmem blame`` and ``log --entry``, through moves, rewordings and absences; and the name of the person."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.ops.library import ask
from catmem.staleness.lineage import blame
from catmem.workspace.change_feed import changes_since
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import error_of, run, run_json
from tests.roots import make_root, put_bytes, text_of


def as_person(monkeypatch, name, *arguments):
    monkeypatch.setenv("CATMEM_PERSON", name)
    return run(*arguments)


def blamed(words):
    """The one entry of neo's USER.md with these words."""
    (entry,) = [each for each in run_json("blame", "neo/user")["entries"] if words in each["body"]]
    return entry


def test_words_belong_to_the_one_who_wrote_them_last(user, monkeypatch):
    as_person(monkeypatch, "Ada", "replace", "-p", "neo", "15th", "Invoices are due on the 20th.")
    as_person(monkeypatch, "Grace", "move", "-p", "neo", "20th", "-c", "talk")
    as_person(monkeypatch, "Joan", "verify", "-p", "neo", "20th", "--as", "boss")
    entry = blamed("20th")
    assert (entry["person"], entry["agent"], entry["revision"], entry["category"]) == ("Ada", "person", "2", "talk")
    assert (entry["verified"]["agent"], entry["verified"]["revision"]) == ("boss", "4")
    assert entry["revisions"] == ["1", "2", "3", "4"]
    assert blamed("Never before ten")["agent"] == "external"


def test_the_text_has_a_line_for_each_entry(user, monkeypatch):
    as_person(monkeypatch, "Ada", "verify", "-p", "neo", "15th")
    lines = run("blame", "neo").stdout.splitlines()
    assert len(lines) == len(run_json("blame", "homes/neo/USER.md")["entries"]) == 4
    assert "verified 2026-05-01 by external" in lines[0]
    assert "external" in lines[2]
    assert " by Ada (person)  rules  " in lines[2]
    assert lines[2].endswith("Invoices are due on the 15th.")


def test_what_no_revision_has_yet_is_said_to_be_that(user):
    assert blamed("15th")["revision"] is None
    run("remove", "-p", "neo", "Never")
    user.write_text(user.read_text() + "§\nBy hand.\n")
    assert (blamed("By hand")["revision"], blamed("15th")["revision"]) == (None, "1")
    assert "(not recorded yet)" in run("blame", "neo/user").stdout


def test_what_comes_back_has_its_past(user, monkeypatch):
    as_person(monkeypatch, "Ada", "replace", "-p", "neo", "15th", "Invoices are due on the 20th.")
    as_person(monkeypatch, "Grace", "remove", "-p", "neo", "20th")
    assert "neo/user" not in run("blame", "neo/user").stdout
    assert [each["revision"] for each in run_json("log", "neo/user", "--entry", "20th")["revisions"]] == ["3", "2", "1"]
    as_person(monkeypatch, "Grace", "undo")
    assert (blamed("20th")["person"], blamed("20th")["revisions"]) == ("Ada", ["1", "2", "3", "4"])


def test_the_words_of_a_branch_belong_to_who_wrote_them_there(user, monkeypatch):
    run("add", "-p", "neo", "-c", "rules", "First.")
    for number, words in ((2, "Of the branch."), ("3a", "Of its second write.")):
        aside = ("--expected", str(number), "--on-stale", "branch", "--as", "boss")
        as_person(monkeypatch, "Ada", "add", "-p", "neo", "-c", "rules", "Second.") if number == 2 else None
        assert run("add", "-p", "neo", "-c", "rules", words, *aside).exit_code == 0
    as_person(monkeypatch, "Grace", "merge", "neo/user")
    first, second = blamed("Of the branch"), blamed("second write")
    assert (first["agent"], first["revision"], first["revisions"]) == ("boss", "3a", ["3a", "4"])
    assert (second["agent"], second["revision"], second["revisions"]) == ("boss", "4a", ["4a", "4"])
    logged = run_json("log", "neo/user", "--entry", "Of the branch")["revisions"]
    assert [each["revision"] for each in logged] == ["4", "3a"]
    assert (blamed("Second.")["person"], blamed("Second.")["revisions"]) == ("Ada", ["3"])


def test_a_verification_on_a_branch_is_of_who_made_it(user, monkeypatch):
    run("add", "-p", "neo", "-c", "rules", "First.")
    run("add", "-p", "neo", "-c", "rules", "Second.")
    run("verify", "-p", "neo", "15th", "--expected", "2", "--on-stale", "branch", "--as", "boss")
    as_person(monkeypatch, "Grace", "merge", "neo/user")
    entry = blamed("15th")
    assert (entry["agent"], entry["verified"]["agent"], entry["verified"]["revision"]) == ("external", "boss", "3a")
    assert entry["revisions"] == ["1", "3a", "4"]


# --- log -----------------------------------------------------------------------------------------------------------


def test_the_log_of_an_entry_is_of_the_file_that_holds_it(user):
    run("add", "-p", "neo", "-t", "memory", "-c", "rules", "In memory.")
    run("add", "-p", "neo", "-c", "rules", "Something else.")
    assert run("log", "neo", "--entry", "In mem").stdout.count("\n") == 1
    error = error_of("log", "neo", "--entry", "no such words")
    assert error["code"] == "no_match"
    assert "no entry of neo holds" in error["message"]
    assert error_of("log", "neo", "--entry", " ")["code"] == "empty"


# --- the law -------------------------------------------------------------------------------------------------------

_TEXTS = st.lists(
    st.lists(st.sampled_from(["one fact", "one fact more", "another", "a third", "x", ""]), max_size=4).map(
        "\n§\n".join
    ),
    min_size=1,
    max_size=6,
)


@given(_TEXTS, _TEXTS)
def test_every_entry_has_a_revision_with_its_words(tmp_path_factory, first, second):
    """Whatever was written: each entry is there once, and the text of its revision holds its words first."""
    workspace = make_root(tmp_path_factory.mktemp("root"), profiles={"neo": ""})
    for one, two in zip(first, second, strict=False):
        put_bytes(workspace, "neo/user", f"## Talk\n{one}\n\n## Work\n{two}\n")
    found = blame(workspace, workspace.store, "neo/user")
    document = workspace.parse(text_of(workspace).encode())
    assert [(each.entry.category, each.entry.raw) for each in found] == [
        (each.category, each.raw) for each in document.entries
    ]
    for each in found:
        assert each.worded in each.revisions
        text = workspace.store.read("neo/user", each.worded.revision).data.decode()
        assert each.entry.body in [one.body for one in workspace.parse(text.encode()).entries]
        names = [one.revision for one in each.revisions]
        assert names == sorted(set(names), key=int)


# --- the name of the person, where it comes from, and where it is shown ---


def whose():
    """Agent and name of the newest revision of neo's USER.md."""
    revision = run_json("log", "neo/user")["revisions"][0]
    return revision["agent"], revision["note"].get("person")


def test_the_name_of_the_environment(user, monkeypatch):
    monkeypatch.setenv("CATMEM_PERSON", "Ada Lovelace")
    run("remove", "-p", "neo", "15th")
    assert whose() == ("person", "Ada Lovelace")
    assert "  Ada Lovelace (person)  " in run("log", "neo/user").stdout
    assert "  Ada Lovelace (person)  " in run("audit").stdout
    assert run_json("audit")["lines"][0]["person"] == "Ada Lovelace"
    assert run("audit", "--agent", "Ada Lovelace").stdout == run("audit").stdout
    run("remove", "-p", "neo", "short", "--as", "boss")  # what a profile writes has no name
    assert whose() == ("boss", None)
    assert run_json("audit")["lines"][-1].get("person") is None


def test_the_names_in_their_order(user, monkeypatch):
    monkeypatch.delenv("CATMEM_PERSON")
    monkeypatch.setenv("LOGNAME", "ada-login")
    run("add", "-p", "neo", "-c", "rules", "One.")
    assert whose() == ("person", "ada-login")
    monkeypatch.setenv("CATMEM_PERSON", "")
    run("add", "-p", "neo", "-c", "rules", "Two.")
    assert whose() == ("person", None)


def test_a_branch_and_an_event_tell_the_name_to_people_alone(user, monkeypatch):
    monkeypatch.setenv("CATMEM_PERSON", "Ada")
    run("remove", "-p", "neo", "pay is")
    run("replace", "-p", "neo", "15th", "Invoices are due at once.", "--expected", "1", "--on-stale", "branch")
    assert "  Ada (person)  " in run("branches").stdout
    assert run_json("branches")["branches"][0]["person"] == "Ada"
    workspace = Workspace.open(".")
    ((branch,),) = ask(workspace, "branches", "boss").values()
    assert (branch["agent"], "person" in branch) == ("person", False)
    told = changes_since(workspace, {"neo/user": "1"}, None).changes[-1]
    assert (told["branch"], told["agent_id"], told["person"]) == (True, "person", "Ada")
    to_agent = changes_since(workspace, {"neo/user": "1"}, "boss").changes[-1]
    assert (to_agent["branch"], to_agent["agent_id"], "person" in to_agent) == (True, "person", False)


@pytest.mark.parametrize(
    ("said", "kept"), [("Ada\n\tL.", "Ada L."), ("\x1b[2J\u202eAda", "[2JAda"), ("a" * 500, "a" * 80), (" \n ", None)]
)
def test_a_name_is_one_short_line(user, monkeypatch, said, kept):
    monkeypatch.setenv("CATMEM_PERSON", said)
    run("remove", "-p", "neo", "15th")
    assert whose() == ("person", kept)


def test_the_log_of_an_entry_is_found_by_the_words_that_it_had_before(user):
    run("add", "-p", "neo", "-c", "rules", "Vendor is Acme.")
    run("replace", "-p", "neo", "Vendor is Acme.", "Vendor is Bolt.")
    run("replace", "-p", "neo", "Vendor is Bolt.", "Vendor is Cray.")
    last = [each["revision"] for each in run_json("log", "neo/user", "--entry", "Vendor is Cray")["revisions"]]
    assert len(last) == 3
    for words in ("Vendor is Acme", "Vendor is Bolt"):
        assert [each["revision"] for each in run_json("log", "neo/user", "--entry", words)["revisions"]] == last
    run("remove", "-p", "neo", "Vendor is Cray")
    gone = [each["revision"] for each in run_json("log", "neo/user", "--entry", "Vendor is Bolt")["revisions"]]
    assert gone[1:] == last
