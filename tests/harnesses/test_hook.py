"""``catmem hook``: the exact envelope of each harness, its limits, and that no start ever breaks."""

import json
import os
import subprocess
import sys
import time

import pytest

from catmem.workspace.workspace import Workspace
from tests.together import together
from tests.unit.test_import_time import PARSERS, loaded, within

PROFILE = """user_memory_categories: [style]
memory_categories: [ledger]
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    (folder / "catmem.yaml").write_text("version: 1\nagents: {accountant: trinity}\n")
    (folder / "profiles").mkdir()
    for name in ("trinity", "neo"):
        (folder / "profiles" / f"{name}.yaml").write_text(PROFILE)
        (folder / "homes" / name).mkdir(parents=True)
        text = f"## Style\nPrefers short answers, {name}.\n\n## Secret Plans\nCANARY\n"
        (folder / "homes" / name / "USER.md").write_text(text)
    many = "\n§\n".join(f"Account {number} is booked on Ångström {number}." for number in range(600))
    (folder / "homes" / "neo" / "MEMORY.md").write_text(f"## Ledger\n{many}\n")
    return folder


def run(root, *words, data=b"", cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "catmem", "hook", *words, "--root", str(root)],
        input=data if isinstance(data, bytes) else json.dumps(data).encode(),
        capture_output=True,
        check=False,
        cwd=cwd,
        timeout=30,
    )


def context(done, event):
    """The text of an answer whose envelope is what the closed schema of Codex takes."""
    assert (done.returncode, done.stderr) == (0, b"")
    said = json.loads(done.stdout)
    assert set(said) == {"hookSpecificOutput"}
    assert set(said["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert said["hookSpecificOutput"]["hookEventName"] == event
    return said["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("event", ["SessionStart", "SubagentStart", "UserPromptSubmit", "BeforeAgent"])
def test_an_event_is_answered_with_the_prompt_of_the_profile(root, event):
    text = context(run(root, "--profile", "trinity", data={"hook_event_name": event, "source": "startup"}), event)
    assert text == Workspace.open(root).prompt("trinity").text
    assert "CANARY" not in text


def test_vs_code_says_its_event_in_another_way(root):
    said = {"hookEventName": "SessionStart", "sessionId": "1", "timestamp": "x", "cwd": "/"}
    assert "trinity" in context(run(root, "--profile=trinity", data=said), "SessionStart")


def test_the_profile_is_that_of_the_starting_subagent(root):
    for agent, name in (("trinity", "trinity"), ("neo", "neo"), ("accountant", "trinity")):
        done = run(root, "--by-agent", data={"hook_event_name": "SubagentStart", "agent_type": agent})
        assert f"short answers, {name}." in context(done, "SubagentStart")


QUIET = [
    {"hook_event_name": "SubagentStart", "agent_type": "Explore"},
    {"hook_event_name": "SubagentStart", "agent_type": "general-purpose"},
    {"hook_event_name": "SubagentStart", "agent_type": "../trinity"},
    {"hook_event_name": "SubagentStart", "agent_type": ["trinity"]},
    {"hook_event_name": "SubagentStart"},
    {"hook_event_name": "Stop", "agent_type": "trinity"},
    {"hook_event_name": "PreToolUse", "agent_type": "trinity"},
]


def test_who_is_no_profile_hears_nothing(root):
    for said in QUIET:
        done = run(root, "--by-agent", data=said)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), said


@pytest.mark.parametrize(
    ("words", "data"),
    [
        (["--profile", "trinity"], b""),
        (["--profile", "trinity"], b"no json"),
        (["--profile", "trinity"], b"\xff\xfe\x00"),
        (["--profile", "trinity"], b"[1, 2]"),
        (["--profile", "trinity"], b"[" * 100_000),
        (["--profile", "nobody-here"], {"hook_event_name": "SessionStart"}),
        (["--profile"], {"hook_event_name": "SessionStart"}),
        (["--profil", "trinity"], {"hook_event_name": "SessionStart"}),
        ([], {"hook_event_name": "SessionStart"}),
        (["--by-agent", "--profile", "trinity"], {"hook_event_name": "SessionStart"}),
        (["--profile", "trinity", "--limit", "many"], {"hook_event_name": "SessionStart"}),
        (["--profile", "trinity", "--limit", "0"], {"hook_event_name": "SessionStart"}),
        (["--profile", "trinity", "--format", "yaml"], {"hook_event_name": "SessionStart"}),
        (["--by-agent"], b"{"),
        (["--by-agent"], {"agent_type": "trinity"}),
        (["--profile", "trinity"], {}),
    ],
)
def test_what_is_wrong_breaks_no_start(root, words, data):
    done = run(root, *words, data=data)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"catmem hook: no memory was given: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "catmem.yaml").write_text("version: [1\n"),
        lambda folder: (folder / "profiles" / "trinity.yaml").write_text("categories: 3\n"),
        lambda folder: (folder / "homes" / "trinity" / "USER.md").write_bytes(b"\xff"),
        lambda folder: (folder / "catmem.yaml").write_text("version: 1\nstore: nothing:here\n"),
    ],
)
def test_a_damaged_root_breaks_no_start(tmp_path, spoil):
    (tmp_path / "catmem.yaml").write_text("version: 1\n")
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "trinity.yaml").write_text(PROFILE)
    (tmp_path / "homes" / "trinity").mkdir(parents=True)
    spoil(tmp_path)
    done = run(tmp_path, "--profile", "trinity", data={"hook_event_name": "SessionStart"})
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr


def test_an_input_that_stays_open_is_not_waited_for(root):
    read, write = os.pipe()
    os.write(write, b'{"hook_event_name": "SessionStart"}')
    begin = time.monotonic()
    words = [sys.executable, "-m", "catmem", "hook", "--profile", "trinity", "--root", str(root)]
    done = subprocess.run(words, stdin=read, capture_output=True, check=False, timeout=30)
    os.close(write)
    os.close(read)
    assert context(done, "SessionStart")
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ([], lambda text: len(text.encode("utf-16-le")) // 2),
        (["--format", "codex"], lambda text: len(text.encode())),
        (["--limit", "300"], lambda text: len(text) * 9_500 // 300),
    ],
)
def test_what_is_too_long_stays_out_by_whole_entries_and_the_text_says_so(root, words, size):
    text = context(run(root, "--profile", "neo", *words, data={"hook_event_name": "SessionStart"}), "SessionStart")
    assert 5_000 < size(text) <= 9_500
    *shown, note, _ = text.split("\n")
    entries = [line for line in shown if line.startswith("- ")]
    whole = Workspace.open(root).prompt("neo").text.split("\n")
    assert set(entries) <= set(whole)
    assert note == f"({601 - len(entries)} more entries did not fit here: ask the memory of neo.)"


def test_cursor_has_an_envelope_of_its_own(root):
    done = run(root, "--profile", "trinity", "--format", "cursor", data={"hook_event_name": "sessionStart"})
    assert json.loads(done.stdout) == {"additional_context": Workspace.open(root).prompt("trinity").text}


def test_a_person_sees_the_text_without_an_event(root):
    done = run(root, "--profile", "trinity", "--format", "text")
    assert done.stdout.decode() == Workspace.open(root).prompt("trinity").text


def test_a_closed_output_breaks_nothing(root):
    words = [sys.executable, "-m", "catmem", "hook", "--profile", "trinity", "--root", str(root)]
    done = subprocess.run(
        ["sh", "-c", f'{" ".join(words)} >&-'],
        input=b'{"hook_event_name": "SessionStart"}', check=False, timeout=30, capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


@together("harness", ["claude", "codex", "gemini", "vscode", "cursor"])
def test_the_settings_call_the_hook(harness):
    words = [sys.executable, "-m", "catmem", "hook", "--config", harness, "--profile", "trinity"]
    words += ["--by-agent"] if harness in {"claude", "codex", "vscode"} else []
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "catmem", "init", "--example", folder], check=True, capture_output=True)
        done = subprocess.run([*words, "--root", folder], capture_output=True, check=True)
        said = json.loads(done.stdout)
        event = "sessionStart" if harness == "cursor" else "SessionStart"
        how = said["hooks"][event][0]
        how = how.get("hooks", [how])[0]
        called = [how["command"], *how["args"]] if "args" in how else ["sh", "-c", how["command"]]
        answer = subprocess.run(
            called, input=json.dumps({"hook_event_name": event}).encode(), capture_output=True, check=True, cwd="/"
        )
        assert "Prefers short answers" in json.dumps(json.loads(answer.stdout))
        assert ("SubagentStart" in said["hooks"]) == (harness in {"claude", "codex", "vscode"})


def test_the_hook_loads_no_command_line_and_few_modules(root):
    words = ("-m", "catmem", "hook", "--profile", "trinity", "--format", "text", "--root", str(root))
    run(root, "--profile", "trinity", "--format", "text")
    found, _ = loaded(*words)
    assert within(found, {"click", "catmem.cli", "catmem.ops", "catmem.writing", "importlib.metadata"}) == set()
    assert within(found, PARSERS - {"ahocorasick"}) == set()
    assert len([each for each in found if each.startswith("catmem")]) < 50


def test_an_agent_that_is_no_profile_costs_next_to_nothing(root, tmp_path):
    program = (
        'import sys, os; r, w = os.pipe(); os.write(w, b\'{"hook_event_name": "SubagentStart", "agent_type": "Explore"}\'); '
        "os.dup2(r, 0); import catmem.__main__ as m; sys.argv = ['catmem', 'hook', '--by-agent']; m.main()"
    )
    found, printed = loaded("-c", program)
    assert printed == ""
    assert within(found, {"catmem.workspace", "catmem.config", "catmem.prompt"}) == set()


def test_a_slip_of_a_name_is_told_with_the_name_that_is_meant(root):
    done = run(root, "--profile", "trinty", data={"hook_event_name": "SessionStart"})
    assert b"Did you mean 'trinity'?" in done.stderr
