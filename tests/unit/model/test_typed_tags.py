"""`Entry.typed_tags`: the tags of the format as values of Python, which a type checker and an editor know."""

import subprocess
import sys
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

import catmem
from catmem.syntax import tags as tag_blocks


def typed(text):
    (entry,) = catmem.parse(text).entries
    return entry.typed_tags


@pytest.mark.parametrize(
    "tags",
    ["", "[expires: soon] ", "[created: [2026-05-01]] ", "[verified_date: 2026-02-30] ", "[source: [a, b]] ",
     "[owner: ann] "],
)  # fmt: skip
def test_what_does_not_fit_is_left_out_and_stays_in_tags(tags):
    (entry,) = catmem.parse(f"{tags}x").entries
    assert entry.typed_tags == {}
    assert len(entry.tags) == (tags != "")


TAGS = st.dictionaries(
    st.sampled_from(sorted(catmem.Tags.__annotations__)),
    st.one_of(
        st.dates().map(str), st.sampled_from(["x", "2026-13-01"]), st.lists(st.sampled_from(["a", "b"]), min_size=1)
    ),
)


@given(TAGS)
def test_dates_come_back_as_they_were_written(tags):
    text = tag_blocks.write(tags, "x")
    found = typed(text)
    assert found.keys() <= tags.keys()
    for name, value in found.items():
        assert str(value) == tags[name] if isinstance(value, date) else value in (tags[name], [tags[name]])


PROGRAM = """\
import catmem
from datetime import date, timedelta

def due(entry: catmem.Entry) -> date | None:
    tags: catmem.Tags = entry.typed_tags
    day = tags.get("expires")
    return None if day is None else day - timedelta(days=7)

def wrong(entry: catmem.Entry) -> str:
    tags = entry.typed_tags
    print(tags["expire"])
    catmem.Tags(created="2026-05-01")
    return tags["created"]
"""
CAUGHT = {11: "typeddict-item", 12: "typeddict-item", 13: "return-value"}


def test_a_type_checker_catches_a_wrong_use(tmp_path, root):
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(tmp_path / "program.py")],
        capture_output=True, text=True, check=False, cwd=root,
    )  # fmt: skip
    errors = [line for line in run.stdout.splitlines() if ": error:" in line]
    found = {int(line.split(":")[1]): line.rpartition("[")[2].rstrip("]") for line in errors}
    assert found == CAUGHT, run.stdout + run.stderr
