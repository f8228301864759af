"""Light and dark: chosen with a plain form, and remembered."""

from __future__ import annotations

import pytest

from tests.together import together
from tests.unit.server.page.markup import Markup


def chosen(client, theme, back="/page/queue"):
    return client.post("/page/theme", data={"theme": theme, "back": back}, follow_redirects=False)


def theme_of(client):
    return Markup(client.get("/").text).all("html")[0].get("data-theme")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_choice_is_remembered(client, theme):
    answer = chosen(client, theme)
    assert (answer.status_code, answer.headers["location"]) == (303, "/page/queue")
    cookie = answer.headers["set-cookie"].lower()
    assert "samesite=strict" in cookie
    assert "httponly" in cookie
    assert theme_of(client) == theme
    pressed = [
        each["value"] for each in Markup(client.get("/").text).all("button") if each.get("aria-pressed") == "true"
    ]
    assert pressed == [theme]


def test_a_theme_that_there_is_not_is_not_remembered(client):
    assert "set-cookie" not in chosen(client, "<script>").headers
    client.cookies.set("catmem_theme", "nonsense")
    assert theme_of(client) is None


@together(
    "back",
    [
        "",
        "https://elsewhere.example/",
        "//elsewhere.example",
        "/\\elsewhere.example",
        "javascript:alert(1)",
        "/a\r\nX-Y: z",
        "page",
        "/\u202e",
    ],
)
def test_the_way_back_leads_nowhere_else(client, back):
    answer = chosen(client, "dark", back)
    assert answer.headers["location"] == "/"
    assert "x-y" not in answer.headers
