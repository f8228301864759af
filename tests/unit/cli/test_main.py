"""The command as a whole: help, exit statuses, and output that nobody reads."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from catmem.cli.main import MEANT, group, main
from catmem.commands import COMMANDS, FIRST
from tests.end_to_end.terminal import run
from tests.golden.case import put
from tests.together import together


def process(*arguments, cwd, command="{}", **choices):
    """The real command in a shell, whose line ``command`` says where its output goes."""
    line = command.format(" ".join([sys.executable, "-m", "catmem", *arguments]))
    return subprocess.run(line, shell=True, cwd=cwd, capture_output=True, check=False, timeout=60, **choices)  # noqa: S602


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


def test_help_of_a_command_is_what_its_own_help_prints():
    assert run("help", "undo").output == run("undo", "--help").output
    assert "Did you mean 'undo'?" in run("help", "undoo", status=2).output
    assert "Did you mean 'prompt'?" in run("promt", status=2).stderr
    assert "Did you mean 'status'?" in run("stauts", status=2).stderr


def paths(command=group, path=()):
    """The words that call each command, and each command of a group."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from paths(command.get_command(context, name), (*path, name))


@together("path", list(paths()))
def test_every_help_opens_with_usage_a_short_sentence_and_an_example(path):
    name = " ".join(["catmem", *path])
    result = run(*path, "--help")
    usage, sentence, examples, *_ = result.output.split("\n\n")
    assert result.exit_code == 0
    assert usage.startswith(f"Usage: {name} ".replace("catmem", "group", 1))
    assert len(sentence.split()) <= 35
    assert re.match(rf"Examples?:\n  (.* )?{name}\b", examples)
    assert result.output.index("\nOptions:\n") > result.output.index(examples)


@together(
    "arguments",
    [
        ["promt"], ["--nothing"], ["prompt"], ["prompt", "neo", "extra"], ["show"], ["show", "USER.md", "-p", "neo"],
        ["show", "USER.md", "-t", "user"], ["init", "a", "b"], ["prompt", "neo", "--root", "nothing-there"], ["prompt", "neo", "--root", __file__],
    ],
)  # fmt: skip
def test_wrong_usage_is_status_2_and_explained(arguments):
    result = run(*arguments, status=2)
    assert result.stdout == ""
    assert "Error: " in result.stderr


def test_ctrl_c_ends_with_the_status_that_shells_give_it(monkeypatch, capsys):
    def interrupted(**_):
        raise click.Abort

    monkeypatch.setattr("catmem.cli.main.group", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "Stopped.\n")


# --- as a process --------------------------------------------------------------------------------------------------


def test_a_reader_that_stops_early(demo):
    found = process("prompt", "orchestrator", "--format", "json", cwd=demo, command="{} | head -n 1")
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
    found = process(*arguments, cwd=demo, command=f"{{}} {sink}")
    assert found.returncode == 2
    assert b"error[not_writable]: standard output" in found.stderr or b'"code": "not_writable"' in found.stderr
    assert b"Traceback" not in found.stderr
    assert b"Exception" not in found.stderr


def test_messages_that_nobody_can_read(demo):
    found = process("prompt", "nobody", cwd=demo, command="{} 2>&-")
    assert (found.returncode, found.stdout) == (2, b"")
    assert process("fmt", cwd=demo, command="{} 2>&-").returncode == 0


def test_closed_standard_input(demo):
    found = process("fmt", "-", cwd=demo, command="{} <&-")
    assert found.returncode == 2
    assert b"error[io]: standard input is closed" in found.stderr


def test_a_working_folder_that_is_gone(tmp_path):
    gone = tmp_path / "gone"
    found = process("prompt", "neo", cwd=tmp_path, command=f"mkdir {gone} && cd {gone} && rmdir {gone} && {{}}")
    assert found.returncode == 2
    assert found.stderr.startswith(b"error[io]: ")
    assert b"Traceback" not in found.stderr


def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "tier: 1\n")
    command = ["catmem", "review", "--restart", "--answers", "-", "-p", "neo"]
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

    def make():
        done = ["make", "-s", "-o", ".venv/.installed", "demo", "VENV=.venv", f"DEMO={demo}"]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(
            done, cwd=root, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, timeout=120
        )

    assert make().returncode == 0
    file = demo / "homes" / "trinity" / "USER.md"
    file.write_text(file.read_text(encoding="utf-8") + "§\nMy own words.\n", encoding="utf-8")
    again = make()
    assert again.returncode == 0
    assert "is used as it is" in again.stdout
    assert file.read_text(encoding="utf-8").endswith("My own words.\n")
    (demo / ".made-by-make-demo").unlink()
    assert make().returncode == 2
    assert file.read_text(encoding="utf-8").endswith("My own words.\n")


@pytest.mark.parametrize(
    ("word", "command"), [("approve", "proposals"), ("edit", "replace"), ("history", "log"), ("forget", "purge")]
)
def test_another_word_for_a_command_is_understood(word, command):
    assert f"There is no command '{word}'. Did you mean '{command}'?" in run(word, status=2).stderr


def test_every_word_that_is_understood_is_no_command_and_means_one():
    assert MEANT.keys().isdisjoint(group.list_commands(None))
    assert set(MEANT.values()) <= {*group.list_commands(None)}


def test_an_option_that_is_a_tag_says_how_a_tag_is_given():
    refused = run("add", "Rent is due.", "--expires", "2026-12-31", status=2).stderr
    assert "No such option '--expires'. A tag is given so: --tag expires=VALUE" in refused
    refused = run("search", "rent", "--source", "neo", status=2).stderr
    assert "A tag is given so: --tag source=VALUE, and a profile so: -p NAME" in refused
