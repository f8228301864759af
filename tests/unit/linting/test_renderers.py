"""The forms in which findings are shown. Their goldens stand in ``tests/golden/lint/``."""

import json

import pytest

from catmem.linting.renderers import WIDTH, excerpt, printable, render
from catmem.linting.rule import LintResult
from tests.golden.lint_case import FOLDER, NAMES, SOURCES, golden_report, golden_rules
from tests.together import together


@pytest.fixture(autouse=True)
def rules():
    with golden_rules():
        yield


@together("form", NAMES)
def test_the_form_is_the_golden_one(form):
    assert render(golden_report(), form, "0.0.0").encode() == (FOLDER / NAMES[form]).read_bytes()


def test_no_golden_file_is_left_over():
    assert {path.name for path in FOLDER.iterdir()} == set(NAMES.values())


@together("form", NAMES)
def test_a_report_without_findings(form):
    text = render(LintResult([], 3, SOURCES.get), form)
    assert text == "" if form in {"text", "github"} else json.loads(text)


# --- excerpts ------------------------------------------------------------------------------------------------------


@together(
    ("line", "span", "shown", "marks"),
    [
        ("one two", (4, 7), "one two", "    ^^^"),
        ("", (0, 0), "", "^"),
        ("one", (3, 3), "one", "   ^"),
        ("one", (1, 1), "one", " ^"),
        ("\tone", (1, 4), " one", " ^^^"),
        ("日本 x", (3, 4), "日本 x", "     ^"),
        ("日本", (1, 2), "日本", "  ^^"),
        ("e\u0301 x", (3, 4), "e\u0301 x", "  ^"),
        ("\x1b[2J", (0, 1), "\\x1b[2J", "^^^^"),
        ("a\u202eb", (2, 3), "a\\u202eb", "       ^"),
        ("\ufeffx", (1, 2), "\\ufeffx", "      ^"),
        ("a\u2028b", (1, 2), "a\\u2028b", " ^^^^^^"),
        ("\U000e0041", (0, 1), "\\U000e0041", "^^^^^^^^^^"),
    ],
)
def test_marks_stand_under_what_they_mean(line, span, shown, marks):
    assert excerpt(line, *span) == (shown, marks)


@together("place", [0, 29, 30, 31, 5_000, 9_990])
def test_a_long_line_is_cut_around_the_place(place):
    line = "x" * place + "HERE" + "y" * (10_000 - place)
    shown, marks = excerpt(line, place, place + 4)
    assert shown[marks.index("^") : marks.rindex("^") + 1] == "HERE"
    assert len(shown) <= WIDTH + 2


def test_messages_show_what_would_act_on_a_terminal():
    assert printable("a\nb\x07 fünf 日 \u202e") == "a\\nb\\x07 fünf 日 \\u202e"


# --- SARIF ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def run():
    log = json.loads(render(golden_report(), "sarif"))
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    return only


def test_sarif_offsets_and_columns_count_code_points(run):
    assert run["columnKind"] == "unicodeCodePoints"
    for result in run["results"]:
        physical = result["locations"][0]["physicalLocation"]
        region, uri = physical["region"], physical["artifactLocation"]["uri"]
        text = (
            SOURCES.get("homes/neo/USER.md" if "neo" in uri else "homes/a b,c:ü/USER.md") if "gone" not in uri else ""
        )
        before = text[: region["charOffset"]]
        assert region["startLine"] == before.count("\n") + 1
        assert region["startColumn"] == len(before) - before.rfind("\n")
