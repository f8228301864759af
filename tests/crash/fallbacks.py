"""The store on a disk that lacks something: the same proofs, less what `docs/guarantees.md` says is weaker there."""

from dataclasses import replace

from catmem.store.files.system import Features, System
from tests.crash.kills import OPERATIONS
from tests.crash.outsiders import KINDS, Outsider
from tests.crash.watched import Call

WITHOUT = ("leases", "exchange", "leases,exchange")


def without(names: str) -> System:
    """The calls of a platform that does not have these features."""

    class Poorer(System):
        def features(self) -> Features:
            return replace(super().features(), **dict.fromkeys(names.split(","), False))

        def sleep(self, seconds: float) -> None:
            """Nobody writes while the store waits for two equal reads."""

    return Poorer()


def is_named_weakness(call: Call, outsider: Outsider) -> bool:
    """Without an exchange, who renames a file into the place between the link and the rename loses it."""
    renames = call.name == "rename" and call.arguments[1] == "USER.md"
    return renames and outsider.renames


HALVES = ("slow rewrite", "cp -p")
"""Without leases, a writer who pauses longer than 20 ms in the middle of a file is taken for done."""

KEPT_OPEN = "forget"
"""Without leases, nobody can say whether a program has a retired file open, so `purge` leaves it and says so."""


def kinds(names: str) -> list[str]:
    return [kind for kind in KINDS if kind not in HALVES or "leases" not in names]


def operations(names: str) -> list[str]:
    return [name for name in OPERATIONS if name != KEPT_OPEN or "leases" not in names]
