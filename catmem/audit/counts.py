"""What became of writes, counted from the lines of an audit log."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catmem.store.audit_log import AuditLine

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds, in seconds, of the groups in which latencies are counted."""

CONFLICTS = frozenset({"stale_prev", "drift", "hash_collision", "semantic_collision", "merge_conflict", "busy"})
"""Codes of refusals that are about another writer."""

REASONS = CONFLICTS | frozenset(
    """ambiguous bad_bypass bad_category bad_date bad_expected bad_hash bad_operation bad_remedy bad_rows
    bad_signature bad_tag changed_meanwhile clock_skew connection_lost damaged database_gone decided edit
    empty entry_too_large expired_proposal forbidden io locked missing needs_approval no_category no_match
    no_proposer no_space not_a_branch not_possible not_text not_utf8 not_writable on_proposal over_budget permission
    read_only refused rejected_before role_drift same_category schema sent_before stale_proposal structure symlink
    threat too_large too_many_proposals unknown_agent unknown_category unknown_entity unknown_name unknown_proposal
    unknown_revision unknown_target unmerged unreadable""".split()  # noqa: SIM905 - as a list it has a line for each
)
"""Codes by which refusals are counted for metrics, each for itself."""

OTHER = "other"
"""The name of all that are not counted each for itself."""
_MOST = 10_000
"""Different names of one kind that are counted each for itself: a refused caller may give any name."""
_PREVENTED = frozenset({"conflict", "branch", "merged"})
_LONGEST_SECONDS = 1e6
"""What is longer, or no number (a line of a log may say anything), tells of no operation."""


class Latencies:
    """How long operations took.

    ``groups[n]`` is the number of those that took ``BOUNDS[n]`` seconds at most, and more than the bound before; the
    last group has no bound.
    """

    def __init__(self) -> None:
        """None yet."""
        self.groups = [0] * (len(BOUNDS) + 1)
        self.number = 0
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count one more."""
        self.groups[bisect_left(BOUNDS, seconds)] += 1
        self.number += 1
        self.seconds += seconds


class Counts:
    """The numbers behind ``mem_write_total`` and its kin. Safe to use from several threads.

    ``writes`` are by entity, agent and status, ``conflicts`` and ``refused`` by entity and code, ``branches`` by
    entity, ``reasons`` by code; ``heads`` are the numbers of the newest revisions by entity. A write that a rollout let
    pass counts among the conflicts too. ``prevented``, by entity, are writes on an older text than the head that took
    nothing from it: refused, kept as a branch, or made on the head.
    """

    def __init__(self) -> None:
        """Nothing counted yet."""
        self._lock = threading.Lock()
        self.writes: Counter[tuple[str, str, str]] = Counter()
        self.conflicts: Counter[tuple[str, str]] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.branches: Counter[str] = Counter()
        self.prevented: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.heads: dict[str, int] = {}
        self.latencies = Latencies()

    @classmethod
    def of(cls, lines: Iterable[AuditLine]) -> Counts:
        """The counts of these lines."""
        counts = cls()
        for line in lines:
            counts.add(line)
        return counts

    def add(self, line: AuditLine) -> None:
        """Count one operation; the beginning and the end of a bypass are none."""
        entity = line.entity_id
        if line.op == "bypass":
            return
        with self._lock:
            _count(self.writes, (entity, line.agent, line.status), (OTHER, OTHER, line.status))
            for reason in line.reasons:
                _count(self.reasons, reason, OTHER)
                if reason in CONFLICTS:
                    _count(self.conflicts, (entity, reason), (OTHER, reason))
                if line.is_refused:
                    _count(self.refused, (entity, reason), (OTHER, reason))
            if line.op != "merge" and (line.status in _PREVENTED or "stale_prev" in line.reasons):
                _count(self.prevented, entity, OTHER)
            if line.status == "branch":
                _count(self.branches, entity, OTHER)
            if line.head_rev is not None and (entity in self.heads or len(self.heads) < _MOST):
                self.heads[entity] = line.head_rev
            if line.seconds is not None and 0 <= line.seconds <= _LONGEST_SECONDS:
                self.latencies.add(line.seconds)

    def copy(self) -> Counts:
        """The counts as they are at one moment."""
        made = Counts()
        with self._lock:
            vars(made).update(deepcopy({name: value for name, value in vars(self).items() if name != "_lock"}))
        return made

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON-ready data, in the order of names."""
        entities, agents, statuses = Counter[str](), Counter[str](), Counter[str]()
        with self._lock:
            for names, number in self.writes.items():
                for counter, name in zip((entities, agents, statuses), names, strict=True):
                    counter[name] += number
            return {
                "operations": sum(statuses.values()),
                "by_status": dict(sorted(statuses.items())),
                "by_reason": dict(sorted(self.reasons.items())),
                "by_agent": dict(sorted(agents.items())),
                "by_entity": dict(sorted(entities.items())),
                "conflicts": [
                    {"entity_id": entity, "reason": reason, "operations": number}
                    for (entity, reason), number in sorted(self.conflicts.items())
                ],
                "branches": dict(sorted(self.branches.items())),
                "prevented": dict(sorted(self.prevented.items())),
                "heads": dict(sorted(self.heads.items())),
                "latency": {
                    "operations": self.latencies.number,
                    "seconds": round(self.latencies.seconds, 6),
                },
            }


def _count(counter: Counter[Any], names: Any, other: Any) -> None:  # noqa: ANN401 - names of one kind
    """Count one more under some names; under others where there are too many already."""
    counter[names if names in counter or len(counter) < _MOST else other] += 1
