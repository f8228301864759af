"""Applying fixes, and the work of finding them."""

from catmem.linting.linted import fix_all, fix_once
from catmem.linting.rule import Diagnostic, Fix, Region
from catmem.model.document import parse
from catmem.model.edit import TextEdit
from tests.together import together
from tests.unit.linting.rules_for_tests import lint, only, registered, word_rule


def fixed(text, *codes, unsafe=False):
    """What fixing one file comes to."""
    return fix_all(
        lambda _: text,
        lambda texts: lint(texts.get("USER.md", text), only(*codes)),
        parse,
        unsafe=unsafe,
    )


def finding(*edits, start=0, safe=True):
    fix = Fix(tuple(TextEdit(*edit) for edit in edits), safe, "mend")
    return Diagnostic("USER.md", start, start, Region(1, 1, 1, 1), "CM299", "x", "warning", "wrong", fix=fix)


def once(text, *diagnostics):
    new, done = fix_once(text, diagnostics, parse)
    return new, len(done)


def test_every_finding_is_fixed():
    with registered(word_rule("CM299", "todo", "done")):
        texts, done = fixed("todo\n§\nother\n§\na todo and a todo", "CM299")
    assert texts == {"USER.md": "done\n§\nother\n§\na done and a done"}
    assert len(done) == 3


def test_fixes_that_lead_to_others_go_on_until_nothing_changes():
    with registered(word_rule("CM299", "a", "b"), word_rule("CM298", "b", "c")):
        texts, done = fixed("a b", "CM29")
    assert texts == {"USER.md": "c c"}
    assert [each.code for each in done] == ["CM299", "CM298", "CM298"]


@together(
    ("edits", "new", "made"),
    [
        ([((0, 3, "1"),), ((6, 9, "2"),)], "1 § 2", 2),
        ([((0, 3, "1"),), ((2, 4, "2"),)], "1 § two", 1),
        ([((0, 3, "1"),), ((3, 3, "2"),)], "1 § two", 1),
        ([((0, 0, "1"),), ((0, 0, "2"),)], "1one § two", 1),
        ([((0, 1, ""), (4, 5, "")), ((4, 9, ""),)], "ne  two", 1),
        ([((0, 99, ""),)], "one § two", 0),
        ([((5, 6, ""), (0, 1, ""))], "one § two", 0),
        ([()], "one § two", 0),
    ],
)
def test_edits_that_meet_wait_for_another_round(edits, new, made):
    text, done = once("one § two", *(finding(*each, start=place) for place, each in enumerate(edits)))
    assert text == new
    assert done == made or edits == [()]


TEXT = "## A\none\n§\ntwo\n\n## B\nthree\n"


@together(
    "edit",
    [
        (5, 8, "```"),  # opens a fence, which hides nothing
        (5, 8, "1"),
        (9, 10, "§\n§"),
        (0, 4, "## C"),
    ],
)
def test_a_fix_of_its_own_place_is_made(edit):
    assert once(TEXT, finding(edit))[1] == 1


@together(
    "edit",
    [
        (4, 5, "\n```\n§\n"),
        (14, 15, "\nx"),
        (22, 23, "\n"),
    ],
)
def test_a_fix_keeps_all_other_entries(edit):
    new, _ = once(TEXT, finding(edit))
    kept = {entry.raw for entry in parse(TEXT).entries if not (edit[0] <= entry.end and entry.start <= edit[1])}
    assert kept <= {entry.raw for entry in parse(new).entries}


def test_a_fix_that_would_take_another_entry_with_it_is_left_out():
    text = "one\n§\ntwo\n§\nthree"
    swallow = finding((4, 5, "x"), start=4)  # without the delimiter line, "one" and "two" are one entry
    fine = finding((12, 17, "3"), start=12)
    new, done = once(text, swallow, fine)
    assert new == "one\n§\ntwo\n§\n3"
    assert done == 1
    # Nor may a fix add to another entry, but it may open a section for what follows.
    text = "## A\none\n§\ntwo\n§\nthree"
    assert once(text, finding((9, 10, "§\nmore\n"), start=9)) == (text, 0)
    assert once("## A\none\n§\ntwo", finding((5, 8, "one\n§\n## B"), start=5)) == ("## A\none\n§\n## B\n§\ntwo", 1)


@together(
    ("diagnostic", "unsafe", "can"),
    [
        (finding((0, 1, "")), False, True),
        (finding((0, 1, ""), safe=False), False, False),
        (finding((0, 1, ""), safe=False), True, True),
        (finding(), True, False),
    ],
)
def test_which_findings_can_be_fixed(diagnostic, unsafe, can):
    texts, _ = fix_all(lambda _: "one", lambda texts: [] if texts else [diagnostic], parse, unsafe=unsafe)
    assert texts == ({"USER.md": "ne"} if can else {})


@together(("bad", "most"), [(0, 2), (1, 17), (5, 70)])
def test_fixes_that_reach_too_far_are_found_by_halves(bad, most):
    entries, parsed = 128, []
    text = "\n§\n".join(["todo"] * entries)
    far = {entries // (bad + 1) * (number + 1) for number in range(bad)}
    edits = [
        (at + 5, at + 6, "x") if number in far else (at, at + 4, "done")  # without the delimiter line two are one
        for number, at in enumerate(range(0, len(text), len("todo\n§\n")))
        if number - 1 not in far
    ]

    def counted(data):
        parsed.append(data)
        return parse(data)

    new, done = fix_once(text, [finding(edit) for edit in edits], counted)
    assert (new.count("done"), new.count("todo"), len(done)) == (entries - 2 * bad, 2 * bad, entries - 2 * bad)
    assert len(parsed) <= most
