"""Writes over HTTP: envelopes, plain writes, merges and seeds, and each refusal with its status."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from catmem.jsonable import jsonable
from catmem.workspace.workspace import Workspace
from tests.http_root import plain, served_root, tag
from tests.roots import text_of
from tests.together import together

USER = {"entity_id": "neo/user"}


def envelope(served, content: str = "hello", *, agent: str | None = "neo", **fields) -> dict:
    """An envelope as an agent makes one elsewhere, from what it read."""
    change = [{"action": "add", "content": content, "category": "talk"}]
    made = jsonable(served.workspace.envelope("neo", change, agent=agent, signed=False))
    return {**made, **fields}


def refusal(response) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


# --- envelopes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sender", ["neo", None], ids=["agent", "person"])
def test_an_envelope_is_written(served, sender):
    response = served.client(sender).post("/mem/write", json=envelope(served))
    assert response.status_code == 200
    answer = response.json()
    assert (answer["entity_id"], answer["revision"], answer["mem_rev"]) == ("neo/user", "2", 2)
    assert answer["entries"][0]["body"] == "hello"
    assert response.headers["etag"] == '"2"'
    assert "hello" in text_of(served.workspace)


def test_a_prev_that_is_no_revision_yet_is_told_the_head(served, neo):
    made = envelope(served, prev_rev=7, mem_rev=8, parents=[7])
    response = neo.post("/mem/write", json=made)
    assert refusal(response) == (409, "unknown_revision")
    assert (response.json()["reason"], response.json()["head"]) == ("unknown_revision", {"rev": 1})


def test_a_change_from_outside_is_drift(served, neo):
    made = envelope(served)
    path = served.workspace.path("neo", "user")
    path.write_text(path.read_text() + "§\nby hand\n")
    response = neo.post("/mem/write", json=made)
    assert refusal(response) == (409, "drift")
    assert response.json()["head"] == {"rev": 2}
    (copy,) = path.parent.glob("USER.md.bak.*")
    assert response.json()["drift_backup"] == copy.name
    assert copy.name in response.json()["message"]
    assert str(copy.parent) not in response.text
    assert refusal(neo.post("/mem/write", json=made)) == (409, "drift")
    assert refusal(neo.post("/mem/write", json=made, headers={"If-Match": '"1"'})) == (412, "drift")


@pytest.mark.parametrize("agent", ["other", "planner", "nobody", "person"])
def test_a_token_writes_as_its_own_agent_only(served, neo, agent):
    fields = envelope(served, agent_id=agent)
    if agent == "person":
        fields = {name: value for name, value in fields.items() if not name.startswith("role_")}
    response = neo.post("/mem/write", json=fields)
    assert refusal(response) == (403, "forbidden")
    assert agent not in response.text.replace("'neo'", "")


def test_a_token_whose_agent_acts_as_another_profile_now_is_refused(served):
    planner = served.client("planner")
    config = served.workspace.root / "catmem.yaml"
    config.write_text("agents: {planner: boss}\n")
    changed = Workspace.open(served.workspace.root, search=False)
    planner.app.state.workspace = changed
    try:
        response = planner.post("/mem/write", json=envelope(served, agent="planner"))
        assert refusal(response) == (409, "role_drift")
        assert "head" not in response.json()
    finally:
        changed.store.close()


def test_signing_is_not_passed_by(tmp_path):
    signing = f"signing: {{required: true, keys: {tmp_path / 'keys'}}}\n"
    for served in served_root(tmp_path, signing):
        (tmp_path / "keys").mkdir(mode=0o700)
        response = served.client("neo").post("/mem/write", json=plain("x", prev_rev=0))
        assert refusal(response) == (403, "bad_signature")


# --- plain writes --------------------------------------------------------------------------------------------------


def test_a_plain_write_on_what_was_read_is_made(served, neo):
    """The text that was read has no history yet; it is taken in, and the write is made on it."""
    response = neo.post("/mem/write", json=plain("hello"), headers={"If-Match": tag(neo)})
    assert (response.status_code, response.json()["revision"]) == (200, "2")
    (head, first) = served.workspace.store.log("neo/user")
    assert (head.agent, head.note["envelope"]["role_id"], first.op) == ("neo", "neo", "adopt")


def test_if_match_of_an_older_text_is_a_412_and_the_head_stays(served, neo):
    old = tag(neo)
    assert neo.post("/mem/write", json=plain("first"), headers={"If-Match": old}).status_code == 200
    current = tag(neo)
    for used in (old, '"1"', ' "1" '):
        response = served.client("planner").post("/mem/write", json=plain("second"), headers={"If-Match": used})
        assert refusal(response) == (412, "stale_prev")
        assert response.json()["head"] == {"rev": 2}
    assert tag(neo) == current


def test_what_the_caller_itself_wrote_since_is_no_longer_what_was_read_but_the_tag_of_its_answer_is_good(neo):
    first = neo.post("/mem/write", json=plain("one"), headers={"If-Match": tag(neo)})
    assert refusal(neo.post("/mem/write", json=plain("two"), headers={"If-Match": '"1"'})) == (412, "stale_prev")
    second = neo.post("/mem/write", json=plain("two"), headers={"If-Match": first.headers["etag"]})
    assert second.json()["revision"] == "3"


def test_a_text_that_was_changed_by_hand_since_is_no_longer_what_was_read(served, neo):
    old = tag(neo)
    path = served.workspace.path("neo", "user")
    path.write_text(path.read_text() + "§\nby hand\n")
    assert neo.post("/mem/write", json=plain("x"), headers={"If-Match": old}).status_code == 412
    assert "by hand" in path.read_text()


def test_nothing_is_written_on_what_nobody_named(neo):
    assert refusal(neo.post("/mem/write", json=plain("x"))) == (428, "no_base")


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "op-1"}, {"Idempotency-Key": '"op-1"'}])
def test_a_plain_retry_gets_the_first_answer_again(neo, headers):
    fields = plain("hello") if headers else plain("hello", op_id="op-1")
    old = tag(neo)
    first, again = (neo.post("/mem/write", json=fields, headers=headers | {"If-Match": old}) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert (first.json()["repeated"], again.json()["repeated"]) == (False, True)
    assert first.json()["revision"] == again.json()["revision"] == "2"


def test_an_op_id_for_something_else_is_a_409(neo):
    old = tag(neo)
    neo.post("/mem/write", json=plain("hello", op_id="op-1"), headers={"If-Match": old})
    response = neo.post("/mem/write", json=plain("other", op_id="op-1"), headers={"If-Match": old})
    assert refusal(response) == (409, "hash_collision")
    assert "sha256:" not in response.text


def test_a_tag_may_name_a_branch(served, person):
    served.workspace.add("neo", "one", category="talk")
    served.workspace.add("neo", "two", category="talk", expected="1", on_stale="branch")
    response = person.post("/mem/write", json=plain("three"), headers={"If-Match": '"2a"'})
    assert refusal(response) == (412, "stale_prev")


@together("match", ['"1", "2"', "*", 'W/"1"', "1", "", '""', '"x"', '"sha256:00"', '"u12"'])
def test_a_tag_that_names_no_one_revision_is_refused(neo, match):
    assert refusal(neo.post("/mem/write", json=plain("x"), headers={"If-Match": match})) == (400, "bad_precondition")


@together(("path", "body"), [("/mem/write", plain("x", prev_rev=1, op_id="a")), ("/mem/merge", {}), ("/seed", {})])
@together(
    "headers",
    [[("If-Match", '"2"')], [("Idempotency-Key", "b")], [("If-Match", '"1"')] * 2, [("Idempotency-Key", "a")] * 2],
)
def test_headers_that_say_otherwise_or_are_not_taken_are_refused(person, path, body, headers):
    assert refusal(person.post(path, json=body, headers=headers)) == (400, "bad_precondition")


@together("headers", [{"If-Match": '"7"'}, {"Idempotency-Key": "another"}])
def test_headers_that_say_otherwise_than_an_envelope_are_refused(served, neo, headers):
    assert refusal(neo.post("/mem/write", json=envelope(served), headers=headers)) == (400, "bad_precondition")


@together(
    "change",
    [
        {"entity_id": "neo/else"}, {"entity_id": 7}, {"entity_id": "../x/user"}, {"entity_id": "neo/user\n"}, {"content": 7},
        {"content": []}, {"content": ["x"]}, {"content": [{"action": "fly"}]}, {"op_id": 7}, {"op_id": "a b"},
        {"prev_rev": "x"}, {"prev_rev": True}, {"prev_rev": -1}, {"prev_rev": 1.5},
        {"prev_rev": "9" * 30}, {"more": 1}, {"op": "1"}, {"content": {"categories": 1}},
    ],
)  # fmt: skip
def test_a_plain_write_that_is_none_is_a_422(neo, change):
    response = neo.post("/mem/write", json={**plain("x", prev_rev=0), **change})
    assert refusal(response) == (422, "schema")


def test_an_operation_that_stands_in_no_list_is_told_so(neo):
    one = {"action": "add", "category": "talk", "content": "Tea."}
    response = neo.post("/mem/write", json={"entity_id": "neo", "prev_rev": 0, "content": one})
    assert refusal(response) == (422, "schema")
    assert 'A list of operations, also of one alone: [{"action": ' in response.json()["hint"]


@together("key", ["entity_id", "content"])
def test_a_plain_write_that_lacks_a_key_is_told_which(neo, key):
    fields = plain("x", prev_rev=0)
    del fields[key]
    assert neo.post("/mem/write", json=fields).json()["key"] == key


def test_a_plain_write_to_another_profile_adopts_nothing_there(served, neo):
    path = served.workspace.root / "homes" / "other" / "USER.md"
    path.parent.mkdir(parents=True)
    path.write_text("## Talk\nby hand\n")
    response = neo.post(
        "/mem/write", json={**plain("x"), "entity_id": "other/user"}, headers={"If-Match": '"u' + "0" * 32 + '"'}
    )
    assert refusal(response) == (403, "forbidden")
    assert served.workspace.store.head("other/user") is None


# --- bodies --------------------------------------------------------------------------------------------------------


@together("path", ["/mem/write", "/mem/merge", "/seed"])
@together(
    "body",
    [
        b"", b"{", b"\xff", b'{"a": NaN}', b"[" * 100_000, b'{"a": ' * 50_000, b'{"a":1,"a":2}', b"1" * 5_000,
        b'{"entity_id": "neo/user", "content": "\\ud800", "source": "\\ud800"}'[:-1],
    ],
)  # fmt: skip
def test_a_body_that_is_not_json_is_a_400(person, path, body):
    response = person.post(path, content=body, headers={"Content-Type": "application/json"})
    assert refusal(response) == (400, "bad_json")


@together("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_of_another_type_is_a_415(person, kind):
    response = person.post("/mem/write", content=b"{}", headers={} if kind is None else {"Content-Type": kind})
    assert refusal(response) == (415, "unsupported_media")


# --- merging -------------------------------------------------------------------------------------------------------


def branch_off(served) -> None:
    """Make two branches of one revision that disagree with the head."""
    served.workspace.add("neo", "vendor is acme and partners", category="talk")
    how = {"expected": "2", "on_stale": "branch", "actor": "neo"}
    served.workspace.replace("neo", "vendor is", "vendor is beta and partners", expected="2")
    served.workspace.replace("neo", "vendor is", "vendor is gamma and partners", **how)


def test_an_agent_of_tier_1_merges_and_is_shown_no_texts(served, boss, neo):
    branch_off(served)
    assert refusal(neo.post("/mem/merge", json=USER)) == (403, "forbidden")
    conflict = boss.post("/mem/merge", json=USER)
    assert refusal(conflict) == (409, "merge_conflict")
    done = boss.post("/mem/merge", json=USER | {"precedence": "both"})
    assert done.status_code == 200
    for response in (conflict, done):
        assert "vendor" not in response.text
        assert "warnings" not in response.json()
        assert "sha256:" not in response.text


# --- seeding -------------------------------------------------------------------------------------------------------


def test_tier_1_seeds_from_its_own_files_and_is_told_numbers(served, boss, neo):
    served.workspace.add("boss", "seeded fact", category="talk")
    done = boss.post("/seed", json={"source": "boss", "targets": ["neo"]})
    assert (done.status_code, done.json()["files"][0]["added"]) == (200, 1)
    assert "seeded fact" not in done.text
    assert refusal(boss.post("/seed", json={"source": "other", "targets": ["neo"]})) == (403, "forbidden")
    assert refusal(neo.post("/seed", json={"source": "neo", "targets": ["other"]})) == (403, "forbidden")


# --- scopes --------------------------------------------------------------------------------------------------------


@together("path", ["/mem/write", "/mem/merge", "/seed", "/mem/proposals/p-0000000000/approve"])
def test_a_token_for_reading_writes_nothing(served, path):
    reader = served.client("neo", scope="read")
    assert reader.get("/mem/read", params=USER).status_code == 200
    assert reader.get("/mem/proposals").status_code == 200
    assert refusal(reader.post(path, json={})) == (403, "scope")


@together(
    ("path", "body", "code"),
    [
        ("/mem/merge", {"entity_id": "neo", "precedence": ["anna"]}, "unknown_agent"),
        ("/seed", {"source": "boss"}, "seed_target"),
    ],
)
def test_what_an_agent_did_wrong_is_told_as_that_and_not_as_a_failure_of_the_server(boss, path, body, code):
    answer = boss.post(path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert "right now" not in answer.json()["message"]
    assert "later" not in answer.json()["hint"]


# --- secrets -------------------------------------------------------------------------------------------------------


def test_a_secret_is_refused_and_a_person_may_confirm_it(served, neo, person):
    secret = plain("The token is ghp_q7Rt2LxV9bNs4KdW8mZc3PfH6jYg1TaE5uQo.")
    headers = {"If-Match": tag(person)}
    for client, how in ((neo, {}), (neo, {"confirm": "true"}), (person, {})):
        response = client.post("/mem/write", params=how, json=secret, headers=headers)
        assert refusal(response) == (422, "secret")
        assert "ghp_" not in response.text
    assert "ghp_" not in text_of(served.workspace)
    assert person.post("/mem/write", params={"confirm": "true"}, json=secret, headers=headers).status_code == 200
    assert "ghp_" in text_of(served.workspace)


# --- the name of a person is that of the token ---------------------------------------------------------------------


def written_by(served):
    """Agent and name of each revision of neo's file, the oldest first, without what was there before."""
    log = served.workspace.store.log("neo/user")
    return [(each.agent, each.note.get("person")) for each in log if each.agent != "external"][::-1]


