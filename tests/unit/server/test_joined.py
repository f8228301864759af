"""What is written to a client goes out whole, in order, and at the latest with the turn of the loop."""

from __future__ import annotations

import asyncio

import pytest

from catmem.server.joined import Joined


class Wire(asyncio.Transport):
    """What comes out, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.out: list[bytes] = []
        self.ended = ""

    def write(self, data):
        self.out.append(bytes(data))

    def close(self):
        self.ended = "closed"

    def abort(self):
        self.ended = "aborted"

    def is_closing(self):
        return bool(self.ended)


def written(act):
    """The wire after something was done with the transport, and after the next turn of the loop."""

    async def do():
        wire = Wire()
        act(Joined(wire, asyncio.get_running_loop()))
        at_once = list(wire.out)
        await asyncio.sleep(0)
        return at_once, wire

    return asyncio.run(do())


def test_header_and_body_of_an_answer_go_out_together():
    def act(joined):
        for each in (b"header", b"body", b""):
            joined.write(each)

    at_once, wire = written(act)
    assert at_once == wire.out == [b"headerbody"]


def test_a_part_of_a_stream_goes_out_with_the_turn_of_the_loop():
    at_once, wire = written(lambda joined: joined.writelines([b"a", b"b"]))
    assert (at_once, wire.out) == ([], [b"ab"])


def test_much_is_neither_copied_nor_kept():
    large, small = b"x" * 100_000, b"y" * 40_000

    def act(joined):
        for each in (b"header", large, small, small, b"end"):
            joined.write(each)

    at_once, wire = written(act)
    assert at_once == [b"header", large, small, small]
    assert wire.out == [*at_once, b"end"]


@pytest.mark.parametrize(("end", "out"), [("close", [b"last words"]), ("abort", [])])
def test_what_is_kept_goes_out_before_the_end_unless_it_is_cut_off(end, out):
    def act(joined):
        joined.write(b"last words")
        getattr(joined, end)()
        assert joined.is_closing()

    _, wire = written(act)
    assert wire.out == out
