"""Staleness by verification for cheetahclaws: a fact grows old from the day on which it was last verified.

The story: a memory was read, and the reading touched what its age was counted from. So the facts that were used most
looked youngest, and stale ones came first in a search.
"""

import asyncio
import math
import os
from datetime import date, timedelta

import pytest
from mcp import Client

from catmem.mcp.server import make_server
from catmem.workspace.workspace import Workspace
from tests.days import stand_still
from tests.http_root import served
from tests.together import together

DAY = date(2026, 11, 21)
OFFICE = "The office is in Lyon."
ADVICE = "Verify every fact that is not fresh against its source before relying on it."
READER = "user_memory_categories: ['*']\nmemory_categories: ['*']\nwritable_categories: ['*']\n"


def ago(days):
    return DAY - timedelta(days=days)


def entry(body, **tags):
    said = ", ".join(f"{key}: {value}" for key, value in tags.items())
    return f"[{said}] {body}" if tags else body


@pytest.fixture
def memory(made, monkeypatch):
    """Writes the facts of the orchestrator on projects; the day stands still."""
    stand_still(monkeypatch, DAY)
    made.profile("reader", READER)

    def write(*facts, profile="orchestrator", category="Workflow Rules"):
        path = made.file(f"{profile}/user")
        path.write_text(f"## {category}\n" + "\n§\n".join(facts) + "\n", encoding="utf-8")
        return path

    made.write = write
    return made


def states(root, *more):
    return [each["state"] for each in root.data("list", "-p", "orchestrator", *more)["entries"]]


def due(root):
    return [each["body"] for each in root.data("review", "--list")["due"]]


# --- reading is no verification --------------------------------------------------------------------------------------


def test_reading_leaves_bytes_mtime_and_age_alone(memory):
    path = memory.write(entry(OFFICE, verified_date=ago(100)), "Never verified, the office plant.")
    memory.run("add", "So that the root counts.", "-p", "orchestrator", "-t", "memory", "-c", "projects")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    before = path.read_bytes(), path.stat().st_mtime_ns, states(memory), due(memory)
    for _ in range(3):
        for command in (
            "prompt orchestrator",
            "search -p orchestrator office",
            "list -p orchestrator",
            "review --list",
            "lint",
        ):
            memory.run(*command.split())
        for action in ({"action": "list"}, {"action": "search", "query": "office"}, {"action": "prompt"}):
            assert memory.tool("orchestrator", **action)["success"]
        asyncio.run(read_by_mcp(memory))
        for address in ("/mem/read?entity_id=orchestrator/user", "/prompt/orchestrator"):
            assert by_http(memory).get(address).status_code == 200
    assert (path.read_bytes(), path.stat().st_mtime_ns, states(memory), due(memory)) == before
    assert before[2] == ["stale", "unverified", "fresh"]
    assert before[3][-1] == OFFICE


async def read_by_mcp(root):
    async with Client(make_server(Workspace.open(root.folder, search=False), "orchestrator")) as client:
        await client.get_prompt("context", {})
        for each in (await client.list_resources()).resources:
            await client.read_resource(each.uri)
        await client.call_tool("memory_list", {})
        await client.call_tool("memory_search", {"query": "office"})


def by_http(root):
    """The way in of the agent of the orchestrator."""
    (http,) = served(Workspace.open(root.folder, search=False), root.folder / "tokens" / "tokens.json")
    return http.client("orchestrator")


def test_only_a_verification_makes_a_fact_fresh(memory):
    memory.write(entry(OFFICE, verified_date=ago(100)), "The plant is green.")
    memory.run("add", "Another.", "-p", "orchestrator", "-c", "workflow-rules")
    memory.run("replace", "plant is", "The plant is red.", "-p", "orchestrator")
    memory.run("move", "office is", "-p", "orchestrator", "-c", "projects")
    assert states(memory, "-c", "projects") == ["stale"]
    for action in (
        {"action": "add", "content": "One more.", "category": "workflow-rules"},
        {"action": "replace", "old_text": "plant is red", "content": "The plant is blue."},
        {"action": "move", "old_text": "Another", "category": "projects"},
    ):
        assert memory.tool("orchestrator", **action)["success"]
    # What was added today is fresh by its own day, and the plant has no date.
    assert sorted(states(memory)) == ["fresh", "fresh", "stale", "unverified"]
    memory.run("verify", "office is", "-p", "orchestrator")
    assert sorted(states(memory)) == ["fresh", "fresh", "fresh", "unverified"]


