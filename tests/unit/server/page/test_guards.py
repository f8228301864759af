"""What all forms that settle something have in common: who may send them, and that a refused one writes nothing."""

from __future__ import annotations

import re

import pytest

from catmem.envelopes.tokens import new_token
from catmem.plugins.page.page_view import COOKIE
from tests.unit.server.page.changing import served
from tests.unit.server.page.forms import Forms, sent, shown
from tests.unit.server.page.markup import Markup

FORMS = [
    pytest.param("/page/branches/neo/user/3b", "Merge", id="merge"),
    pytest.param("/page/branches/neo/user/3a", "Drop branch 3a", id="drop"),
    pytest.param("/page/history/neo/user/2", "Restore revision 2", id="restore"),
    pytest.param("/page/history/neo/memory/now", "Take it over", id="adopt"),
    pytest.param("/page/history/neo/memory/now", "Put revision 1 back", id="put back"),
    pytest.param("/page/seeds/pupil", "Seed pupil/user", id="seed"),
]
"""Pages of the root of conftest.py, and a button on each."""


def everything(workspace):
    """Every revision of the root, and what its files say."""
    entities = [f"{name}/{target}" for name in workspace.profiles() for target in ("user", "memory")]
    return [
        (workspace.store.peek(entity), [each.revision for each in workspace.store.log(entity)]) for entity in entities
    ]


@pytest.fixture
def guarded(workspace, tmp_path):
    """A server with tokens: ada may write, eve may read, boss is an agent."""
    path = tmp_path / "tokens" / "tokens.json"
    tokens = {
        "ada": new_token(workspace.config, path, "ada", person=True),
        "eve": new_token(workspace.config, path, "eve", person=True, scope="read"),
        "boss": new_token(workspace.config, path, "boss"),
    }
    with served(workspace, tokens=path) as client:
        yield client, {name: {"Authorization": f"Bearer {text}"} for name, (_, text) in tokens.items()}


def posted(client, form, headers):
    headers = {"Accept": "text/html", **headers}
    return client.post(form["action"], data=form["fields"], headers=headers, follow_redirects=False)


def assert_well_made(html):
    made = Markup(html)
    assert made.unbalanced == []
    assert all(after - before <= 1 for before, after in zip(made.headings, made.headings[1:], strict=False))
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert re.search(r"\sstyle=|\son[a-z]+=", html) is None


@pytest.mark.parametrize(("page", "button"), FORMS)
def test_it_writes_for_a_person_who_may_and_for_nobody_else(guarded, workspace, page, button):
    client, headers = guarded
    seen = client.get(page, headers=headers["eve"])
    assert seen.status_code == 200
    assert {form["action"] for form in Forms(seen.text).all if form["method"] == "post"} == {"/page/theme"}
    assert button not in Markup(seen.text).text.replace("Put revision", "")
    form = Forms(client.get(page, headers=headers["ada"]).text).named(button)
    before = everything(workspace)
    for who in ("eve", "boss", "nobody"):
        assert posted(client, form, headers.get(who, {})).status_code in {401, 403}
    assert everything(workspace) == before
    assert posted(client, form, headers["ada"]).status_code == 303
    assert everything(workspace) != before


@pytest.mark.parametrize(("page", "button"), FORMS)
def test_a_form_of_somebody_else_is_refused_and_can_be_sent_again(client, workspace, page, button):
    form = shown(client, page).named(button)
    before = everything(workspace)
    refused = [
        posted(client, form, {"Origin": "https://elsewhere.example"}),
        sent(client, form, csrf=""),
        sent(client, form, csrf="0" * 40),
    ]
    own = client.cookies[COOKIE]
    client.cookies.clear()
    client.cookies.set(COOKIE, "A" * 43)
    refused.append(sent(client, form))
    client.cookies.clear()
    client.cookies.set(COOKIE, own)
    assert [answer.status_code for answer in refused] == [403] * 4
    assert everything(workspace) == before
    assert_well_made(refused[2].text)
    again = next(each for each in Forms(refused[2].text).all if each["action"] == form["action"])
    assert sent(client, again).status_code == 303
    assert everything(workspace) != before
