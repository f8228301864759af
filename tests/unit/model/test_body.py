"""A body as plain text and as HTML."""

from catmem.model.document import LIMIT, parse, plain_text, to_html
from tests.together import together


@together(
    ("body", "words"),
    [
        ("Prefers **short** answers.", "Prefers short answers."),
        ("see [the docs](https://example.org/x) and `make test`", "see the docs and make test"),
        ("- one\n- two *three*", "one\ntwo three"),
        ("first\nsecond\n\nthird", "first\nsecond\nthird"),
        ("```sh\nmake deploy\n```\nafter", "make deploy\nafter"),
        ("![a chart](https://example.org/c.png)", "a chart"),
        ("### A heading\ntext", "A heading\ntext"),
        ("> quoted", "quoted"),
        ("5 < 6 & 7", "5 < 6 & 7"),
        ("沟通 **风格**", "沟通 风格"),
    ],
)
def test_plain_text(body, words):
    assert plain_text(body) == words


@together(
    ("body", "html"),
    [
        ("Prefers **short** answers.", "<p>Prefers <strong>short</strong> answers.</p>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("![a <b>](https://example.org/x.png)", "<p><em>a &lt;b&gt;</em></p>\n"),
        ("[x](javascript:alert)", '<p><a href="#harmful-link">x</a></p>\n'),
    ],
)
def test_html(body, html):
    assert to_html(body) == html


def test_what_is_too_long_is_not_parsed():
    body = "**a** <b> " * (LIMIT // 10 + 1)
    assert plain_text(body) == body
    assert to_html(body).startswith("<pre>**a** &lt;b&gt;")


def test_an_entry_offers_both():
    entry = parse("[domain: x] Prefers **short** answers.").entries[0]
    assert (entry.plain_text, entry.html) == (
        "Prefers short answers.",
        "<p>Prefers <strong>short</strong> answers.</p>\n",
    )
