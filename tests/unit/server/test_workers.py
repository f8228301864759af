"""Calls in threads: several at once, none that was begun is cut off, and what was not begun is dropped."""

from __future__ import annotations

import asyncio
import threading

import pytest

from catmem.errors import RequestError
from catmem.server.guard import Workers

SOON = 0.05


@pytest.fixture
def workers():
    made = Workers(4)
    yield made
    made.close()


def called(workers, functions, *, seconds=30.0, writes=True):
    """What comes of calls that are made at once."""

    async def do():
        deadline = asyncio.get_running_loop().time() + seconds
        calls = (workers.call(each, deadline=deadline, writes=writes) for each in functions)
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(do())


def codes(answers):
    return [answer.code if isinstance(answer, RequestError) else answer for answer in answers]


def test_what_a_call_raises_comes_out_also_a_time_limit_of_its_own(workers):
    def fails():
        raise TimeoutError("its own")

    (error,) = called(workers, [fails])
    assert (type(error), str(error)) == (TimeoutError, "its own")


@pytest.mark.parametrize(("writes", "code"), [(True, "still_writing"), (False, "timeout")])
def test_what_waits_behind_calls_that_take_too_long_is_not_begun(workers, writes, code):
    free, made = threading.Event(), []
    busy = [lambda: free.wait(30)] * 4
    answers = codes(called(workers, [*busy, lambda: made.append(1)], seconds=SOON, writes=writes))
    free.set()
    workers.close()
    assert answers == [code] * 4 + ["timeout"]
    assert made == []
