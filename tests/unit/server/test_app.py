"""The application: what stands before its routes, and what becomes of errors."""

import base64
import logging
import threading
from contextlib import ExitStack

import pytest
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from catmem.envelopes.tokens import caller_of, new_token
from catmem.errors import (
    BusyError,
    ConfigError,
    DriftError,
    NotUtf8Error,
    StaleError,
    StoreError,
    UnreadableError,
)
from catmem.jsonable import jsonable
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings, in_thread
from catmem.server.requests import answer_of
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.roots import make_root
from tests.together import together

HERE = "http://127.0.0.1:8428"


@pytest.fixture
def workspace(tmp_path):
    return make_root(tmp_path / "root", profiles={"neo": "user_memory_categories: [talk]\n"})


@pytest.fixture
def client(workspace):
    """Makes a client of a server; `routes` are those beside /healthz and /readyz, `settings` as for ServerSettings."""
    with ExitStack() as opened:

        def make(*routes, **settings):
            more = [Route(path, each, methods=["GET", "POST"]) for path, each in routes]
            app = create_app(workspace, ServerSettings(**settings), more)
            return opened.enter_context(TestClient(app, base_url=HERE, raise_server_exceptions=False))

        yield make


@pytest.fixture
def token(workspace, tmp_path):
    """Makes a token: its text, and the file that has it."""
    path = tmp_path / "kept" / "tokens.json"

    def make(label="neo", **choices):
        return new_token(workspace.config, path, label, **choices)[1]

    make.path = path  # type: ignore[attr-defined]
    return make


def bearer(text):
    return {"authorization": f"Bearer {text}"}


async def said(request):
    return PlainTextResponse(await request.body())


async def who(request):
    caller = caller_of(request)
    return JSONResponse([caller.agent, caller.profile, caller.scope])


def raising(error):
    async def fails(request):
        raise error

    return fails


# --- what every answer has -----------------------------------------------------------------------------------------

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}


@together(
    ("method", "path", "status", "code"),
    [
        ("GET", "/healthz", 200, None),
        ("GET", "/readyz", 200, None),
        ("GET", "/nowhere", 404, "no_such_path"),
        ("DELETE", "/healthz", 405, "no_such_method"),
        ("GET", "/breaks", 500, "internal"),
        ("GET", "/disk", 503, "io"),
    ],
)
def test_every_answer_has_the_headers(client, *, method, path, status, code):
    here = client(("/breaks", raising(RuntimeError("x"))), ("/disk", raising(StoreError("no space", code="io"))))
    answer = here.request(method, path)
    assert (answer.status_code, answer.json().get("code")) == (status, code)
    assert status != 405 or "GET" in answer.headers["allow"]
    assert HEADERS.items() <= dict(answer.headers).items()
    policy = answer.headers["content-security-policy"].split("; ")
    assert {"default-src 'self'", "frame-ancestors 'none'"} <= set(policy)
    assert not any("unsafe" in part for part in policy)


# --- errors --------------------------------------------------------------------------------------------------------


def test_an_error_nobody_foresaw_tells_nothing_and_the_server_lives_on(client, caplog):
    here = client(("/breaks", raising(RuntimeError("the password is tulip"))))
    answer = here.get("/breaks")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert "tulip" not in answer.text
    assert "tulip" in caplog.text
    assert here.get("/healthz").status_code == 200


def test_the_log_has_one_line_a_request_and_no_secret(client, token, caplog):
    text = token()
    caplog.set_level(logging.INFO, logger="catmem.server")
    client(("/said", said), tokens=token.path).post("/said?q=tulip", content=b"rose", headers=bearer(text))
    (line,) = [record.getMessage() for record in caplog.records if record.name == "catmem.server"]
    assert "neo POST /said 200" in line
    assert not any(secret in line for secret in ("tulip", "rose", text, text.split("_", 2)[2]))


def test_the_log_shows_what_a_terminal_would_act_on_as_escapes(client, caplog):
    caplog.set_level(logging.INFO, logger="catmem.server")
    client().get("/%1b%5b31m\N{RIGHT-TO-LEFT OVERRIDE}")
    assert all(
        record.getMessage().isascii() and record.getMessage().isprintable()
        for record in caplog.records
        if record.name == "catmem.server"
    )


# --- whose requests ------------------------------------------------------------------------------------------------


LOCAL = {"host": "127.0.0.1"}
NAMED = {"hosts": ("Memory.example.org",)}
OPEN = {"host": "0.0.0.0"}  # noqa: S104 - the case


