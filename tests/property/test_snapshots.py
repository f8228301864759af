"""What a snapshot says of an entity is what it becomes, whatever it is by then."""

import json

from hypothesis import given

from catmem.model.document import parse
from catmem.workspace.exporting import edited_by
from catmem.workspace.rows import RowCodec
from tests.property.strategies import texts

CODEC = RowCodec(parse)


def shown(data):
    """Rows by category: the order of categories is the document's own."""
    found: dict[str, list[tuple[str, str, str | None]]] = {}
    for row in CODEC.rows("neo/user", data):
        found.setdefault(row.category, []).append((row.content, row.tags, row.created_at))
    return found


# A lone CR at the end of a line is no part of a row's text, and a NUL has no rows at all.
legible = texts().map(lambda text: text.replace("\r", "").replace("\x00", ""))


@given(legible, legible)
def test_bytes_become_what_the_rows_of_others_say(was, now):
    rows = [{**row._asdict(), "tags": json.loads(row.tags)} for row in CODEC.rows("neo/user", was.encode())]
    edited = edited_by(CODEC, "neo/user", now.encode(), rows)
    assert edited.bad == []
    assert shown(edited.data) == shown(was.encode())
    assert edited_by(CODEC, "neo/user", edited.data, rows).data == edited.data
