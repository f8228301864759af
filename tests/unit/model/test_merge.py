"""The three-way merge: its cases as data, each with the sides both ways round, and what a conflict says."""

import json
from pathlib import Path

import pytest

from catmem.model import pairing
from catmem.model.document import Version, parse
from catmem.model.merge import merge, merge_into
from catmem.model.pairing import pair_entries
from tests.together import together

FOLDER = Path(__file__).parents[2] / "conformance" / "merge"
CASES = [
    pytest.param(case, id=case["name"])
    for path in sorted(FOLDER.glob("*.json"))
    for case in json.loads(path.read_bytes())["cases"]
]


@together("case", CASES)
@together("turned", [False, True])
def test_cases(case, turned):
    sides = (case["theirs"], case["ours"]) if turned else (case["ours"], case["theirs"])
    precedence = case.get("precedence")
    if precedence and turned:
        precedence = {"ours": "theirs", "theirs": "ours"}[precedence]
    merged = merge(case["base"], *sides, precedence=precedence)
    assert merged.text == case["merged"]
    assert [{"reason": conflict.reason} for conflict in merged.conflicts] == case["conflicts"]


def test_an_arrival_beside_an_open_fence_is_set_apart():
    # All edits at once would let the arriving fence close the open one and hide the header between them.
    base = "## A\none\n\n## B\n"
    ours = "## A\none\n§\n```\nopen\n\n## B\n"
    theirs = "## A\none more\n\n## B\n```\nx\n```\n"
    merged = parse(merge(base, ours, theirs).text).by_category
    assert {category: [entry.body for entry in entries] for category, entries in merged.items()} == {
        "a": ["one more", "```\nopen"],
        "b": ["```\nx\n```"],
    }


@together(
    ("base", "ours", "theirs", "merged"),
    [
        # Theirs keeps the line an entry, although a section follows: so it stays one.
        ("# Likes tea.\n", "# Likes tea.\n§\nnew\n", "§\n\\# Likes tea.\n\n## T\ny\n", ["# Likes tea.", "new", "y"]),
        ("old\n", "", "\\# Not a title\n§\nold\n\n## T\ny\n", ["# Not a title", "y"]),
        # Tags without text are an entry too.
        ("old\n", "", "old\n§\nnew\n\n## T\n[source: call]\n", ["new", ""]),
        # In a flat file a text that begins with U+FEFF cannot come first.
        ("", "##", "§\n\ufeff", ["##", "\ufeff"]),
    ],
)
def test_what_stands_at_the_head_of_a_file(base, ours, theirs, merged):
    assert [entry.body for entry in parse(merge(base, ours, theirs).text).entries] == merged
    assert [entry.body for entry in parse(merge(base, theirs, ours).text).entries] == merged


@together(
    ("ours", "theirs", "title", "reasons"),
    [
        ("# New\n\n## A\nx\n", "# Old\n\n## A\nx\n§\ny\n", "New", []),
        ("# Old\n\n## A\nx\n§\ny\n", "# New\n\n## A\nx\n", "New", []),
        ("## A\nx\n", "# Old\n\n## A\nx\n§\ny\n", None, []),
        ("# New\n\n## A\nx\n", "# Other\n\n## A\nx\n§\ny\n", "New", ["title"]),
    ],
)
def test_titles(ours, theirs, title, reasons):
    merged = merge("# Old\n\n## A\nx\n", ours, theirs)
    assert (parse(merged.text).title, [conflict.reason for conflict in merged.conflicts]) == (title, reasons)
    assert merge("# Old\n\n## A\nx\n", theirs, ours).text == merged.text


@together(
    ("old", "new", "pairs"),
    [
        ("one\n§\ntwo", "two\n§\none", {0: 1, 1: 0}),
        ("one\n§\none", "one", {0: 0}),
        ("no calls before ten", "no calls before noon", {0: 0}),
        ("no calls before ten", "something else", {}),
        ("## A\none", "## B\none", {0: 0}),
        ("## A\none\n§\nno calls before ten", "## B\none\n\n## A\nno calls before noon", {0: 0, 1: 1}),
        ("每天早上喝茶", "每天晚上喝茶", {0: 0}),
        ("plan v7", "plan v8", {}),
        ("use tabs", "use tabs in code, but never in the Makefile of the old build", {}),
        ("prefers short answers", "prefers short answers, in British spelling, with the sources named", {0: 0}),
    ],
)
def test_which_entry_is_which(old, new, pairs):
    assert pair_entries(parse(old).entries, parse(new).entries) == pairs


