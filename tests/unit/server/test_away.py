"""What a server tells while its root is away or takes no writes: that, and never that nothing is there."""

from contextlib import ExitStack, contextmanager

import pytest

from tests.end_to_end.terminal import run_json
from tests.http_root import AGENTS, plain, served_root
from tests.unit.store.sql.test_writable import immutable

READS = ("/mem/head?entity_id=neo", "/mem/read?entity_id=neo", "/mem/log?entity_id=neo", "/prompt/neo")


def written(client, text, mem_rev):
    return client.post("/mem/write", json=plain(text, prev_rev=mem_rev))


@pytest.fixture(params=["files", "sqlite:///.catmem/memory.db"])
def served(request, tmp_path):
    for served in served_root(tmp_path, f"{AGENTS}store: {request.param}\n"):
        served.workspace.add("neo", "Kept.", category="talk")
        yield served


def base(client):
    return client.get("/mem/head?entity_id=neo").json()["mem_rev"]


def refused(client, path):
    answer = client.get(path)
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize("served", ["sqlite:///.catmem/memory.db"], indirect=True)
def test_a_database_that_is_away_is_told_and_is_there_again_when_it_is_back(served):
    root, neo, person = served.workspace.root, served.client("neo"), served.client()
    before = base(neo)
    assert [neo.get(path).status_code for path in READS] == [200] * len(READS)
    (root / ".catmem" / "memory.db").rename(root / "aside.db")
    assert [refused(neo, path) for path in (*READS, "/readyz")] == [(503, "database_gone")] * 5
    assert {each["code"] for each in person.get("/mem/branches").json()["unreadable"]} == {"database_gone"}
    assert "not there any more" in person.get("/", headers={"Accept": "text/html"}).text
    assert person.get("/page/files/neo/user", headers={"Accept": "text/html"}).status_code == 503
    answer = written(neo, "Never.", before)
    assert (answer.status_code, answer.json()["code"]) == (503, "database_gone")
    assert str(root) not in answer.text
    assert not (root / ".catmem" / "memory.db").exists()
    (root / "aside.db").rename(root / ".catmem" / "memory.db")
    assert base(neo) == before
    assert "Kept." in neo.get("/prompt/neo").text
    assert written(neo, "After.", before).status_code == 200
    assert neo.get("/readyz").status_code == 200


def test_while_the_whole_root_is_away_nobody_is_told_that_it_is_empty(served):
    root, neo, boss, person = served.workspace.root, *map(served.client, ("neo", "boss", None))
    before = base(neo)
    away = root.rename(root.with_name("away"))
    for client in (neo, boss, person):
        for path in (*READS, "/mem/branches", "/readyz"):
            assert refused(client, path)[0] == 503
        assert written(client, "Never.", before).status_code == 503
    assert person.get("/", headers={"Accept": "text/html"}).status_code == 503
    assert person.get("/metrics").status_code == 200
    assert not root.exists()
    away.rename(root)
    assert [neo.get(path).status_code for path in READS] == [200] * len(READS)
    assert written(neo, "After.", before).status_code == 200


def test_a_root_whose_disk_is_not_mounted_is_not_ready(served):
    root, person = served.workspace.root, served.client()
    away = root.rename(root.with_name("away"))
    root.mkdir()
    assert refused(person, "/readyz") == (503, "missing")
    assert refused(person, "/mem/read?entity_id=neo") == (503, "missing")
    assert written(person, "Never.", 0).status_code == 503
    assert not list(root.rglob("*.md"))
    root.rename(root.with_name("empty"))
    away.rename(root)
    assert person.get("/readyz").status_code == 200


def test_while_the_profiles_are_away_no_name_is_said_to_be_none(served):
    root, neo, person = served.workspace.root, served.client("neo"), served.client()
    (root / "profiles").rename(root / "aside")
    for client in (neo, person):
        assert refused(client, "/mem/read?entity_id=neo") == (503, "missing")
    (root / "aside").rename(root / "profiles")
    assert neo.get("/mem/read?entity_id=neo").status_code == 200


ASKED = (
    ("GET", "/mem/head?entity_id=neo", None),
    ("GET", "/mem/read?entity_id=boss", None),
    ("GET", "/mem/log?entity_id=x", None),
    ("GET", "/mem/branches", None),
    ("GET", "/mem/changes?since=neo", None),
    ("GET", "/prompt/neo", None),
    ("GET", "/prompt/boss", None),
    ("POST", "/mem/write", plain("Never.", prev_rev=0)),
    ("POST", "/mem/merge", {"entity_id": "neo"}),
    ("POST", "/seed", {"source": "neo"}),
)


def test_an_agent_without_its_profile_hears_of_nobody_else(served):
    root, neo = served.workspace.root, served.client("neo")
    (root / "profiles" / "secret-merger.yaml").write_text("name: secret-merger\n", encoding="utf-8")
    (root / "profiles" / "neo.yaml").unlink()
    for method, path, body in ASKED:
        answer = neo.request(method, path, json=body)
        assert answer.status_code in {403, 404, 409}, path
        assert "secret" not in answer.text
        assert "boss" not in answer.text


# --- whether it can be written --------------------------------------------------------------------------------------


@contextmanager
def unwritable(served):
    """While nothing in the store can be written; afterwards it can be again."""
    root = served.workspace.root
    parts = ["homes", "homes/neo"] if served.workspace.config.store == "files" else [".catmem/memory.db"]
    with ExitStack() as stack:
        for part in parts:
            stack.enter_context(immutable(root / part))
        yield


def readied(client):
    answer = client.get("/readyz")
    return answer.status_code, answer.json().get("code")


def test_a_store_that_cannot_be_written_is_not_ready_before_and_after_a_write_fails(served):
    person, workspace = served.client(), served.workspace
    assert readied(person) == (200, None)
    workspace.store.close()  # a server that is started now
    with unwritable(served):
        assert readied(person) == (503, "not_writable")
        told = person.post("/mem/write", json=plain("Two."), headers={"If-Match": "*"})
        assert told.status_code >= 400
        assert readied(person) == (503, "not_writable")
        assert person.get("/healthz").status_code == 200
    assert readied(person) == (200, None)
    assert workspace.add("neo", "Three.", category="talk").changed


@pytest.mark.parametrize("served", ["sqlite:///.catmem/memory.db"], indirect=True)
def test_the_doctor_tells_of_a_database_that_cannot_be_written(served):
    with unwritable(served):
        (report,) = run_json("doctor", "--root", served.workspace.root)["folders"]
        (writes,) = [feature for feature in report["features"] if feature["name"] == "writes"]
    assert (writes["there"], "nothing is written" in writes["means"]) == (False, True)
