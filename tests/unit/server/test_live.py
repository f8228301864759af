"""The stream of events: who hears what, what is missed, and how it ends."""

from __future__ import annotations

import json
import os
import socket
import threading

import pytest

from catmem.errors import StoreError
from catmem.server import live, past
from catmem.server.caller import Caller
from catmem.server.live import Live
from catmem.server.past import Event
from catmem.server.settings import Settings
from catmem.server.streaming import Reader
from catmem.server.tokens import new_token, remove_tokens
from catmem.service.watching.news import News
from catmem.service.workspace import Workspace
from tests.end_to_end.terminal import USER, write_root
from tests.streams import SECONDS, running

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
    with running(workspace, Settings()) as found:
        yield found


@pytest.fixture
def tokens(tmp_path):
    return tmp_path / "tokens" / "tokens.json"


@pytest.fixture
def guarded(workspace, tokens):
    """A server where everybody has a token."""
    token(workspace, tokens, "boss")
    with running(workspace, Settings(tokens=tokens)) as found:
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


def test_every_reader_is_told(server, workspace):
    streams = [server.open() for _ in range(20)]
    add(workspace, name="boss")
    assert {stream.next().data["revision"] for stream in streams} == {"1"}


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


def test_nothing_that_is_hidden_comes_through(guarded, workspace, tokens):
    """No word, no name of a category, and no id that counts what others do."""
    neo = guarded.open(token=token(workspace, tokens, "neo"))
    for number in range(5):
        add(workspace, f"{CANARY} {number}", category="pay", actor="boss")
        add(workspace, f"{CANARY} {number}", name="boss", category="pay")
    add(workspace, "The end.", actor="neo")
    events = [neo.next() for _ in range(7)]
    assert events[-1].data["agent_id"] == "neo"
    heard = json.dumps([event.data for event in events])
    assert not any(word in heard for word in (CANARY, "pay", "boss", "sha256"))
    assert len({event.id for event in events}) == 7
    assert all(len(event.id) == 48 and int(event.id, 16) for event in events)


def test_an_id_is_never_the_same_so_it_tells_of_nobody(guarded, workspace, tokens):
    given = token(workspace, tokens, "neo")
    ids = [guarded.open(token=given).id for _ in range(3)]
    add(workspace, name="boss")
    ids += [guarded.open(token=given).id for _ in range(3)]
    assert len(set(ids)) == len(ids)
    assert {len(each) for each in ids} == {48}


def test_a_bounded_profile_misses_nothing_by_what_others_do(workspace, tokens, monkeypatch):
    """Whoever hears of all has missed more than is kept."""
    monkeypatch.setattr(past, "KEPT", 2)
    given = {name: token(workspace, tokens, name) for name in ("boss", "neo")}
    with running(workspace, Settings(tokens=tokens)) as server:
        neo, boss = server.open(token=given["neo"]), server.open(token=given["boss"])
        add(workspace)
        for number in range(4):
            add(workspace, f"Number {number}.", "boss")
        while boss.next().data["revision"] != "4":
            pass
        again = server.open(token=given["neo"], **{"Last-Event-ID": neo.id})
        assert again.next().data["entity_id"] == "neo/user"
        late = server.open(token=given["boss"], **{"Last-Event-ID": neo.id})
        assert late.next().kind == "missed"


def test_what_others_do_does_not_end_the_stream_of_a_bounded_profile(server):
    def play():
        reader = Reader(Caller("neo", "neo"), most=3)
        reader.bounded = True
        reader.give([Event(1, News("revision", "boss/user", "1"))] * 10)
        reader.give([Event(2, News("revision", "neo/user", "1"))] * 3)
        assert not reader.over.done()
        reader.give([Event(2, News("revision", "neo/user", "1"))])
        return reader.over.done()

    assert server.on_loop(play)


def test_what_others_do_puts_off_no_comment(guarded, workspace, tokens, monkeypatch):
    monkeypatch.setattr("catmem.server.streaming.HEARTBEAT", 0.2)
    neo = guarded.open(token=token(workspace, tokens, "neo"))
    over = threading.Event()
    readers = guarded.app.state.live._readers

    def disturb():
        foreign = [Event(1, News("revision", "boss/user", "1"))]
        while not over.wait(0.02):
            guarded.on_loop(lambda: [reader.give(foreign) for reader in readers])

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        assert [neo.answer.readline() for _ in range(4)] == [b":\n", b"\n"] * 2
    finally:
        over.set()
        thread.join()


