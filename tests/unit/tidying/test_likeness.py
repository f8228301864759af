"""Which texts have the same words, and which speak of one thing."""

from catmem.plugins.sorting.tidying import alike_pairs, same_words, words_of
from tests.together import together

OTHERS = (
    "Invoices are due in 30 days",
    "The office lift is broken",
    "Holiday planner is in the wiki",
    "Customs papers for Norway in the blue folder",
    "Filomena reviews the codebase",
    "The van has winter tyres",
    "Backup disk is in the safe",
)


@together(
    ("one", "other"),
    [
        ("Likes tea, and long walks.", "long walks and - likes TEA"),
        ("**Bank**: Volksbank", "Bank Volksbank"),
        ("Caf\u00e9 Otter", "cafe\u0301 otter!"),
        ("Never on Mondays.", "never on Mondays"),
    ],
)
def test_order_and_the_signs_of_a_sentence_say_nothing(one, other):
    assert same_words(one) == same_words(other)


@together(
    ("one", "other"),
    [
        ("Likes tea", "Likes tea tea"),
        ("Knows C", "Knows C++"),
        ("Balance: 5", "Balance: -5"),
        ("Standup at 9:30", "Standup at 93:0"),
        ("Likes tea, not coffee", "Likes coffee, not tea"),
        ("Tea is fine, coffee isn't", "Coffee is fine, tea isn't"),
    ],
)
def test_what_else_is_different_is_not_the_same(one, other):
    assert same_words(one) != same_words(other)


@together(
    ("one", "other", "values"),
    [
        ("Postgres 15 in production", "Production database runs Postgres 16", ("15", "16")),
        ("Weekly call with Dana is at 10:00.", "Call with Dana moved to 9:30.", ("10:00", "9:30")),
        ("Retainer of Acme is 6,500 a month", "Acme pays a retainer of 6,000", ("6,500", "6,000")),
        ("Deploys on Fridays are fine", "Never deploy on Friday", None),
        ("Stand at the fair is booked for May", "At the fair we have a stand in June", ("May", "June")),
        ("Das B\u00fcro in Jena ist am Montag zu", "Am Montag haben die B\u00fcros in Jena nicht auf", None),
    ],
)
def test_two_texts_of_one_thing_are_found_with_the_values_that_differ(one, other, values):
    ((first, second, _, _, unlike),) = alike_pairs([one, *OTHERS, other], 5)
    assert (first, second, unlike) == (0, len(OTHERS) + 1, values)


def test_rare_words_count_more_than_those_that_many_texts_have():
    texts = ["Server in Leeds", "Server in York", "Server in Derby", "Otter in Bath", "Otter in Hull"]
    assert [each[:2] for each in alike_pairs(texts, 5)] == [(3, 4)]


@together(("many", "pairs"), [(4, 2), (5, 0)])
def test_five_that_are_as_alike_are_a_series(many, pairs):
    series = [
        f"Customer {name}: pays in {days} days"
        for name, days in zip(("Ash", "Birch", "Elm", "Fir", "Yew"), (10, 15, 20, 25, 45), strict=True)
    ]
    texts = [*series[:many], *OTHERS, "Postgres 15 in production", "Production database runs Postgres 16"]
    found = [each[:2] for each in alike_pairs(texts, 9)]
    assert (len(texts) - 2, len(texts) - 1) in found
    assert len([each for each in found if each[1] < many]) == pairs


def test_no_text_is_in_two_pairs_and_the_best_come_first():
    texts = [
        "Otter server runs Debian",
        "Otter server runs Debian now",
        "Otter server",
        "Van has tyres",
        "Tyres of van",
    ]
    assert [each[:2] for each in alike_pairs([*texts, *OTHERS[:5]], 9)] == [(0, 1), (3, 4)]
    assert [each[:2] for each in alike_pairs([*texts, *OTHERS[:5]], 1)] == [(0, 1)]


@together(
    ("text", "keys"),
    [
        ("4 pm", ["16:00"]),
        ("at 12:30 a.m.", ["0:30"]),
        ("1.200 or 1,200", ["1200", "1200"]),
        ("3.5", ["3.5"]),
        ("seven", ["7"]),
        ("Tue and Tuesdays", ["tue", "tue"]),
        ("may march", ["may", "march"]),
        ("5 \u20ac", ["5", "euro"]),
    ],
)
def test_values_have_one_form(text, keys):
    assert [word.key for word in words_of(text)] == keys


def test_what_denies_is_known_of_the_next_words():
    assert [(word.raw, word.denied) for word in words_of("Never call Ann Lee on Monday")] == [
        ("call", True),
        ("Ann", False),
        ("Lee", False),
        ("Monday", False),
    ]


def test_texts_without_words_are_alike_to_none():
    assert alike_pairs(["", "\u2014", "the", "the"], 5) == []
