"""How large a request may be."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from tests.roots import make_root

HERE = "http://127.0.0.1:8428"
MOST = 1000


@pytest.fixture
def workspace(tmp_path):
    return make_root(tmp_path / "root", profiles={"neo": "{}\n", "trinity": "{}\n"})


@pytest.fixture
def client(workspace):
    made = []

    def make(**settings):
        app = create_app(workspace, ServerSettings(**settings), [Route("/said", said, methods=["GET", "POST"])])
        made.append(TestClient(app, base_url=HERE))
        return made[-1].__enter__()

    yield make
    for each in made:
        each.__exit__(None, None, None)


async def said(request):
    return PlainTextResponse(str(len(await request.body())))


def parts(size, step=100):
    for begin in range(0, size, step):
        yield b"x" * min(step, size - begin)


@pytest.mark.parametrize("size", [0, 1, MOST])
@pytest.mark.parametrize("form", ["with a length", "in parts"])
def test_a_body_within_the_limit_is_read(client, size, form):
    body = b"x" * size if form == "with a length" else parts(size)
    answer = client(max_body=MOST).post("/said", content=body)
    assert (answer.status_code, answer.text) == (200, str(size))


@pytest.mark.parametrize("size", [MOST + 1, 50 * MOST])
@pytest.mark.parametrize("form", ["with a length", "in parts"])
def test_a_body_over_the_limit_is_refused(client, size, form):
    body = b"x" * size if form == "with a length" else parts(size)
    here = client(max_body=MOST)
    answer = here.post("/said", content=body)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert answer.headers["connection"] == "close"
    assert here.post("/said", content=b"x").status_code == 200


def test_a_length_that_lies_lets_no_more_through(client):
    answer = client(max_body=MOST).post("/said", content=parts(MOST + 1), headers={"content-length": "5"})
    assert answer.status_code == 413


def test_a_length_beside_parts_is_refused_and_the_connection_ends(client):
    answer = client().post("/said", content=b"x", headers={"content-length": "1", "transfer-encoding": "chunked"})
    assert (answer.status_code, answer.json()["code"]) == (400, "two_lengths")
    assert answer.headers["connection"] == "close"
