"""Ways in which an agent got past the guard without a look at the text: each found by use, and closed."""

import sqlite3
from contextlib import suppress

import pytest

from catmem import Operation, memory_tool
from catmem.entities.content_write import ContentWrite
from catmem.errors import CatmemError, DriftError
from catmem.staleness import lineage
from catmem.workspace.history import adopt, restore
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import ToolSession
from catmem.writing.request import Request
from catmem.writing.write import write
from tests.end_to_end.terminal import run
from tests.golden.case import put
from tests.refusals import refusal

TEXT = "## Projects\nUses tabs for indentation.\n§\nLikes tea.\n"
MORE = "a note of the plugin"
PROFILE = "tier: 1\nuser_memory_categories: ['*']\ninclude_uncategorized: true\n"
REMOVE = {"action": "remove", "target": "user", "old_text": "Uses tabs"}


@pytest.fixture
def ws(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", PROFILE)
    put(tmp_path / "homes" / "neo" / "USER.md", TEXT)
    return Workspace.open(tmp_path)


@pytest.fixture
def file(ws):
    ws.add("neo", "Has a cat.", target="user", category="projects")
    return ws.path("neo", "user")


def change(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def begun(ws):
    session = ToolSession()
    session.begin(ws, "neo")
    return session


def asked(ws, session, arguments=REMOVE):
    """Whether the tool does it, and the reason if not."""
    answer = memory_tool(ws, "neo", arguments, session=session)
    return answer["success"], answer.get("reason")


REFUSED, DONE = (False, "drift"), (True, None)
LIST = {"action": "list", "target": "user"}


@pytest.mark.parametrize("tag", ["created", "expires", "verified_date", "domain", "source"])
def test_words_in_a_tag_are_not_shown_by_a_prompt_nor_passed_over(ws, file, tag):
    session = begun(ws)
    change(file, "Uses tabs", f"[{tag}: {MORE}] Uses tabs")
    assert asked(ws, session, {"action": "prompt"}) == DONE
    assert asked(ws, session) == REFUSED
    assert asked(ws, session, LIST) == DONE
    assert asked(ws, session) == DONE


def test_a_date_that_another_program_gave_is_no_obstacle(ws, file):
    session = begun(ws)
    change(file, "Uses tabs", "[verified_date: 2026-11-01] Uses tabs")
    assert asked(ws, session) == DONE


BEFORE = {
    "a refusal": lambda ws, session: asked(ws, session) == REFUSED,
    "an addition": lambda ws, session: (
        asked(ws, session, {"action": "add", "content": "x", "category": "projects"}) == DONE
    ),
    "a person's write": lambda ws, _: ws.add("neo", "By hand.", target="user", category="projects").changed,
    "a person's look": lambda ws, _: adopt(ws, "neo/user"),
}


@pytest.mark.parametrize("between", BEFORE.values(), ids=BEFORE)
def test_a_new_conversation_knows_nothing_of_what_another_program_wrote(ws, file, between):
    session = begun(ws)
    change(file, "Uses tabs", f"Uses tabs, {MORE},")
    assert between(ws, session)
    assert asked(ws, begun(Workspace.open(ws.root))) == REFUSED
    # What catmem wrote, and what stood there at first, a new conversation does know.
    for wanted in ("Likes tea", "Has a cat"):
        assert asked(ws, begun(ws), {**REMOVE, "old_text": wanted}) == DONE


def test_of_a_file_that_could_not_be_read_at_the_beginning_nothing_is_known(ws):
    path = ws.path("neo", "memory")
    path.mkdir()
    session = begun(ws)
    path.rmdir()
    path.write_text(f"Uses tabs, {MORE}.\n", encoding="utf-8")
    assert asked(ws, session, {**REMOVE, "target": "memory"}) == REFUSED


# --- HTTP -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(ws, file, tmp_path):
    """A function that gives a client with a token of its own."""
    pytest.importorskip("starlette", reason="NOT TESTED: the extra server is not installed")
    from starlette.testclient import TestClient

    from catmem.envelopes.tokens import new_token
    from catmem.server.app import create_app
    from catmem.server.guard import ServerSettings
    from tests.http_root import ADDRESS

    tokens = tmp_path / "tokens" / "tokens.json"
    texts = [new_token(ws.config, tokens, "neo")[1] for _ in range(2)]
    app = create_app(ws, ServerSettings(tokens=tokens, page=False))
    return [TestClient(app, base_url=ADDRESS, headers={"Authorization": f"Bearer {text}"}) for text in texts]


READ = {"entity_id": "neo/user"}


def replaced(client):
    change = {"action": "replace", "old_text": "Uses tabs", "content": "Uses spaces."}
    match = {"If-Match": client.head("/mem/read", params=READ).headers["etag"]}
    return client.post("/mem/write", json=READ | {"content": [change]}, headers=match)


@pytest.mark.parametrize("address", ["/mem/read", "/prompt/neo"])
def test_an_answer_without_a_body_shows_nothing(served, file, address):
    client, _ = served
    change(file, "Uses tabs", f"Uses tabs, {MORE},")
    params = READ if address == "/mem/read" else {}
    assert client.head(address, params=params).status_code == 200
    assert replaced(client).json()["code"] == "drift"
    assert client.get(address, params=params).status_code == 200
    assert replaced(client).status_code == 200


def test_what_one_token_read_another_was_not_shown(served, file):
    one, other = served
    change(file, "Uses tabs", f"Uses tabs, {MORE},")
    assert one.get("/mem/read", params=READ).status_code == 200
    assert replaced(other).json()["code"] == "drift"
    assert replaced(one).status_code == 200


@pytest.mark.parametrize("has_history", [False, True])
def test_of_the_file_of_another_profile_an_agent_knows_what_it_was_shown(served, ws, has_history):
    put(ws.root / "profiles" / "trin.yaml", PROFILE)
    path, asked = put(ws.root / "homes" / "trin" / "USER.md", TEXT), {"entity_id": "trin/user"}
    if has_history:
        ws.add("trin", "Has a dog.", target="user", category="projects")
    change(path, "Uses tabs", f"Uses tabs, {MORE},")
    one, _ = served

    def removed():
        match = {"If-Match": one.head("/mem/read", params=asked).headers["etag"]}
        return one.post(
            "/mem/write", json=asked | {"content": [{"action": "remove", "old_text": "tabs"}]}, headers=match
        )

    for _ in range(2):
        assert removed().json()["code"] == "drift"
    assert one.get("/mem/read", params=asked).status_code == 200
    assert removed().status_code == 200


def test_a_root_from_flat_files_has_a_history_from_the_first_day(tmp_path):
    put(tmp_path / "flat" / "USER.md", TEXT)
    run("init", tmp_path / "root", "--start", tmp_path / "flat")
    ws = Workspace.open(tmp_path / "root")
    assert [each.agent for each in ws.store.log("orchestrator/user")] == ["external"]
    change(ws.path("orchestrator", "user"), "Uses tabs", f"Uses tabs, {MORE},")
    for _ in range(2):  # the second conversation begins after the first was refused
        session = ToolSession()
        session.begin(ws, "orchestrator")
        assert not memory_tool(ws, "orchestrator", REMOVE, session=session)["success"]


# --- whole texts that take the place of the file ---------------------------------------------------------------------


CONFIG = "version: 1\napproval: off\nentities:\n  'project:alpha': {content: json, writers: [neo]}\n"
VIEWS = {"a conversation": begun, "rights alone": lambda _: None}


@pytest.fixture(params=["files", "SQLite"])
def rooted(request, tmp_path):
    put(tmp_path / "catmem.yaml", CONFIG + ("" if request.param == "files" else "store: sqlite:///mem.db\n"))
    put(tmp_path / "profiles" / "neo.yaml", PROFILE)
    root = Workspace.open(tmp_path)
    root.add("neo", "Courier is Beta.", target="user", category="projects")
    return root


def by_another(root, old, new):
    """A change by another program that no revision has."""
    if root.config.store == "files":
        change(root.path("neo", "user"), old, new)
        return
    with sqlite3.connect(root.root / "mem.db") as rows:
        done = rows.execute("UPDATE user_memories SET content = replace(content, ?, ?)", (old, new)).rowcount
    assert done
    rows.close()


def branched(root):
    """Two words for one entry, one at the head, one in a branch."""
    root.replace("neo", "Courier", "Courier is Delta.", expected="1")
    assert root.replace("neo", "Courier", "Courier is Gamma.", expected="1", on_stale="branch").branch


def courier(root):
    return [each.body for each in root.read("neo").document.entries]


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_merge_takes_nothing_away_that_its_agent_was_not_shown(rooted, view):
    branched(rooted)
    session = view(rooted)
    by_another(rooted, "Courier is Delta.", "Courier is Delta. Contract until 2031.")
    for _ in range(3):
        refusal("drift", rooted.merge, "neo", precedence="theirs", actor="neo", session=session)
        assert courier(rooted) == ["Courier is Delta. Contract until 2031."]
    now = rooted.read("neo")
    if session is None:
        rooted.merge("neo", precedence="theirs", actor="neo", expected=now.revision or now.digest)
    else:
        assert asked(rooted, session, LIST) == DONE
        rooted.merge("neo", precedence="theirs", actor="neo", session=session)
    assert courier(rooted) == ["Courier is Gamma."]


BETWEEN = {
    "an addition": lambda root: root.add("neo", "One more.", target="user", category="projects", actor="neo"),
    "an undo": lambda root: (root.add("neo", "Slip.", target="user", category="projects"), root.undo("neo")),
    "a layout": lambda root: run("fmt", "--root", root.root),
}


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
@pytest.mark.parametrize("new", ["Courier is Beta. Contract until 2031.", "Courier is Beta.\n§\nAllergic to milk!"])
def test_no_write_in_between_makes_what_another_program_wrote_the_agents_own(ws, between, new):
    ws.add("neo", "Courier is Beta.", target="user", category="projects")
    change(ws.path("neo", "user"), "Courier is Beta.", new)
    words = new.splitlines()[-1][-12:]
    with suppress(DriftError):
        ws.remove("neo", words, actor="neo")  # it is recorded
    between(ws)
    for way in (lambda: ws.remove("neo", words, actor="neo"), lambda: restore(ws, "neo/user", "1", actor="neo")):
        for _ in range(2):
            refusal("drift", way)
    assert words in ws.path("neo", "user").read_text(encoding="utf-8")
    ws.remove("neo", words, actor="neo", expected=ws.read("neo").revision)


def test_a_title_of_another_program_stays_too(ws, file):
    change(file, "## Projects", "# About ACME\n\n## Projects")
    refusal("drift", restore, ws, "neo/user", "1", actor="neo")


def test_the_refusal_of_a_merge_shows_no_words(rooted):
    put(rooted.root / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: [other]\n")
    branched(rooted)
    session = ToolSession()
    session.begin(rooted, "boss")
    by_another(rooted, "Courier is Delta.", "Courier is Delta. Contract until 2031.")
    refused = refusal("drift", rooted.merge, "neo", precedence="theirs", actor="boss", session=session)
    assert "Courier" not in f"{refused} {refused.hint} {refused.entry}"


def test_a_merge_that_takes_nothing_away_goes_on(rooted):
    rooted.add("neo", "Likes tea.", target="user", category="projects", expected="1")
    rooted.add("neo", "Has a cat.", target="user", category="projects", expected="1", on_stale="branch")
    by_another(rooted, "Courier is Beta.", "Courier is Beta. Contract until 2031.")
    rooted.merge("neo", actor="neo")
    assert set(courier(rooted)) == {"Courier is Beta. Contract until 2031.", "Likes tea.", "Has a cat."}


def test_a_person_decides_as_before(rooted):
    branched(rooted)
    by_another(rooted, "Courier is Delta.", "Courier is Delta. Contract until 2031.")
    rooted.merge("neo", precedence="theirs")
    assert courier(rooted) == ["Courier is Gamma."]


def test_an_old_revision_that_an_agent_restores_takes_nothing_away_unseen(rooted):
    rooted.add("neo", "Likes tea.", target="user", category="projects")
    by_another(rooted, "Courier is Beta.", "Courier is Beta. Contract until 2031.")
    for _ in range(3):
        refusal("drift", restore, rooted, "neo/user", "1", actor="neo")
        assert "Courier is Beta. Contract until 2031." in courier(rooted)
    now = rooted.read("neo")
    restore(rooted, "neo/user", "1", actor="neo", expected=now.revision or now.digest)
    assert courier(rooted) == ["Courier is Beta."]


def test_a_strict_root_refuses_a_restore_once_for_a_person_too(ws, file):
    put(ws.root / "catmem.yaml", "version: 1\non_drift: refuse\n")
    strict = Workspace.open(ws.root)
    change(file, "Uses tabs", f"Uses tabs, {MORE},")
    refusal("drift", restore, strict, "neo/user", "1")
    restore(strict, "neo/user", "1")
    assert MORE not in file.read_text(encoding="utf-8")


@pytest.fixture
def declared(tmp_path):
    put(tmp_path / "catmem.yaml", CONFIG)
    put(tmp_path / "profiles" / "neo.yaml", PROFILE)
    root = Workspace.open(tmp_path)
    root.put("project:alpha", {"a": 1}, expected="0")
    return root


def written_by_another(root, text):
    put(root.root / "entities" / "project%3Aalpha" / "content.json", text)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_value_of_another_program_is_shown_before_a_merge_decides_against_it(declared, view):
    declared.put("project:alpha", {"a": 2}, expected="1")
    assert declared.put("project:alpha", {"a": 3}, expected="1", on_stale="branch").branch
    session = view(declared)
    written_by_another(declared, '{"a": 9}')
    for _ in range(3):
        refusal("drift", declared.merge, "project:alpha", precedence="theirs", actor="neo", session=session)
        assert declared.content("project:alpha").value == {"a": 9}
    now = declared.store.read("project:alpha")
    if session is None:
        declared.merge("project:alpha", precedence="theirs", actor="neo", expected=now.revision or now.digest)
    else:
        session.learn({now.digest})
        declared.merge("project:alpha", precedence="theirs", actor="neo", session=session)
    assert declared.content("project:alpha").value == {"a": 3}


def put_in(session, ws, content, *, expected):
    """Write a content as an interface does in a conversation."""
    write(ws, Request("project:alpha", content, kind=ContentWrite, expected=expected, actor="neo", session=session))


def test_a_new_conversation_reads_a_value_that_another_program_changed_once(declared):
    written_by_another(declared, '{"a": 1, "k": "EXTERNAL"}')
    declared.put(
        "project:alpha", {"a": 1, "k": "EXTERNAL", "more": 1}, expected=declared.content("project:alpha").revision
    )
    session = begun(Workspace.open(declared.root))
    head = declared.store.head("project:alpha")
    for _ in range(2):
        refusal("drift", put_in, session, declared, {"a": 3}, expected=head.revision)
    session.learn({head.digest})
    put_in(session, declared, {"a": 3}, expected=head.revision)
    assert declared.content("project:alpha").value == {"a": 3}


def test_the_conversation_of_a_declared_entity_begins_with_all_others(declared):
    session = begun(declared)
    written_by_another(declared, '{"a": 1, "EXTERNAL": "x"}')
    adopt(declared, "project:alpha")
    for _ in range(2):
        refusal("drift", put_in, session, declared, {"a": 3}, expected="2")
    assert declared.content("project:alpha").value == {"a": 1, "EXTERNAL": "x"}


@pytest.mark.parametrize("between", ["nothing", "an addition", "a look"])
def test_the_newest_revision_is_no_view_of_an_agent(ws, file, between):
    change(file, "Uses tabs", f"Uses tabs, {MORE},")
    if between == "an addition":
        ws.add("neo", "One more.", target="user", category="projects", actor="neo")
    elif between == "a look":
        adopt(ws, "neo/user")
    content = [{"action": "remove", "old_text": "Uses tabs"}]
    for _ in range(2):
        assert refusal("schema", ws.envelope, "neo", content, agent="neo").key == "prev_rev"
    with pytest.raises(CatmemError):
        ws.submit(ws.envelope("neo", content, agent="neo", prev=2))
    assert MORE in file.read_text(encoding="utf-8")
    added = [{"action": "add", "content": "By an envelope.", "category": "projects"}]
    assert ws.submit(ws.envelope("neo", added, agent="neo")).changed
    head = ws.store.head("neo/user")
    assert ws.submit(ws.envelope("neo", content, agent="neo", prev=head.revision)).changed


def test_the_history_is_asked_once_for_all_operations_of_a_write(ws, monkeypatch):
    facts = [f"Fact {number:02} is here." for number in range(30)]
    ws.write("neo", [Operation("add", content=each, category="projects") for each in facts], target="user")
    asked = []
    histories_of = lineage.histories_of
    monkeypatch.setattr(lineage, "histories_of", lambda *some: asked.append(some) or histories_of(*some))
    changes = [Operation("replace", old_text=each, content=f"{each} Still.") for each in facts]
    assert ws.write("neo", changes, actor="neo", target="user", dry_run=True).changed
    assert len(asked) < len(facts)
