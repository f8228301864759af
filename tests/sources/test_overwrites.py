"""The page on memory overwrites: two writers of one entity, in its own order, with curl against `catmem serve`."""

import hashlib
import hmac
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from catmem.envelopes.agents import new_key, role_hash, signing_key
from catmem.envelopes.envelope import content_hash, from_fields
from catmem.envelopes.tokens import new_token
from catmem.jsonable import jsonable
from catmem.workspace.workspace import Workspace
from tests.end_to_end.test_serve import SECONDS, serving
from tests.golden.case import put

CONFIG = """\
version: 1
agents: {tank: trinity}
entities:
  "project:alpha": {content: json, writers: [neo, trinity], readers: [mouse]}
  "notes:alpha": {content: text, writers: [neo, trinity]}
"""
ENTITY = "project:alpha"
SEVENTH = {"vendor": "Acme", "budget": 700, "rates": {"gbp": 1.25}, "owners": ["neo", None], "open": True}


def curl(url: str, *options: str, token: str, body: Any = None) -> tuple[int, bytes]:
    """Status and body of an answer, as curl gets them."""
    command = ["curl", "--silent", "--show-error", "--max-time", str(SECONDS), "--include", *options]
    command += ["--header", f"Authorization: Bearer {token}"]
    if body is not None:
        command += ["--header", "Content-Type: application/json", "--data-binary", "@-"]
    sent = None if body is None else json.dumps(body).encode()
    result = subprocess.run([*command, url], input=sent, capture_output=True, check=True, timeout=SECONDS)
    head, _, rest = result.stdout.partition(b"\r\n\r\n")
    return int(head.split()[1]), rest


