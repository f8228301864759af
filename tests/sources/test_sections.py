"""Categorized sections for Hermes's memory files: a specialist gets the categories that its profile names, and no others.

The story: an orchestrator's USER.md is one flat file. Every specialist that it starts is given all of it, or nothing.
"""

import asyncio
import json
import re

import pytest
from mcp import Client

import catmem
from catmem.mcp.server import make_server
from catmem.workspace.workspace import Workspace
from tests.guard.doors import DOORS, needed
from tests.guard.scripts import HIDDEN, Script, Setting
from tests.http_root import served

SLICES = {
    "neo": ["Communication Style", "Workflow Rules (Development)"],
    "morpheus": ["Communication Style", "Cognitive Patterns", "Working Relationship"],
    "trinity": ["Communication Style", "Workflow Rules (Finance)", "Approval Conventions"],
}
EXPIRED = "Book travel to cost centre 410."
FLAT = "[COMM] Prefers short answers.\n§\n[WORKFLOW] Small commits.\n§\nPlain.\n"


def headings(text):
    return re.findall(r"(?m)^## (.*)$", text)


def bytes_of(root):
    """The memory files of all profiles, and the record of what was seeded."""
    paths = [*sorted(root.folder.glob("homes/*/*.md")), root.folder / "catmem.seed.lock"]
    return {path: path.read_bytes() for path in paths}


def without_copies(root):
    """The worked example before its first seed."""
    for name in SLICES:
        for path in (root.folder / "homes" / name).glob("*.md"):
            path.unlink()
    (root.folder / "catmem.seed.lock").unlink(missing_ok=True)


def turn_round(path):
    """Let the sections of a file stand in the opposite order."""
    title, *sections = re.split(r"(?m)^(?=## )", path.read_text(encoding="utf-8"))
    path.write_text(title + "".join(f"{each.rstrip()}\n\n" for each in reversed(sections)), encoding="utf-8")


def bodies(root, path):
    """What the entries of each category of a file say."""
    return {name: [each["body"] for each in entries] for name, entries in root.data("show", path)["categories"].items()}


# --- the format ------------------------------------------------------------------------------------------------------


def test_sections_entries_and_tags(made):
    path = made.file("orchestrator/user")
    path.write_text(
        "## Communication Style\n[verified_date: 2026-05-01, domain: talk] Prefers short answers.\n§\n- with a bullet\n\n"
        "## Workflow Rules\n---\nexpires: 2027-01-01\ndomain:\n  - finance\n  - tax\n---\nDue on the 15th.\n",
        encoding="utf-8",
    )
    found = made.data("show", path)["categories"]
    assert list(found) == ["communication-style", "workflow-rules"]
    assert [each["body"] for each in found["communication-style"]] == ["Prefers short answers.", "- with a bullet"]
    assert found["communication-style"][0]["tags"] == {"verified_date": "2026-05-01", "domain": "talk"}
    assert found["workflow-rules"][0]["tags"] == {"expires": "2027-01-01", "domain": ["finance", "tax"]}


LEGACY = "One.\n§\nTwo.\nwith a second line\n§\n### Three\n§\n"


@pytest.mark.parametrize("text", [LEGACY, LEGACY.replace("\n", "\r\n"), "\ufeff" + LEGACY], ids=["LF", "CRLF", "BOM"])
def test_a_legacy_file_is_under_uncategorized_and_stays_as_it_is(made, text):
    path = made.file("orchestrator/memory")
    path.write_bytes(text.encode())
    found = made.data("show", path)["categories"]
    assert {name: [each["body"] for each in entries] for name, entries in found.items()} == {
        "__uncategorized__": ["One.", "Two.\nwith a second line", "### Three"]
    }
    assert "Two." in made.run("prompt", "orchestrator").stdout
    assert path.read_bytes() == text.encode()


