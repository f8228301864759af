"""What the server over standard input waits for before it ends."""

from __future__ import annotations

import json

import anyio

from catmem.mcp.over_stdio import _Owed
from tests.together import together


@together(
    ("line", "code"),
    [
        ('{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}', -32602),
        ('{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":"\\ud800"}}', -32700),
        ('{"jsonrpc":"2.0","id":3,"method":"ping/\\udfff"}', -32700),
        ('{"jsonrpc":"1.0","id":3,"method":"ping"}', -32600),
    ],
)
def test_a_request_that_is_none_is_answered_and_not_owed(line, code):
    owed = _Owed()
    answer = json.loads(owed.take(line))
    assert (answer["id"], answer["error"]["code"]) == (3, code)
    assert not owed._open


@together("line", ["", "nonsense", "[" * 100_000, "[]", '{"method":"x","params":[]}', '{"id":3}'])
def test_what_is_no_request_gets_no_answer(line):
    owed = _Owed()
    assert owed.take(line) is None
    assert not owed._open


def test_a_request_is_owed_until_it_is_answered_or_cancelled():
    owed = _Owed()
    owed.take('{"jsonrpc":"2.0","id":3,"method":"ping"}')
    owed.take('{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}')
    assert owed._open == {3, "a"}
    owed.settle(3)
    owed.take('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}')
    anyio.run(owed.settled)
    assert not owed._open
