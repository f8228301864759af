"""The command ``catmem sync``: what it declares, prints and ends with."""

import json

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from tests.harnesses.homes import USER


@pytest.fixture
def run(home, monkeypatch):
    monkeypatch.chdir(home.root)
    (home.root / "catmem.yaml").write_text("version: 1  # mine\n")

    def call(*words, status=0):
        done = CliRunner().invoke(group, ["sync", *map(str, words)])
        assert done.exit_code == status, done.output
        return done

    return call


def test_a_sync_is_declared_and_written_with_one_command(home, run):
    assert "declares no sync" in run().stderr
    assert "would be declared" in run("-p", "trinity", "--to", "claude-agent", "--dry-run").stderr
    assert (home.agent.exists(), (home.root / "catmem.yaml").read_text()) == (False, "version: 1  # mine\n")
    run("-p", "trinity", "--to", "claude-agent")
    assert "Prefers short" in home.agent.read_text()
    text = (home.root / "catmem.yaml").read_text()
    assert text == "version: 1  # mine\nsync:\n  trinity-claude-agent: {profile: trinity, harness: claude-agent}\n"
    run("-p", "trinity", "--to", "claude-agent")
    run("-p", "trinity", "--to", "codex", "--project", home.project)
    assert (home.root / "catmem.yaml").read_text().startswith(text)
    assert (home.project / "AGENTS.md").exists()
    assert "another sync" in run("-p", "trinity", "--to", "codex", status=2).stderr


def test_a_harness_that_is_none_declares_nothing(home, run):
    before = (home.root / "catmem.yaml").read_bytes()
    assert "claud" in run("-p", "trinity", "--to", "claud", status=2).stderr
    assert "project" in run("-p", "trinity", "--to", "cursor", status=2).stderr
    run("-p", "nobody-here", "--to", "claude", status=2)
    assert (home.root / "catmem.yaml").read_bytes() == before


def test_what_a_file_is_like_is_said_by_words_and_by_the_exit_status(home, run):
    run("-p", "trinity", "--to", "claude-agent", "--format", "json")
    assert run("--dry-run").stdout.endswith("MEMORY.md: in sync\n")
    (home.root / "homes" / "trinity" / "USER.md").write_text(USER.replace("Fridays", "Mondays"))
    done = run("--dry-run")
    assert f"--- a/{str(home.agent).lstrip('/')}\n" in done.stdout
    assert "-- Invoices go out on Fridays." in done.stdout
    assert "+- Invoices go out on Mondays." in done.stdout
    table = run("--status").stdout
    assert "out of date" in table
    assert "the next start of the subagent" in table
    assert run().stdout.endswith("MEMORY.md: written\n")
    home.agent.write_text("mine\n")
    assert "--again writes it anew" in run("--dry-run", status=3).stderr
    (said,) = json.loads(run("--format", "json", status=3).stdout)["files"]
    assert (said["state"], said["changes"], said["error"]) == ("taken out", False, None)
    assert run("--again").stdout.endswith("written\n")
    home.agent.write_text(home.agent.read_text().replace("- Prefers short answers.", "- Prefers long answers."))
    assert "replace in style" in run("--dry-run").stderr
    assert "replace in style: waits as p-" in run().stderr
    assert run("--all").stdout == run().stdout
    run("--remove", "--all", "--dry-run")
    assert "long answers" in home.agent.read_text()
    done = run("trinity-claude-agent", "--remove")
    assert done.stdout.endswith("removed\n")
    assert "Take it out of sync in catmem.yaml" in done.stderr
    assert home.agent.read_text() == "mine\n"


def test_one_that_is_declared_no_more_is_removed_by_its_name(home, run):
    run("-p", "trinity", "--to", "claude-agent")
    (home.root / "catmem.yaml").write_text("version: 1\n")
    run("trinity-claude-agent", "--remove")
    assert not home.agent.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--status", "--remove", "--all"),
        ("--remove",),
        ("one", "--remove", "--all"),
        ("one", "--all"),
        ("--to", "claude"),
        ("-p", "trinity"),
        ("--project", "x"),
        ("one", "-p", "trinity", "--to", "claude"),
        ("-p", "trinity", "--to", "claude", "--remove"),
        ("unknown-one",),
    ],
)
def test_what_does_not_go_together_is_refused(run, words):
    run(*words, status=2)


def test_the_definition_of_a_subagent_goes_with_its_sync(home, run):
    front = run("--print-agent", "trinity").stdout.split("---\n")[1]
    assert "memory: user\n" in front
    run("-p", "trinity", "--to", "claude-agent", "--project", home.project)
    front = run("--print-agent", "trinity").stdout.split("---\n")[1]
    assert "name: trinity\n" in front
    assert "memory: local\n" in front
    (server,) = json.loads(front.split("mcpServers: ")[1])
    assert server["catmem"]["args"][-4:] == ["--profile", "trinity", "--root", str(home.root)]
    assert (home.project / ".claude" / "agent-memory-local" / "trinity" / "MEMORY.md").exists()


def test_no_memory_file_of_the_root_is_a_target(home, run):
    before = (home.root / "homes" / "trinity" / "USER.md").read_bytes()
    done = run("-p", "trinity", "--to", "openclaw", "--workspace", home.root / "homes" / "trinity", status=2)
    assert "is a memory file of this root" in done.stderr
    assert (home.root / "homes" / "trinity" / "USER.md").read_bytes() == before
