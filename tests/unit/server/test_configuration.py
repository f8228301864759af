"""``catmem.yaml`` is changed while the server runs: it counts from the next request on, or nothing is written."""

from __future__ import annotations

import logging

import pytest
from starlette.testclient import TestClient

from catmem.server.app import create_app
from catmem.server.settings import Settings
from catmem.service.workspace import Workspace
from tests.golden.case import put
from tests.http_root import ADDRESS, served_root

BOSS = "tier: 1\nuser_memory_categories: ['*']\nwritable_categories: ['*']\n"


@pytest.fixture(params=["files", "sqlite:///memory.db"])
def root(request, tmp_path):
    """A root of each kind of store, and what its catmem.yaml says of that."""
    folder = tmp_path / "root"
    put(folder / "catmem.yaml", f"store: {request.param}\n")
    put(folder / "profiles" / "boss.yaml", BOSS)
    return folder


@pytest.fixture
def says(root):
    """Changes catmem.yaml."""
    first = (root / "catmem.yaml").read_text(encoding="utf-8")

    def say(text):
        (root / "catmem.yaml").write_text(first + text, encoding="utf-8")

    return say


@pytest.fixture
def client(root):
    workspace = Workspace.open(root, search=False)
    workspace.add("boss", "short answers", category="talk", tags={"verified_date": "2026-01-01"})
    with TestClient(create_app(workspace, Settings(rate=0)), base_url=ADDRESS, raise_server_exceptions=False) as here:
        yield here
    workspace.store.close()


def add(client, text, prev):
    content = [{"action": "add", "category": "talk", "content": text}]
    return client.post("/mem/write", json={"entity_id": "boss/user", "prev_rev": prev, "content": content})


def state(client):
    return client.get("/mem/read?entity_id=boss/user").json()["entries"][0]["state"]


def test_what_it_says_now_counts_from_the_next_request_on(client, says):
    assert state(client) == "stale"
    says("stale_after: 9999d\n")
    assert state(client) == "fresh"
    says("stale_after: 10d\n")
    assert state(client) == "stale"


def test_each_of_many_changes_in_a_row_counts(client, says):
    for days in range(10, 40):
        says(f"stale_after: {'9999' if days % 2 else days}d\n")
        assert state(client) == ("fresh" if days % 2 else "stale")


def test_prompts_follow_it(client, says):
    assert "(stale: " in client.get("/prompt/boss").text
    says("stale_after: 9999d\n")
    assert "(stale: " not in client.get("/prompt/boss").text


def test_a_write_that_it_forbids_is_refused_at_once(client, says):
    says("signing: {required: true, keys: /nowhere}\n")
    answer = add(client, "Unsigned.", "1")
    assert (answer.status_code, answer.json()["code"]) == (403, "bad_signature")
    says("")
    assert add(client, "Unsigned.", "1").status_code == 200


def test_what_is_written_after_it_was_changed_is_there(client, root, says):
    says("stale_after: 10d\n")
    assert add(client, "Written after the change.", "1").status_code == 200
    says("stale_after: 20d\n")
    assert add(client, "And after the next.", "2").status_code == 200
    again = Workspace.open(root, search=False)
    assert [entry.body for entry in again.read("boss").document.entries][1:] == [
        "Written after the change.",
        "And after the next.",
    ]
    again.store.close()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("signing: {required: true\n", "yaml_syntax"),
        ("stale_afte: 10d\n", "schema"),
        ("server: {rate: 5}\n", "restart_needed"),
    ],
)
def test_what_cannot_be_taken_over_keeps_everybody_from_writing_and_nobody_from_reading(client, says, text, code):
    says(text)
    assert (add(client, "Now?", "1").status_code, add(client, "Now?", "1").json()["code"]) == (503, code)
    assert state(client) == "stale"
    assert (client.get("/readyz").status_code, client.get("/readyz").json()["code"]) == (503, code)
    assert client.get("/healthz").status_code == 200
    shown = client.get("/page/lint")
    assert (shown.status_code, "Nothing can be changed here now" in shown.text) == (200, True)
    says("")
    assert client.get("/readyz").status_code == 200
    assert "Nothing can be changed here now" not in client.get("/page/lint").text
    assert add(client, "Now.", "1").status_code == 200


def test_a_file_that_goes_away_is_no_file_that_allows_everything(client, root, says):
    (root / "catmem.yaml").unlink()
    assert (add(client, "Now?", "1").status_code, client.get("/readyz").json()["code"]) == (503, "config_gone")
    says("")
    assert add(client, "Now.", "1").status_code == 200


def test_another_store_is_not_taken_over(client, root, says):
    other = "sqlite:///memory.db" if "files" in (root / "catmem.yaml").read_text(encoding="utf-8") else "files"
    (root / "catmem.yaml").write_text(f"store: {other}\n", encoding="utf-8")
    assert (add(client, "Now?", "1").status_code, client.get("/readyz").json()["code"]) == (503, "restart_needed")


def test_how_a_page_looks_can_be_chosen_all_the_same(client, says):
    says("stale_afte: 10d\n")
    answer = client.post("/page/theme", data={"theme": "dark", "back": "/"}, follow_redirects=False)
    assert answer.status_code == 303


def test_an_agent_is_not_told_what_is_wrong_with_it(tmp_path):
    for served in served_root(tmp_path):
        neo = served.client("neo")
        (served.workspace.root / "catmem.yaml").write_text("secret_key: [\n", encoding="utf-8")
        answer = neo.post("/mem/write", json={})
        assert (answer.status_code, answer.json()["code"]) == (503, "yaml_syntax")
        assert "catmem.yaml" not in answer.text
        assert "secret" not in answer.text


def test_the_log_tells_of_it_once(client, says, caplog):
    caplog.set_level(logging.WARNING, "catmem.server")
    says("stale_afte: 10d\n")
    for _ in range(3):
        state(client)
    says("stale_after: 10d\n")
    state(client)
    said = [record.message for record in caplog.records if "catmem.yaml" in record.message]
    assert ["not taken over" in said[0], "right again" in said[1], "in force" in said[2], len(said)] == [True] * 3 + [3]


def test_pages_follow_it_and_metrics_go_on(client, says):
    assert client.get("/metrics").status_code == 200
    assert "short answers" in client.get("/page/queue").text
    says("stale_after: 9999d\n")
    assert "short answers" not in client.get("/page/queue").text
    assert client.get("/").status_code == 200
    assert client.get("/metrics").status_code == 200
