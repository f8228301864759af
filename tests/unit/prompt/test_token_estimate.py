"""How many tokens a text is, by the rule; each example is worked by hand."""

from benchmarks.notes import notes
from catmem.prompt.sizes import estimated_tokens
from tests.together import together


@together(
    ("text", "tokens"),
    [
        ("", 0),
        (" ", 0),
        ("word", 1),
        ("letter", 1),
        ("letters", 2),
        ("two words", 2),
        ("Vendor for cloud billing is Acme.", 1 + 1 + 1 + 2 + 1 + 1 + 1),
        ("2026-11-21", 2 + 1 + 1 + 1 + 1),
        ("1234567", 3),
        ("größer", 1 + 1),
        ("Straßenbahn", 2 + 1),
        ("don't", 1 + 1 + 1),
        ("a_b", 3),
        ("------", 2),
        ("->", 2),
        ("one\n\ntwo", 1 + 1 + 1),
        ("one \n two", 1 + 1 + 1),
        ("one  two", 1 + 1 + 1),
        ("one\ttwo", 2),
        ("会议改到", 5),
        ("会", 2),
        ("会议,会议", 3 + 1 + 3),
        ("Москва", 3),
        ("مرحبا", 3),
        ("\u0928\u092e\u0938\u094d\u0924\u0947", 3),
        ("🙂", 2),
        ("“so”", 1 + 1 + 1),
        ("§", 1),
        ("\x00", 1),
    ],
)
def test_by_hand(text, tokens):
    assert estimated_tokens(text) == tokens


def test_english_prose_has_about_four_characters_and_three_quarters_of_a_word_a_token():
    text = (
        "Please keep the answers short, with the result first and the reasons after it. She reads them on the way to "
        "work, so a long table is of no use. If something is not known, say so, and say who could know it."
    )
    assert 3.6 < len(text) / estimated_tokens(text) < 4.8
    assert 0.65 < len(text.split()) / estimated_tokens(text) < 0.9


def test_notes_full_of_names_and_numbers_are_denser():
    text = "\n".join(notes("english"))
    assert 3.2 < len(text) / estimated_tokens(text) < 4
