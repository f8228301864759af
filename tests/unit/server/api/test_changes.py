"""What is new since a caller asked last: who hears what of it, and what stands in for more than is told."""

import os

import pytest

from catmem.digest import bytes_digest
from catmem.workspace import change_feed
from tests.together import together

CANARY = "canary"


class Feed:
    """A client that asks again and again."""

    def __init__(self, client, since=None):
        self.client = client
        self.since = since
        if since is None:
            assert self.new() == []

    def new(self):
        asked = {} if self.since is None else {"since": self.since}
        answer = self.client.get("/mem/changes", params=asked)
        assert answer.status_code == 200, answer.text
        self.since = answer.json()["since"]
        return answer.json()["changes"]

    def short(self):
        return [(each["event"], each["entity_id"], each.get("revision")) for each in self.new()]


@pytest.fixture
def workspace(served):
    return served.workspace


def add(workspace, text="Pay on Friday.", name="neo", category="talk", **how):
    return workspace.add(name, text, category=category, **how)


def test_each_revision_is_told_once_with_who_made_it(person, workspace):
    feed = Feed(person)
    add(workspace, actor="neo")
    head = workspace.store.head("neo/user")
    before, own = feed.new()
    assert before["op"] == "adopt"
    assert own == {
        "event": "revision", "entity_id": "neo/user", "revision": "2", "mem_rev": 2, "branch": False,
        "agent_id": "neo", "op": "put", "timestamp": head.timestamp, "digest": head.digest,
    }  # fmt: skip
    assert feed.new() == []
    add(workspace, "Late.", expected="1", on_stale="branch")
    add(workspace, name="boss")
    assert feed.short() == [("revision", "boss/user", "1"), ("revision", "neo/user", "2a")]


def test_each_change_by_another_program_is_told_once_and_its_end(person, neo, workspace):
    add(workspace)
    file = workspace.path("neo", "user")
    text = file.read_bytes()
    feeds = [Feed(person), Feed(neo)]
    for recorded, said in ((False, b"## Talk\nBy hand.\n"), (False, b"## Talk\nAgain.\n"), (True, text)):
        file.write_bytes(said)
        for feed in feeds:
            (drift,) = feed.new()
            assert (drift["event"], drift["revision"], drift["recorded"]) == ("drift", "2", recorded)
            assert feed.new() == []
    file.write_bytes(b"## Talk\nBy hand.\n")
    digest = bytes_digest(file.read_bytes())
    assert Feed(person, f"neo/user@{digest}").new() == []  # a person may say what they have seen of it
    add(workspace, "Next.")
    assert feeds[1].short() == [("revision", "neo/user", "3"), ("revision", "neo/user", "4")]


def test_an_entity_that_cannot_be_read_is_told_and_what_came_after_it(person, workspace):
    add(workspace)
    feed, file = Feed(person), workspace.path("neo", "user")
    text = file.read_bytes()
    file.unlink()
    os.mkfifo(file)
    ((event, entity, _),) = feed.short()
    assert (event, entity) == ("trouble", "neo/user")
    file.unlink()
    file.write_bytes(text)
    add(workspace, "Again.")
    assert feed.short() == [("revision", "neo/user", "3")]


def test_more_than_is_told_and_a_revision_that_is_unknown_are_missed(person, workspace, monkeypatch):
    monkeypatch.setattr(change_feed, "MOST", 3)
    add(workspace)
    assert Feed(person, "neo/user@99").short() == [("missed", "neo/user", None), ("revision", "neo/user", "2")]
    feed = Feed(person)
    for number in range(3):
        add(workspace, f"Number {number}.")
    assert [revision for _, _, revision in feed.short()] == ["3", "4", "5"]
    for number in range(4):
        add(workspace, f"Again {number}.")
    assert feed.short() == [("missed", "neo/user", None), ("revision", "neo/user", "9")]


def test_who_names_entities_hears_of_these(person, workspace):
    feed = Feed(person, "boss,neo/memory@0")
    assert feed.new() == []
    add(workspace)
    add(workspace, name="boss")
    add(workspace, target="memory")
    assert {entity for _, entity, _ in feed.short()} == {"boss/user", "neo/memory"}


# --- who hears what ------------------------------------------------------------------------------------------------


def test_a_bounded_profile_hears_of_its_own_files_what_head_tells_it(neo, workspace):
    add(workspace)
    feed = Feed(neo)
    add(workspace, f"{CANARY} of boss", "boss")
    add(workspace, f"{CANARY} hidden", category="pay")
    assert feed.new() == [
        {"event": "revision", "entity_id": "neo/user", "revision": "3", "mem_rev": 3, "branch": False}
    ]
    add(workspace, "Its own.", actor="neo")
    (own,) = feed.new()
    assert (own["revision"], own["agent_id"], own["op"]) == ("4", "neo", "put")
    assert "digest" not in own


def test_a_bounded_profile_hears_of_its_own_branches_only_and_cannot_ask_for_others(neo, workspace):
    add(workspace)
    feed = Feed(neo)
    add(workspace, "Late.", expected="1", on_stale="branch")
    add(workspace, "Its own.", expected="1", on_stale="branch", actor="neo")
    assert feed.short() == [("revision", "neo/user", "2b")]
    there, nowhere = (Feed(neo, f"neo/user@{name}").new() for name in ("2a", "9a"))
    assert there == nowhere


def test_a_profile_of_tier_1_hears_of_all_without_digests(boss, workspace):
    feed = Feed(boss)
    add(workspace, CANARY, category="pay")
    *_, said = feed.new()
    assert (said["entity_id"], said["agent_id"]) == ("neo/user", "person")
    assert "digest" not in said


@together(
    ("since", "status", "code"),
    [
        ("boss/user", 404, "unknown_name"),
        ("nobody/user", 404, "unknown_name"),
        ("neo/user@sha256:" + "0" * 64, 403, "forbidden"),
        ("neo/nothing", 404, "unknown_target"),
    ],
)
def test_what_is_not_for_a_profile_is_refused(neo, *, since, status, code):
    answer = neo.get("/mem/changes", params={"since": since})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
