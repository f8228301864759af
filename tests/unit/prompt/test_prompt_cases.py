"""The prompt cases of tests/conformance/prompts/: what any builder of these prompts has to give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catmem.jsonable import jsonable
from tests.golden.case import build
from tests.together import together

FOLDER = Path(__file__).parents[2] / "conformance" / "prompts"
CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted(FOLDER.glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))
]
EXPECTATIONS = {"text", "entries", "hidden", "shows", "hides"}


@pytest.mark.parametrize("case", CASES)
def test_case(tmp_path, case):
    prompt = build(case, tmp_path)
    everything = prompt.text + json.dumps(jsonable(prompt.manifest), ensure_ascii=False)
    rows = [[row.line, row.state, row.status, row.reason] for row in prompt.manifest.rows]
    assert prompt.text == case.get("text", prompt.text)
    assert rows == case.get("entries", rows)
    assert prompt.manifest.hidden == case.get("hidden", prompt.manifest.hidden)
    assert [text for text in case.get("shows", []) if text not in prompt.text] == []
    assert [text for text in case.get("hides", []) if text in everything] == []


@together("case", CASES)
def test_every_case_expects_something_and_nothing_unknown(case):
    assert EXPECTATIONS & set(case)
    assert set(case) <= {"name", "documents", "profile", "config", "as_of", "style"} | EXPECTATIONS