def test_a_specialist_sees_a_legacy_file_if_its_profile_says_so(example):
    example.file("neo/memory").write_text(LEGACY, encoding="utf-8")
    assert "Two." not in example.run("prompt", "neo").stdout
    path = example.folder / "profiles" / "neo.yaml"
    path.write_text(f"include_uncategorized: true\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert "Two." in example.run("prompt", "neo").stdout


# --- the worked example ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SLICES)
@pytest.mark.parametrize("turned", [False, True], ids=["as it is", "turned round"])
def test_each_specialist_gets_its_categories_in_the_order_of_its_profile(example, name, turned):
    if turned:
        turn_round(example.file("orchestrator/user"))
    text = example.run("prompt", name, "--from", "orchestrator", "--as-of", "2026-11-21").stdout
    user, _, notes = text.partition("# Notes")
    assert headings(user) == SLICES[name]
    assert set(headings(notes)) == ({"Finance Vendors", "Finance Budgets"} if name == "trinity" else set())


@pytest.mark.parametrize("name", SLICES)
def test_nothing_of_another_category_is_shown_by_any_interface(example, name):
    canary = "CANARY 7261"
    path = example.file(f"{name}/user")
    path.write_text(path.read_text(encoding="utf-8") + f"\n## Finance Payroll\n{canary}\n", encoding="utf-8")
    assert canary in example.run("show", path).stdout
    said = [
        example.run(*command.split(), name).stdout
        for command in ("prompt", "prompt --explain", "prompt --format json", "list -p", "search canary -p")
    ]
    said += [
        json.dumps(example.tool(name, action="list")),
        json.dumps(example.tool(name, action="search", query="canary 7261")),
    ]
    no_such = [example.tool(name, action="remove", old_text=each) for each in (canary, "CANARY 0000")]
    assert json.dumps(no_such[0]).replace(canary, "CANARY 0000") == json.dumps(no_such[1])
    assert [canary in each for each in said] == [False] * len(said)
    assert canary in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(DOORS.keys() - {"drop-in", "mcp-process"}))
def test_nothing_of_it_is_shown_by_any_interface_of_an_agent(tmp_path, name):
    pytest.importorskip(needed(name), reason="NOT TESTED: an extra is not installed")
    canary, text = "CANARY 7261", f"## Projects\nUses tabs.\n\n## {HIDDEN}\nCANARY 7261\n"
    setting, slug = Setting(text, None, "projects", tier=2, limit=None, by_init=False), HIDDEN.lower()
    looks = [
        {"action": "list"},
        {"action": "list", "category": "projects"},
        {"action": "list", "category": slug},
        {"action": "search", "query": canary.lower()},
    ]
    looks += [{"action": "prompt"}, {"action": "prompt", "categories": [slug]}]
    with DOORS[name](tmp_path, Script(0, "mixed", setting, (), ())) as door:
        said = [door.open(), *(door.call(each) for each in looks if each["action"] in door.can)]
        said += [door.call({"action": "remove", "target": "user", "old_text": canary.lower()})]
        assert any("Uses tabs." in each.text for each in said)
        assert [each.text for each in said if canary in each.text] == []
        if name == "mcp":
            assert slug not in door.portal.call(door.client.list_resources).model_dump_json()
        assert door.path.read_text(encoding="utf-8") == text


def test_tiers_say_who_seeds_and_who_keeps_files(example):
    assert example.tool("neo", action="seed", targets=["trinity"])["success"] is False
    assert example.tool("orchestrator", action="seed", targets=["neo"])["success"] is True
    said = example.run("prompt", "scout", "--from", "orchestrator").stdout
    assert headings(said) == ["Communication Style"]
    assert not (example.folder / "homes" / "scout").exists()


# --- seed ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["command", "tool"])
def test_seed_copies_each_slice(example, way):
    without_copies(example)
    if way == "command":
        example.run("seed", "orchestrator", *SLICES)
    else:
        assert example.tool("orchestrator", action="seed", targets=list(SLICES))["success"]
    source = bodies(example, example.file("orchestrator/user"))
    for name, titles in SLICES.items():
        assert headings(example.file(f"{name}/user").read_text(encoding="utf-8")) == titles
        copied = bodies(example, example.file(f"{name}/user"))
        said = {category: [each for each in source[category] if each != EXPIRED] for category in copied}
        assert copied == said
    assert "Payroll" not in example.file("trinity/memory").read_text(encoding="utf-8")
    assert not example.file("neo/memory").exists()


def test_a_second_seed_changes_no_byte(example):
    without_copies(example)
    example.run("seed", "orchestrator", "--all")
    before = bytes_of(example)
    times = {path: path.stat().st_mtime_ns for path in before}
    example.run("seed", "orchestrator", "--all")
    example.run("seed", "orchestrator", "--all", "--check")
    assert bytes_of(example) == before
    assert {path: path.stat().st_mtime_ns for path in before} == times


