"""The base of a merge whose sides have several, none of which came before the other.

That is so where two lines were merged crosswise. As git's recursive strategy does, the bases are merged first, on what
they come from. What they disagree about is taken as it was before both: so a side that keeps either of their versions
changed it, and two sides that keep different ones conflict. With both versions in the base each side would seem to have
removed one, and neither would be left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.model.merge import Merging, Outcome, Sides, titled_sides

if TYPE_CHECKING:
    from catmem.model.document import Document
    from catmem.model.version import Version


def merged_base(base: Document, one: Document, other: Document) -> str:
    """The text that two bases, which come from ``base``, are taken for. Raises ``EditError`` (``not_possible``)."""
    if other.text in {one.text, base.text}:
        return one.text
    if one.text == base.text:
        return other.text
    swapped = other.text < one.text
    sides = Sides.of(titled_sides(base, *((other, one) if swapped else (one, other))))
    return _Earlier(sides, None, swapped=swapped).run()


class _Earlier(Merging):
    """One such merge."""

    def removal(self, base: Version, near: Version | None, far: Version | None) -> Outcome:
        return self._as_before(base, super().removal(base, near, far))

    def both_changed(self, base: Version, near: Version, far: Version) -> Outcome:
        return self._as_before(base, super().both_changed(base, near, far))

    def _as_before(self, base: Version, outcome: Outcome) -> Outcome:
        if outcome.reason is None:
            return outcome
        self.instead[base.body] += 1  # it may stand on neither side
        return Outcome([base], None)
