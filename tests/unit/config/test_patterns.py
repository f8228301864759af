"""Patterns in a root's own schemas: those that no text takes long, and no others."""

from __future__ import annotations

import json

from catmem.config.json_schema import faults_by, schema_fault
from tests.together import together

TEXT = "a" * 50 + "b"


@together(
    "pattern",
    [
        "^Vendor ", "[a-z]+ [0-9]{4}$", "(?:foo|bar)", "(?:foo|bar)?", "[^@ ]+@[^@ ]+[.][a-z]+$", r"\(a+\)a+", "[(a+)]+",
        "[0-9 ()+-]+", "(?:a+|b)", r"^\d{4}-\d{2}-\d{2}$", "", "(?=a+)a", r"[\]+(]+", "[]+(]+", "https?://",
    ],
)  # fmt: skip
def test_a_pattern_with_few_ways_to_match_passes_beside_a_small_max_length(pattern):
    assert schema_fault({"pattern": pattern, "maxLength": 100}) is None
    faults_by(json.dumps({"pattern": pattern, "maxLength": 100}), TEXT)


@together(
    "pattern",
    [
        "(a+)+$", "(?:a|a)*$", "(a*)*", "((a+))+", "(?:a+){2,}", "(?:(?:a|b)c)+", "(?:a+)?+(b+)+", "(?=(a+)+)x", "(?:ab)+",
        "a?" * 30 + "a" * 30, "(a|a)" * 18 + "b", "a*" * 12 + "b", "(a|aa){30}$", "(?x)(a+) +$", "(?x:(a+)#\n+)$", "(?i)a",
        "(?#[)(a+)+(?#])$", "(?P<n>a+)", "a" * 101,
    ],
)  # fmt: skip
def test_one_that_a_text_may_take_long_is_refused(pattern):
    key, message = schema_fault({"pattern": pattern, "maxLength": 100})
    assert key == ("pattern",)
    assert "may take very long" in message


@together("more", [{}, {"maxLength": 101}, {"maxLength": 100.0}, {"minLength": 1}])
def test_a_pattern_that_repeats_needs_a_small_max_length_beside_it(more):
    assert schema_fault({"pattern": "^a", **more}) is None
    assert "needs a maxLength" in schema_fault({"pattern": "a*b", **more})[1]
    assert "needs a maxLength" in schema_fault({"anyOf": [{"pattern": "a*b"}, {"maxLength": 9}]})[1]


def test_a_text_that_is_too_long_is_not_tried():
    (fault,) = faults_by(json.dumps({"pattern": "^(a+)+$", "maxLength": 50}), TEXT)
    assert fault[1] == "must have at most 50 characters, and has 51"


def test_pattern_properties_are_refused():
    assert schema_fault({"patternProperties": {"(a+)+$": {}}})[0] == ("patternProperties",)


@together("pattern", ["(", "[", "*", "a{5,2}", "(?P<x>a)(?P<x>b)", "\\"])
def test_what_python_does_not_understand_is_refused(pattern):
    assert "is no regular expression: " in schema_fault({"pattern": pattern, "maxLength": 9})[1]


@together(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#"}}},
        {"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
    ],
)
def test_a_schema_that_refers_to_itself_is_refused(schema):
    key, message = schema_fault(schema)
    assert key[-1] == "$ref"
    assert message == "the schema refers to itself here; write it out"


def test_a_reference_to_another_part_can_be_used_twice():
    short = {"maxLength": 2}
    schema = {"$defs": {"short": short}, "properties": {"a": {"$ref": "#/$defs/short"}, "b": {"$ref": "#/$defs/short"}}}
    assert schema_fault(schema) is None
    assert len(faults_by(json.dumps(schema), {"a": "abc", "b": "ab"})) == 1


def test_many_references_are_refused():
    schema = {"$defs": {"a": True}, "allOf": [{"$ref": "#/$defs/a"}] * 201}
    assert "200 references" in schema_fault(schema)[1]
