"""``lint`` of ``catmem.yaml``, and the registry of rules."""

import re

import pytest

from catmem.config.json_schema import validate
from catmem.errors import ConfigError
from catmem.linting.rule import LintSettings, all_rules, read_settings, rule, unknown_rule
from tests.together import together
from tests.unit.linting.rules_for_tests import registered, word_rule


@pytest.fixture(autouse=True)
def rules():
    options = {"words": ("a", "b"), "least": 3, "share": 0.5, "strict": False, "mark": "x"}
    with registered(word_rule("CM298", "some", options=options), word_rule("CM299", "other", severity="error")):
        yield


def on(settings, path="homes/neo/USER.md", among=("CM192", "CM298", "CM299")):
    return [rule.code for rule in settings.rules(path) if rule.code in among]


@together(
    ("said", "codes"),
    [
        ({}, ["CM192", "CM298", "CM299"]),
        ({"select": ["CM2"]}, ["CM298", "CM299"]),
        ({"select": ["CM298"]}, ["CM298"]),
        ({"ignore": ["CM2"]}, ["CM192"]),
        ({"select": ["CM298"], "ignore": ["CM2"]}, ["CM298"]),
        ({"select": ["CM2"], "ignore": ["CM298"]}, ["CM299"]),
        ({"select": ["CM298"], "ignore": ["CM298"]}, []),
        ({"per_file": {"homes/*/USER.md": ["CM29"]}}, ["CM192"]),
        ({"per_file": {"other/*": ["CM29"]}}, ["CM192", "CM298", "CM299"]),
        ({"select": ["CM298"], "per_file": {"*": ["CM2"]}}, []),
    ],
)
def test_which_rules_look_at_a_file(said, codes):
    assert validate({"lint": said}, "config") == []
    assert on(read_settings(said)) == codes


def test_a_run_selects_in_place_of_the_file_and_ignores_beside_it():
    settings = read_settings({"select": ["CM192"], "ignore": ["CM298"]})
    assert on(settings.narrowed(select=["CM2"])) == ["CM299"]
    assert on(settings.narrowed(ignore=["CM192"])) == []
    assert on(settings.narrowed()) == ["CM192"]


def test_severities():
    settings = read_settings({"severity": {"CM2": "hint", "CM299": "warning"}})
    rules = all_rules()
    assert [settings.severity_of(rules[code]) for code in ("CM298", "CM299", "CM192")] == ["hint", "warning", "error"]


def test_options_are_laid_over_the_defaults():
    settings = read_settings({"options": {"CM298": {"words": ["c"], "least": 4}}})
    assert settings.options == {"CM298": {"words": ("c",), "least": 4, "share": 0.5, "strict": False, "mark": "x"}}


@together(
    ("said", "code", "key", "hint"),
    [
        ({"ignore": ["CM2", "CM297"]}, "unknown_rule", "lint.ignore[1]", "CM29"),
        ({"select": ["CM7"]}, "unknown_rule", "lint.select[0]", "catmem rule"),
        ({"severity": {"CM888": "hint"}}, "unknown_rule", "lint.severity.CM888", ""),
        ({"per_file": {"*": ["CM297"]}}, "unknown_rule", "lint.per_file.*[0]", "CM29"),
        ({"options": {"CM29": {}}}, "unknown_rule", "lint.options.CM29", "The nearest are CM29"),
        ({"options": {"CM298": {"word": ["x"]}}}, "schema", "lint.options.CM298.word", "Did you mean 'words'?"),
        ({"options": {"CM298": {"words": "x"}}}, "schema", "lint.options.CM298.words", "Write it as a list: [x]."),
        ({"options": {"CM298": {"words": [1]}}}, "schema", "lint.options.CM298.words[0]", "Put it in quotes"),
        ({"options": {"CM298": {"least": True}}}, "schema", "lint.options.CM298.least", ""),
        ({"options": {"CM298": {"least": 3.5}}}, "schema", "lint.options.CM298.least", ""),
        (
            {"options": {"CM298": {"strict": "yes"}}},
            "schema",
            "lint.options.CM298.strict",
            "",
        ),
    ],
)
def test_what_no_rule_has_is_an_error(said, code, key, hint):
    place = {("lint", *path): (3, 9) for path in [("ignore", 1), ("select", 0)]}
    with pytest.raises(ConfigError) as caught:
        read_settings(said, path="catmem.yaml", positions=place)
    assert (caught.value.code, caught.value.key, caught.value.path) == (code, key, "catmem.yaml")
    assert hint in (caught.value.hint or "")
    assert caught.value.line == (3 if key in {"lint.ignore[1]", "lint.select[0]"} else None)


def test_a_whole_number_will_do_for_a_number():
    assert read_settings({"options": {"CM298": {"share": 1}}}).options["CM298"]["share"] == 1


def test_an_unknown_code_of_a_run_is_an_error():
    with pytest.raises(ConfigError, match="no rule 'CM297'") as caught:
        LintSettings().narrowed(ignore=["CM297"])
    assert "CM29" in caught.value.hint


def test_a_name_in_the_place_of_a_code_is_understood():
    with pytest.raises(ConfigError) as caught:
        LintSettings().narrowed(select=["no-some"])
    assert caught.value.hint == "Did you mean 'CM298'?"


@together(
    ("code", "hint"),
    [
        ("CM1O4", "Did you mean 'CM104'?"),
        ("cm104", "Did you mean 'CM104'?"),
        ("CM110", "The nearest are CM111, CM113, CM114."),
        ("CM999", "'catmem rule' lists all rules."),
    ],
)
def test_a_code_that_no_rule_has_is_told_the_nearest_by_number(code, hint):
    assert unknown_rule(code).hint == hint


# --- the registry --------------------------------------------------------------------------------------------------------


def test_codes_and_names_have_their_form():
    assert list(all_rules()) == sorted(all_rules())
    assert [code for code in all_rules() if not re.fullmatch("CM[1-6][0-9]{2}", code)] == []
    assert [each.name for each in all_rules().values() if not re.fullmatch("[a-z]+(?:-[a-z0-9]+)*", each.name)] == []


def test_a_code_and_a_name_are_given_once():
    def paged(file, context):
        """Find nothing."""
        return iter(())

    taken = all_rules()["CM192"]
    with pytest.raises(ValueError, match="taken"):
        rule("CM192", "another-name")(paged)
    with pytest.raises(ValueError, match="taken"):
        rule("CM199", taken.name)(paged)
