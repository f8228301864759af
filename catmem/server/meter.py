"""What ``/metrics`` tells: the counts of the audit log since the first request, and a survey that is not too old.

A survey of the root may take longer than whoever asks will wait, so it is made in a thread of its own; until it is done
the one before it counts.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import CatmemError
from catmem.service.auditing.reading import LogCounts
from catmem.service.survey import damages, survey

if TYPE_CHECKING:
    from catmem.service.survey import Survey
    from catmem.service.workspace import Workspace

LOG = logging.getLogger("catmem.server.metrics")

SURVEY_EVERY = 30.0
"""Seconds from one survey to the next, if somebody asks so often."""
VERIFY_EVERY = 600.0
"""The same for looking at every byte of the histories."""
SHARE = 10.0
"""Of all time, surveys may take one part in so many."""
PATIENCE = 2.0
"""Seconds for which whoever asks waits for a survey that has begun."""


class Looks(NamedTuple):
    """What the surveys found.

    ``damaged`` is the number of damages in the histories, and ``verified`` when it was found out, by the clock of the
    world; both are ``None`` before the first look. ``failed``: the last survey came to nothing, and what is here is
    from the one before.
    """

    survey: Survey | None = None
    damaged: int | None = None
    verified: float | None = None
    failed: bool = False


class Meter:
    """What is known of a root, brought up to date when somebody asks. For several threads; close it in the end.

    ``readable``: the audit log could be read to its end at the last ``catch_up``.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        survey_every: float = SURVEY_EVERY,
        verify_every: float = VERIFY_EVERY,
        share: float = SHARE,
        patience: float = PATIENCE,
    ) -> None:
        """Nothing is read yet. All times are in seconds; ``share`` is as ``SHARE``, 0 for no such limit."""
        self.workspace = workspace
        self.log = LogCounts(workspace)
        self.looks = Looks()
        self.readable = False
        self._survey_every = survey_every
        self._verify_every = verify_every
        self._share = share
        self._patience = patience
        self._lock = threading.Lock()
        self._looking: threading.Thread | None = None
        self._next_survey = self._next_verify = time.monotonic()

    def catch_up(self) -> None:
        """Count what is new in the audit log, and have a survey made if it is time for one.

        Raises nothing for what is wrong with the root: the numbers say so, and the log of the server why.
        """
        try:
            self.log.catch_up()
        except CatmemError as error:
            self.readable = False
            LOG.warning("the audit log is not counted: %s", ascii(str(error)))
        else:
            self.readable = True
        looking = self._begun_look()
        if looking is not None:
            looking.join(self._patience)

    def _begun_look(self) -> threading.Thread | None:
        """The thread that looks, begun now if it is time; ``None`` if there is nothing to do."""
        with self._lock:
            if self._looking is not None and self._looking.is_alive():
                return self._looking
            if time.monotonic() < self._next_survey:
                return None
            # It holds no lock of anybody's and writes nothing, so a process may end in the middle of it.
            self._looking = threading.Thread(target=self._look, name="catmem-survey", daemon=True)
            self._looking.start()
            return self._looking

    def _look(self) -> None:
        begun = time.monotonic()
        try:
            self.looks = self.looks._replace(survey=survey(self.workspace), failed=False)
            if begun >= self._next_verify:
                found, now = damages(self.workspace), time.time()
                self.looks = self.looks._replace(damaged=found, verified=now)
                self._next_verify = self._next(begun, self._verify_every)
        except CatmemError as error:
            self.looks = self.looks._replace(failed=True)
            LOG.warning("the root cannot be surveyed: %s", ascii(str(error)))
        except Exception:
            self.looks = self.looks._replace(failed=True)
            LOG.exception("the root cannot be surveyed")
        finally:
            self._next_survey = self._next(begun, self._survey_every)

    def _next(self, begun: float, every: float) -> float:
        took = time.monotonic() - begun
        return begun + max(every, self._share * took)

    def close(self) -> None:
        """Wait for a survey that has begun, and let go of the log."""
        with self._lock:
            looking = self._looking
        if looking is not None:
            looking.join()
        self.log.close()
