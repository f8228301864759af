"""What is fuzzed: each target takes any bytes, and raises only if catmem does what it must not."""

from __future__ import annotations

from pathlib import Path

import catmem
from catmem.errors import CatmemError, DamagedError, EditError, NotUtf8Error, TooLargeError
from catmem.store.files.records import MalformedError
from catmem.store.files.segments import Segment, segment_name


def parse(data: bytes) -> None:
    """Any bytes parse, or are no UTF-8; a document gives back its bytes, and its spans its text."""
    try:
        document = catmem.parse(data)
    except (NotUtf8Error, TooLargeError):
        return
    assert document.to_bytes() == data
    assert "".join(document.text[span.start : span.end] for span in document.spans) == document.text
    for entry in document.entries:
        assert entry.raw == document.text[entry.start : entry.end]
        assert isinstance(entry.tags, dict)
    list(document.problems)


def journal(data: bytes) -> None:
    """Any bytes are a segment whose every revision has the digest that its record names, or they are damaged."""
    try:
        segment = Segment.read(segment_name(1), Path("000000000001.log"), data)
        for record, content in segment.contents():
            assert len(content) == record.size
    except (DamagedError, MalformedError):
        return


def merge(data: bytes) -> None:
    """Three texts merge into one that parses, or there is an error; what is equal on both sides stays."""
    first, second = (data[index] if len(data) > index else 0 for index in (0, 1))
    rest = data[2:]
    versions = rest[:first], rest[first : first + second], rest[first + second :]
    try:
        merged = catmem.merge(*versions)
    except CatmemError as error:
        assert isinstance(error, EditError | NotUtf8Error | TooLargeError)
        return
    catmem.parse(merged.text)
    assert catmem.merge(versions[0], versions[1], versions[1]).text.encode() == versions[1]


TARGETS = {target.__name__: target for target in (parse, journal, merge)}