@pytest.mark.parametrize(
    ("tags", "state"),
    [
        ({}, "unverified"),
        ({"verified_date": DAY}, "unverified"),
        ({"created": ago(100), "verified_date": DAY}, "stale"),
        ({"created": DAY, "verified_date": ago(100)}, "stale"),
    ],
)
def test_new_words_are_not_verified(memory, tags, state):
    memory.write(entry(OFFICE, **tags))
    memory.run("replace", "Lyon", "The office is in Paris.", "-p", "orchestrator")
    assert states(memory) == [state]


def test_a_fact_of_today_is_fresh_and_needs_no_advice(memory):
    memory.run("add", OFFICE, "-p", "orchestrator", "-c", "workflow-rules")
    answer = memory.tool("orchestrator", action="add", content="The plant is green.", category="workflow-rules")
    assert "advice" not in answer
    assert states(memory) == ["fresh", "fresh"]
    assert due(memory) == []
    assert "unverified" not in memory.run("prompt", "orchestrator").stdout


def test_who_may_not_verify_makes_no_fact_young_by_adding_its_words_again(memory):
    memory.write(entry(OFFICE, created=ago(100)), "Undated.", profile="reader")
    memory.tool("reader", action="list")
    assert memory.tool("reader", action="remove", old_text="office")["success"]
    assert memory.tool("reader", action="add", content=OFFICE, category="workflow-rules")["success"]
    (found,) = memory.data("search", "-p", "reader", "office")["entries"]
    assert (found["state"], found["date"]) == ("stale", str(ago(100)))


# --- the states ------------------------------------------------------------------------------------------------------


@together(
    ("tags", "state"),
    [
        ({}, "unverified"),
        ({"created": DAY}, "fresh"),
        ({"created": ago(90)}, "fresh"),
        ({"created": ago(91)}, "stale"),
        ({"created": DAY, "verified_date": ago(91)}, "stale"),
        ({"verified_date": DAY}, "fresh"),
        ({"verified_date": ago(90)}, "fresh"),
        ({"verified_date": ago(91)}, "stale"),
        ({"verified_date": DAY, "expires": ago(1)}, "expired"),
        ({"verified_date": DAY, "expires": DAY}, "fresh"),
        ({"expires": DAY}, "unverified"),
        ({"verified_date": ago(91), "expires": ago(1)}, "expired"),
    ],
)  # fmt: skip
def test_each_state_begins_on_its_day(memory, tags, state):
    memory.write(entry(OFFICE, **tags))
    assert states(memory) == [state]
    (found,) = memory.tool("orchestrator", action="search", query="office")["entries"]
    assert found["state"] == state


@pytest.mark.parametrize(
    ("domain", "days"), [("code", 1), ("project", 14), ("preference", 90), ("identity", 365), ("garden", 90)]
)
def test_how_long_a_fact_stays_fresh_depends_on_what_it_is_about(memory, domain, days):
    memory.write(*(entry(OFFICE, verified_date=ago(each), domain=domain) for each in (days, days + 1)))
    assert states(memory) == ["fresh", "stale"]


@pytest.mark.parametrize("when", ["verified_date", "created"])
def test_a_date_in_the_future_is_a_finding(memory, when):
    memory.write(entry(OFFICE, **{when: "2030-01-01"}))
    assert "2030-01-01" in memory.run("lint", status=1).stdout
    (found,) = memory.data("review", "--list")["due"]
    assert (found["body"], found["state"]) == (OFFICE, "future")
    assert "2030-01-01" in found["why"]


