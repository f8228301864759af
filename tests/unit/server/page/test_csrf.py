"""Who is let in, and whose forms are taken: those that were shown here, in this browser, to this person, who may write."""

import base64
import re

import pytest

from catmem.envelopes.tokens import new_token
from catmem.plugins.page.page_view import COOKIE
from catmem.plugins.page.site import CHANGES
from tests.http_root import ADDRESS
from tests.together import together
from tests.unit.server.page.forms import Forms, sent, shown, well_made

FILE = "/page/files/neo/user"
HTML = {"Accept": "text/html"}
TYPED = {"content": "Likes tables.", "category": "talk"}
FORMS = [
    pytest.param(FILE, "Add it", TYPED, id="add"),
    pytest.param("/page/branches/neo/user/3b", "Merge", {}, id="merge"),
    pytest.param("/page/branches/neo/user/3a", "Drop branch 3a", {}, id="drop"),
    pytest.param("/page/history/neo/user/2", "Restore revision 2", {}, id="restore"),
    pytest.param("/page/history/neo/memory/now", "Take it over", {}, id="adopt"),
    pytest.param("/page/history/neo/memory/now", "Put revision 1 back", {}, id="put back"),
    pytest.param("/page/seeds/pupil", "Seed pupil/user", {}, id="seed"),
]
"""Pages of the root of conftest.py, a button on each, and what is typed there."""


def everything(workspace):
    """Every revision of the root, and what its files say."""
    entities = [f"{name}/{target}" for name in workspace.profiles() for target in ("user", "memory")]
    return [
        (workspace.store.peek(entity), [each.revision for each in workspace.store.log(entity)]) for entity in entities
    ]


@pytest.fixture
def guarded(workspace, tmp_path, browse):
    """A server with tokens, and headers for each: ada and bob write, eve reads, boss and neo are agents."""
    path = tmp_path / "tokens" / "tokens.json"
    tokens = {
        "ada": new_token(workspace.config, path, "ada", person=True),
        "bob": new_token(workspace.config, path, "bob", person=True),
        "eve": new_token(workspace.config, path, "eve", person=True, scope="read"),
        "boss": new_token(workspace.config, path, "boss"),
        "neo": new_token(workspace.config, path, "neo", scope="read"),
        "prometheus": new_token(workspace.config, path, "prometheus", scope="metrics"),
    }
    headers = {name: {"Authorization": f"Bearer {text}", **HTML} for name, (_, text) in tokens.items()}
    return browse(workspace, tokens=path), headers


def posted(client, form, headers, **fields):
    """The answer to a form."""
    fields = {**form["fields"], **fields}
    return client.post(form["action"], data=fields, headers={**HTML, **headers}, follow_redirects=False)


# --- the cookie ----------------------------------------------------------------------------------------------------


def test_the_cookie_is_for_this_site_and_no_script(client):
    cookie = client.get(FILE).headers["set-cookie"].lower()
    assert cookie.startswith(f"{COOKIE}=")
    assert {"httponly", "samesite=strict", "path=/"} <= set(cookie.split("; "))
    assert "secure" not in cookie
    assert "set-cookie" not in client.get(FILE).headers


def test_over_https_the_cookie_goes_nowhere_else(client):
    assert "secure" in client.get(ADDRESS.replace("http", "https") + FILE).headers["set-cookie"].lower()


# --- whose form it is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "button", "typed"), FORMS)
def test_it_writes_for_the_person_who_was_shown_it_and_may_and_for_nobody_else(guarded, workspace, page, button, typed):
    client, headers = guarded
    seen = client.get(page, headers=headers["eve"])
    assert seen.status_code == 200
    assert {form["action"] for form in Forms(seen.text).all if form["method"] == "post"} == {"/page/theme"}
    assert button not in well_made(seen).text.replace("Put revision", "")
    form = Forms(client.get(page, headers=headers["ada"]).text).named(button)
    before = everything(workspace)
    for who, status, why in (
        ("bob", 403, "was not shown in this browser"),
        ("eve", 403, "good for reading only"),
        ("boss", 403, "the page is for people"),
        ("nobody", 401, "wants the token of a person"),
    ):
        refused = posted(client, form, headers.get(who, {}), **typed)
        assert (refused.status_code, why in well_made(refused).text) == (status, True)
    assert everything(workspace) == before
    assert posted(client, form, headers["ada"], **typed).status_code == 303
    assert everything(workspace) != before


