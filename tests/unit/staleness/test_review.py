"""What is due for a review, and what each answer does."""

from datetime import date

import pytest

from catmem.errors import ChangedMeanwhileError, ConfigError, OverBudgetError
from catmem.staleness.review import Review
from catmem.workspace.history import adopt
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.together import together

DAY = date(2026, 11, 21)
CONFIG = "stale_after: 30d\ntaxonomy: {categories: {talk: {aliases: [speech]}, slow: {stale_after: 300d}}}\n"
NEO = """\
## Talk
[verified_date: 2026-08-01] stale
§
[created: 2026-07-01] older
§
[verified_date: 2026-11-20] fresh
§
[created: 2026-01-01, expires: 2026-11-01] gone by
§
without a date

## Slow
[verified_date: 2026-07-01] holds for long
§
[verified_date: 2030-01-01, created: 2026-11-20] from the future
"""


@pytest.fixture(autouse=True)
def _that_day(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr("catmem.clock.today", lambda: DAY)


_OPENED: list[Workspace] = []


@pytest.fixture(autouse=True)
def _closed():
    yield
    while _OPENED:
        _OPENED.pop().store.close()


def workspace_of(place):
    """The root, opened by somebody of their own; closed at the end of the test."""
    _OPENED.append(Workspace.open(place))
    return _OPENED[-1]


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", CONFIG)
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\n")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(tmp_path / "profiles" / "alf.yaml", "stale_after: 200d\nuser_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", NEO)
    put(tmp_path / "homes" / "neo" / "MEMORY.md", "[created: 2026-07-15] in memory\n")
    put(tmp_path / "homes" / "boss" / "USER.md", "## Talk\n[created: 2026-09-01] of the boss\n")
    put(tmp_path / "homes" / "alf" / "USER.md", "## Talk\n[verified_date: 2026-09-01] holds for alf\n")
    return tmp_path


def opened(place, **choices):
    return Review(workspace_of(place), as_of=choices.pop("as_of", DAY), **choices)


def bodies(review):
    return [due.entry.body for due in review.due()]


def text(place, name="neo", target="USER"):
    return (place / "homes" / name / f"{target}.md").read_text(encoding="utf-8")


def at(review, body):
    """The fact with this body."""
    (found,) = [due for due in review.due() if due.entry.body == body]
    return found


# --- what is due ----------------------------------------------------------------------------------------------------


def test_what_has_expired_comes_first_then_tier_1_then_the_oldest(place):
    assert [(due.entity, due.entry.body) for due in opened(place).due()] == [
        ("neo/user", "gone by"),
        ("neo/user", "from the future"),
        ("neo/user", "without a date"),
        ("boss/user", "of the boss"),
        ("neo/user", "older"),
        ("neo/memory", "in memory"),
        ("neo/user", "stale"),
    ]


def test_what_has_no_date_at_all_comes_before_what_catmem_wrote(place):
    workspace_of(place).add("alf", "by catmem", category="talk", target="memory", tags={"created": None})
    path = place / "homes" / "alf" / "MEMORY.md"
    put(path, f"{path.read_text(encoding='utf-8')}§\nby another program\n")
    review = opened(place, profiles=["alf"], as_of=date(2100, 1, 1), states=["unverified"])
    assert bodies(review) == ["by another program", "by catmem"]


@together(
    ("choices", "expected"),
    [
        ({"profiles": ["boss"]}, ["of the boss"]),
        ({"profiles": ["neo", "boss", "neo"], "states": ["expired"]}, ["gone by"]),
        ({"states": ["future", "expired"]}, ["gone by", "from the future"]),
        ({"category": "speech", "profiles": ["boss"]}, ["of the boss"]),
        ({"category": "slow"}, ["from the future"]),
        ({"category": "__uncategorized__"}, ["in memory"]),
        ({"profiles": ["alf"]}, []),
        ({"profiles": ["alf"], "as_of": date(2027, 6, 1)}, ["holds for alf"]),
    ],
)
def test_a_part_of_it(place, choices, expected):
    assert bodies(opened(place, **choices)) == expected


def test_a_review_of_a_profile_that_is_not_right_fails(place):
    put(place / "profiles" / "alf.yaml", "foo: [\n")
    assert not opened(place, profiles=["neo"]).unreadable
    with pytest.raises(ConfigError):
        opened(place, profiles=["alf"])


# --- answers --------------------------------------------------------------------------------------------------------


ANSWERS = {
    "what expired holds": (
        "gone by", "keep", "", "[created: 2026-01-01, verified_date: 2026-11-21] gone by",
        ("its tag expires (2026-11-01) was dropped",),
    ),
    "what is of the future holds": (
        "from the future", "keep", "", "[verified_date: 2026-11-21, created: 2026-11-20] from the future", (),
    ),
    "what is created in the future holds": (
        "made ahead", "keep", "", "[verified_date: 2026-11-21, created: 2026-11-21] made ahead",
        ("its tag created (2030-01-01) was in the future, and is 2026-11-21 now",),
    ),
    "other words": (
        "gone by", "edit", "in new words", "[created: 2026-01-01, verified_date: 2026-11-21] in new words",
        ("its tag expires (2026-11-01) was dropped",),
    ),
    "it expires": ("stale", "expire", "", "[verified_date: 2026-08-01, expires: 2026-11-20] stale", ()),
    "it is expired": (
        "gone by", "expire", "", "[created: 2026-01-01, expires: 2026-11-01] gone by",
        ("it is expired already: remove it, or give it a new date",),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "answer", "words", "written", "notes"), ANSWERS.values(), ids=ANSWERS)
def test_what_an_answer_writes(place, body, answer, words, written, notes):  # noqa: PLR0917 - a row of the table
    before = NEO + "§\n[verified_date: 2031-01-01, created: 2030-01-01] made ahead\n"
    put(place / "homes" / "neo" / "USER.md", before)
    review = opened(place)
    fact = at(review, body)
    done = review.answer(fact, answer, words)
    assert text(place) == before.replace(fact.entry.raw, written)
    assert done.notes[: len(notes)] == notes
    assert (done.revision is None) == (written == fact.entry.raw)
    assert not {body, words} & {*bodies(review)}


def test_a_file_at_its_limit_is_no_obstacle_to_who_verifies_but_to_who_writes(place):
    (place / "catmem.yaml").write_text(CONFIG + f"limits: {{user: {len(NEO)}}}\n", encoding="utf-8")
    review = opened(place)
    due = next(each for each in review.due() if "verified_date" not in each.entry.tags)
    review.answer(due, "keep")
    assert len(text(place)) > len(NEO)
    with pytest.raises(OverBudgetError):
        workspace_of(place).add("neo", "One more.", category=due.entry.category)
    with pytest.raises(OverBudgetError):
        review.answer(at(review, "stale"), "edit", "stale, and some more words")


def test_of_two_that_say_the_same_each_is_verified_and_both_are_skipped(place):
    put(place / "homes" / "neo" / "USER.md", "## Talk\n[created: 2026-01-01] twice\n§\n[created: 2026-01-01] twice\n")
    review = opened(place, profiles=["neo"], category="talk")
    review.answer(review.due()[0], "keep")
    assert bodies(review) == ["twice"]
    review.answer(review.due()[0], "skip")
    assert bodies(review) == []
    assert text(place).count("verified_date") == 1


def test_a_review_of_a_day_to_come_writes_today_and_ends(place):
    review = opened(place, as_of=date(2028, 1, 1), profiles=["alf"])
    due = review.next()
    review.answer(due, "keep")
    assert "verified_date: 2026-11-21" in text(place, "alf")
    assert review.next() is None


# --- somebody else at work ------------------------------------------------------------------------------------------


def test_a_fact_that_an_outsider_changed_is_refused(place):
    review = opened(place)
    shown = at(review, "older")
    put(place / "homes" / "neo" / "USER.md", NEO.replace("older", "by hand"))
    with pytest.raises(ChangedMeanwhileError):
        review.answer(shown, "remove")
    assert "by hand" in text(place)


def test_what_others_do_elsewhere_in_the_file_is_no_hindrance(place):
    review = opened(place)
    shown = at(review, "stale")
    put(place / "homes" / "neo" / "USER.md", NEO.replace("## Talk\n", "## Talk\nby hand\n§\n"))
    review.answer(shown, "keep")
    assert "by hand" in text(place)
    assert "[verified_date: 2026-11-21] stale" in text(place)


def test_a_fact_that_another_program_wrote_is_answered_as_it_was_shown(place):
    workspace_of(place).add("neo", "So that there is a history.", category="talk")
    put(place / "homes" / "neo" / "USER.md", text(place).replace("older", "by hand"))
    adopt(workspace_of(place), "neo/user")
    review = opened(place)
    review.answer(at(review, "by hand"), "keep")
    assert "by hand" not in bodies(review)