def test_rewriting_everything_stays_near_linear(monkeypatch):
    counted = []
    real = pairing.jaccard
    monkeypatch.setattr(pairing, "jaccard", lambda *sets: counted.append(1) or real(*sets))
    for size in (500, 1000):
        counted.clear()
        base, ours, theirs = (
            parse("\n§\n".join(f"{side} {number}" for number in range(size))) for side in ("was", "here", "there")
        )
        merged = merge(base, ours, theirs)
        assert len(merged.conflicts) == size
        assert len(counted) <= 16 * 64 * size


def test_titles_of_flat_files_and_a_carriage_return_of_its_own():
    merged = merge(
        "# T\n§\nvendor\n§\nvendor\n§\nvendor vendor\n",
        "# T vendor\n§\nvendor vendor\n",
        "vendor\n§\nvendor\n§\nvendor\n\n## A\nvendor vendor\n",
    )
    assert parse(merged.text).title == "T vendor"
    assert [entry.body for entry in parse(merge("", " ## indented", ":\r\r\n §").text).entries] == [
        "## indented",
        ":\r\n §",
    ]


def test_an_entry_that_goes_from_the_end_of_a_file_of_windows_takes_its_whole_line_end():
    base = "a\r\n§\r\nb\r\n"
    merged = merge(base, f"x\r\n§\r\n{base}", "z\r\n§\r\na\r\n")
    assert merged.text == "z\r\n§\r\nx\r\n§\r\na\r\n"


def test_of_a_text_in_two_places_one_stays_where_each_side_took_out_another():
    base = "## A\nsame words\n§\nq\n\n## B\nsame words\n§\nr\n"
    ours = "## A\nq\n\n## B\nsame words\n§\nr\n"
    theirs = "## A\nsame words\n§\nq\n\n## B\nr\n"
    for merged in (merge(base, ours, theirs), merge(base, theirs, ours)):
        assert [entry.body for entry in parse(merged.text).entries].count("same words") == 1
        assert merged.conflicts == ()


def test_what_may_be_an_addition_is_kept_whoever_wins():
    base, ours = "Budget 100\n§\nDeadline: Monday\n", "Launch moved to spring.\n§\nSam is allergic to peanuts.\n"
    for theirs in ("Budget 100\n§\nDeadline: Tuesday\n", "Budget 100\n"):
        assert [conflict.reason for conflict in merge(base, ours, theirs).conflicts] == ["removed"]
        decided = merge(base, ours, theirs, precedence="theirs")
        assert "peanuts" in decided.text
        assert "Launch" in decided.text


def test_the_same_words_from_different_entries_are_a_conflict_where_they_stand_or_hold_otherwise():
    base = "## Finance\nInvoices go to Anna in the Lyon office.\n\n## Development\nBuild runs on athena.\n"
    ours = base.replace("Anna in", "Ben in")
    for more in ("", "## Finance\n"):
        added = f"{more}§\n[expires: 2026-12-31] Invoices go to Ben in the Lyon office.\n".removeprefix(
            "## Finance\n§\n"
        )
        theirs = base + added if not more else base.replace("\n\n## Dev", f"\n§\n{added}\n## Dev")
        for one, other in ((ours, theirs), (theirs, ours)):
            assert merge(base, one, other).conflicts, theirs


@together("turned", [False, True])
@together("winner", ["ours", "theirs"])
def test_of_one_text_in_two_categories_the_side_that_wins_says_which(turned, winner):
    base = "## A\na0\n\n## B\nb0\n"
    sides = (base.replace("a0\n", "a0\n§\nSame new fact.\n"), base + "§\nSame new fact.\n")
    ours, theirs = sides[::-1] if turned else sides
    merged = parse(merge(base, ours, theirs, precedence=winner).text)
    wanted = parse(ours if winner == "ours" else theirs)
    assert [e.body for e in merged.by_category["a"]] == [e.body for e in wanted.by_category["a"]]
    assert [e.body for e in merged.by_category["b"]] == [e.body for e in wanted.by_category["b"]]


def test_a_day_of_expiry_that_is_none_does_not_take_away_one_that_is():
    base = "[expires: 2026-12-31] Rent is 900 a month.\n"
    merged = merge(base, base.replace("900", "950"), base.replace("2026-12-31", "never"))
    assert parse(merged.text).entries[0].tags["expires"] == "2026-12-31"


