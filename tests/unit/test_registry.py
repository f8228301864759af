"""Plugins: what they add, and that one which fails adds nothing, is named, and leaves everything else working."""

import json
import os
import re
import subprocess
import sys

import pytest

from catmem.registry import Registry, loaded, registry
from tests.end_to_end.terminal import write_root
from tests.golden.case import put

GOOD = """\
def read(path):
    raise SystemExit


def register(registry):
    registry.needs(1)
    registry.add_operation("hello", "others.operations", heading="Look", said="Say hello.")
    registry.add_importer("others", "others:read")
"""
ROWS = '''\
from catmem.ops.entries import add
from catmem.ops.table import Outcome, operation


@operation("hello", examples=("catmem hello",), rooted=False)
def hello(call):
    """Say hello."""
    return Outcome("hello", {"said": "hello"})
'''
TEXTS = """\
from catmem.cli.output import emit

TEXTS = {"str": lambda said, call: emit(f"{said}\\n")}
"""
BAD_ROWS = {
    "no row": (ROWS.replace('"hello", e', '"goodbye", e'), "others.operations has no operation 'hello'"),
    "two rows of one name": (ROWS + '\n\noperation("hello")(hello)\n', "there is an operation 'hello' already"),
    "a row of catmem's own": (
        ROWS + '\n\n@operation("verify")\ndef mine(call):\n    pass\n', "there is an operation 'verify' already",
    ),
    "one that is not imported yet": (
        ROWS + '\n\n@operation("init")\ndef mine(call):\n    pass\n',
        "there is an operation 'init' already",
    ),
    "a parameter that no door can read": (ROWS.replace("(call)", "(call, *, x: set)"), "does not say with Annotated"),
    "a path of another row": (
        ROWS.replace("import Outcome", "import Http, Outcome").replace("rooted=False", 'http=Http("GET", "/mem/read", "x", "x")')
        + "\n\nimport catmem.ops.http_memory\n", "'hello' has the path /mem/read of another operation",
    ),
    "a path that is none": (
        ROWS.replace("import Outcome", "import Http, Outcome").replace("rooted=False", 'http=Http("GET", "/{x:path}", "x", "x")'),
        "the operation 'hello' has no path",
    ),
    "a module that ends the program": ("raise SystemExit(0)\n", "SystemExit: 0"),
    "no module": ("import nowhere_at_all\n", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
}  # fmt: skip
BAD = {
    "two commands of one name": (
        GOOD + '    registry.add_operation("hello", "others.operations", heading="Look", said="Again.")\n',
        "there is a command 'hello' already",
    ),
    "a command of catmem's own": (GOOD.replace('"hello", "o', '"add", "o'), "the command 'add' is catmem's own"),
    "a command of another plugin": (GOOD.replace('"hello", "o', '"hermes", "o'), "there is a command 'hermes' already"),
    "the store of files": (GOOD + '    registry.add_store("files", "others:read")\n', "'files' is catmem's own"),
    "no heading": (GOOD.replace('"Look"', '"Listen"'), "catmem help has no heading 'Listen'"),
    "another version": (GOOD.replace("needs(1)", "needs(2)"), "made for version 2 of plugins, and this catmem has 1"),
    "an import that fails": ("import nowhere_at_all\n", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
    "no function": ("", "AttributeError"),
    "a line of help that is none": (
        GOOD.replace('said="Say hello."', "said=None"),
        "what it says of a command is no text",
    ),
    "escapes for a terminal": (GOOD.replace("Say hello.", "\\x1b[31mRed"), "what it says of a command is no text"),
    "an exit": ("def register(registry):\n    raise SystemExit(7)\n", "SystemExit: 7"),
    "an error without words": (
        "class Bad(Exception):\n    __str__ = None\n\n\ndef register(registry):\n    raise Bad\n",
        "Bad",
    ),
    "a function that raises": ("def register(registry):\n    1 / 0\n", "ZeroDivisionError"),
}


def install(folder, plugins):
    """Put packages beside each other, with what an installation says of them."""
    points = "".join(f"{name} = {name}:register\n" for name in plugins)
    for name, text in plugins.items():
        put(folder / name / "__init__.py", text)
        put(folder / name / "operations.py", ROWS)
        put(folder / name / "texts.py", TEXTS)
    put(folder / "others-1.dist-info" / "METADATA", "Metadata-Version: 2.1\nName: others\nVersion: 1\n")
    put(folder / "others-1.dist-info" / "entry_points.txt", f"[catmem.plugins]\n{points}")


@pytest.fixture
def python(tmp_path):
    """Runs Python with packages of others in reach."""
    root = tmp_path / "root"
    write_root(root)

    def run(*arguments, status=0):
        paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done

    return run


@pytest.fixture
def catmem(tmp_path, python):
    """Runs the command line with a plugin of another package, whose text is given first."""

    def run(text, *arguments, status=0):
        install(tmp_path, {"others": text})
        return python("-m", "catmem", *arguments, status=status)

    return run


def test_what_another_package_adds_is_there_like_every_command(catmem):
    text = f"{GOOD}    print('hm')\n"  # which is no data of a command
    assert catmem(GOOD, "hello").stdout == "hello\n"
    assert json.loads(catmem(text, "hello", "--format", "json").stdout) == {"said": "hello"}
    assert "catmem hello\n" in catmem(GOOD, "hello", "--help").stdout
    assert "hello" not in catmem(GOOD, "--help").stdout  # it is not for the first screen, unless it says so
    first = GOOD.replace('said="Say hello."', 'said="Say hello.", is_first=True')
    for said in (catmem(first, "--help"), catmem(GOOD, "help", "--all")):
        assert re.search(r"^  hello  +Say hello\.$", said.stdout, re.MULTILINE)
    assert "others" in catmem(GOOD, "import", "--help").stdout


STEP = """\
from catmem.errors import EditError


def refuse(attempt):
    if b"draft" in attempt.data:
        raise EditError("a draft is no fact", code="structure")


def register(registry):
    registry.add_step("no-drafts", "others:refuse")
"""


def test_a_step_of_another_package_is_taken_where_the_root_names_it(catmem, tmp_path):
    add = ("add", "-p", "neo", "-c", "rules")
    catmem(STEP, *add, "A draft of a rule.", "--dry-run")
    with (tmp_path / "root" / "catmem.yaml").open("a") as config:
        config.write("steps: [no-drafts]\n")
    assert "a draft is no fact" in catmem(STEP, *add, "A draft of a rule.", status=2).stderr
    assert "added to" in catmem(STEP, *add, "A rule.").stdout
    assert "no plugin adds the step 'no-drafts'" in catmem(GOOD, *add, "Another rule.", status=2).stderr


RULE = """\
from catmem.linting.rule import Finding, rule


@rule("CM190", "no-drafts")
def no_drafts(file, context):
    yield Finding(0, 1, "a draft is no fact")
"""


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        (RULE, 1, "USER.md:1:1: warning CM190 a draft is no fact"),
        (RULE.replace("CM190", "CM108"), 2, "adds as others.rules is not there: ValueError: CM108 no-drafts is taken"),
    ],
)
def test_a_rule_of_another_package_is_one_of_lint_unless_it_has_the_code_of_another(
    catmem, tmp_path, text, status, said
):
    put(tmp_path / "others" / "rules.py", text)
    done = catmem(f'{GOOD}    registry.add_rules("others.rules")\n', "lint", status=status)
    assert said in done.stdout + done.stderr


