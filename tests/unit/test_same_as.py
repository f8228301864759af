"""The differential run notices what it is there for, and its stories leave nothing of the command line out."""

import shlex

import click
import pytest

from tests.docs.cli_reference import command_line, subcommands
from tests.same_as.commands import HELP, all_lines
from tests.same_as.compare import Difference, Meant, differences
from tests.same_as.library_calls import shown
from tests.same_as.roots import ROOTS

ID = "5eb9a1cfba7faccb06fd9c4430d36e7f"
SEEN = [
    ("add", f"exit status 0\nadded (revision 2), 2026-11-26T15:59:18Z {ID}\n"),
    ("add: USER.md", "'tabs\\n'"),
    ("log", ID),
]


def changed(*replaced):
    return [tuple(part.replace(*replaced) for part in each) for each in SEEN]


@pytest.mark.parametrize(
    ("replaced", "label"),
    [
        (("added", "written"), "add"),
        (("exit status 0", "exit status 1"), "add"),
        (("tabs\\n", "tabs\\r\\n"), "add: USER.md"),
    ],
)
def test_a_word_a_status_and_a_byte_are_noticed(replaced, label):
    (found,) = differences("a story", SEEN, changed(*replaced))
    assert (found.story, found.label) == ("a story", label)
    assert replaced[1] in found.diff


def test_a_difference_is_meant_where_all_patterns_fit():
    found = Difference("commands/help", "add --help", "+  --tag")
    assert Meant("^commands/", "a new option", label="^add", diff="--tag").fits(found)
    assert not Meant("^commands/", "a new option", diff="--reason").fits(found)


def test_where_lines_are_meant_no_other_line_may_differ():
    meant = Meant("^commands/", "no last day", lines='^ *"until": ')
    diff = '--- old\n+++ new\n@@ -1,3 +1,2 @@\n {\n-  "until": 1'
    assert meant.fits(Difference("commands/log", "log", diff))
    assert not meant.fits(Difference("commands/log", "log", f'{diff}\n-  "id": 2'))
    assert not meant.fits(Difference("commands/log", "log", 'only the old build\n-  "until": 1'))


def test_a_set_is_shown_in_one_order_in_every_process():
    assert shown(frozenset({"vault", "rules", "talk"})) == ["rules", "talk", "vault"]


def test_every_command_and_every_option_is_in_a_story():
    given = {}
    for line in all_lines():
        words = shlex.split(line.partition(" < ")[0])
        name = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in COMMANDS), None)
        given.setdefault(name, set()).update(words)
    for name, command in COMMANDS.items():
        assert f"{name.replace(' ', ':')}" in HELP.split(), (
            f"no story shows the help of {name}: add it to HELP in tests/same_as/commands.py"
        )
        for option in command.params if not isinstance(command, click.Group) else ():
            ways = {*option.opts, *option.secondary_opts}
            if isinstance(option, click.Option):
                assert ways & given[name], (
                    f"no story gives {name} {' or '.join(ways)}: add a line to tests/same_as/commands.py"
                )


COMMANDS = {path.removeprefix("catmem "): command for path, command in subcommands(command_line(), "catmem")}


def test_there_are_as_many_roots_and_lines_as_were_promised():
    assert len(ROOTS) >= 30
    assert len(set(all_lines())) >= 500
