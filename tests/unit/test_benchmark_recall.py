"""The benchmark of recall: what it counts, on questions worked out by hand, and how it reads LoCoMo's file."""

import json

from benchmarks.recall import Asked, Collection, Turn, hits, of_bm25, of_catmem, of_locomo

TURNS = (
    Turn("1", "monday", "The harbour opens at six."),
    Turn("2", "monday", "Coffee is in the kitchen."),
    Turn("3", "tuesday", "The kitchen is painted green."),
)
ASKED = (
    Asked("When does the harbour open?", frozenset({"1"})),
    Asked("Which colour has the kitchen?", frozenset({"3"})),
)
COLLECTION = Collection(TURNS, ASKED)


def test_an_answer_counts_where_it_is_among_the_first():
    shown = [["2", "1", "3"], ["3"]]
    assert [hits(COLLECTION, shown, most) for most in (1, 2, 3)] == [1, 2, 2]


def test_both_sides_find_words():
    assert [places[0] for places in of_bm25(COLLECTION)][:1] == ["1"]
    assert of_catmem(COLLECTION)[0] == ["1"]
    assert set(of_catmem(COLLECTION)[1]) == {"2", "3"}


def test_conversations_of_locomo(tmp_path):
    spoken = [{"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a dog."}]
    sample = {
        "conversation": {"session_1": spoken, "session_1_date_time": "1 May", "speaker_a": "Ann"},
        "qa": [
            {"question": "What did Ann adopt?", "answer": "a dog", "evidence": ["D1:1"], "category": 1},
            {"question": "What did Bob adopt?", "evidence": ["D1:1"], "category": 5},
            {"question": "Who is Ann?", "answer": "?", "evidence": [], "category": 1},
        ],
    }
    (tmp_path / "locomo10.json").write_text(json.dumps([sample]))
    (found,) = of_locomo(tmp_path)
    assert found.turns == (Turn("D1:1", "session_1", "Ann: I adopted a dog."),)
    assert found.asked == (Asked("What did Ann adopt?", frozenset({"D1:1"})),)
    assert of_catmem(found) == [["D1:1"]]
