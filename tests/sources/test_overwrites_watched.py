"""The page on memory overwrites, its second half: how one sees that agents overwrite each other, and what merges them.

The words of the page are part of the wish: ``conflict`` and ``retry``, ``head_rev``, kappa, the semantic alert.
"""

import json
import re

import pytest

from catmem.workspace.workspace import Workspace
from tests.http_root import served

NEW = ("-p", "orchestrator", "-t", "memory", "-c", "projects")
ENTITY, ALPHA = "orchestrator/memory", "project:alpha"


def race(root):
    """Two writers of revision 1: the first writes 2 and repeats it under its `op_id`, the second is refused."""
    root.run("add", "The vendor is Acme.", *NEW)
    first = {"action": "replace", "target": "memory", "old_text": "vendor", "content": "The vendor is Bolt."}
    for _ in range(2):
        assert root.tool("orchestrator", **first, op_id="bolt-1")["success"]
    said = root.data("replace", "vendor", "The vendor is Crux.", *NEW[:4], "--expected", "1", status=3)
    assert (said["code"], said["expected"], said["found"]) == ("stale_prev", "1", "2")


def value(text, name, **labels):
    """The value of the one sample of a metric with these labels."""
    rows = re.findall(rf"(?m)^{name}(\{{.*\}})? (\S+)$", text)
    (found,) = [
        float(number) for said, number in rows if all(f'{key}="{word}"' in said for key, word in labels.items())
    ]
    return found


def test_one_line_an_operation_with_its_words(made):
    race(made)
    lines = json.loads(made.run("audit", "--format", "json").stdout)["lines"]
    assert [each["status"] for each in lines] == ["ok", "ok", "retry", "conflict"]
    fields = "ts entity_id op agent prev_rev mem_rev status reason head_rev"
    assert list(lines[0])[:9] == fields.split()
    last = lines[-1]
    assert (last["prev_rev"], last["mem_rev"], last["reason"], last["head_rev"]) == (1, 2, "stale_prev", 2)
    assert [(each["prev_rev"], each["mem_rev"]) for each in lines[:3]] == [(0, 1), (1, 2), (None, 2)]
    assert [word in json.dumps(lines) for word in ("Acme", "Bolt", "Crux", "vendor")] == [False] * 4


def test_a_whole_content_is_a_write_and_a_branch_keeps_its_name(made):
    with (made.folder / "catmem.yaml").open("a") as config:
        config.write('entities: {"project:alpha": {content: json}}\n')
    workspace = Workspace.open(made.folder, search=False)
    workspace.put(ALPHA, {"vendor": "Acme"}, expected=0)
    workspace.put(ALPHA, {"vendor": "Bolt"}, expected=1)
    workspace.put(ALPHA, {"vendor": "Crux"}, expected=1, on_stale="branch")
    workspace.put(ALPHA, {"vendor": "Dart"}, expected="2a", on_stale="branch")
    lines = json.loads(made.run("audit", "--entity", ALPHA, "--format", "json").stdout)["lines"]
    assert [(each["prev_rev"], each["mem_rev"], each["head_rev"]) for each in lines] == [
        (0, 1, 1),
        (1, 2, 2),
        (1, "2a", 2),
        ("2a", "3a", 2),
    ]


def test_the_alert_on_branches_sees_what_catmem_yaml_declares(made):
    """``mem_unmerged_branches`` of ``project:alpha``, on which the alert of the page fires, and its head."""
    with (made.folder / "catmem.yaml").open("a") as config:
        config.write('entities: {"project:alpha": {content: json}, "notes:alpha": {content: text}}\n')
    workspace = Workspace.open(made.folder, search=False)
    (http,) = served(workspace, made.folder / "tokens" / "tokens.json")
    workspace.put(ALPHA, {"vendor": "Acme"}, expected=0)
    workspace.put(ALPHA, {"vendor": "Bolt"}, expected=1)
    workspace.put(ALPHA, {"vendor": "Crux"}, expected=1, on_stale="branch")
    text = http.client().get("/metrics").text
    found = {name: value(text, name, entity=ALPHA) for name in ("mem_head_rev", "mem_unmerged_branches", "mem_entries")}
    assert found == {"mem_head_rev": 2, "mem_unmerged_branches": 1, "mem_entries": 0}
    assert value(text, "mem_head_rev", entity="notes:alpha") == 0
    assert value(text, "mem_unreadable", entity=ALPHA) == 0


