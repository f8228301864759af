"""``catmem hook``: the exact envelope of each harness, its limits, and that no start ever breaks."""

import json
import os
import subprocess
import sys
import time

import pytest

from catmem.plugins.harnesses import hook
from catmem.workspace.workspace import Workspace
from tests.commands import catmem
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


def run(root, *words, data=b""):
    return subprocess.run(
        [sys.executable, "-m", "catmem", "hook", *words, "--root", str(root)],
        input=data if isinstance(data, bytes) else json.dumps(data).encode(),
        capture_output=True,
        check=False,
        timeout=30,
    )


@pytest.fixture
def answer(root, capfd):
    """What a hook prints, in this process: to standard output and to standard error."""

    def call(*words, data=b"", root=root):
        given = data if isinstance(data, bytes) else json.dumps(data).encode()
        text = hook.quiet(lambda: hook.answer(hook.asked([*words, "--root", str(root)]), given))
        return text, capfd.readouterr().err

    return call


def printed(done):
    """What a process printed that ended with 0, as it always has to."""
    assert done.returncode == 0
    return done.stdout.decode(), done.stderr.decode()


def context(said, event):
    """The text of an answer whose envelope is what the closed schema of Codex takes."""
    text, wrong = said
    assert wrong == ""
    said = json.loads(text)
    assert set(said) == {"hookSpecificOutput"}
    assert set(said["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert said["hookSpecificOutput"]["hookEventName"] == event
    return said["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("event", ["SessionStart", "SubagentStart", "UserPromptSubmit", "BeforeAgent"])
def test_an_event_is_answered_with_the_prompt_of_the_profile(root, event):
    done = run(root, "--profile", "trinity", data={"hook_event_name": event, "source": "startup"})
    text = context(printed(done), event)
    assert text == Workspace.open(root).prompt("trinity").text
    assert "CANARY" not in text


def test_the_profile_may_be_an_argument_and_vs_code_says_its_event_in_another_way(answer):
    said = {"hookEventName": "SessionStart", "sessionId": "1", "timestamp": "x", "cwd": "/"}
    for given in (["trinity"], ["--profile=trinity"]):
        assert "trinity" in context(answer(*given, data=said), "SessionStart")
        assert "trinity" in context(answer(*given, data={"hook_event_name": "SessionStart"}), "SessionStart")


def test_the_profile_is_that_of_the_starting_subagent(answer):
    for agent, name in (("trinity", "trinity"), ("neo", "neo"), ("accountant", "trinity")):
        said = answer("--by-agent", data={"hook_event_name": "SubagentStart", "agent_type": agent})
        assert f"short answers, {name}." in context(said, "SubagentStart")


QUIET = [
    {"hook_event_name": "SubagentStart", "agent_type": "Explore"},
    {"hook_event_name": "SubagentStart", "agent_type": "general-purpose"},
    {"hook_event_name": "SubagentStart", "agent_type": "../trinity"},
    {"hook_event_name": "SubagentStart", "agent_type": ["trinity"]},
    {"hook_event_name": "SubagentStart"},
    {"hook_event_name": "Stop", "agent_type": "trinity"},
    {"hook_event_name": "PreToolUse", "agent_type": "trinity"},
]


def test_who_is_no_profile_hears_nothing(answer):
    for said in QUIET:
        assert answer("--by-agent", data=said) == ("", ""), said


@together(
    ("words", "data"),
    [
        (["--profile", "trinity"], b""),
        (["--profile", "trinity"], b"no json"),
        (["--profile", "trinity"], b"\xff\xfe\x00"),
        (["--profile", "trinity"], b"[1, 2]"),
        (["--profile", "trinity"], b"[" * 100_000),
        (["--profile", "nobody-here"], {"hook_event_name": "SessionStart"}),
        (["--profile"], {"hook_event_name": "SessionStart"}),
        (["--profiles", "trinity"], {"hook_event_name": "SessionStart"}),
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
def test_what_is_wrong_is_one_line_on_standard_error(answer, words, data):
    text, wrong = answer(*words, data=data)
    assert text == ""
    assert wrong.startswith("catmem hook: no memory was given: ")
    assert wrong.count("\n") == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "catmem.yaml").write_text("version: [1\n"),
        lambda folder: (folder / "profiles" / "trinity.yaml").write_text("categories: 3\n"),
        lambda folder: (folder / "homes" / "trinity" / "USER.md").write_bytes(b"\xff"),
        lambda folder: (folder / "catmem.yaml").write_text("version: 1\nstore: nothing:here\n"),
    ],
)
def test_a_damaged_root_is_no_answer(answer, tmp_path, spoil):
    (tmp_path / "catmem.yaml").write_text("version: 1\n")
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "trinity.yaml").write_text(PROFILE)
    (tmp_path / "homes" / "trinity").mkdir(parents=True)
    spoil(tmp_path)
    text, wrong = answer("--profile", "trinity", data={"hook_event_name": "SessionStart"}, root=tmp_path)
    assert (text, bool(wrong)) == ("", True)


def test_an_input_that_stays_open_is_not_waited_for(root):
    read, write = os.pipe()
    os.write(write, b'{"hook_event_name": "SessionStart"}')
    begin = time.monotonic()
    words = [sys.executable, "-m", "catmem", "hook", "--profile", "trinity", "--root", str(root)]
    done = subprocess.run(words, stdin=read, capture_output=True, check=False, timeout=30)
    os.close(write)
    os.close(read)
    assert context(printed(done), "SessionStart")
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ([], lambda text: len(text.encode("utf-16-le")) // 2),
        (["--format", "codex"], lambda text: len(text.encode())),
        (["--limit", "300"], lambda text: len(text) * 9_500 // 300),
    ],
)
def test_what_is_too_long_stays_out_by_whole_entries_and_the_text_says_so(root, answer, words, size):
    text = context(answer("--profile", "neo", *words, data={"hook_event_name": "SessionStart"}), "SessionStart")
    assert 5_000 < size(text) <= 9_500
    *shown, note, _ = text.split("\n")
    entries = [line for line in shown if line.startswith("- ")]
    whole = Workspace.open(root).prompt("neo").text.split("\n")
    assert set(entries) <= set(whole)
    assert note == f"({601 - len(entries)} more entries did not fit here: ask the memory of neo.)"


def test_cursor_has_an_envelope_of_its_own_and_a_person_sees_the_text_without_an_event(root, answer):
    prompt = Workspace.open(root).prompt("trinity").text
    text, _ = answer("--profile", "trinity", "--format", "cursor", data={"hook_event_name": "sessionStart"})
    assert json.loads(text) == {"additional_context": prompt}
    assert answer("--profile", "trinity", "--format", "text")[0] == prompt


def test_a_closed_output_breaks_nothing(root):
    words = [sys.executable, "-m", "catmem", "hook", "--profile", "trinity", "--root", str(root)]
    done = subprocess.run(
        ["sh", "-c", f'{" ".join(words)} >&-'],
        input=b'{"hook_event_name": "SessionStart"}', check=False, timeout=30, capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


@together("harness", ["claude", "codex", "gemini", "vscode", "cursor"])
def test_the_settings_call_the_hook(root, harness):
    words = ["hook", "--config", harness, "--profile", "trinity", "--root", str(root)]
    words += ["--by-agent"] if harness in {"claude", "codex", "vscode"} else []
    said = json.loads(catmem(root, words).stdout)
    event = "sessionStart" if harness == "cursor" else "SessionStart"
    how = said["hooks"][event][0]
    how = how.get("hooks", [how])[0]
    called = [how["command"], *how["args"]] if "args" in how else ["sh", "-c", how["command"]]
    done = subprocess.run(
        called, input=json.dumps({"hook_event_name": event}).encode(), capture_output=True, check=True, cwd="/"
    )
    assert "Prefers short answers" in json.dumps(json.loads(done.stdout))
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


def test_a_slip_of_a_name_breaks_no_start_and_is_told_with_the_name_that_is_meant(root):
    text, wrong = printed(run(root, "--profile", "trinty", data={"hook_event_name": "SessionStart"}))
    assert text == ""
    assert "Did you mean 'trinity'?" in wrong
