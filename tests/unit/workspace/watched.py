"""A root that is watched, and what is new in it: each test looks until it has the news that it expects."""

import time
from collections import deque
from contextlib import contextmanager

from catmem.workspace.change_feed import Watch, heard

SECONDS = 30
"""Far more than anything here takes, on whatever machine."""


class Told:
    """What a watch finds, one after the other. All that happens from when it is made on is found."""

    def __init__(self, workspace):
        self.workspace = workspace
        self.watch = Watch(workspace)
        self._news = deque(self.watch.look())

    def next(self):
        ends = time.monotonic() + SECONDS
        while not self._news:
            assert time.monotonic() < ends, "nothing new"
            self._news.extend(self.watch.look())
        return self._news.popleft()

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

    def said(self, news, actor=None):
        """What is told of some news; ``None`` for nothing."""
        return next((said for _, said in heard(self.workspace, [news], actor)), None)


@contextmanager
def watched(workspace):
    """What is new from now on: everything was looked at."""
    yield Told(workspace)
