"""Copies that follow a source on the page: they are answered where they come from, and what is found is told once."""

import re

import pytest

from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.unit.server.page.markup import Markup

BOSS = """\
## Talk
[verified_date: 2020-01-01] Prefers short answers.
§
[verified_date: 2020-03-01] Signs mail with both names.
"""
OWN = """\
## Talk
[verified_date: 2019-01-01] Knows it alone.
"""
PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nwritable_categories: ['*']\n",
    "neo": "user_memory_categories: [talk]\nseed_from: boss\n",
    "pupil": "user_memory_categories: [talk]\nseed_from: neo\n",
}


@pytest.fixture
def workspace(tmp_path):
    """The boss seeds neo, who seeds the pupil; neo knows one thing more, which is as old as the others."""
    put(tmp_path / "catmem.yaml", "taxonomy: {categories: {talk: {title: Talk}}}\n")
    for name, text in PROFILES.items():
        put(tmp_path / "profiles" / f"{name}.yaml", text)
    put(tmp_path / "homes" / "boss" / "USER.md", BOSS)
    put(tmp_path / "homes" / "neo" / "USER.md", OWN)
    workspace = Workspace.open(tmp_path, search=False)
    for source, target in [("boss", "neo"), ("neo", "pupil")]:
        workspace.apply_seed(workspace.plan_seed(source, [target]))
    return workspace


def articles(html):
    """Each fact of the queue: its entity, the buttons beside it, and the links."""
    found = []
    for text in re.findall(r"<article.*?</article>", html, re.DOTALL):
        made = Markup(text)
        entity = made.all("article")[0]["data-entity"]
        links = [each["href"] for each in made.all("a")]
        found.append((entity, re.findall(r"<button[^>]*>(\w+)", text), links))
    return found


def test_a_copy_has_no_buttons_in_the_queue_of_its_profile(client):
    found = articles(client.get("/page/queue?profile=neo").text)
    assert [(entity, bool(buttons)) for entity, buttons, _ in found] == [
        ("neo/user", True),
        ("neo/user", False),
        ("neo/user", False),
    ]


@pytest.mark.parametrize(("name", "source"), [("neo", "boss"), ("pupil", "neo")])
def test_a_copy_leads_to_its_source_in_the_queue(client, name, source):
    html = client.get(f"/page/queue?profile={name}&state=stale").text
    assert f"follows {source}/user , and is looked at there" in Markup(html).text
    links = [link for _, buttons, links in articles(html) if not buttons for link in links if "/queue" in link]
    assert links
    for link in links:
        address, _, place = link.partition("#")
        shown = Markup(client.get(address).text)
        assert f'id="{place}"' in client.get(address).text
        assert place in [each["id"] for each in shown.all("article") if each["data-entity"] == f"{source}/user"]


def test_a_copy_that_is_due_by_its_own_measure_can_be_answered(client, workspace):
    put(workspace.root / "profiles" / "boss.yaml", f"{PROFILES['boss']}stale_after: 9999d\n")
    html = client.get("/page/queue?profile=neo").text
    assert "follows boss/user , where it is not due" in Markup(html).text
    assert all(buttons for _, buttons, _ in articles(html))


def test_a_source_that_cannot_be_read_answers_nothing(client, workspace):
    (workspace.root / "homes" / "boss" / "USER.md").write_bytes(b"\xff")
    assert all(buttons for _, buttons, _ in articles(client.get("/page/queue?profile=neo").text))


# --- lint ------------------------------------------------------------------------------------------------------------


def test_lint_tells_what_is_found_in_copies_once(client):
    made = Markup(client.get("/page/lint?rule=CM307").text)
    assert made.text.count("it was last verified on 2020-01-01") == 1
    assert made.text.count("and in its copies: neo/user, pupil/user") == 2
    assert "are in copies, and stand with what they follow" in made.text
