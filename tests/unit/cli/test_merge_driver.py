"""``catmem merge-driver``, called as git calls it; ``tests/interplay/test_git.py`` has git itself."""

import json

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.ops import branches as git
from catmem.seeding.seed_lock import read_lock
from tests.golden.case import put

BASE = "## Finance\nAcme is the vendor for cloud billing.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(group, ["merge-driver", *arguments])


def sides(folder, base, ours, theirs):
    for name, text in (("o", base), ("a", ours), ("b", theirs)):
        put(folder / name, text)
    return "o", "a", "b"


@pytest.mark.parametrize("swapped", [False, True])
def test_headings_without_entries_that_each_side_added_are_all_there(folder, swapped):
    texts = [f"{BASE}\n## Ours\n", f"{BASE}\n## Theirs\n\n## More\n"]
    names = sides(folder, BASE, *(reversed(texts) if swapped else texts))
    assert run(*names, "USER.md").exit_code == 0
    lines = (folder / "a").read_text().splitlines()
    assert sorted(line for line in lines if line.startswith("##")) == ["## Finance", "## More", "## Ours", "## Theirs"]


def test_in_a_fence_that_is_not_closed_no_heading_is_added(folder):
    ours = f"{BASE}§\n```\nopen\n"
    names = sides(folder, BASE, ours, f"{BASE}\n## Theirs\n")
    run(*names, "USER.md")
    assert "```\nopen\n" in (folder / "a").read_text()


def test_entries_that_the_sides_put_under_different_headings_say_which(folder):
    names = sides(folder, BASE, BASE.replace("Finance", "Money"), BASE.replace("Finance", "Payments"))
    assert run(*names, "USER.md").exit_code == 1
    text = (folder / "a").read_text()
    assert "<<<<<<< ours: money\nAcme" in text
    assert ">>>>>>> theirs: payments" in text


def test_the_merge_goes_into_our_file_also_by_a_path_that_looks_like_an_option(folder):
    names = sides(folder, BASE, f"{BASE}§\nOurs.\n", f"{BASE}§\nTheirs.\n")
    result = run(*names, "--help/USER.md")
    assert (result.exit_code, result.output) == (0, "")
    assert (folder / "a").read_text().count("§") == 2
    assert (folder / "o").read_text() == BASE


def test_a_fault_of_its_own_leaves_both_sides(folder, monkeypatch):
    names = sides(folder, BASE, BASE.replace("Acme", "Bolt"), BASE.replace("Acme", "Core"))
    monkeypatch.setattr(git, "_root", lambda *_: 1 / 0)
    result = run(*names, "USER.md")
    assert isinstance(result.exception, ZeroDivisionError)
    assert "<<<<<<< ours\nBolt" in (folder / "a").read_text()


def test_a_result_that_cannot_be_written_stops_git(folder, monkeypatch):
    names = sides(folder, BASE, BASE, f"{BASE}§\nTheirs.\n")
    (folder / "a").rename(folder / "real")
    (folder / "a").symlink_to("real")

    def merged(*_):
        (folder / "a").unlink()
        (folder / "a").mkdir()
        return git.FileMerged("a", "text")

    monkeypatch.setattr(git, "_merged", merged)
    result = run(*names, "USER.md")
    assert (result.exit_code, "not_writable" in result.stderr) == (129, True)


def test_in_the_record_of_seeds_an_alias_is_the_category_that_it_stands_for(folder):
    put(folder / "catmem.yaml", "taxonomy: {categories: {finance: {aliases: [money]}}}\n")

    def lock(category, *entries):
        texts = {f"b2:{text.encode().hex():0>32}": text for text in entries}
        made = {"revision": "1", "digest": "sha256:00", "date": "2026-05-01", "entries": {category: [*texts]}}
        return json.dumps({"version": 1, "seeds": {"neo/user": {"trinity/user": made}}, "texts": texts})

    names = sides(folder, lock("money", "one"), lock("money", "one", "two"), lock("finance", "one", "two", "three"))
    assert run(*names, "catmem.seed.lock").exit_code == 0
    (record,) = read_lock((folder / "a").read_bytes()).records.values()
    assert [(each.category, each.text) for each in record.entries] == [("finance", "one"), ("finance", "two")]
