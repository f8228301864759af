"""The cases of ``tests/conformance/lint/``: what each rule finds, what it leaves alone, and what its fixes write."""

import json
from datetime import date
from pathlib import Path

import pytest
import yaml

from catmem.config.config import load_config
from catmem.linting.linted import Context, LintedFile
from catmem.linting.rule import all_rules
from catmem.model.edit import apply_edits
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.together import together

FOLDER = Path(__file__).parents[2] / "conformance" / "lint"
FILES = sorted(FOLDER.glob("*.json"))
CASES = [case for path in FILES for case in json.loads(path.read_bytes())["cases"]]


def context_of(case, folder):
    """The root of the case, in a folder of its own."""
    put(folder / "catmem.yaml", yaml.safe_dump(case.get("config", {})))
    for name, data in case.get("profiles", {}).items():
        put(folder / "profiles" / f"{name}.yaml", yaml.safe_dump(data))
    config = load_config(folder)
    rule = all_rules()[case["rule"]]
    assert set(case.get("options", {})) <= set(rule.options)
    options = {rule.code: {**rule.options, **case.get("options", {})}}
    return Context(config, date(2026, 11, 21), Workspace(config).profiles(), rule_options=options)


def linted(context, path, data, owner=None, target=None):
    return LintedFile.from_bytes(path, data, context.config, owner=owner, target=target)


def findings(case, context, text=None):
    """The file and the finding of each, in order."""
    rule = all_rules()[case["rule"]]
    if rule.scope == "root":
        owners = case.get("owners", {})
        files = {
            path: linted(context, path, said.encode(), *owners.get(path, ())) for path, said in case["files"].items()
        }
        root = dict(sorted(files.items()))
        found = [(files[finding.path], finding) for finding in rule.check(root, context)]
    else:
        data = bytes.fromhex(case["hex"]) if "hex" in case else (case["input"] if text is None else text).encode()
        file = linted(context, case.get("path", "USER.md"), data, case.get("owner"), case.get("target"))
        found = [(file, finding) for finding in rule.check(file, context)]
    return sorted(found, key=lambda one: (one[0].path, one[1].start))


@pytest.mark.parametrize("code", all_rules())
def test_each_case_finds_just_this_and_its_fixes_write_this_and_leave_nothing_to_fix(code, tmp_path):
    for number, case in enumerate(each for each in CASES if each["rule"] == code):
        try:
            assert_found(case, context_of(case, tmp_path / str(number)))
        except AssertionError as error:
            error.add_note(f"in the case {case['name']!r}")
            raise


def assert_found(case, context):
    found = findings(case, context)
    said = [{"line": file.line(one.start), "text": file.text[one.start : one.end]} for file, one in found]
    assert said == [{key: value for key, value in one.items() if key != "path"} for one in case["findings"]]
    assert [file.path for file, _ in found] == [
        one.get("path", file.path) for one, (file, _) in zip(case["findings"], found, strict=True)
    ]
    for _, one in found:  # one sentence, without a full stop
        assert one.message
        assert "\n" not in one.message
        assert not one.message.endswith(".")
        assert not one.hint or one.hint.endswith((".", "?"))

    rule = all_rules()[case["rule"]]
    fixes = [one.fix for _, one in found if one.fix is not None]
    if "fixed" not in case:
        assert fixes == []
        return
    assert {fix.safe for fix in fixes} == {case["safe"]}
    assert rule.fixes in {"safe" if case["safe"] else "unsafe", "both"}
    text = case["input"]
    for _ in range(case.get("rounds", 1)):
        edits = [edit for _, one in findings(case, context, text) if one.fix for edit in one.fix.edits]
        text = apply_edits(text, sorted(edits))
    assert (text.strip("\n§ ") if case.get("trimmed") else text) == case["fixed"]
    assert [one for _, one in findings(case, context, text) if one.fix] == []


@together(
    "code",
    [
        code
        for code, rule in all_rules().items()
        if rule.scope == "file" or (rule.scope == "root" and code[:3] in {"CM2", "CM5"})
    ],
)
def test_every_rule_has_cases_on_both_sides(code):
    finds = {bool(case["findings"]) for case in CASES if case["rule"] == code}
    assert finds == {True, False}


@together("rule", list(all_rules().values()), ids=list(all_rules()))
def test_a_rule_with_both_kinds_of_fix_says_so(rule):
    kinds = {"safe" if case["safe"] else "unsafe" for case in CASES if case["rule"] == rule.code and "fixed" in case}
    assert kinds == ({"safe", "unsafe"} if rule.fixes == "both" else {rule.fixes} - {""})


def test_names_of_cases_are_unique():
    names = [(case["rule"], case["name"]) for case in CASES]
    assert len(names) == len(set(names))
    assert {rule for rule, _ in names} <= set(all_rules())
