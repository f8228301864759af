"""A root over a kind of store that catmem does not come with: an entry in the table and a form are all that it takes."""

from __future__ import annotations

import fcntl
import json

import pytest
from starlette.testclient import TestClient

from catmem import known_files, resources
from catmem.config import json_schema
from catmem.envelopes.tokens import new_token
from catmem.registry import registry
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.workspace.change_feed import Watch
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import error_of, run, run_json, write_root
from tests.golden.case import put
from tests.store import dict_store
from tests.store.dict_store import DictStore

STORE = resources.schema("config")["properties"]["store"]


@pytest.fixture
def dicts(monkeypatch, tmp_path):
    """The new kind of store: what its plugin adds, and its form in the schema of catmem.yaml."""
    monkeypatch.setitem(registry().stores, "dict", "tests.store.dict_store:DICT")
    monkeypatch.setitem(STORE, "pattern", STORE["pattern"].replace(")", "|dict:.+)"))
    monkeypatch.setattr(known_files, "_FOLDER", tmp_path / "valid")  # what is valid here is so by this schema alone
    monkeypatch.setattr(json_schema, "schema_text", lambda name: json.dumps(resources.schema(name)))


@pytest.fixture
def root(dicts, tmp_path):
    """A root on the new store, to which the files of another were copied; the files themselves are gone."""
    file = write_root(tmp_path)
    run("store", "copy", "files", "dict:memory.json", "--root", tmp_path)
    config = tmp_path / "catmem.yaml"
    config.write_text(f"store: dict:memory.json\n{config.read_text()}")
    file.unlink()
    return tmp_path


def test_the_schema_of_the_configuration_has_the_form_of_every_store():
    assert [form.partition(":")[0] for form in STORE["pattern"].strip("^()$").split("|")] == [
        "files",
        *registry().stores,
    ]


def test_entries_are_written_and_read(root):
    run("add", "Uses tabs.", "-p", "neo", "-c", "rules", "--root", root)
    assert "Uses tabs." in run("list", "-p", "neo", "--root", root).stdout
    assert "Uses tabs." in run("prompt", "neo", "--root", root).stdout
    assert "Uses tabs." in run("search", "tabs", "-p", "neo", "--root", root).stdout
    assert not (root / "homes" / "neo" / "USER.md").exists()
    assert "Uses tabs." in Workspace.open(root).read("neo").document.text


def test_the_history_is_kept_and_can_be_gone_back_in(root):
    run("add", "Uses tabs.", "-p", "neo", "-c", "rules", "--root", root)
    log = run_json("log", "neo/user", "--root", root)["revisions"]
    assert [(each["revision"], each["op"], each["agent"]) for each in log] == [
        ("2", "put", "person"),
        ("1", "adopt", "external"),
    ]
    run("restore", "neo/user", "1", "--root", root)
    assert "Uses tabs." not in run("list", "-p", "neo", "--root", root).stdout
    run("add", "On an old view.", "-p", "neo", "-c", "rules", "--expected", "1", "--on-stale", "branch", "--root", root)
    run("merge", "neo/user", "2a", "--root", root)
    assert "On an old view." in run("list", "-p", "neo", "--root", root).stdout


def test_the_store_is_looked_after(root):
    assert run_json("fsck", "--root", root) == {"damaged": False, "faults": [], "done": [], "unreadable": []}
    (folder,) = run_json("doctor", "--root", root)["folders"]
    assert (folder["path"], folder["file_system"], folder["records"]) == (str(root / "memory.json"), "JSON", 1)
    anchor = run("fsck", "--anchors", "--root", root).stdout
    put(root / "anchors", anchor)
    run("fsck", "--check", root / "anchors", "--root", root)
    assert [each["entity"] for each in run_json("store", "info", "--root", root)["entities"]] == ["neo/user"]
    run("lint", "--root", root, "--format", "json")
    assert error_of("fmt", "--root", root)["code"] == "not_here"


def test_a_damaged_store_is_told(root):
    store = root / "memory.json"
    said = json.loads(store.read_text())
    said["neo/user"][0]["data"] = ""
    store.write_text(json.dumps(said))
    assert [each["code"] for each in run_json("fsck", "--root", root, status=4)["faults"]] == ["damaged"]
    assert "damaged" in run("lint", "--root", root, status=1).stdout
    store.write_text("{")
    assert error_of("list", "-p", "neo", "--root", root, status=4)["code"] == "damaged"


def test_files_beside_the_store_are_told(root):
    file = put(root / "homes" / "neo" / "USER.md", "## Rules\nNobody reads this.\n")
    assert "entries that no profile reads" in run("list", "-p", "neo", "--root", root).stderr
    assert [each["code"] for each in run_json("fsck", "--root", root)["faults"]] == ["unread_file"]
    assert str(file) in run_json("doctor", "--root", root)["folders"][0]["note"]


def test_an_entry_is_forgotten_for_good(root):
    run("purge", "neo/user", "Invoices are due on the 15th.", "--yes", "--root", root)
    assert all(b"Invoices" not in data for _, data in DictStore(root / "memory.json").replay("neo/user"))
    assert "Invoices" not in run("list", "-p", "neo", "--root", root).stdout


def test_a_write_does_not_wait_without_end(root, monkeypatch):
    monkeypatch.setattr(dict_store, "PATIENCE", 0)
    with (root / "memory.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert error_of("add", "New.", "-p", "neo", "-c", "rules", "--root", root, status=3)["code"] == "busy"
    run("add", "New.", "-p", "neo", "-c", "rules", "--root", root)


def test_it_is_copied_to_files_and_is_the_same_there(root):
    run("store", "copy", "dict:memory.json", "files", "--root", root)
    assert "Never before ten." in (root / "homes" / "neo" / "USER.md").read_text()


def test_a_watch_tells_of_each_write(root):
    workspace = Workspace.open(root)
    watch = Watch(workspace)
    watch.look()
    run("add", "Uses tabs.", "-p", "neo", "-c", "rules", "--root", root)
    assert [(each.entity, each.revision) for each in watch.look()] == [("neo/user", "2")]


def test_it_is_served(root, tmp_path_factory):
    workspace = Workspace.open(root)
    tokens = tmp_path_factory.mktemp("tokens") / "tokens.json"
    _, token = new_token(workspace.config, tokens, "somebody", person=True)
    application = create_app(workspace, ServerSettings(tokens=tokens))
    client = TestClient(application, base_url="http://127.0.0.1:8428", headers={"Authorization": f"Bearer {token}"})
    seen = client.get("/mem/read", params={"entity_id": "neo/user"}).json()["revision"]
    change = {"action": "add", "content": "Uses tabs.", "category": "rules"}
    form = {"entity_id": "neo/user", "prev_rev": seen, "content": [change]}
    assert client.post("/mem/write", json=form).json()["revision"] == "2"
    assert client.post("/mem/write", json=form).status_code == 409
    assert "Uses tabs." in client.get("/page/files/neo/user").text
    assert client.get("/readyz").status_code == 200
