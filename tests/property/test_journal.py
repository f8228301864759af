"""A journal against a list: whatever is written, in whatever segments, is read back byte for byte."""

import random
import tempfile
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from catmem.errors import DamagedError
from catmem.store.changes import change, splice
from catmem.store.files.segments import walk
from tests.unit.store.journals import journal_in, put, segments

FILES = ("MEMORY.md", "USER.md")
pieces = st.one_of(
    st.binary(max_size=40), st.sampled_from([b"\n", b"\xc2\xa7\n", b"- entry\n", b"\x1e\x00", b"a" * 3_000])
)
edits = st.tuples(st.sampled_from(FILES), st.floats(0, 1), st.floats(0, 1), pieces)
limits = st.fixed_dictionaries({"segment_records": st.integers(1, 7), "segment_bytes": st.integers(1, 4_000)})


@contextmanager
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def edited(data, start, end, piece):
    """The bytes with a part of them, given by two numbers from 0 to 1, replaced."""
    first, last = sorted((int(start * len(data)), int(end * len(data))))
    return data[:first] + piece + data[last:]


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_a_change_makes_the_new_bytes_of_the_old_ones(old, new):
    assert splice(old, new).apply(old) == new
    found = change(old, new)
    assert found.apply(old) == new


@given(st.binary(max_size=60), st.floats(0, 1), st.floats(0, 1), st.binary(max_size=9))
def test_a_splice_is_no_longer_than_the_edit(old, start, end, piece):
    new = edited(old, start, end, piece)
    found = splice(old, new)
    assert len(found.inserted) <= len(piece)
    assert found.apply(old) == new


@given(st.lists(edits, max_size=25), limits, st.randoms(use_true_random=False))
def test_what_is_written_is_replayed_byte_for_byte(changes, small, rng):
    """Now and then the journal is closed and opened, or read by another one that follows it."""
    written, now = [], dict.fromkeys(FILES, b"")
    with folder() as path, journal_in(path, **small) as journal, journal_in(path) as follower:
        for file, start, end, piece in changes:
            now[file] = edited(now[file], start, end, piece)
            written.append((put(journal, now[file], file), now[file]))
            what = rng.random()
            if what < 0.2:
                journal.close()
            elif what < 0.5:
                follower.refresh()
                assert {name: follower.head_data(name) for name in FILES} == now
        follower.refresh()
        for each in (journal, follower):
            assert list(each.replay()) == written
            assert [(record, each.data(record)) for record in each.records()] == written
            assert [(each.find(record.file, record.revision), data) for record, data in written] == written
            for name in FILES:
                own = [record for record, _ in reversed(written) if record.owner == name]
                assert list(each.records_of(name)) == own
            assert {name: each.head_data(name) for name in FILES} == now
            assert each.verify() == []


@given(st.lists(edits, min_size=1, max_size=12), limits, st.randoms(use_true_random=False))
def test_damage_is_refused_or_costs_the_end_and_never_makes_other_bytes(changes, small, rng):
    """A head is refused only where the segment that has it is damaged, or the newest one, of which all are read."""
    now = dict.fromkeys(FILES, (0, b""))
    written = [now]
    with folder() as path:
        with journal_in(path, **small) as journal:
            for file, start, end, piece in changes:
                data = edited(now[file][1], start, end, piece)
                now = {**now, file: (put(journal, data, file).sequence, data)}
                written.append(now)
        before = {each: each.read_bytes() for each in segments(path)}
        for _ in range(rng.randrange(1, 4)):
            damage(rng.choice(segments(path)), rng)
        damaged = {each for each, data in before.items() if each.read_bytes() != data}
        with journal_in(path) as journal:
            try:
                journal.refresh()
                journal.cut_tail()
            except DamagedError:
                assert segments(path)[-1] in damaged
                return
            last = last_sequence(segments(path)[-1])
            reads = [(last, last, lambda: journal.last.sequence if journal.last else 0)]
            for file, (sequence, data) in written[last].items():
                reads.append((sequence, data, lambda file=file: journal.head_data(file)))
            for sequence, expected, read in reads:
                try:
                    assert read() == expected
                except DamagedError:
                    assert holder(path, sequence) in damaged


def last_sequence(segment: Path) -> int:
    """The sequence of the last record of a segment that is whole, by its name and its lines."""
    return int(segment.stem) + len(walk(segment.read_bytes()).lines) - 2


def holder(folder: Path, sequence: int) -> Path:
    """The segment that has a record, by its name."""
    return max(each for each in segments(folder) if int(each.stem) <= sequence)


def damage(path: Path, rng: random.Random) -> None:
    """Cut a file, flip a bit of it, or write over a part with zeros, with another part, or with noise."""
    data = bytearray(path.read_bytes())
    place, other = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
    size = rng.choice([1, 20, 400])
    how = rng.randrange(5)
    if how == 0:
        del data[place:]
    elif how == 1 and place < len(data):
        data[place] ^= 1 << rng.randrange(8)
    elif how == 2:
        data[place : place + size] = bytes(len(data[place : place + size]))
    elif how == 3:
        data[place : place + size] = data[other : other + size]
    else:
        data[place:place] = rng.randbytes(size)
    path.write_bytes(data)


@given(st.lists(edits, min_size=1, max_size=15), limits, st.binary(min_size=1, max_size=3))
def test_after_an_erasure_every_revision_is_the_redacted_one(changes, small, secret):
    now, texts = dict.fromkeys(FILES, b""), []
    with folder() as path, journal_in(path, **small) as journal:
        for file, start, end, piece in changes:
            now[file] = edited(now[file], start, end, piece)
            texts.append(now[file])
            put(journal, now[file], file)
        changed = journal.erase(lambda _, data: data.replace(secret, b""))
        assert changed == sum(secret in text for text in texts)
        assert [data for _, data in journal.replay()] == [text.replace(secret, b"") for text in texts]
        assert journal.verify() == []