def test_what_the_specialist_wrote_itself_stays_and_edits_of_the_source_arrive(example):
    example.run("seed", "orchestrator", "neo")
    example.run("add", "Own words of neo.", "-p", "neo", "-c", "dev-workflow")
    example.run("replace", "before 10:00", "Never schedule calls before 11:00.", "-p", "orchestrator")
    example.run("seed", "orchestrator", "neo")
    text = example.file("neo/user").read_text(encoding="utf-8")
    assert "Own words of neo." in text
    assert "11:00" in text
    assert "10:00" not in text
    example.run("replace", "11:00", "Own words on calls.", "-p", "neo")
    example.run("replace", "11:00", "Never schedule calls before 12:00.", "-p", "orchestrator")
    example.run("seed", "orchestrator", "neo", status=3)
    text = example.file("neo/user").read_text(encoding="utf-8")
    assert ("Own words on calls." in text, "12:00" in text) == (True, False)


def test_a_seed_of_some_categories(example):
    without_copies(example)
    example.tool("orchestrator", action="seed", targets=["neo"], categories=["communication-style"])
    assert headings(example.file("neo/user").read_text(encoding="utf-8")) == SLICES["neo"][:1]
    example.run("seed", "orchestrator", "neo")
    example.run("add", "Test first.", "-p", "orchestrator", "-c", "dev-workflow")
    example.run("replace", "before 10:00", "Never schedule calls before 11:00.", "-p", "orchestrator")
    example.tool("orchestrator", action="seed", targets=["neo"], categories=["dev-workflow"])
    text = example.file("neo/user").read_text(encoding="utf-8")
    assert ("Test first." in text, "10:00" in text, "11:00" in text) == (True, True, False)
    example.run("replace", "before 11:00", "Never schedule calls before 10:00.", "-p", "orchestrator")
    before = bytes_of(example)
    example.run("seed", "orchestrator", "neo")
    assert bytes_of(example) == before


def test_dates_are_copied_and_not_refreshed(example):
    without_copies(example)
    example.run("seed", "orchestrator", "neo", "--as-of", "2026-11-21")
    assert "[verified_date: 2026-03-09] New services" in example.file("neo/user").read_text(encoding="utf-8")
    assert "stale: verified 2026-03-09" in example.run("prompt", "neo", "--as-of", "2026-11-21").stdout