def test_a_revision_has_the_name_of_the_token(served, person, neo, monkeypatch):
    monkeypatch.setenv("CATMEM_PERSON", "who runs the server")
    for number, client in enumerate((person, neo, person)):
        answer = client.post("/mem/write", json=plain(f"fact {number}"), headers={"If-Match": tag(client)})
        assert answer.status_code == 200, answer.text
    assert written_by(served) == [("person", "somebody"), ("neo", None), ("person", "somebody")]


def test_names_of_requests_at_the_same_time_are_not_mixed(served):
    clients = {name: served.client(label=name) for name in ("ada", "grace", "joan")}

    def write(name):
        for number in range(5):
            done = clients[name].post("/mem/write", json=plain(f"{name} {number}"))
            assert done.status_code in {200, 409, 428}, done.text
            if done.status_code != 200:
                match = {"If-Match": tag(clients[name])}
                clients[name].post("/mem/write", json=plain(f"{name} {number}"), headers=match)

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, clients))
    log = [each for each in served.workspace.store.log("neo/user") if each.agent == "person"]
    assert log
    for each in log:
        text = served.workspace.store.read("neo/user", each.revision).data.decode()
        before = served.workspace.store.read("neo/user", each.parents[0]).data.decode()
        (new,) = set(text.splitlines()) - set(before.splitlines()) - {"§"}
        assert each.note["person"] in new
