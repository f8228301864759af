"""What a journal does about lines cut short, flipped bits, records that were moved, and hostile files."""

import os
import re
from hashlib import sha256

import pytest

from catmem.errors import DamagedError
from catmem.store.files import segments as segments_module
from catmem.store.files.segments import frame, walk
from tests.unit.store.journals import draft, fill, journal_in, put, segments

SMALL = {"segment_records": 4}


def lines_of(path):
    data = path.read_bytes()
    return [data[line.start : line.end] for line in walk(data).lines]


def codes(path):
    with journal_in(path) as journal:
        return [fault.code for fault in journal.verify()]


def head_after_repair(path):
    """The last sequence and the bytes of the file; ``None`` where the damage is refused."""
    with journal_in(path) as journal:
        try:
            journal.refresh()
            journal.cut_tail()
            return journal.last.sequence if journal.last else 0, journal.head_data("USER.md")
        except DamagedError:
            return None


@pytest.fixture
def written(tmp_path):
    """A journal of two segments, the bytes of each revision, and the folder."""
    with journal_in(tmp_path, **SMALL) as journal:
        return tmp_path, [b"", *fill(journal, 6)]


def test_cut_at_every_byte_the_head_is_the_last_whole_record(written):
    folder, texts = written
    newest = segments(folder)[-1]
    data = newest.read_bytes()
    header, *ends = [line.end for line in walk(data).lines]
    for size in range(len(data)):
        newest.write_bytes(data[:size])
        found = head_after_repair(folder)
        if size < header:
            assert found is None
        else:
            sequence = 4 + sum(end <= size for end in ends)
            assert found == (sequence, texts[sequence])
            assert newest.read_bytes() == data[: max(end for end in (header, *ends) if end <= size)]


def test_a_flipped_bit_never_makes_a_wrong_head(written):
    folder, texts = written
    newest = segments(folder)[-1]
    data = newest.read_bytes()
    outcomes = set()
    for place in range(len(data)):
        bad = bytearray(data)
        bad[place] ^= 1 << place % 8
        newest.write_bytes(bad)
        found = head_after_repair(folder)
        outcomes.add(found and found[0])
        assert found is None or found[1] == texts[found[0]]
    assert outcomes == {None, 5}


def test_a_segment_whose_only_record_is_cut_off_is_written_to_again(tmp_path):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 5)
    newest = segments(tmp_path)[-1]
    newest.write_bytes(newest.read_bytes()[:-1])
    with journal_in(tmp_path, **SMALL) as journal:
        journal.refresh()
        journal.cut_tail()
        assert journal.last.sequence == 4
        assert [record.sequence for record in journal.latest(9)] == [1, 2, 3, 4]
        for number in range(5, 12):
            journal.refresh()
            assert put(journal, b"again").sequence == number
    assert codes(tmp_path) == []


@pytest.mark.parametrize("line", [0, 1])
def test_damage_before_a_good_record_is_refused_by_reader_and_writer(written, line):
    folder, _ = written
    newest = segments(folder)[-1]
    lines = lines_of(newest)
    lines[line] = lines[line].replace(b"USER.md", b"USER.mf")
    newest.write_bytes(b"".join(lines))
    assert head_after_repair(folder) is None
    assert codes(folder) == ["journal_damaged"]
    with journal_in(folder) as journal:
        for call in (journal.refresh, lambda: journal.last, lambda: journal.append(draft(7), b"x")):
            with pytest.raises(DamagedError) as caught:
                call()
            error = caught.value
            assert (error.code, error.exit_status, error.path) == ("damaged", 4, str(newest))
            assert "catmem fsck" in str(error.hint)


