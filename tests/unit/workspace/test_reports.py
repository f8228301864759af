"""What a root says of itself: its profiles and files side by side, why a profile may do something, and how entities stand.

The matrix of rights: tests/property/test_fleet.py."""

import sys
from datetime import date

import pytest

from catmem.config.config import Category, Taxonomy, load_config
from catmem.config.profile import Profile, find_profile
from catmem.errors import UnknownNameError, UnreadableError
from catmem.workspace.reports import (
    Orphan,
    categories_of,
    explain,
    fleet_of,
    read_access,
    read_stats,
    reasons,
    survey,
)
from catmem.workspace.workspace import Workspace
from tests.commands import catmem
from tests.golden.case import contents, put
from tests.refusals import refusal
from tests.together import together
from tests.unit.audit.audited import make_audited

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


def test_a_file_that_cannot_be_read_is_named_and_hides_no_other(place):
    put(place / "homes" / "chief" / "USER.md", b"## Talk\n\xff\n")
    put(place / "homes" / "chief" / "MEMORY.md", "## Pay\nfour\n")
    access = read_access(opened(place))
    assert codes(access.problems) == ["not_utf8"]
    assert access.problems[0].path.endswith("USER.md")
    assert (access.count("talk"), access.count("pay")) == (2, 1)
    assert [measured.profile for measured in read_stats(opened(place), as_of=DAY).profiles] == ["neo"]
    put(place / "profiles" / "twin.yaml", "memory_dir: homes/neo\n")  # a folder that two share is counted once
    assert read_access(opened(place)).count("talk") == 2


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


def test_why_knows_what_is_in_a_file_of_any_profile_and_says_what_it_can_where_one_cannot_be_read(place):
    why = explain(opened(place), "chief", "comm")
    assert (why.declared, "the taxonomy is closed" in why.reasons[0].because) == (False, True)
    put(place / "homes" / "neo" / "USER.md", b"\xff")
    why = explain(opened(place), "neo", "talk")
    assert (why.reasons[0].answer, codes(why.problems), why.entries) == ("yes", ["not_utf8"], {"memory": 0})


@together("said", ["tlak", "", "!!"])
def test_why_refuses_what_a_closed_taxonomy_does_not_know(place, said):
    caught = refusal("unknown_name", explain, opened(place), "neo", said)
    assert caught.hint.startswith("Did you mean 'talk'?" if said == "tlak" else "The categories are ")


def test_in_an_open_taxonomy_why_tells_what_would_hold(place):
    put(place / "catmem.yaml", "version: 1\n")
    why = explain(opened(place), "chief", "tlak")
    assert why.reasons[0].answer == "yes"
    assert why.note == "No profile names the category 'tlak' and no file has it yet."
    assert explain(opened(place), "chief", "speach").note.endswith("Did you mean 'speech'?")


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


def test_a_source_that_cannot_be_read_is_an_error(place):
    with pytest.raises(UnknownNameError, match="there is no profile 'noe'"):
        read_stats(opened(place), source="noe")
    put(place / "homes" / "neo" / "USER.md", b"\xff")
    with pytest.raises(UnreadableError):
        read_stats(opened(place), source="neo")


def test_a_file_that_all_read_is_parsed_once(place, monkeypatch):
    parsed = []
    parse = Workspace.parse

    def counted(self, data, *place):
        parsed.append(data)
        return parse(self, data, *place)

    monkeypatch.setattr(Workspace, "parse", counted)
    read_stats(opened(place), source="neo", as_of=DAY)
    assert len(parsed) == len(set(parsed)) == 2


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


# --- why a profile may do something: the deciding word, its place, in a sentence --------------------------------------

CONFIG = """\
taxonomy:
  closed: {closed}
  categories: {{talk: {{}}, finance-vendors: {{aliases: [vendors]}}, finance-payroll: {{}}}}
"""
ASKED = ("user", "memory", "write", "verify")


@pytest.fixture
def ask(tmp_path):
    """Ask why a profile with this YAML, which may extend ``base``, may do something."""

    def asked(what, category, text, *, base="{}", closed=True):
        put(tmp_path / "catmem.yaml", CONFIG.format(closed=str(closed).lower()))
        put(tmp_path / "profiles" / "base.yaml", base)
        put(tmp_path / "profiles" / "neo.yaml", text)
        config = load_config(tmp_path)
        found = reasons(find_profile(config, "neo"), category, config.taxonomy)
        assert tuple(reason.asked for reason in found) == ASKED
        return found[ASKED.index(what)]

    return asked