def test_words_that_stand_instead_of_the_same_words_from_two_entries_do_so():
    base = "## A\nInvoices go to Anna in Lyon.\n\n## B\nx\n"
    ours = base.replace("Anna", "Ben")
    theirs = base + "§\n[domain: pay] Invoices go to Ben in Lyon.\n§\n[domain: tax] Invoices go to Ben in Lyon.\n"
    said = Version.read("a", "instead")
    assert "instead" in merge(base, ours, theirs, precedence=lambda _: said).text
    for winner in ("ours", "theirs"):
        assert merge(base, ours, theirs, precedence=winner).conflicts == ()


def test_a_copy_in_another_category_is_not_the_entry_that_was_reworded_in_its_place():
    base = "## Style\nPrefers short answers without greetings.\n§\nWrites British spelling.\n## Email\nSigns with initials.\n"
    ours = base.replace("without", "with")
    theirs = base.replace("greetings.", "greetings in chat.") + "§\nPrefers short answers without greetings.\n"
    for one, other in ((ours, theirs), (theirs, ours)):
        (conflict,) = merge(base, one, other).conflicts
        assert {conflict.ours.body, conflict.theirs.body} == {
            "Prefers short answers with greetings.",
            "Prefers short answers without greetings in chat.",
        }
    # A move stays one: nothing like it stands in its old place.
    moved = base.replace("Prefers short answers without greetings.\n§\n", "")
    moved += "§\nPrefers short answers without greetings.\n"
    assert merge(base, ours, moved).conflicts == ()


HEADED = "## Talk\nUses tabs.\n§\nLikes tea.\n"


@pytest.mark.parametrize("heading", ["## Talk!", "## TALK", "## (Talk)"])
def test_a_heading_that_one_side_spells_anew_stays_so(heading):
    spelled, reworded = HEADED.replace("## Talk", heading), HEADED.replace("tabs", "spaces")
    for ours, theirs in ((spelled, reworded), (reworded, spelled)):
        merged = merge(HEADED, ours, theirs)
        assert (merged.text, tuple(merged.conflicts)) == (spelled.replace("tabs", "spaces"), ())


# --- merge_into: a slice's changes arrive in a text of which everything else keeps its bytes -------------------------


BASE = "## Talk\nLikes tea.\n§\nNo calls before ten.\n"


def into(ours, theirs, base=BASE, **how):
    return merge_into(parse(ours), parse(base), parse(theirs), **how)


def bodies(merged):
    sides = [(each.reason, (each.base, each.ours, each.theirs)) for each in merged.conflicts]
    return [(reason, *(side and side.body for side in versions)) for reason, versions in sides]


KEPT = {
    "CRLF": "## Talk\r\nLikes tea.\r\n§\r\nown\r\n",
    "blanks": "## Talk\n\n\nLikes tea.  \n\n§ \t\n\nown\n\n\n",
    "escapes": "## Talk\nLikes tea.\n§\n\\## own\n\\§\n",
    "what stands before the sections": "# Title\n\nown, without a category\n\n## Talk\nLikes tea.\n",
    "other sections": "## Pay\nown\n\n## Talk\nLikes tea.\n\n## Zoo\nown too",
    "a section twice": "## Talk\nLikes tea.\n\n## Pay\nx\n\n## Talk\nown\n",
    "a BOM": "\ufeff## Talk\nLikes tea.\n§\nown\n",
    "no newline at the end": "## Talk\nLikes tea.\n§\nown",
}


@together("ours", KEPT.values(), ids=KEPT)
def test_what_arrives_leaves_every_other_byte_as_it_is(ours):
    merged = into(ours, "## Talk\nLikes tea.\n§\nLikes milk.\n", base="## Talk\nLikes tea.\n").text
    newline = "\r\n" if "\r\n" in ours else "\n"
    assert merged.count("Likes milk.") == 1
    assert merged.replace(f"{newline}§{newline}Likes milk.", "", 1) == ours


@together("base", ["", "## Talk\n[source: x, domain: home] Likes tea.\n"])
def test_what_says_the_same_in_another_form_keeps_its_bytes(base):
    ours, theirs = (
        f"## Talk\n[{tags}] Likes tea.\n" for tags in ("domain: home, source: x", "source: x, domain: home")
    )
    assert into(ours, theirs, base=base).text == ours


