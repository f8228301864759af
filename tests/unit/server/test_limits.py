"""How large, how slow and how often."""

from __future__ import annotations

import anyio
import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from catmem.server.app import create_app
from catmem.server.caller import KEY, Caller
from catmem.server.errors import ServerError
from catmem.server.limits import BodyLimit, Buckets, Unfinished
from catmem.server.settings import Settings
from catmem.server.tokens import new_token
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
        app = create_app(workspace, Settings(**settings), [Route("/said", said, methods=["GET", "POST"])])
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


def test_an_endless_length_is_refused(client):
    answer = client(max_body=MOST).post("/said", content=b"x", headers={"content-length": "9" * 100})
    assert answer.status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for():
    async def app(scope, receive, send):
        await receive()

    async def receive():
        await anyio.sleep_forever()

    scope = {"type": "http", "headers": [(b"content-length", b"5")]}
    with pytest.raises(ServerError) as caught:
        anyio.run(BodyLimit(app, Settings(patience=0.01)), scope, receive, None)
    assert (caught.value.status, caught.value.code) == (408, "slow_body")


def test_after_the_body_it_waits_as_long_as_it_takes_for_the_client_to_go():
    seen = []

    async def app(scope, receive, send):
        seen.append(await receive())
        seen.append(await receive())

    answers = iter([{"type": "http.request", "body": b"x"}])

    async def receive():
        message = next(answers, None)
        if message is None:
            await anyio.sleep(0.05)  # longer than the patience
            return {"type": "http.disconnect"}
        return message

    anyio.run(BodyLimit(app, Settings(patience=0.01)), {"type": "http", "headers": []}, receive, None)
    assert [message["type"] for message in seen] == ["http.request", "http.disconnect"]


def test_a_length_beside_parts_is_refused_and_the_connection_ends(client):
    answer = client().post("/said", content=b"x", headers={"content-length": "1", "transfer-encoding": "chunked"})
    assert (answer.status_code, answer.json()["code"]) == (400, "two_lengths")
    assert answer.headers["connection"] == "close"


async def reading(scope, receive, send):
    """Reads the whole body."""
    while (await receive()).get("more_body", False):
        pass


class Bodies:
    """Requests of callers, each with a body that ends when it is told to."""

    def __init__(self, group, each):
        self.group = group
        self.app = Unfinished(reading, each)
        self.refused = []

    def begin(self, name):
        """What ends the body of a new request."""
        came = anyio.Event()
        self.group.start_soon(self.request, name, came)
        return came.set

    async def request(self, name, came):
        parts = iter([True, False])

        async def receive():
            more = next(parts)
            if not more:
                await came.wait()
            return {"type": "http.request", "body": b"x", "more_body": more}

        try:
            await self.app({"type": "http", KEY: Caller(name, name, label=name)}, receive, None)
        except ServerError as error:
            self.refused.append((name, error.status, error.code))


def test_a_caller_may_have_so_many_bodies_on_the_way_and_keeps_nobody_else_from_sending():
    async def play():
        async with anyio.create_task_group() as group:
            bodies = Bodies(group, 2)
            ends = [bodies.begin(name) for name in ("neo", "neo", "neo", "trinity")]
            await anyio.wait_all_tasks_blocked()
            assert bodies.refused == [("neo", 429, "too_many")]
            ends[0]()
            await anyio.wait_all_tasks_blocked()
            ends.append(bodies.begin("neo"))  # one has come, so there may be another
            await anyio.wait_all_tasks_blocked()
            assert len(bodies.refused) == 1
            for end in ends:
                end()
        assert not bodies.app._counts

    anyio.run(play)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_measure_fills_with_time():
    clock = Clock()
    buckets = Buckets(2, clock)
    assert [buckets.take("a") for _ in range(8)] == [0] * 8
    assert buckets.take("a") == pytest.approx(0.5)
    assert buckets.take("b") == 0
    clock.now = 0.5
    assert buckets.take("a") == 0
    assert buckets.take("a") > 0
    clock.now = 1000
    assert [buckets.take("a") for _ in range(8)] == [0] * 8
    assert buckets.take("a") > 0


def test_no_rate_is_no_limit():
    buckets = Buckets(0)
    assert not any(buckets.take("a") for _ in range(10_000))


def test_the_measures_of_many_names_are_bounded(monkeypatch):
    monkeypatch.setattr("catmem.server.limits._MOST_BUCKETS", 10)
    buckets = Buckets(1, Clock())
    for number in range(100):
        buckets.take(str(number))
    assert len(buckets._known) == 10


def test_too_many_requests_of_a_caller_are_refused_and_others_are_not(client, workspace, tmp_path):
    path = tmp_path / "kept" / "tokens.json"
    neo, trinity = (new_token(workspace.config, path, name)[1] for name in ("neo", "trinity"))
    here = client(tokens=path, rate=1)

    def status(text):
        return here.get("/said", headers={"authorization": f"Bearer {text}"}).status_code

    assert [status(neo) for _ in range(4)] == [200] * 4
    refused = here.get("/said", headers={"authorization": f"Bearer {neo}"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many")
    assert int(refused.headers["retry-after"]) >= 1
    assert status(trinity) == 200


def test_wrong_tokens_are_slowed_down_and_good_ones_from_there_are_not(client, workspace, tmp_path):
    path = tmp_path / "kept" / "tokens.json"
    good = new_token(workspace.config, path, "neo")[1]
    here = client(tokens=path)
    wrong = {"authorization": "Bearer catmem_0123456789ab_" + "A" * 43}
    statuses = [here.get("/said", headers=wrong).status_code for _ in range(200)]
    assert statuses[0] == 401
    assert 429 in statuses
    assert here.get("/said", headers={"authorization": f"Bearer {good}"}).status_code == 200
