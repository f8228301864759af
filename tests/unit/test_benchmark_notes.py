"""The notes of the benchmarks are as many, as long and as different as they are meant to be."""

from __future__ import annotations

import re
import statistics
from collections import Counter

import pytest

from benchmarks.notes import LANGUAGES, flagged, notes, questions
from catmem.threats import BuiltinScanner

LOOKED_AT_TWICE = (
    "user", "system", "prompt", "ignore", "approval", "token", "password", "secret", "key", "admin", "instruction",
    "override", "previous", "role", "assistant", "send", "forward", "base64", "curl", "delete", "credentials", "bypass",
    "disable", "developer", "policy",
)  # fmt: skip
ANY_OF_THEM = re.compile(rf"\b({'|'.join(LOOKED_AT_TWICE)})(?:s|d|ed|r)?\b", re.IGNORECASE)
ALL = notes()


def share(count, language):
    return count[language] / count.total()


def pieces(note, language):
    """Four words in a row, in Chinese four characters, that two notes share if one is nearly the other."""
    words = re.findall(r"\w" if language == "chinese" else r"\w+", note.lower())
    return {tuple(words[place : place + 4]) for place in range(len(words) - 3)}


def test_there_are_enough_and_two_thirds_are_english():
    count = Counter({language: len(notes(language)) for language in LANGUAGES})
    assert count.total() == len(ALL) >= 560
    assert 0.64 < share(count, "english") < 0.69
    assert all(share(count, language) > 0.05 for language in LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_note_is_one_line_and_neither_short_nor_long(language):
    shortest, longest = (20, 200) if language == "chinese" else (40, 400)
    assert [note for note in notes(language) if not shortest <= len(note) <= longest or note != note.strip()] == []
    assert [note for note in notes(language) if re.search(r"[\n\r\t\v\f\x1c-\x1e\x85\u2028\u2029]", note)] == []


def test_the_middle_length_is_that_of_a_sentence_or_two():
    assert 95 <= statistics.median(map(len, ALL)) <= 125


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_note_is_nearly_another(language):
    seen: dict[tuple, set[int]] = {}
    texts = [pieces(note, language) for note in notes(language)]
    for number, own in enumerate(texts):
        for piece in own:
            seen.setdefault(piece, set()).add(number)
    shared = Counter((one, two) for numbers in seen.values() for one in numbers for two in numbers if one < two)
    assert len(set(notes(language))) == len(notes(language))
    assert [
        (notes(language)[one], notes(language)[two])
        for (one, two), count in shared.items()
        if count > 0.2 * min(len(texts[one]), len(texts[two]))
    ] == []


def test_a_quarter_has_a_word_that_the_scanner_looks_at_twice_and_every_such_word_is_there():
    found = [{word.lower() for word in ANY_OF_THEM.findall(note)} for note in ALL]
    assert sum(map(bool, found)) >= len(ALL) / 4
    assert set().union(*found) == set(LOOKED_AT_TWICE)


def test_no_note_is_flagged_and_the_false_alarms_are_apart():
    scan = BuiltinScanner().scan
    assert [note for note in ALL if scan(note)] == []
    assert [(rule, note) for rule, note in flagged() if [found.rule for found in scan(note)] != [rule]] == []
    assert not {note for _, note in flagged()} & set(ALL)


def test_the_questions_are_in_the_languages_of_the_notes_and_their_notes_exist():
    asked = questions()
    language_of = {note: language for language in LANGUAGES for note in notes(language)}
    assert len(asked) == len({question for question, _ in asked}) == 150
    assert all(question.strip() and found for question, found in asked)
    assert all(len(set(found)) == len(found) for _, found in asked)
    assert all(len({language_of[note] for note in found}) == 1 for _, found in asked)
    count = Counter(language_of[found[0]] for _, found in asked)
    wanted = Counter(language_of.values())
    assert [language for language in LANGUAGES if abs(share(count, language) - share(wanted, language)) > 0.02] == []
