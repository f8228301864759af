"""Pairs of entries: which say the same or speak of one thing, what is suggested for them, and what a model judges."""

from catmem.model.document import parse
from catmem.plugins.sorting.tidying import (
    ENTRIES_A_PAIR,
    TidyEntry,
    alike_pairs,
    same_words,
    suggestions,
    words_of,
)
from tests.together import together

# --- which texts are alike ---

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


# --- what is suggested ---


def entries(text, entity="neo/user", *, copied=False):
    document = parse(text)
    return [TidyEntry(entity, document.line(entry.start), entry, copied=copied) for entry in document.entries]


def said(suggestion):
    return [(each.action, each.old_text) for each in suggestion.operations]


@together(
    ("kept", "gone"),
    [
        ("[verified_date: 2026-05-01] Likes walks.", "[created: 2026-06-01] likes walks"),
        ("[verified_date: 2026-06-01] Likes walks.", "[verified_date: 2026-05-01] Walks: likes"),
        ("[created: 2026-06-01] Likes walks.", "[created: 2026-05-01] Walks, likes"),
        ("[domain: code] Likes walks, 2026.", "[domain: code] 2026: likes walks"),
    ],
)
def test_of_the_same_words_what_was_verified_stays_then_the_newer(kept, gone):
    (only,) = suggestions(entries(f"## Talk\n{kept}\n§\n{gone}\n"))
    assert [each.entry.raw.strip() for each in only.entries] == [kept, gone]
    assert (only.kind, only.entity, said(only)) == ("same", "neo/user", [("remove", only.entries[1].id)])
    if "created" in gone and "created" in kept:
        (other_way,) = suggestions(entries(f"## Talk\n{gone}\n§\n{kept}\n"))
        assert [each.entry.raw.strip() for each in other_way.entries] == [kept, gone]


def test_another_order_is_named():
    reasons = [
        suggestions(entries(f"## Talk\nLikes long walks.\n§\n{other}\n"))[0].reason
        for other in ("likes LONG walks", "walks long, likes")
    ]
    assert reasons == ["they have the same words", "they have the same words, in another order"]


def test_of_three_that_are_equal_one_stays():
    made = suggestions(entries("## Talk\n" + "\n§\n".join(["Likes long walks."] * 3) + "\n"))
    assert [said(each)[0][0] for each in made] == ["remove", "remove"]
    assert len({each.entries[0] for each in made}) == 1


@together(
    ("text", "why"),
    [
        ("## Talk\nLikes walks.\n\n## Home\nLikes walks.\n", "each may have its readers"),
        ("## Talk\nLikes walks.\n§\n[expires: 2027-01-01] Likes walks.\n", "say more, or another day"),
        ("## Talk\n[verified_date: 2026-01-02] Likes walks.\n§\n[domain: code] Likes walks.\n", "say more"),
    ],
)
def test_what_has_other_readers_tags_or_another_end_is_only_shown(text, why):
    (only,) = suggestions(entries(text))
    assert (only.kind, only.operations, why in only.reason) == ("same", (), True)


@together(("header", "operations"), [("", 1), ("## Talk\n", 0)])
def test_in_two_files_one_goes_if_no_category_says_who_reads_it(header, operations):
    text = f"{header}Likes long walks.\n"
    (only,) = suggestions([*entries(text), *entries(text, "neo/memory")])
    assert (only.kind, len(only.operations)) == ("same", operations)


def test_entries_of_both_files_are_looked_at_together_and_the_newer_comes_first():
    user = entries("[created: 2026-01-02] Postgres 15 in production.\n")
    memory = entries("[created: 2026-02-03] Production runs Postgres 16.\n§\nThe lift is broken.\n", "neo/memory")
    (only,) = suggestions([*user, *memory])
    assert (only.kind, only.entity, only.operations) == ("together", "neo/memory", ())
    assert only.entries == (memory[0], user[0])
    assert only.reason == "both speak of Postgres, production: 16 or 15?"


def test_at_most_one_pair_for_so_many_entries():
    texts = [
        f"The {thing} costs {price} euros.\n§\nPrice of the {thing}: {price + 1}."
        for price, thing in enumerate(("van", "lift", "server"), 7)
    ]
    more = [f"Note {word}" for word in ("ash", "birch", "cedar", "elm", "fir", "oak", "pine", "yew", "larch")]
    some = entries("## Talk\n" + "\n§\n".join(texts + more) + "\n")
    assert len(some) // ENTRIES_A_PAIR == 3
    assert [each.kind for each in suggestions(some)] == ["together"] * 3
    assert len(suggestions(some[:11])) == 2
    again = entries("## Talk\n" + "\n§\n".join([*texts, *more, "Note ash"]) + "\n")
    assert [each.kind for each in suggestions(again)] == ["same", "together", "together"]


def test_two_profiles_are_not_compared():
    assert suggestions([*entries("Likes long walks.\n"), *entries("Likes long walks.\n", "tri/user")]) == []


def test_copies_are_looked_at_where_they_come_from():
    text = "## Talk\nLikes long walks.\n§\nLong walks he likes.\n§\nlong walks: likes\n"
    assert suggestions(entries(text, copied=True)) == []


def test_of_a_copy_and_an_own_entry_the_own_one_goes():
    copy = entries("## Talk\nLikes walks by night.\n", copied=True)
    own = entries("## Talk\nlikes walks by night\n")
    (only,) = suggestions([*own, *copy])
    assert said(only) == [("remove", own[0].id)]
