"""What a model is asked of the pairs to look at together, and what its answer makes of them."""

import json

import pytest

from catmem.errors import ConfigError
from catmem.model.document import parse
from catmem.plugins.sorting.tidying import TidyEntry, judged, judging_question, pairs_to_judge, suggestions
from tests.together import together

TEXT = "## Talk\n[created: 2026-02-03] Standup is at 10:00.\n§\nThe standup is at 9:30.\n§\nLikes tea.\n§\nlikes tea\n"


def found(text=TEXT, *, copied=False):
    document = parse(text)
    return suggestions(
        TidyEntry("neo/user", document.line(each.start), each, copied=copied and "10:00" in each.body)
        for each in document.entries
    )


def answer(*items):
    return json.dumps({"entries": list(items)})


def test_the_pairs_to_look_at_are_asked_about_and_no_others():
    (pair,) = pairs_to_judge(found())
    asked = judging_question([pair])
    one, other = (
        {"text": "Standup is at 10:00.", "date": "2026-02-03"},
        {"text": "The standup is at 9:30.", "date": None},
    )
    assert json.loads(asked[asked.index("\n\n") :]) == {"pairs": [{"pair": 1, "one": one, "other": other}]}
    assert pairs_to_judge(found(TEXT.replace("10:00.", f"10:00.{'!' * 2000}"))) == []


@together(
    ("verdict", "keep", "removed"),
    [
        ("contradiction", "one", "The standup is at 9:30."),
        ("contradiction", "both", None),
        ("same", "one", "The standup is at 9:30."),
        ("same", "other", None),  # the day of the one that would go
    ],
)
def test_a_verdict_says_which_entry_goes(verdict, keep, removed):
    text = TEXT.replace("created", "verified_date")
    pairs = pairs_to_judge(found(text))
    made, left = judged(f"```json\n{answer({'pair': 1, 'verdict': verdict, 'keep': keep})}\n```", pairs)
    assert (left, made[0].kind) == ([], verdict)
    assert made[0].reason.startswith("a model says: they ")
    gone = [each.old_text for each in made[0].operations]
    assert gone == ([] if removed is None else [each.id for each in pairs[0].entries if each.body == removed])


def test_a_pair_without_a_verdict_stays_as_it_is():
    assert judged(answer(), pairs_to_judge(found())) == ({}, [])


def test_neither_takes_a_pair_from_the_list():
    assert judged(answer({"pair": 1, "verdict": "neither"}), pairs_to_judge(found())) == ({0: None}, [])


def test_what_the_source_has_is_not_removed_from_the_copy():
    pairs = pairs_to_judge(found(copied=True))
    made, _ = judged(answer({"pair": 1, "verdict": "contradiction", "keep": "other"}), pairs)
    assert (made[0].operations, "change it there" in made[0].reason) == ((), True)


@together(
    ("text", "why"),
    [
        ("Sure! Here it is", "it begins with: Sure! Here it is"),
        (answer({"pair": 2, "verdict": "same"}), "item 1: names no pair"),
        (answer({"pair": True, "verdict": "same"}), "item 1: names no pair"),
        (answer("x"), "item 1: names no pair"),
        (answer({"pair": 1, "verdict": "equal"}), "item 1: has another verdict"),
        (answer({"pair": 1, "verdict": ["same"]}), "item 1: has another verdict"),
        (answer({"pair": 1, "verdict": "same", "keep": ["one"]}), "keeps another entry"),
    ],
)
def test_an_answer_of_which_nothing_is_right_is_refused(text, why):
    with pytest.raises(ConfigError) as caught:
        judged(text, pairs_to_judge(found()))
    assert (caught.value.code, why in (caught.value.hint or "")) == ("bad_answer", True)


def test_a_wrong_verdict_is_left_out_and_named():
    items = [{"pair": 1, "verdict": "neither"}, {"pair": 1, "verdict": "same"}]
    made, left = judged(answer(*items), pairs_to_judge(found()))
    assert made == {0: None}
    assert [each.message for each in left] == [
        "item 2 of the answer is left out: it names no pair that was asked about, or one that came before"
    ]
