"""Queries, and where their words are found."""

import unicodedata

from benchmarks.notes import notes
from catmem.model.document import parse
from catmem.search.index import WIDTH, Index, SearchSource, matches, ranked, snippet
from catmem.search.query import (
    FUNCTION_WORDS,
    MOST_CHARACTERS,
    Term,
    beginning,
    fold,
    language_of,
    parse_query,
    stem,
    words_of,
)
from tests.together import together


def found(query: str, text: str) -> list[str]:
    """The bodies of the entries of a text that a query's first term stands in, or their categories' names."""
    index = Index(parse(text))
    (term, *_) = parse_query(query)
    return [index.document.entries[number].body for number in sorted(index.places(term))]


def counted(query: str, body: str) -> float:
    """What the first term of a query counts in an entry with this text; 0 if it is not there."""
    index = Index(parse(body))
    return index.places(parse_query(query)[0]).get(0, 0)


# --- folding ---


@together(
    ("text", "folded"),
    [
        ("Plain ASCII", "plain ascii"),
        ("Élan Ångström", "elan angstrom"),
        ("İstanbul", "istanbul"),
        ("Straße ẞ", "straße ß"),
        ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
        ("Йод Ёж", "иод еж"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("がぎ 中文", "がぎ 中文"),
        ("e\u0301", "e\u0301"),
        ("\ud800X", "\ud800x"),
    ],
)
def test_folding_takes_case_and_accents_away(text, folded):
    assert fold(text) == folded


def test_every_character_folds_to_one_and_a_folded_one_to_itself():
    everything = "".join(map(chr, range(0x30000)))  # above that no letter has a case or an accent
    folded = fold(everything)
    assert len(folded) == len(everything)
    assert fold(folded) == folded


def test_many_letters_fold_as_few_do():
    letters = "".join(chr(code) for code in range(0xC0, 0x250))
    assert fold(letters) == "".join(map(fold, letters))


# --- queries ---


@together(
    ("query", "terms"),
    [
        ("tea", [("tea",)]),
        ("  Green TEA, green ", [("green",), ("tea",)]),
        ('tea "due date"', [("due", "date"), ("tea",)]),
        ("“due date”", [("due", "date")]),
        ('"due date', [("due",), ("date",)]),
        ('"" tea', [("tea",)]),
        ("snake_case", [("snake",), ("case",)]),
        ("tea AND NOT -x +y title:z (c|b)*", [(word,) for word in ["tea", *"xy", "title", *"zcb"]]),
        ("How do we deploy?", [("deploy",)]),
        ("to be or not to be", [("to",), ("be",), ("or",), ("not",)]),
        ('who is "the who"', [("the", "who")]),
        ("war memorial", [("war",), ("memorial",)]),
        ("was war die Rechnung", [("war",), ("rechnung",)]),
        ("cafe\u0301", [("cafe",)]),
        ("uv工具", [("uv",), ("工具",)]),
        ("हिन्दी", [("हिन्दी",)]),
    ],
)
def test_a_query_is_words_and_phrases(query, terms):
    assert [term.words for term in parse_query(query)] == terms


@together(
    ("query", "body", "is_found"),
    [
        ("Groessl", "Frau Größl, Wien", True),
        ("Größl", "Frau Groessl, Wien", True),
        ("Gro\u0308ßl", "GROESSL", True),
        ("Schluessel", "Die Schlüssel sind bei der Post", True),
        ("schluesselbund", "Der Schlüsselbund ist bei der Post", True),
        ("schluessel", "Der Schlüsselbund ist bei der Post", True),
        ("blue", "Blutest and the blunt knife", False),
        ("value", "valuation of the house", False),
        ("Müller", "Mueller-Straße 4", True),
        ("mueller", "the mull of Kintyre", False),
    ],
)
def test_an_umlaut_may_be_spelled_out(query, body, is_found):
    index = Index(parse(body))
    found = matches(parse_query(query), [SearchSource(index, index.counts)])
    assert bool(found) is is_found


def test_a_long_run_without_blanks_is_looked_for_in_pieces_too():
    whole, *pieces = parse_query("喜欢喝茶")
    assert whole == Term(("喜欢喝茶",))
    assert [piece.words for piece in pieces] == [("喜欢",), ("欢喝",), ("喝茶",)]
    assert all(piece.weight < whole.weight for piece in pieces)


@together("query", ["x" * MOST_CHARACTERS, "a" * 999 + "b", "é" * MOST_CHARACTERS, "(a+)+b", "a?" * 30 + "b"])
def test_no_query_makes_the_search_slow(query):
    # Each step of these would be repeated for every character if the patterns went back: this would not end.
    text = "a" * 200_000 + " " + "a " * 50_000 + "é" * 50_000
    for term in parse_query(query):
        assert isinstance(Index(parse(text)).places(term), dict)


# --- matching ---


@together(
    ("query", "body", "counts"),
    [
        ("tea", "Tea.", 1),
        ("tea", "tea TEA (tea)", 3),
        ("tea", "teapot", 0.5),
        ("tea", "steam", 0),
        ("te", "tea", 0),
        ("te", "te", 1),
        ("tea", "green_tea", 1),
        ("cafe", "Café", 1),
        ("weiss", "The client is Weiß AG.", 1),
        ("WEISS", "WEIẞ AG", 1),
        ("Weiß", "The client is WEISS AG.", 1),
        ("hauptstrasse", "Office: Hauptstraße 5", 1),
        ("haupt", "Office: Hauptstraße 5", 0.5),
        ("hasse", "Haße", 1),
        ("hase", "Haße", 0),
        ("masse", "Maße", 1),
        ('"weiss ag"', "Weiß-AG", 2),
        ('"massstab gross"', "Maßstab: groß", 2),
        ("café", "CAFE", 1),
        ("resume", "re\u0301sume\u0301", 1),
        ("résumé", "résumés", 0.8),
        ("deploy", "We deployed it after two deployments", 1.6),
        ("deploying", "deploy", 0.8),
        ("allergies", "Is allergic to nuts", 0.3),
        ("allergy", "Allergies: nuts", 0.8),
        ("used", "user", 0),
        ("invoic", "invoices", 0.8),
        ("market", "marketplace", 0.5),
        ("rechnung", "Die Rechnungen gehen an die Bank", 0.8),
        ("facturas", "La factura de la luz es de mayo", 0.8),
        ("uv", "用户喜欢uv工具", 1),
        ("欢", "用户喜欢uv工具", 1),
        ("喜欢", "用户喜欢uv, 喜欢", 2),
        ("ありがと", "どうもありがとう", 1),
        ("한국", "한국어를", 1),
        ("ไทย", "ภาษาไทยครับ", 1),
        ("हिन्दी", "यह हिन्दी है", 1),
        ("हि", "हिन्दी", 0),
        ("2026", "in 2026-05", 1),
        ("c", "C++ and c#", 2),
        ("naïve", "NAI\u0308VE", 1),
    ],
)
def test_what_a_match_of_a_word_counts(query, body, counts):
    assert counted(query, body) == counts


@together(
    ("body", "matches"),
    [
        ("the due date is", True),
        ("Due\n  date", True),
        ("due-date", True),
        ("due, (date)", True),
        ("date due", False),
        ("due the date", False),
        ("due dates", False),
        ("overdue date", False),
        ("duedate", False),
    ],
)
def test_a_phrase_is_its_words_one_behind_the_other(body, matches):
    assert bool(counted('"due date"', body)) == matches


def test_a_phrase_of_scripts_without_blanks():
    assert counted('"喝 茶"', "喜欢喝茶")
    assert counted('"用 uv"', "请用uv吧")
    assert not counted('"用 uv"', "请用uvx")


@together("between", ["\n§\n", "\n§ \n", "\r\n§\r\n", "\n## Tea\n", "\n§\n\n§\n"])
def test_a_phrase_does_not_go_on_in_the_next_entry(between):
    assert found('"due due"', f"due{between}due due{between}due") == ["due due"]


@together(("query", "names"), [("rules", True), ("rul", True), ("ru", False), ("tea", True), ('"tea rules"', False)])
def test_the_name_of_a_category_counts_a_little(query, names):
    index = Index(parse("one\n\n## Tea Rules\ntwo\n§\n\n§\nthree\n"))
    places = index.places(parse_query(query)[0])
    assert [index.document.entries[number].body for number in sorted(places)] == (["two", "three"] if names else [])
    assert all(0 < count < 0.5 for count in places.values())


def test_a_category_in_a_script_without_blanks():
    assert found("規則", "## 茶の規則\nx\n") == ["x"]


def test_normal_forms_find_each_other():
    for form in ("NFC", "NFD"):
        for other in ("NFC", "NFD"):
            assert counted(unicodedata.normalize(form, "Žluťoučký"), unicodedata.normalize(other, "žluťoučký kůň")) == 1


def test_many_queries_keep_few_places():
    index = Index(parse("tea\n"))
    for number in range(100):
        index.places(Term((f"w{number}",)))
    assert len(index._places) <= 64


# --- stems, and the languages that function words show ---


@together("language", ["english", "german", "french", "spanish"])
def test_the_language_of_ordinary_notes(language):
    found = [language_of(words_of(note)) for note in notes(language)]
    others = [each for each in found if each not in {language, "english"}]
    assert found.count(language) > len(found) * 0.7
    assert len(others) < len(found) * 0.1


@together("language", FUNCTION_WORDS)
def test_function_words_are_folded_words(language):
    assert [word for word in FUNCTION_WORDS[language] if words_of(word) != (word,)] == []


@together(
    ("one", "other", "language"),
    [("allergy", "allergies", "english"), ("haus", "hauser", "german"), ("facture", "factures", "french")],
)
def test_words_of_one_stem_begin_alike(one, other, language):
    assert stem(one, language) == stem(other, language)
    assert other.startswith(beginning(one))
    assert one.startswith(beginning(other))


# --- what comes first, and the piece of an entry that is shown -------------------------------------------------------


DAY = 700_000


def ranking(query: str, *texts: str, categories=None, days=None) -> list[str]:
    """The bodies that a query finds in some documents, the best first; ``days`` says how old an entry is by its body."""
    sources = [SearchSource(index, categories or index.counts) for index in (Index(parse(text)) for text in texts)]

    def body(match):
        return sources[match.source].index.document.entries[match.number].body

    found = [(match, DAY - (days or {}).get(body(match), 0)) for match in matches(parse_query(query), sources)]
    return [body(match) for match, _ in ranked(found, as_of=DAY)]


def entries(*bodies: str) -> str:
    return "\n§\n".join(bodies) + "\n"


@together(
    ("query", "first", "second"),
    [
        ("tea", "tea here now", "teapot here now"),
        ("tea", "tea and tea again", "tea and cup again"),
        ("tea", "tea", "tea and a lot of other things that are beside the point"),
        ("tea cup", "tea and cup", "tea and tea"),
        ("tea rare", "rare and some", "tea and some"),
        ('"tea cup"', "tea cup tea cup", "tea cup and other"),
        ("喜欢喝茶", "用户喜欢喝茶吗", "用户喜欢茶喝吗"),
    ],
)
def test_what_fits_better_comes_first(query, first, second):
    more = ["tea one", "tea two", "other", "cups"]
    for order in ([first, second], [second, first]):
        found = ranking(query, entries(*order, *more))
        assert found.index(first) < found.index(second)


def test_a_match_in_the_body_comes_before_one_in_the_name_of_the_category():
    assert ranking("tea", "## Tea\nabc\n\n## Cup\ntea\n") == ["tea", "abc"]


def test_a_day_in_the_future_is_today():
    text = entries("tea one", "tea two")
    assert ranking("tea", text, days={"tea two": -5000}) == ["tea two", "tea one"]


def test_of_equals_the_one_that_stands_first_comes_first():
    assert ranking("tea", entries("tea one", "tea two"), entries("tea six")) == ["tea one", "tea two", "tea six"]


# --- snippets ---


def marked(query: str, body: str, width: int = WIDTH) -> str:
    """The snippet, with what was looked for in brackets."""
    shown = snippet(body, parse_query(query), width)
    parts, done = [], 0
    for start, end in shown.hits:
        parts += [shown.text[done:start], "[", shown.text[start:end], "]"]
        done = end
    return "".join([*parts, shown.text[done:]])


@together(
    ("query", "body", "expected"),
    [
        ("tea", "Likes Tea, and tea.", "Likes [Tea], and [tea]."),
        ("tea", "Teapots, not steam", "[Teapots], not steam"),
        ("tea", "line\none\ttea", "line one [tea]"),
        ('"due date"', "the due\ndate is", "the [due date] is"),
        ("cafe", "Café", "[Café]"),
        ("hauptstrasse office", "Hauptstraße 5, Office", "[Hauptstraße] 5, [Office]"),
        ('"die strasse"', "Groß: die Straße.", "Groß: [die Straße]."),
        ("喜欢喝茶", "用户喜欢喝茶", "用户[喜欢喝茶]"),
        ("zebra", "nothing of it", "nothing of it"),
    ],
)
def test_a_short_body_is_shown_whole(query, body, expected):
    assert marked(query, body) == expected


@together(
    ("query", "expected"),
    [
        ("tea", "…word word [tea] word word word…"),
        ("first", "[first] word word word word word…"),
        ("last", "…word word word word word [last]"),
        ("none", "first word word word word word…"),
        ("cup pot", "…word word [cup] word word word…"),
    ],
)
def test_a_long_body_is_cut_between_words(query, expected):
    fill = " ".join(["word"] * 30)
    body = f"first {fill} tea {fill} cup {fill} cup word pot {fill} last"
    shown = marked(query, body, 34)
    assert shown == expected


@together("body", ["x" * 50_000, "茶" * 50_000, "x " * 50_000, "tea " * 50_000, "tea" + " " * 50_000 + "cup"])
def test_a_snippet_is_never_long(body):
    shown = snippet(body, parse_query('tea cup 茶 "tea cup"'))
    assert len(shown.text) <= WIDTH + 2
    assert all(0 <= start < end <= len(shown.text) for start, end in shown.hits)
