"""All threads of a server take memory from one arena, where the C library has arenas."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from catmem.server.arenas import _is_glibc, share_one_arena

GLIBC = pytest.mark.skipif(not _is_glibc(), reason="another C library than glibc")
CHOSEN = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")

COUNT = """
import ctypes, sys, threading
from catmem.server.arenas import share_one_arena

done = share_one_arena() if sys.argv[1] == "share" else None
library = ctypes.CDLL(None)
for name in ("tmpfile", "malloc"):
    getattr(library, name).restype = ctypes.c_void_p
all_there = threading.Barrier(9)

def work():
    ctypes.PyDLL(None).malloc(ctypes.c_size_t(3000))  # more than a thread has at hand without any arena
    all_there.wait()
    all_there.wait()

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
all_there.wait()
file = ctypes.c_void_p(library.tmpfile())
library.malloc_info(0, file)
size = library.ftell(file)
library.rewind(file)
said = ctypes.create_string_buffer(size)
library.fread(said, 1, ctypes.c_size_t(size), file)
all_there.wait()
print(done, said.raw.count(b"<heap nr="))
"""


def count(how, **environment):
    """Whether the arenas were made one, and how many eight threads have beside the first."""
    clean = {name: value for name, value in os.environ.items() if name not in CHOSEN}
    said = subprocess.run(
        [sys.executable, "-c", COUNT, how], env={**clean, **environment}, capture_output=True, text=True, check=True
    ).stdout.split()
    return said[0], int(said[1])


@GLIBC
def test_threads_share_one_arena():
    assert count("leave")[1] > 1
    assert count("share") == ("True", 1)


@GLIBC
@pytest.mark.parametrize(("name", "value"), [("MALLOC_ARENA_MAX", "3"), ("GLIBC_TUNABLES", "glibc.malloc.arena_max=3")])
def test_who_has_chosen_a_number_gets_it(name, value):
    assert count("share", **{name: value}) == ("False", 3)


@GLIBC
def test_what_else_is_tuned_is_no_such_choice():
    assert count("share", GLIBC_TUNABLES="glibc.malloc.tcache_count=7") == ("True", 1)


def test_without_glibc_nothing_is_done(monkeypatch):
    def unknown(_):
        raise ValueError("unrecognized configuration name")

    for name in CHOSEN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "confstr", unknown)
    monkeypatch.setattr(ctypes, "CDLL", None)  # nothing is to be looked for in it
    assert share_one_arena() is False
