"""The dashboard: its queries and the rules ask for metrics and labels that there are, and for every one of an entity."""

import json
import re

import pytest
import yaml

from catmem.errors import CatmemError
from catmem.resources import package_text
from catmem.server.metrics import Meter
from tests.alerts.test_alert_rules import ALERTS, PROMTOOL, promtool
from tests.unit.audit.audited import make_audited

SAID = json.loads(package_text("server/dashboard.json"))
QUERIES = [target["expr"] for panel in SAID["panels"] for target in panel["targets"]]
OF_THE_SCRAPE = {"job", "instance"}


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """The labels of each metric of a server, by the name of its samples."""
    meter = Meter(make_audited(tmp_path_factory.mktemp("root")))
    meter.look()
    meter.workspace.add("neo", "one", category="work")
    with pytest.raises(CatmemError):
        meter.workspace.add("neo", "two", category="work", expected=0)
    meter.look()
    samples = [sample for family in meter.collect() for sample in family.samples]
    meter.close()
    meter.workspace.store.close()
    return {sample.name: set(sample.labels) | OF_THE_SCRAPE for sample in samples}


def unknown(query, labels):
    """The metrics of a query that there are not, and the labels that its metrics do not have."""
    names = re.findall(r"\bmem_[a-z_]+", query)
    found = [name for name in names if name not in labels]
    for name, selector in re.findall(r"\b(mem_[a-z_]+)\{([^}]*)\}", query):
        found += set(re.findall(r"(\w+)\s*[=!]~?", selector)) - labels.get(name, set())
    grouped = {each for group in re.findall(r"by \(([^)]*)\)", query) for each in re.split(r", *", group)}
    return [*found, *grouped - set.union(*(labels.get(name, set()) for name in names))]


@pytest.mark.parametrize("query", [*QUERIES, *(rule["expr"] for rule in ALERTS)])
def test_a_query_asks_for_metrics_and_labels_that_there_are(query, labels):
    assert unknown(query, labels) == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("sum(mem_wrote_total)", ["mem_wrote_total"]),
        ('mem_head_rev{agent="neo"}', ["agent"]),
        ("sum by (reason) (mem_write_total)", ["reason"]),
    ],
)
def test_a_query_for_what_there_is_not_is_found_out(query, found, labels):
    assert unknown(query, labels) == found


def test_legends_and_variables_are_labels_that_there_are(labels):
    used = set(re.findall(r"\{\{(\w+)\}\}", json.dumps(SAID["panels"])))
    assert used <= set.union(*labels.values())
    variables = {each["name"]: each["query"] for each in SAID["templating"]["list"]}
    for metric, label in re.findall(r"label_values\((\w+)[^,]*, (\w+)\)", " ".join(variables.values())):
        assert label in labels[metric]
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(SAID))) - {"__rate_interval"} == variables.keys()


def test_every_metric_is_shown(labels):
    shown = {name for query in QUERIES for name in re.findall(r"\bmem_[a-z_]+", query)}
    parts = {f"mem_write_latency_seconds_{each}" for each in ("count", "sum")}
    assert labels.keys() - shown == parts


def test_panels_have_places_of_their_own_on_the_grid():
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in SAID["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24
    assert len({panel["id"] for panel in SAID["panels"]}) == len(SAID["panels"])


@PROMTOOL
def test_prometheus_can_read_every_query(tmp_path):
    rules = [
        {"record": f"query:{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(QUERIES)
    ]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = promtool("check", "rules", tmp_path / "rules.yml")
    assert done.returncode == 0, done.stdout + done.stderr
