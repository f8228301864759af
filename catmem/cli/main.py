"""The command ``catmem``: its group, and what becomes of an error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click

from catmem import __version__
from catmem.cli.interface import Group, command_of, takes_text
from catmem.cli.output import print_error, say
from catmem.commands import COMMANDS, FIRST, GROUPS, MODULES
from catmem.config.json_schema import known_tags, nearest, shown
from catmem.errors import AmbiguousError, CatmemError, EditError, RefusedError, UnreadableError
from catmem.jsonable import jsonable
from catmem.names import FILE_NAMES
from catmem.ops.table import import_rows
from catmem.registry import registry, unloaded
from catmem.text import printable_json


def _load(name: str) -> click.Command:
    if name in MODULES:
        module = MODULES[name]
        import_module(f"catmem.{module}" if "." in module else f"catmem.ops.{module}")
    else:
        import_rows(name, registry().commands[name].module)
    return command_of(name)


def _is_command(name: str) -> bool:
    return name in COMMANDS or name in registry().commands


def _groups(*, everything: bool = True) -> Iterator[tuple[str, dict[str, str]]]:
    """The headings of ``catmem help`` with the commands below each, those of plugins last."""
    added = {name: each for name, each in registry().commands.items() if everything or each.is_first}
    for title, commands in GROUPS.items():
        own = {name: said for name, (_, said) in commands.items() if everything or name in FIRST}
        yield title, own | {name: each.said for name, each in added.items() if each.heading == title}


MEANT = {
    word: command
    for command, words in {
        "proposals": "approve reject accept decide",
        "remove": "delete del rm",
        "replace": "edit update change set tag",
        "purge": "forget erase redact",
        "lint": "check validate",
        "search": "find grep query",
        "undo": "revert rollback",
        "show": "cat view get",
        "list": "ls",
        "log": "history",
        "fmt": "format",
        "export": "backup snapshot dump",
        "review": "due",
    }.items()
    for word in words.split()
}
"""The commands that people mean by other words."""


class _LazyGroup(Group):
    """A group whose commands are imported when they are called, so that ``--version`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [name for _, commands in _groups() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if not _is_command(cmd_name):
            return None
        command = _load(cmd_name)
        command.short_help = COMMANDS[cmd_name] if cmd_name in COMMANDS else registry().commands[cmd_name].said
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and not _is_command(args[0]):
            near = MEANT.get(args[0]) or nearest(args[0], self.list_commands(ctx), 0.7)
            hint = f" Did you mean {near!r}?" if near else " 'catmem help --all' lists them."
            ctx.fail("\n".join([f"There is no command {args[0]!r}.{hint}", *(each.message for each in unloaded())]))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in _groups(everything=bool(ctx.obj)):
            if commands:
                with formatter.section(title):
                    formatter.write_dl(list(commands.items()))
        if not ctx.obj:
            left = len(self.list_commands(ctx)) - sum(len(commands) for _, commands in _groups(everything=False))
            formatter.write(f"\n{left} more, for sections, history, branches, stores and control: catmem help --all.\n")

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what click's own method gives
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise _with_hint(error) from None
        except CatmemError as error:
            _say_option(error, ctx)
            _leave_out(error, ctx.meta.get("catmem.words"))
            print_error(error)
            sys.exit(error.exit_status)
        except BrokenPipeError:
            raise
        except OSError as error:
            # What no layer foresaw, for example a working folder that is gone: a message all the same.
            said = UnreadableError(f"the system said: {error.strerror or error}", code="io", path=error.filename)
            print_error(said)
            sys.exit(said.exit_status)


def _say_option(error: CatmemError, ctx: click.Context) -> None:
    """Have a refusal that says to repeat the command with what was found spell the option, where there is one."""
    if not isinstance(error, RefusedError) or not error.hint or error.found is None:
        return
    options = {each.name for each in _load(str(ctx.invoked_subcommand)).params}
    if "expected" in options:
        in_notes = "target" in options and str(error.path).endswith(FILE_NAMES["memory"])
        said = f"--expected {error.found}" + (" -t memory" if in_notes else "")
        error.hint = error.hint.replace(f"what was found as expected ({error.found})", said)


_QUOTED = re.compile(r"""'(?!catmem )(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
"""A text in a message, as Python writes it; a command is none."""


def _leave_out(error: CatmemError, words: str | None) -> None:
    """Have a refusal quote nothing that has a word of what came by standard input, where that stays out of logs."""
    if words:
        given = {*re.findall(r"\w+", words.casefold())}

        def unsaid(quoted: re.Match[str]) -> str:
            return quoted[0] if given.isdisjoint(re.findall(r"\w+", quoted[0].casefold())) else "'***'"

        error.message = _QUOTED.sub(unsaid, error.message.replace(shown(words), "the words"))
        error.hint = error.hint and _QUOTED.sub(unsaid, error.hint)
        if isinstance(error, AmbiguousError):
            error.candidates = tuple("***" for _ in error.candidates)


def _with_hint(error: click.UsageError) -> click.UsageError:
    """The error for an option that there is not: it may be a tag, or a text; and for a text without quotes."""
    if not isinstance(error, click.NoSuchOption):
        is_text = error.ctx is not None and "extra argument" in error.message and takes_text(error.ctx.command)
        said = f"{error.message}. A text of several words stands in quotes."
        return click.UsageError(said, error.ctx) if is_text else error
    tag = error.option_name.lstrip("-").replace("-", "_")
    takes_tags = error.ctx is not None and any("--tag" in each.opts for each in error.ctx.command.params)
    if takes_tags and tag in known_tags({}):
        said = f"No such option {error.option_name!r}. A tag is given so: --tag {tag}=VALUE"
        said += ", and a profile so: -p NAME" if tag == "source" else ""
        return click.UsageError(said, error.ctx)
    if error.ctx is None or error.possibilities or not takes_text(error.ctx.command):
        return error
    said = f"{error.format_message().rstrip('.')}. A text that begins with - goes behind --, after the options."
    return click.UsageError(said, error.ctx)


@click.group(
    cls=_LazyGroup,
    examples=("catmem init --example demo", "catmem prompt trinity --root demo"),
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 fine, 1 findings, 2 usage or configuration, 3 drift or conflict, 4 store damage.",
)
@click.version_option(__version__, prog_name="catmem", message="%(prog)s %(version)s")
def group() -> None:
    """Keep what agents know about a user true, apart and whole, in Markdown files."""


def main() -> None:
    """Run the command line (the entry point of the package). Ctrl-C ends it with 130, as shells have it."""
    try:
        status = group(prog_name="catmem", standalone_mode=False)
    except click.Abort:
        say("Stopped.")
        status = 130
    except click.ClickException as error:
        if "--format json" in " ".join(sys.argv).replace("--format=", "--format "):  # no option of it was read yet
            say(printable_json({"error": jsonable(EditError(error.format_message(), code="bad_arguments"))}))
        else:
            error.show()
        status = error.exit_code
    sys.exit(status)