MOVED = {
    "swapped": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "doubled": lambda lines: [*lines[:2], lines[1], *lines[2:]],
    "left out": lambda lines: [*lines[:2], *lines[3:]],
    "first left out": lambda lines: [lines[0], *lines[2:]],
    "header within": lambda lines: [*lines[:2], lines[0], *lines[2:]],
    "junk between": lambda lines: [*lines[:2], b"junk", *lines[2:]],
    "zeros between": lambda lines: [*lines[:2], bytes(40), *lines[2:]],
    "no header": lambda lines: lines[1:],
    "forged": lambda lines: [*lines[:2], forged(lines[2]), *lines[3:]],
    "forged without its chain": lambda lines: [*lines[:2], forged(lines[2], b"trinity", b"nobody!"), *lines[3:]],
}


def forged(line, old=b'"op":"put"', new=b'"op":"pot"'):
    """The line with other words and a CRC that fits."""
    return frame(line[19:-1].replace(old, new), "")


@pytest.mark.parametrize("how", sorted(MOVED))
@pytest.mark.parametrize("which", [0, 1], ids=["older", "newest"])
def test_records_that_were_moved_or_forged_are_found(tmp_path, how, which):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 8)
    path = segments(tmp_path)[which]
    path.write_bytes(b"".join(MOVED[how](lines_of(path))))
    assert codes(tmp_path) == ["journal_damaged"]


def test_a_forged_record_at_the_end_of_an_older_segment_breaks_the_chain_to_the_next(tmp_path):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 8)
    oldest = segments(tmp_path)[0]
    *lines, last = lines_of(oldest)
    oldest.write_bytes(b"".join([*lines, forged(last)]))
    assert codes(tmp_path) == ["journal_damaged"]
    with journal_in(tmp_path) as journal:
        for newest_first in (False, True):
            with pytest.raises(DamagedError, match="does not follow"):
                list(journal.records(newest_first=newest_first))


@pytest.mark.parametrize("number", [0, 1, -2])
def test_a_journal_without_a_segment_has_a_gap_and_is_not_rewritten(tmp_path, number):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 14)
        first = int(segments(tmp_path)[number].stem)
        lost = next(each for each in journal.records() if each.sequence == first)
    segments(tmp_path)[number].unlink()
    assert codes(tmp_path) == ["journal_damaged"]
    kept = [each.read_bytes() for each in segments(tmp_path)]
    with journal_in(tmp_path) as journal:
        uses = (
            lambda: journal.data(lost),
            lambda: journal.erase(lambda _, data: data.upper()),
            lambda: list(journal.replay()),
            lambda: list(journal.records()),
            lambda: list(journal.records(newest_first=True)),
        )
        for use in uses:
            with pytest.raises(DamagedError):
                use()
    assert [each.read_bytes() for each in segments(tmp_path)] == kept
    with journal_in(tmp_path) as journal, pytest.raises(DamagedError):
        journal.find(lost.file, lost.revision)


DAMAGE = {
    "another chain": lambda path: path.write_bytes(b"".join([*lines_of(path)[:-1], forged(lines_of(path)[-1])])),
    "torn": lambda path: path.write_bytes(path.read_bytes() + b"torn"),
}


@pytest.mark.parametrize(("how", "number"), [("another chain", 1), ("torn", 1), ("torn", -1)])
def test_an_erasure_refuses_a_damaged_segment_before_it_rewrites_any(tmp_path, number, how):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 18)
    DAMAGE[how](segments(tmp_path)[number])
    before = [each.read_bytes() for each in segments(tmp_path)]
    with journal_in(tmp_path) as journal, pytest.raises(DamagedError):
        journal.erase(lambda _, data: data.upper())
    assert [each.read_bytes() for each in segments(tmp_path)] == before