@pytest.mark.parametrize(("page", "button", "typed"), FORMS)
def test_a_form_of_somebody_else_is_refused_and_can_be_sent_again(client, workspace, page, button, typed):
    form = shown(client, page).named(button)
    before = everything(workspace)
    refused = [posted(client, form, {"Origin": "https://elsewhere.example"}, **typed)]
    refused += [sent(client, form, **typed, csrf=word) for word in ("", "x", "é", "f" * 40)]
    own = client.cookies[COOKIE]
    client.cookies.clear()
    client.cookies.set(COOKIE, "A" * 43)
    refused.append(sent(client, form, **typed))
    client.cookies.clear()
    client.cookies.set(COOKIE, own)
    assert [answer.status_code for answer in refused] == [403] * 6
    assert everything(workspace) == before
    for answer in refused[1:5]:
        made = well_made(answer)
        assert "was not shown in this browser" in made.text
        assert re.search(r"\sstyle=|\son[a-z]+=", made.html) is None
    again = next(each for each in Forms(answer.text).all if each["action"] == form["action"])
    assert typed.items() <= again["fields"].items()
    assert sent(client, again).status_code == 303
    assert everything(workspace) != before


# --- who may write -------------------------------------------------------------------------------------------------


@together("address", CHANGES)
def test_who_may_only_read_writes_nothing(guarded, workspace, address):
    client, headers = guarded
    form = Forms(client.get(FILE, headers=headers["ada"]).text).named("Add it")
    before = everything(workspace)
    refused = posted(client, {**form, "action": re.sub(r"\{\w+\}", "neo", address)}, headers["eve"], **TYPED)
    assert (refused.status_code, "good for reading only" in well_made(refused).text) == (403, True)
    assert everything(workspace) == before


def test_who_may_only_read_chooses_light_or_dark(guarded):
    client, headers = guarded
    answer = client.post("/page/theme", data={"theme": "dark"}, headers=headers["eve"], follow_redirects=False)
    assert answer.status_code == 303
    assert "catmem_theme=dark" in answer.headers["set-cookie"]


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
    before = everything(workspace)
    answer = client.post("/page/change/add", content=body, headers={"Content-Type": kind, **HTML})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    well_made(answer)
    assert everything(workspace) == before


BRANCH, SEED = "/page/branches/neo/user/3b", "/page/seeds/pupil"


@together(
    ("page", "button", "fields", "status"),
    [
        (FILE, "Verify", {"entity": "nobody/user"}, 404),
        (FILE, "Verify", {"entity": "neo/other"}, 404),
        (FILE, "Verify", {"entity": "../../etc/user"}, 404),
        (FILE, "Verify", {"expected": "many"}, 422),
        (FILE, "Verify", {"expected": "99"}, 409),
        (FILE, "Verify", {"expected": "sha256:" + "0" * 64}, 409),
        (FILE, "Verify", {"entry": "b2:" + "0" * 32}, 400),
        (BRANCH, "Merge", {"expected": ""}, 422),
        (BRANCH, "Merge", {"expected": "latest"}, 422),
        (BRANCH, "Merge", {"expected": "99"}, 409),
        (SEED, "Seed pupil/user", {"source": "nobody"}, 404),
        (SEED, "Seed pupil/user", {"source": ""}, 404),
        (SEED, "Seed pupil/user", {"source": "neo", "only": ""}, 404),
        (SEED, "Seed pupil/user", {"only": "nobody"}, 400),
        (SEED, "Seed pupil/user", {"file-boss/user": "yes"}, 400),
        (SEED, "Seed pupil/user", {"file-../../etc/passwd": "yes"}, 400),
        (SEED, "Seed pupil/user", {"file-": "yes"}, 400),
        (SEED, "Seed pupil/user", {"file-pupil/other": "yes"}, 400),
    ],
)
def test_a_form_that_was_tampered_with_does_no_harm(client, workspace, *, page, button, fields, status):
    before = everything(workspace)
    assert sent(client, shown(client, page).named(button), **fields).status_code == status
    assert everything(workspace) == before


def test_the_way_back_leads_nowhere_else(client):
    form = shown(client, FILE).named("Verify")
    assert sent(client, form, back="https://elsewhere.example/").headers["location"] == "/?did=neo/user@4"


def test_a_form_without_anything_is_refused(client):
    for path in CHANGES:
        where = path.format(name="neo", target="user", branch="3a", revision="1")
        sent = client.post(where, data={"entity": "neo/user"}, headers={"Origin": ADDRESS, **HTML})
        assert sent.status_code == 403, path


# --- who comes without the token of a person -----------------------------------------------------------------------


def typed_in(headers):
    """The headers of a browser in which somebody typed a token as the password."""
    secret = headers["Authorization"].removeprefix("Bearer ")
    return {"Authorization": "Basic " + base64.b64encode(f"anna:{secret}".encode()).decode(), **HTML}


@pytest.mark.parametrize("name", ["nobody", "boss", "prometheus", "tulip"])
def test_a_browser_without_the_token_of_a_person_is_told_how_to_give_one(guarded, name):
    client, headers = guarded
    sent = typed_in(headers.get(name, {"Authorization": name})) if name != "nobody" else HTML
    answer = client.get("/", headers=sent)
    text = well_made(answer).text
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic")
    for said in ("This page wants the token of a person.", "Any name will do", "catmem token new NAME --person"):
        assert said in text
    assert name not in headers or headers[name]["Authorization"].removeprefix("Bearer ") not in answer.text
