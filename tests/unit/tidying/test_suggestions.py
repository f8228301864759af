"""What is suggested for entries, and the operations that it would take."""

from catmem.model.document import parse
from catmem.plugins.sorting.tidying import ENTRIES_A_PAIR, TidyEntry, suggestions
from tests.together import together


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
