"""What a merge comes to that reads the scripts instead of the texts: the oracle has nothing to say against it."""

from collections.abc import Iterator

from tests.merging.oracle import EITHER, Due, Oracle, Told, merged_tags
from tests.merging.scripts import Item, Scene, Sections, Side


def reference(scene: Scene) -> tuple[Side, list[Told]]:
    """The merged document, and its conflicts."""
    oracle = Oracle(scene)
    due = {one.origin: one for one in oracle.due}
    sections: Sections = {title: [] for title in {**scene.ours.sections, **scene.theirs.sections}}
    for title, items in sections.items():
        items.extend(_section(oracle, due, title))
    told = [Told(one.reason, one.base, one.ours, one.theirs) for one in due.values()]
    return Side(sections, title=scene.base.title), told


def _section(oracle: Oracle, due: dict[int, Due], title: str) -> Iterator[Item]:
    """The entries of a section, in the order of the side that moved entries there."""
    first, second = (reading.side.sections.get(title, []) for reading in oracle.sides)
    if any(item.moved for item in second):
        first, second = second, first
    order = list(first)
    place = 0
    for item in second:
        mate = next((at for at, other in enumerate(order) if _is_one(item, other)), None)
        if mate is None:
            order.insert(place, item)
        place = place + 1 if mate is None else mate + 1
    seen: set[str] = set()
    for item in order:
        for version in [item] if item.origin is None else _versions(oracle, due, title, item.origin):
            if version.body not in seen:
                seen.add(version.body)
                yield version


def _is_one(item: Item, other: Item) -> bool:
    return item.origin == other.origin if item.origin is not None else item.body == other.body


def _versions(oracle: Oracle, due: dict[int, Due], title: str, origin: int) -> Iterator[Item]:
    """What an entry of the base is in a section, by the edits of both sides."""
    ours, theirs = oracle.sides
    section, was = ours.base[origin]
    here, there = ours.now.get(origin), theirs.now.get(origin)
    if here is None or there is None:
        if origin in due and (stays := here or there) and stays[0] == title:
            yield stays[1]
        return
    if (here[0] if here[0] != section else there[0]) != title:
        return
    if origin in due and due[origin].reason == "body":
        yield from (here[1], there[1])
        return
    tags = merged_tags(was, here[1], there[1])
    chosen = here[1] if here[1].body != was.body else there[1]
    yield chosen if tags is None or tags is EITHER else chosen._replace(tags=tags)
