"""``GET /metrics``: the numbers, in which format, under which names, and for whom."""

import subprocess
import sys
from contextlib import closing
from datetime import date, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text
from starlette.testclient import TestClient

from catmem import clock
from catmem.envelopes.tokens import new_token
from catmem.errors import CatmemError
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.server.metrics import Meter
from tests.golden.case import put
from tests.unit.audit.audited import make_audited


@pytest.fixture
def workspace(tmp_path):
    made = make_audited(tmp_path / "root")
    yield made
    made.store.close()


@pytest.fixture
def meter(workspace):
    """One that counts from now on."""
    with closing(Meter(workspace)) as made:
        made.text()
        yield made


def values(families, name):
    """The samples of a metric, by the values of their labels in the order of the labels' names."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


def asked(meter, name):
    return values(parse_text(meter.text().decode()), name)


# --- of writes ----------------------------------------------------------------------------------------------------


def test_writes_of_this_process_and_of_others_count_once(workspace, meter):
    workspace.add("neo", "one", category="work")
    add = ["add", "-p", "neo", "-c", "work", "two", "--root", str(workspace.root)]
    subprocess.run([sys.executable, "-m", "catmem", *add], check=True, capture_output=True)
    meter.text()
    assert asked(meter, "mem_write_total") == {("person", "neo/user", "ok"): 2}
    assert asked(meter, "mem_write_latency_seconds_count") == {(): 2}
    assert asked(meter, "mem_head_rev")["neo/user",] == 2


def test_a_branch_counts_and_stands_there_until_it_is_merged(workspace, meter):
    workspace.add("neo", "one", category="work")
    workspace.add("neo", "two", category="work")
    workspace.add("neo", "three", category="work", expected=1, on_stale="branch")
    assert asked(meter, "mem_branch_total")["neo/user",] == 1
    assert asked(meter, "mem_unmerged_branches")["neo/user",] == 1
    workspace.merge("neo/user")
    assert asked(meter, "mem_branch_total")["neo/user",] == 1
    assert asked(meter, "mem_unmerged_branches")["neo/user",] == 0


def test_a_log_that_cannot_be_read_is_told_and_the_rest_is_there(workspace, meter):
    workspace.add("neo", "one", category="work")
    meter.text()
    path = workspace.root / ".catmem" / "audit.jsonl"
    path.rename(path.with_name("away"))
    path.mkdir()
    assert asked(meter, "mem_audit_readable") == {(): 0}
    assert asked(meter, "mem_write_total") == {("person", "neo/user", "ok"): 1}
    assert asked(meter, "mem_head_rev")["neo/user",] == 1


def test_what_waits_is_counted_and_grows_old(workspace, meter, monkeypatch):
    name = workspace.add("neo", "one", category="work", actor="neo", proposes=True).waiting
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=2))
    assert asked(meter, "mem_write_total") == {("neo", "neo/user", "waiting"): 1}
    assert asked(meter, "mem_waiting_proposals")["neo/user",] == 1
    assert asked(meter, "mem_unmerged_branches")["neo/user",] == 0
    assert 2 * 86400 <= asked(meter, "mem_waiting_seconds")["neo/user",] < 2 * 86400 + 600
    workspace.reject(name)
    assert asked(meter, "mem_waiting_proposals")["neo/user",] == 0
    assert asked(meter, "mem_waiting_seconds")["neo/user",] == 0


# --- of entities --------------------------------------------------------------------------------------------------


GAUGES = {
    "mem_head_rev": 2,
    "mem_entries": 3,
    "mem_stale_entries": 1,
    "mem_unverified_entries": 1,
    "mem_expired_entries": 1,
    "mem_drifted": 1,
    "mem_unmerged_branches": 0,
    "mem_unreadable": 0,
}


def test_gauges_are_those_of_the_survey(workspace, meter):
    workspace.add("neo", "old", category="work", tags={"verified_date": "2020-01-01"})
    workspace.add("neo", "gone", category="work", tags={"expires": "2020-01-01"})
    path = workspace.path("neo", "user")
    path.write_text(path.read_text() + "§\nfrom outside\n")
    assert {name: asked(meter, name)["neo/user",] for name in GAUGES} == GAUGES


def test_a_survey_that_fails_says_so_and_the_writes_are_there(workspace, meter, caplog):
    workspace.add("neo", "one", category="work")
    put(workspace.root / "catmem.yaml", "version: 99\n")
    assert asked(meter, "mem_survey_failed") == {(): 1}
    assert asked(meter, "mem_head_rev") == {}
    assert asked(meter, "mem_write_total") == {("person", "neo/user", "ok"): 1}
    assert "cannot be surveyed" in caplog.text


# --- over HTTP ----------------------------------------------------------------------------------------------------


@pytest.fixture
def client(workspace):
    app = create_app(workspace, ServerSettings())
    with TestClient(app, base_url="http://localhost") as made:
        yield made


def test_prometheus_gets_its_text_format(workspace, client):
    assert client.get("/metrics").status_code == 200  # from now on writes count
    workspace.add("neo", "one", category="work")
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert values(parse_text(answer.text), "mem_write_total") == {("person", "neo/user", "ok"): 1}


def test_no_text_and_no_category_is_in_the_numbers(workspace, client):
    workspace.add("neo", "a secret of mine", category="work")
    text = client.get("/metrics").text
    assert "secret" not in text
    assert "work" not in text


@pytest.mark.parametrize(
    ("label", "how", "status"),
    [
        ("anna", {"person": True}, 200),
        ("prometheus", {"scope": "metrics"}, 200),
        ("neo", {}, 403),
        ("boss", {"scope": "read"}, 403),
        (None, {}, 401),
    ],
)
def test_a_person_and_a_token_for_metrics_may_read_them(workspace, tmp_path, label, how, status):
    path = tmp_path / "tokens" / "tokens.json"
    token = "catmem_none" if label is None else new_token(workspace.config, path, label, **how)[1]
    app = create_app(workspace, ServerSettings(tokens=path))
    with TestClient(app, base_url="http://localhost") as client:
        answer = client.get("/metrics", headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == status
    assert ("mem_write" in answer.text) == (status == 200)


def test_the_page_of_the_documentation_tells_every_metric_and_no_other(workspace, meter, root):
    page = (root / "docs" / "metrics.md").read_text(encoding="utf-8")
    documented = {line.split("`")[1].partition("{")[0] for line in page.splitlines() if line.startswith("- `mem_")}
    families = parse_text(meter.text().decode())
    names = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}
    assert documented == names


# --- the words of the page on overwrites ---------------------------------------------------------------------------


def test_refusals_count_by_outcome_and_reason_and_conflicts_apart(workspace, meter):
    workspace.add("neo", "one", category="work")
    for call in (
        lambda: workspace.add("neo", "two", category="work", expected=0),
        lambda: workspace.add("neo", "two", category="talk", actor="neo"),
        lambda: workspace.remove("neo", "nowhere", target="user"),
        lambda: workspace.remove("neo", "nowhere"),  # of either file
    ):
        with pytest.raises(CatmemError):
            call()
    assert asked(meter, "mem_refused_total") == {
        ("neo/user", "stale_prev"): 1,
        ("neo/user", "forbidden"): 1,
        ("neo/user", "no_match"): 1,
        ("other", "no_match"): 1,
    }
    assert asked(meter, "mem_write_total") == {
        ("person", "neo/user", "ok"): 1,
        ("person", "neo/user", "conflict"): 1,
        ("neo", "neo/user", "refused"): 1,
        ("person", "neo/user", "refused"): 1,
        ("person", "other", "refused"): 1,
    }
    conflicts = asked(meter, "mem_conflict_total")
    assert {key for key, number in conflicts.items() if number} == {("neo/user", "stale_prev")}


def test_overwrites_that_were_prevented_count_by_entity(workspace, meter):
    workspace.add("neo", "one", category="work")
    workspace.add("neo", "two", category="work")
    with pytest.raises(CatmemError):
        workspace.add("neo", "three", category="work", expected=1)
    workspace.add("neo", "four", category="work", expected=1, on_stale="branch")
    workspace.add("neo", "five", category="work", expected=1, on_drift="merge")
    workspace.merge("neo/user")
    assert asked(meter, "mem_overwrites_prevented_total") == {("neo/user",): 3, ("other",): 0}


TWO = "\n§\n[created: 2026-11-21] two"


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (lambda text: text.replace(TWO, ""), 1),
        (lambda text: text.replace("two", "mine"), 1),
        (lambda _: "", 1),
        (lambda text: text + "§\nmine\n", 0),
        (lambda text: text.replace("[created: 2026-11-21] one\n§\n", ""), 0),
    ],
    ids=["an old view", "an old view with words of its own", "emptied", "goes on from it", "takes out another"],
)
def test_a_revision_that_an_external_text_takes_back_is_an_overwrite_that_was_lost(workspace, meter, change, lost):
    for words in ("one", "two"):
        workspace.add("neo", words, category="work", as_of=date(2026, 11, 21))
    assert asked(meter, "mem_overwrites_lost_total")["neo/user",] == 0
    path = workspace.path("neo", "user")
    path.write_text(change(path.read_text()))
    workspace.add("neo", "later", category="talk")
    for _ in range(2):
        assert asked(meter, "mem_overwrites_lost_total")["neo/user",] == lost
