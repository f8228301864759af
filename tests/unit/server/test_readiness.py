"""`/readyz`: it says no before the first write fails, and yes again when writes are taken."""

import pytest

from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import run, run_json
from tests.golden.case import put
from tests.http_root import plain, served
from tests.unit.store.sql.test_writable import immutable

STORES = {
    "files": ("", ["homes", "homes/neo"]),
    "sqlite": ("store: sqlite:///.catmem/memory.db\n", [".catmem/memory.db"]),
}


@pytest.fixture(params=STORES.values(), ids=STORES)
def root(request, tmp_path):
    put(tmp_path / "root" / "catmem.yaml", f"version: 1\n{request.param[0]}")
    put(tmp_path / "root" / "profiles" / "neo.yaml", "{}\n")
    run("add", "-p", "neo", "One.", "-c", "talk", "--root", tmp_path / "root")
    return tmp_path / "root", [tmp_path / "root" / part for part in request.param[1]]


def readied(client):
    answer = client.get("/readyz")
    return answer.status_code, answer.json().get("code")


def test_a_store_that_cannot_be_written_is_not_ready_before_and_after_a_write_fails(root, tmp_path):
    folder, parts = root
    workspace = Workspace.open(folder, search=False)
    for each in served(workspace, tmp_path / "kept" / "tokens.json"):
        client = each.client()
        assert readied(client) == (200, None)
        workspace.store.close()  # a server that is started now
        with immutable(parts[0]), immutable(parts[-1]) if len(parts) > 1 else immutable(parts[0]):
            assert readied(client) == (503, "not_writable")
            told = client.post("/mem/write", json=plain("Two."), headers={"If-Match": "*"})
            assert told.status_code >= 400
            assert readied(client) == (503, "not_writable")
            assert client.get("/healthz").status_code == 200
        assert readied(client) == (200, None)
        assert workspace.add("neo", "Three.", category="talk").changed


def test_the_doctor_tells_of_a_database_that_cannot_be_written(root):
    folder, parts = root
    if "memory.db" not in parts[0].name:
        pytest.skip("of a database")
    with immutable(parts[0]):
        (report,) = run_json("doctor", "--root", folder)["folders"]
        (writes,) = [feature for feature in report["features"] if feature["name"] == "writes"]
    assert (writes["there"], "nothing is written" in writes["means"]) == (False, True)
