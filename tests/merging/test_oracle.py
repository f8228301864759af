"""The oracle itself: it finds nothing wrong with a merge by the scripts, and each kind of mistake where one is made."""

import random

from tests.merging.count import made
from tests.merging.oracle import Oracle, Told, check
from tests.merging.reference import reference
from tests.merging.scripts import HEAD, Item, Scene, Side, scene
from tests.together import together

SEEDS = range(600)


def judged(drawn, text, told):
    return {mistake.kind for mistake in Oracle(drawn).judge(text, told)}


@together("seed", range(0, 600, 100))
def test_a_seed_gives_the_same_scene_again(seed):
    assert scene(random.Random(seed)) == scene(random.Random(seed))


def test_texts_say_what_scenes_say():
    for seed in SEEDS:
        check(made(seed))


def test_nothing_is_wrong_with_a_merge_that_reads_the_scripts():
    for seed in SEEDS:
        drawn = made(seed)
        merged, told = reference(drawn)
        assert list(Oracle(drawn).judge(merged.text, told)) == [], seed


def with_the_base_beside_it(drawn, merged, told):
    there = {item.body for _, _, item in merged.items}
    back = [item for _, _, item in drawn.base.items if item.body not in there]
    sections = {title: list(items) for title, items in merged.sections.items()}
    sections.setdefault(HEAD, [])[:0] = back
    return Side({HEAD: sections.pop(HEAD), **sections}, title=merged.title).text, told


def with_the_sections_turned(drawn, merged, told):
    titles = [title for title in merged.sections if title]
    turned = dict(zip(titles, (merged.sections[title] for title in titles[::-1]), strict=True))
    return Side({HEAD: merged.sections.get(HEAD, []), **turned}, title=merged.title).text, told


def with_sections(change):
    """A merge in which this is made of the entries of each section."""
    return lambda _, merged, told: (
        Side({title: change(items) for title, items in merged.sections.items()}, title=merged.title).text,
        told,
    )


def with_told(change):
    """A merge that tells other conflicts than there are."""
    return lambda drawn, merged, told: (merged.text, change(drawn, told))


def with_everything_told(drawn, told):
    return told + [Told("body", item.body, None, None) for _, _, item in drawn.base.items]


def with_turned_names(_, told):
    return [Told(one.reason, one.base, one.theirs, one.ours) for one in told]


SPOILT = {
    "hidden": with_told(lambda *_: []),
    "untold": with_told(lambda *_: []),
    "false": with_told(with_everything_told),
    "misnamed": with_told(with_turned_names),
    "lost": with_sections(lambda items: [item for item in items if item.origin is not None]),
    "resurrected": with_the_base_beside_it,
    "doubled": with_sections(lambda items: [*items, *items]),
    "invented": with_sections(lambda items: [item._replace(body=f"{item.body} indeed") for item in items]),
    "misplaced": with_the_sections_turned,
    "reordered": with_sections(lambda items: items[::-1]),
    "tags": with_sections(lambda items: [item._replace(tags={}) for item in items]),
}


@together(("kind", "spoilt"), SPOILT.items())
def test_a_merge_that_is_spoilt_is_found_out(kind, spoilt):
    assert any(kind in judged(drawn, *spoilt(drawn, *reference(drawn))) for drawn in map(made, SEEDS))


def line(*items):
    return Side({HEAD: [Item(origin, body, {}) for origin, body in items]})


BASE = line((0, "plan v7"), (1, "Age: 41"), (2, "tea"), (3, "Omar"))


@together(
    ("ours", "theirs", "told", "kinds"),
    [
        # The same entry, silent, told, and told of its neighbour only.
        ([(0, "plan v8")], [(0, "plan v0 (stale)")], [], {"hidden"}),
        ([(0, "plan v8")], [(0, "plan v0 (stale)")], [("body", "plan v7", "plan v8", "plan v0 (stale)")], set()),
        ([(0, "plan v8")], [(0, "plan v0 (stale)")], [("body", "plan v7", "plan v8", None)], {"misnamed"}),
        ([(0, "plan v8")], [(0, None)], [], {"hidden"}),
        ([(0, "plan v8")], [(0, "plan v8")], [], set()),
        ([(0, None)], [(0, None)], [], set()),
        ([(0, None)], [(0, None), (2, "coffee")], [("removed", "plan v7", "plan v8", None)], {"false"}),
        ([(0, "plan v8")], [(0, "plan v8"), (1, "Age: 42")], [("removed", "plan v7", None, "Age: 42")], {"false"}),
        # Neighbours may be told; entries further apart may not.
        ([(0, "plan v8")], [(1, "Age: 42")], [], set()),
        ([(0, "plan v8")], [(1, "Age: 42")], [("body", "plan v7", "plan v8", "plan v7")], set()),
        ([(0, "plan v8")], [(2, "coffee")], [], set()),
        ([(0, "plan v8")], [(2, "coffee")], [("body", "plan v7", "plan v8", "plan v7")], {"false"}),
        # An addition beside what the other side changed may be told, one further away may not.
        ([(0, "plan v8")], [(None, "Ivo")], [("removed", "plan v7", "plan v8", None)], set()),
        ([(3, "Marta")], [(None, "Ivo")], [("removed", "Omar", "Marta", None)], {"false"}),
    ],
)
def test_which_conflicts_are_right(ours, theirs, told, kinds):
    def side(edits):
        changed = {origin: body for origin, body in edits if origin is not None}
        items = [(n, changed.get(n, item.body)) for _, n, item in BASE.items if changed.get(n, item.body) is not None]
        items[1:1] = [(None, body) for origin, body in edits if origin is None]
        return line(*items)

    drawn = Scene(BASE, side(ours), side(theirs))
    assert {mistake.kind for mistake in Oracle(drawn).judge_told([Told(*one) for one in told])} == kinds
