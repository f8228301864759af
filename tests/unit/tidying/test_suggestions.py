"""What is suggested for entries, and the operations that it would take."""

from __future__ import annotations

from datetime import date

import pytest

from catmem.model.document import parse
from catmem.tidying.suggestions import TidyEntry, facts_in, suggestions

DAY = date(2026, 11, 21)


def entries(text, entity="neo/user", *, copied=False):
    document = parse(text)
    return [TidyEntry(entity, document.line(entry.start), entry, copied=copied) for entry in document.entries]


def found(*held, seeded=None, over=None):
    return suggestions([each for some in held for each in some], DAY, seeded or {}, over or {})


def said(suggestion):
    return [(each.action, each.old_text or each.content) for each in suggestion.operations]


def test_an_expired_entry_goes_and_nothing_else_is_said_of_it():
    some = entries("## Talk\n[expires: 2026-11-20] Likes tea at noon.\n§\n[expires: 2026-11-21] Likes tea at noon.\n")
    (only,) = found(some)
    assert (only.kind, only.entity, said(only)) == ("expired", "neo/user", [("remove", some[0].id)])
    assert only.operations[0].category == "talk"


def test_of_two_that_say_the_same_the_one_that_was_verified_later_stays():
    text = "## Talk\nThe user really likes long walks.\n§\n[verified_date: 2026-05-01] Likes long walks.\n"
    (only,) = found(entries(text))
    assert [each.body for each in only.entries] == ["Likes long walks.", "The user really likes long walks."]
    assert said(only) == [("remove", only.entries[1].id)]
    assert only.lost == ("the", "user", "really")
    assert only.reason == "they say the same; the one that stays was verified on 2026-05-01"


def test_of_two_that_say_the_same_the_longer_stays_and_gets_the_tags_of_the_other():
    text = "## Talk\n[created: 2026-05-01, domain: code] Likes long walks.\n§\nLikes very long walks.\n"
    (only,) = found(entries(text))
    assert only.entries[0].body == "Likes very long walks."
    remove, replace = only.operations
    assert (remove.action, replace.action, replace.content, replace.tags) == (
        "remove",
        "replace",
        None,
        {"domain": "code"},
    )
    assert only.lost == ()


def test_neither_a_number_or_name_nor_what_was_verified_goes():
    text = "## Talk\n[verified_date: 2026-05-01] Health insurance: AOK\n§\nHealth insurance: AOK T4829\n"
    (only,) = found(entries(text))
    assert (only.operations, only.entries[0].body) == ((), "Health insurance: AOK")
    assert only.reason == "they say the same, but what was verified lacks T4829"
    (only,) = found(entries(text.replace("[verified_date: 2026-05-01] ", "")))
    assert said(only) == [("remove", only.entries[1].id)]
    assert only.entries[0].body == "Health insurance: AOK T4829"


@pytest.mark.parametrize(
    ("kept", "gone"),
    [
        ("[verified_date: 2026-05-01] Likes walks.", "[created: 2026-06-01] Likes walks, really and very."),
        ("[verified_date: 2026-05-01] Likes very long walks.", "[verified_date: 2026-06-01] Likes long walks."),
        ("[verified_date: 2026-06-01] Likes long walks.", "[verified_date: 2026-05-01] Long walks, likes"),
        ("[created: 2026-06-01] Likes long walks.", "[created: 2026-05-01] Long walks, likes"),
    ],
)
def test_what_was_verified_stays_then_what_has_more_words_then_the_newer(kept, gone):
    for some in ((kept, gone), (gone, kept)):
        (only,) = found(entries("## Talk\n" + "\n§\n".join(some) + "\n"))
        assert [each.entry.raw.strip() for each in only.entries] == [kept, gone]
        assert said(only)[0] == ("remove", only.entries[1].id)


def test_a_verified_entry_does_not_give_way_to_a_copy_that_was_not():
    copy = entries("## Talk\nLikes long walks.\n", copied=True)
    (only,) = found(copy, entries("## Talk\n[verified_date: 2026-05-01] Likes very long walks.\n"))
    assert (only.operations, only.reason) == ((), "they say the same, but the one of the source was not verified")


@pytest.mark.parametrize(
    "text",
    [
        "## Talk\nLikes long walks.\n\n## Home\nLikes long walks.\n",
        "## Talk\nLikes long walks.\n§\n[expires: 2027-01-01] Likes long walks.\n",
    ],
)
def test_what_has_other_readers_or_another_end_is_only_shown(text):
    (only,) = found(entries(text))
    assert (only.kind, only.operations) == ("duplicate", ())


def test_of_three_that_are_equal_one_stays():
    made = found(entries("## Talk\n" + "\n§\n".join(["Likes long walks."] * 3) + "\n"))
    assert [said(each)[0][0] for each in made] == ["remove", "remove"]


@pytest.mark.parametrize("tags", ["", "[created: 2026-05-01] ", "[verified_date: 2026-04-30] "])
def test_a_contradiction_is_decided_by_a_later_verification_alone(tags):
    older = f"{tags}The standup is at 9:30."
    (only,) = found(entries(f"## Talk\n{older}\n§\n[verified_date: 2026-05-02] Standup is at 10:00.\n"))
    assert [each.body for each in only.entries] == ["Standup is at 10:00.", "The standup is at 9:30."]
    assert said(only) == [("remove", only.entries[1].id)]
    assert only.lost == ("the", "9:30")


