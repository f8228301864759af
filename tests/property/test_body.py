"""Whatever a body holds, its HTML has no element of the body's own."""

import re

from hypothesis import given
from hypothesis import strategies as st

from catmem.model.document import to_html


@given(st.text(alphabet="<>&\"'`*_[]()!#-\n :/abjst", max_size=200))
def test_html_holds_no_element_of_the_bodys_own(body):
    allowed = r"</?(?:p|strong|em|code|pre|ul|ol|li|blockquote|h[1-6]|br|hr|a|del)(?: (?:href|title|class|start)=\"[^\"<>]*\")* ?/?>"
    assert "<" not in re.sub(allowed, "", to_html(body))
