"""A session keeps the prompt that it was first asked for."""

from __future__ import annotations

from datetime import date

import pytest

from catmem.errors import UnknownNameError, UnreadableError
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

DAY = date(2026, 11, 21)


@pytest.fixture
def workspace(tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\nfirst\n")
    return Workspace.open(tmp_path, search=False)


def test_the_prompt_is_read_when_it_is_first_asked_for(workspace):
    session = workspace.session("neo", as_of=DAY)
    put(workspace.path("neo", "user"), "## Talk\nsecond\n")
    assert "second" in session.prompt.text


def test_it_stays_whatever_is_written(workspace):
    session = workspace.session("neo", as_of=DAY)
    first = session.prompt
    put(workspace.path("neo", "user"), "## Talk\nsecond\n")
    assert session.prompt is first
    workspace.path("neo", "user").unlink()
    assert session.prompt is first
    assert [row.preview for row in session.prompt.manifest.rows] == ["first"]


def test_refresh_reads_again_and_stays_again(workspace):
    session = workspace.session("neo", as_of=DAY, style="xml")
    first = session.prompt
    put(workspace.path("neo", "user"), "## Talk\nsecond\n")
    second = session.refresh()
    assert (second is session.prompt, second == first) == (True, False)
    assert second.text == workspace.prompt("neo", as_of=DAY, style="xml").text
    put(workspace.path("neo", "user"), "## Talk\nthird\n")
    assert session.prompt is second


def test_an_empty_prompt_stays_as_well(workspace):
    put(workspace.path("neo", "user"), "")
    session = workspace.session("neo")
    first = session.prompt
    put(workspace.path("neo", "user"), "## Talk\nsecond\n")
    assert session.prompt is first
    assert first.text == ""


def test_a_refresh_that_fails_keeps_the_prompt(workspace):
    session = workspace.session("neo", as_of=DAY)
    first = session.prompt
    put(workspace.path("neo", "user"), b"\xff")
    with pytest.raises(UnreadableError):
        session.refresh()
    assert session.prompt is first


def test_an_unknown_profile(workspace):
    session = workspace.session("nobody")
    with pytest.raises(UnknownNameError):
        _ = session.prompt
