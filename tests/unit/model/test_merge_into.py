"""``merge_into``: a slice's changes arrive in a text of which everything else keeps its bytes."""

from catmem.model.document import parse
from catmem.model.merge import merge_into
from tests.together import together

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
