"""Tag blocks against PyYAML, and that any tags and body come back as they were written."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catmem.errors import EditError
from catmem.syntax import tags as tag_blocks
from tests.property.oracles import yaml_pairs
from tests.property.strategies import bodies, stored_form, tag_keys, tag_sets, tag_soup, tag_text


def block_of(text):
    """The tag block as it stands in front of the body."""
    return text[: tag_blocks.block_size(text)]


def as_yaml(block):
    """The YAML text of a tag block: each group is a flow mapping, frontmatter is what stands between its lines."""
    if block.startswith("---"):
        return ["\n".join(block.rstrip("\n").split("\n")[1:-1])]
    block = block.removeprefix("- ").removeprefix("* ").removeprefix("+ ")
    sources = []
    while block:
        end = group_end(block)
        sources.append("{" + block[1 : end - 1] + "}")
        block = block[end:].lstrip(" \t")
    return sources


def group_end(block):
    """Where the group that ``block`` begins with ends: at the bracket that closes it, quoted text passed over."""
    depth, quoted, position = 0, False, 0
    while position < len(block):
        character = block[position]
        if quoted:
            position += character == "\\"
            quoted = character != '"'
        elif character == '"':
            quoted = True
        else:
            depth += (character == "[") - (character == "]")
            if not depth:
                return position + 1
        position += 1
    raise AssertionError(block)


def assert_yaml_agrees(text):
    block = block_of(text)
    if block:
        expected = [pair for source in as_yaml(block) for pair in yaml_pairs(source)]
        assert list(tag_blocks.read(text)[0]) == expected


@given(tag_soup.map(str.strip))
@example("[" + "k" * 1025 + ": v]")
@example("[" + "k" * 1024 + ": v]")
@example("---\n" + "k" * 1025 + ": v\n---")
@example("---\n" + "k" * 1024 + ": v\n---")
@example('[a: "\\ud83d\\ude00"]')
@example("[a: b, a: c]")
@example('- [a: b][c: d] [e: [f, "g"]] body')
@example('---\na: b, c\nd:\n  - e\n  - "f"\ng: [h, i]\n---\nbody')
@example("---\na: \n- b\n- c\n---")
def test_yaml_agrees_on_every_block_that_counts(text):
    assert_yaml_agrees(text)


@given(
    st.dictionaries(tag_keys, st.one_of(tag_text, st.lists(tag_text, min_size=1, max_size=3)), min_size=1, max_size=3)
)
@example({"k" * 1025: "v"})
@example({"k" * 1024: "v"})
def test_yaml_agrees_on_what_is_written(tags):
    try:
        block = tag_blocks.write_block(tags)
    except EditError as error:
        assert error.code == "bad_tag"
        return
    assert yaml_pairs("{" + block[1:-1] + "}") == [
        (key, value if isinstance(value, str) else tuple(value)) for key, value in tags.items()
    ]


@given(tag_sets, st.one_of(bodies(), tag_soup.map(stored_form).filter(bool)))
def test_tags_and_body_come_back(tags, body):
    try:
        text = tag_blocks.write(tags, body)
    except EditError as error:
        assert error.code == "bad_tag"
        return
    assert text == text.strip()
    assert tag_blocks.read(text)[1] == body
    assert dict(tag_blocks.read(text)[0]) == {
        key: value if isinstance(value, str) else tuple(value) for key, value in tags.items()
    }


@given(st.text(min_size=1, max_size=5))
def test_a_key_is_accepted_only_in_its_form(key):
    is_key = all(c in "abcdefghijklmnopqrstuvwxyz0123456789_-" for c in key) and key[0] in "abcdefghijklmnopqrstuvwxyz"
    if is_key:
        assert tag_blocks.write_block({key: "v"}) == f"[{key}: v]"
        return
    with pytest.raises(EditError) as caught:
        tag_blocks.write_block({key: "v"})
    assert caught.value.code == "bad_tag"
