"""The judge of the races: it finds what was lost, and blames no tool for what outsiders did."""

import pytest

from tests.race.judge import Evidence, Verdict, Write, judge
from tests.race.texts import KEPT, begun, block, line, shortened, tokens

A, B, C = line("a"), line("b"), line("c")
X, Y = block("x", 3), block("y", 3)


def evidence(writes, revisions=(), visible=b"", aside=(), acknowledged=()):
    """``revisions`` are bytes of outsiders, or pairs (bytes, whether of an outsider)."""
    told = [each if isinstance(each, tuple) else (each, True) for each in revisions]
    numbered = [(str(number), *each) for number, each in enumerate(told, start=1)]
    return Evidence(numbered, visible, aside, writes, acknowledged)


def append(token, wrote=None):
    return Write("append", token, wrote or line(token))


def rewrite(token, read, wrote, milliseconds=1.0):
    return Write("truncate", token, wrote, read, milliseconds, in_place=True)


GOOD = [
    pytest.param(evidence([append("a")], visible=A), id="in the file"),
    pytest.param(evidence([append("a")], [A, (B, False)], B), id="in a revision"),
    pytest.param(evidence([append("a"), rewrite("x", A, X)], [X], X), id="dropped by a rewriter that had read it"),
    pytest.param(evidence([append("a"), rewrite("x", A, A + X)], [A + X], B), id="a rewriter's whole text in a revision"),
    pytest.param(evidence([rewrite("x", b"", X)], [X + A], X + A), id="a rewriter's whole text, and more behind it"),
    pytest.param(evidence([rewrite("x", b"", X), rewrite("y", X, Y)], [Y], Y), id="overwritten by the next rewriter, who had read it"),
    pytest.param(evidence([], [(A, False)], A, acknowledged=["a"]), id="an acknowledged write in a revision"),
    pytest.param(evidence([rewrite("x", A, A + X)], [A, A + X], A + X), id="what was there before it began to write"),
    pytest.param(evidence([append("a"), append("b"), rewrite("x", A + B, A + B + X)], [A, A + B, A + B + X], b""), id="what one had appended, before another did"),
]  # fmt: skip

LOST = [
    pytest.param(evidence([append("a")], [B], B), ["a"], id="an append that is nowhere"),
    pytest.param(evidence([append("a")], visible=A.rstrip()[:-1]), ["a"], id="cut"),
    pytest.param(evidence([rewrite("x", b"", X)], [X[:-1]], b""), ["x"], id="a rewriter's text without its end"),
    pytest.param(evidence([rewrite("x", A, A + X)], [B + X], B + X), ["x"], id="a rewriter's text in pieces"),
    pytest.param(evidence([append("a"), rewrite("x", b"", X)], [X], X), ["a"], id="the rewriter had not read it"),
    pytest.param(evidence([append("a"), rewrite("x", A, A + X)], [B], B), ["x"], id="kept by a rewriter whose text was lost"),
]  # fmt: skip

HALVES = [
    pytest.param(evidence([rewrite("x", A, A + X)], [A, A + X[:20], A + X], A + X), ["2: x"], [], id="cut in its block"),
    pytest.param(evidence([rewrite("x", A + B, X + A + B)], [A + B, X + A, X + A + B], b""), ["2: x"], [], id="cut behind its block"),
    pytest.param(evidence([rewrite("x", A, A + X)], [A, A + X[:20] + C, A + X], A + X), ["2: x"], [], id="cut, and a line behind it"),
    pytest.param(evidence([rewrite("x", A + B, A + B + X)], [A + B, A, A + B + X], b""), ["2: x"], [], id="cut in what was there before"),
    pytest.param(evidence([rewrite("x", A, A + X, 6.0)], [A, A + X[:20], A + X], A + X), [], ["2: x"], id="slow, and looks like an append"),
    pytest.param(evidence([rewrite("x", A, X + A, 6.0)], [A, X[:20], X + A], X + A), ["2: x"], [], id="slow, and looks like no append"),
    pytest.param(evidence([rewrite("x", A, A + X)], [A, A + X[:20], (A + X[:20] + C, False)], b""), ["2: x"], [], id="counted once"),
    pytest.param(evidence([rewrite("x", A, A + X)], [A, A + X[:20], (A + X[:20], False)], b""), ["2: x"], [], id="put in place by the tool"),
]  # fmt: skip


@pytest.mark.parametrize("found", GOOD)
def test_nothing_is_lost(found):
    assert judge(found, patience=5) == Verdict()


@pytest.mark.parametrize(("found", "lost"), LOST)
def test_what_is_lost_is_found(found, lost):
    assert judge(found, patience=5).lost == lost


@pytest.mark.parametrize(("found", "halves", "slow"), HALVES)
def test_half_file_commits_are_found(found, halves, slow):
    verdict = judge(found, patience=5)
    assert (verdict.halves, verdict.slow) == (halves, slow)


def test_what_is_only_kept_aside_is_hidden_not_lost():
    verdict = judge(evidence([append("a")], aside=[A]), patience=5)
    assert (verdict.hidden, verdict.lost) == (["a"], [])


@pytest.mark.parametrize("revisions", [[], [(B, False)], [(A[:-2], False)]])
def test_an_acknowledged_write_that_is_in_no_revision_is_dropped(revisions):
    assert judge(evidence([], revisions, acknowledged=["a"]), patience=5).dropped == ["a"]


def test_texts_are_shortened_by_whole_lines_and_blocks():
    many = b"".join(line(str(number)) + block(f"b{number}", 2) for number in range(KEPT))
    short = shortened(many)
    assert many.endswith(short)
    assert len(tokens(short)) == KEPT
    assert begun(short) == set()
    assert shortened(short) == short


def test_a_block_without_an_end_is_no_token():
    assert tokens(block("x", 2)) == {"x"}
    assert tokens(block("x", 2)[:-1]) == set()
    assert begun(block("x", 2)[:-4]) == {"x"}
