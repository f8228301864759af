"""Blocks: put in, replaced in place and taken out, byte by byte; and every layout of markers that is not whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.errors import EditError
from catmem.plugins.harnesses.marked import find, owned, owned_text, replaced, with_block, without

BODY = "## About the user\n\n### Style\n- Prefers short answers.\n"
BEGIN = "<!-- catmem:begin one v=1 root=aa before=1 after=0 sha=bb -->"
END = "<!-- catmem:end one -->"

TEXTS = st.one_of(
    st.sampled_from(
        ["", "\n", "x", "x\n", "x\n\n", "\ufeff", "\ufeffx\n", "a\r\nb\r\n", "a\r\nb", "\r\n", "a\n\r\nb\r\n", "---\na: b\n---\n", "---\na: b\n---", "---\r\na: b\r\n---\r\nx\r\n",
         "\ufeff---\na: b\n---\n\nx", "# T\n\n```\ncode\n```\n", "---\n", "<!-- a comment -->\n", "<!-- left open\n"]
    ),
    st.text(st.sampled_from("ab \n\r-#`<>!\ufeff§\u2028"), max_size=40),
)  # fmt: skip


@given(TEXTS, st.booleans())
def test_what_is_put_in_and_taken_out_gives_the_very_bytes(text, at_top):
    try:
        made = with_block(text, "one", BODY, "aa", at_top=at_top)
    except EditError:
        return  # an open fence
    try:
        block = find(made, "one")
    except EditError:
        assert at_top  # in front of it a fence is open, and it is refused from then on
        assert "```" in text or "~~~" in text
        return
    assert block is not None
    assert block.is_as_written
    assert block.held == f"\n{BODY}\n"
    assert without(made, block) == text
    again = replaced(made, "one", block, BODY, "aa")
    assert again == made
    other = replaced(made, "one", block, BODY + "- More.\n", "aa")
    assert without(other, find(other, "one")) == text


@given(TEXTS, TEXTS)
def test_what_is_written_around_a_block_stays(text, more):
    try:
        made = with_block(text, "one", BODY, "aa", at_top=False) + more
        block = find(made, "one")
    except EditError:
        return
    left = without(made, block)
    newline = "\r\n" if "\r\n" in made else "\n"
    assert left in {text + more, text + newline + more, text + "\n" + more}
    if text.endswith("\n") or not text.removeprefix("\ufeff") or not more:
        assert left == text + more


MALFORMED = {
    "no end": f"x\n{BEGIN}\n- a\n",
    "no begin": f"x\n- a\n{END}\n",
    "reversed": f"{END}\nx\n{BEGIN}\n",
    "doubled": f"{BEGIN}\n{END}\nmine\n{BEGIN}\n{END}\n",
    "two begins": f"{BEGIN}\n{BEGIN}\n- a\n{END}\n",
    "two ends": f"{BEGIN}\n- a\n{END}\nmine\n{END}\n",
    "nested": f"{BEGIN}\n{BEGIN.replace('one', 'two')}\n{END.replace('one', 'two')}\n{END}\n",
    "around another": f"{BEGIN.replace('one', 'two')}\n{BEGIN}\n{END}\n{END.replace('one', 'two')}\n",
    "crossed": f"{BEGIN}\n{BEGIN.replace('one', 'two')}\n{END}\n{END.replace('one', 'two')}\n",
    "text behind the begin": f"{BEGIN} mine\n- a\n{END}\n",
    "text behind the end": f"{BEGIN}\n- a\n{END} mine\n",
    "cut begin": f"{BEGIN[:-8]}\n- a\n{END}\n",
    "cut end": f"{BEGIN}\n- a\n{END[:-4]}\n",
    "indented": f"  {BEGIN}\n- a\n  {END}\n",
    "in a list": f"- {BEGIN}\n- a\n- {END}\n",
    "in a fence": f"```\n{BEGIN}\n- a\n{END}\n```\n",
    "begin in a fence": f"```\n{BEGIN}\n```\n- a\n{END}\n",
    "also in a fence": f"```\n{BEGIN}\n{END}\n```\n{BEGIN}\n- a\n{END}\n",
    "below an open fence": f"~~~~\nx\n{BEGIN}\n- a\n{END}\n",
    "shouted": f"{BEGIN.replace('begin', 'BEGIN')}\n- a\n{END}\n",
    "another's is open": f"{BEGIN.replace('one', 'two')}\nx\n",
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_markers_that_are_not_whole_pairs_are_refused(text):
    with pytest.raises(EditError) as caught:
        find(text, "one")
    assert caught.value.code == "bad_markers"


def test_a_block_is_found_by_its_name_whatever_else_its_begin_says():
    text = "x\n<!-- catmem:begin one -->\n- a\n<!-- catmem:end one -->   \r\ny\n<!-- catmem:begin two v=9 hue=3 -->\n<!-- catmem:end two -->"
    block = find(text, "one")
    assert block is not None
    assert not block.is_as_written
    assert find(text, "three") is None
    made = replaced(text, "one", block, BODY, "aa")
    assert made.startswith("x\n<!-- catmem:begin one v=1 root=aa sha=")
    assert made.endswith("y\n<!-- catmem:begin two v=9 hue=3 -->\n<!-- catmem:end two -->")


def test_an_example_in_a_fence_with_another_name_is_no_block():
    text = f"```\n{BEGIN.replace('one', 'two')}\n```\n{BEGIN}\n- a\n{END}\n"
    assert text[find(text, "one").start :].startswith(BEGIN)


def test_nothing_is_put_behind_an_open_fence():
    with pytest.raises(EditError) as caught:
        with_block("```\ncode\n", "one", BODY, "aa", at_top=False)
    assert caught.value.code == "bad_markers"


@pytest.mark.parametrize("front", ["", "---\nalwaysApply: true\n---\n"])
def test_an_owned_file_knows_itself(front):
    text = owned_text("one", front, BODY, "aa")
    found = owned(text, "one")
    assert found.is_as_written
    assert found.said["root"] == "aa"
    assert owned(text.replace("\n", "\r\n"), "one").is_as_written
    assert not owned(text + "- More.\n", "one").is_as_written
    assert owned(text, "two") is None
    assert owned(BODY, "one") is None
