"""The audit log as files: whole lines, older files, and what may not stand in its place."""

import os
import signal
import stat
import subprocess
import sys
from contextlib import closing

import pytest

from catmem.store.audit_log import AuditLine, AuditLog, AuditReader, Damage
from tests.together import together

LINE = AuditLine("2026-11-21T12:00:00.000000Z", "neo/user", "put", "neo", "7", "8", "ok", None, 8, 0.25)

APPENDING = """
import sys
from pathlib import Path
from catmem.store.audit_log import AuditLog
from catmem.store.audit_log import AuditLine

folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
log = AuditLog(folder, most_bytes=20_000, most_files=1_000)
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    log.append(AuditLine("2026-11-21T12:00:00.000000Z", f"{name}/user", "put", name, None, str(number), "ok", None, None))
"""

FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from catmem.store.audit_log import AuditLog
from catmem.store.audit_log import AuditLine

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = AuditLog(Path(sys.argv[1]))
line = AuditLine("2026-11-21T12:00:00.000000Z", "neo/user", "put", "neo", None, "1", "ok", None, 1)
log.append(line)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
try:
    log.append(line)
except OSError as error:
    print(type(error).__name__)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.append(line)
"""


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def read(log):
    with closing(AuditReader(log)) as reader:
        return list(reader.poll())


@pytest.fixture
def log(tmp_path):
    return AuditLog(tmp_path / ".catmem")


def test_the_folder_and_the_file_are_for_their_owner_alone(log):
    previous = os.umask(0)
    try:
        log.append(LINE)
    finally:
        os.umask(previous)
    assert (mode(log.folder), mode(log.folder / "audit.jsonl")) == (0o700, 0o600)


@pytest.mark.parametrize("name", ["\x1b[31mred\nnew line", "\ud800", "Ünïcode", '"quoted"', ""])
def test_any_name_stays_on_one_line_in_ascii(log, name):
    line = LINE._replace(entity_id=name, agent=name)
    log.append(line)
    data = (log.folder / "audit.jsonl").read_bytes()
    assert data.count(b"\n") == 1
    assert data.isascii()
    assert read(log) == [line]


@together(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"\xff",
        b"[" * 100_000,
        LINE._replace(ts=7).to_json(),
        LINE._replace(head_rev="8").to_json(),
        LINE._replace(head_rev=True).to_json(),
        LINE._replace(seconds=True).to_json(),
        LINE._replace(seconds="1").to_json(),
    ],
)
def test_what_is_no_line_is_damage(data):
    assert AuditLine.from_json(data) is None


def test_a_line_that_is_still_being_written_is_not_given_yet(log):
    log.append(LINE)
    data = LINE.to_json()
    with closing(AuditReader(log)) as reader, (log.folder / "audit.jsonl").open("ab", buffering=0) as file:
        file.write(data[:40])
        assert list(reader.poll()) == [LINE]
        file.write(data[40:])
        assert list(reader.poll()) == [LINE]
        assert list(reader.poll()) == []


def test_a_full_disk_leaves_no_half_line(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "OSError\n"
    assert [line.mem_rev for line in read(AuditLog(tmp_path))] == ["1", "1"]


# --- older files ------------------------------------------------------------------------------------------------


def numbered(count):
    return [LINE._replace(mem_rev=str(number)) for number in range(count)]


def test_a_large_file_becomes_an_older_one_and_a_reader_gives_each_line_once(tmp_path):
    log = AuditLog(tmp_path, most_bytes=1_000, most_files=100)
    found = []
    with closing(AuditReader(log)) as reader:
        for number, line in enumerate(numbered(100)):
            log.append(line)
            if number % 37 == 0:
                found += reader.poll()
        found += reader.poll()
    assert found == numbered(100)
    assert read(log) == numbered(100)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"audit.jsonl", "audit.1.jsonl", "audit.2.jsonl"} < names
    assert all(path.stat().st_size < 2_000 for path in tmp_path.iterdir())


def test_there_are_never_more_files_than_allowed_and_the_newest_lines_stay(tmp_path):
    log = AuditLog(tmp_path, most_bytes=1_000, most_files=3)
    for line in numbered(200):
        log.append(line)
        assert len(list(tmp_path.iterdir())) <= 3
    kept = read(log)
    assert kept == numbered(200)[-len(kept) :]
    assert len(kept) > 10


def test_the_log_goes_on_where_somebody_was_stopped_between_two_files(tmp_path):
    log = AuditLog(tmp_path)
    log.append(LINE)
    (tmp_path / "audit.jsonl").rename(tmp_path / "audit.1.jsonl")
    assert read(log) == [LINE]
    log.append(LINE)
    assert read(log) == [LINE, LINE]


# --- several at once ----------------------------------------------------------------------------------------------


def test_several_processes_tear_and_lose_no_line_while_files_are_begun_and_read(tmp_path):
    names, count = ["a", "b", "c", "d"], 300
    log = AuditLog(tmp_path)
    found = []
    command = [sys.executable, "-c", APPENDING, str(tmp_path)]
    writers = [
        subprocess.Popen([*command, name, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for name in names
    ]
    with closing(AuditReader(log)) as reader:
        for writer in writers:
            assert writer.stdout.readline() == b"ready\n"
        for writer in writers:
            writer.stdin.write(b"go\n")
            writer.stdin.flush()
        while any(writer.poll() is None for writer in writers):
            found += reader.poll()
        found += reader.poll()
    for writer in writers:
        assert writer.wait() == 0
        writer.stdin.close()
        writer.stdout.close()
    assert len(list(tmp_path.iterdir())) > 3
    assert not [each for each in found if isinstance(each, Damage)]
    for name in names:
        assert [line.mem_rev for line in found if line.agent == name] == [str(number) for number in range(count)]
    assert read(log) == found


def test_a_process_that_keeps_the_lock_makes_nobody_wait_for_ever(tmp_path):
    log = AuditLog(tmp_path)
    log.append(LINE)
    keeping = (
        "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('kept', flush=True); sys.stdin.read()"
    )
    keeper = subprocess.Popen(
        [sys.executable, "-c", keeping, tmp_path / "audit.jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert keeper.stdout.readline() == b"kept\n"
    with pytest.raises(BlockingIOError):
        log.append(LINE)
    keeper.send_signal(signal.SIGKILL)
    keeper.communicate()
    log.append(LINE)
    assert read(log) == [LINE, LINE]


# --- what may not stand in its place -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path, elsewhere: path.symlink_to(elsewhere), id="a link"),
        pytest.param(lambda path, elsewhere: path.hardlink_to(elsewhere), id="a hard link"),
        pytest.param(lambda path, _: os.mkfifo(path), id="a pipe"),
        pytest.param(lambda path, _: path.mkdir(), id="a folder"),
    ],
)
def test_what_is_no_plain_file_is_neither_written_nor_waited_for(tmp_path, make):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"mine\n")
    folder = tmp_path / ".catmem"
    folder.mkdir()
    make(folder / "audit.jsonl", elsewhere)
    with pytest.raises(OSError, match=r".") as refused:
        AuditLog(folder).append(LINE)
    assert not isinstance(refused.value, BlockingIOError)
    assert elsewhere.read_bytes() == b"mine\n"


# --- beginning at the end ------------------------------------------------------------------------------------------


def test_a_reader_may_begin_behind_the_lines_that_there_are(tmp_path):
    log = AuditLog(tmp_path, most_bytes=1_000, most_files=100)
    for line in numbered(40):
        log.append(line)
    half = LINE.to_json()
    with closing(AuditReader(log)) as reader, (tmp_path / "audit.jsonl").open("ab", buffering=0) as file:
        file.write(b"{}\n" + half[:40])
        reader.skip()
        assert list(reader.poll()) == []
        file.write(half[40:])
        for line in numbered(60)[40:]:
            log.append(line)
        assert list(reader.poll()) == [LINE, *numbered(60)[40:]]
