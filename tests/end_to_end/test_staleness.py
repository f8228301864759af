"""The flaw that staleness guards against: a fact that is read, ranked or prompted must not grow young by that.

With ``stale_after: 30d``, searching or prompting a 60-day-old fact leaves its file, the file's mtime and the
fact's stale note as they were. Only a verification clears the note.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta

import pytest

from catmem.clock import today
from catmem.tools.memory_tool import memory_tool
from catmem.workspace.workspace import Workspace
from tests.days import stand_still
from tests.end_to_end.terminal import run, run_json
from tests.golden.case import put

DAY = today()
AGO = DAY - timedelta(days=60)
FACT = "The vendor is Acme."
UNDATED = f"## Talk\n{FACT}\n§\nNo calls before ten.\n"
CREATED = f"## Talk\n[created: {AGO}] {FACT}\n§\nNo calls before ten.\n"
NOTES = {UNDATED: "unverified", CREATED: f"stale: created {AGO}"}


@pytest.fixture(autouse=True)
def standing_day(monkeypatch):
    """The day of the constants, however late it is when a long run comes here."""
    stand_still(monkeypatch, DAY)


class Place:
    """A root whose one file was last written 60 days ago."""

    def __init__(self, folder, text) -> None:
        self.folder = folder
        self.note = NOTES[text]
        put(folder / "catmem.yaml", "stale_after: 30d\n")
        put(
            folder / "profiles" / "neo.yaml",
            "user_memory_categories: [talk]\nprompt: {unverified: note}\nwritable_categories: [talk]\n",
        )
        self.path = put(folder / "homes" / "neo" / "USER.md", text)
        moment = datetime(AGO.year, AGO.month, AGO.day, 12).timestamp()  # noqa: DTZ001 - noon where the person is
        os.utime(self.path, (moment, moment))

    def run(self, *arguments, **choices):
        return run(*arguments, "--root", self.folder, **choices)

    def state(self):
        """What must not change: the bytes and the time of the file."""
        return self.path.read_bytes(), self.path.stat().st_mtime_ns

    def due(self):
        """Why the fact is due for a review, ``None`` if it is not."""
        said = run_json("review", "--list", "--root", self.folder)["due"]
        return next((each["why"] for each in said if "Acme" in each["body"]), None)


@pytest.fixture(params=[UNDATED, CREATED], ids=["undated", "created"])
def place(tmp_path, request):
    return Place(tmp_path, request.param)


@pytest.mark.parametrize("recorded", [False, True], ids=["never written", "with a history"])
def test_reading_leaves_the_file_its_time_and_the_note(place, recorded):
    if recorded:
        place.run("add", "-p", "neo", "-c", "talk", "Something else.")
    before, why = place.state(), place.due()
    assert why is not None
    assert "60 days ago" in why
    assert place.note in place.run("prompt", "neo").stdout
    workspace = Workspace.open(place.folder)
    for _ in range(2):
        place.run("prompt", "neo")
        place.run("prompt", "neo", "--explain")
        place.run("search", "-p", "neo", "vendor")
        place.run("list", "-p", "neo")
        place.run("show", place.path)
        place.run("review", "--list")
        place.run("review", input="", status=1)
        workspace.prompt("neo")
        workspace.session("neo").refresh()
        for arguments in ({"action": "list"}, {"action": "search", "query": "vendor"}):
            assert memory_tool(workspace, "neo", arguments)["success"]
    workspace.store.close()
    assert place.state() == before
    assert place.note in place.run("prompt", "neo").stdout
    assert place.due() == why


def another_is_added(place):
    place.run("add", "-p", "neo", "-c", "talk", "Something else.")


def another_is_verified(place):
    place.run("verify", "-p", "neo", "No calls")


def another_is_removed(place):
    place.run("remove", "-p", "neo", "No calls")


def it_gets_new_words(place):
    place.run("replace", "-p", "neo", FACT, "Acme it is, the vendor.")


def it_gets_a_tag(place):
    place.run("replace", "-p", "neo", FACT, "--tag", "source=somebody")


def it_is_moved(place):
    place.run("add", "-p", "neo", "-c", "rules", "A rule.")
    place.run("move", "-p", "neo", FACT, "-c", "rules")
    place.run("move", "-p", "neo", FACT, "-c", "talk")


def it_is_saved_again(place):
    place.run("add", "-p", "neo", "-c", "talk", FACT)


def it_is_skipped(place):
    place.run("review", input="s\ns\n")
    place.run("review", input="", status=1)


@pytest.mark.parametrize(
    "work",
    [
        another_is_added,
        another_is_verified,
        another_is_removed,
        it_gets_new_words,
        it_gets_a_tag,
        it_is_moved,
        it_is_saved_again,
        it_is_skipped,
    ],
)
def test_writing_anything_else_leaves_the_note(place, work):
    why = place.due()
    work(place)
    assert place.note in place.run("prompt", "neo").stdout
    assert place.due() == why


def test_only_a_verification_clears_the_note(place):
    place.run("verify", "-p", "neo", FACT)
    place.run("verify", "-p", "neo", "No calls")
    assert place.note not in place.run("prompt", "neo").stdout
    assert place.due() is None


def test_keeping_it_in_a_review_clears_the_note(place):
    place.run("review", input="k\nk\n")
    assert place.note not in place.run("prompt", "neo").stdout
    assert place.due() is None