class Office:
    """A root that is served, with a token for each agent."""

    def __init__(self, root: Path, tokens: Path) -> None:
        self.root = root
        config = Workspace.open(root, search=False).config
        names = ("neo", "trinity", "tank", "mouse", "switch", "boss")
        self.tokens = {agent: new_token(config, tokens, agent)[1] for agent in names}
        self.url = ""

    def get(self, agent: str, path: str, **asked: Any) -> tuple[int, Any]:
        query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in asked.items())
        status, said = curl(f"{self.url}{path}?{query}", token=self.tokens[agent])
        return status, json.loads(said)

    def write(self, agent: str, content: Any, parents: list[Any], **fields: Any) -> tuple[int, Any]:
        body = {"entity_id": ENTITY, "content": content, "parents": parents, **fields}
        return self.post(agent, "/mem/write", body)

    def post(self, agent: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        status, said = curl(f"{self.url}{path}", token=self.tokens[agent], body=body)
        return status, json.loads(said)

    def post_text(self, agent: str, text: str) -> tuple[int, Any]:
        """What no JSON library would send."""
        body = self.root.parent / "body.json"
        body.write_text(text, encoding="utf-8")
        options = ("--header", "Content-Type: application/json", "--data-binary", f"@{body}")
        status, said = curl(f"{self.url}/mem/write", *options, token=self.tokens[agent])
        return status, json.loads(said)

    def workspace(self) -> Workspace:
        return Workspace.open(self.root, search=False)


@contextmanager
def opened(folder: Path, store: str) -> Iterator[Office]:
    """``project:alpha`` is at revision 7, and two may write it."""
    root, tokens = folder / "root", folder / "tokens" / "tokens.json"
    put(root / "catmem.yaml", f"{CONFIG}store: {store}\n")
    for name in ("neo", "trinity", "mouse", "switch"):
        put(root / "profiles" / f"{name}.yaml", "user_memory_categories: ['*']\nwritable_categories: ['*']\n")
    put(root / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    workspace = Workspace.open(root, search=False)
    for number in range(7):
        workspace.put(ENTITY, {**SEVENTH, "budget": (number + 1) * 100}, expected=number, actor="neo")
    workspace.store.close()
    office = Office(root, tokens)
    with serving(root, "--tokens", str(tokens)) as server:
        office.url = server.url
        yield office
        server.stop()


@pytest.fixture(params=["files", "sqlite:///.catmem/memory.db"], ids=["files", "sqlite"])
def story(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    with opened(tmp_path, request.param) as office:
        yield office


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with opened(tmp_path, "files") as office:
        yield office


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """One for tests after which ``project:alpha`` is at revision 7 still."""
    with opened(tmp_path_factory.mktemp("office"), "files") as office:
        yield office


def hash_of(value: Any) -> str:
    """SHA-256 of the canonical JSON, as any program makes it."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def envelope(office: Office, agent: str, content: Any, parents: list[Any], **changes: Any) -> dict[str, Any]:
    """An envelope as the page prints it."""
    workspace = office.workspace()
    role = workspace.profile(workspace.config.agents.get(agent, agent))
    prev = parents[0] if parents else 0
    number = int(str(prev).rstrip("abcdefgh")) + 1
    return {
        "entity_id": ENTITY,
        "agent_id": agent,
        "role_id": f"{role.name}@v3",
        "role_hash": role_hash(role),
        "op_id": f"{agent}:session-42#7",
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "mem_rev": number,
        "prev_rev": prev,
        "parents": parents,
        "mem_hash": content_hash(content),
        "content": content,
        **changes,
    }


# --- two writers ---------------------------------------------------------------------------------------------------


def test_two_writers_of_revision_7_lose_nothing(story: Office) -> None:
    seen = [story.get(agent, "/mem/read", entity_id=ENTITY) for agent in ("neo", "trinity")]
    assert [(status, said["mem_rev"], said["content"]) for status, said in seen] == [(200, 7, SEVENTH)] * 2

    eighth = {**SEVENTH, "vendor": "Bolt"}
    status, said = story.write("neo", eighth, [7], op_id="neo:session-42#7")
    assert (status, said["mem_rev"], said["digest"]) == (200, 8, hash_of(eighth))

    wanted = {**SEVENTH, "budget": 900}
    status, refusal = story.write("trinity", wanted, [7], op_id="trinity:session-9#1")
    assert (status, refusal["reason"], refusal["head"]) == (409, "stale_prev", {"rev": 8, "hash": hash_of(eighth)})
    assert (refusal["expected"], refusal["found"]) == ("7", "8")

    status, said = story.get("trinity", "/mem/read", entity_id=ENTITY)
    assert (said["mem_rev"], said["content"]) == (8, eighth)
    ninth = {**said["content"], "budget": 900}
    status, said = story.write("trinity", ninth, [8], op_id="trinity:session-9#2")
    assert (status, said["mem_rev"], said["repeated"]) == (200, 9, False)
    assert story.get("mouse", "/mem/read", entity_id=ENTITY)[1]["content"] == ninth

    # Neither heard its answer, and both ask again: the first answers stand, and nothing is written twice.
    for agent, content, parents, number in (("neo", eighth, [7], 8), ("trinity", ninth, [8], 9)):
        op_id = {"neo": "neo:session-42#7", "trinity": "trinity:session-9#2"}[agent]
        status, said = story.write(agent, content, parents, op_id=op_id)
        assert (status, said["mem_rev"], said["repeated"]) == (200, number, True)
    status, refusal = story.write("neo", {"other": "content"}, [9], op_id="neo:session-42#7")
    assert (status, refusal["reason"]) == (409, "hash_collision")

    revisions = story.get("mouse", "/mem/log", entity_id=ENTITY, limit=2)[1]["revisions"]
    assert [(each["revision"], each["parents"], each["agent"]) for each in revisions] == [
        ("9", ["8"], "trinity"),
        ("8", ["7"], "neo"),
    ]
    assert story.get("mouse", "/mem/read", entity_id=ENTITY, revision="8")[1]["content"] == eighth


def test_the_second_saves_a_branch_and_merges_both_with_several_parents(story: Office) -> None:
    put(story.root / "catmem.yaml", f"{(story.root / 'catmem.yaml').read_text()}on_stale: branch\n")
    workspace = story.workspace()
    first, second = ({**SEVENTH, "vendor": "Bolt"}, {**SEVENTH, "budget": 900})
    written = [
        workspace.submit(envelope(story, agent, content, [7], op_id=f"{agent}:session-1#1"))
        for agent, content in (("neo", first), ("tank", second))
    ]
    assert [(each.revision, each.branch) for each in written] == [("8", False), ("8a", True)]
    (branch,) = workspace.branches(ENTITY)
    assert (branch.revision, branch.base, branch.state, branch.conflicts) == ("8a", "7", "merges", 0)
    workspace.store.close()

    both = {**first, "budget": 900}
    merge = envelope(story, "tank", both, [8, "8a"])
    assert story.post("tank", "/mem/write", merge)[0] == 200
    status, said = story.post("tank", "/mem/write", merge)
    assert (status, said["mem_rev"], said["repeated"]) == (200, 9, True)
    assert story.get("boss", "/mem/branches", entity_id=ENTITY)[1]["branches"] == []
    newest = story.get("neo", "/mem/log", entity_id=ENTITY, limit=1)[1]["revisions"][0]
    assert (newest["revision"], newest["parents"]) == ("9", ["8", "8a"])
    assert story.get("neo", "/mem/read", entity_id=ENTITY)[1]["content"] == both


@pytest.mark.parametrize("winner", ["ours", "theirs"])
def test_the_server_merges_by_key_and_leaves_a_key_that_both_changed(story: Office, winner: str) -> None:
    workspace = story.workspace()
    head = {**SEVENTH, "vendor": "Bolt", "budget": 900, "rates": {"gbp": 1.25, "eur": 1.1}}
    workspace.put(ENTITY, head, expected=7, actor="neo")
    late = {**SEVENTH, "vendor": "Ink", "owners": [], "rates": {"gbp": 1.3}}
    workspace.put(ENTITY, late, expected=7, actor="trinity", on_stale="branch")
    workspace.store.close()
    status, said = story.post("trinity", "/mem/merge", {"entity_id": ENTITY})
    (conflict,) = said["conflicts"]
    assert (status, conflict["category"], conflict["ours"], conflict["theirs"]) == (409, "/vendor", '"Bolt"', '"Ink"')
    assert said["head"] == {"rev": 8, "hash": hash_of(head)}
    assert story.post("mouse", "/mem/merge", {"entity_id": ENTITY, "precedence": winner})[0] == 403
    assert story.get("neo", "/mem/read", entity_id=ENTITY)[1]["content"] == head
    assert len(story.get("boss", "/mem/branches", entity_id=ENTITY)[1]["branches"]) == 1
    assert story.post("trinity", "/mem/merge", {"entity_id": ENTITY, "precedence": winner})[0] == 200
    merged = {
        **head,
        "owners": [],
        "rates": {"gbp": 1.3, "eur": 1.1},
        "vendor": {"ours": "Bolt", "theirs": "Ink"}[winner],
    }
    assert story.get("neo", "/mem/read", entity_id=ENTITY)[1]["content"] == merged


def test_a_list_of_agents_settles_what_both_changed_key_by_key(story: Office) -> None:
    """The agent that counts is the one who changed that key, not the one who wrote last."""
    workspace = story.workspace()
    eighth = {**SEVENTH, "vendor": "Bolt"}
    workspace.put(ENTITY, eighth, expected=7, actor="trinity")
    workspace.put(ENTITY, {**eighth, "budget": 800}, expected=8, actor="neo")
    late = {**SEVENTH, "vendor": "Ink", "budget": 900, "open": False}
    workspace.put(ENTITY, {**SEVENTH, "vendor": "Ink"}, expected=7, actor="neo", on_stale="branch")
    workspace.put(ENTITY, late, expected="8a", actor="trinity", on_stale="branch")
    workspace.store.close()
    status, said = story.post("trinity", "/mem/merge", {"entity_id": ENTITY, "precedence": ["nobody"]})
    assert (status, said["code"]) == (422, "unknown_agent")
    status, said = story.post("trinity", "/mem/merge", {"entity_id": ENTITY, "precedence": ["mouse"]})
    makers = {each["category"]: (each["ours_by"], each["theirs_by"]) for each in said["conflicts"]}
    assert (status, makers) == (409, {"/budget": ("neo", "trinity"), "/vendor": ("trinity", "neo")})
    status, said = story.post("trinity", "/mem/merge", {"entity_id": ENTITY, "precedence": ["neo", "trinity"]})
    assert (status, {each["category"]: each["taken"] for each in said["settled"]}) == (
        200,
        {"/budget": "ours", "/vendor": "theirs"},
    )
    settled = {**SEVENTH, "vendor": "Ink", "budget": 800, "open": False}
    assert story.get("neo", "/mem/read", entity_id=ENTITY)[1]["content"] == settled


# --- the envelope --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["a text", 7, None, [1, {"b": []}], {"ä": 0.5, "a": -1}, False])
def test_an_envelope_holds_any_json_value(office: Office, content: Any) -> None:
    status, said = office.post("tank", "/mem/write", envelope(office, "tank", content, [7]))
    assert (status, said["mem_rev"], said["digest"]) == (200, 8, hash_of(content))
    assert office.get("neo", "/mem/read", entity_id=ENTITY)[1]["content"] == content
    made = jsonable(office.workspace().envelope(ENTITY, content, agent="tank"))
    assert made["content"] == content
    assert office.post("tank", "/mem/write", made)[0] == 200
    status, said = office.write("neo", content, [8])
    assert (status, said["digest"], said["changed"]) == (200, hash_of(content), False)


def test_an_envelope_may_wait_in_a_queue_if_it_is_not_signed(office: Office) -> None:
    old = (datetime.now(UTC) - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    late = envelope(office, "neo", {"a": 1}, [7], timestamp=old)
    config = office.workspace().config
    new_key(config, "neo")
    key = signing_key(config, "neo")
    assert key is not None
    signed = jsonable(from_fields(late).signed(key.key_id, key.secret))
    status, refusal = office.post("neo", "/mem/write", signed)
    assert (status, refusal["code"]) == (422, "clock_skew")
    ahead = (datetime.now(UTC) + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert office.post("neo", "/mem/write", {**late, "timestamp": ahead})[1]["code"] == "clock_skew"
    assert office.post("neo", "/mem/write", late)[0] == 200

    put(office.root / "catmem.yaml", f"{CONFIG}signing: {{clock_skew_for: all}}\n")
    with pytest.raises(Exception, match="the time of this envelope is before the time here"):
        office.workspace().submit({**late, "op_id": "neo:session-42#8"})


def test_parents_that_are_unknown_or_stand_in_another_order_are_refused(story: Office) -> None:
    for parents in ([7, "7z"], [9]):
        status, said = story.post("neo", "/mem/write", envelope(story, "neo", 1, parents))
        assert (status, said["code"]) == (409, "unknown_revision")
    for wrong in ([6, 7], [7, 7], []):
        body = envelope(story, "neo", 1, [7]) | {"parents": wrong}
        assert story.post("neo", "/mem/write", body)[1]["key"] == "parents"
    body = envelope(story, "neo", {"a": 1}, [7]) | {"mem_hash": content_hash({"a": 2})}
    assert story.post("neo", "/mem/write", body)[1]["code"] == "bad_hash"
    assert story.get("neo", "/mem/head", entity_id=ENTITY)[1]["mem_rev"] == 7


def test_an_envelope_without_parents_is_made_on_its_prev_rev(office: Office) -> None:
    """The page prints ``parents`` beside ``prev_rev``; a program that sends only the second says the same."""
    for number, prev in ((8, 7), (9, 8)):
        body = envelope(office, "neo", {"a": number}, [prev], op_id=f"neo:session-42#{number}")
        del body["parents"]
        status, said = office.post("neo", "/mem/write", body)
        assert (status, said.get("mem_rev")) == (200, number), said
        status, said = office.post("neo", "/mem/write", body)
        assert (status, said["mem_rev"], said["repeated"]) == (200, number, True)
    newest = office.get("neo", "/mem/log", entity_id=ENTITY, limit=1)[1]["revisions"][0]
    assert newest["parents"] == ["8"]
    late = envelope(office, "trinity", {"a": 0}, [7])
    del late["parents"]
    assert office.post("trinity", "/mem/write", late)[0] == 409
    first = envelope(office, "neo", "x", [], entity_id="notes:alpha", op_id="neo:session-42#10")
    del first["parents"]
    assert office.post("neo", "/mem/write", first)[0] == 200


def test_a_signature_is_over_the_fields_that_are_sent(office: Office) -> None:
    """So nobody can add parents that a signed envelope does not have, or take away those that it has."""
    config = office.workspace().config
    new_key(config, "neo")
    key = signing_key(config, "neo")
    assert key is not None

    def signed(body: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(body | {"key_id": key.key_id}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        digest = hmac.new(key.secret, text.encode(), hashlib.sha256).hexdigest()
        return body | {"key_id": key.key_id, "signature": f"hmac-sha256:{digest}"}

    def without(body: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in body.items() if name != "parents"}

    whole = envelope(office, "neo", {"a": 1}, [7])
    for forged in (without(signed(whole)), signed(without(whole)) | {"parents": [7]}):
        status, said = office.post("neo", "/mem/write", forged)
        assert (status, said["code"]) == (403, "bad_signature")
    for number, body in ((8, without(whole)), (8, whole)):
        status, said = office.post("neo", "/mem/write", signed(body))
        assert (status, said.get("mem_rev")) == (200, number), said


# --- who may -------------------------------------------------------------------------------------------------------


def test_who_is_not_named_learns_nothing_of_an_entity(unchanged: Office) -> None:
    for path in ("/mem/head", "/mem/read", "/mem/log", "/mem/branches", "/mem/changes"):
        given = "since" if path == "/mem/changes" else "entity_id"
        answers = [unchanged.get("switch", path, **{given: name}) for name in (ENTITY, "project:other")]
        assert {status for status, _ in answers} == {404}, path
        here, there = (json.dumps(said).replace(name, "?") for (_, said), name in zip(answers, NAMES, strict=True))
        assert here == there
    forms = {"plain": {"content": 1, "prev_rev": 0}, "envelope": envelope(unchanged, "switch", 1, []), "merge": {}}
    for form, body in forms.items():
        path = "/mem/merge" if form == "merge" else "/mem/write"
        answers = [unchanged.post("switch", path, {**body, "entity_id": name}) for name in NAMES]
        here, there = (json.dumps(said).replace(name, "?") for (_, said), name in zip(answers, NAMES, strict=True))
        assert (answers[0][0], here) == (answers[1][0], there)
        assert answers[0][0] in {403, 404}


NAMES = (ENTITY, "project:other")


def test_a_reader_reads_and_does_not_write(office: Office) -> None:
    assert office.get("mouse", "/mem/head", entity_id=ENTITY)[1]["mem_rev"] == 7
    assert office.write("mouse", {"a": 1}, [7])[0] == 403
    assert office.post("mouse", "/mem/write", envelope(office, "mouse", 1, [7]))[0] == 403
    assert office.write("boss", {"a": 1}, [7])[0] == 200
    status, prompt = curl(f"{office.url}/prompt/neo", token=office.tokens["neo"])
    assert (status, b"Acme" in prompt) == (200, False)


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (f'{{"a": "{"x" * 1_048_576}"}}', 413, "over the limit of 1,048,576"),
        (f'{{"a": "{"x" * 1_000_000}"}}', 413, "over the limit of 1,000,000"),
        (f"{'[' * 1000}{']' * 1000}", 400, "too deep"),
        (f"{'[' * 70}{']' * 70}", 400, "nested deeper than 64 levels"),
        ('{"a": 1, "a": 2}', 400, "the key 'a' is given twice"),
        ("NaN", 400, "NaN is no JSON"),
        ("1e999", 400, "'1e999' is too large a number"),
        ('"\\ud800"', 400, "lone surrogate"),
    ],
    ids=["1 MiB", "a million", "1,000 deep", "70 deep", "a key twice", "NaN", "infinite", "half a character"],
)
def test_a_content_that_cannot_be_kept_is_refused(unchanged: Office, content: str, status: int, words: str) -> None:
    found, said = unchanged.post_text("neo", f'{{"entity_id": "{ENTITY}", "prev_rev": 7, "content": {content}}}')
    assert (found, words in said["message"]) == (status, True), said
    assert unchanged.get("neo", "/mem/head", entity_id=ENTITY)[1]["mem_rev"] == 7


def test_a_text_entity_takes_text_alone(office: Office) -> None:
    for content in ({"a": 1}, ["one"], 7, True, None):
        body = {"entity_id": "notes:alpha", "content": content, "prev_rev": 0}
        status, said = office.post("neo", "/mem/write", body)
        assert (status, said["code"]) == (422, "bad_content")
    status, said = office.post(
        "neo", "/mem/write", {"entity_id": "notes:alpha", "content": "one\ntwo\n", "parents": []}
    )
    assert (status, said["mem_rev"]) == (200, 1)
    assert office.get("trinity", "/mem/read", entity_id="notes:alpha")[1]["content"] == "one\ntwo\n"


@pytest.mark.parametrize(
    "name", ["../x", " ", "", "project:", "x" * 300, "p:" + "x" * 300, "project:Alpha", "a:b/user"]
)
def test_a_name_that_no_entity_can_have_is_refused_with_the_rule(unchanged: Office, name: str) -> None:
    status, said = unchanged.get("neo", "/mem/head", entity_id=name)
    assert status == 400
    assert "one that catmem.yaml declares" in said["hint"]
    status, said = unchanged.post("neo", "/mem/write", {"entity_id": name, "content": "x", "prev_rev": 0})
    assert (status, said["code"], "a kind and a name with ':' between" in said["hint"]) == (422, "schema", True)


@pytest.mark.parametrize("name", ["neo/user", "../x", " ", "neo", "p:" + "x" * 300, "project:Alpha", "project:../x"])
def test_such_a_name_in_catmem_yaml_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    put(tmp_path / "catmem.yaml", f'version: 1\nentities:\n  "{name}": {{content: json}}\n')
    with pytest.raises(Exception, match="cannot be declared") as caught:
        Workspace.open(tmp_path, search=False)
    assert (caught.value.code, caught.value.line) == ("schema", 3)  # type: ignore[attr-defined]
    assert "a kind and a name with ':' between" in caught.value.hint  # type: ignore[attr-defined]