def test_the_metrics_have_the_same_words(made):
    workspace = Workspace.open(made.folder, search=False)
    (http,) = served(workspace, made.folder / "tokens" / "tokens.json")
    person = http.client()
    person.get("/metrics")  # counters begin here
    race(made)
    text = person.get("/metrics").text
    assert value(text, "mem_write_total", entity=ENTITY, outcome="conflict") == 1
    assert value(text, "mem_write_total", entity=ENTITY, outcome="retry") == 1
    assert value(text, "mem_conflict_total", entity=ENTITY, reason="stale_prev") == 1
    assert value(text, "mem_overwrites_prevented_total", entity=ENTITY) == 1
    assert value(text, "mem_overwrites_lost_total", entity=ENTITY) == 0
    path = made.file(ENTITY)
    more = path.read_bytes() + "§\nOf another program.\n".encode()
    for number, lost in ((1, 0), (2, 1)):
        path.write_bytes(more)  # the second time over what was added
        made.run("add", f"Number {number}.", *NEW)
        assert value(person.get("/metrics").text, "mem_overwrites_lost_total", entity=ENTITY) == lost


def test_kappa_shows_what_guards_are_for(made):
    said = made.data("simulate", "--agents", "3", "--writes", "24", "--entities", "1")
    assert {each: said["guarded"][each] for each in ("silent_overwrites", "unrecorded", "kappa")} == {
        "silent_overwrites": 0, "unrecorded": 0, "kappa": 1.0,
    }  # fmt: skip
    assert said["unguarded"]["acknowledged"] == said["guarded"]["acknowledged"] == 24
    assert said["unguarded"]["silent_overwrites"] > 0
    assert said["unguarded"]["kappa"] < 1


def test_every_branch_that_merges_by_itself_is_merged_at_once(made):
    made.profile("scout", "memory_categories: ['*']\n")
    late = ("--expected", "1", "--on-stale", "branch")
    for profile in ("orchestrator", "scout"):
        new = ("-p", profile, *NEW[2:])
        made.run("add", "The vendor is Acme.", *new)
        made.run("replace", "vendor", "The vendor is Bolt.", *new[:4], "--expected", "1")
        made.run("add", "Of the second.", *new, *late)
        made.run("replace", "vendor", "The vendor is Crux.", *new[:4], *late)
        made.run("add", "Of the third.", *new, *late)
    assert len(made.data("branches")["branches"]) == 6
    made.run("merge", "--all", status=3)
    left = made.data("branches")["branches"]
    assert [(each["state"], each["conflicts"]) for each in left] == [("conflicts", 1)] * 2
    for profile in ("orchestrator", "scout"):
        text = made.file(f"{profile}/memory").read_text(encoding="utf-8")
        words = ("Bolt", "the second", "the third", "Acme", "Crux")
        assert [each in text for each in words] == [True] * 3 + [False] * 2
        assert made.data("log", f"{profile}/memory")["revisions"][0]["parents"] == ["2", "2a", "2c"]


@pytest.mark.parametrize("setting", ["", "semantic_alert: 0.4\n"], ids=["without", "with"])
@pytest.mark.parametrize(("new", "alike"), [("The vendor is Bolt.", True), ("The other is Bolt.", False)])
def test_the_semantic_alert_is_a_setting_of_the_root(made, new, alike, setting):
    made.configure("version: 1\n", f"version: 1\n{setting}")
    made.run("add", "The vendor is Acme.", *NEW)
    write = {"action": "replace", "target": "memory", "old_text": "vendor", "content": new}
    alarmed = bool(setting) and not alike
    if alarmed:
        for _ in range(2):
            assert made.tool("orchestrator", **write)["reason"] == "semantic_collision"
        assert made.data("replace", "vendor", new, *NEW[:4], status=3)["code"] == "semantic_collision"
        assert "Acme" in made.file(ENTITY).read_text(encoding="utf-8")
    assert made.tool("orchestrator", **write, **({"confirm": True} if alarmed else {}))["success"]
    assert new in made.file(ENTITY).read_text(encoding="utf-8")
