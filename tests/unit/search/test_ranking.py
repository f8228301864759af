"""What comes first, and the piece of an entry that is shown."""

from catmem.model.document import parse
from catmem.search.index import WIDTH, Index, SearchSource, matches, ranked, snippet
from catmem.search.query import parse_query
from tests.together import together

DAY = 700_000


def ranking(query: str, *texts: str, categories=None, days=None) -> list[str]:
    """The bodies that a query finds in some documents, the best first; ``days`` says how old an entry is by its body."""
    sources = [SearchSource(index, categories or index.counts) for index in (Index(parse(text)) for text in texts)]

    def body(match):
        return sources[match.source].index.facts(match.piece).entry.body

    found = [(match, DAY - (days or {}).get(body(match), 0)) for match in matches(parse_query(query), sources)]
    return [body(match) for match, _ in ranked(found, as_of=DAY, recency_days=30)]


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
