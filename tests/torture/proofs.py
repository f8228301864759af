"""The proofs that the stores are held to, with the figures of the long run."""

from typing import NamedTuple


class Proof(NamedTuple):
    """What a row of the table proves. ``asked`` is its figure in ``unit``; ``None`` means all there are."""

    name: str
    text: str
    asked: int | None
    unit: str


PROOFS = {
    proof.name: proof
    for proof in (
        Proof("races", "outsider races, five kinds", 500_000, "writes"),
        Proof("interleavings", "an outsider's action between every two system calls", 5_000, "interleavings"),
        Proof("syscall-kills", "kill at every system call of every mutating operation", None, "kills"),
        Proof("errors", "injected EIO, ENOSPC and short writes", 500, "errors"),
        Proof("crash-states", "modelled crash states, and mutants of the protocol", 10_000, "states"),
        Proof("kills", "random SIGKILL while several processes write", 5_000, "kills"),
        Proof("linearizability", "concurrent compare-and-swap is linearizable", 50_000, "operations"),
        Proof("stale-writes", "racing agents, no silent overwrite; the log gives the head", 2_000, "writes"),
        Proof("journal", "journal cut at every byte, every bit flipped", None, "damages"),
        Proof("stateful", "stateful property tests against a dict", 10_000, "steps"),
        Proof("merges", "merges of two scripts of edits, judged by the scripts", 20_000, "scenes"),
    )
}
