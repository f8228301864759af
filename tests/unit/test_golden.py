"""Prompts, byte for byte (tests/golden/). A change here is a change of every prompt that people have cached.

What programs hold on to changes only on purpose as well: ``python -m tests.golden.regenerate``, and a look at the difference.
"""

import json

import pytest

from tests.golden import frozen
from tests.golden.case import FOLDER, STYLES, build, golden_cases, load
from tests.together import together

CASES = golden_cases()


@together("style", STYLES)
@together("path", CASES, ids=lambda path: path.stem)
def test_the_prompt_is_the_golden_one(tmp_path, path, style):
    golden = path.with_name(f"{path.stem}.{style}.txt")
    assert build(load(path), tmp_path, style).text.encode() == golden.read_bytes()


def test_no_golden_file_is_left_over():
    expected = {f"{path.stem}.{style}.txt" for path in CASES for style in STYLES}
    assert {path.name for path in FOLDER.glob("*.txt")} == expected


@pytest.mark.parametrize("name", frozen.FROZEN)
def test_what_is_frozen_is_as_it_was(name, tmp_path):
    was = json.loads((frozen.FOLDER / f"{name}.json").read_bytes())
    assert json.loads(frozen.text_of(name, tmp_path)) == was