CONFLICTS = {
    "both reworded": (
        "## Talk\nLikes green tea.\n§\nNo calls before ten.\n",
        "## Talk\nLikes black tea.\n§\nNo calls before ten.\n",
        ("body", "Likes tea.", "Likes green tea.", "Likes black tea."),
    ),
    "they removed what we changed": (
        "## Talk\nLikes tea.\n§\nNo calls before ten at all.\n",
        "## Talk\nLikes tea.\n",
        ("removed", "No calls before ten.", "No calls before ten at all.", None),
    ),
    "we removed what they changed": (
        "## Talk\nLikes tea.\n",
        "## Talk\nLikes tea.\n§\nNo calls before ten at all.\n",
        ("removed", "No calls before ten.", None, "No calls before ten at all."),
    ),
}


@together(("ours", "theirs", "conflict"), CONFLICTS.values(), ids=CONFLICTS)
def test_of_a_conflict_ours_stays_and_it_is_reported(ours, theirs, conflict):
    merged = into(ours, theirs)
    assert merged.text == ours
    assert bodies(merged) == [conflict]


VERIFIED = "## Talk\n[verified_date: 2026-11-01] Likes tea.\n§\nNo calls before ten.\n"


def test_a_verification_of_their_words_is_none_of_ours():
    ours = "## Talk\nLikes green tea.\n§\nNo calls before ten.\n"
    merged = into(ours, VERIFIED)
    assert (merged.text, merged.conflicts) == (ours, ())
    merged = into("## Talk\nNo calls before ten.\n", VERIFIED)
    assert (merged.text, merged.conflicts) == ("## Talk\nNo calls before ten.\n", ())
    assert into(BASE, VERIFIED).text == VERIFIED


def test_an_entry_of_ours_that_looks_like_a_removed_one_keeps_its_bytes():
    ours = "## Talk\nLikes tea too.\n§\nNo calls before ten.\n"
    merged = into(ours, "## Talk\n[source: call] Likes tea.\n§\nNo calls before ten.\n")
    assert merged.text == ours
    assert bodies(merged) == [("body", "Likes tea.", "Likes tea too.", "Likes tea.")]


def test_a_text_that_we_have_in_that_category_keeps_its_tags():
    ours = "## Talk\n[source: own] Likes milk.\n§\nLikes tea.\n§\nNo calls before ten.\n"
    theirs = BASE + "§\n[source: call] Likes milk.\n"
    assert into(ours, theirs).text == ours


def test_a_text_that_we_have_in_another_category_arrives_all_the_same():
    merged = into("## Own\nVendor is Acme.\n\n" + BASE, BASE + "§\nVendor is Acme.\n")
    assert merged.text.count("Vendor is Acme.") == 2


def test_what_they_reworded_into_a_text_that_we_have_does_not_stand_twice():
    ours = BASE + "§\nLikes green tea.\n"
    merged = into(ours, "## Talk\nLikes green tea.\n§\nNo calls before ten.\n")
    assert [entry.body for entry in parse(merged.text).entries] == ["No calls before ten.", "Likes green tea."]


@together("winner", ["ours", "theirs"])
@together(("theirs", "verified"), [("", None), ("[verified_date: 2026-02-02] ", "2026-02-02")])
def test_new_words_of_theirs_have_their_verification_and_never_ours(theirs, verified, winner):
    base = "## Talk\n[verified_date: 2026-02-02] Likes tea.\n" if verified else "## Talk\nLikes tea.\n"
    ours = "## Talk\n[verified_date: 2026-11-01, source: call] Likes tea.\n"
    merged = into(ours, f"## Talk\n{theirs}Likes green tea.\n", base=base, precedence=winner)
    (entry,) = parse(merged.text).entries
    assert (entry.body, entry.tags.get("verified_date")) == ("Likes green tea.", verified)
    assert (entry.tags["source"], merged.conflicts) == ("call", ())


def test_new_words_that_we_moved_have_no_verification_of_ours_either():
    ours = "## Home\n[verified_date: 2026-11-01] Likes tea.\n"
    merged = into(ours, "## Talk\nLikes green tea.\n", base="## Talk\nLikes tea.\n")
    (entry,) = parse(merged.text).entries
    assert (entry.category, entry.body, entry.tags) == ("home", "Likes green tea.", {})


def test_the_same_new_words_of_both_keep_our_verification_of_them():
    ours = "## Talk\n[verified_date: 2026-11-01] Likes green tea.\n"
    merged = into(ours, "## Talk\nLikes green tea.\n", base="## Talk\nLikes tea.\n")
    assert merged.text == ours
