"""``catmem undo``, and the line after a write that names it."""

import re
import shlex

import pytest

from catmem.store.files.file_store import FileStore
from tests.end_to_end.terminal import USER, error_of, run, run_json


def way_back(result):
    """The arguments of the command that the answer to a write names."""
    (line,) = re.findall(r"^'catmem (undo .*)' takes it back$", result.stderr, re.MULTILINE)
    return shlex.split(line)


@pytest.mark.parametrize(
    "write",
    [
        ("Added to rules", "add", "-p", "neo", "-c", "rules", "Vendor is Acme."),
        ("Moved to talk", "move", "-p", "neo", "15th", "-c", "talk"),
    ],
)
def test_the_line_after_a_write_takes_it_back(user, write):
    did, *command = write
    back = way_back(run(*command))
    assert user.read_text() != USER
    undone = run(*back)
    assert undone.stdout == "took back a revision in neo/user (revision 3)\n"
    assert user.read_text() == USER
    # And the answer says what that was and how to make it again, and that can be taken back.
    said = f"revision 2 (put: {did}) by person is taken back; 'catmem restore neo/user 2' makes it again"
    assert said in undone.stderr
    again = run("restore", "neo/user", "2")
    assert user.read_text() != USER
    run(*way_back(again))
    assert user.read_text() == USER


def test_undo_after_undo_goes_further_back(user):
    texts = [user.read_text()]
    for words in ("One.", "Two.", "Three."):
        run("add", "-p", "neo", "-c", "rules", words)
        texts.append(user.read_text())
    run("undo", "neo", "--dry-run")
    assert user.read_text() == texts[3]
    for left in (2, 1):
        run("undo", "neo")
        assert user.read_text() == texts[left]
    last = run("undo")
    assert user.read_text() == texts[0]
    assert error_of("undo", "neo")["code"] == "no_undo"
    assert error_of("undo")["code"] == "no_undo"
    run("restore", *re.findall(r"'catmem restore (\S+) (\d+)' makes it again", last.stderr)[0])
    assert user.read_text() == texts[1]
    run("undo")
    assert user.read_text() == texts[0]
    run("add", "-p", "neo", "-c", "rules", "Four.")
    run("undo", "neo")
    assert user.read_text() == texts[0]


def test_the_newest_revision_is_found_without_a_walk_through_the_history(user, monkeypatch):
    run("add", "-p", "neo", "-c", "rules", "One.")
    walked, log = [], FileStore.log
    monkeypatch.setattr(FileStore, "log", lambda store, entity: walked.append(entity) or log(store, entity))
    run("undo", "neo")
    assert walked == []
    assert user.read_text() == USER


@pytest.mark.parametrize("entity", [[], ["neo"]])
def test_a_rejection_changed_no_text_and_is_passed_over(user, entity):
    run("add", "-p", "neo", "-c", "rules", "One.")
    run("add", "-p", "neo", "-c", "rules", "Two.", "--as", "neo", "--propose")
    run("proposals", "--reject", run_json("proposals")["proposals"][0]["id"])
    run("undo", *entity)
    assert user.read_text() == USER
    assert error_of("undo", *entity)["code"] == "no_undo"


def test_undo_without_an_entity_goes_from_file_to_file(user):
    run("add", "-p", "neo", "-c", "rules", "Elsewhere by an agent.", "--as", "neo")
    before = user.read_text()
    run("add", "-p", "boss", "-t", "memory", "-c", "rules", "First.")
    run("add", "-p", "neo", "-c", "rules", "Second.")
    run("add", "-p", "boss", "-c", "rules", "By another agent.", "--as", "boss")
    assert [run_json("undo")["entity"] for _ in range(2)] == ["neo/user", "boss/memory"]
    assert error_of("undo")["code"] == "no_undo"
    assert user.read_text() == before


def test_where_the_last_cannot_be_undone_the_last_that_can_be_is_named(user):
    run("add", "-p", "boss", "-c", "rules", "One.")
    run("seed", "boss", "neo")
    refused = error_of("undo")
    assert "is a seed from boss/user" in refused["message"]
    (command,) = re.findall(r"'catmem (undo [^']+)' takes back what you wrote there last", refused["hint"])
    assert run_json(*command.split())["entity"] == "boss/user"
    assert "takes back what you wrote" not in error_of("undo")["hint"]


def test_what_another_person_wrote_stays_until_its_revision_is_named(user, monkeypatch):
    monkeypatch.setenv("CATMEM_PERSON", "Ada")
    run("add", "-p", "boss", "-c", "rules", "By Ada.")
    run("add", "-p", "neo", "-c", "rules", "By Ada.")
    before = user.read_text()
    monkeypatch.setenv("CATMEM_PERSON", "Bob")
    run("add", "-p", "neo", "-c", "rules", "By Bob.")
    there = user.read_text()
    monkeypatch.setenv("CATMEM_PERSON", "Ada")
    refused = error_of("undo", "neo")
    assert (refused["code"], user.read_text()) == ("no_undo", there)
    assert "revision 3 of neo/user was made by Bob (person), and not by you (Ada)" in refused["message"]
    (command,) = re.findall(r"'catmem (undo [^']+)' takes it back all the same", refused["hint"])
    # Without an entity it is the last of the caller, which is not the last word here.
    assert error_of("undo", status=3)["code"] == "stale_prev"
    monkeypatch.setenv("CATMEM_PERSON", "")
    assert run_json("undo", "neo", "--dry-run")["changed"]
    monkeypatch.setenv("CATMEM_PERSON", "Ada")
    run(*shlex.split(command))
    assert user.read_text() == before
    # After that the newest revision has what Ada wrote; the next undo goes on from there.
    run("undo", "neo")
    assert user.read_text() == USER
    # And what of a file another person took back is not the caller's last.
    assert run_json("undo")["entity"] == "boss/user"