def test_plugins_that_fail_add_nothing_and_are_named(python, tmp_path):
    bad = {f"bad{place}": reason for place, (_, reason) in enumerate(BAD.values())}
    install(
        tmp_path, {f"bad{place}": text.replace("others", f"bad{place}") for place, (text, _) in enumerate(BAD.values())}
    )
    plugins = json.loads(python("-m", "catmem", "doctor", "--format", "json").stdout)["plugins"]
    failed = {each["name"]: each["error"] for each in plugins if each["error"] is not None}
    assert {*failed} == {*bad}
    doctor, unknown = python("-m", "catmem", "doctor").stdout, python("-m", "catmem", "hello", status=2).stderr
    assert "There is no command 'hello'" in unknown
    for name, reason in bad.items():
        error = failed[name]
        assert (error["code"], reason in error["message"]) == ("bad_plugin", True), (name, error)
        assert error["message"] in doctor
        assert error["message"] in unknown
    assert "bad" not in python("-m", "catmem", "import", "--help").stdout
    assert python("-m", "catmem", "list", "-p", "neo").stdout


IMPORT_ALL = """\
import json, sys
from catmem.errors import ConfigError
from catmem.ops.table import FAMILIES, OPERATIONS, import_rows
from tests.together import together
import catmem.ops.entries, catmem.ops.http_memory

for name in sys.argv[1:]:
    before = set(OPERATIONS), set(FAMILIES)
    try:
        import_rows("hello", name)
    except ConfigError as error:
        print(json.dumps([error.code, error.message, (set(OPERATIONS), set(FAMILIES)) == before]))
"""


def test_rows_that_are_not_right_are_told_and_none_of_them_is_kept(python, tmp_path):
    names = [f"rows{place}" for place in range(len(BAD_ROWS))]
    for name, (rows, _) in zip(names, BAD_ROWS.values(), strict=True):
        put(tmp_path / f"{name}.py", rows)
    said = [json.loads(line) for line in python("-c", IMPORT_ALL, *names).stdout.splitlines()]
    for name, (_, reason), (code, message, is_as_before) in zip(names, BAD_ROWS.values(), said, strict=True):
        assert (code, is_as_before) == ("bad_plugin", True)
        assert reason.replace("others.operations", name) in message


def test_a_command_with_a_bad_row_says_so(python, tmp_path):
    rows, reason = BAD_ROWS["no row"]
    install(tmp_path, {"others": GOOD})
    put(tmp_path / "others" / "operations.py", rows)
    said = python("-m", "catmem", "hello", status=2).stderr
    assert said.startswith("error[bad_plugin]")
    assert reason in said


def test_the_plugins_of_catmem_come_before_others(catmem):
    text = GOOD.replace('"hello", "o', '"sort", "o')
    plugins = json.loads(catmem(text, "doctor", "--format", "json").stdout)["plugins"]
    assert [each["name"] for each in plugins if each["error"]] == ["others"]


def test_a_plugin_is_not_looked_up_for_a_command_of_the_core(catmem):
    assert catmem("raise SystemExit(7)\n", "list", "-p", "neo").stderr == ""


def test_what_came_before_a_failure_stays():
    class Point:
        name, value = "others", "others:register"

        @staticmethod
        def load():
            def register(into):
                into.add_importer("others", "others:read")
                into.add_importer("others", "others:read")

            return register

    before = Registry()
    before.add_importer("mine", "mine:read")
    after = loaded(Point, before)
    assert after.importers == {"mine": "mine:read"}
    assert [(each.name, each.error is None) for each in after.plugins] == [("others", False)]


def test_the_plugins_of_catmem_are_loaded():
    assert [each for each in registry().plugins if each.error is not None] == []
    assert {"sql", "hermes", "importers", "simulate"} <= {each.name for each in registry().plugins}
