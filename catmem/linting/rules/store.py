"""Rules on the store of a root: what ``catmem fsck`` finds, copies that are left over, and branches.

The service gives each thing a ``kind``: the store's own code for a fault (``journal_tail``), ``backup`` for a copy
beside a file, ``branch`` for a revision beside the head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.linting.diagnostic import Finding
from catmem.linting.rule import rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.linting.diagnostic import Severity
    from catmem.linting.linted import Context, StoreFault

# What each rule is on; CM901 has all that no other names.
_KINDS = {
    "CM902": "backup",
    "CM903": "branch",
    "CM904": "changed_outside",
    "CM905": "unfinished leftover late_write journal_leftover journal_stranger half_brought",
    "CM906": "open_sidecar",
    "CM907": "unread_file unknown_entity",
    "": "records_lost",
}
_CODES = {kind: code for code, kinds in _KINDS.items() for kind in kinds.split()}


def _on_store(code: str, name: str, summary: str, severity: Severity = "warning") -> None:
    def check(faults: Sequence[StoreFault], _: Context) -> Iterator[Finding]:
        for fault in faults:
            if _CODES.get(fault.kind, "CM901") == code:
                yield Finding(0, 0, fault.message, fault.hint, path=fault.path)

    check.__doc__ = summary
    rule(code, name, severity=severity, scope="store")(check)


_UNREAD = "Find what no profile reads in a root whose store is a database: its old files, and rows of no profile."
_on_store("CM901", "store-damage", "Find damage in the history of a memory file.", "error")
_on_store("CM902", "left-over-backup", "Find backups beside memory files.", "hint")
_on_store("CM903", "unmerged-branch", "Find branches that were not merged.")
_on_store("CM904", "changed-outside", "Find memory files that were changed since the journal last saw them.", "hint")
_on_store("CM905", "unfinished-write", "Find writes that were stopped half-way, and what they left behind.")
_on_store("CM906", "open-sidecar", "Find sidecar folders that others on the machine may look into.")
_on_store("CM907", "unread-memory", _UNREAD)
