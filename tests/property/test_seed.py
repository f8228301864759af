"""The laws of seeding, over random fleets: whatever people and agents did to source, targets and lock."""

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from hypothesis import assume, example, given, reject, settings
from hypothesis import strategies as st

from catmem.config.config import Taxonomy
from catmem.config.profile import Profile
from catmem.errors import EditError
from catmem.model.document import parse
from catmem.model.splice import titled
from catmem.seeding.seed_lock import LOCK_NAME
from catmem.seeding.slices import SeedInputs, offer, plan_file, sliced
from tests.property.strategies import texts
from tests.roots import make_root, put_bytes, text_of

DAY = date(2026, 11, 21)
CATEGORIES = ("talk", "rules", "money", "plans")
TAXONOMY = Taxonomy(closed=False, card_titles=False, categories={})

# --- one file, any text ---------------------------------------------------------------------------------------------

reader = Profile("boss", tier=1, user_memory_categories=("*", "__uncategorized__"))


def planned(source: str, target: str, base: str | None, names: tuple[str, ...]):
    """The plan of seeding the text ``source`` into ``target``, where ``base`` was seeded before."""
    profile = Profile("neo", user_memory_categories=names)

    def slice_of(text):
        offered = offer(parse(text), "user", reader, TAXONOMY, as_of=DAY)
        return offered, sliced(offered, "user", profile, TAXONOMY)

    offered, entries = slice_of(source)
    before = None if base is None else tuple(each.seeded() for each in slice_of(base)[1] if each.withheld is None)
    parts = SeedInputs("neo/user", "boss/user", offered, entries, before)
    try:
        return parts, plan_file(parts, parse(target))
    except EditError as error:
        assert error.code == "not_possible"
        reject()  # no text says what should be there, and the file stays as it is


def own_entries(before: str, after: str):
    """The entries of a target's text: a heading that leads a flat one becomes its title when the first section arrives."""
    document = parse(before)
    return (titled(document) if parse(after).scan.headers else document).entries


selections = st.sampled_from([("*",), ("finance", "c"), ("rules-old", "__uncategorized__"), ("f*", "!finance")])
bases = st.none() | texts()


@given(texts(), texts(), bases, selections)
def test_a_second_seed_of_any_text_finds_nothing_to_do(source, target, base, names):
    parts, plan = planned(source, target, base, names)
    again = plan_file(parts._replace(base=plan.entries), parse(plan.after))
    assert (again.after, again.entries) == (plan.after, plan.entries)


@given(texts(), texts(), selections)
@example("## Finance\n", "## F\n\\§\n", ("*",))
def test_without_a_base_every_entry_of_the_target_keeps_its_bytes(source, target, names):
    _, plan = planned(source, target, None, names)
    kept = [(entry.category, entry.raw) for entry in parse(plan.after).entries]
    for entry in own_entries(target, plan.after):
        kept.remove((entry.category, entry.raw))


@given(texts(), texts(), bases, selections)
def test_no_entry_arrives_in_a_category_that_the_target_does_not_name(source, target, base, names):
    _, plan = planned(source, target, base, names)
    profile = Profile("neo", user_memory_categories=names)
    had = {(entry.category, entry.body) for entry in own_entries(target, plan.after)}
    for entry in parse(plan.after).entries:
        named = profile.selectors("user", TAXONOMY).matches(entry.category)
        assert named or (entry.category, entry.body) in had


# --- fleets ---------------------------------------------------------------------------------------------------------


@dataclass
class Side:
    """The entries of one file, by category, as somebody edits them."""

    entries: dict[str, list[str]] = field(default_factory=dict)
    title: str = ""

    def text(self) -> str:
        head = f"# {self.title}\n\n" if self.title else ""
        return head + "\n".join(
            f"## {category}\n" + "\n§\n".join(bodies) + "\n" for category, bodies in self.entries.items() if bodies
        )


words = st.lists(
    st.sampled_from(["alpha", "beta", "gamma", "delta", "kappa", "sigma", "omega"]), min_size=2, max_size=5
)
tags = st.sampled_from(["", "", "[verified_date: 2026-10-01] ", "[created: 2026-09-01, domain: finance] "])


@st.composite
def sides(draw, mark: str) -> Side:
    """A file whose every entry holds ``mark`` and its category, and is like no other."""
    side = Side(title=draw(st.sampled_from(["", "About"])))
    number = 0
    for category in draw(st.permutations(CATEGORIES)):
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            said = " ".join(draw(words))
            side.entries.setdefault(category, []).append(f"{draw(tags)}{mark} of {category} {number}: {said}")
    return side


