"""Who may not verify a fact cannot make it young by taking it out and putting it back."""

from datetime import date

import pytest

from catmem.workspace.workspace import Workspace
from catmem.writing.request import Operation
from tests.golden.case import put

DAY = date(2026, 11, 21)
TODAY = DAY.isoformat()
RIGHTS = "user_memory_categories: [talk]\nmemory_categories: [talk]\nwritable_categories: [talk]\ninclude_uncategorized: true\n"
TEXT = """\
## Talk
[verified_date: 2026-01-02] was verified
§
without a date
§
[created: 2031-01-01] of the future
§
[created: 2026-11-01] another

## Pay
[created: 2026-01-02] hidden
"""
OLD = {"was verified": {"created": "2026-01-02"}, "without a date": {}, "of the future": {}}
"""The words, and the tags with which they come back: another program wrote them, and nothing else dates them."""


@pytest.fixture(autouse=True)
def _that_day(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def opened(tmp_path):
    """Makes a root with the profile neo and opens it; its file has no history."""
    made = []

    def make(text=TEXT, rights=RIGHTS):
        put(tmp_path / "catmem.yaml", "version: 1\n")
        put(tmp_path / "profiles" / "neo.yaml", rights)
        put(tmp_path / "homes" / "neo" / "USER.md", text)
        made.append(Workspace.open(tmp_path))
        return made[-1]

    yield make
    for workspace in made:
        workspace.store.close()


def tags_of(workspace, body, target="user"):
    return next(entry.tags for entry in workspace.view("neo", target).document.entries if entry.body == body)


def in_two_writes(workspace, body, **how):
    workspace.remove("neo", body, **how)
    workspace.add("neo", body, category="talk", **how)


def in_one_batch(workspace, body, **how):
    back = Operation("add", body, category="talk")
    workspace.write("neo", [Operation("remove", old_text=body), back], **how)


def with_a_day(workspace, body, **how):
    workspace.remove("neo", body, **how)
    workspace.add("neo", body, category="talk", tags={"created": TODAY}, **how)


def as_new_words_of_another(workspace, body, **how):
    workspace.remove("neo", body, **how)
    workspace.replace("neo", "another", body, **how)


def as_new_words_of_what_is_new(workspace, body, **how):
    workspace.remove("neo", body, **how)
    workspace.add("neo", "for a moment", category="talk", **how)
    workspace.replace("neo", "for a moment", body, **how)


def in_the_other_file(workspace, body, **how):
    workspace.remove("neo", body, **how)
    workspace.add("neo", body, category="talk", target="memory", **how)


WAYS = [
    in_the_other_file,
    in_two_writes,
    in_one_batch,
    with_a_day,
    as_new_words_of_another,
    as_new_words_of_what_is_new,
]


@pytest.mark.parametrize(("body", "tags"), OLD.items(), ids=OLD)
@pytest.mark.parametrize("come_back", WAYS)
def test_words_that_come_back_are_as_old_as_they_were(opened, come_back, body, tags):
    workspace = opened()
    come_back(workspace, body, actor="neo")
    target = "memory" if come_back is in_the_other_file else "user"
    assert tags_of(workspace, body, target) == tags


@pytest.mark.parametrize(("rights", "actor"), [(RIGHTS, None), (f"{RIGHTS}may_verify: true\n", "neo")])
@pytest.mark.parametrize("come_back", [in_two_writes, in_one_batch, with_a_day, as_new_words_of_what_is_new])
def test_from_a_person_and_who_may_verify_they_are_of_today(opened, come_back, rights, actor):
    workspace = opened(rights=rights)
    come_back(workspace, "was verified", actor=actor)
    assert tags_of(workspace, "was verified") == {"created": TODAY}


@pytest.mark.parametrize(("actor", "tags"), [(None, {}), ("neo", {"created": "2026-01-02"})])
def test_only_who_may_verify_adds_words_without_a_day(opened, actor, tags):
    workspace = opened()
    workspace.remove("neo", "was verified")
    addition = Operation("add", content="was verified", category="talk", tags={"created": None})
    workspace.write("neo", [addition], actor=actor)
    assert tags_of(workspace, "was verified") == tags


def test_a_date_does_not_tell_of_words_that_are_hidden(opened):
    workspace = opened()
    workspace.add("neo", "hidden", category="talk", actor="neo")
    added = workspace.view("neo", "user").document.by_category["talk"][-1]
    assert (added.body, added.tags) == ("hidden", {"created": TODAY})


SHARED = "## Talk\n§\nwithout a date\n§\n## __uncategorized__"


@pytest.mark.parametrize("given", [{}, {"created": TODAY}])
def test_a_shared_file_gets_no_tag_that_was_not_given_and_no_day_that_is_too_late(opened, given):
    workspace = opened(SHARED)
    workspace.remove("neo", "without a date", actor="neo")
    workspace.add("neo", "without a date", category="talk", tags=given, actor="neo")
    assert tags_of(workspace, "without a date") == {}


def test_words_that_stood_only_where_the_actor_sees_nothing_cost_no_more_than_words_that_never_were(
    opened, monkeypatch
):
    workspace = opened()
    for number in range(5):
        workspace.add("neo", f"fact {number}", category="talk")
    reads = []
    real = workspace.store.read
    monkeypatch.setattr(workspace.store, "read", lambda *asked: reads.append(asked) or real(*asked))

    def reads_for(body):
        reads.clear()
        workspace.add("neo", body, category="talk", actor="neo")
        return len(reads)

    reads_for("to begin with")
    assert reads_for("never there") == reads_for("hidden")
