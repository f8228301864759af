"""The fleet view says of any profiles what ``visible`` shows them and ``Rights`` lets them do; reasons agree with it."""

from hypothesis import given
from hypothesis import strategies as st

from catmem.config.access import Rights, visible
from catmem.config.config import Category, Taxonomy
from catmem.config.profile import Profile
from catmem.model.document import parse
from catmem.names import UNCATEGORIZED, slugify
from catmem.workspace.reports import fleet_of, reasons

SLUGS = ["alpha", "beta", "finance-pay", "finance-tax", "ünï-code", "_", "any", "x_y", "中文"]
SELECTORS = [
    *SLUGS, "comm", "!comm", "finance-*", "*", "!finance-pay", "!*", "?lpha", "![ab]*", UNCATEGORIZED,
    "!" + UNCATEGORIZED,
]  # fmt: skip
lists = st.lists(st.sampled_from(SELECTORS), max_size=4).map(tuple)
profiles = st.builds(
    Profile,
    name=st.sampled_from(["a", "b", "c", "d"]),
    tier=st.sampled_from([1, 2, 2, 3]),
    user_memory_categories=lists,
    memory_categories=lists,
    writable_categories=lists,
    include_uncategorized=st.sampled_from([None, None, True, False]),
    may_verify=st.sampled_from([None, True, False]),
)
fleets = st.lists(profiles, max_size=4, unique_by=lambda profile: profile.name)
taxonomies = st.builds(
    lambda declared, closed: Taxonomy(
        closed=closed,
        categories={each: Category(each, each, aliases=("comm",) if each == "alpha" else ()) for each in declared},
    ),
    st.lists(st.sampled_from(SLUGS), unique=True),
    st.booleans(),
)
sections = st.lists(st.sampled_from([*SLUGS, "comm"]), max_size=5)


def document(titles, taxonomy, *, loose):
    text = "loose\n" * loose + "".join(f"\n## {title}\nwords\n§\nmore\n" for title in titles)
    return parse(text, aliases=taxonomy.aliases)


def counts(target, parsed):
    found = {}
    for entry in parsed.entries:
        held = (entry.category, target)
        found[held] = found.get(held, 0) + 1
    return found


@given(fleets, taxonomies, sections, sections, st.booleans())
def test_the_matrix_is_what_visible_shows_and_rights_allow(chosen, taxonomy, user, memory, loose):
    assert all(slugify(each) == each for each in SLUGS)
    documents = {
        "user": document(user, taxonomy, loose=loose),
        "memory": document(memory, taxonomy, loose=loose),
    }
    entries = {held: count for target, each in documents.items() for held, count in counts(target, each).items()}
    fleet = fleet_of(chosen, taxonomy, entries)
    assert {category for category, _ in entries} <= set(fleet.categories)
    for profile in chosen:
        for target, each in documents.items():
            seen = set(visible(each, target, profile, taxonomy).categories)
            told = {name for name in fleet.categories if fleet.cells[name][profile.name].reads(target)}
            present = {entry.category for entry in each.entries}
            assert told & present == seen
        rights = Rights(profile, "user", taxonomy)
        written = {name for name in fleet.categories if fleet.cells[name][profile.name].write}
        assert written == {name for name in fleet.categories if rights.may_write(name)}


@given(fleets, taxonomies, sections, sections, st.booleans())
def test_orphans_are_the_entries_that_no_specialist_sees(chosen, taxonomy, user, memory, loose):
    documents = {"user": document(user, taxonomy, loose=loose), "memory": document(memory, taxonomy, loose=loose)}
    entries = {held: count for target, each in documents.items() for held, count in counts(target, each).items()}
    orphans = fleet_of(chosen, taxonomy, entries).orphans()
    for target, each in documents.items():
        seen: set[str] = set()
        for profile in chosen:
            if profile.tier > 1:
                seen.update(visible(each, target, profile, taxonomy).categories)
        unseen = {entry.category for entry in each.entries} - seen
        told = {orphan.category for orphan in orphans if orphan.target in {None, target}}
        assert unseen == told & {entry.category for entry in each.entries}


@given(profiles, taxonomies, st.sampled_from([*SLUGS, UNCATEGORIZED]))
def test_a_reason_says_what_the_matrix_says(profile, taxonomy, category):
    fleet = fleet_of([profile], taxonomy, {(category, "user"): 1})
    category = taxonomy.aliases.get(category, category)
    cell = fleet.cells[category][profile.name]
    user, memory, write, verify = reasons(profile, category, taxonomy)
    answers = [reason.answer == "yes" for reason in (user, memory, write, verify)]
    may_verify = cell.reads() and Rights(profile, "user", taxonomy).may_verify
    assert answers == [cell.user, cell.memory, cell.write, may_verify]
    assert all(reason.because for reason in (user, memory, write, verify))
