"""A root that is watched, and what the watch told: each test waits for the news that it expects, and for nothing else."""

from __future__ import annotations

import queue
import threading
from contextlib import contextmanager

from catmem.service.watching.news import told
from catmem.service.watching.watch import Watch

SECONDS = 30
"""Far more than anything here takes, on whatever machine."""


class Told:
    """What a watch told, one after the other."""

    def __init__(self, workspace):
        self.workspace = workspace
        self._news = queue.SimpleQueue()
        self.watch = Watch(workspace, lambda found: [self._news.put(each) for each in found])

    def next(self):
        return self._news.get(timeout=SECONDS)

    def is_quiet(self, seconds):
        """Whether nothing is told for so long; what is told, is told again."""
        try:
            news = self._news.get(timeout=seconds)
        except queue.Empty:
            return True
        rest = [news, *(self._news.get_nowait() for _ in range(self._news.qsize()))]
        for each in rest:
            self._news.put(each)
        return False

    def until(self, fits):
        """The first news that fits; what came before it."""
        passed = []
        while not fits(news := self.next()):
            passed.append(news)
        return news, passed

    def revision(self, revision, entity="neo/user"):
        """The news of a revision, and of nothing before it."""
        news, passed = self.until(lambda news: news.record is not None)
        assert passed == []
        assert (news.kind, news.entity, news.revision) == ("revision", entity, revision)
        return news

    def drift(self, digest, entity="neo/user"):
        """The news that the text is another one; a reader may have seen parts of a change on the way."""
        news, passed = self.until(lambda news: news.digest == digest)
        assert {each.kind for each in [*passed, news]} == {"drift"}
        assert news.entity == entity
        return news

    def nothing_but(self, change):
        """What is told up to the news of a change that is made now."""
        change()
        return self.until(lambda news: news.record is not None)[1]

    def said(self, news, actor=None):
        return told(self.workspace, news, actor)


@contextmanager
def watched(workspace):
    """What a watch tells from now on: it has looked at everything."""
    before = threading.active_count()
    found = Told(workspace)
    found.watch.start()
    try:
        assert found.watch.wait_until_ready(SECONDS)
        yield found
    finally:
        found.watch.stop()
        found.watch.join()
    assert threading.active_count() == before
