"""A session keeps the prompt that it was first asked for."""

from __future__ import annotations

from datetime import date

import pytest

from catmem.errors import UnknownNameError, UnreadableError
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.together import together

DAY = date(2026, 11, 21)


@pytest.fixture
def workspace(tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\nfirst\n")
    return Workspace.open(tmp_path, search=False)


@together(("text", "shown"), [("## Talk\nfirst\n", ["first"]), ("", [])])
def test_the_prompt_is_read_when_it_is_first_asked_for_and_stays_whatever_is_written(workspace, text, shown):
    session = workspace.session("neo", as_of=DAY)
    file = put(workspace.path("neo", "user"), text)
    first = session.prompt
    assert [row.preview for row in first.manifest.rows] == shown
    put(file, "## Talk\nsecond\n")
    assert session.prompt is first
    put(file, b"\xff")
    with pytest.raises(UnreadableError):
        session.refresh()
    file.unlink()
    assert session.prompt is first


def test_refresh_reads_again_and_stays_again(workspace):
    session = workspace.session("neo", as_of=DAY, style="xml")
    first = session.prompt
    put(workspace.path("neo", "user"), "## Talk\nsecond\n")
    second = session.refresh()
    assert (second is session.prompt, second == first) == (True, False)
    assert second.text == workspace.prompt("neo", as_of=DAY, style="xml").text
    put(workspace.path("neo", "user"), "## Talk\nthird\n")
    assert session.prompt is second


def test_an_unknown_profile(workspace):
    session = workspace.session("nobody")
    with pytest.raises(UnknownNameError):
        _ = session.prompt
