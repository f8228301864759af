"""The plan that two agents changed: one to its next version, one to a stale one. Neither goes in beside the other in silence."""

import shutil

import pytest

from catmem.model.document import parse
from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace
from tests.end_to_end.pseudo_terminal import terminals
from tests.end_to_end.terminal import error_of, run, run_json
from tests.golden.case import put
from tests.interplay.repository import FILE, Repository
from tests.sql import server

TIER_1 = "tier: 1\nuser_memory_categories: ['*']\ninclude_uncategorized: true\n"
PROFILES = {"neo": TIER_1, "planner": TIER_1, "auditor": TIER_1}
PLANS = "plan v7", "plan v8", "plan v0 (stale)"
TEXTS = {
    "alone": "## Plans\n{}\n",
    "among others": "## Plans\nAsk before you spend.\n§\n{}\n§\nReview is on Friday.\n",
    "among other plans": "## Plans\nplan v6 was dropped\n§\n{}\n§\nplan v9 is a draft\n",
    "flat": "{}\n",
}
STORED = [
    *(pytest.param("", text, id=f"files, {name}") for name, text in TEXTS.items()),
    pytest.param("sqlite:///catmem.db", TEXTS["alone"], id="sqlite"),
    pytest.param("postgresql", TEXTS["alone"], id="postgresql", marks=pytest.mark.postgresql),
]
in_stores = pytest.mark.parametrize(("where", "text"), STORED)


@pytest.fixture
def place(where, text, tmp_path, monkeypatch):
    """A root in a store: revision 1 has v7, revision 2 has the planner's v8, and branch 2a the auditor's v0."""
    monkeypatch.chdir(tmp_path)
    where = server.url("plan_story") if where == "postgresql" else where
    put(tmp_path / "catmem.yaml", f"on_stale: branch\n{f'store: {where}' if where else ''}\n")
    for name, profile in PROFILES.items():
        put(tmp_path / "profiles" / f"{name}.yaml", profile)
    store = Workspace.open(tmp_path).store
    store.commit("neo/user", "0", lambda _: text.format(PLANS[0]).encode(), Change())
    store.close()
    assert head() == bodies(text, PLANS[0])
    for plan, agent in ((PLANS[1], "planner"), (PLANS[2], "auditor")):
        run("replace", "-p", "neo", PLANS[0], plan, "--expected", "1", "--as", agent)
    return tmp_path


def head():
    return [entry["body"] for entry in run_json("list", "-p", "neo")["entries"]]


def bodies(text, *plans):
    return [entry.body for entry in parse(text.format("\n§\n".join(plans))).entries]


@in_stores
def test_it_is_a_conflict_and_nothing_is_written(place, text):
    (branch,) = run_json("branches", "neo")["branches"]
    assert (branch["revision"], branch["state"], branch["conflicts"]) == ("2a", "conflicts", 1)
    error = error_of("merge", "neo", status=3)
    assert error["code"] == "merge_conflict"
    (conflict,) = error["conflicts"]
    told = [conflict[side].rpartition("] ")[2] for side in ("base", "ours", "theirs")]
    assert (conflict["reason"], *told) == ("body", *PLANS)
    assert (conflict["ours_by"], conflict["theirs_by"]) == ("planner", "auditor")
    assert head() == bodies(text, PLANS[1])
    assert len(run_json("branches", "neo")["branches"]) == 1
    assert_settled(text, ["--precedence", "planner,auditor"], PLANS[1:2])


def assert_settled(text, options, plans):
    said = run_json("merge", "neo", *options)
    assert (said["merged"], len(said["settled"])) == (["2a"], 1)
    assert sorted(head()) == sorted(bodies(text, *plans))
    assert run_json("branches", "neo")["branches"] == []


@pytest.mark.parametrize(("where", "text"), STORED[:1])
def test_a_person_is_asked(place, text):
    with terminals(place, "merge", "neo", "--interactive") as opening:
        terminal = opening()
        shown = terminal.wait_for("o, t, b, e WORDS, q or ?: ")
        assert all(plan in shown for plan in PLANS)
        terminal.type("e plan v10\n")
        terminal.wait_for("merged 2a in neo/user (revision 3)")
        assert terminal.status() == 0
    assert head() == bodies(text, "plan v10")


@pytest.mark.skipif(shutil.which("git") is None, reason="NOT TESTED: git is not installed on this machine")
@pytest.mark.parametrize(
    ("text", "way"), [*((text, "merge") for text in TEXTS.values()), (TEXTS["alone"], "merge the other way")]
)
def test_git_waits_for_a_person(tmp_path, text, way):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    repository = Repository(tmp_path)
    repository.set_up()
    merged = repository.merged(*(text.format(plan).encode() for plan in PLANS), way)  # type: ignore[call-arg]
    assert (merged.status, repository.unmerged()) == (1, [FILE])
    ours, theirs = PLANS[1:] if way == "merge" else PLANS[:0:-1]
    marked = f"<<<<<<< ours\n{ours}\n=======\n{theirs}\n>>>>>>> theirs"
    assert sorted(merged.bodies) == sorted(bodies(text, marked))
    assert "1 conflict between entries, each between git's marks" in merged.said
