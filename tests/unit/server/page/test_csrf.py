"""Whose forms are taken: those that were shown here, in this browser, to this person, who may write."""

from __future__ import annotations

import re

import pytest

from catmem.envelopes.tokens import new_token
from catmem.plugins.page.page_view import COOKIE
from catmem.plugins.page.site import CHANGES
from tests.together import together
from tests.unit.server.page.changing import TEXT, root, served, text_of
from tests.unit.server.page.conftest import ADDRESS
from tests.unit.server.page.forms import Forms, sent, shown
from tests.unit.server.page.markup import Markup

FILE = "/page/files/neo/user"
HTML = {"Accept": "text/html"}


@pytest.fixture
def workspace(tmp_path):
    workspace = root(tmp_path / "root")
    yield workspace
    workspace.store.close()


@pytest.fixture
def guarded(workspace, tmp_path):
    """A server with tokens, and a header for each: ada and bob write, eve reads, boss is an agent."""
    path = tmp_path / "tokens" / "tokens.json"
    tokens = {
        "ada": new_token(workspace.config, path, "ada", person=True),
        "bob": new_token(workspace.config, path, "bob", person=True),
        "eve": new_token(workspace.config, path, "eve", person=True, scope="read"),
        "boss": new_token(workspace.config, path, "boss"),
    }
    with served(workspace, tokens=path) as client:
        yield client, {name: {"Authorization": f"Bearer {text}", **HTML} for name, (_, text) in tokens.items()}


def adding(client, **headers):
    """The form that adds an entry, filled in."""
    form = Forms(client.get(FILE, headers=headers).text).named("Add it")
    form["fields"] |= {"content": "Likes tables.", "category": "talk"}
    return form


def posted(client, form, headers=HTML, **fields):
    return client.post(form["action"], data={**form["fields"], **fields}, headers=headers, follow_redirects=False)


# --- the cookie ----------------------------------------------------------------------------------------------------


def test_the_cookie_is_for_this_site_and_no_script(client):
    cookie = client.get(FILE).headers["set-cookie"].lower()
    assert cookie.startswith(f"{COOKIE}=")
    assert {"httponly", "samesite=strict", "path=/"} <= set(cookie.split("; "))
    assert "secure" not in cookie
    assert "set-cookie" not in client.get(FILE).headers


def test_over_https_the_cookie_goes_nowhere_else(workspace):
    with served(workspace) as client:
        assert "secure" in client.get(ADDRESS.replace("http", "https") + FILE).headers["set-cookie"].lower()


# --- forms of somebody else ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "x", "f" * 40, "é"])
def test_a_form_without_the_right_word_is_refused_and_can_be_sent_again(client, workspace, token):
    answer = posted(client, adding(client), csrf=token)
    assert answer.status_code == 403
    assert "was not shown in this browser" in Markup(answer.text).text
    assert text_of(workspace) == TEXT
    form = Forms(answer.text).named("Add it")
    assert form["fields"]["content"] == "Likes tables."
    assert sent(client, form).status_code == 303
    assert "Likes tables." in text_of(workspace)


def test_a_form_that_was_shown_to_another_person_is_refused(guarded, workspace):
    client, headers = guarded
    form = adding(client, **headers["ada"])
    assert posted(client, form, headers["bob"]).status_code == 403
    assert text_of(workspace) == TEXT
    assert posted(client, form, headers["ada"]).status_code == 303


# --- who may write -------------------------------------------------------------------------------------------------


@together("address", CHANGES)
def test_who_may_only_read_writes_nothing(guarded, workspace, address):
    client, headers = guarded
    form = adding(client, **headers["ada"])
    answer = client.post(re.sub(r"\{\w+\}", "neo", address), data=form["fields"], headers=headers["eve"])
    assert answer.status_code == 403
    assert "good for reading only" in Markup(answer.text).text
    assert text_of(workspace) == TEXT


def test_who_may_only_read_chooses_light_or_dark(guarded):
    client, headers = guarded
    answer = client.post("/page/theme", data={"theme": "dark"}, headers=headers["eve"], follow_redirects=False)
    assert answer.status_code == 303
    assert "catmem_theme=dark" in answer.headers["set-cookie"]


def test_an_agent_writes_elsewhere(guarded, workspace):
    client, headers = guarded
    answer = posted(client, adding(client, **headers["ada"]), headers["boss"])
    assert answer.status_code == 403
    assert "the page is for people" in Markup(answer.text).text
    assert text_of(workspace) == TEXT


# --- what is no form -----------------------------------------------------------------------------------------------


@together(
    ("kind", "body", "status"),
    [
        ("application/json", b"{}", 415),
        ("multipart/form-data; boundary=x", b"--x--", 415),
        ("", b"a=b", 415),
        ("application/x-www-form-urlencoded", b"content=%FF", 400),
        ("application/x-www-form-urlencoded", "content=é".encode(), 400),
        ("application/x-www-form-urlencoded", b"content=a&content=b", 400),
        ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % number for number in range(2_001)), 400),
        ("application/x-www-form-urlencoded", b"content=" + b"x" * 2_000_000, 413),
        ("application/x-www-form-urlencoded", b"", 403),
    ],
)
def test_what_no_page_sends_is_refused(client, workspace, kind, body, status):
    client.get(FILE)
    answer = client.post("/page/change/add", content=body, headers={"Content-Type": kind, **HTML})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert Markup(answer.text).unbalanced == []
    assert text_of(workspace) == TEXT


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"entity": "nobody/user"}, 404),
        ({"entity": "neo/other"}, 404),
        ({"entity": "../../etc/user"}, 404),
        ({"expected": "many"}, 422),
        ({"expected": "99"}, 409),
        ({"expected": "sha256:" + "0" * 64}, 409),
        ({"entry": "b2:" + "0" * 32}, 400),
        ({"back": "https://elsewhere.example/"}, 303),
    ],
)
def test_a_form_that_was_tampered_with_does_no_harm(client, workspace, fields, status):
    form = next(each for each in shown(client, FILE).all if "Verify" in each["buttons"])
    answer = sent(client, form, **fields)
    assert answer.status_code == status
    if status == 303:
        assert answer.headers["location"] == "/?did=neo/user@2"
    else:
        assert text_of(workspace) == TEXT


def test_a_form_without_anything_is_refused(client):
    for path in CHANGES:
        where = path.format(name="neo", target="user", branch="3a", revision="1")
        sent = client.post(where, data={"entity": "neo/user"}, headers={"Origin": ADDRESS, "Accept": "text/html"})
        assert sent.status_code == 403, path
