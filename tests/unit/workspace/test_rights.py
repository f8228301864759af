"""Profiles side by side: their order, the categories, and orphans. The matrix: tests/property/test_fleet.py."""

from __future__ import annotations

from catmem.config.config import Category, Taxonomy
from catmem.config.profile import Profile
from catmem.workspace.reports import Orphan, categories_of, fleet_of
from tests.together import together

LOOSE = "__uncategorized__"
OPEN = Taxonomy()
CLOSED = Taxonomy(closed=True, categories={each: Category(each, each.title()) for each in ("talk", "pay")})
ALIASED = Taxonomy(categories={"talk": Category("talk", "Talk", aliases=("speech",))})
CHIEF = Profile("chief", tier=1, user_memory_categories=("*",), memory_categories=("*",))


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
