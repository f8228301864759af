"""`catmem serve` as agents on other machines reach it: with curl, and a token each."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from catmem.envelopes.tokens import new_token
from catmem.jsonable import jsonable
from catmem.workspace.workspace import Workspace
from tests.curled import CURL, curl, serving
from tests.envelopes import make_files

needs_curl = pytest.mark.skipif(CURL is None, reason="curl is not here")

pytestmark = needs_curl


@pytest.fixture
def root(tmp_path):
    """A root of which ``neo`` has a file, and ``planner`` acts as ``neo`` too."""
    make_files(tmp_path / "root", "agents: {planner: neo}\n")
    return tmp_path / "root"


@pytest.fixture
def tokens(root, tmp_path):
    """The file of tokens, and the token of each agent."""
    path = tmp_path / "tokens" / "tokens.json"
    config = Workspace.open(root, search=False).config
    return path, {agent: new_token(config, path, agent)[1] for agent in ("neo", "planner", "other")}


def adds(workspace, agent, text):
    """An envelope as an agent makes it from what it has read."""
    change = [{"action": "add", "content": text, "category": "talk"}]
    return jsonable(workspace.envelope("neo", change, agent=agent, signed=False))


def test_of_two_writers_the_second_is_refused_and_the_head_stays(root, tokens):
    path, token = tokens
    workspace = Workspace.open(root, search=False)
    planner, neo = adds(workspace, "planner", "from the planner"), adds(workspace, "neo", "from neo")
    workspace.store.close()
    assert planner["prev_rev"] == neo["prev_rev"] == 1
    with serving(root, "--tokens", str(path)) as url:
        entity = f"{url}/mem/head?entity_id=neo/user"
        head = json.loads(curl(entity, token=token["neo"])[2])
        assert (head["mem_rev"], head["recorded"]) == (1, True)

        status, _, said = curl(f"{url}/mem/write", token=token["planner"], body=planner)
        assert (status, json.loads(said)["revision"]) == (200, "2")

        status, _, said = curl(f"{url}/mem/write", token=token["neo"], body=neo)
        refusal = json.loads(said)
        assert (status, refusal["reason"], refusal["head"]) == (409, "stale_prev", {"rev": 2})
        assert (refusal["expected"], refusal["found"]) == ("1", "2")

        assert json.loads(curl(entity, token=token["neo"])[2])["mem_rev"] == 2
        entries = json.loads(curl(f"{url}/mem/read?entity_id=neo/user", token=token["neo"])[2])["entries"]
        bodies = [entry["body"] for entry in entries]
        assert "from the planner" in bodies
        assert "from neo" not in bodies

        # The first writer did not hear the answer, and sends it again.
        status, _, said = curl(f"{url}/mem/write", token=token["planner"], body=planner)
        assert (status, json.loads(said)["repeated"], json.loads(said)["revision"]) == (200, True, "2")


def test_without_tokens_a_person_reads_and_writes(root):
    with serving(root) as url:
        status, headers, said = curl(f"{url}/prompt/neo")
        assert (status, headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert b"be kind" in said
        assert json.loads(curl(f"{url}/mem/read?entity_id=neo")[2])["total"] == 6
        assert curl(f"{url}/prompt/neo", "--header", f"If-None-Match: {headers['etag']}")[0] == 304


def test_of_many_writers_at_once_one_is_taken_and_nothing_is_lost(root, tokens):
    path, token = tokens
    rounds, writers = 4, 6
    with serving(root, "--tokens", str(path)) as url, ThreadPoolExecutor(writers) as pool:
        read = f"{url}/mem/read?entity_id=neo/user"

        def write(text, tag):
            body = {"entity_id": "neo/user", "content": [{"action": "add", "content": text, "category": "talk"}]}
            agent = ("neo", "planner")[len(text) % 2]
            return curl(f"{url}/mem/write", "--header", f"If-Match: {tag}", token=token[agent], body=body)[0]

        taken = []
        for number in range(rounds):
            tag = curl(read, token=token["neo"])[1]["etag"]
            texts = [f"round {number} writer {'x' * writer}" for writer in range(1, writers + 1)]
            statuses = list(pool.map(write, texts, [tag] * writers))
            assert sorted(statuses) == [200] + [412] * (writers - 1)
            taken.append(texts[statuses.index(200)])
        entries = json.loads(curl(read, token=token["neo"])[2])["entries"]
        assert [entry["body"] for entry in entries if entry["body"].startswith("round")] == taken
