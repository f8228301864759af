"""Bodies that a file no longer has take little room, and their number has a bound."""

from __future__ import annotations

import pytest

from catmem.service.ages.gone import Gone, Known, Moment
from catmem.service.ages.history import FirstSeen, body_key
from catmem.service.workspace import Workspace
from catmem.store.contract import Change

ROW = 44


def known(number, basis="first_seen", place="notes"):
    return Known(Moment(basis, f"2026-11-21T12:00:00.{number:06}Z"), frozenset({place}))


def many(numbers):
    return {body_key(f"fact {number}"): known(number) for number in numbers}


@pytest.mark.parametrize(
    "one",
    [
        known(0),
        known(1, "file_time"),
        known(2, place="\ud800 a place of any name \u00e4"),
        Known(known(3).moment, frozenset({"notes", "rules"})),
        Known(known(4).moment, frozenset()),
    ],
)
def test_what_is_put_away_is_found_as_it_was(one):
    gone = Gone()
    assert gone.add({**many(range(10, 20)), body_key("this"): one}) == []
    assert gone.find(body_key("this")) == one
    assert gone.find(body_key("another")) is None
    assert dict(gone.all()) == {**many(range(10, 20)), body_key("this"): one}


def test_what_comes_later_of_a_body_counts():
    gone = Gone()
    gone.add({body_key("this"): known(1)})
    gone.add({body_key("this"): known(2, place="rules")})
    assert gone.find(body_key("this")) == known(2, place="rules")
    assert len(gone) == 1


@pytest.mark.parametrize(
    ("key", "time"),
    [
        ("a", "2026-11-21T12:00:00.000000Z"),
        ("not hexadecimal at all..", "2026-11-21T12:00:00.000000Z"),
        (body_key("this").upper(), "2026-11-21T12:00:00.000000Z"),
        (body_key("this"), "2026-11-21"),
        (body_key("this"), "2026-11-21T12:00:00.00000\u0660Z"),
    ],
)
def test_what_fits_into_no_row_is_left_to_the_caller(key, time):
    gone = Gone()
    strange = Known(Moment("first_seen", time), frozenset({"notes"}))
    assert gone.add({key: strange, body_key("fine"): known(1)}) == [key]
    assert gone.find(key) is None
    assert gone.find(body_key("fine")) == known(1)


@pytest.mark.parametrize("at_once", [1, 7, 40])
def test_the_first_to_go_are_forgotten_first_and_there_is_a_bound(monkeypatch, at_once):
    monkeypatch.setattr("catmem.service.ages.gone.MOST", 10)
    gone = Gone()
    for first in range(0, 200, at_once):
        gone.add(many(range(first, min(first + at_once, 200))))
        assert len(gone) < 2 * 10
        assert gone.size == len(gone) * ROW
    there = [number for number in range(200) if gone.find(body_key(f"fact {number}")) is not None]
    assert there == list(range(200 - len(there), 200))
    assert len(there) >= 10


def test_so_has_the_number_of_their_places(monkeypatch):
    monkeypatch.setattr("catmem.service.ages.gone.MOST", 10)
    gone = Gone()
    for number in range(100):
        gone.add({body_key(f"fact {number}"): known(number, place=f"place {number}")})
    assert len(gone._newer.places) + len(gone._older.places) < 2 * 10


def test_a_counter_that_is_written_again_and_again_takes_few_bytes_a_write(tmp_path):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "catmem.yaml").write_text("version: 1\nstore: sqlite:///memory.db\n", encoding="utf-8")
    (tmp_path / "profiles" / "neo.yaml").write_text('user_memory_categories: ["*"]\n', encoding="utf-8")
    workspace = Workspace.open(tmp_path, search=False)
    revision = "0"
    ages = FirstSeen(workspace.parse)
    writes = 400
    for number in range(writes):
        text = f"## Notes\nThe count is {number}.\n§\nwhat stays\n".encode()
        revision = workspace.store.commit("neo/user", revision, lambda _, text=text: text, Change()).revision
        if number == 0:
            ages.follow(workspace.store, "neo/user")
    first = ages.find(body_key("what stays"))
    ages.follow(workspace.store, "neo/user")
    assert ages.find(body_key("what stays")) == first
    assert len(ages.known) <= 2 + 250 + 2
    assert len(ages.known) + len(ages.gone) >= writes
    assert ages.gone.size <= ROW * writes
    assert all(ages.find(body_key(f"The count is {number}.")) == first for number in (0, 1, 200, writes - 1))
    workspace.store.close()
