"""What a tool lost of what outsiders wrote, and of what it acknowledged. Values in, values out.

Outsiders keep out of each other's way (see ``outsiders``), so whatever is lost the tool lost, with one exception that is
exact as well: a rewriter may drop what it has read. So an outsider's text is safe if it is in what the tool keeps, or in
what a later rewriter read, since from then on it was that rewriter's to keep; and what the rewriter kept is looked for
in turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.race.texts import begun, tokens, without_last


class Write(NamedTuple):
    """One write of an outsider. ``read`` is what it read before, ``None`` for one who appends; ``wrote`` what it wrote.

    ``milliseconds`` is how long it had the file open for writing; ``in_place`` whether a reader could see a half of it.
    """

    kind: str
    token: str
    wrote: bytes
    read: bytes | None = None
    milliseconds: float = 0.0
    in_place: bool = False


@dataclass(frozen=True)
class Evidence:
    """What is there when all is over.

    ``revisions``: id, bytes and whether an outsider wrote them, the oldest first. ``visible``: the file. ``aside``: what
    else is kept, such as retired files and backups. ``acknowledged``: the tokens of the writes that the tool was told are made.
    """

    revisions: Sequence[tuple[str, bytes, bool]]
    visible: bytes
    aside: Sequence[bytes]
    writes: Sequence[Write]
    acknowledged: Sequence[str]


@dataclass
class Verdict:
    """``lost``: tokens of outsiders that are nowhere. ``dropped``: acknowledged writes of the tool that are in no
    revision. ``halves``: revisions that hold a begun write; ``slow``: those whose outsider took longer than
    the protocol waits. ``hidden``: tokens that are kept, but in no revision and not in the file. ``empty``: revisions
    without any bytes.
    """

    lost: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    halves: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    empty: int = 0


def judge(evidence: Evidence, patience: float) -> Verdict:
    """The verdict. ``patience``: the milliseconds for which the protocol waits for somebody who is writing."""
    verdict = Verdict(empty=sum(not data for _, data, _ in evidence.revisions))
    history = {data for _, data, _ in evidence.revisions} | {evidence.visible}
    read = {write.read for write in evidence.writes if write.read is not None}
    in_history = _held(evidence.writes, history)
    aside = _held(evidence.writes, set(evidence.aside))
    passed_on = _held(evidence.writes, read)
    for write in evidence.writes:
        if write.token in in_history or write.token in passed_on:
            continue
        (verdict.hidden if write.token in aside else verdict.lost).append(write.token)
    made = set[str]().union(*(tokens(data) for _, data, _ in evidence.revisions))
    verdict.dropped += [token for token in evidence.acknowledged if token not in made]
    _halves(evidence, read, patience, verdict)
    return verdict


def _held(writes: Iterable[Write], texts: set[bytes]) -> set[str]:
    """The tokens of the writes that are in one of the texts; of a rewriter, its whole text in one piece."""
    wholes = {write.token: write.wrote for write in writes if write.read is not None}
    found: set[str] = set()
    for text in texts:
        for token in tokens(text) - found:
            if token not in wholes or wholes[token] in text:
                found.add(token)
    return found


def _halves(evidence: Evidence, read: set[bytes], patience: float, verdict: Verdict) -> None:
    """Revisions that are the beginning of what somebody was writing in place, and not what anybody meant to be there.

    What somebody meant, with or without lines that others appended, is no half.
    """
    appended = {write.wrote for write in evidence.writes if write.read is None}
    meant = {without_last(data, appended) for data in read | {write.wrote for write in evidence.writes}} | {b""}
    writes = {write.token: write for write in evidence.writes if write.in_place}
    before, seen = b"", set[str]()
    for revision, data, outside in evidence.revisions:
        short = without_last(data, appended)
        if outside and short not in meant:
            half = next((each.token for each in writes.values() if _is_front(data, each.wrote)), None)
            for token in sorted(({half} if half else begun(data) & set(writes)) - seen):
                # Somebody slow who adds at the end cannot be told from one who appends, and is not waited for.
                excused = data.startswith(before) and writes[token].milliseconds > patience
                (verdict.slow if excused else verdict.halves).append(f"{revision}: {token}")
        meant.add(short)  # once a revision, it may come again
        seen |= begun(data)
        before = data


def _is_front(data: bytes, whole: bytes) -> bool:
    return len(data) < len(whole) and whole.startswith(data)


def counted(verdict: Verdict) -> str:
    return (
        f"{len(verdict.lost)} lost, {len(verdict.dropped)} acknowledged and dropped, {len(verdict.halves)} half-file commits, "
        f"{len(verdict.slow)} of slow writers, {len(verdict.hidden)} kept aside"
    )
