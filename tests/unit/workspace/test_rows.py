"""Memory files as rows, and rows as memory files again."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from catmem.model.document import Document, parse
from catmem.store.table_rows import FoundRow
from catmem.syntax.scan import rescan
from catmem.workspace.rows import RowCodec
from tests.property.strategies import texts
from tests.together import together

USER = "trinity/user"
CODEC = RowCodec(parse, lambda _: 2)
TEXT = "## Work Rules\n[created: 2026-11-21, domain: [it, law]] one\n§\ntwo\n\n## Plans\nthree\n"


def found(rows):
    """Rows as a database gives them back."""
    return [FoundRow(number + 1, number, *row) for number, row in enumerate(rows)]


@together("data", [b"\xff", b"a\x00b"])
def test_what_no_row_can_show_has_none(data):
    assert list(CODEC.rows(USER, data)) == []
    assert [id_ for id_, _ in CODEC.edited(USER, data, found(CODEC.rows(USER, TEXT.encode()))).bad] == [1, 2, 3]


@given(texts())
def test_rows_that_nobody_changed_give_the_same_bytes(text):
    data = text.encode()
    edited = CODEC.edited(USER, data, found(CODEC.rows(USER, data)))
    assert (edited.data, list(edited.bad)) == (data, [])


@given(texts(), texts())
@example("one\n", "one\n\n## __uncategorized__\ntwo\n")
@example("one\n\n## __uncategorized__\ntwo\n", "one\n")
def test_a_change_of_rows_leads_from_the_one_document_to_the_other(before, after):
    old, new = list(CODEC.rows(USER, before.encode())), list(CODEC.rows(USER, after.encode()))
    changed = CODEC.changed(USER, before.encode(), after.encode())
    assert [*old[: changed.first], *changed.rows, *old[changed.first + len(changed.gone) :]] == new
    assert list(changed.gone) == list(old[changed.first : changed.first + len(changed.gone)])


@given(texts(), st.lists(st.tuples(texts(4), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=4))
def test_rows_of_an_edited_document_change_as_those_of_one_that_is_read(text, patches):
    document = parse(text)
    read: dict[bytes, Document] = {}
    codec = RowCodec(lambda data: read[data], lambda _: 2)
    for piece, one, other in patches:
        start, end = (round(place * len(document.text)) for place in sorted((one, other)))
        after = document.text[:start] + piece + document.text[end:]
        edited = Document(rescan(document.scan, after, start, end))
        old, new = document.to_bytes(), edited.to_bytes()
        read = {old: document, new: edited}
        changed, rows = codec.changed(USER, old, new), list(CODEC.rows(USER, old))
        assert [*rows[: changed.first], *changed.rows, *rows[changed.first + len(changed.gone) :]] == list(
            CODEC.rows(USER, new)
        )
        document = edited


@given(texts(), texts(), st.data())
def test_rows_in_the_place_of_others_are_all_in_the_document_or_named(before, after, data):
    rows = found(CODEC.rows(USER, before.encode()))
    new = [row._replace(id=1000 + row.id, mark=None) for row in found(CODEC.rows(USER, after.encode()))]
    mixed = data.draw(st.permutations([*rows, *new]))[: len(rows) + 2]
    edited = CODEC.edited(USER, before.encode(), mixed)
    bad = {id_ for id_, _ in edited.bad}
    says, wanted = (
        # Reading makes LF of CRLF once, and of a CR in front of it another CRLF: so newlines are unified to the end.
        sorted((row.category, re.sub(r"\r+\n", "\n", row.content).strip()) for row in some)
        for some in (CODEC.rows(USER, edited.data), [row for row in mixed if row.id not in bad])
    )
    if not bad:
        assert says == wanted


CHANGED = {
    "a text": (2, {"content": "new"}, "two", "new"),
    "a tag": (
        1,
        {"tags": '{"created": "2026-11-21"}'},
        "[created: 2026-11-21, domain: [it, law]]",
        "[created: 2026-11-21]",
    ),
    "the day": (2, {"created_at": "2026-01-02"}, "§\ntwo", "§\n[created: 2026-01-02] two"),
    "what is shown alone": (2, {"title": "Other", "tier": 1}, "", ""),
}


@together(("id_", "change", "old", "new"), CHANGED.values(), ids=CHANGED)
def test_a_change_of_a_row_changes_its_entry_alone(id_, change, old, new):
    rows = [row._replace(**change) if row.id == id_ else row for row in found(CODEC.rows(USER, TEXT.encode()))]
    edited = CODEC.edited(USER, TEXT.encode(), rows)
    assert (edited.data.decode(), list(edited.bad)) == (TEXT.replace(old, new), [])


def test_a_new_row_may_name_its_category_by_a_title():
    row = FoundRow(9, 10**18, "Big Plans", None, None, "four", "{}", "2026-03-04", None)
    edited = CODEC.edited(USER, TEXT.encode(), [*found(CODEC.rows(USER, TEXT.encode())), row])
    assert edited.data.decode() == TEXT + "\n## Big Plans\n[created: 2026-03-04] four\n"


BAD = {
    "no content": {"content": " "},
    "a NUL": {"content": "a\x00"},
    "bytes": {"content": b"\xff"},
    "a number": {"content": 5},
    "no category": {"category": "?!"},
    "tags that are no JSON": {"tags": "{"},
    "tags that are a list": {"tags": "[]"},
    "a tag that is a number": {"tags": '{"a": 1}'},
    "a tag with a name that no tag has": {"tags": '{"a b]": "c"}'},
}


@together("change", BAD.values(), ids=BAD)
def test_a_row_that_is_no_entry_is_named_and_leaves_the_entry_as_it_was(change):
    rows = found(CODEC.rows(USER, TEXT.encode()))
    edited = CODEC.edited(USER, TEXT.encode(), [rows[0], rows[1]._replace(**change), rows[2]])
    assert [id_ for id_, _ in edited.bad] == [2]
    assert edited.data == TEXT.encode()
