"""Calls in threads: those in turn come one after the other, none is cut off, and what was not begun is dropped."""

from __future__ import annotations

import asyncio
import threading

import pytest

from catmem.server.errors import ServerError
from catmem.server.running import MOST, MOST_WRITES, SHARE, Workers

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


def outcomes(workers, taken, asked, *, in_turn=True):
    """What comes of calls by ``asked`` (caller, whether it writes) while those of ``taken`` wait for one lock."""
    lock = threading.Event()

    async def one(caller, *, writes, function):
        deadline = asyncio.get_running_loop().time() + 30
        turn = in_turn and writes
        try:
            return await workers.call(function, deadline=deadline, writes=writes, in_turn=turn, caller=caller)
        except ServerError as error:
            return error.status, error.code

    async def do():
        waiting = [
            asyncio.ensure_future(one(caller, writes=writes, function=lambda: lock.wait(30)))
            for caller, writes in taken
        ]
        await asyncio.sleep(0)  # each has its place by now
        new = [asyncio.ensure_future(one(caller, writes=writes, function=lambda: "made")) for caller, writes in asked]
        await asyncio.sleep(0)
        reads = [await each for each, (_, writes) in zip(new, asked, strict=True) if not writes]
        lock.set()
        assert await asyncio.gather(*waiting) == [True] * len(taken)
        return [await each for each in new], reads

    return asyncio.run(do())[0]


TOO_MANY, OVERLOADED = (429, "too_many"), (503, "overloaded")


@pytest.mark.parametrize("in_turn", [True, False])
def test_one_caller_whose_writes_wait_takes_no_place_from_others(workers, in_turn):
    taken = [("neo", True)] * (SHARE // 2)
    asked = [("neo", True), ("neo", False), ("boss", True), ("boss", False), (None, False)]
    assert outcomes(workers, taken, asked, in_turn=in_turn) == [TOO_MANY, "made", "made", "made", "made"]


def test_writes_of_many_leave_places_for_reads(workers):
    taken = [(f"agent-{number % 9}", True) for number in range(MOST_WRITES)]
    assert outcomes(workers, taken, [("boss", True), ("boss", False)]) == [OVERLOADED, "made"]


def test_a_caller_who_only_reads_has_a_share_too(workers):
    taken = [("neo", False)] * SHARE
    codes = outcomes(workers, [*taken, *([("boss", True)] * 5)], [("neo", False), ("neo", True)])
    assert codes == [TOO_MANY, TOO_MANY]


def test_where_nobody_has_a_token_there_are_places_for_all(workers):
    assert outcomes(workers, [(None, True)] * (MOST_WRITES - 1), [(None, True)]) == ["made"]


def test_places_are_free_again_after_the_answers(workers):
    for _ in range(2):
        taken = [(f"agent-{number % 4}", number % 2 == 0) for number in range(MOST)]
        assert outcomes(workers, taken, [("boss", False)]) == [OVERLOADED]
    assert outcomes(workers, [], [("boss", False), ("boss", True)]) == ["made", "made"]
