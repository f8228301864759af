"""The cases of ``tests/conformance/``: data only, one test a case. A file there that nothing reads fails the suite."""

import json
from pathlib import Path

import pytest

from catmem.errors import EditError
from catmem.jsonable import jsonable
from catmem.model.document import parse
from catmem.model.edit import (
    add_entry,
    apply_edits,
    move_entry,
    remove_entry,
    replace_entry,
    retag_entry,
)
from catmem.model.layout import formatted
from tests.together import together

FOLDER = Path(__file__).parents[1] / "conformance"
TAKEN_HERE = ("parse.json", "edits/*.json", "layouts/*.json", "problems/*.json")
TAKEN_ELSEWHERE = {
    "lint": "linting/test_rule_cases.py",
    "merge": "model/test_merge.py",
    "profiles": "config/test_profile.py",
    "prompts": "prompt/test_prompt.py",
}


def cases(pattern, *, key=None):
    """The cases of the files that match, named ``file::case``; with ``key``, only those that have it."""
    return [
        pytest.param(case, id=f"{path.relative_to(FOLDER).with_suffix('').as_posix()}::{case['name']}")
        for path in sorted(FOLDER.glob(pattern))
        for case in json.loads(path.read_bytes())["cases"]
        if key is None or key in case
    ]


def test_every_file_is_taken_by_a_runner():
    taken = {path for pattern in TAKEN_HERE for path in FOLDER.glob(pattern)}
    for folder, runner in TAKEN_ELSEWHERE.items():
        assert f'"{folder}"' in (Path(__file__).parent / runner).read_text(encoding="utf-8")
        taken.update((FOLDER / folder).rglob("*"))
    left = [path for path in FOLDER.rglob("*") if path.is_file() and path not in taken and path.name != "README.md"]
    assert not left


@together("pattern", TAKEN_HERE)
def test_names_are_unique(pattern):
    for path in FOLDER.glob(pattern):
        data = json.loads(path.read_bytes())
        assert data["format_version"] == 1
        names = [case["name"] for case in data["cases"]]
        assert names
        assert len(set(names)) == len(names)
        assert all(case["rule"] for case in data["cases"])
        if path.parent.name == "edits":
            assert all(("after" in case) != ("error" in case) for case in data["cases"])


@together("case", cases("parse.json"))
def test_parse(case):
    document = parse(case["input"].encode(), case.get("declared"))
    found = jsonable(document)
    assert {key: found[key] for key in case["expected"]} == case["expected"]
    assert list(found["categories"]) == list(case["expected"]["categories"])
    assert document.to_bytes() == case["input"].encode()


@together("case", cases("problems/*.json"))
def test_problems(case):
    assert jsonable(parse(case["input"], case.get("declared")))["problems"] == case["problems"]


def edited(document, operation):
    arguments = dict(operation)
    kind = arguments.pop("do")
    if kind == "add":
        return add_entry(document, arguments.pop("body"), **arguments)
    operations = {"replace": replace_entry, "retag": retag_entry, "remove": remove_entry, "move": move_entry}
    return operations[kind](document, document.entries[arguments.pop("entry")], **arguments)


@together("case", cases("edits/*.json", key="after"))
def test_edit(case):
    document = parse(case["before"])
    result = edited(document, case["operation"])
    assert result.document.text == case["after"]
    assert apply_edits(document.text, result.edits) == case["after"]
    if case["operation"]["do"] == "add":
        assert result.entry.body == case["operation"]["body"]
        assert result.entry.tags == case["operation"].get("tags", {})


@together("case", cases("edits/*.json", key="error"))
def test_refused_edit(case):
    with pytest.raises(EditError) as caught:
        edited(parse(case["before"]), case["operation"])
    assert caught.value.code == case["error"]


@together("case", cases("layouts/*.json"))
def test_layout(case):
    assert formatted(parse(case["before"]), case["layout"]) == case["after"]
    assert formatted(parse(case["after"]), case["layout"]) == case["after"]
