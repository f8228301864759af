from hypothesis import example, given
from hypothesis import strategies as st

from catmem.names import slugify
from tests.property.oracles import slug

titles = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.text("aB9_- ()\u0301\u030c\u0323\u0345İJͅΣẞﬁ²½ªåÅ\u200d\u0bcdக中\U0001d400", max_size=12),
)


@given(titles)
@example("J\u030c")  # no capital of its own is made of these two, but a small letter is
@example("İ\u0323")
def test_a_slug_is_its_own_slug(title):
    assert slugify(slugify(title)) == slugify(title)


@given(titles)
def test_a_plain_reading_of_the_rule_gives_the_same(title):
    assert slugify(title) == slug(title)
