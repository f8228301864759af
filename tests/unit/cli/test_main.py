"""The command as a whole: help, exit statuses, and output that nobody reads."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from catmem import resources
from catmem.cli.interface import show
from catmem.cli.main import MEANT, group
from catmem.commands import COMMANDS, FIRST
from catmem.ops.table import OPERATIONS, Call, Outcome, operation
from tests.docs.cli_reference import subcommands
from tests.end_to_end.terminal import process, run, run_json
from tests.golden.case import put
from tests.together import together

EVERY = ["catmem", *dict(subcommands(group, "catmem"))]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    run("init", "--example", folder)
    return folder


def test_help_names_twenty_commands_and_where_the_others_stand():
    result = run("--help")
    named = re.findall(r"^  ([a-z]+)  +[A-Z]", result.output, re.MULTILINE)
    assert {name for name in COMMANDS if name in named} == FIRST
    assert len(FIRST) <= len(named) <= 20  # those of plugins come to them
    assert "catmem help --all" in result.output
    assert run("help").output == result.output
    assert all(f"  {name} " in run("help", "--all").output for name in COMMANDS)
    assert run("help", "undo").output == run("undo", "--help").output


@together("name", EVERY)
def test_every_help_opens_with_usage_a_short_sentence_and_an_example(name):
    result = run(*name.split()[1:], "--help")
    usage, sentence, examples, *_ = result.output.split("\n\n")
    assert usage.startswith(f"Usage: {name} ".replace("catmem", "group", 1))
    assert len(sentence.split()) <= 35
    assert re.match(rf"Examples?:\n  (.* )?{name}\b", examples)
    assert result.output.index("\nOptions:\n") > result.output.index(examples)


@together(
    ("words", "said"),
    [
        (["promt"], "Did you mean 'prompt'?"),
        (["stauts"], "Did you mean 'status'?"),
        (["help", "undoo"], "Did you mean 'undo'?"),
        (["help", "catgory"], "There is no command 'catgory'. 'catmem help --all' lists them."),
        (["approve"], "There is no command 'approve'. Did you mean 'proposals'?"),
        (["edit"], "There is no command 'edit'. Did you mean 'replace'?"),
        (["history"], "There is no command 'history'. Did you mean 'log'?"),
        (["forget"], "There is no command 'forget'. Did you mean 'purge'?"),
        (["backup"], "There is no command 'backup'. Did you mean 'export'?"),
        (["add", "Rent.", "--expires", "2026-12-31"], "No such option '--expires'. A tag is given so: --tag expires=VALUE"),
        (["search", "rent", "--source", "neo"], "so: --tag source=VALUE, and a profile so: -p NAME"),
        (["--nothing"], "No such option"),
        (["prompt"], "Error: "),
        (["prompt", "neo", "extra"], "Error: "),
        (["show"], "Error: "),
        (["show", "USER.md", "-p", "neo"], "Error: "),
        (["show", "USER.md", "-t", "user"], "Error: "),
        (["init", "a", "b"], "Error: "),
        (["prompt", "neo", "--root", "nothing-there"], "Error: "),
        (["prompt", "neo", "--root", __file__], "Error: "),
    ],
)  # fmt: skip
def test_wrong_usage_is_status_2_and_explained(words, said):
    result = run(*words, status=2)
    assert result.stdout == ""
    assert said in result.stderr


def test_every_word_that_is_understood_is_no_command_and_means_one():
    assert MEANT.keys().isdisjoint(group.list_commands(None))
    assert set(MEANT.values()) <= {*group.list_commands(None)}


def test_an_operation_without_a_text_of_its_own_prints_no_dict_of_python(capsys):
    @operation("tally")
    def tally(call: Call) -> Outcome:
        """Count."""
        raise AssertionError

    asked = Call(OPERATIONS.pop("tally"), lambda _: None)  # type: ignore[arg-type]  # it opens no root
    show(asked, Outcome({"entity": "neo/user", "counts": {"talk": 2, "rules": 1}, "named": ["a: b", "café"]}))
    text = "entity: neo/user\ncounts:\n  talk: 2\n  rules: 1\nnamed:\n- 'a: b'\n- café\n"
    assert capsys.readouterr().out == text


def test_the_schemas_are_printed_as_they_are_shipped_also_in_a_root_that_is_not_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "catmem.yaml", "verion: [")
    for name in resources.SCHEMA_NAMES:
        for form in ("text", "json"):
            assert run("schema", name, "--format", form).stdout == resources.schema_text(name)
    listed = {each["name"]: Path(each["path"]).name for each in run_json("schema")["schemas"]}
    assert listed == {name: f"{name}.schema.json" for name in resources.SCHEMA_NAMES}


# --- as a process --------------------------------------------------------------------------------------------------


def test_a_reader_that_stops_early(demo):
    found = process("prompt", "orchestrator", "--format", "json", cwd=demo, line='"$@" | head -n 1')
    assert (found.stdout, found.stderr) == (b"{\n", b"")


@pytest.mark.parametrize(
    ("arguments", "sink"),
    [
        (["prompt", "neo"], "> /dev/full"),
        (["show", "-p", "neo", "--format", "json"], ">&-"),
        (["fmt", "--diff", "--layout", "shared"], "> /dev/full"),
    ],
)
def test_output_that_cannot_be_written_is_an_error_and_no_traceback(demo, arguments, sink):
    found = process(*arguments, cwd=demo, status=2, line=f'"$@" {sink}')
    assert b"error[not_writable]: standard output" in found.stderr or b'"code": "not_writable"' in found.stderr
    assert b"Exception" not in found.stderr


@pytest.mark.parametrize("sink", ["> /dev/full", ">&-", "| true"])
def test_output_that_is_lost_after_a_write_says_that_the_write_is_done(tmp_path, sink):
    run("init", "--example", tmp_path)
    line = f'("$@"; echo status $? >&2) {sink}'
    add = ("add", "-p", "trinity", "-c", "projects", "A garden shed.")
    found = process(*add, cwd=tmp_path, line=line).stderr
    assert b"error[output_lost]: standard output cannot be written" in found
    assert (
        b"Revision 2 of trinity/user is written, so do not repeat the command: only its answer is lost.\nstatus 2\n"
        in found
    )
    assert b"output_lost" not in process(*add[:-1], "A tree house.", "--dry-run", cwd=tmp_path, line=line).stderr
    undone = json.loads(process("undo", "trinity", "--format", "json", cwd=tmp_path, line=line).stderr.splitlines()[0])
    assert "Revision 3 of trinity/user is written" in undone["error"]["hint"]
    seeded = process("seed", "orchestrator", "neo", cwd=tmp_path, line=line).stderr
    assert b"What the command had done stays done" in seeded


def test_messages_that_nobody_can_read_leave_the_exit_status_of_a_write(demo):
    done = process("add", "-p", "trinity", "-c", "projects", "A shed.", cwd=demo, line='"$@" 2> /dev/full')
    assert b"added to projects" in done.stdout


def test_messages_that_nobody_can_read(demo):
    assert process("prompt", "nobody", cwd=demo, status=2, line='"$@" 2>&-').stdout == b""
    process("fmt", cwd=demo, line='"$@" 2>&-')


def test_closed_standard_input(demo):
    found = process("show", "-", cwd=demo, status=2, line='"$@" <&-')
    assert b"error[io]: standard input is closed" in found.stderr


def test_a_working_folder_that_is_gone(tmp_path):
    found = process("prompt", "neo", cwd=tmp_path, status=2, line='mkdir gone && cd gone && rmdir ../gone && "$@"')
    assert found.stderr.startswith(b"error[io]: ")


def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "tier: 1\n")
    command = ["catmem", "review", "-p", "neo"]
    put(tmp_path / "homes" / "neo" / "USER.md", "A fact without a date.\n")
    # The process has its own answer to the signal, whatever a runner has set for its children.
    line = f"import signal, runpy, sys; signal.signal(signal.SIGINT, signal.default_int_handler); sys.argv = {command!r}; runpy.run_module('catmem', run_name='__main__')"
    with subprocess.Popen(
        [sys.executable, "-c", line], cwd=tmp_path, stdin=-1, stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout is not None
        assert "1 of 1" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped." in errors
    assert "Traceback" not in errors


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_make_demo_keeps_what_a_person_wrote(tmp_path):
    root = Path(__file__).parents[3]
    demo = tmp_path / "demo"
    command = ["make", "-s", "-o", ".venv/.installed", "demo", "VENV=.venv", f"DEMO={demo}"]
    given = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def make():
        return subprocess.run(command, cwd=root, env=given, capture_output=True, text=True, check=False, timeout=120)

    assert make().returncode == 0
    file = demo / "homes" / "trinity" / "USER.md"
    file.write_text(file.read_text(encoding="utf-8") + "§\nMy own words.\n", encoding="utf-8")
    again = make()
    assert again.returncode == 0
    assert "is used as it is" in again.stdout
    (demo / ".made-by-make-demo").unlink()
    assert make().returncode == 2
    assert file.read_text(encoding="utf-8").endswith("My own words.\n")