# --- what an agent is advised ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tags", [{}, {"verified_date": ago(91)}, {"expires": ago(1)}, {"verified_date": DAY}])
def test_every_answer_with_a_fact_that_is_not_fresh_has_one_sentence(memory, tags):
    memory.write(entry(OFFICE, **tags))
    http = by_http(memory)
    answers = {
        "list": memory.tool("orchestrator", action="list"),
        "search": memory.tool("orchestrator", action="search", query="office"),
        "search of a person": memory.data("search", "-p", "orchestrator", "office"),
        "HTTP": http.get("/mem/read", params={"entity_id": "orchestrator/user"}).json(),
        **asyncio.run(of_mcp(memory)),
    }
    if "expires" in tags:
        del answers["MCP prompt"]  # no prompt has an expired fact
    else:
        answers["prompt"] = memory.tool("orchestrator", action="prompt")
        answers["HTTP prompt"] = http.get("/prompt/orchestrator", headers={"Accept": "application/json"}).json()
    answers["write"] = memory.tool("orchestrator", action="move", old_text="office", category="projects")
    back = {"action": "move", "old_text": "office", "to_category": "workflow-rules"}
    body = {"entity_id": "orchestrator/user", "content": [back], "prev_rev": answers["write"]["revision"]}
    answers["HTTP write"] = http.post("/mem/write", json=body).json()
    wanted = None if tags == {"verified_date": DAY} else ADVICE
    assert {name: each.get("advice") for name, each in answers.items()} == dict.fromkeys(answers, wanted)


async def of_mcp(root):
    """The answers of MCP; of those that are text the sentence, if it stands there once."""
    async with Client(make_server(Workspace.open(root.folder, search=False), "orchestrator")) as client:
        listed = await client.call_tool("memory_list", {})
        found = await client.call_tool("memory_search", {"query": "office"})
        (resource,) = (await client.list_resources()).resources
        texts = {"MCP prompt": await client.get_prompt("context", {})}
        texts["MCP resource"] = await client.read_resource(resource.uri)
    said = {
        name: {"advice": ADVICE} if text.model_dump_json().count(ADVICE) == 1 else {} for name, text in texts.items()
    }
    return {"MCP list": listed.structured_content, "MCP search": found.structured_content, **said}


def test_a_prompt_notes_what_is_not_fresh(memory):
    facts = [entry(OFFICE, verified_date=ago(91)), "Never verified.", entry("Fine.", verified_date=DAY)]
    memory.write(*facts, entry("Gone.", expires=ago(1)))
    text = memory.run("prompt", "orchestrator").stdout
    assert text.endswith(f"\n- (stale: verified {ago(91)}) {OFFICE}\n- Never verified.\n- Fine.\n")
    assert "Gone." not in text


# --- verifying -------------------------------------------------------------------------------------------------------


def test_evidence_is_kept_beside_the_verification(memory):
    path = memory.write(OFFICE)
    memory.run("verify", "office", "-p", "orchestrator", "--evidence", "letterhead of 2026-11-20")
    memory.tool("orchestrator", action="verify", old_text="office", evidence="a call to reception")
    log = memory.run("log", "orchestrator").stdout
    assert "letterhead of 2026-11-20" in log
    assert "a call to reception" in log
    assert "letterhead" not in memory.run("prompt", "orchestrator").stdout
    assert path.read_text(encoding="utf-8") == f"## Workflow Rules\n[verified_date: {DAY}] {OFFICE}\n"


@pytest.mark.parametrize(
    "change",
    [
        {"action": "verify", "old_text": "office"},
        {"action": "add", "content": "The plant is green.", "category": "workflow-rules", "tags": {"verified_date": str(DAY)}},
        {"action": "replace", "old_text": "office", "tags": {"verified_date": str(DAY)}},
        {"action": "replace", "old_text": "office", "content": "The office is new.", "tags": {"verified_date": str(DAY)}},
    ],
    ids=["verify", "a date of its own", "a date for the words", "new words with a date"],
)  # fmt: skip
def test_who_may_not_verify_sets_no_date(memory, change):
    path = memory.write(OFFICE, profile="reader")
    answer = memory.tool("reader", **change)
    assert (answer["success"], answer["reason"]) == (False, "forbidden")
    assert answer["remediation"]
    assert "verified_date" not in path.read_text(encoding="utf-8")


def test_every_added_fact_gets_its_day(memory):
    memory.run("add", OFFICE, "-p", "orchestrator", "-c", "workflow-rules")
    memory.tool("orchestrator", action="add", content="The plant is green.", category="workflow-rules")
    found = memory.data("list", "-p", "orchestrator", "-c", "workflow-rules")["entries"]
    assert [each["tags"] for each in found] == [{"created": str(DAY)}] * 2


# --- review ----------------------------------------------------------------------------------------------------------