@pytest.mark.parametrize(
    "text",
    [
        "## Talk\nThe standup is at 9:30.\n§\nStandup is at 10:00.\n",
        "## Talk\n[verified_date: 2026-05-01] The standup is at 9:30.\n§\n[verified_date: 2026-05-01] Standup is at 10:00.\n",
        "## Talk\n[created: 2026-06-01] The standup is at 9:30.\n§\n[verified_date: 2026-05-01] Standup is at 10:00.\n",
        "## Talk\nAunt Kim speaks French.\n§\n[verified_date: 2026-05-01] Aunt Kim speaks German.\n",
    ],
)
def test_any_other_contradiction_is_only_shown(text):
    (only,) = found(entries(text))
    assert (only.kind, only.operations) == ("contradiction", ())


def test_a_list_of_values_is_no_contradiction():
    weights = [f"The dog weighs {number} kg." for number in range(11, 16)]
    assert found(entries("## Talk\n" + "\n§\n".join(weights) + "\n")) == []
    assert [each.kind for each in found(entries("## Talk\n" + "\n§\n".join(weights[:2]) + "\n"))] == ["contradiction"]


def test_two_profiles_are_not_compared():
    assert found(entries("Likes long walks.\n"), entries("Likes long walks.\n", "tri/user")) == []


def test_copies_are_looked_at_where_they_come_from():
    text = "## Talk\n[expires: 2026-01-01] Old.\n§\nLikes long walks.\n§\nLong walks he likes.\n§\n- One fact\n- Other news\n"
    assert found(entries(text, copied=True)) == []


def test_of_a_copy_and_an_own_entry_the_own_one_goes():
    copy, own = (
        entries("## Talk\nLikes walks by night.\n", copied=True),
        entries("## Talk\nLikes walks, by night, very.\n"),
    )
    (only,) = found(own, copy)
    assert said(only) == [("remove", own[0].id)]


def test_several_facts_become_entries_with_the_same_tags():
    (only,) = found(entries("## Talk\n[verified_date: 2026-05-01]\n- Likes tea\n- Bills come in May\n"))
    assert [each.action for each in only.operations] == ["remove", "add", "add"]
    assert [each.content for each in only.operations[1:]] == ["Likes tea", "Bills come in May"]
    assert only.operations[1].tags == {"created": None, "verified_date": "2026-05-01"}


@pytest.mark.parametrize(
    "body",
    [
        "Invoices go to Dana by the 5th.\n\nThe office opens at 8.\n\nCustomers get a discount of 5 %.",
        "Office opens at 9:00.\n\nThe office rent is 1,200 € a month.\n\nCleaning is on Fridays.",
        "Our bank is Volksbank.\n\nThere is no parking at the office.\n\nPayroll runs on the 27th.",
        "Der Versand ist ab 50 € kostenlos.\n\nDie Bank ist Volksbank.\n\nDas Lager ist in Halle 3.",
    ],
)
def test_three_paragraphs_are_three_facts(body):
    assert facts_in(body) == body.split("\n\n")


@pytest.mark.parametrize(
    "body",
    [
        "The offer for Kern is 4,000 €.\n\nKern wants a discount.\n\nThe discount was refused.",
        "Kern will ein Angebot.\n\nRechnungen zahlen sie bar.",
        "Likes tea. Bills come in May.",
        "Packing list\n- warm boots\n- rain jacket",
        "1. Stop the service\n2. Restore the dump",
        "The heating is loud.\n\nThe plumber knows it.",
        "- likes green tea\n- tea with milk",
        "- milk\n- eggs",
        "```\na b c\n\nd e f\n```",
    ],
)
def test_what_belongs_together_stays_together(body):
    assert facts_in(body) == [body]


def test_a_fact_of_all_specialists_is_lifted_to_the_orchestrator():
    one = entries("## Talk\nThe fiscal year begins in July.\n", "neo/user")
    other = entries("## Talk\n[verified_date: 2026-05-01] In July the fiscal year begins.\n", "tri/user")
    seeded = {"boss": ["neo", "tri"]}
    (only,) = found(one, other, seeded=seeded)
    assert (only.kind, only.entity, said(only)) == ("lift", "boss/user", [("add", "In July the fiscal year begins.")])
    assert only.operations[0].tags == {"created": None, "verified_date": "2026-05-01"}
    assert found(one, other, entries("## Else\nFiscal year begins in July.\n", "boss/user"), seeded=seeded) == []
    assert found(one, seeded=seeded) == []
    calls = [
        entries(f"## Talk\nCall {when} noon at the desk.\n", f"{name}/user")
        for name, when in (("neo", "before"), ("tri", "after"))
    ]
    assert found(*calls, seeded=seeded) == []
    assert found(one, seeded={"boss": ["neo"]}) == []


def test_a_long_entry_is_marked_where_its_file_is_over_its_limit():
    some = entries(f"## Talk\n{'word ' * 61}\n§\nShort.\n")
    assert found(some) == []
    (only,) = found(some, over={"neo/user": 20})
    assert (only.kind, only.operations, only.entries) == ("long", (), (some[0],))
    assert only.reason == "it has 304 characters, and the file 20 more than it may have"
