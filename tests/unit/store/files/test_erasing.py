"""What a folder keeps besides a file, and how it is erased from there."""

import pytest

from catmem.store.contract import Change
from tests.erasures import erasure_of
from tests.store.stores import named
from tests.unit.workspace.tree import holding

USER, MEMORY = "trinity/user", "trinity/memory"
SECRET = b"- secret\n"


def redact(data):
    return data.replace(SECRET, b"- [erased]\n")


@pytest.fixture
def home(tmp_path):
    return tmp_path / "trinity"


@pytest.fixture
def store(tmp_path):
    opened = named("files").make(tmp_path)
    for data in (b"- one\n", b"- one\n" + SECRET, b"- one\n- two\n"):
        opened.commit(USER, None, lambda _, data=data: data, Change())
    opened.commit(MEMORY, None, lambda _: b"- other\n", Change())
    yield opened
    opened.close()


@pytest.fixture
def side(store, home):
    return home / ".catmem"


def retired_with_it(side):
    (path,) = [path for path in (side / "gen").iterdir() if SECRET in path.read_bytes()]
    return path


def texts(store, kind):
    return {(each.own, each.data) for each in store.kept(USER) if each.kind == kind}


def test_history_and_retired_files_lose_it_and_nothing_else(store, home, side):
    before = [data for _, data in store.replay(USER)]
    retired = retired_with_it(side)
    erased = store.erase(USER, erasure_of(redact))
    assert erased == (1, (), (retired,), ())
    assert [data for _, data in store.replay(USER)] == [redact(data) for data in before]
    assert holding(home, b"secret") == []
    assert store.erase(USER, erasure_of(redact)) == (0, (), (), ())
    assert store.verify() == []


def test_what_is_kept_is_told_by_the_file_that_it_is_of(store, home, side):
    store.commit(MEMORY, None, lambda _: b"- more\n", Change())
    (home / "USER.md.bak.1").write_bytes(b"1")
    (home / "README").write_bytes(b"3")
    (side / "tmp" / "x").write_bytes(b"4")
    (side / "journal" / "x").write_bytes(b"5")
    assert texts(store, "left") == {
        (True, b"- one\n"), (True, b"- one\n" + SECRET), (False, b"- other\n"), (None, b"4")
    }  # fmt: skip
    assert texts(store, "backup") == {(True, b"1")}
    assert {data for _, data in texts(store, "stray")} == {b"- more\n", b"3", b"5"}


def test_a_damaged_line_keeps_nobody_from_seeing_the_others(store, side):
    (segment,) = (side / "journal").glob("*.log")
    data = segment.read_bytes().replace(b'"revision":"1"', b'"revision":"7"', 1)
    (side / "damaged-1").mkdir()
    (side / "damaged-1" / segment.name).write_bytes(data)
    found = [each for each in store.kept(USER) if each.kind == "journal"]
    assert [each.whole for each in found if not each.data] == [False]
    assert (True, SECRET) in {(each.own, each.data) for each in found}


def test_a_retired_file_of_another_file_goes_after_its_late_bytes_are_taken_in(store, home, side):
    with (home / "MEMORY.md").open("ab") as late:
        store.commit(MEMORY, None, lambda current: current.data + b"- three\n", Change())
        late.write(SECRET + b"- late\n")
    assert b"- late" not in store.peek(MEMORY)
    erased = store.erase(USER, erasure_of(redact))
    assert b"- late" in store.peek(MEMORY)
    assert erased.left == ()
    assert not [path for path in (side / "gen").iterdir() if SECRET in path.read_bytes()]
