"""The alert rules, by Prometheus's own promtool: each is right, fires when it should, and keeps quiet when not.

One file a rule, named like it, in the format of ``promtool test rules``.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

import catmem

pytestmark = pytest.mark.torture

TESTS = sorted(Path(__file__).parent.glob("*.yml"))
ALERT_RULES = Path(catmem.__file__).parent / "server" / "alerts.yml"
ALERTS = [rule for group in yaml.safe_load(ALERT_RULES.read_text())["groups"] for rule in group["rules"]]
NAMES = [rule["alert"] for rule in ALERTS]

PROMTOOL = pytest.mark.skipif(
    shutil.which("promtool") is None and not os.environ.get("CI"), reason="promtool (Debian: prometheus) is missing"
)


def promtool(*arguments):
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)


@PROMTOOL
def test_the_rules_are_right():
    done = promtool("check", "rules", ALERT_RULES)
    assert done.returncode == 0, done.stdout + done.stderr


@PROMTOOL
def test_each_rule_fires_when_it_should_and_only_then(tmp_path):
    for path in TESTS:
        said = yaml.safe_load(path.read_text())
        # The rules are those of the package that is tested, wherever it is installed.
        (tmp_path / path.name).write_text(yaml.safe_dump(said | {"rule_files": [str(ALERT_RULES)]}))
    done = promtool("test", "rules", *(tmp_path / path.name for path in TESTS))
    assert done.returncode == 0, done.stdout + done.stderr


@PROMTOOL
def test_a_rule_that_never_fires_is_found_out(tmp_path):
    (path,) = [path for path in TESTS if path.stem == "MemDrift"]
    rules = ALERT_RULES.read_text().replace("mem_drifted == 1", "mem_drifted == 2")
    (tmp_path / "rules.yml").write_text(rules)
    (tmp_path / "test.yml").write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"rule_files": ["rules.yml"]}))
    assert promtool("test", "rules", tmp_path / "test.yml").returncode != 0


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_has_a_test_of_it_firing_and_one_of_it_keeping_quiet(name):
    (path,) = [path for path in TESTS if path.stem == name]
    trials = [each for test in yaml.safe_load(path.read_text())["tests"] for each in test["alert_rule_test"]]
    assert {each["alertname"] for each in trials} == {name}
    assert {bool(each["exp_alerts"]) for each in trials} == {True, False}


def test_no_test_is_left_of_a_rule_that_is_gone():
    assert sorted(path.stem for path in TESTS) == sorted(NAMES)


@pytest.mark.parametrize("rule", ALERTS, ids=NAMES)
def test_every_rule_says_what_is_wrong_and_what_to_do(rule):
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert set(rule["annotations"]) == {"summary", "description"}


def test_the_documentation_lists_every_rule_and_no_other(root):
    page = (root / "docs" / "metrics.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^- `(Mem\w+)` \((\w+)\): ", page, re.MULTILINE))
    assert listed == {rule["alert"]: rule["labels"]["severity"] for rule in ALERTS}
