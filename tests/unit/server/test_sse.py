"""The stream of events: who hears what, what is missed, and how it ends."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from catmem.envelopes.tokens import new_token, remove_tokens
from catmem.server import sse
from catmem.server.guard import ServerSettings
from catmem.server.sse import Reader
from catmem.workspace.change_feed import News
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import USER, write_root
from tests.streams import SECONDS, running
from tests.together import together

CANARY = "canary"


@pytest.fixture
def workspace(tmp_path):
    write_root(tmp_path / "root")
    found = Workspace.open(tmp_path / "root", search=False)
    found.store  # noqa: B018 - as the server does
    yield found
    found.store.close()


@pytest.fixture
def server(workspace):
    """A server without tokens: whoever comes is a person."""
    with running(workspace, ServerSettings()) as found:
        yield found


@pytest.fixture
def tokens(tmp_path):
    return tmp_path / "tokens" / "tokens.json"


@pytest.fixture
def guarded(workspace, tokens):
    """A server where everybody has a token."""
    token(workspace, tokens, "boss")
    with running(workspace, ServerSettings(tokens=tokens)) as found:
        yield found


def token(workspace, tokens, name, **how):
    return new_token(workspace.config, tokens, name, **how)[1]


def add(workspace, text="Pay on Friday.", name="neo", category="rules", **how):
    return workspace.add(name, text, category=category, **how)


def begun(workspace, name="neo"):
    """A file with a history."""
    add(workspace, "The first.", name)


# --- what is told --------------------------------------------------------------------------------------------------


def test_a_revision_is_told_with_who_made_it(server, workspace):
    begun(workspace)
    stream = server.open()
    assert stream.answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert stream.answer.headers["Cache-Control"] == "no-store"
    add(workspace, actor="neo")
    event = stream.next()
    head = workspace.store.head("neo/user")
    assert (event.kind, event.data) == (
        "revision",
        {
            "entity_id": "neo/user", "revision": "3", "mem_rev": 3, "branch": False,
            "agent_id": "neo", "op": "put", "timestamp": head.timestamp, "digest": head.digest,
        },
    )  # fmt: skip


def test_an_outside_edit_is_told(server, workspace):
    begun(workspace)
    stream = server.open()
    workspace.path("neo", "user").write_text(USER, encoding="utf-8")
    event = stream.next()
    assert event.kind == "drift"
    assert (event.data["entity_id"], event.data["revision"], event.data["recorded"]) == ("neo/user", "2", False)


def test_a_reader_may_want_some_entities_only(server, workspace):
    some = server.open("?entity_id=boss/user,neo/memory")
    add(workspace)
    add(workspace, name="boss")
    add(workspace, target="memory")
    assert {some.next().data["entity_id"] for _ in range(2)} == {"boss/user", "neo/memory"}


def test_an_entity_that_cannot_be_read_is_told_and_told_when_it_can(server, workspace):
    begun(workspace)
    file = workspace.path("neo", "user")
    text = file.read_bytes()
    stream = server.open()
    file.unlink()
    os.mkfifo(file)
    while (event := stream.next()).kind != "trouble":
        assert event.kind == "drift"
    assert event.data["entity_id"] == "neo/user"
    assert event.data["code"]
    file.unlink()
    file.write_bytes(text)
    while stream.next().kind != "recovered":
        pass
    add(workspace, "Again.")
    while stream.next().data.get("revision") != "3":
        pass


# --- who hears what ------------------------------------------------------------------------------------------------


def test_a_bounded_profile_hears_of_its_own_files_what_head_tells_it(guarded, workspace, tokens):
    begun(workspace)
    neo = guarded.open(token=token(workspace, tokens, "neo"))
    add(workspace, f"{CANARY} of boss", "boss")
    add(workspace, f"{CANARY} hidden", category="pay")
    assert neo.next().data == {"entity_id": "neo/user", "revision": "3", "mem_rev": 3, "branch": False}
    add(workspace, "Its own.", actor="neo")
    own = neo.next().data
    assert (own["revision"], own["agent_id"], own["op"]) == ("4", "neo", "put")
    assert "digest" not in own


def test_a_bounded_profile_hears_of_its_own_branches_only(guarded, workspace, tokens):
    begun(workspace)
    neo = guarded.open(token=token(workspace, tokens, "neo"))
    add(workspace, "Late.", expected="1", on_stale="branch")
    add(workspace, "Its own.", expected="1", on_stale="branch", actor="neo")
    assert neo.next().data["revision"] == "2b"


def test_a_profile_of_tier_1_hears_of_all_without_digests(guarded, workspace, tokens):
    begun(workspace)
    boss = guarded.open(token=token(workspace, tokens, "boss"))
    add(workspace, CANARY, category="pay")
    said = boss.next().data
    assert (said["entity_id"], said["agent_id"]) == ("neo/user", "person")
    assert "digest" not in said


def test_a_profile_that_is_bounded_from_now_on_hears_less_at_once(guarded, workspace, tokens):
    begun(workspace)
    boss = guarded.open(token=token(workspace, tokens, "boss"))
    profile = workspace.root / "profiles" / "boss.yaml"
    profile.write_text("tier: 2\nuser_memory_categories: [talk]\n", encoding="utf-8")
    add(workspace)
    add(workspace, "Mine.", "boss", "talk")
    assert boss.next().data["entity_id"] == "boss/user"


def test_a_profile_that_is_not_right_hears_nothing(guarded, workspace, tokens):
    neo = guarded.open(token=token(workspace, tokens, "neo"))
    person = guarded.open(token=token(workspace, tokens, "anna", person=True))
    profile = workspace.root / "profiles" / "neo.yaml"
    text = profile.read_text(encoding="utf-8")
    profile.write_text("tier: [\n", encoding="utf-8")
    add(workspace, name="boss")
    while person.next().data.get("entity_id") != "boss/user":
        pass
    profile.write_text(text, encoding="utf-8")
    add(workspace)
    while (heard := neo.next()).kind != "revision":
        assert heard.kind in {"trouble", "recovered"}
    assert heard.data["entity_id"] == "neo/user"


def test_what_others_do_puts_off_no_comment_and_ends_no_stream(guarded, workspace, tokens, monkeypatch):
    monkeypatch.setattr(sse, "HEARTBEAT", 0.2)
    monkeypatch.setattr(sse, "EVERY", 0.01)
    monkeypatch.setattr(sse, "WAITING", 1)
    foreign = [News("revision", "boss/user", "1")] * 3
    monkeypatch.setattr("catmem.workspace.change_feed.Watch.look", lambda watch: foreign)
    neo = guarded.open(token=token(workspace, tokens, "neo"))
    assert [neo.answer.readline() for _ in range(4)] == [b":\n", b"\n"] * 2


@together(
    ("name", "how", "query", "status", "code"),
    [
        ("neo", {}, "?entity_id=boss/user", 404, "unknown_name"),
        ("neo", {}, "?entity_id=nobody/user", 404, "unknown_name"),
        ("neo", {}, "?entity_id=neo/user@sha256:" + "0" * 64, 403, "forbidden"),
        ("boss", {}, "?entity_id=neo/nothing", 404, "unknown_target"),
        ("boss", {}, "?entity_id=", 400, "bad_parameter"),
        ("boss", {}, "?entity_id=" + ",".join(["neo"] * 129), 400, "bad_parameter"),
        ("boss", {}, "?entity=neo", 400, "bad_parameter"),
        ("monitor", {"scope": "metrics"}, "", 403, "scope"),
    ],
)
def test_what_is_not_for_a_caller_is_refused(guarded, workspace, tokens, *, name, how, query, status, code):
    stream = guarded.open(query, token(workspace, tokens, name, **how))
    assert (stream.status, stream.said()["code"]) == (status, code)


def test_a_token_that_is_removed_ends_its_stream_before_the_next_event(guarded, workspace, tokens):
    neo = guarded.open(token=token(workspace, tokens, "neo"))
    remove_tokens(tokens, "neo")
    add(workspace)
    assert neo.has_ended


def test_a_stream_that_is_quiet_sends_heartbeats(server, monkeypatch):
    monkeypatch.setattr(sse, "HEARTBEAT", 0.01)
    stream = server.open()
    assert [stream.answer.readline() for _ in range(4)] == [b":\n", b"\n"] * 2


# --- what was missed -----------------------------------------------------------------------------------------------


def test_who_comes_back_is_told_to_read_anew_and_hears_on(server, workspace):
    begun(workspace)
    stream = server.open()
    stream.close()
    add(workspace, "Meanwhile.")
    again = server.open(**{"Last-Event-ID": stream.id})
    assert again.next() == ("missed", {})
    add(workspace, "From now on.")
    while again.next().data["revision"] != "4":
        pass


def test_who_comes_back_and_says_what_it_has_seen_of_all_has_missed_nothing_else(server, workspace):
    begun(workspace)
    back = {"Last-Event-ID": server.open().id}
    assert server.open("?entity_id=neo/user@1", **back).next().kind == "revision"
    some = server.open("?entity_id=neo/user@1,boss/user", **back)
    assert [some.next().kind, some.next().kind] == ["missed", "revision"]


def test_who_says_what_it_has_seen_is_told_how_it_stands(server, workspace):
    begun(workspace)
    digest = workspace.store.head("neo/user").digest
    add(workspace)
    assert server.open("?entity_id=neo/user@1").revisions(1) == ["3"]
    assert server.open(f"?entity_id=neo/user@{digest}").revisions(1) == ["3"]
    now = server.open("?entity_id=neo/user@3,boss@0")
    add(workspace, name="boss")
    assert now.next().data["entity_id"] == "boss/user"


# --- limits, and the end -------------------------------------------------------------------------------------------


def test_one_caller_has_so_many_streams(workspace, tokens, monkeypatch):
    monkeypatch.setattr(sse, "EACH", 2)
    monkeypatch.setattr(sse, "MOST", 3)
    names = ["boss", "neo"]
    given = {name: token(workspace, tokens, name) for name in names}
    with running(workspace, ServerSettings(tokens=tokens)) as server:
        streams = [server.open(token=given["boss"]) for _ in range(2)]
        refused = server.open(token=given["boss"])
        assert (refused.status, refused.said()["code"]) == (429, "too_many_streams")
        assert refused.answer.headers["Retry-After"]
        assert server.open(token=given["neo"]).status == 200
        assert server.open(token=given["neo"]).status == 429  # all places are taken
        streams[0].close()
        while server.on_loop(lambda: server.app.state.live._counts["boss"]) > 1:
            pass
        assert server.open(token=given["boss"]).status == 200


def test_two_hundred_readers_are_told_and_one_that_does_not_read_is_left(workspace, tokens):
    given = [token(workspace, tokens, name, person=True) for name in ("a", "b", "c", "d")]
    with running(workspace, ServerSettings(tokens=tokens)) as server:
        streams = [server.open(token=each) for each in given for _ in range(50)]
        readers = server.app.state.live._readers
        others = server.on_loop(lambda: set(readers))
        with socket.socket() as stuck:
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stuck.connect(server.address)
            lines = ["GET /mem/events HTTP/1.1", "Host: localhost", "Accept: text/event-stream"]
            stuck.sendall("\r\n".join([*lines, f"Authorization: Bearer {given[0]}", "", ""]).encode())
            while not (joined := server.on_loop(lambda: readers - others)):
                pass
            (slow,) = joined
            many = [(News("trouble", None), {"message": "x" * 4096})] * 200
            while server.on_loop(lambda: slow in readers or len(readers) > len(others)):
                server.on_loop(lambda: slow.give(many))
            add(workspace, name="boss")
            assert {stream.next().data["revision"] for stream in streams} == {"1"}


def test_what_waits_for_a_reader_is_bounded(server, monkeypatch):
    monkeypatch.setattr(sse, "WAITING", 3)
    news = News("revision", "neo/user", "1"), {}

    def play():
        reader = Reader(None, frozenset({"neo/user"}))
        reader.give([(News("revision", "boss/user", "1"), {})] * 10)  # it does not want these
        reader.give([news] * 3)
        assert not reader.is_late.is_set()
        reader.give([news])
        return reader.is_late.is_set()

    assert server.on_loop(play)


def test_nobody_looks_where_nobody_listens(server, workspace):
    stream = server.open()
    live = server.app.state.live
    assert server.on_loop(lambda: live._looking) is not None
    stream.close()
    while server.on_loop(lambda: live._looking) is not None:
        pass
    add(workspace, name="boss")  # it is told to nobody, now or later
    again = server.open()
    add(workspace, name="boss", text="Another.")
    assert again.revisions(1) == ["2"]


def test_a_look_that_fails_ends_no_stream(server, workspace, monkeypatch):
    stream = server.open()
    failed = threading.Event()

    def fail(watch):
        failed.set()
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("catmem.workspace.change_feed.Watch.look", fail)
        assert failed.wait(SECONDS)
    add(workspace, name="boss")
    assert stream.revisions(1) == ["1"]


def test_streams_end_at_once_when_the_server_does(workspace):
    with running(workspace, ServerSettings()) as server:
        streams = [server.open() for _ in range(3)]
        server.streams.clear()  # nobody closes them from here
    for stream in streams:
        with pytest.raises(EOFError):
            stream.next()
        stream.close()


def test_a_stream_is_not_cut_by_the_time_limit_of_requests(workspace):
    with running(workspace, ServerSettings(timeout=2)) as server:
        stream = server.open()
        threading.Event().wait(2.5)
        add(workspace, name="boss")
        assert stream.revisions(1) == ["1"]


def test_a_stream_that_waits_for_the_first_look_when_the_server_ends_is_refused(workspace, monkeypatch):
    looking, ended = threading.Event(), threading.Event()

    def look(watch):
        looking.set()
        assert ended.wait(SECONDS)
        return []

    monkeypatch.setattr("catmem.workspace.change_feed.Watch.look", look)
    found = []
    with running(workspace, ServerSettings()) as server:
        waiting = threading.Thread(target=lambda: found.append(server.open()))
        waiting.start()
        assert looking.wait(SECONDS)
        server.on_loop(server.app.state.stopping.set)
        ended.set()
        waiting.join(SECONDS)
        assert (found[0].status, found[0].said()["code"]) == (503, "stopping")
