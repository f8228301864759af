"""The prompt cases of tests/conformance/prompts/: what any builder of these prompts has to give."""

import json
from pathlib import Path

import pytest

from catmem.jsonable import jsonable
from tests.golden.case import build

FOLDER = Path(__file__).parents[2] / "conformance" / "prompts"
EXPECTATIONS = {"text", "entries", "hidden", "shows", "hides"}
KNOWN = {"name", "documents", "profile", "config", "as_of", "style"} | EXPECTATIONS


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_cases(tmp_path, path):
    for number, case in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        name = case["name"]
        assert EXPECTATIONS & set(case), name
        assert set(case) <= KNOWN, name
        prompt = build(case, tmp_path / str(number))
        everything = prompt.text + json.dumps(jsonable(prompt.manifest), ensure_ascii=False)
        rows = [[row.line, row.state, row.status, row.reason] for row in prompt.manifest.rows]
        assert prompt.text == case.get("text", prompt.text), name
        assert rows == case.get("entries", rows), name
        assert prompt.manifest.hidden == case.get("hidden", prompt.manifest.hidden), name
        assert [text for text in case.get("shows", []) if text not in prompt.text] == [], name
        assert [text for text in case.get("hides", []) if text in everything] == [], name
