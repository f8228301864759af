"""Who comes without the token of a person reads what a person needs, and a program what a program needs."""

import base64

import pytest

from catmem.envelopes.tokens import new_token
from tests.unit.server.page.changing import root
from tests.unit.server.page.forms import Forms, well_made
from tests.unit.server.page.markup import Markup

HTML = {"Accept": "text/html,*/*"}


@pytest.fixture
def at_the_door(tmp_path, browse):
    """A browser before a server with tokens, and the secrets of some."""
    workspace = root(tmp_path / "root")
    path = tmp_path / "tokens" / "tokens.json"
    made = {
        "agent": new_token(workspace.config, path, "neo"),
        "reader": new_token(workspace.config, path, "boss", scope="read"),
        "metrics": new_token(workspace.config, path, "prometheus", scope="metrics"),
    }
    return browse(workspace, tokens=path), {name: secret for name, (_, secret) in made.items()}


def basic(secret):
    return {"Authorization": "Basic " + base64.b64encode(f"anna:{secret}".encode()).decode(), **HTML}


def test_a_browser_is_told_what_a_person_needs(at_the_door):
    client, _ = at_the_door
    answer = client.get("/", headers=HTML)
    text = Markup(answer.text).text
    assert answer.status_code == 401
    assert "catmem token new NAME --person" in text
    assert "Any name will do, and the token is the password." in text
    assert "Authorization: Bearer" not in text


TOLD = [
    ("agent", "the agent neo", "/mem and /prompt, as the profile neo"),
    ("reader", "the agent boss", "/mem and /prompt, as the profile boss"),
    ("metrics", "for metrics", "at /metrics"),
]


@pytest.mark.parametrize(("name", "whose", "may"), TOLD)
def test_the_token_of_an_agent_in_a_browser_is_called_that(at_the_door, name, whose, may):
    client, secrets = at_the_door
    answer = client.get("/", headers=basic(secrets[name]))
    text = Markup(answer.text).text
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic")
    assert whose in text
    assert may in text
    assert "catmem token new NAME --person" in text
    assert secrets[name] not in answer.text


def test_what_is_no_token_is_nobodys_and_the_id_of_one_alone_tells_nothing(at_the_door):
    client, secrets = at_the_door
    guessed = secrets["agent"][:-3] + ("AAA" if secrets["agent"][-3:] != "AAA" else "BBB")
    for wrong in ("", "tulip", "catmem_0123456789ab_" + "A" * 43, guessed):
        text = Markup(client.get("/", headers=basic(wrong)).text).text
        assert "the agent" not in text
        assert "neo" not in text
        assert "This page wants the token of a person." in text


def test_the_token_of_an_agent_is_shown_no_way_that_it_may_not_go(at_the_door):
    client, secrets = at_the_door
    answer = client.get("/", headers={"Authorization": f"Bearer {secrets['agent']}", **HTML})
    assert answer.status_code == 403
    made = well_made(answer)
    assert [each for each in made.all("a") if not each.get("href", "#").startswith("#")] == []
    assert all(form["action"] == "/page/theme" or not form["action"] for form in Forms(answer.text).all)
