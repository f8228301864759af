"""The name of a person who writes over HTTP is that of the token."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.http_root import plain


def written_by(served):
    """Agent and name of each revision of neo's file, the oldest first, without what was there before."""
    log = served.workspace.store.log("neo/user")
    return [(each.agent, each.note.get("person")) for each in log if each.agent != "external"][::-1]


def test_a_revision_has_the_name_of_the_token(served, person, neo, monkeypatch):
    monkeypatch.setenv("CATMEM_PERSON", "who runs the server")
    for number, client in enumerate((person, neo, person)):
        tag = client.get("/mem/read", params={"entity_id": "neo/user"}).headers["etag"]
        answer = client.post("/mem/write", json=plain(f"fact {number}"), headers={"If-Match": tag})
        assert answer.status_code == 200, answer.text
    assert written_by(served) == [("person", "somebody"), ("neo", None), ("person", "somebody")]


def test_names_of_requests_at_the_same_time_are_not_mixed(served):
    clients = {name: served.client(label=name) for name in ("ada", "grace", "joan")}

    def write(name):
        for number in range(5):
            done = clients[name].post("/mem/write", json=plain(f"{name} {number}"))
            assert done.status_code in {200, 409, 428}, done.text
            if done.status_code != 200:
                tag = clients[name].get("/mem/read", params={"entity_id": "neo/user"}).headers["etag"]
                clients[name].post("/mem/write", json=plain(f"{name} {number}"), headers={"If-Match": tag})

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, clients))
    log = [each for each in served.workspace.store.log("neo/user") if each.agent == "person"]
    assert log
    for each in log:
        text = served.workspace.store.read("neo/user", each.revision).data.decode()
        before = served.workspace.store.read("neo/user", each.parents[0]).data.decode()
        (new,) = set(text.splitlines()) - set(before.splitlines()) - {"§"}
        assert each.note["person"] in new
