"""The profiles and files of a root, side by side. The matrix of rights: tests/property/test_fleet.py."""

import sys
from datetime import date

import pytest

from catmem.config.config import Category, Taxonomy
from catmem.config.profile import Profile
from catmem.errors import UnknownNameError, UnreadableError
from catmem.workspace.reports import Orphan, categories_of, explain, fleet_of, read_access, read_stats
from catmem.workspace.workspace import Workspace
from tests.commands import catmem
from tests.golden.case import put
from tests.roots import make_root
from tests.together import together

DAY = date(2026, 11, 21)
CLOSED = "taxonomy: {closed: true, categories: {talk: {aliases: [speech]}, pay: {}}}\n"


@pytest.fixture
def place(tmp_path):
    """A root with two profiles, of which one has a file."""
    put(tmp_path / "catmem.yaml", CLOSED)
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [speech]\nmemory_categories: ['*']\n")
    put(tmp_path / "profiles" / "chief.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "loose\n\n## Comm\nslip\n\n## Speech\none\n§\ntwo\n")
    return tmp_path


def opened(place):
    return Workspace.open(place, search=False)


def codes(problems):
    return [problem.code for problem in problems]


def test_a_folder_that_two_profiles_share_is_counted_once(place):
    put(place / "profiles" / "twin.yaml", "memory_dir: homes/neo\n")
    assert read_access(opened(place)).fleet.count("talk") == 2


def test_a_file_that_cannot_be_read_is_named_and_hides_no_other(place):
    put(place / "homes" / "chief" / "USER.md", b"## Talk\n\xff\n")
    put(place / "homes" / "chief" / "MEMORY.md", "## Pay\nfour\n")
    access = read_access(opened(place))
    assert codes(access.problems) == ["not_utf8"]
    assert access.problems[0].path.endswith("USER.md")
    assert (access.fleet.count("talk"), access.fleet.count("pay")) == (2, 1)
    assert [measured.profile for measured in read_stats(opened(place), as_of=DAY).profiles] == ["neo"]


def test_reading_the_fleet_changes_no_file(place):
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    read_access(opened(place))
    explain(opened(place), "neo", "talk")
    read_stats(opened(place), source="neo")
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before


# --- why -----------------------------------------------------------------------------------------------------------


@together("said", ["talk", "Talk", "speech", "Speech"])
def test_why_takes_a_slug_a_title_or_an_alias(place, said):
    why = explain(opened(place), "neo", said)
    assert (why.category, why.entries, why.note) == ("talk", {"user": 2, "memory": 0}, None)
    assert why.reasons[0].selector == "talk"


@together("said", ["tlak", "", "!!"])
def test_why_refuses_what_a_closed_taxonomy_does_not_know(place, said):
    with pytest.raises(UnknownNameError) as caught:
        explain(opened(place), "neo", said)
    assert caught.value.hint.startswith("Did you mean 'talk'?" if said == "tlak" else "The categories are ")


def test_why_knows_what_is_in_a_file_of_any_profile_and_not_declared(place):
    why = explain(opened(place), "chief", "comm")
    assert (why.declared, why.reasons[0].rule) == (False, "closed")


def test_in_an_open_taxonomy_why_tells_what_would_hold(place):
    put(place / "catmem.yaml", "version: 1\n")
    why = explain(opened(place), "chief", "tlak")
    assert why.reasons[0].answer == "yes"
    assert why.note == "No profile names the category 'tlak' and no file has it yet."
    assert explain(opened(place), "chief", "speach").note.endswith("Did you mean 'speech'?")


def test_why_says_what_it_can_where_a_file_cannot_be_read(place):
    put(place / "homes" / "neo" / "USER.md", b"\xff")
    why = explain(opened(place), "neo", "talk")
    assert (why.reasons[0].answer, codes(why.problems), why.entries) == ("yes", ["not_utf8"], {"memory": 0})


# --- sizes ---------------------------------------------------------------------------------------------------------


def test_each_profile_is_measured_on_its_own_files_or_on_those_of_another(place):
    own = read_stats(opened(place), as_of=DAY)
    assert [(each.profile, each.owner, each.missing) for each in own.profiles] == [
        ("chief", "chief", ("user", "memory")),
        ("neo", "neo", ("memory",)),
    ]
    shared = read_stats(opened(place), source="neo", as_of=DAY)
    assert [(each.profile, each.owner, each.sizes.entries) for each in shared.profiles] == [
        ("chief", "neo", 4),
        ("neo", "neo", 4),
    ]
    for stats, source in ((own, None), (shared, "neo")):
        for each in stats.profiles:
            prompt = opened(place).prompt(each.profile, source=source, as_of=DAY)
            assert each.sizes.prompt.characters == len(prompt.text)
    assert shared.total.files.tokens == 2 * shared.profiles[0].sizes.files.tokens


def test_a_profile_that_is_asked_for_is_measured_whatever_is_wrong_with_others(place):
    put(place / "profiles" / "chief.yaml", "tierr: 1\n")
    stats = read_stats(opened(place), ("neo", "neo"), as_of=DAY)
    assert ([each.profile for each in stats.profiles], stats.problems) == (["neo"], ())


@together("choices", [{"names": ("noe",)}, {"source": "noe"}])
def test_a_name_that_there_is_not_is_an_error(place, choices):
    with pytest.raises(UnknownNameError, match="there is no profile 'noe'"):
        read_stats(opened(place), **choices)


def test_a_source_that_cannot_be_read_is_an_error(place):
    put(place / "homes" / "neo" / "USER.md", b"\xff")
    with pytest.raises(UnreadableError):
        read_stats(opened(place), source="neo")


def test_a_file_that_all_read_is_parsed_once(place, monkeypatch):
    parsed = []
    parse = Workspace.parse

    def counted(self, data):
        parsed.append(data)
        return parse(self, data)

    monkeypatch.setattr(Workspace, "parse", counted)
    read_stats(opened(place), source="neo", as_of=DAY)
    assert len(parsed) == len(set(parsed)) == 2


def test_the_store_that_a_workspace_was_given_is_what_is_read(tmp_path):
    profiles = {"neo": "user_memory_categories: [talk]\n"}
    workspace = make_root(tmp_path, profiles=profiles, files={"neo/user": "## Talk\none\n"})
    assert read_access(workspace).fleet.count("talk") == 1
    assert read_stats(workspace, as_of=DAY).profiles[0].sizes.seen == 1


def wide_root(folder, number):
    """A root in which many categories are declared, named by a profile, and in its file."""
    names = [f"cat-{each}" for each in range(number)]
    declared = "".join(f"    {each}: {{aliases: [old-{each}]}}\n" for each in names)
    put(folder / "catmem.yaml", f"version: 1\ntaxonomy:\n  closed: true\n  categories:\n{declared}")
    lists = f"user_memory_categories: [{', '.join(names)}]\nwritable_categories: [old-{', old-'.join(names)}]\n"
    put(folder / "profiles" / "neo.yaml", f"{lists}memory_categories: ['*', '!cat-0']\n")
    put(folder / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    for name in ("neo", "boss"):
        put(folder / "homes" / name / "USER.md", "".join(f"## {each}\nfact {each}\n\n" for each in names))
    return folder


def lines_run(folder, *arguments):
    """How many lines of catmem a command passes through, those in comprehensions too."""
    passed = 0

    def inside(_frame, event, _):
        nonlocal passed
        passed += event == "line"
        return inside

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: inside if "catmem" in frame.f_code.co_filename else None)
    try:
        assert catmem(folder, arguments).exit_code in {0, 1}
    finally:
        sys.settrace(before)
    return passed


@pytest.mark.parametrize("command", ["access", "stats --from neo", "lint", "prompt neo"])
def test_the_work_grows_with_the_number_of_categories_and_not_with_its_square(tmp_path, command):
    few, many = wide_root(tmp_path / "few", 25), wide_root(tmp_path / "many", 100)
    for root in (few, many):
        lines_run(root, *command.split())  # what is imported, compiled and parsed once
    assert lines_run(many, *command.split()) < 5 * lines_run(few, *command.split())


# --- profiles that no disk has -----------------------------------------------------------------------------------------

LOOSE = "__uncategorized__"
ANY = Taxonomy()
TWO = Taxonomy(closed=True, categories={each: Category(each, each.title()) for each in ("talk", "pay")})
ALIASED = Taxonomy(categories={"talk": Category("talk", "Talk", aliases=("speech",))})
CHIEF = Profile("chief", tier=1, user_memory_categories=("*",), memory_categories=("*",))


def test_categories_are_the_declared_in_order_then_the_named_and_the_present_then_the_loose():
    profile = Profile("a", user_memory_categories=("zoo", "b*", "speech"), writable_categories=("!ant",))
    assert categories_of([profile], ALIASED, ["mid", "speech", LOOSE]) == ("talk", "ant", "mid", "zoo", LOOSE)


def test_profiles_stand_by_tier_and_name():
    fleet = fleet_of([Profile("b"), Profile("a", tier=3), CHIEF, Profile("c")], ANY, {})
    assert [profile.name for profile in fleet.profiles] == ["chief", "b", "c", "a"]


def test_an_orphan_is_declared_or_has_entries():
    """Which entries no specialist reads: tests/property/test_fleet.py."""
    talker = Profile("talker", user_memory_categories=("talk",))
    declared = Orphan("pay", None, 0, declared=True, readers=("chief",))
    assert fleet_of([CHIEF, talker], TWO, {}).orphans() == [declared]
    assert fleet_of([Profile("b", user_memory_categories=("!pay",))], ANY, {("talk", "user"): 0}).orphans() == []
