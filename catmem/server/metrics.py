"""``GET /metrics``: numbers for Prometheus, in its text format.

Every name in a label is one of the configuration, so there are no more series than there are profiles and agents to
make them; all other names count as ``other``. No text of an entry and no name of a category is shown.

What it tells are the counts of the audit log since the first request, and a survey of the root that each request makes.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, exposition
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from catmem.audit import BOUNDS, CONFLICTS, OTHER, LogCounts, lost_overwrites
from catmem.envelopes.tokens import caller_of
from catmem.errors import CatmemError, RequestError
from catmem.server.guard import in_thread
from catmem.server.requests import refuse_query
from catmem.workspace.reports import EntityStatus, survey
from catmem.workspace.workspace import Workspace

LOG = logging.getLogger("catmem.server.metrics")


def routes() -> list[BaseRoute]:
    """The route of the metrics."""
    return [Route("/metrics", _metrics, methods=["GET"])]


async def _metrics(request: Request) -> Response:
    caller = caller_of(request)
    if not (caller.is_person or caller.scope == "metrics"):
        raise RequestError(
            "the numbers are about all agents, and your token is for one",
            code="scope",
            hint="A person may read them, and a token for metrics: catmem token new NAME --scope metrics.",
        )
    refuse_query(request)
    state = request.app.state
    if not hasattr(state, "meter"):
        state.meter = Meter(state.workspace)
    text = await in_thread(request, state.meter.text)
    return Response(text, media_type=exposition.CONTENT_TYPE_PLAIN_0_0_4)


def _counter(name: str, said: str, labels: tuple[str, ...], numbers: Mapping[Any, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, said, labels=labels)
    for values, number in sorted(numbers.items()):
        family.add_metric(values, number)
    return family


def _of_log(meter: Meter) -> Iterator[Metric]:
    counted = meter.log
    # What has a series of 0 from its first write on is seen to rise with its first conflict.
    entities = {entity for entity, _, _ in counted.writes} | {OTHER}
    conflicts = {(entity, reason): counted.refused[entity, reason] for entity in entities for reason in CONFLICTS}
    said = "Attempts to write, by how they ended."
    yield _counter("mem_write", said, ("entity", "agent", "outcome"), counted.writes)
    yield _counter("mem_conflict", "Writes that met another writer, and were refused.", _BY_REASON, conflicts)
    yield _counter("mem_refused", "Writes that were refused, by code.", _BY_REASON, counted.refused)
    branches = {(entity,): counted.branches[entity] for entity in entities}
    yield _counter("mem_branch", "Writes kept as a branch beside the head.", ("entity",), branches)
    prevented = {(entity,): counted.prevented[entity] for entity in entities}
    said = "Writes on an older text that overwrote nothing."
    yield _counter("mem_overwrites_prevented", said, ("entity",), prevented)
    yield HistogramMetricFamily(
        "mem_write_latency_seconds",
        "How long attempts to write took.",
        buckets=list(zip((*map(str, BOUNDS), "+Inf"), accumulate(counted.groups), strict=True)),
        sum_value=counted.seconds,
    )
    said = "1 if the audit log was read to its end."
    yield GaugeMetricFamily("mem_audit_readable", said, value=int(meter.readable))
    said = "Lines of the audit log that cannot be read."
    yield CounterMetricFamily("mem_audit_damaged_lines", said, value=meter.log.damaged)
    said = "Writes of this server that have no line in the audit log."
    yield CounterMetricFamily("mem_audit_unlogged", said, value=meter.workspace.unlogged.total())


_BY_REASON = ("entity", "reason")


def _of_survey(found: tuple[list[EntityStatus], list[str]] | None) -> Iterator[Metric]:
    yield GaugeMetricFamily("mem_survey_failed", "1 if the root cannot be surveyed.", value=int(found is None))
    if found is None:
        return
    standings, unknown = found
    for name, what, field in _GAUGES:
        family = GaugeMetricFamily(name, what, labels=("entity",))
        for standing in standings:
            family.add_metric((standing.entity,), int(getattr(standing, field)))
        yield family
    unreadable = GaugeMetricFamily("mem_unreadable", "1 if the entity cannot be read.", labels=("entity",))
    for standing in standings:
        unreadable.add_metric((standing.entity,), 0)
    for entity in unknown:
        unreadable.add_metric((entity,), 1)
    yield unreadable


_GAUGES = (
    ("mem_head_rev", "The number of the newest revision, 0 for none.", "head"),
    ("mem_entries", "Entries.", "entries"),
    ("mem_stale_entries", "Entries that were verified too long ago.", "stale"),
    ("mem_unverified_entries", "Entries without a date.", "unverified"),
    ("mem_expired_entries", "Entries that are past their day.", "expired"),
    ("mem_drifted", "1 if the entity was changed behind its history.", "drifted"),
    ("mem_unmerged_branches", "Branches that are not merged.", "unmerged"),
    ("mem_waiting_proposals", "Proposals that wait for a person.", "waiting"),
    ("mem_waiting_seconds", "How long the oldest of them has waited, 0 for none.", "waiting_for"),
)
"""The gauges of each entity: name, what it is, and the field of ``EntityStatus``."""


# --- what is known ---------------------------------------------------------------------------------------------------


class Meter(Collector):
    """What is known of a root. For one thread at a time; close it in the end.

    ``readable``: the audit log could be read to its end at the last look. ``survey`` is ``None`` if there was none, or
    it came to nothing.
    """

    def __init__(self, workspace: Workspace) -> None:
        """Nothing is read yet."""
        self.workspace = workspace
        self.log = LogCounts(workspace)
        self.survey: tuple[list[EntityStatus], list[str]] | None = None
        self.readable = False
        self.lost: Counter[str] = Counter()
        """By entity, the revisions that external changes took back since the first look."""
        self._counted_to: dict[str, int] = {}
        self._lock = threading.Lock()

    def collect(self) -> Iterator[Metric]:
        """What is known, as families of metrics, in the order of docs/metrics.md."""
        yield from _of_log(self)
        yield from _of_survey(self.survey)
        lost = {(entity,): number for entity, number in self.lost.items()}
        yield _counter("mem_overwrites_lost", "Revisions that another program took back.", ("entity",), lost)

    def look(self) -> None:
        """Count what is new in the audit log, and survey the root."""
        try:
            self.log.catch_up()
        except CatmemError as error:
            self.readable = False
            LOG.warning("the audit log is not counted: %s", ascii(str(error)))
        else:
            self.readable = True
        self.survey = None
        try:
            found = survey(self.workspace)
            self._count_lost([each.entity for each in found[0]])
        except CatmemError as error:
            LOG.warning("the root cannot be surveyed: %s", ascii(str(error)))
        else:
            self.survey = found

    def _count_lost(self, entities: list[str]) -> None:
        with self.workspace.anew() as now:
            for entity in entities:
                lost, self._counted_to[entity] = lost_overwrites(now, entity, self._counted_to.get(entity))
                self.lost[entity] += lost

    def text(self) -> bytes:
        """The numbers as they are now. Raises nothing for what is wrong with the root."""
        registry = CollectorRegistry(auto_describe=False)
        with self._lock:
            self.look()
            registry.register(self)
            return exposition.generate_latest(registry)

    def close(self) -> None:
        """Let go of the log."""
        self.log.close()
