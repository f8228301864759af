"""Validation: the place and the words of each fault, and the values of tags."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem import resources
from catmem.config.json_schema import (
    check_file,
    faults_by,
    schema_fault,
    suggestion,
    tag_faults,
    validate,
)
from catmem.config.yamlfile import key_text, parse_yaml
from catmem.errors import ConfigError
from catmem.jsonable import jsonable
from catmem.model.document import parse
from tests.together import together


def faults_of(text, name="profile"):
    file = parse_yaml(text)
    return validate({} if file.data is None else file.data, name)


def fault_of(text, name="profile"):
    (fault,) = faults_of(text, name)
    return fault


@together("name", ["profile", "config"])
@together("text", ["hidden words of a memory file", "name:hidden", "- hidden\n- too\n", "4711", "47.11", "true"])
def test_a_file_that_is_something_else_is_not_quoted(text, name):
    # A link among the profiles may lead to a file of somebody's memory.
    fault = fault_of(text, name)
    said = f"{fault.message} {fault.hint}"
    assert "must be a mapping of keys to values" in said
    assert not any(word in said for word in ("hidden", "47"))


@together(
    ("text", "message", "hint"),
    [
        ("teir: 1", "the key 'teir' is not known here", "Did you mean 'tier'?"),
        ("prompt: {zzz: 1}", "the key 'zzz' is not known here", "The known keys are budget, expired"),
        ("prompt: {style: htmes}", "must be one of markdown, xml, hermes, and is the text 'htmes'", "'hermes'"),
        ("prompt: {style: [xml]}", "must be one of markdown, xml, hermes, and is a list", "markdown: headings"),
        ("tier: true", "must be one of 1, 2, 3, and is true", "the orchestrator"),
        ("title: 5", "must be text, and is 5", "Put it in quotes"),
        ("title:", "must be text, and is empty", ""),
        ("title: ''", "must not be empty", ""),
        ("memory_categories: finance", "must be a list, and is the text 'finance'", "[finance]"),
        ("prompt: xml", "must be a mapping of keys to values, and is the text 'xml'", ""),
        (
            "prompt: style:xml",
            "must be a mapping of keys to values, and is the text 'style:xml'",
            "blank has to follow the colon",
        ),
        ("name:flat", "must be a mapping of keys to values, and is text", "blank has to follow the colon"),
        ("may_verify: yes", "must be true or false, and is the text 'yes'", ""),
        ("limits: {user: 0}", "must be at least 1, and is 0", ""),
        ("limits: {user: 1.5}", "must be a whole number, and is 1.5", ""),
        ("stale_after: 90", "must be text, and is 90", "quotes"),
        ("stale_after: 3 months", "'3 months' does not have the right form", "For example: 90d"),
        ("domain: Human Resources", "'Human Resources' is not a slug", "Write 'human-resources'."),
        ("[]", "must be a mapping of keys to values, and is a list", ""),
    ],
)
def test_faults_are_said_in_plain_words(text, message, hint):
    fault = fault_of(text)
    assert message in fault.message
    assert hint in fault.hint


def test_a_text_in_the_place_of_operations_is_told_what_operations_are():
    faults = faults_of("{entity_id: neo/user, content: Whole}", "envelope")
    (fault,) = (each for each in faults if each.key == ("content",))
    assert fault.message == "must be a list, and is the text 'Whole'"
    assert "list of operations" in fault.hint
    assert "Whole" not in fault.hint


@together(
    ("text", "message", "key"),
    [
        ("version: 2", "must be 1, and is 2", "version"),
        ("entities: {'project:alpha': {}}", "the key content is missing", "entities.project:alpha"),
        ("approval: sometimes", "must be one of off, others, all, and is the text 'sometimes'", "approval"),
        ("approval: {most: 1001}", "must be at most 1000, and is 1001", "approval.most"),
        ("taxonomy: {categories: {Two Words: {}}}", "'Two Words' is not a slug", "taxonomy.categories.Two Words"),
        ("tags: {Owner: {}}", "'Owner' does not have the right form", "tags.Owner"),
        ("tags: {owner: {type: []}}", "must have at least 1 items, and has 0", "tags.owner.type"),
        ("tags: {owner: {type: number}}", "must be one of string, array", "tags.owner.type"),
        ("tags: {owner: {enum: []}}", "must have at least 1 items", "tags.owner.enum"),
        ("tags: {owner: {items: {tpye: string}}}", "the key 'tpye' is not known here", "tags.owner.items.tpye"),
    ],
)
def test_faults_of_a_configuration(text, message, key):
    fault = fault_of(text, "config")
    assert message in fault.message
    assert key_text(fault.key) == key


def test_long_and_unprintable_values_stay_short_and_printable():
    (fault,) = validate({"domain": "\u202e\x1b[31m" + "x" * 200}, "profile")
    assert len(fault.message) < 150
    assert fault.message.isprintable()
    (unknown,) = validate({"k" * 5000: 1}, "profile")
    assert len(unknown.message) < 150


def test_an_error_is_the_first_fault_and_counts_the_rest():
    with pytest.raises(ConfigError) as caught:
        check_file(parse_yaml("name: neo\ntier: 9\nteir: 1\nlimits: 5\n", "x.yaml"), "profile")
    error = caught.value
    assert (error.code, error.path, error.line, error.key) == ("schema", "x.yaml", 2, "tier")
    assert error.message.endswith("(and 2 more in this file)")


# --- the schemas themselves ---


@together("name", resources.SCHEMA_NAMES)
def test_a_schema_is_valid_and_names_itself(name):
    from jsonschema import Draft202012Validator

    contents = resources.schema(name)
    Draft202012Validator.check_schema(contents)
    assert contents["$id"] == f"urn:catmem:schema:{name}:1"


def properties_in(part, path=""):
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "properties" and not path.endswith("/if"):
                yield from ((f"{path}/{name}", said) for name, said in value.items())
            yield from properties_in(value, f"{path}/{key}")
    elif isinstance(part, list):
        for index, value in enumerate(part):
            yield from properties_in(value, f"{path}/{index}")


@together("name", resources.SCHEMA_NAMES)
def test_every_property_has_a_title_and_a_description(name):
    found = list(properties_in(resources.schema(name)))
    assert found
    assert [place for place, said in found if not (said.get("title") and said.get("description"))] == []


def test_what_two_schemas_share_is_the_same_in_both():
    profile, config = resources.schema("profile")["$defs"], resources.schema("config")["$defs"]
    shared = profile.keys() & config.keys()
    assert shared >= {"slug", "days", "path", "limits", "prompt"}
    for name in shared:
        assert profile[name] == config[name], name


def test_the_json_form_of_a_document_fits_its_schema():
    text = "# T\n\n## A\n[expires: 2026-01-01, domain: [a, b]] x\n§\n[a: b]\n\n## A\n```\nopen\n"
    document = parse(text)
    assert document.problems
    form = json.loads(json.dumps(jsonable(document)))
    assert validate(form, "document") == []


@together(
    "change",
    [
        {"format_version": 2},
        {"title": 5},
        {"categories": {"a": []}},
        {"categories": {"Not A Slug": [{"body": "", "tags": {}, "line": 1}]}},
        {"categories": {"a": [{"body": "", "tags": {"k": 5}, "line": 1}]}},
        {"categories": {"a": [{"body": "", "tags": {}, "line": 0}]}},
        {"categories": {"a": [{"body": "", "tags": {}}]}},
        {"problems": [{"rule": "unclosed-fence"}]},
        {"more": 1},
    ],
)
def test_what_is_no_document_does_not_fit(change):
    assert validate({**jsonable(parse("")), **change}, "document")


# --- tags ---

OWNER = {"owner": {"type": "string", "enum": ["ann", "ben"]}, "review": {"type": ["string", "array"], "format": "date"}}


@together(
    ("tags", "message"),
    [
        ({"verified_date": "2026-13-01"}, "'2026-13-01' is not a day of the form YYYY-MM-DD"),
        ({"created": "2025-02-29"}, "is not a day"),
        ({"expires": "20260501"}, "is not a day"),
        ({"expires": "2026-W01-1"}, "is not a day"),
        ({"expires": "2026-5-1"}, "is not a day"),
        ({"expires": "2026-05-01T10:00"}, "is not a day"),
        ({"expires": "2026-05-01 "}, "is not a day"),
        ({"expires": "२०२६-०५-०१"}, "is not a day"),
        ({"expires": ""}, "is not a day"),
        ({"expires": ["2026-05-01"]}, "must be text, and is a list"),
        ({"domain": "Human Resources"}, "is not a slug"),
        ({"domain": ["finance", "Human Resources"]}, "is not a slug"),
        ({"domain": ""}, "is not a slug"),
        ({"source": ["a"]}, "must be text, and is a list"),
        ({"owner": "cleo"}, "must be one of ann, ben"),
        ({"owner": ["ann"]}, "must be text, and is a list"),
        ({"review": "soon"}, "is not a day"),
    ],
)
def test_tags_that_do_not_fit(tags, message):
    found = tag_faults(tags, OWNER)
    assert found
    assert {tag for tag, _ in found} == set(tags)
    assert message in found[0][1]


VALUES = st.sampled_from(
    ["2026-05-01", "2026-02-30", "finance", "Human Resources", "", "-", "x" * 300, "é", "\uff12026-05-01"]
)
TAGS = st.dictionaries(
    st.sampled_from(["verified_date", "created", "expires", "domain", "source", "other"]),
    VALUES | st.text(max_size=12) | st.dates().map(str) | st.lists(VALUES, min_size=1, max_size=3),
    max_size=4,
)


@given(TAGS)
def test_tags_one_by_one_give_the_faults_of_all_at_once(tags):
    expected = {(fault.key[0], fault.message) for fault in validate(tags, "tags")}
    assert set(tag_faults(tags)) == expected


# --- patterns and references in a root's own schemas ---


@together("pattern", ["^Vendor ", "(?:foo|bar)?", r"\(a+\)a+", "", "(?i)a", "(?P<n>a+)", "a" * 100])
def test_a_short_pattern_can_be_used(pattern):
    assert schema_fault({"pattern": pattern}) is None


def test_a_long_one_is_refused():
    key, message = schema_fault({"pattern": "a" * 101})
    assert key == ("pattern",)
    assert message.endswith("is longer than 100 characters")


def test_a_text_that_is_too_long_is_not_tried():
    (fault,) = faults_by(json.dumps({"pattern": "^(a+)+$", "maxLength": 50}), "a" * 50 + "b")
    assert fault[1] == "must have at most 50 characters, and has 51"


@together("pattern", ["(", "[", "*", "a{5,2}", "(?P<x>a)(?P<x>b)", "\\"])
def test_what_python_does_not_understand_is_refused(pattern):
    assert "is no regular expression: " in schema_fault({"pattern": pattern, "maxLength": 9})[1]


@together("name", ["$ref", "$dynamicRef", "patternProperties"])
def test_what_leads_elsewhere_or_may_not_end_is_refused(name):
    part = {"(a+)+$": {}} if name == "patternProperties" else "#/$defs/a"
    key, message = schema_fault({"properties": {"a": {name: part}}})
    assert key == ("properties", "a", name)
    assert message == f"{name} cannot be used; write out what is meant"


# --- words ---


@together(
    ("name", "known", "hint"),
    [
        ("noe", ["neo", "trinity"], "Did you mean 'neo'?"),
        ("stauts", ["stats", "status"], "Did you mean 'status'?"),
        ("zzz", ["neo", "trinity"], "The profiles are neo, trinity."),
        ("zzz", [], "There are no profiles."),
        (
            "change",
            ["add", *(f"p{n:02}" for n in range(14))],
            f"The profiles are add, {', '.join(f'p{n:02}' for n in range(14))}.",
        ),
        ("zzz", [f"p{n}" for n in range(20)], "There are 20 profiles, none of them like it."),
    ],
)
def test_suggestion(name, known, hint):
    assert suggestion(name, known, "profiles") == hint
