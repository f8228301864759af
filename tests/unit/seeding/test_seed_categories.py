"""A seed that keeps to some categories, and one whose source has none (docs/seeding.md)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.errors import ConfigError, UnknownNameError
from catmem.ops.memory_tool import memory_tool
from catmem.seeding.seed_lock import SeedFile
from catmem.store.contract import Change
from tests.roots import make_root, put_bytes, text_of
from tests.unit.seeding.seeds import DAY, NEO, PROFILES, TEXT, bodies, everything, locked, seed, seed_root

CHANGED = TEXT.replace("Likes tea", "Likes coffee").replace("Acme", "Bolt")


def test_a_seed_by_categories_leaves_the_lock_as_one_of_all_does(tmp_path):
    whole, parts = seed_root(tmp_path / "whole"), seed_root(tmp_path / "parts")
    seed(whole, "neo")
    seed(parts, "neo", categories="rules")
    seed(parts, "neo", categories="talk")
    assert SeedFile(parts).data() == SeedFile(whole).data()


def test_an_open_conflict_of_another_category_stays_open(workspace):
    seed(workspace, "neo")
    put_bytes(workspace, "boss/user", TEXT.replace("Vendor is Acme", "Vendor is Bolt"))
    put_bytes(workspace, "neo/user", NEO.replace("Vendor is Acme", "Vendor is Core"))
    assert seed(workspace, "neo", categories="talk", resolve="source").exit_status == 0
    assert [len(each.conflicts) for each in workspace.plan_seed("boss", "neo", as_of=DAY).files] == [1]


def test_a_file_that_was_emptied_is_filled_with_these_and_by_the_next_seed_with_the_others(workspace):
    seed(workspace, "neo")
    put_bytes(workspace, "neo/user", "")
    seed(workspace, "neo", categories="talk")
    assert bodies(workspace) == ["Likes tea.", "No calls before ten."]
    seed(workspace, "neo")
    assert text_of(workspace) == NEO


def test_a_target_that_changed_since_the_plan_keeps_the_other_categories_on_record(workspace):
    seed(workspace, "neo")
    put_bytes(workspace, "boss/user", CHANGED)
    plan = workspace.plan_seed("boss", "neo", as_of=DAY, categories="talk")
    workspace.store.commit("neo/user", None, lambda data: data.data + b"\n## Own\nMine.\n", Change())
    workspace.apply_seed(plan)
    assert bodies(workspace) == ["Likes coffee.", "No calls before ten.", "Vendor is Acme.", "Mine."]
    assert [text.rpartition("] ")[2] for text in locked(workspace)] == [
        "Likes coffee.", "No calls before ten.", "Vendor is Acme."
    ]  # fmt: skip


def test_an_alias_and_what_has_no_category(tmp_path):
    config = "taxonomy: {categories: {talk: {aliases: [speech]}, rules: {}}}\n"
    profiles = {
        "boss": "tier: 1\nuser_memory_categories: ['*']\ninclude_uncategorized: true\n",
        "neo": "seed_from: boss\nuser_memory_categories: [talk]\ninclude_uncategorized: true\n",
    }
    workspace = seed_root(tmp_path, profiles=profiles, config=config, text=f"loose\n\n{TEXT}")
    seed(workspace, "neo", categories="__uncategorized__")
    assert bodies(workspace) == ["loose"]
    seed(workspace, "neo", categories="speech")
    assert bodies(workspace) == ["loose", "Likes tea.", "No calls before ten."]


def test_a_category_that_a_target_does_not_read_is_told(workspace):
    plan = workspace.plan_seed("boss", ["neo", "ann"], as_of=DAY, categories=["rules", "pay"])
    assert plan.notes == (
        "ann gets nothing of rules: the profile does not name it",
        "neo, ann gets nothing of pay: the profile does not name it",
    )
    assert [each.after.count("\n") for each in plan.files] == [2]


# --- categories that nobody knows ---


def test_an_unknown_category_is_refused_with_the_known_ones(workspace):
    files = everything(workspace.root)
    with pytest.raises(UnknownNameError) as caught:
        workspace.plan_seed("boss", "neo", as_of=DAY, categories=["talk", "travel"])
    assert (caught.value.code, caught.value.message) == (
        "unknown_category",
        "there is no category 'travel' to seed from boss",
    )
    assert caught.value.hint == "Nothing was seeded. Did you mean 'talk'?"
    assert everything(workspace.root) == files


def test_a_declared_category_is_known_and_so_is_one_that_was_seeded(tmp_path):
    workspace = seed_root(tmp_path, config="taxonomy: {categories: {travel: {}}}\n")
    assert workspace.plan_seed("boss", "neo", as_of=DAY, categories="travel").files == ()
    seed(workspace, "neo")
    put_bytes(workspace, "boss/user", "## Talk\nLikes tea.\n")
    seed(workspace, "neo", categories="rules")  # it is gone from the source
    assert bodies(workspace) == ["Likes tea.", "No calls before ten."]


def test_nobody_is_told_of_a_category_that_the_source_does_not_read(tmp_path):
    profiles = {"boss": "tier: 1\nuser_memory_categories: [talk, rules]\n"}
    hints = []
    for number, hidden in enumerate(("pay", "vault")):
        workspace = seed_root(tmp_path / str(number), profiles=profiles, text=TEXT.replace("Pay", hidden.title()))
        with pytest.raises(UnknownNameError) as caught:
            workspace.plan_seed("boss", "neo", as_of=DAY, categories="pay", actor="boss")
        hints.append((caught.value.message, caught.value.hint))
    assert hints[0] == hints[1]


def test_a_profile_that_acts_is_told_of_those_that_it_reads(tmp_path):
    workspace = seed_root(tmp_path, profiles={"aide": "tier: 1\nuser_memory_categories: [talk]\n"})
    with pytest.raises(UnknownNameError) as caught:
        workspace.plan_seed("boss", "neo", as_of=DAY, categories="travels", actor="aide")
    assert "pay" not in str(caught.value.hint)
    assert "talk" in str(caught.value.hint)


@pytest.mark.parametrize("named", [[], [""], ["talk", "!!"]])
def test_a_filter_without_a_category_is_none(workspace, named):
    with pytest.raises(ConfigError) as caught:
        workspace.plan_seed("boss", "neo", as_of=DAY, categories=named)
    assert caught.value.code == "bad_category"


def test_a_tool_is_told_of_the_known_categories(workspace):
    refused = memory_tool(workspace, "boss", {"action": "seed", "categories": ["quarterly"]})
    assert (refused["reason"], "pay, rules, talk" in refused["remediation"]) == ("unknown_category", True)


# --- the law ---

words = st.sampled_from(["one", "two", "three four five", "six seven"])
files = st.dictionaries(
    st.sampled_from(["talk", "rules"]), st.lists(words, min_size=1, max_size=3, unique=True), max_size=2
)


def text(file):
    return "\n".join(f"## {category.title()}\n" + "\n§\n".join(entries) + "\n" for category, entries in file.items())


def of(text, category, workspace):
    return [entry.raw for entry in workspace.parse(text).entries if entry.category == category]


@given(first=files, source=files, target=files, named=st.sampled_from(["talk", "rules"]))
def test_what_is_not_asked_for_is_as_it_was(tmp_path_factory, first, source, target, named):
    workspace = make_root(tmp_path_factory.mktemp("root"), profiles=PROFILES)
    put_bytes(workspace, "boss/user", text(first) + "\n## Pay\nkept\n")
    seed(workspace, "neo")
    put_bytes(workspace, "boss/user", text(source) + "\n## Pay\nkept\n")
    put_bytes(workspace, "neo/user", text(target))
    (other,) = {"talk", "rules"} - {named}
    before, record = text_of(workspace), SeedFile(workspace).read()[1].records.get(("neo/user", "boss/user"))
    seed(workspace, "neo", categories=named)
    assert of(text_of(workspace), other, workspace) == of(before, other, workspace)
    after = SeedFile(workspace).read()[1].records.get(("neo/user", "boss/user"))
    if before.strip():
        was = [each for each in record.entries if each.category == other] if record else []
        assert [each for each in (after.entries if after else ()) if each.category == other] == was
    assert workspace.plan_seed("boss", "neo", as_of=DAY, categories=named).changes is False


FLAT = "Likes tea.\n§\nVendor is Acme.\n"


def test_a_source_without_categories_goes_only_to_a_profile_that_has_them_all(tmp_path):
    profiles = {
        "boss": "tier: 1\nuser_memory_categories: ['*']\ninclude_uncategorized: true\n",
        "neo": "seed_from: boss\nuser_memory_categories: [talk]\ninclude_uncategorized: true\n",
        "ann": "seed_from: boss\nmemory_categories: [talk]\n",
    }
    workspace = seed_root(tmp_path, profiles=profiles, text=FLAT)
    plan = workspace.plan_seed("boss", as_of=DAY)
    assert (plan.notes, [each.target for each in plan.files]) == ((), ["neo/user"])
