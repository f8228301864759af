"""After a purge nothing in a content holds the words, and what held none is as it was."""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from catmem.digest import canonical_json
from catmem.names import PURGED
from catmem.workspace.redaction import content_redaction

# Few characters, so that words are found often: those of the mark, of JSON and of lines too.
CHARACTERS = 'ab]["\\\n1p:é😀'
TEXTS = st.text(CHARACTERS, max_size=8)
WORDS = st.text(CHARACTERS, min_size=1, max_size=4).map(str.strip).filter(lambda text: text not in f'"{PURGED}"')
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-200, 200) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=4),
)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from texts(each)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


@given(VALUES, WORDS)
def test_a_json_value_that_holds_the_words_in_a_text_number_or_key_goes_whole(value: Any, words: str) -> None:
    data, redaction = canonical_json(value), content_redaction(words, "json")
    rest = redaction(data)
    if any(words in text for text in texts(value)):
        assert rest == b'"[purged]"'
    assert rest in {data, b'"[purged]"'}
    assert redaction(rest) == rest
    assert (rest == data) == (not redaction.holds(data))


@given(st.text(CHARACTERS + "\r", max_size=40), WORDS)
def test_a_text_that_holds_the_words_goes_whole(text: str, words: str) -> None:
    data, redaction = text.encode(), content_redaction(words)
    rest = redaction(data)
    if words in text.replace("\r\n", "\n"):
        assert rest == PURGED.encode()
    assert rest in {data, PURGED.encode()}
    assert redaction(rest) == rest


@given(WORDS, st.data())
def test_any_spelling_is_found_where_a_file_is_no_json(words: str, data: st.DataObject) -> None:
    forms = [
        data.draw(st.sampled_from([json.dumps(each, ensure_ascii=False)[1:-1], _escaped(each), _escaped(each).lower()]))
        for each in words
    ]
    broken = f'{{"a":\n"x{"".join(forms)}y" broken\n}}'.encode()
    assert content_redaction(words, "json")(broken) == b'"[purged]"'


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be").hex().upper()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


@given(TEXTS, WORDS)
def test_half_of_the_words_at_the_end_is_a_write_that_was_stopped(text: str, words: str) -> None:
    assume(len(words) > 1)
    half = words[: (len(words) + 1) // 2]
    assert content_redaction(words).is_cut(f"{text}{half}".encode())
