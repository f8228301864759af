"""`python -m benchmarks proposals_page`: 100 proposals worked through in a real Chromium, as one person would.

Of each 20 proposals 16 are approved and three rejected for a reason, one of which is stale; one is approved in words of
the person. All is done with keys and clicks. A person is taken to do one thing a second (a key, a click, or a word that
is typed); what the browser takes for its pages comes on top of that. It needs Chromium and its driver, as the tests in
`tests/browser` do.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Result
from catmem.workspace.workspace import Workspace
from catmem.writing.request import Operation

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

_PROPOSALS, _PROFILES = 100, 10
_EACH = _PROPOSALS // _PROFILES
_MOST_SECONDS = 600.0
_MOST_BYTES = 100.0
_QUEUE = "/proposals"
_CONFIG = "approval: others\n"
_PROFILE = "user_memory_categories: [notes]\nwritable_categories: [notes]\n"
_APPROVED, _REJECTED, _OWN, _STALE = "good", "wrong", "nearly", "late"
_KINDS = {3: _REJECTED, 7: _STALE, 11: _OWN, 15: _REJECTED}
_CARDS = "return [...document.querySelectorAll('article.entry')].map((each) => each.innerText)"


def run(options: Namespace) -> list[Result]:
    """Work through the queue once."""
    del options
    from tests.browser.serving import serving
    from tests.browser.window import Window, start

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        root = _make_root(Path(folder) / "root")
        driver = start(Path(folder) / "chromium")
        try:
            with serving(root) as server:
                person = _Person(Window(driver, server.url, Path(folder)))
                person.work()
                person.window.leave()
        finally:
            driver.quit()
        _refuse_undone(root)
    seconds = person.actions + person.waited
    largest = max(person.sizes) / 1000
    return [
        Result(f"{_PROPOSALS} proposals: by a person, in all", seconds, None, seconds, _MOST_SECONDS, unit="s"),
        Result("  keys, clicks and words, one a second", person.actions, None, person.actions, None, unit="s"),
        Result("  of these, clicks", person.clicks, None, person.clicks, None, unit="", is_count=True),
        Result("  pages loaded", person.pages, None, person.pages, None, unit="", is_count=True),
        Result("  waited for pages", person.waited, None, person.waited, None, unit="s"),
        Result("  the largest page, without what is fetched once", 0.0, None, largest, _MOST_BYTES, unit="kB"),
    ]


@dataclass(slots=True)
class _Person:
    """Somebody before a window, with what they did so far, and how long they waited."""

    window: Any
    actions: int = 0
    clicks: int = 0
    pages: int = 0
    waited: float = 0.0
    sizes: list[int] = field(default_factory=list)

    def work(self) -> None:
        """Go through the queue until nothing waits: first what is approved, then what is rejected, then the rest."""
        with self._waiting():
            self.window.open(_QUEUE)
        while cards := self.window.run(_CARDS):
            if self._tick(cards, _APPROVED):
                with self._turning():
                    self._press("a")
            elif self._tick(cards, _REJECTED, _STALE):
                self._click(self.window.find("#ticked [name='reason']"))
                self._type("Not true.")
                with self._turning():
                    self._press("\n")
            else:
                self._say_it_otherwise()

    def _tick(self, cards: list[str], *kinds: str) -> bool:
        """Go from one card to the next, as far as there is one of these kinds, and tick those."""
        wanted = [any(kind in card for kind in kinds) for card in cards]
        last = max((index for index, is_one in enumerate(wanted) if is_one), default=-1)
        for is_one in wanted[: last + 1]:
            self._press("j")
            if is_one:
                self._press("t")
        return last >= 0

    def _say_it_otherwise(self) -> None:
        self._press("j")
        with self._turning():
            self._press("e")
        field = self.window.find("#content")
        self._click(field)
        self._type(" So far.")
        button = self.window.button("Approve")
        with self._turning():
            self._click(button)

    def _press(self, key: str) -> None:
        self.actions += 1
        self.window.press(key)

    def _type(self, words: str) -> None:
        self.actions += len(words.split())
        self.window.focused.send_keys(words)

    def _click(self, what: Any) -> None:  # noqa: ANN401 - an element of Selenium
        self.actions += 1
        self.clicks += 1
        self.window.click(what)

    @contextmanager
    def _turning(self) -> Iterator[None]:
        with self._waiting(), self.window.turning():
            yield

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.waited += time.perf_counter() - start
        self.pages += 1
        script = "return performance.getEntriesByType('navigation')[0].decodedBodySize"
        self.sizes.append(self.window.run(script))


def _fact(number: int) -> str:
    return (
        f"Vendor {number} is paid within {number % 28 + 2} days, and sends its invoices to the billing office by mail."
    )


def _make_root(folder: Path) -> Path:
    """Profiles with facts, of which each has rewordings that wait; some of these facts changed since."""
    (folder / "profiles").mkdir(parents=True)
    (folder / "catmem.yaml").write_text(_CONFIG, encoding="utf-8")
    names = [f"neo-{number}" for number in range(_PROFILES)]
    for name in names:
        (folder / "profiles" / f"{name}.yaml").write_text(_PROFILE, encoding="utf-8")
    workspace = Workspace.open(folder, search=False)
    for index, name in enumerate(names):
        numbers = range(index * _EACH, index * _EACH + _EACH)
        workspace.write(name, [Operation("add", _fact(number), category="notes") for number in numbers])
        for number in numbers:
            new = _fact(number).replace("by mail", f"by {_KINDS.get(number % 20, _APPROVED)} post")
            workspace.replace(name, _fact(number), content=new, actor=name, reason="The vendor wrote so this week.")
        for number in numbers:
            if _KINDS.get(number % 20) == _STALE:
                workspace.replace(name, _fact(number), content=_fact(number).replace("by mail", "by courier"))
    workspace.store.close()
    return folder


def _refuse_undone(root: Path) -> None:
    """Every fact says what the person decided."""
    workspace = Workspace.open(root, search=False)
    text = "".join(workspace.store.peek(f"neo-{number}/user").decode() for number in range(_PROFILES))
    workspace.store.close()
    found = {kind: text.count(f"by {kind} post") for kind in (_APPROVED, _REJECTED, _OWN, _STALE)}
    if found != {_APPROVED: 80, _REJECTED: 0, _OWN: 5, _STALE: 0} or text.count("So far.") != 5:  # noqa: PLR2004
        message = f"not everything was decided as the person meant it: {found}"
        raise AssertionError(message)