edits = st.lists(
    st.tuples(st.sampled_from(["add", "reword", "remove", "tag"]), st.integers(0, 50), st.sampled_from(CATEGORIES)),
    max_size=4,
)


def edited(text: str, changes, mark: str) -> str:
    """A text after some edits by hand; what is added holds ``mark``."""
    side = Side(title=parse(text).title or "")
    for entry in parse(text).entries:
        side.entries.setdefault(entry.category, []).append(entry.raw)
    for number, (kind, place, category) in enumerate(changes):
        if kind == "add":
            side.entries.setdefault(category, []).append(f"{mark} of {category} new {number}")
            continue
        found = [(name, index) for name, raws in side.entries.items() for index in range(len(raws))]
        if not found:
            continue
        name, index = found[place % len(found)]
        if kind == "remove":
            del side.entries[name][index]
        elif kind == "reword":
            side.entries[name][index] += f" and {mark} said so"
        else:
            raw = side.entries[name][index].rpartition("] ")[2]
            side.entries[name][index] = f"[verified_date: 2026-11-0{number + 1}] {raw}"
    return side.text()


def sown(text: str) -> str:
    """The text of a source, with an entry in a category: a source that lost all of them is refused."""
    return text if "## " in text else "## talk\nx\n"


selectors = st.lists(st.sampled_from([*CATEGORIES, "*", "m*", "!money", "!talk"]), min_size=1, max_size=3, unique=True)


def named(patterns) -> set[str]:
    profile = Profile("x", user_memory_categories=tuple(patterns))
    return {category for category in CATEGORIES if profile.selectors("user", TAXONOMY).matches(category)}


@contextmanager
def fleet(source: Side, targets: dict[str, list[str]], own: dict[str, Side] | None = None):
    profiles = {"boss": "tier: 1\nuser_memory_categories: ['*']\n"}
    profiles |= {
        name: "seed_from: boss\nuser_memory_categories: [{}]\n".format(", ".join(f"'{one}'" for one in patterns))
        for name, patterns in targets.items()
    }
    files = {"boss/user": source.text(), **{f"{name}/user": side.text() for name, side in (own or {}).items()}}
    with tempfile.TemporaryDirectory() as folder:
        yield make_root(Path(folder), profiles=profiles, files=files)


def seeded(workspace, targets=None):
    return workspace.apply_seed(workspace.plan_seed("boss", targets, as_of=DAY))


def state(workspace, names):
    lock = workspace.root / LOCK_NAME
    texts_now = {name: text_of(workspace, f"{name}/user") for name in names}
    heads = {name: workspace.store.head(f"{name}/user") for name in names}
    return texts_now, heads, lock.read_bytes() if lock.exists() else b""


