"""``catmem show``."""

import json
from functools import partial

import pytest

from tests.end_to_end.terminal import run as command
from tests.golden.case import put

TEXT = "# Title\n\n## Talk\n[verified_date: 2026-05-01, domain: [a, b]] one\ntwo\n§\n```\nopen\n\n## Pay\nsecret\n"


run = partial(command, "show")


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "taxonomy: {categories: {talk: {aliases: [speech]}}}\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\n")
    put(tmp_path / "homes" / "neo" / "USER.md", TEXT)
    return tmp_path


def test_the_name_of_a_profile_is_no_file_but_the_profile(place, monkeypatch):
    assert run("neo", "--root", place).stdout == run("-p", "neo", "--root", place).stdout
    monkeypatch.chdir(place)
    put(place / "neo", "## Other\nx\n")
    assert run("neo").stdout.startswith("other (1)")  # a file that is there goes first


def test_standard_input(place):
    assert "talk (2)" in run("-", "--root", place, input=TEXT).stdout
    assert "talk (1)" in run("-", "--root", place, input="## Speech\nx").stdout
    assert run("-", "--root", place, input="").stdout == "(no entries)\n"
    assert json.loads(run("-", "--root", place, "--format", "json", input=b"\xef\xbb\xbf## A\r\nx\r\n").stdout)[
        "categories"
    ]


def test_the_files_own_root_says_what_its_aliases_mean(place, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    file = put(place / "homes" / "neo" / "USER.md", "## Speech\nx\n")
    assert run(file).stdout.startswith("talk (1)")