UNSAID = "include_uncategorized is not said, so only who names no category reads such entries"
VERIFY = "may_verify is not said, and by default only tier 1 may"
FINANCE = "memory_categories: ['finance-*', '!finance-payroll']"


@together(
    ("asked", "text", "category", "said"),
    [
        ("memory", FINANCE, "finance-vendors", ("yes", "'finance-*' of memory_categories selects it")),
        ("memory", FINANCE, "finance-payroll", ("no", "'!finance-payroll' of memory_categories takes it away")),
        ("memory", "memory_categories: ['!talk']", "talk", ("no", "'!talk' of memory_categories takes it away")),
        ("memory", FINANCE, "talk", ("no", "no selector of memory_categories matches it")),
        ("memory", FINANCE, "finance-slip", ("no", "'finance-*' of memory_categories would match, but the taxonomy is closed and does not declare this category: patterns select declared ones only")),
        ("memory", "memory_categories: [vendors]", "finance-vendors", ("yes", "'finance-vendors' of memory_categories selects it")),
        ("memory", "{}", "talk", ("no", "no selector of memory_categories matches it")),
        ("memory", "memory_categories: []", "talk", ("no", "no selector of memory_categories matches it")),
        ("memory", "{}", LOOSE, ("yes", UNSAID)),
        ("memory", "user_memory_categories: [talk]", LOOSE, ("no", UNSAID)),
        ("memory", "include_uncategorized: true", LOOSE, ("yes", "include_uncategorized is true")),
        ("memory", "{include_uncategorized: false, memory_categories: ['*']}", LOOSE, ("no", "include_uncategorized is false")),
        ("memory", "{include_uncategorized: true, memory_categories: ['!*']}", LOOSE, ("no", "'!*' of memory_categories takes it away")),
        ("memory", "memory_categories: [__uncategorized__]", LOOSE, ("yes", "'__uncategorized__' of memory_categories selects it")),
        ("write", "{user_memory_categories: [talk], writable_categories: [talk]}", "talk", ("yes", "'talk' of writable_categories selects it")),
        ("write", "writable_categories: [talk]", "talk", ("yes", "'talk' of writable_categories selects it")),
        ("write", "writable_categories: ['*']", LOOSE, ("no", "no selector of writable_categories matches it")),
        ("write", "tier: 1", "talk", ("yes", "a profile of tier 1 may write to every category of every profile's files")),
        ("write", "tier: 1", "slip", ("yes", "a profile of tier 1 may write to every category of every profile's files; but nothing can be added to it while catmem.yaml does not declare it")),
        ("verify", "{}", "talk", ("no", VERIFY)),
        ("verify", "{tier: 1, user_memory_categories: [talk]}", "talk", ("yes", VERIFY)),
        ("verify", "{tier: 1, may_verify: false}", "talk", ("no", "may_verify is false")),
        ("verify", "{may_verify: true, user_memory_categories: [talk], memory_categories: [talk]}", "talk", ("yes", "may_verify is true")),
        ("verify", "may_verify: true", "talk", ("no", "it can verify only what it reads")),
    ],
)  # fmt: skip
def test_why_it_reads_writes_or_verifies(ask, asked, text, category, said):
    reason = ask(asked, category, text)
    assert (reason.answer, reason.because) == said


def test_the_place_is_that_of_the_deciding_selector(ask):
    reason = ask("memory", "finance-payroll", "tier: 2\nmemory_categories:\n- finance-*\n- '!finance-payroll'\n")
    assert (reason.selector, reason.key) == ("!finance-payroll", "memory_categories[1]")
    assert (reason.path.rpartition("/")[2], reason.line, reason.inherited_from) == ("neo.yaml", 4, None)


def test_the_parent_that_a_setting_comes_from_is_named(ask):
    reason = ask("memory", "talk", "extends: base\n", base="# a comment\nmemory_categories: [talk]\n")
    assert (reason.path.rpartition("/")[2], reason.line, reason.inherited_from) == ("base.yaml", 2, "base")


def test_in_an_open_taxonomy_a_pattern_selects_what_nobody_declared(ask):
    assert ask("memory", "finance-slip", FINANCE, closed=False).answer == "yes"


# --- how the entities of a root stand, in numbers, with nothing written -----------------------------------------------


