"""Options that leave each other nothing to do are refused, by their names, before anything happens."""

import json
import subprocess
import sys

import pytest

from tests.end_to_end.terminal import error_of, run, run_json, write_root
from tests.together import together
from tests.unit.seeding.seeds import everything

APART = [
    (("list", "neo", "-p", "boss"), "Name the profile once"),
    (("stats", "neo", "--profile=boss"), "Name the profile once"),
    (("prompt", "neo", "-p", "boss"), "unexpected extra argument"),
    (("diff", "--git", "homes/neo/USER.md", "--root", "."), "--git does not go with --root"),
    (("export", "--format", "json", "--overwrite"), "--overwrite goes with --output or --snapshot"),
    (("review", "--list", "--answers", "-"), "--list does not go with --answers"),
    (("review", "--list", "--restart"), "--list does not go with --restart"),
    (("access", "-t", "user", "--format", "json"), "--target does not go with --format json"),
    (("lint", "--unsafe-fixes"), "--unsafe-fixes goes with --fix or --diff"),
    (("lint", "--diff", "--fix"), "--diff does not go with --fix"),
    (("lint", "--diff", "--format", "json"), "--diff does not go with --format"),
    (("merge", "neo", "8a", "--drop", "--precedence", "ours"), "--drop does not go with --precedence"),
    (("import", "--snapshot", "s.json", "memory.db"), "--snapshot does not go with PATH"),
    (("import", "--snapshot", "s.json", "--from", "hermes"), "--snapshot does not go with --from"),
    (("import", "memory.db"), "Missing option '--from'"),
    (("import", "--from", "hermes", "memory.db"), "Missing option '-p'"),
    (("import", "--from", "hermes", "-p", "neo"), "Missing argument 'PATH'"),
    (("export", "--snapshot", "s.json", "--format", "json"), "--snapshot does not go with --format"),
    (("export",), "Missing option '--format'"),
    (("proposals", "--approve"), "Usage: "),
    (("proposals", "--reject", "--reason", "No."), "Usage: "),
    (("proposals", "--edit", "p-0000000000"), "Usage: "),
    (("proposals", "--approve", "--reject", "p-0000000000"), "Usage: "),
    (("proposals", "--approve", "p-0000000000", "--reason", "Yes."), "Usage: "),
    (("proposals", "neo", "trinity"), "Usage: "),
    (("proposals", "--interactive", "--format", "json"), "Usage: "),
]


@together(("arguments", "said"), APART)
def test_options_that_do_not_apply_together_are_refused(tmp_path, monkeypatch, arguments, said):
    write_root(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = everything(tmp_path)
    assert said in run(*arguments, status=2).stderr
    assert everything(tmp_path) == before


@together(
    ("by_argument", "by_option"),
    [
        (("list", "neo", "-t", "user"), ("list", "-t", "user", "-p", "neo")),
        (("prompt", "neo"), ("prompt", "--profile=neo")),
        (("log", "neo", "--format", "json"), ("log", "--format", "json", "--profile", "neo")),
        (("diff", "neo", "1", "2"), ("diff", "1", "2", "-p", "neo")),
        (("stats", "neo", "boss"), ("stats", "-p", "neo", "-p", "boss")),
        (("review", "neo", "--list"), ("review", "--list", "-p", "neo")),
        (("access", "neo"), ("access", "-p", "neo")),
        (("export", "neo", "-t", "user", "--format", "markdown"), ("export", "-p", "neo", "-t", "user", "--format", "markdown")),
        (("undo", "neo", "--dry-run"), ("undo", "-p", "neo", "--dry-run")),
    ],
)  # fmt: skip
def test_a_profile_is_an_argument_or_an_option(tmp_path, monkeypatch, by_argument, by_option):
    write_root(tmp_path)
    monkeypatch.chdir(tmp_path)
    run("add", "-p", "neo", "-c", "rules", "Something new.")
    first, second = run(*by_argument), run(*by_option)
    assert (first.stdout, first.stderr) == (second.stdout, second.stderr)
    assert first.stdout


def test_a_profile_that_is_needed_is_missed_and_a_base_is_no_agent(tmp_path, monkeypatch):
    write_root(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert "Missing option" in run("add", "x", status=2).stderr
    base, child = tmp_path / "profiles" / "stem-of-all.yaml", tmp_path / "profiles" / "child.yaml"
    base.write_text("seed_from: boss\ninclude_uncategorized: false\n")
    child.write_text("extends: stem-of-all\nuser_memory_categories: [rules]\n")
    assert error_of("list", "nobody")["code"] == "unknown_name"
    for command in (("access",), ("stats",), ("doctor",), ("status",)):
        said = str(run_json(*command))
        assert ("stem-of-all" in said, "child" in said) == (False, command[0] != "status"), command
    (tmp_path / "homes" / "stem-of-all").mkdir()
    (tmp_path / "homes" / "stem-of-all" / "USER.md").write_text("## Rules\nOne.\n")
    assert "stem-of-all" in str(run_json("access"))


@pytest.mark.parametrize(
    "arguments", [("list", "neo", "--as-of", "2026-13-01", "--format=json"), ("log", "--format", "json")]
)
def test_wrong_usage_is_json_for_who_asked_for_json(arguments):
    done = subprocess.run([sys.executable, "-m", "catmem", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert json.loads(done.stderr)["error"]["code"] == "bad_arguments"
