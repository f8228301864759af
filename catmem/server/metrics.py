"""``GET /metrics``: numbers for Prometheus, in its text format or as OpenMetrics.

Every name in a label is one of the configuration, so there are no more series than there are profiles and agents to
make them; all other names count as ``other``. No text of an entry and no name of a category is shown.

What it tells are the counts of the audit log since the first request, and a survey that is not too old. A survey of the
root may take longer than a caller will wait, so it is made in a thread of its own; until it is done the one before
it counts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, exposition
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from catmem.audit.log_queries import BOUNDS, CONFLICTS, OTHER, LogCounts
from catmem.audit.rebuilding import lost_overwrites
from catmem.envelopes.tokens import caller_of
from catmem.errors import CatmemError, RequestError
from catmem.server.guard import in_thread
from catmem.server.requests import refuse_query
from catmem.workspace.reports import Survey, damages, survey
from catmem.workspace.workspace import Workspace

LOG = logging.getLogger("catmem.server.metrics")
_OPENMETRICS = "application/openmetrics-text"


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
    wants_openmetrics = _OPENMETRICS in request.headers.get("accept", "")
    body, kind = await in_thread(request, numbers, state.meter, as_openmetrics=wants_openmetrics)
    return Response(body, headers={"Content-Type": kind, "Cache-Control": "no-store"})


def numbers(meter: Meter, *, as_openmetrics: bool = False) -> tuple[bytes, str]:
    """The numbers as they are now, and the type of that text. Raises nothing for what is wrong with the root."""
    meter.catch_up()
    registry = CollectorRegistry(auto_describe=False)
    registry.register(meter)
    if as_openmetrics:
        text: bytes = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]
        return text, openmetrics.CONTENT_TYPE_LATEST
    return exposition.generate_latest(registry), exposition.CONTENT_TYPE_PLAIN_0_0_4


def _counter(name: str, said: str, labels: tuple[str, ...], numbers: Mapping[Any, int]) -> CounterMetricFamily:
    """A family with a series for each of ``numbers``, by the values of its labels."""
    family = CounterMetricFamily(name, said, labels=labels)
    for values, number in sorted(numbers.items()):
        family.add_metric(values, number)
    return family


def _of_log(meter: Meter) -> Iterator[Metric]:
    log = meter.log
    counted = log.copy()
    # What has a series of 0 from its first write on is seen to rise with its first conflict.
    entities = {entity for entity, _, _ in counted.writes} | {OTHER}
    conflicts = {(entity, reason): counted.conflicts[entity, reason] for entity in entities for reason in CONFLICTS}
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
    yield CounterMetricFamily("mem_audit_damaged_lines", said, value=log.damaged)
    said = "Writes of this server that have no line in the audit log."
    yield CounterMetricFamily("mem_audit_unlogged", said, value=meter.workspace.unlogged.total())


_BY_REASON = ("entity", "reason")


def _of_looks(meter: Meter) -> Iterator[Metric]:
    survey = meter.survey
    if survey is not None:
        for name, what, field in _GAUGES:
            family = GaugeMetricFamily(name, what, labels=("entity",))
            for standing in survey.standings:
                family.add_metric((standing.entity,), int(getattr(standing, field)))
            yield family
        unreadable = GaugeMetricFamily("mem_unreadable", "1 if the entity cannot be read.", labels=("entity",))
        for standing in survey.standings:
            unreadable.add_metric((standing.entity,), 0)
        for entity in survey.unreadable:
            unreadable.add_metric((entity,), 1)
        yield unreadable
        yield GaugeMetricFamily(
            "mem_survey_timestamp_seconds", "When the last survey was begun.", value=survey.begun.timestamp()
        )
        yield GaugeMetricFamily("mem_survey_duration_seconds", "How long it took.", value=survey.seconds)
    yield GaugeMetricFamily("mem_survey_failed", "1 if the root could not be surveyed.", value=int(meter.failed))
    if meter.damages is not None:
        found, when = meter.damages
        yield GaugeMetricFamily("mem_journal_damage", "Damages that the stores found in their histories.", value=found)
        yield GaugeMetricFamily("mem_verify_timestamp_seconds", "When the histories were looked over last.", value=when)


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
    """What is known of a root, brought up to date when a caller asks. For several threads; close it in the end.

    ``readable``: the audit log could be read to its end at the last ``catch_up``. ``survey`` is the last one that was
    made, and ``failed`` says that the next one came to nothing. ``damages`` are the number of those in the histories,
    and when they were counted. Both are ``None`` before the first look.
    """

    survey_every = 30.0
    """Seconds from one survey to the next, if a caller asks so often."""
    verify_every = 600.0
    """The same for looking at every byte of the histories."""
    share = 10.0
    """Of all time, surveys may take one part in so many; 0 for no such limit."""
    patience = 2.0
    """Seconds for which a caller waits for a survey that has begun."""

    def __init__(self, workspace: Workspace) -> None:
        """Nothing is read yet."""
        self.workspace = workspace
        self.log = LogCounts(workspace)
        self.survey: Survey | None = None
        self.damages: tuple[int, float] | None = None
        self.failed = self.readable = False
        self.lost: Counter[str] = Counter()
        """By entity, the revisions that external changes took back since the first survey."""
        self._counted_to: dict[str, int] = {}
        self._lock = threading.Lock()
        self._looking: threading.Thread | None = None
        self._next_survey = self._next_verify = time.monotonic()

    def collect(self) -> Iterator[Metric]:
        """What is known, as families of metrics, in the order of docs/metrics.md."""
        yield from _of_log(self)
        yield from _of_looks(self)
        lost = {(entity,): number for entity, number in self.lost.copy().items()}
        yield _counter("mem_overwrites_lost", "Revisions that another program took back.", ("entity",), lost)

    def catch_up(self) -> None:
        """Count what is new in the audit log, and have a survey made if it is time for one."""
        try:
            self.log.catch_up()
        except CatmemError as error:
            self.readable = False
            LOG.warning("the audit log is not counted: %s", ascii(str(error)))
        else:
            self.readable = True
        looking = self._begun_look()
        if looking is not None:
            looking.join(self.patience)

    def _begun_look(self) -> threading.Thread | None:
        """The thread that looks, begun now if it is time; ``None`` if there is nothing to do."""
        with self._lock:
            if self._looking is not None and self._looking.is_alive():
                return self._looking
            if time.monotonic() < self._next_survey:
                return None
            # It holds no lock and writes nothing, so a process may end in the middle of it.
            self._looking = threading.Thread(target=self._look, name="catmem-survey", daemon=True)
            self._looking.start()
            return self._looking

    def _look(self) -> None:
        begun = time.monotonic()
        try:
            self.survey, self.failed = survey(self.workspace), False
            self._count_lost(self.survey)
            if begun >= self._next_verify:
                self.damages = damages(self.workspace), time.time()
                self._next_verify = self._next(begun, self.verify_every)
        except CatmemError as error:
            self.failed = True
            LOG.warning("the root cannot be surveyed: %s", ascii(str(error)))
        except Exception:
            self.failed = True
            LOG.exception("the root cannot be surveyed")
        finally:
            self._next_survey = self._next(begun, self.survey_every)

    def _count_lost(self, survey: Survey) -> None:
        with self.workspace.anew() as now:
            for entity in (each.entity for each in survey.standings):
                lost, self._counted_to[entity] = lost_overwrites(now, entity, self._counted_to.get(entity))
                self.lost[entity] += lost

    def _next(self, begun: float, every: float) -> float:
        took = time.monotonic() - begun
        return begun + max(every, self.share * took)

    def close(self) -> None:
        """Wait for a survey that has begun, and let go of the log."""
        with self._lock:
            looking = self._looking
        if looking is not None:
            looking.join()
        self.log.close()
