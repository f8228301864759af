"""Profiles side by side: the matrix and orphans."""

from __future__ import annotations

from catmem.config.config import Category, Taxonomy
from catmem.config.profile import Profile
from catmem.workspace.reports import Cell, Orphan, access_of, categories_of, fleet_of
from tests.together import together

LOOSE = "__uncategorized__"
OPEN = Taxonomy()
CLOSED = Taxonomy(closed=True, categories={each: Category(each, each.title()) for each in ("talk", "pay")})
ALIASED = Taxonomy(categories={"talk": Category("talk", "Talk", aliases=("speech",))})
CHIEF = Profile("chief", tier=1, user_memory_categories=("*",), memory_categories=("*",))


@together(
    ("cell", "target", "mark"),
    [
        (Cell(user=True, memory=True, write=False), None, "r"),
        (Cell(user=False, memory=True, write=False), None, "r"),
        (Cell(user=False, memory=True, write=False), "user", "."),
        (Cell(user=False, memory=True, write=True), "memory", "rw"),
        (Cell(user=False, memory=True, write=True), "user", "d"),
        (Cell(user=False, memory=False, write=True), None, "d"),
        (Cell(user=False, memory=False, write=False), None, "."),
    ],
)
def test_a_mark_says_what_a_profile_may_do(cell, target, mark):
    assert cell.mark(target) == mark


@together(
    ("profile", "taxonomy", "category", "cell"),
    [
        (Profile("a"), OPEN, "talk", Cell(user=False, memory=False, write=False)),
        (Profile("a", user_memory_categories=("t*",)), OPEN, "talk", Cell(user=True, memory=False, write=False)),
        (Profile("a", memory_categories=("t*", "!talk")), OPEN, "talk", Cell(user=False, memory=False, write=False)),
        (Profile("a", memory_categories=("speech",)), ALIASED, "talk", Cell(user=False, memory=True, write=False)),
        (Profile("a", user_memory_categories=("*",)), CLOSED, "other", Cell(user=False, memory=False, write=False)),
        (Profile("a", writable_categories=("talk",)), CLOSED, "talk", Cell(user=False, memory=False, write=True)),
        (Profile("a", tier=1), OPEN, "talk", Cell(user=False, memory=False, write=True)),
        (Profile("a"), OPEN, LOOSE, Cell(user=True, memory=True, write=False)),
        (Profile("a", include_uncategorized=True), OPEN, LOOSE, Cell(user=True, memory=True, write=False)),
        (Profile("a", include_uncategorized=False), OPEN, LOOSE, Cell(user=False, memory=False, write=False)),
        (Profile("a", user_memory_categories=(LOOSE,)), OPEN, LOOSE, Cell(user=True, memory=False, write=False)),
        (Profile("a", memory_categories=("!*",)), OPEN, LOOSE, Cell(user=False, memory=False, write=False)),
    ],
)
def test_what_a_profile_may_do_in_a_category(profile, taxonomy, category, cell):
    assert access_of(profile, (category,), taxonomy) == {category: cell}


def test_categories_are_the_declared_in_order_then_the_named_and_the_present_then_the_loose():
    profile = Profile("a", user_memory_categories=("zoo", "b*", "speech"), writable_categories=("!ant",))
    assert categories_of([profile], ALIASED, ["mid", "speech", LOOSE]) == ("talk", "ant", "mid", "zoo", LOOSE)


def test_profiles_stand_by_tier_and_name():
    fleet = fleet_of([Profile("b"), Profile("a", tier=3), CHIEF, Profile("c")], OPEN, {})
    assert [profile.name for profile in fleet.profiles] == ["chief", "b", "c", "a"]


TALKER = Profile("talker", user_memory_categories=("talk",))


@together(
    ("profiles", "taxonomy", "entries", "orphans"),
    [
        # Declared, and only tier 1 reads it.
        ([CHIEF, TALKER], CLOSED, {}, [Orphan("pay", None, 0, declared=True, readers=("chief",))]),
        # Not declared in a closed taxonomy: not even the pattern of tier 1 reaches it.
        (
            [CHIEF, Profile("b", user_memory_categories=("*",))],
            CLOSED,
            {("slip", "user"): 2},
            [Orphan("slip", None, 2, declared=False, readers=())],
        ),
        # Read, but not from the file in which the entries stand.
        (
            [TALKER],
            OPEN,
            {("talk", "user"): 1, ("talk", "memory"): 3},
            [Orphan("talk", "memory", 3, declared=False, readers=())],
        ),
        # Named by a profile that takes it away, without any entry: nothing is lost.
        ([Profile("b", user_memory_categories=("!pay",))], OPEN, {}, []),
        # Entries without a category, which only a profile sees that names none.
        ([TALKER], OPEN, {(LOOSE, "user"): 2}, [Orphan(LOOSE, "user", 2, declared=False, readers=())]),
        ([TALKER, Profile("b")], OPEN, {(LOOSE, "user"): 2}, []),
        ([], OPEN, {("talk", "user"): 0}, []),
    ],
)
def test_orphans_are_what_no_specialist_reads(profiles, taxonomy, entries, orphans):
    assert fleet_of(profiles, taxonomy, entries).orphans() == orphans