def test_never_verified_is_due_first(memory):
    memory.write(entry("An old fact.", verified_date=ago(400)), "A quiet fact.", "A lazy fact.")
    memory.run("add", "So that the root counts.", "-p", "orchestrator", "-t", "memory", "-c", "projects")
    assert [each for each in due(memory) if each.endswith("fact.")] == ["A quiet fact.", "A lazy fact.", "An old fact."]


def test_a_review_asks_one_by_one_and_the_next_asks_what_is_due_then(memory):
    memory.write("One.", "Two.", entry("Three.", verified_date=ago(100)), "Four.")
    memory.run("review", said="k\nx\nq\n", status=1)
    assert sorted(states(memory)) == ["expired", "fresh", "stale", "unverified"]
    memory.run("review", said="s\ne The fourth.\ns\n")
    assert sorted(states(memory)) == ["expired", "fresh", "fresh", "stale"]


# --- search ----------------------------------------------------------------------------------------------------------


def test_rank_is_text_times_recency(memory):
    texts = ("The office {:02}.", "The office {:02} of a house with many other rooms and no view.")
    memory.write(*(entry(text.format(days), verified_date=ago(days)) for text in texts for days in (30, 0, 60)))
    found = memory.data("search", "-p", "orchestrator", "office")["entries"]
    scores = {each["body"]: each["score"] for each in found}
    near, far = ([scores[text.format(days)] for days in (0, 30, 60)] for text in texts)
    assert near[0] > 1.1 * far[0]
    for best, second, third in (near, far):
        assert second / best == pytest.approx((1 + math.exp(-30 / 30)) / 2)
        assert third / best == pytest.approx((1 + math.exp(-60 / 30)) / 2)
    assert [each["score"] for each in found] == sorted(scores.values(), reverse=True)


def test_what_fits_best_comes_first_however_old_it_is(memory):
    answer = entry("Chose Postgres over MariaDB for Adler.", verified_date=ago(208))
    memory.write(answer, *(entry(f"Postgres of team {number} was moved.", verified_date=DAY) for number in range(5)))
    for query in ("chose Postgres over MariaDB for Adler", "Postgres Adler"):
        found = memory.data("search", "-p", "orchestrator", query)["entries"]
        assert len(found) == 6
        assert found[0]["body"] == "Chose Postgres over MariaDB for Adler."


def test_of_facts_that_fit_alike_the_newer_comes_first(memory):
    texts = [f"The office {number:04}." for number in (1, 2, 3000, 3001)]
    memory.write(*(entry(text, verified_date=ago(days)) for text, days in zip(texts, (30, 1, 3000, 3001), strict=True)))
    found = memory.data("search", "-p", "orchestrator", "office")["entries"]
    assert [each["body"] for each in found] == [texts[1], texts[0], texts[2], texts[3]]


def test_nothing_is_cut_before_the_ranking(memory):
    memory.write(
        *(entry(f"office {number} and a lot of other words around it", verified_date=ago(80)) for number in range(120)),
        entry("office", verified_date=DAY),
    )
    found = memory.data("search", "-p", "orchestrator", "office", "--limit", "3")
    assert found["total"] == 121
    assert found["entries"][0]["body"] == "office"


def test_a_filter_by_state_goes_before_the_ranking_too(memory):
    memory.write(
        *(entry(f"office {number}", verified_date=DAY) for number in range(60)),
        entry("the office of old", verified_date=ago(91)),
    )
    found = memory.tool("orchestrator", action="search", query="office", state="stale")["entries"]
    assert [each["body"] for each in found] == ["the office of old"]


# --- its own files ---------------------------------------------------------------------------------------------------


def test_its_memories_are_imported_with_their_dates(memory):
    folder = memory.folder / ".cheetahclaws" / "memory"
    folder.mkdir(parents=True)
    fields = (
        "type: project\ncreated: 2026-04-02\nlast_verified: 2026-05-20\nconfidence: 0.8\nlast_used_at: 2026-11-20\n"
    )
    (folder / "office.md").write_text(f"---\n{fields}---\n{OFFICE}\n", encoding="utf-8")
    said = memory.run("import", "--from", "cheetahclaws", "-p", "orchestrator", folder, "--map", "project=projects")
    (found,) = memory.data("list", "-p", "orchestrator", "-c", "projects")["entries"]
    assert (found["tags"]["created"], found["tags"]["verified_date"]) == ("2026-04-02", "2026-05-20")
    assert found["state"] == "stale"
    assert "confidence" in said.output
    assert "last_used_at" in said.output