@together(
    ("settings", "hosts", "status"),
    [
        (LOCAL, ["127.0.0.1", "127.0.0.1:8428", "localhost:1", "LOCALHOST", "[::1]:8428", "127.9.9.9"], 200),
        (LOCAL, ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8428", "192.0.2.7", ""], 400),
        (LOCAL, ["a@127.0.0.1", "127.0.0.1:x", "127.0.0.1/x"], 400),
        (NAMED, ["memory.example.org:443"], 200),
        (NAMED, ["example.org"], 400),
        (OPEN, ["192.0.2.7:8428"], 200),
        (OPEN, ["evil.example"], 400),
    ],
)
def test_it_is_called_by_its_address_and_by_no_name_that_somebody_points_here(client, token, settings, hosts, status):
    token()
    here = client(tokens=token.path, **settings)
    for host in hosts:
        answer = here.get("/healthz", headers={"host": host})
        assert (answer.status_code, answer.json().get("code")) == (status, None if status == 200 else "unknown_host")


CROSS = {
    "another origin": {"origin": "http://evil.example"},
    "another port": {"origin": "http://127.0.0.1:9999"},
    "a sandboxed frame": {"origin": "null"},
    "said by the browser": {"sec-fetch-site": "cross-site"},
    "a sister site": {"sec-fetch-site": "same-site"},
    "both, the one lying": {"sec-fetch-site": "cross-site", "origin": HERE},
}


@together("headers", CROSS.values(), ids=CROSS)
def test_a_page_of_another_site_changes_nothing(client, headers):
    answer = client(("/said", said)).post("/said", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "cross_site")


# --- how large a request may be ---------------------------------------------------------------------------------------

MOST = 1000


def parts(size, step=100):
    for begin in range(0, size, step):
        yield b"x" * min(step, size - begin)


@pytest.mark.parametrize("form", ["with a length", "in parts"])
def test_a_body_is_read_up_to_the_limit_and_refused_over_it(client, form):
    here = client(("/said", said), max_body=MOST)
    for size in (0, 1, MOST, MOST + 1, 50 * MOST, 1):
        answer = here.post("/said", content=b"x" * size if form == "with a length" else parts(size))
        if size <= MOST:
            assert (answer.status_code, answer.content) == (200, b"x" * size)
        else:
            assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
            assert answer.headers["connection"] == "close"


def test_a_length_that_lies_lets_no_more_through(client):
    answer = client(("/said", said), max_body=MOST).post(
        "/said", content=parts(MOST + 1), headers={"content-length": "5"}
    )
    assert answer.status_code == 413


def test_a_length_beside_parts_is_refused_and_the_connection_ends(client):
    answer = client(("/said", said)).post(
        "/said", content=b"x", headers={"content-length": "1", "transfer-encoding": "chunked"}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "two_lengths")
    assert answer.headers["connection"] == "close"


# --- callers -------------------------------------------------------------------------------------------------------


def test_without_tokens_whoever_connects_is_a_person(client):
    assert client(("/who", who)).get("/who").json() == ["person", None, "write"]


WRONG = {
    "none": {},
    "another kind": {"authorization": "Basic bmVvOm5lbw=="},
    "no token": {"authorization": "Bearer"},
    "another form": bearer("tulip"),
    "unknown": bearer("catmem_0123456789ab_" + "A" * 43),
    "not ASCII": {"authorization": "Bearer catmem_ü".encode("latin-1")},
    "endless": bearer("catmem_" + "a" * 5000),
}


@together("headers", WRONG.values(), ids=WRONG)
@together("path", ["/who", "/nowhere", "/metrics"])
def test_a_wrong_token_is_refused_in_the_same_words_whatever_is_asked(client, token, headers, path):
    token()
    answer = client(("/who", who), tokens=token.path).get(path, headers=headers)
    assert answer.status_code == 401
    assert answer.json()["message"] == "this server wants a token, and this request has none that is good here"
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_health_wants_no_token(client, token):
    token()
    here = client(tokens=token.path)
    assert here.get("/healthz").status_code == here.get("/readyz").status_code == 200


@together(
    ("scope", "method", "path", "status"),
    [
        ("read", "GET", "/who", 200),
        ("read", "POST", "/who", 403),
        ("metrics", "GET", "/who", 403),
        ("metrics", "GET", "/metrics", 200),
        ("metrics", "POST", "/who", 403),
        ("write", "POST", "/who", 200),
    ],
)
def test_a_token_is_good_for_its_scope(client, token, *, scope, method, path, status):
    text = token(scope=scope)
    answer = client(("/who", who), ("/metrics", who), tokens=token.path).request(method, path, headers=bearer(text))
    assert answer.status_code == status
    assert status != 403 or answer.json()["code"] == "scope"


def test_a_file_of_tokens_that_others_may_read_lets_nobody_in(client, token):
    text = token()
    here = client(("/who", who), tokens=token.path)
    token.path.chmod(0o644)
    answer = here.get("/who", headers=bearer(text))
    assert answer.status_code == 503
    assert str(token.path) not in answer.text
    token.path.chmod(0o600)
    assert here.get("/who", headers=bearer(text)).status_code == 200


# --- calls in threads ----------------------------------------------------------------------------------------------


def test_the_end_waits_for_a_call_that_was_begun(workspace):
    begun, ended, seen = threading.Event(), threading.Event(), []
    app = create_app(workspace, ServerSettings(page=False), [])
    with TestClient(app, base_url=HERE):
        app.state.workers.submit(lambda: (begun.set(), seen.append(ended.wait(0.3))))
        begun.wait()
    ended.set()
    assert seen == [False]  # an end that did not wait would have been seen by the call


def test_what_a_call_raises_comes_out(client):
    def fails():
        raise TimeoutError("its own")

    async def route(request):
        return await in_thread(request, fails)

    assert client(("/fails", route)).get("/fails").json()["code"] == "internal"


# --- a person's browser --------------------------------------------------------------------------------------------


def basic(text, name="anna"):
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{text}".encode()).decode()}


def test_a_browser_asks_its_person_for_the_token(client, token):
    person = token("anna", person=True)
    here = client(("/who", who), tokens=token.path, page=False)
    asks = here.get("/who", headers={"accept": "text/html,*/*"})
    assert (asks.status_code, asks.headers["www-authenticate"].split()[0]) == (401, "Basic")
    assert here.get("/who", headers=basic(person)).json() == ["person", None, "write"]
    assert here.get("/who", headers=basic(person, name="")).status_code == 200


def test_what_is_no_name_with_a_token_lets_nobody_in(client, token):
    token()
    here = client(("/who", who), tokens=token.path)
    for broken in ("Basic", "Basic ?", "Basic " + "A" * 5000, "Basic /w=="):
        assert here.get("/who", headers={"authorization": broken}).status_code == 401


# --- what is told of an error ----------------------------------------------------------------------------------------


def test_a_person_is_told_all():
    error = StoreError("no space in /srv/root", path="/srv/root/x", hint="Make room.")
    assert answer_of(error, bounded=False)[1] == jsonable(error)


def test_of_a_content_that_is_no_json_an_agent_is_told_what_a_person_can_do(tmp_path):
    put(tmp_path / "catmem.yaml", "entities: {'project:alpha': {content: json}}\n")
    put(tmp_path / "profiles" / "neo.yaml", "tier: 1\n")
    workspace = Workspace.open(tmp_path, search=False)
    workspace.put("project:alpha", {"a": 1}, expected=0)
    next(tmp_path.rglob("content.json")).write_text("{broken")
    with pytest.raises(UnreadableError) as caught:
        workspace.content("project:alpha")
    status, told = answer_of(caught.value)
    assert (status, told["code"]) == (503, "not_json")
    for words in ("Tell a person.", "catmem diff project:alpha", "catmem restore project:alpha REVISION"):
        assert words in told["hint"]
    assert "later" not in told["hint"]
    assert str(tmp_path) not in str(told)


@together(
    "error",
    [
        StoreError("cannot write /srv/root", path="/srv/root/USER.md", hint="See /srv/root."),
        UnreadableError("cannot read /srv/root", path="/srv/root/USER.md"),
        ConfigError("/srv/root is odd", path="/srv/root/catmem.yaml", key="homes"),
        NotUtf8Error(17, "r", path="/srv/root/USER.md"),
        DriftError("neo/user was changed", path="/srv/root/USER.md"),
        BusyError("neo/user is written", path="/srv/root/USER.md"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_agent_is_told_nothing_of_this_machine(error):
    status, told = answer_of(error)
    assert "/srv" not in str(told)
    assert {"code", "message"} <= told.keys()
    assert "offset" not in told
    assert status >= 400


def test_what_an_agent_can_act_on_is_told():
    error = StaleError("too late", expected="7", found="8", hint="Read again.")
    error.head = {"rev": 8, "hash": "sha256:8"}
    _, told = answer_of(error)
    assert told["reason"] == "stale_prev"
    assert (told["expected"], told["found"], told["head"]) == ("7", "8", {"rev": 8, "hash": "sha256:8"})
    assert told["remediation"] == told["hint"] == "Read again."
