"""Strict YAML. Files that are refused stand as cases in tests/conformance/profiles/bad/ too."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from catmem.config.yamlfile import load_yaml, parse_yaml
from catmem.errors import ConfigError, TooLargeError
from tests.together import together


def data_of(text):
    return parse_yaml(text).data


def refused(text):
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "x.yaml")
    return caught.value


@together(
    ("word", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-12", -12),
        ("+7", 7),
        ("007", 7),
        ("2.5", 2.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("y", "y"),
        ("2026-05-01", "2026-05-01"),
        ("12:30:45", "12:30:45"),
        ("0x1F", "0x1F"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("=", "="),
        ("<<", "<<"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("'~'", "~"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(word, value):
    read = data_of(f"key: {word}\n")["key"]
    assert read == value
    assert type(read) is type(value)


def test_positions_name_every_key_and_item():
    file = parse_yaml("name: neo\nprompt:\n  style: xml\ncategories:\n  - a\n  - {b: 1}\n")
    assert file.positions == {
        (): (1, 1),
        ("name",): (1, 1),
        ("prompt",): (2, 1),
        ("prompt", "style"): (3, 3),
        ("categories",): (4, 1),
        ("categories", 0): (5, 5),
        ("categories", 1): (6, 5),
        ("categories", 1, "b"): (6, 6),
    }


@together("newline", ["\n", "\r\n"])
def test_lines_are_counted_as_an_editor_counts_them(newline):
    file = parse_yaml(newline.join(["\ufeff# one line", "a: 'x", "  y'", "b: 2"]))
    assert file.positions[("a",)] == (2, 1)
    assert file.positions[("b",)] == (4, 1)


@together("end", ["\x85", "\u2028", "\u2029", "\r"])
def test_no_key_hides_in_a_comment_behind_an_exotic_line_end(end):
    error = refused(f"title: a\n# a comment {end}tier: 1\n")
    assert (error.code, error.line, error.column) == ("yaml_syntax", 2, 13)


@together(
    ("text", "line", "column"),
    [
        ("a: &x 1\n", 1, 4),
        ("a: 1\nb: *x\n", 2, 4),
        ("&x a: 1\n", 1, 1),
        ("a: [1, &x {b: c}]\n", 1, 8),
        ("a: !!str 1\n", 1, 4),
        ("a: !own\n  b: c\n", 1, 4),
        ("a: ! 1\n", 1, 4),
        ("a: 1\n---\nb: 2\n", 2, 1),
        ("a: 1\nb:\n  a: 2\n  a: 3\n", 4, 3),
        ("a: 1\n'a': 2\n", 2, 1),
        ("{a: 1, a: 1}", 1, 8),
        ("? {a: b}\n: c\n", 1, 3),
        ("a: 1\n'': 2\n", 2, 1),
        ("a: 9999999999999999999\n", 1, 4),
        ("a: 1e999\n", 1, 4),
        ("a: [1\n", 1, 4),
        ("a: 1\nb: [1,\n  2\nc: 3\n", 2, 4),
        ("a: {b: 1\nc: 3\n", 1, 4),
        ("a: b: c\n", 1, 5),
        ("a: 'x\n", 1, 4),
        ('a: "\\q"\n', 1, 6),
        ('a: "\\uD800"\n', 1, 4),
        ('"\\uDC00": 1\n', 1, 1),
        ('a: "\\UFFFFFFFF"\n', 1, None),
        ('a: "\\U00110000"\n', 1, None),
        ("%YAML " + "9" * 5000 + ".1\n---\na: 1\n", 1, None),
        ("a: 1\nb: \x00\n", 2, 4),
        ("a: \ud800\n", 1, 4),
    ],
)
def test_what_is_refused_names_its_place(text, line, column):
    error = refused(text)
    assert error.code == "yaml_syntax"
    assert error.path == "x.yaml"
    assert error.line == line
    assert column is None or error.column == column
    assert error.hint


@together("opening", ["[", "{a: ", "- "])
def test_thirty_two_levels_are_the_limit(opening):
    assert refused(opening * 33 + "x").code == "yaml_syntax"
    # A hundred thousand levels are refused at the thirty-third, without recursion.
    assert refused(opening * 100_000).code == "yaml_syntax"


def test_thirty_two_levels_are_fine():
    read = data_of("[" * 32 + "]" * 32)
    for _ in range(31):
        read = read[0]
    assert read == []


def test_an_alias_bomb_is_refused_before_anything_is_built_from_it(monkeypatch):
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]" for n in range(20)]
    taken = []
    original = yaml.SafeLoader.get_event
    monkeypatch.setattr(yaml.SafeLoader, "get_event", lambda loader: taken.append(1) or original(loader))
    assert refused("\n".join(lines)).code == "yaml_syntax"
    assert len(taken) < 10


def test_a_file_over_one_mebibyte_is_refused_by_default(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(TooLargeError):
        load_yaml(path)


def shape(value):
    """What a value is made of, without its scalars."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else "scalar"


PIECES = ["a", "b: ", ": ", "- ", "\n", "  ", *"[]{},#|>1~?é'", '"', "no"]
REFUSED_PIECES = ["&x ", "*x", "!!str ", "---\n", *"\t\\%@\x00\u2028\r\ud800", "\\U0011ffff", "1e999"]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_what_is_read_has_the_shape_that_pyyaml_sees(text):
    try:
        data = data_of(text)
    except ConfigError as error:
        assert error.line
        return
    assert shape(data) == shape(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506 - makes nothing but text


@given(st.lists(st.sampled_from(PIECES + REFUSED_PIECES) | st.text(max_size=3), max_size=25).map("".join))
def test_no_text_raises_anything_but_a_config_error(text):
    try:
        file = parse_yaml(text)
    except ConfigError as error:
        assert error.code.startswith("yaml_")
    else:
        assert file.data is None or () in file.positions
