"""Calls in threads: those in turn come one after the other, none is cut off, and what was not begun is dropped."""

from __future__ import annotations

import asyncio
import threading

import pytest

from catmem.server.errors import ServerError
from catmem.server.running import Workers

SOON = 0.05


@pytest.fixture
def workers():
    made = Workers()
    yield made
    made.close()


def called(workers, functions, *, in_turn, seconds=30.0):
    """What comes of calls that are made at once."""

    async def do():
        deadline = asyncio.get_running_loop().time() + seconds
        calls = (workers.call(each, deadline=deadline, writes=True, in_turn=in_turn) for each in functions)
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(do())


def test_calls_in_turn_are_made_one_after_the_other_in_their_order(workers):
    made: list[tuple[int, str]] = []

    def call(number):
        made.append((number, threading.current_thread().name))
        return number

    assert called(workers, [lambda each=each: call(each) for each in range(20)], in_turn=True) == list(range(20))
    assert [number for number, _ in made] == list(range(20))
    assert len({thread for _, thread in made}) == 1


def test_other_calls_are_made_at_once(workers):
    together = threading.Barrier(4, timeout=30)
    assert sorted(called(workers, [together.wait] * 4, in_turn=False)) == [0, 1, 2, 3]


def test_a_call_in_turn_waits_for_no_other_call(workers):
    free = threading.Event()
    reads = [lambda: free.wait(30)] * 8

    async def do():
        deadline = asyncio.get_running_loop().time() + 30
        waiting = [asyncio.ensure_future(workers.call(each, deadline=deadline, writes=False)) for each in reads]
        await workers.call(free.set, deadline=deadline, writes=True, in_turn=True)
        return await asyncio.gather(*waiting)

    assert asyncio.run(do()) == [True] * 8


def test_what_comes_after_a_call_that_takes_too_long_is_not_begun(workers):
    free, made = threading.Event(), []
    codes = [
        error.code
        for error in called(workers, [lambda: free.wait(30), lambda: made.append(1)], in_turn=True, seconds=SOON)
        if isinstance(error, ServerError)
    ]
    free.set()
    workers.close()
    assert codes == ["still_writing", "timeout"]
    assert made == []
