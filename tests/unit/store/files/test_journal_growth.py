"""Opening, appending and finding cost the same however long the journal is."""

from tests.unit.store.journals import Counting, journal_in, put

# Both end at the same place of a segment of 256.
SHORT, LONG = 256 + 44, 39 * 256 + 44


def calls_by_work(folder, records):
    """How many calls to the system each kind of work takes on a journal of so many records."""
    with journal_in(folder) as journal:
        for number in range(records):
            put(journal, b"- %d\n" % number)
    system = Counting()
    with journal_in(folder, system) as journal:
        works = {
            "open": journal.refresh,
            "first append": lambda: put(journal, b"first"),
            "append": lambda: put(journal, b"second"),
            "refresh": journal.refresh,
            "head": lambda: journal.head_data("USER.md"),
            "latest": lambda: journal.latest(64),
            "operation": lambda: journal.operation("neo", "never"),
            "find": lambda: journal.find("USER.md", "10"),
            "the records of a file without any": lambda: list(journal.records_of("MEMORY.md")),
        }
        calls = {}
        for name, work in works.items():
            system.calls.clear()
            work()
            calls[name] = system.calls.total()
        return calls


def test_the_calls_to_the_system_do_not_grow_with_the_journal(tmp_path):
    short = calls_by_work(tmp_path / "short", SHORT)
    long = calls_by_work(tmp_path / "long", LONG)
    # Finding halves its way through the segments: four calls for each of log2(40) that it reads.
    assert long.pop("find") <= short.pop("find") + 4 * 6
    assert long == short
    assert long["append"] <= 8
    assert long["refresh"] == 2
