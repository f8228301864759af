"""Readers without the lock, while a writer appends, begins segments and erases."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.unit.store.journals import journal_in, put

SMALL = {"segment_records": 3}
WRITES = 240


def write(folder, finished):
    """Append, and now and then erase."""
    try:
        with journal_in(folder, **SMALL) as journal:
            for number in range(2, WRITES + 1):
                journal.refresh()
                journal.cut_tail()
                put(journal, b"- %d secret\n" % number * (number % 40 + 1))
                if number % 20 == 0:
                    journal.erase(lambda _, data: data.replace(b"secret", b"******"))
                    journal.refresh()
                    journal.cut_tail()
    finally:
        finished.set()


def is_of(data, revision):
    """Whether these are the bytes of a revision, before or after an erasure."""
    return data.split(b" ")[1] == revision.encode() and len({*data.splitlines()}) == 1


def read_heads(folder, finished):
    seen = 0
    with journal_in(folder) as journal:
        while not finished.is_set():
            journal.refresh()
            head, data = journal.head("USER.md"), journal.head_data("USER.md")
            assert head.sequence >= seen
            assert is_of(data, head.revision)
            assert [record.sequence for record in journal.latest(2)][-1] == head.sequence
            seen = head.sequence
        journal.refresh()
        return journal.last.sequence


def read_all(folder, finished):
    rounds = 0
    while not finished.is_set() or rounds == 0:
        with journal_in(folder) as journal:
            for record, data in journal.replay():
                assert is_of(data, record.revision)
        rounds += 1
    return rounds


@pytest.mark.parametrize("read", [read_heads, read_all])
def test_a_reader_sees_true_revisions_whatever_the_writer_does(tmp_path, read):
    finished = threading.Event()
    with journal_in(tmp_path, **SMALL) as journal:
        put(journal, b"- 1 secret\n")
    with ThreadPoolExecutor(2) as pool:
        reading, writing = pool.submit(read, tmp_path, finished), pool.submit(write, tmp_path, finished)
        writing.result()
        assert reading.result() >= 1
    with journal_in(tmp_path) as journal:
        assert journal.last.revision == str(WRITES)
        assert journal.verify() == []
