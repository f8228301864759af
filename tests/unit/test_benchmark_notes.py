"""The notes of the benchmarks are as many, as long and as different as they are meant to be."""

from collections import Counter

from benchmarks.notes import LANGUAGES, flagged, notes, questions
from catmem.threats import scan

ALL = notes()


def share(count, language):
    return count[language] / count.total()


def test_no_note_is_flagged_and_the_false_alarms_are_apart():
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