fleets = st.dictionaries(st.sampled_from(["neo", "trinity", "ash"]), selectors, min_size=1)
FEW = settings(max_examples=max(15, settings().max_examples // 4))


REWORDED_FIRST = Side({"rules": ["SOURCE of rules 4: alpha alpha", "SOURCE of rules 5: alpha alpha"]})


@FEW
@given(sides("SOURCE"), fleets, sides("OWN"), edits, edits, st.booleans())
@example(
    Side({"talk": ["SOURCE of talk 1: alpha alpha"]}),
    {"neo": ["talk"]},
    Side(),
    [("remove", 0, "talk")],
    [("reword", 0, "talk")],
    False,  # noqa: FBT003
).via("what arrives stands before the entry of an open conflict")
@example(
    REWORDED_FIRST,
    {"neo": ["rules"]},
    Side(),
    [("remove", 0, "talk")],
    [("reword", 0, "talk")],
    False,  # noqa: FBT003
).via("the base of an open conflict has to keep its place")
@example(
    Side({"rules": ["SOURCE of rules 1: alpha alpha"], "talk": ["SOURCE of talk 2: alpha", "SOURCE of talk 3: alpha"]}),
    {"neo": ["talk"]},
    Side(),
    [("add", 0, "talk"), ("remove", 1, "talk"), ("remove", 1, "talk")],
    [("remove", 0, "talk")],
    False,  # noqa: FBT003
).via("what may be an addition stands in the target already")
def test_seeding_again_changes_no_byte_and_a_new_plan_is_empty(  # noqa: PLR0917 - what hypothesis draws
    source, targets, own, there, here, lose
):
    with fleet(source, targets, {next(iter(targets)): own}) as workspace:
        seeded(workspace)
        put_bytes(workspace, "boss/user", sown(edited(text_of(workspace, "boss/user"), there, "EDIT")))
        for name in targets:
            put_bytes(workspace, f"{name}/user", edited(text_of(workspace, f"{name}/user"), here, name.upper()))
        if lose:
            (workspace.root / LOCK_NAME).unlink(missing_ok=True)
        seeded(workspace)
        before = state(workspace, targets)
        assert not workspace.plan_seed("boss", as_of=DAY).changes
        result = seeded(workspace)
        assert all(each.revision is None for each in result.files)
        assert state(workspace, targets) == before


@FEW
@given(sides("CANARY"), fleets, sides("OWN"), edits, edits)
def test_a_target_holds_nothing_of_a_category_that_its_profile_does_not_name(source, targets, own, there, moved):
    with fleet(source, targets, {next(iter(targets)): own}) as workspace:
        for text in (
            text_of(workspace, "boss/user"),
            edited(text_of(workspace, "boss/user"), [*there, *moved], "CANARY"),
        ):
            put_bytes(workspace, "boss/user", sown(text))
            seeded(workspace)
            for name, patterns in targets.items():
                found = text_of(workspace, f"{name}/user")
                hidden = set(CATEGORIES) - named(patterns)
                assert not [category for category in hidden if f"CANARY of {category}" in found]


@FEW
@given(sides("SOURCE"), sides("OWN"), selectors, edits)
def test_what_is_the_targets_own_keeps_its_bytes(source, own, patterns, there):
    with fleet(source, {"neo": patterns}, {"neo": own}) as workspace:
        seeded(workspace)
        put_bytes(workspace, "boss/user", sown(edited(text_of(workspace, "boss/user"), there, "EDIT")))
        seeded(workspace)
        found = text_of(workspace)
        kept = {entry.raw for entry in parse(found).entries}
        assert {entry.raw for entry in own_entries(own.text(), found)} <= kept


@FEW
@given(sides("SOURCE"), fleets, sides("OWN"), st.randoms(use_true_random=False))
def test_neither_the_order_of_targets_nor_that_of_runs_matters(source, targets, own, random):
    ends = []
    for one_by_one in (False, True):
        names = sorted(targets)
        with fleet(source, targets, {names[0]: own}) as workspace:
            if one_by_one:
                random.shuffle(names)
                for name in names:
                    seeded(workspace, [name])
            else:
                seeded(workspace, names)
            found, _, lock = state(workspace, sorted(targets))
            ends.append((found, lock))
    assert ends[0] == ends[1]


@FEW
@given(sides("SOURCE"), st.integers(0, 50), st.integers(0, 50))
def test_edits_of_different_entries_on_both_sides_survive(source, one, other):
    entries = [entry.raw for entry in parse(source.text()).entries]
    assume(len(entries) > 1)
    there, here = entries[one % len(entries)], entries[other % len(entries)]
    assume(there != here)
    with fleet(source, {"neo": ["*"]}) as workspace:
        seeded(workspace)
        put_bytes(workspace, "boss/user", text_of(workspace, "boss/user").replace(there, f"{there} THERE"))
        put_bytes(workspace, "neo/user", text_of(workspace).replace(here, f"{here} HERE"))
        result = seeded(workspace)
        found = {entry.raw for entry in parse(text_of(workspace)).entries}
        assert {f"{there} THERE", f"{here} HERE"} <= found
        assert not result.files[0].conflicts


@FEW
@given(sides("SOURCE"), selectors, selectors)
def test_a_chain_of_tiers_gives_what_the_top_gives_with_both_selectors(source, second, third):
    with fleet(source, {"lead": second, "scout": third, "both": sorted(named(second) & named(third))}) as workspace:
        seeded(workspace, ["lead", "both"])
        # The second tier needs an entry of its own where it got none: a source without any is refused.
        if text_of(workspace, "lead/user"):
            workspace.apply_seed(workspace.plan_seed("lead", ["scout"], as_of=DAY))
        assert says(text_of(workspace, "scout/user")) == says(text_of(workspace, "both/user"))


days = st.dates(date(2026, 11, 18), date(2026, 11, 24))
rounds = st.lists(
    st.tuples(
        st.sampled_from(["expire", "renew", "verify", "reword", "remove", "wait"]),
        st.sampled_from(["boss", "neo"]),
        st.integers(0, 50),
        days,
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


def dated(text: str, kind: str, place: int, day: date) -> str:
    """A text after one entry's dates, words or whole were changed."""
    document = parse(text)
    if not document.entries or kind == "wait":
        return text
    entry = document.entries[place % len(document.entries)]
    tags = {key: value for key, value in entry.tags.items() if kind != "renew" or key != "expires"}
    tags |= {"expires": str(day)} if kind == "expire" else {}
    tags |= {"verified_date": str(day)} if kind in {"renew", "verify"} else {}
    block = ", ".join(f"{key}: {value}" for key, value in tags.items())
    body = entry.body + (f" as of {day}" if kind == "reword" else "")
    side = Side(title=document.title or "")
    for each in document.entries:
        raw = f"[{block}] {body}" if block else body
        if each is not entry or kind != "remove":
            side.entries.setdefault(each.category, []).append(raw if each is entry else each.raw)
    return side.text()


def last_days(text: str) -> dict[tuple[str, str], date]:
    """The last day on which a file says something, by category and words."""
    return {
        (entry.category, entry.body): date.fromisoformat(str(entry.tags.get("expires", date.max)))
        for entry in parse(text).entries
    }


@FEW
@given(sides("SOURCE"), rounds)
@example(Side({"talk": ["SOURCE of talk 1: alpha alpha"]}), [("expire", "boss", 0, date(2026, 11, 20), True)])
@example(  # the target lets its copy hold on, and the source says it in other words, which expire as before
    Side({"talk": ["SOURCE of talk 1: alpha alpha"]}),
    [
        ("expire", "boss", 0, date(2026, 11, 18), True),
        ("renew", "neo", 0, date(2026, 11, 18), False),
        ("reword", "boss", 0, date(2026, 11, 18), True),
    ],
)
def test_after_a_seed_without_conflicts_no_copy_that_follows_its_source_says_more_than_that_on_any_day(source, changes):
    assume("## " in source.text())  # a flat source seeds nothing, and is told
    with fleet(source, {"neo": ["*"]}) as workspace:
        seeded(workspace)
        own: set[tuple[str, str]] = set()  # to which of its copies the target gave a day of its own
        for kind, who, place, day, again in changes:
            before = last_days(text_of(workspace, f"{who}/user"))
            text = dated(text_of(workspace, f"{who}/user"), kind, place, day)
            # A source that lost all of its categories is refused.
            put_bytes(workspace, f"{who}/user", sown(text))
            if who == "neo":
                own |= {key for key, until in last_days(text_of(workspace)).items() if before.get(key) != until}
            if not again:
                continue
            result = seeded(workspace)
            if any(each.conflicts for each in result.files):
                continue
            there = last_days(text_of(workspace, "boss/user"))
            here = {key: until for key, until in last_days(text_of(workspace)).items() if key not in own}
            assert {key: until for key, until in here.items() if until > there.get(key, date.min)} == {}
            assert workspace.plan_seed("boss", as_of=DAY).in_sync


def says(text):
    return {category: [entry.text for entry in entries] for category, entries in parse(text).by_category.items()}


@FEW
@given(
    sides("SOURCE"), sides("OWN"), selectors, edits, edits, st.sampled_from(["lost", "cut", "sides", "old", "other"])
)
def test_a_lock_that_is_lost_or_badly_merged_costs_no_entry(  # noqa: PLR0917 - what hypothesis draws
    source, own, patterns, there, here, fate
):
    with fleet(source, {"neo": patterns}, {"neo": own}) as workspace:
        seeded(workspace)
        lock = workspace.root / LOCK_NAME
        first = lock.read_text() if lock.exists() else ""
        put_bytes(workspace, "boss/user", sown(edited(text_of(workspace, "boss/user"), there, "EDIT")))
        put_bytes(workspace, "neo/user", edited(text_of(workspace), here, "HERE"))
        second = state(workspace, [])[2].decode()
        ruined = {
            "lost": None,
            "cut": first[: len(first) // 2],
            "sides": f"<<<<<<< ours\n{first}=======\n{second}>>>>>>> theirs\n",
            "old": first,
            "other": first.replace('"b2:', '"b3:'),
        }[fate]
        lock.unlink(missing_ok=True)
        if ruined is not None:
            lock.write_text(ruined)
        before = [entry.raw for entry in parse(text_of(workspace)).entries]
        result = seeded(workspace)
        after = [entry.raw for entry in parse(text_of(workspace)).entries]
        bodies = [entry.body for entry in parse(text_of(workspace)).entries]
        if fate in {"lost", "cut", "other"}:
            assert {parse(raw).entries[0].body for raw in before} <= set(bodies)
            assert {
                entry.body
                for entry in parse(text_of(workspace, "boss/user")).entries
                if entry.category in named(patterns)
            } <= set(bodies)
            if before and first and result.files:
                assert result.notes
        assert len(after) == len(set(after)) or len(before) != len(set(before))
