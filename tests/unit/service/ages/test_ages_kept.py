"""What was worked out of a history is kept beside the files, and is nothing but a shortcut."""

from __future__ import annotations

import json
from functools import partial

import pytest

from catmem.service.ages.history import FirstSeen, body_key
from catmem.service.ages.kept import forget
from catmem.service.ages.known import clocks_of
from catmem.service.stores import parse_file
from tests.unit.service.aging import Aging


@pytest.fixture
def aging(tmp_path, monkeypatch):
    """A root with a short history, where anything that was worked out is kept."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr("catmem.service.ages.kept.WORTH", 0)
    aging = Aging(tmp_path)
    aging.outsider("## Talk\nno calls\n§\nin English\n", "2026-01-10")
    aging.on("2026-02-01").replace("neo", "no calls", "nothing of the old words")
    aging.on("2026-02-02").add("neo", "uses uv", category="talk")
    yield aging
    aging.close()


@pytest.fixture
def kept(aging):
    return aging.path.parent / ".catmem" / "ages.json"


def whole(aging):
    """The moments that the history tells from its beginning on."""
    workspace = aging.open()
    found = FirstSeen(partial(parse_file, workspace.config))
    found.follow(workspace.store, "neo/user")
    return {key: known.moment for key, known in found.all().items()}


def test_it_holds_no_text(aging, kept):
    aging.clocks()
    text = kept.read_text(encoding="utf-8")
    assert body_key("uses uv") in text
    assert not any(words in text for words in ("calls", "English", "uv"))
    assert kept.stat().st_mode & 0o077 == 0


def test_what_is_added_to_it_is_what_the_whole_history_tells(aging, kept):
    aging.clocks()
    for number in range(3):
        aging.on(f"2026-03-0{number + 1}").add("neo", f"fact {number}", category="talk")
        aging.outsider(aging.path.read_text(encoding="utf-8") + f"§\nby hand {number}\n", f"2026-03-0{number + 1}")
        aging.clocks()
    aging.on("2026-04-01").add("neo", "the last", category="talk")
    aging.clocks()
    said = json.loads(kept.read_text(encoding="utf-8"))["files"]["USER.md"]
    assert {key: tuple(said["times"][index]) for key, (index, _) in said["seen"].items()} == whole(aging)


def test_many_new_revisions_at_once(aging, monkeypatch):
    aging.clocks()
    monkeypatch.setattr("catmem.service.ages.history._FEW", 2)
    for number in range(4):
        aging.on(f"2026-03-0{number + 1}").add("neo", f"fact {number}", category="talk")
    before = aging.clocks()
    (aging.path.parent / ".catmem" / "ages.json").unlink()
    assert aging.clocks() == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "[]",
        '{"format": 2}',
        '{"format": 9, "files": {}}',
        '{"format": 2, "files": {"USER.md": {"last": [1e999, "x", "1"], "times": [], "places": [], "seen": {}}}}',
        '{"format": 2, "files": {"USER.md": {"last": [NaN, "x", "1"], "times": [], "places": [], "seen": {}}}}',
        '{"format": 2, "files": {"USER.md": {"last": [1, "x", "1"], "times": [["created", 5]], "places": [], "seen": {}}}}',
        '{"format": 2, "files": {"USER.md": {"last": 5, "times": [], "places": [], "seen": {"a": [7, 0]}}}}',
        '{"format": 2, "files": {"USER.md": []}}',
        "[" * 100_000,
    ],
)
def test_one_that_is_not_right_is_made_again(aging, kept, text):
    before = aging.clocks()
    kept.write_text(text, encoding="utf-8")
    assert aging.clocks() == before
    assert json.loads(kept.read_text(encoding="utf-8"))["files"]["USER.md"]["seen"]


def test_one_of_another_history_is_made_again(aging, kept):
    before = aging.clocks()
    said = json.loads(kept.read_text(encoding="utf-8"))
    said["files"]["USER.md"]["last"][1] = "of another journal"
    kept.write_text(json.dumps(said), encoding="utf-8")
    assert aging.clocks() == before
    assert "another" not in kept.read_text(encoding="utf-8")


def test_where_it_cannot_be_written_nothing_fails(aging, kept, monkeypatch):
    def refuse(*_arguments, **_choices):
        raise PermissionError(13, "read-only")

    monkeypatch.setattr("catmem.store.replacing.tempfile.mkstemp", refuse)
    assert aging.clocks()["in English"] == ("file_time", "2026-01-10")
    assert not kept.exists()


def test_nothing_is_left_when_writing_it_fails_half_way(aging, kept, monkeypatch):
    def refuse(*_arguments):
        raise OSError(28, "no space")

    monkeypatch.setattr("catmem.store.replacing.os.replace", refuse)
    aging.clocks()
    assert [path.name for path in kept.parent.iterdir() if "ages" in path.name] == []


def test_little_work_is_not_kept_and_no_folder_is_made(tmp_path):
    aging = Aging(tmp_path)
    aging.outsider("no calls\n", "2026-01-10")
    aging.clocks()
    assert not (aging.path.parent / ".catmem").exists()
    aging.on("2026-02-01").add("neo", "uses uv")
    aging.clocks()
    assert not (aging.path.parent / ".catmem" / "ages.json").exists()
    aging.close()


def test_a_purge_forgets_it(aging, kept):
    from catmem.service.purging.purge import purge

    aging.clocks()
    assert body_key("uses uv") in kept.read_text(encoding="utf-8")
    purge(aging.on("2026-05-01"), "neo", "uses uv")
    assert aging.clocks()["in English"] == ("file_time", "2026-01-10")
    assert body_key("uses uv") not in kept.read_text(encoding="utf-8")


def test_it_can_be_forgotten(aging, kept):
    before = aging.clocks()
    assert forget(aging.path)
    assert not kept.exists()
    assert not forget(aging.path)
    assert aging.clocks() == before


def test_bodies_that_are_gone_are_forgotten_when_there_are_very_many(aging, monkeypatch):
    monkeypatch.setattr("catmem.service.ages.gone.MOST", 3)
    monkeypatch.setattr("catmem.service.ages.history._SPARE", 0)
    for number in range(8):
        aging.on(f"2026-03-0{number + 1}").replace("neo", "uses uv", f"uses uv {number}")
        aging.on(f"2026-03-0{number + 1}").replace("neo", f"uses uv {number}", "uses uv")
    assert aging.clocks()["in English"] == ("file_time", "2026-01-10")
    assert body_key("no calls") not in whole(aging)
    assert len(whole(aging)) < 2 * 3 + (2 + 3)  # two tables, the two of the file, and what is not put away yet


def test_what_was_kept_of_a_long_history_is_put_away_at_the_first_question(aging, monkeypatch):
    for number in range(12):
        aging.on("2026-03-01").replace("neo", "uses uv", f"uses uv {number}")
        aging.on("2026-03-01").replace("neo", f"uses uv {number}", "uses uv")
    before = aging.clocks()
    monkeypatch.setattr("catmem.service.ages.history._SPARE", 0)
    workspace = aging.open()
    document = workspace.read("neo").document
    assert clocks_of(workspace, "neo/user", document, document.entries)
    ages = workspace._ages["neo/user"]
    assert set(ages.known) == {body_key(entry.body) for entry in document.entries}
    assert len(ages.gone) >= 12
    assert aging.clocks() == before


def test_fsck_and_doctor_pass_over_it(aging, kept):
    aging.clocks()
    assert kept.exists()
    assert aging.open().store.verify() == []
