"""The guarded way to the files of Hermes Agent's store, without Hermes Agent."""

import fcntl
import os

import pytest

from catmem.errors import BusyError, ConfigError
from catmem.plugins.hermes import memory_store
from catmem.plugins.hermes.memory_store import GuardedFiles, MemoryStore, use_catmem_store


@pytest.fixture
def files():
    opened = GuardedFiles()
    yield opened
    opened.close()


@pytest.fixture
def path(tmp_path):
    (tmp_path / "memories").mkdir()
    return tmp_path / "memories" / "MEMORY.md"


def test_a_write_is_there_recorded_and_under_hermes_own_lock(files, path):
    assert files.write(path, lambda data: data + b"one", {"target": "memory"}) == b"one"
    assert path.read_bytes() == b"one"
    assert path.stat().st_mode & 0o777 == 0o600
    assert (path.parent / "MEMORY.md.lock").exists()
    (record,) = files.store.log(str(path))
    assert (record.agent, record.note["target"]) == ("hermes", "memory")


def test_what_another_program_wrote_is_in_the_log(files, path, caplog):
    path.write_bytes(b"found")
    files.write(path, lambda data: data + b" one", {})
    assert not caplog.messages
    path.write_bytes(b"theirs")
    files.write(path, lambda _: b"two", {})
    assert caplog.messages == [
        f"MEMORY.md was changed by another program; what it held is revision 3 ('catmem log {path}')"
    ]
    assert files.store.read(str(path), "3").data == b"theirs"


@pytest.mark.parametrize("folder", ["elsewhere", "home/memories"])
def test_the_lock_is_there_in_a_folder_of_any_name_which_is_made(files, tmp_path, folder):
    files.write(tmp_path / folder / "USER.md", lambda _: b"one", {})
    assert (tmp_path / folder / "USER.md.lock").exists()


def test_a_link_stays_a_link_and_both_locks_are_held(files, path, tmp_path, monkeypatch):
    real = tmp_path / "dotfiles" / "memory.md"
    real.parent.mkdir()
    real.write_bytes(b"one")
    path.symlink_to(real)
    held = []

    def update(data):
        held.append(not _can_lock(path.parent / "MEMORY.md.lock"))
        return data + b" two"

    files.write(path, update, {})
    assert held == [True]
    assert path.is_symlink()
    assert real.read_bytes() == b"one two"
    monkeypatch.setattr(memory_store, "LOCK_TIMEOUT", 0.05)
    with (path.parent / "MEMORY.md.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BusyError):
            files.write(path, update, {})
    assert real.read_bytes() == b"one two"


def _can_lock(path):
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("use", [use_catmem_store, lambda: MemoryStore().load_from_disk()])
def test_outside_of_hermes_it_says_what_is_missing(use):
    with pytest.raises(ConfigError, match="no Hermes Agent to work for") as raised:
        use()
    assert raised.value.code == "no_hermes"
    assert "PYTHON -m pip install " in raised.value.hint