def rechained(lines, change):
    """The lines of a first segment with each payload changed, and with CRCs and a chain that fit again."""
    made, previous = [], None
    for number, line in enumerate(lines):
        payload = change(number, line[19:-1])
        if previous:
            start = payload.index(b'"previous":"') + 12
            payload = payload[:start] + previous + payload[start + 64 :]
        made.append(frame(payload, ""))
        previous = sha256(made[-1]).hexdigest().encode()
    return b"".join(made)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (rb'"revision":"2"', b'"revision":"3"'),
        (rb'"revision":"2"', b'"revision":"0"'),
        (rb'"splice":\[', b'"splice":[1'),
        (rb'"size":', b'"size":1'),
        (rb'"head":"sha256:\w+', b'"head":"sha256:' + b"0" * 64),
    ],
)
def test_a_record_that_its_chain_vouches_for_is_checked_all_the_same(tmp_path, old, new):
    with journal_in(tmp_path) as journal:
        fill(journal, 2)
    (path,) = segments(tmp_path)
    path.write_bytes(rechained(lines_of(path), lambda n, payload: re.sub(old, new, payload) if n == 2 else payload))
    assert codes(tmp_path) == ["journal_damaged"]


@pytest.mark.parametrize(
    ("old", "new"), [(rb'\[1,"1"\]', b'[1,"0"]'), (rb'\[1,"1"\]', b'[2,"1"]'), (rb'"REST.md"', b'"LOST.md"')]
)
def test_a_header_that_its_chain_vouches_for_is_checked_all_the_same(tmp_path, old, new):
    with journal_in(tmp_path, **SMALL) as journal:
        put(journal, b"resting", "REST.md")
        fill(journal, 5)
    path = segments(tmp_path)[1]
    path.write_bytes(rechained(lines_of(path), lambda n, payload: payload if n else re.sub(old, new, payload, count=1)))
    assert codes(tmp_path) == ["journal_damaged"]


def test_leftovers_are_told_and_are_no_damage(written):
    folder, _ = written
    (folder / "000000000009.log.new").write_bytes(b"never finished")
    (folder / "notes.txt").write_bytes(b"a stranger")
    with journal_in(folder, **SMALL) as journal:
        faults = journal.verify()
        assert [(fault.code, fault.damage) for fault in faults] == [("journal_leftover", False)]
        fill(journal, 8, "MEMORY.md")
    assert not (folder / "000000000009.log.new").exists()
    assert (folder / "notes.txt").read_bytes() == b"a stranger"


def test_a_segment_over_the_limit_is_refused_unread(written, monkeypatch):
    folder, _ = written
    monkeypatch.setattr(segments_module, "MAX_SEGMENT", 100)
    assert head_after_repair(folder) is None
    assert codes(folder) == ["journal_damaged", "journal_damaged"]


def test_what_is_no_regular_file_is_refused_and_waits_for_nobody(tmp_path):
    os.mkfifo(tmp_path / "000000000001.log")
    assert head_after_repair(tmp_path) is None
    assert codes(tmp_path) == ["journal_damaged"]


def test_a_record_that_its_writer_took_back_is_forgotten(written):
    folder, _ = written
    newest = segments(folder)[-1]
    before = newest.read_bytes()
    with journal_in(folder) as reader, journal_in(folder) as writer:
        put(writer, b"taken back")
        reader.refresh()
        assert reader.head_data("USER.md") == b"taken back"
        newest.write_bytes(before)
        writer.refresh()
        put(writer, b"instead, and somewhat longer than what was taken back")
        reader.refresh()
        assert reader.head_data("USER.md") == b"instead, and somewhat longer than what was taken back"


def test_a_history_of_another_catmem_is_named_as_that(written):
    folder, _ = written
    first = segments(folder)[0]
    header, *_ = walk(first.read_bytes()).lines
    older = header.payload.replace(b'"version":2', b'"version":1')
    assert older != header.payload
    first.write_bytes(frame(older, "header"))
    with journal_in(folder) as journal, pytest.raises(DamagedError, match="another catmem wrote this history") as found:
        journal.find("USER.md", "1")
    assert "The memory files are whole" in found.value.message
    assert "puts the history aside with its branches, proposals and old revisions" in found.value.message
