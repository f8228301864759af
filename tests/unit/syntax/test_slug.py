from catmem.names import UNCATEGORIZED, slugify
from tests.together import together


@together(
    ("title", "slug"),
    [
        ("Workflow Rules (Finance)", "workflow-rules-finance"),
        (UNCATEGORIZED, UNCATEGORIZED),
        ("  A -- b  ", "a-b"),
        ("-a-", "a"),
        ("a_b", "a_b"),
        ("_", "_"),
        ("!!!", ""),
        ("", ""),
        ("-", ""),
        ("Ünïcode", "ünïcode"),
        ("U\u0308nicode", "ünicode"),
        ("ＡＢＣ１", "abc1"),
        ("x²", "x2"),
        ("ﬁle", "file"),
        ("日本語 メモ", "日本語-メモ"),
        ("हिन्दी", "हिन्दी"),
        ("\u0301", ""),
        ("a \u0301b", "a-b"),
        ("a\u200db", "a-b"),
        ("🙂 mood", "mood"),
        ("½", "1-2"),
        ("ΟΔΟΣ", "οδος"),
        ("J\u030c", "\u01f0"),
        ("A/B\\C", "a-b-c"),
    ],
)
def test_the_slug_of_a_title(title, slug):
    assert slugify(title) == slug
    assert slugify(slug) == slug
