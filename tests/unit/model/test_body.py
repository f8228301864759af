"""A body as HTML."""

from catmem.model.document import LIMIT, parse, to_html
from tests.together import together


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
    assert to_html(body).startswith("<pre>**a** &lt;b&gt;")


def test_an_entry_offers_it():
    entry = parse("[domain: x] Prefers **short** answers.").entries[0]
    assert entry.html == "<p>Prefers <strong>short</strong> answers.</p>\n"