def test_what_writes_nothing_names_no_way_back(user):
    for arguments in (
        ("remove", "-p", "neo", "15th", "--dry-run"),
        ("add", "-p", "neo", "-c", "talk", "Never before ten."),
    ):
        assert "undo" not in run(*arguments).stderr
    # A bounded profile may not take back: the text before may hold what it does not see.
    assert "undo" not in run("remove", "-p", "neo", "15th", "--as", "neo").stderr


def test_a_later_revision_stays(user):
    back = way_back(run("remove", "-p", "neo", "15th"))
    run("add", "-p", "neo", "-c", "rules", "Later.")
    there = user.read_text()
    error = error_of(*back, status=3)
    assert error["code"] == "stale_prev"
    assert "catmem restore neo/user 1" in error["hint"]
    assert user.read_text() == there


def test_an_external_change_stays(user):
    run("remove", "-p", "neo", "15th")
    user.write_text(user.read_text() + "by hand\n")
    error = error_of("undo", "neo", status=3)
    assert error["code"] == "drift"
    assert "catmem restore neo/user 1" in error["hint"]
    assert user.read_text().endswith("by hand\n")


def test_a_file_that_is_gone_is_no_revision_to_take_back(user):
    run("add", "-p", "neo", "-c", "rules", "One.")
    for lose in (lambda: user.write_text("\n"), user.unlink):
        lose()
        for entity in ((), ("neo",)):
            refused = error_of("undo", *entity)
            assert refused["code"] == "no_undo"
            assert "'catmem restore neo/user 2' brings back what it held" in refused["message"]
            assert "catmem restore neo/user" not in refused["hint"]


def test_a_bounded_profile_takes_nothing_back(user):
    run("remove", "-p", "neo", "15th", "--as", "neo")
    answers = [error_of("undo", entity, "--as", "neo") for entity in ("neo", "boss", "nobody")]
    answers.append(error_of("undo", "--as", "neo"))
    assert {each["code"] for each in answers} == {"forbidden"}
    assert len({each["message"] for each in answers}) == 1
    run("undo", "neo", "--as", "boss")
    assert user.read_text() == USER


def test_before_the_file_as_catmem_found_it_is_nothing(user):
    run("add", "-p", "neo", "-c", "rules", "One.")
    run("undo", "neo")
    refused = error_of("undo", "neo")
    said = "revision 1 of neo/user is the file as catmem found it, and there is nothing before it"
    assert (refused["code"], refused["message"]) == ("no_undo", said)
    assert "neo/user 0" not in refused["hint"]
    user.write_text(USER + "by hand\n")
    run("status", "--adopt")
    refused = error_of("undo", "neo")
    assert "is what another program or an editor wrote to the file" in refused["message"]
    assert re.search(r"'catmem restore neo/user \d+' brings back the text before this one", refused["hint"])


def test_restore_says_that_it_empties_a_file(user):
    run("add", "-p", "neo", "-c", "rules", "One.")
    assert "this empties the file\n" in run("restore", "neo/user", "0", "--dry-run").stderr
    emptied = run("restore", "neo/user", "0")
    assert user.read_text() == ""
    assert "this empties the file\n" in emptied.stderr
    run(*way_back(emptied))
    assert "One." in user.read_text()
    assert "empties" not in run("restore", "neo/user", "1").stderr


@pytest.mark.parametrize("way", [("undo", "neo"), ("restore", "neo/user", "1")])
@pytest.mark.parametrize("policy", ["refuse", "ask"])
def test_a_secret_comes_back_only_where_the_root_lets_a_person_store_one(user, way, policy):
    config = user.parents[2] / "catmem.yaml"
    user.write_text(user.read_text() + "§\nThe password is Sommer2024!x\n")
    run("status", "--adopt")
    run("remove", "-p", "neo", "Sommer2024!x")
    held = re.findall(r"^(\d+) ", run("log", "neo").stdout, re.MULTILINE)[1]
    way = (*way[:2], held) if way[0] == "restore" else way
    config.write_text(f"{config.read_text()}secrets: {policy}\n")
    result = run(*way, status=2 if policy == "refuse" else 0)
    assert ("Sommer2024!x" in user.read_text()) == (policy == "ask")
    said = (
        "error[secret]: this text holds a secret" if policy == "refuse" else "warning: a prompt will withhold this text"
    )
    assert said in result.stderr
    assert "Sommer2024" not in result.stderr