@pytest.fixture
def workspace(tmp_path, request):
    made = make_audited(tmp_path, f"store: {getattr(request, 'param', 'files')}\n")
    yield made
    made.store.close()


def standing(workspace, entity="neo/user"):
    (found,) = [each for each in survey(workspace, as_of=DAY)[0] if each.entity == entity]
    return found


def test_a_declared_entity_stands_there_too_drifted_or_unreadable_if_another_program_wrote_it(tmp_path):
    made = make_audited(tmp_path, 'entities: {"project:alpha": {content: json}}\n')
    made.put("project:alpha", {"a": 1}, expected=0)
    made.put("project:alpha", {"a": 2}, expected=0, on_stale="branch")
    found = standing(made, "project:alpha")
    assert (found.head, found.entries, found.unmerged, found.drifted) == (1, 0, 1, False)
    file = made.root / "entities" / "project%3Aalpha" / "content.json"
    file.write_text('{"a": 3}')
    assert standing(made, "project:alpha").drifted
    file.write_text("{")
    assert survey(made)[1] == ["project:alpha"]
    made.store.close()


def test_what_was_changed_behind_the_history_is_drifted_until_a_write_takes_it_in(workspace):
    put(workspace.path("boss", "user"), "## Work\none\n")  # no history knows it yet
    found = standing(workspace, "boss/user")
    assert (found.drifted, found.head, found.entries) == (False, 0, 1)
    workspace.add("neo", "one", category="work")
    path = workspace.path("neo", "user")
    assert not standing(workspace).drifted
    path.write_text(path.read_text() + "§\ntwo\n")
    found = standing(workspace)
    assert (found.drifted, found.head, found.entries) == (True, 1, 2)
    workspace.add("neo", "three", category="work")
    found = standing(workspace)
    assert (found.drifted, found.head, found.entries) == (False, 3, 3)


@pytest.mark.parametrize("workspace", ["files", "sqlite:///memory.db"], indirect=True)
def test_a_survey_writes_nothing(workspace):
    names = ("boss/user", "boss/memory", "neo/user", "neo/memory")
    assert [(each.entity, each.head, each.entries) for each in survey(workspace)[0]] == [(name, 0, 0) for name in names]
    workspace.add("neo", "one", category="work")
    before = contents(workspace.root)
    survey(workspace)
    after = contents(workspace.root)
    assert {name: data for name, data in after.items() if not name.endswith(("-shm", "-wal"))} == {
        name: data for name, data in before.items() if not name.endswith(("-shm", "-wal"))
    }


def not_text(workspace):
    workspace.path("neo", "user").write_bytes(b"\xff\xfe\x00")


def a_link(workspace):
    path = workspace.path("neo", "user")
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def torn_journal(workspace):
    for segment in (workspace.path("neo", "user").parent / ".catmem" / "journal").iterdir():
        segment.write_bytes(b"\x00" + segment.read_bytes()[1:])


@pytest.mark.parametrize("harm", [not_text, a_link, torn_journal])
def test_what_cannot_be_read_is_told_and_hides_no_other(workspace, harm):
    workspace.add("neo", "one", category="work")
    workspace.add("boss", "one", category="work")
    harm(workspace)
    assert "neo/user" in survey(workspace)[1]
    assert standing(workspace, "boss/user").head == 1


def test_a_bad_profile_has_no_standing_and_hides_no_other(workspace):
    put(workspace.root / "profiles" / "bad.yaml", "tier: nine\n")
    standings, unreadable = survey(workspace)
    assert (len(standings), unreadable) == (4, ["bad/user", "bad/memory"])
    put(workspace.root / "profiles" / "late.yaml", "writable_categories: [work]\n")  # it comes later
    workspace.add("late", "one", category="work")
    assert standing(workspace, "late/user").head == 1


def test_a_database_that_is_none_is_unreadable(tmp_path):
    made = make_audited(tmp_path, "store: sqlite:///memory.db\n")
    (tmp_path / "memory.db").write_bytes(b"no database " * 1000)
    standings, unreadable = survey(made)
    assert (standings, len(unreadable)) == ([], 4)


def test_a_profile_that_others_extend_and_that_has_no_files_is_no_trouble(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "base.yaml", "include_uncategorized: false\n")
    put(tmp_path / "profiles" / "neo.yaml", "extends: base\nuser_memory_categories: [talk]\n")
    standings, unreadable = survey(Workspace.open(tmp_path, search=False))
    assert ([each.entity for each in standings], unreadable) == (["neo/user", "neo/memory"], [])
