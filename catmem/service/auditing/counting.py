"""The counts of a root, from its audit log: whichever process made a write, it is in there once.

Names are bounded by the configuration, since whoever is refused may have given any text as one, and each would be a
series of its own for whoever keeps the numbers.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from catmem.errors import StoreError
from catmem.files import os_errors
from catmem.names import FILE_NAMES
from catmem.policy.profile import profile_names
from catmem.service.counts import CONFLICTS, OTHER, Counts
from catmem.service.envelopes.roles import agents_of
from catmem.service.gate import audit_log
from catmem.store.audit import NAME, STATUSES, AuditReader, Damage
from catmem.store.contract import PERSON

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace
    from catmem.store.audit import Line


@dataclass(frozen=True, slots=True)
class Names:
    """The names that are counted each for itself; all others count as ``other``."""

    entities: frozenset[str]
    agents: frozenset[str]

    @classmethod
    def of(cls, workspace: Workspace) -> Names:
        """Those of a root as it is now: its profiles and their entities, the agents that it names, and a person.

        Raises ``UnreadableError`` if the folder of profiles cannot be listed.
        """
        config = workspace.config
        entities = frozenset(f"{name}/{target}" for name in profile_names(config.profiles_dir) for target in FILE_NAMES)
        return cls(entities, frozenset((PERSON, *agents_of(config))))

    def bound(self, line: Line) -> Line:
        """A line with no name in it but known ones, and with no code but those of conflicts."""
        codes = [code for code in line.reasons if code in CONFLICTS]
        return line._replace(
            entity_id=line.entity_id if line.entity_id in self.entities else OTHER,
            agent=line.agent if line.agent in self.agents else OTHER,
            status=line.status if line.status in STATUSES else OTHER,
            reason=",".join(codes) or None,
        )


class LogCounts:
    """What the audit log of a root tells from the first look on. For several threads; close it in the end.

    ``counts`` begin at 0 and never go down, also not when the log forgets its oldest lines. ``damaged`` lines could not
    be read. ``names`` are those of the last look, by ``workspace``.
    """

    def __init__(self, workspace: Workspace) -> None:
        """Nothing is read yet."""
        self.workspace = workspace
        self._log = audit_log(workspace)
        self._reader = AuditReader(self._log)
        self._lock = threading.Lock()
        self._begun = False
        self.counts = Counts()
        self.damaged = 0
        self.names = Names(frozenset(), frozenset((PERSON,)))

    def catch_up(self) -> None:
        """Count what was added to the log since the last time; the first time nothing is counted.

        Raises ``UnreadableError`` and ``StoreError``; what was counted until then stays counted, and the next call goes
        on after it.
        """
        with self._lock:
            self.names = Names.of(self.workspace)
            with os_errors(
                "the audit log cannot be read",
                path=self._log.folder / NAME,
                hint="Check the rights of .catmem and of the file. The revisions do not depend on it.",
                code="io",
                kind=StoreError,
            ):
                if not self._begun:
                    self._reader.skip()
                    self._begun = True
                for each in self._reader.poll():
                    if isinstance(each, Damage):
                        self.damaged += 1
                    else:
                        self.counts.add(self.names.bound(each))

    def close(self) -> None:
        """Let go of the log."""
        with self._lock:
            self._reader.close()
            self._begun = False
