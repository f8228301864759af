"""Stems, and the languages that function words show."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.notes import notes
from catmem.search.query import FUNCTION_WORDS, beginning, language_of, stem, words_of
from tests.together import together


@together("language", ["english", "german", "french", "spanish"])
def test_the_language_of_ordinary_notes(language):
    found = [language_of(words_of(note)) for note in notes(language)]
    others = [each for each in found if each not in {language, "english"}]
    assert found.count(language) > len(found) * 0.7
    assert len(others) < len(found) * 0.1


@together("language", FUNCTION_WORDS)
def test_function_words_are_folded_words(language):
    assert [word for word in FUNCTION_WORDS[language] if words_of(word) != (word,)] == []


@given(st.sampled_from(sorted(FUNCTION_WORDS)), st.text(alphabet="abcdeilnorstuy", min_size=3, max_size=12))
def test_a_word_begins_like_its_beginning(language, word):
    assert word.startswith(beginning(word))
    assert len(beginning(word)) >= 3
    assert stem(word, language) == stem(word, language)


@together(
    ("one", "other", "language"),
    [("allergy", "allergies", "english"), ("haus", "hauser", "german"), ("facture", "factures", "french")],
)
def test_words_of_one_stem_begin_alike(one, other, language):
    assert stem(one, language) == stem(other, language)
    assert other.startswith(beginning(one))
    assert one.startswith(beginning(other))