def test_a_slice_over_the_limit_is_refused_whole_and_names_what_could_go(example):
    without_copies(example)
    path = example.folder / "profiles" / "trinity.yaml"
    path.write_text(f"limits: {{user: 500}}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    asked = ("seed", "orchestrator", "trinity", "-t", "user", "--as-of", "2026-11-21", "--format", "json")
    (seed,) = json.loads(example.run(*asked, status=1).stdout)["seeds"]
    (refused,) = seed["refused"]
    assert (refused["error"]["code"], refused["error"]["over_by"]) == ("over_budget", 118)
    assert sum(each["size"] for each in refused["error"]["could_go"]) >= refused["error"]["over_by"]
    assert not example.file("trinity/user").exists()


# --- an ad-hoc slice -------------------------------------------------------------------------------------------------

NAMED = ["communication-style", "approval-conventions"]
TITLES = ["Communication Style", "Approval Conventions"]


def of_command(root, budget, profile="orchestrator", named=NAMED):
    chosen = [each for name in named for each in ("-c", name)]
    who = ["--from", "orchestrator"] if profile == "orchestrator" else [profile]
    return root.run("prompt", *who, *chosen, "--budget", budget).stdout


def of_tool(root, budget, profile="orchestrator", named=NAMED):
    return root.tool(profile, action="prompt", categories=named, budget=budget)["text"]


def of_http(root, budget, profile="orchestrator", named=NAMED):
    (http,) = served(Workspace.open(root.folder, search=False), root.folder / "tokens" / "tokens.json")
    asked = {"categories": ",".join(named), "budget": budget}
    who = None if profile == "orchestrator" else profile  # a person, or an agent
    return http.client(who).get(f"/prompt/{profile}", params=asked).text


def of_mcp(root, budget, profile="orchestrator", named=NAMED):
    async def asked():
        async with Client(make_server(Workspace.open(root.folder, search=False), profile)) as client:
            found = await client.call_tool("memory_prompt", {"categories": named, "budget": budget})
            return found.structured_content["text"]

    return asyncio.run(asked())


WAYS = [of_command, of_tool, of_http, of_mcp]


@pytest.mark.parametrize("way", WAYS)
def test_a_slice_without_a_profile(example, way):
    whole = way(example, 800)
    assert headings(whole) == TITLES
    small = way(example, 200)
    assert len(small.strip()) <= 200
    assert 0 < len(headings(small)) < len(TITLES)


@pytest.mark.parametrize("asked", [["finance-payroll", "communication-style"], ["*"]])
@pytest.mark.parametrize("way", WAYS)
def test_a_slice_is_not_wider_than_the_rights_of_the_profile_that_asks(example, way, asked):
    with example.file("neo/user").open("a", encoding="utf-8") as stream:
        stream.write("\n## Finance Payroll\nFreelancers get £500 a day.\n")
    text = way(example, 800, "neo", asked)
    assert "## Communication Style" in text
    assert "Payroll" not in text
    assert "£500" not in text


# --- from a flat file ------------------------------------------------------------------------------------------------


def test_labels_that_no_category_has_are_proposed_and_declared_when_asked(made):
    path = made.file("orchestrator/user")
    path.write_text(FLAT, encoding="utf-8")
    proposed = made.run("migrate", "--dry-run", path).stderr
    assert "[COMM]" in proposed
    assert "[WORKFLOW]" in proposed
    declared = (made.folder / "catmem.yaml").read_text(encoding="utf-8")
    for asked in (["--dry-run"], ["--dry-run", "--declare"], []):
        made.run("migrate", *asked, path)
        assert path.read_text(encoding="utf-8") == FLAT
        assert (made.folder / "catmem.yaml").read_text(encoding="utf-8") == declared
    made.run("migrate", "--declare", path)
    found = made.data("show", path)["categories"]
    assert [[each["body"] for each in entries] for entries in found.values()] == [
        ["Plain."],
        ["Prefers short answers."],
        ["Small commits."],
    ]
    assert set(found) - {"__uncategorized__"} <= set(
        re.findall(r"(?m)^    ([a-z-]+):", (made.folder / "catmem.yaml").read_text(encoding="utf-8"))
    )


def test_a_bullet_is_not_bulleted_twice(made):
    entries = ["- One", "* Two\n  goes on", "+ Three", "[verified_date: 2026-01-01] - Four"]
    made.file("orchestrator/user").write_text("## Projects\n" + "\n§\n".join(entries) + "\n", encoding="utf-8")
    said = made.run("prompt", "orchestrator", "--as-of", "2026-11-21").stdout
    assert said.endswith("- One\n- Two\n  goes on\n- Three\n- (stale: verified 2026-01-01) Four\n")
    made.file("orchestrator/user").write_text(
        "## Projects\n- One\n§\n* Two\n  goes on\n§\n- a\n- b\n", encoding="utf-8"
    )
    said = made.run("prompt", "orchestrator").stdout
    assert said.endswith("## Projects\n- One\n- Two\n  goes on\n- a\n- b\n")


# --- the card --------------------------------------------------------------------------------------------------------


def test_the_shipped_profiles_and_schemas_are_of_use(tmp_path, made):
    made.run("init", "new", "--profile", "trinity")
    assert {each.stem for each in (made.folder / "new" / "profiles").iterdir()} == {
        "trinity",
        "specialist",
        "orchestrator",
    }
    for each in made.data("schema")["schemas"]:
        said = json.loads(made.run("schema", each["name"]).stdout)
        assert said["$id"] == each["id"] == f"urn:catmem:schema:{each['name']}:1"


def test_tags_are_a_typed_dict():
    (entry,) = catmem.parse("[expires: 2027-01-01, domain: finance] Due on the 15th.").entries
    typed = entry.typed_tags
    assert (typed["expires"].isoformat(), typed["domain"]) == ("2027-01-01", ["finance"])
    assert set(catmem.Tags.__annotations__) == {"verified_date", "created", "expires", "domain", "source"}
