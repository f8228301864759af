"""A seed that leaves out what is over a target's limit, by priority, and does the same again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from catmem.config.config import Config, Taxonomy
from catmem.config.profile import Profile
from catmem.errors import OverBudgetError
from catmem.model.document import parse
from catmem.names import UNCATEGORIZED
from catmem.seeding.plan import plan_fitting
from catmem.seeding.slices import Parts, offer, plan_file, sliced
from catmem.text import size_of
from tests.golden.case import put
from tests.roots import put_bytes, text_of
from tests.unit.seeding.seeds import DAY, bodies, locked, seed, seed_root

SOURCE = (
    "## Rules\n[verified_date: 2026-11-01] Rule one.\n§\n[verified_date: 2026-11-01] Rule two.\n\n"
    "## Talk\n[verified_date: 2026-11-01] Talk one.\n§\n[verified_date: 2020-01-01] Talk old.\n"
)
PROFILE = "seed_from: boss\nuser_memory_categories: [talk, rules]\nlimits: {{user: {}}}\n"


def root_with(tmp_path, limit, text=SOURCE):
    return seed_root(tmp_path, profiles={"neo": PROFILE.format(limit)}, text=text)


def left_out(result, target="neo/user"):
    return [
        (each.version.body, each.withheld) for file in result.files if file.plan.target == target
        for each in file.plan.withheld
    ]  # fmt: skip


def test_stale_entries_stay_out_first_then_those_of_the_last_category(tmp_path):
    for limit, kept in [
        (500, ["Rule one.", "Rule two.", "Talk one.", "Talk old."]),
        (150, ["Rule one.", "Rule two.", "Talk one."]),
        (100, ["Rule one.", "Talk one."]),
        (60, ["Talk one."]),
        (20, []),
    ]:
        workspace = root_with(tmp_path / str(limit), limit)
        result = seed(workspace, "neo", fit=True)
        assert (bodies(workspace), result.refused) == (kept, ()), limit
        assert size_of(text_of(workspace)) <= limit
        out = [body for body in ["Rule one.", "Rule two.", "Talk one.", "Talk old."] if body not in kept]
        assert left_out(result) == [(body, f"over the limit of {limit}") for body in out]


def test_a_second_seed_changes_no_byte_and_the_plan_is_in_sync(tmp_path):
    workspace = root_with(tmp_path, 100)
    seed(workspace, "neo", fit=True)
    lock, text = (tmp_path / "catmem.seed.lock").read_bytes(), text_of(workspace)
    assert workspace.plan_seed("boss", "neo", as_of=DAY, fit=True).in_sync
    again = seed(workspace, "neo", fit=True)
    assert [each.revision for each in again.files] == [None]
    assert left_out(again) == [("Rule two.", "over the limit of 100"), ("Talk old.", "over the limit of 100")]
    assert ((tmp_path / "catmem.seed.lock").read_bytes(), text_of(workspace)) == (lock, text)


def test_what_was_left_out_is_not_on_record_so_a_plain_seed_brings_it_or_is_refused(tmp_path):
    workspace = root_with(tmp_path, 100)
    seed(workspace, "neo", fit=True)
    assert [text.partition("] ")[2] for text in locked(workspace)] == ["Rule one.", "Talk one."]
    text = text_of(workspace)
    (refused,) = seed(workspace, "neo").refused
    assert isinstance(refused.error, OverBudgetError)
    assert "--fit" in refused.error.hint
    assert text_of(workspace) == text
    put(tmp_path / "profiles" / "neo.yaml", PROFILE.format(500))
    assert seed(workspace, "neo").refused == ()
    assert bodies(workspace) == ["Rule one.", "Rule two.", "Talk one.", "Talk old."]


def test_a_copy_makes_room_for_what_goes_before_it(tmp_path):
    workspace = root_with(tmp_path, 100)
    seed(workspace, "neo", fit=True)
    put_bytes(
        workspace,
        "boss/user",
        SOURCE.replace("§\n[verified_date: 2020-01-01] Talk old", "§\n[verified_date: 2026-11-02] Talk new"),
    )
    result = seed(workspace, "neo", fit=True)
    assert bodies(workspace) == ["Talk one.", "Talk new."]
    assert [body for body, _ in left_out(result)] == ["Rule one.", "Rule two."]


def test_the_targets_own_words_stay(tmp_path):
    workspace = root_with(tmp_path, 160)
    own = "## Talk\nMy own words, which take all the room that there is in this file.\n"
    put_bytes(workspace, "neo/user", own)
    seed(workspace, "neo", fit=True)
    assert bodies(workspace) == ["Talk one.", "My own words, which take all the room that there is in this file."]
    put_bytes(workspace, "neo/user", text_of(workspace).replace("Talk one.", "Talk one, as I say it."))
    before = text_of(workspace)
    assert seed(workspace, "neo", fit=True).refused == ()
    assert text_of(workspace) == before


def test_what_the_target_took_out_does_not_come_back_when_there_is_room(tmp_path):
    workspace = root_with(tmp_path, 150)
    seed(workspace, "neo", fit=True)
    put_bytes(workspace, "neo/user", text_of(workspace).replace("[verified_date: 2026-11-01] Rule one.\n§\n", ""))
    put(tmp_path / "profiles" / "neo.yaml", PROFILE.format(100))
    seed(workspace, "neo", fit=True)
    put(tmp_path / "profiles" / "neo.yaml", PROFILE.format(500))
    seed(workspace, "neo", fit=True)
    assert "Rule one." not in bodies(workspace)


def test_a_file_over_its_limit_without_any_copy_is_left_as_it_is(tmp_path):
    workspace = root_with(tmp_path, 20)
    own = "## Talk\nMy own words, which take all the room that there is.\n"
    put_bytes(workspace, "neo/user", own)
    result = seed(workspace, "neo", fit=True)
    assert (text_of(workspace), result.refused) == (own, ())
    assert len(left_out(result)) == 4


@pytest.mark.parametrize("fit", [False, True])
def test_where_all_fits_it_makes_no_difference(tmp_path, fit):
    workspace = seed_root(tmp_path)
    plan = workspace.plan_seed("boss", as_of=DAY, fit=fit)
    assert [each.after for each in plan.files] == [
        each.after for each in workspace.plan_seed("boss", as_of=DAY, fit=not fit).files
    ]


# --- laws ---

CONFIG = Config(Path())
ALL = Profile("boss", tier=1, user_memory_categories=("*",), include_uncategorized=True)
TAGS = st.sampled_from(["", "[verified_date: 2026-11-01] ", "[verified_date: 2020-01-01] ", "[expires: 2026-11-20] "])
ENTRIES = st.lists(st.tuples(st.sampled_from("ABC"), TAGS, st.integers(1, 9)), max_size=9, unique_by=lambda x: x[2])


WORDS = ["who", "what", "when", "where", "why", "how", "which", "whose", "whither"]


def text_with(entries):
    """A file whose entries are like no other, of one word to nine."""
    grouped = {}
    for category, tags, number in entries:
        grouped.setdefault(category, []).append(f"{tags}{' '.join(f'{word}{number}' for word in WORDS[:number])}.")
    return "\n".join(f"## {category}\n" + "\n§\n".join(bodies) + "\n" for category, bodies in grouped.items())


@given(ENTRIES, ENTRIES, ENTRIES, st.integers(1, 300))
def test_a_seed_that_fits_fits_and_a_second_one_finds_nothing_to_do(was, now, own, limit):
    profile = Profile("neo", user_memory_categories=("b", "a", "c", UNCATEGORIZED), limits={"user": limit})
    taxonomy = Taxonomy()

    def slice_of(text):
        offered = offer(parse(text), "user", ALL, taxonomy, as_of=DAY)
        return offered, sliced(offered, "user", profile, taxonomy)

    first, entries = slice_of(text_with(was))
    begun = plan_file(Parts("neo/user", "boss/user", first, entries, None), parse(""))
    ours = text_with(own) or begun.after
    offered, entries = slice_of(text_with(now))
    parts = Parts("neo/user", "boss/user", offered, entries, begun.entries)
    assume(not plan_file(parts, parse(ours)).conflicts)  # what is open is for a person to settle first
    plan = plan_fitting(parts, parse(ours), profile, CONFIG)
    if size_of(plan.after) > max(limit, size_of(ours)):
        assert all(row.state != "new" for row in plan.rows)  # all left that may: it is refused
        return
    again = plan_fitting(parts._replace(base=plan.entries), parse(plan.after), profile, CONFIG)
    assert again.after == plan.after
    assert {each.key for each in again.entries} == {each.key for each in plan.entries}
