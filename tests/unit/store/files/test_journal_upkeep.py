"""Erasing from a journal."""

import json
import zlib
from base64 import b64decode

import pytest

from catmem.store.files.segments import walk
from tests.unit.store.journals import Failing, journal_in, put, segments

SMALL = {"segment_records": 4}
SECRET = b"hunter2-sk-live-0042"


def everything_in(folder):
    """All bytes that the folder holds, packed ones unpacked."""
    for path in folder.iterdir():
        data = path.read_bytes()
        yield data
        for line in walk(data).lines:
            yield from texts_in(json.loads(line.payload))


def texts_in(value):
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)
    elif isinstance(value, str):
        yield value.encode()
        try:
            data = b64decode(value, validate=True)
            yield data
            yield zlib.decompress(data)
        except (ValueError, zlib.error):
            pass


def redact(_, data):
    return data.replace(SECRET, b"[erased]")


def with_secrets(folder):
    """A journal whose revisions 3 to 9 of USER.md hold the secret, in segments of 4; the texts of the revisions."""
    texts = []
    with journal_in(folder, **SMALL) as journal:
        for number in range(1, 15):
            secret = b"- key: %b\n" % SECRET if 3 <= number <= 9 else b""
            texts.append(b"- line that stays\n" * 50 + secret + b"- %d\n" % number)
            put(journal, texts[-1], note={"why": "because"})
            if number % 5 == 0:
                put(journal, b"- memory %d\n" % number, "MEMORY.md")
    return texts


def test_what_is_erased_is_nowhere_and_all_else_is_as_it_was(tmp_path):
    texts = with_secrets(tmp_path)
    newest = segments(tmp_path)[-1]
    newest.write_bytes(newest.read_bytes() + b"\x1e0000 " + SECRET)
    (tmp_path / "000000000099.log.new").write_bytes(SECRET)
    with journal_in(tmp_path, **SMALL) as journal:
        journal.refresh()
        journal.cut_tail()
        before = list(journal.records())
        assert journal.erase(redact) == 7
        assert not any(SECRET in data for data in everything_in(tmp_path))
        after = list(journal.replay())
        assert [data for record, data in after if record.file == "USER.md"] == [redact("", text) for text in texts]
        assert [record.link for record, _ in after] == [record.line for record in before]
        assert [record.origin for record, _ in after] == [record.head for record in before]
        assert journal.verify() == []
        added = put(journal, b"goes on")
        assert added.sequence == len(before) + 1
        assert (journal.head_data(added.file), journal.verify()) == (b"goes on", [])


@pytest.mark.parametrize("skip", range(3))
@pytest.mark.parametrize("call", ["write_at", "fsync", "rename"])
def test_an_erasure_that_was_stopped_leaves_a_good_journal_and_is_finished_by_the_next(tmp_path, call, skip):
    texts = with_secrets(tmp_path)
    system = Failing()
    with journal_in(tmp_path, system, **SMALL) as journal:
        journal.refresh()
        system.fails, system.skip = call, skip
        with pytest.raises(OSError, match="No space"):
            journal.erase(redact)
    with journal_in(tmp_path, **SMALL) as journal:
        assert [fault.code for fault in journal.verify() if fault.damage] == []
        assert len(list(journal.replay())) == len(texts) + 2
        journal.erase(redact)
        assert not any(SECRET in data for data in everything_in(tmp_path))
        assert [data for r, data in journal.replay() if r.file == "USER.md"] == [redact("", text) for text in texts]
        assert journal.verify() == []