def test_all_streams_are_told_at_once_and_take_no_thread_from_requests(workspace, tokens):
    given = [token(workspace, tokens, name) for name in ("neo", "boss")]
    with running(workspace, Settings(tokens=tokens)) as server:
        streams = [server.open(token=each) for each in given for _ in range(40)]
        server.app.state.workers._most = 0  # no request is answered any more
        live = server.app.state.live
        before = live.teller.turns
        server.on_loop(lambda: live._deliver([News("revision", "neo/user", "1")]))
        assert {stream.next().data["entity_id"] for stream in streams} == {"neo/user"}
        assert live.teller.turns - before <= 2


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Accept": "*/*"}, 406, "not_acceptable"),
        ({"Accept": "application/json"}, 406, "not_acceptable"),
        ({"Sec-Fetch-Site": "cross-site"}, 403, "cross_site"),
        ({"Origin": "http://evil.example"}, 403, "cross_site"),
        ({"Host": "evil.example"}, 400, "unknown_host"),
    ],
)
def test_what_is_no_request_for_a_stream_is_refused(server, headers, status, code):
    stream = server.open(**headers)
    assert (stream.status, stream.said()["code"]) == (status, code)


def test_a_token_that_is_removed_ends_its_stream_before_the_next_event(guarded, workspace, tokens):
    neo = guarded.open(token=token(workspace, tokens, "neo"))
    remove_tokens(tokens, "neo")
    add(workspace)
    assert neo.has_ended


def test_a_token_that_is_removed_ends_a_quiet_stream_too(guarded, workspace, tokens, monkeypatch):
    monkeypatch.setattr("catmem.server.streaming.HEARTBEAT", 0.05)
    neo = guarded.open(token=token(workspace, tokens, "neo"))
    remove_tokens(tokens, "neo")
    with pytest.raises(EOFError):
        neo.next()


def test_a_stream_that_is_quiet_sends_heartbeats(server, monkeypatch):
    monkeypatch.setattr("catmem.server.streaming.HEARTBEAT", 0.01)
    stream = server.open()
    assert [stream.answer.readline() for _ in range(4)] == [b":\n", b"\n"] * 2


# --- what was missed -----------------------------------------------------------------------------------------------


def test_who_comes_back_is_told_what_it_missed(server, workspace):
    begun(workspace)
    stream = server.open()
    add(workspace, "One.")
    last = stream.next().id
    stream.close()
    add(workspace, "Two.")
    add(workspace, "Three.")
    again = server.open(**{"Last-Event-ID": last})
    add(workspace, "Four.")
    assert again.revisions(3) == ["4", "5", "6"]


def test_who_comes_back_without_having_heard_anything_is_told_too(server, workspace):
    begun(workspace)
    stream = server.open()
    stream.close()
    add(workspace, "One.")
    assert server.open(**{"Last-Event-ID": stream.id}).revisions(1) == ["3"]


def test_what_came_while_nobody_listened_is_told_from_the_history(workspace):
    begun(workspace)
    with running(workspace, Settings(), lambda app: setattr(app.state, "live", Live(app, linger=0))) as server:
        stream = server.open()
        stream.close()
        watch = server.app.state.live.watch
        watch.join()  # it ends with the last who listens
        add(workspace, "One.")
        add(workspace, "Two.")
        assert not watch.is_running
        assert server.open(**{"Last-Event-ID": stream.id}).revisions(2) == ["3", "4"]


def test_who_comes_back_later_than_anybody_knows_is_told_to_read_anew(server, workspace):
    stream = server.open(**{"Last-Event-ID": "an id of another server"})
    assert stream.next()[1:] == ("missed", {})
    add(workspace, name="boss")
    assert stream.revisions(1) == ["1"]


def test_more_than_is_kept_is_missed(workspace, monkeypatch):
    monkeypatch.setattr(past, "KEPT", 3)
    begun(workspace)
    with running(workspace, Settings()) as server:
        first, stream = server.open(), server.open()
        for number in range(5):
            add(workspace, f"Number {number}.")
        ids = [stream.next().id for _ in range(5)]
        assert server.open(**{"Last-Event-ID": first.id}).next().kind == "missed"
        assert server.open(**{"Last-Event-ID": ids[0]}).next().kind == "missed"
        assert server.open(**{"Last-Event-ID": ids[1]}).revisions(3) == ["5", "6", "7"]
        again = server.open(**{"Last-Event-ID": ids[4]})
        add(workspace, "The last.")
        assert again.revisions(1) == ["8"]


def test_who_says_what_it_has_seen_is_told_how_it_stands(server, workspace):
    begun(workspace)
    digest = workspace.store.head("neo/user").digest
    add(workspace)
    assert server.open("?entity_id=neo/user@1").revisions(1) == ["3"]
    assert server.open(f"?entity_id=neo/user@{digest}").revisions(1) == ["3"]
    now = server.open("?entity_id=neo/user@3,boss@0")
    add(workspace, name="boss")
    assert now.next().data["entity_id"] == "boss/user"


def test_who_says_what_it_has_seen_is_told_of_drift(server, workspace):
    begun(workspace)
    workspace.path("neo", "user").write_text(USER, encoding="utf-8")
    event = server.open("?entity_id=neo@2").next()
    assert (event.kind, event.data["recorded"]) == ("drift", False)
    seen = server.open(f"?entity_id=neo@{event.data['digest']}")
    add(workspace, "Another.")
    assert seen.next().data["op"] == "adopt"


def test_an_agent_that_says_what_it_has_seen_is_told_no_more_than_it_may(guarded, workspace, tokens):
    begun(workspace)
    add(workspace, CANARY, category="pay")
    neo = guarded.open("?entity_id=neo/user@2", token(workspace, tokens, "neo"))
    assert neo.next().data == {"entity_id": "neo/user", "revision": "3", "mem_rev": 3, "branch": False}


# --- limits, and the end -------------------------------------------------------------------------------------------


def limited(**limits):
    return lambda app: setattr(app.state, "live", Live(app, **limits))


def test_one_caller_has_so_many_streams(workspace, tokens):
    names = ["boss", "neo"]
    given = {name: token(workspace, tokens, name) for name in names}
    with running(workspace, Settings(tokens=tokens), limited(each=2, most=3)) as server:
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


def test_two_hundred_readers_are_told_by_one_watch_and_one_that_does_not_read_is_left(workspace, tokens):
    given = [token(workspace, tokens, name, person=True) for name in ("a", "b", "c", "d")]
    with running(workspace, Settings(tokens=tokens), limited(most=300)) as server:
        streams = [server.open(token=each) for each in given for _ in range(50)]
        assert len([thread for thread in threading.enumerate() if thread.name == "catmem-watch"]) == 1
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
            many = [Event(1, News("trouble", None, error=StoreError("x" * 4096)))] * 200
            while server.on_loop(lambda: slow in readers or len(readers) > len(others)):
                server.on_loop(lambda: slow.give(many))
            add(workspace, name="boss")
            assert {stream.next().data["revision"] for stream in streams} == {"1"}


def test_what_waits_for_a_reader_is_bounded(server):
    news = News("revision", "neo/user", "1")

    def play():
        reader = Reader(None, frozenset({"neo/user"}), most=3)
        reader.give([Event(1, News("revision", "boss/user", "1"))] * 10)  # it does not want these
        reader.give([Event(1, news)] * 3)
        assert not reader.over.done()
        reader.give([Event(1, news)])
        assert reader.over.done()
        return len(reader._waiting)

    assert server.on_loop(play) == 0


def test_the_watch_begins_with_the_first_reader(server):
    assert not hasattr(server.app.state, "live")
    server.open()
    assert server.app.state.live.watch.is_running


def test_streams_end_at_once_when_the_server_does(workspace):
    with running(workspace, Settings()) as server:
        streams = [server.open() for _ in range(3)]
        server.streams.clear()  # nobody closes them from here
    for stream in streams:
        with pytest.raises(EOFError):
            stream.next()
        stream.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "catmem-watch"]


def test_a_stream_is_not_cut_by_the_time_limit_of_requests(workspace):
    with running(workspace, Settings(timeout=2)) as server:
        stream = server.open()
        threading.Event().wait(2.5)
        add(workspace, name="boss")
        assert stream.revisions(1) == ["1"]


def test_a_stream_that_waits_for_the_first_look_when_the_server_ends_is_refused(workspace, monkeypatch):
    looking, ended = threading.Event(), threading.Event()

    def look(self, store, entities):
        looking.set()
        assert ended.wait(SECONDS)
        return []

    monkeypatch.setattr("catmem.service.watching.looking.Knowledge.look", look)
    found = []
    with running(workspace, Settings()) as server:
        waiting = threading.Thread(target=lambda: found.append(server.open()))
        waiting.start()
        assert looking.wait(SECONDS)
        server.on_loop(server.app.state.stopping.set)
        ended.set()
        waiting.join(SECONDS)
        assert (found[0].status, found[0].said()["code"]) == (503, "stopping")


def test_a_first_look_that_takes_long_is_waited_for_again(workspace, monkeypatch):
    monkeypatch.setattr(live, "_PATIENCE", 0.05)
    going = threading.Event()

    def look(self, store, entities):
        assert going.wait(SECONDS)
        return []

    monkeypatch.setattr("catmem.service.watching.looking.Knowledge.look", look)
    with running(workspace, Settings()) as server:
        refused = server.open()
        assert (refused.status, refused.said()["code"]) == (503, "overloaded")
        going.set()
        while server.open().status != 200:
            pass


def test_head_asks_for_the_headers_alone(server):
    with socket.create_connection(server.address, timeout=SECONDS) as client:
        client.sendall(
            b"HEAD /mem/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n"
        )
        said = b"".join(iter(lambda: client.recv(4096), b""))
    assert said.startswith(b"HTTP/1.1 200")
    assert said.endswith(b"\r\n\r\n")
