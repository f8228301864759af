"""Which entries of a slice a target gets whose limit is too small for all of them (``catmem seed --fit``).

They leave in the order in which a prompt over its budget leaves them out: expired, stale, without a category, then the
last in the profile's order of categories. The fewest leave that must. What the target changed, took out or has of its
own is no part of the choice, so a second seed chooses the same.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from catmem.config.access import visible_categories
from catmem.config.profile import limit_of
from catmem.model.pairing import pair_entries
from catmem.model.splice import read_like
from catmem.model.version import Version
from catmem.names import UNCATEGORIZED
from catmem.prompt.prompt import leaving_rank
from catmem.seeding.plan import OVER
from catmem.seeding.seed_lock import Seeded
from catmem.seeding.slices import base_of, plan_file
from catmem.staleness.freshness import freshness
from catmem.text import size_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from catmem.config.config import Config
    from catmem.config.profile import Profile
    from catmem.model.document import Document
    from catmem.seeding.slices import FilePlan, Parts, Resolve


def plan_fitting(
    parts: Parts, ours: Document, profile: Profile, config: Config, *, resolve: Resolve | None = None
) -> FilePlan:
    """The plan of one file of ``profile`` within its limit; what leaves for it is ``withheld``, and not on record.

    A file that is over its limit is to become no longer; if that takes more than copies, the plan is too long.
    """
    plan = plan_file(parts, ours, resolve=resolve)
    target = parts.target.partition("/")[2]
    limit = limit_of(profile, target, config)
    if limit is None:
        return plan
    most = max(limit, size_of(ours.text))
    if size_of(plan.after) <= most:
        return plan
    parts, leaving = _leaving(parts, ours, read_like(plan.after, parts.offered.document))
    order = _in_order(parts, leaving, profile, config, limit)
    fewest, enough = 1, len(order)
    while fewest < enough:
        middle = (fewest + enough) // 2
        if size_of(_without(parts, ours, order[:middle], resolve).after) <= most:
            enough = middle
        else:
            fewest = middle + 1
    out = order[:fewest]
    why = f"{OVER} of {limit:,}"
    left = [parts.slice[index] for index in sorted(out)]
    plan = _without(parts, ours, out, resolve)
    left = [each if each.withheld else each._replace(withheld=why) for each in left]
    return replace(plan, withheld=(*plan.withheld, *left))


def _without(parts: Parts, ours: Document, gone: Collection[int], resolve: Resolve | None) -> FilePlan:
    left = set(gone)
    kept = tuple(each for index, each in enumerate(parts.slice) if index not in left)
    return plan_file(parts._replace(slice=kept), ours, resolve=resolve)


def _leaving(parts: Parts, ours: Document, seeded: Document) -> tuple[Parts, list[int]]:
    """The entries of the slice that may leave: those that would stand in the target as the source has them.

    ``seeded`` is the target with the whole slice. A copy that the target changed, and that nevertheless comes to say
    what the source says, counts as seeded the way it is: then it may go like any other copy.
    """
    base = list(base_of(parts, ours))
    were = [Version.read(each.category, each.text) for each in base]
    known = {there: here for here, there in pair_entries(were, [each.version for each in parts.slice]).items()}
    copies = pair_entries(were, ours.entries)
    standing = Counter((entry.category, entry.id) for entry in seeded.entries)
    leaving: list[int] = []
    for index, each in enumerate(parts.slice):
        number = known.get(index)
        if each.is_hostile or not standing[each.key] or (each.withheld and number is None):
            continue
        standing[each.key] -= 1
        leaving.append(index)
        if number in copies:
            copy = ours.entries[copies[number]]
            base[number] = Seeded(copy.category, copy.id, copy.text)
    return (parts if parts.base is None else parts._replace(base=tuple(base))), leaving


def _in_order(parts: Parts, leaving: Sequence[int], profile: Profile, config: Config, limit: int) -> list[int]:
    """Their places in the slice, the first to leave first. What is over the limit by itself goes before all others."""
    target = parts.target.partition("/")[2]
    found = dict.fromkeys(each.version.category for each in parts.slice)
    order = visible_categories(found, target, profile, config.taxonomy)

    def place(index: int) -> tuple[bool, int, bool, int, str, int]:
        version = parts.slice[index].version
        state, name = freshness(version, profile, config, as_of=parts.offered.as_of), version.category
        fits = size_of(version.text) <= limit
        return not fits, -leaving_rank(state, name), name == UNCATEGORIZED, order.get(name, 0), name, index

    return sorted(leaving, key=place, reverse=True)
