"""The command ``catmem``: its group, and what becomes of an error."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from catmem import __version__
from catmem.cli.command import Group
from catmem.cli.output import print_error, say
from catmem.errors import CatmemError, RefusedError, UnreadableError
from catmem.names import FILE_NAMES

GROUPS = {
    "Every day": {
        "init": "Make a root: a catmem.yaml, profiles, and homes for memory files.",
        "show": "Show what a memory file says, or what a profile sees of it.",
        "list": "List the entries that a profile sees.",
        "prompt": "Print the text for a specialist's system prompt.",
        "add": "Add an entry.",
        "replace": "Give an entry other words or tags.",
        "remove": "Remove an entry.",
        "move": "Put an entry into another category.",
        "verify": "Say that an entry still holds.",
        "search": "Find what a profile sees, the best and newest first.",
        "status": "Print what is next, each with the command for it.",
        "help": "Print the commands by group, with --all the rare ones too.",
    },
    "Keep facts true": {
        "proposals": "Approve or reject what agents propose.",
        "review": "Walk through the facts that are stale, expired or unverified.",
        "lint": "Find what is wrong in memory files, profiles and configuration.",
        "rule": "Print the page of a lint rule.",
        "schema": "Print a JSON schema of what catmem reads and prints.",
        "undo": "Take back what was written last.",
        "seed": "Copy slices of one profile's memory to others, again and again.",
        "promote": "Bring what a specialist added or reworded to the profile that it is seeded from.",
        "branches": "List the branches of a file that are not merged yet.",
        "merge": "Bring branches together with the file.",
        "fmt": "Put memory files into one layout.",
        "sort": "Sort entries without a category into sections.",
        "tidy": "List what memory says twice, and what you should look at together.",
        "migrate": "Turn labels in the text of entries into sections and tags.",
    },
    "Look": {
        "access": "Print who reads and who may write which category, and why.",
        "stats": "Print what each prompt saves beside flat files, and what it keeps out.",
        "log": "List the revisions of a file, or of one entry.",
        "blame": "Say who wrote each entry, and who verified it.",
        "diff": "Show what changed between revisions of a file.",
        "watch": "Print what is new, as it happens.",
    },
    "Connect agents": {
        "mcp": "Serve the memory of a profile to an MCP client.",
        "serve": "Serve memory over HTTP, to agents and to a person's browser.",
        "token": "Make, list and remove the tokens with which callers use the server.",
        "hermes": "Put catmem into Hermes Agent, or write slices into its files.",
        "import": "Bring in what another program remembers.",
        "export": "Write memory files for other programs.",
    },
    "Look after the store": {
        "fsck": "Check the history and the files, and mend what is safe to mend.",
        "doctor": "Say what the folders give the store, and what they lack.",
        "reconcile": "Bring back what a file lacks of a recovery copy.",
        "repair": "Mend a file that holds what no tool wrote.",
        "restore": "Write a file as it was at a revision.",
        "purge": "Erase an entry everywhere, from the history too.",
        "store": "Say what the store keeps, or copy it to another with its history.",
    },
    "Many writers and control": {
        "audit": "List every attempt to write: who, what, and how it ended.",
        "write": "Write what an envelope holds, as an agent sent it.",
        "envelope": "Make an envelope, signed, for catmem write.",
        "key": "Make, list and remove the keys that agents sign with.",
        "role-hash": "Print the digest of a profile, which envelopes name.",
        "rollout": "Show which refusals are enforced, and what was let pass.",
        "simulate": "Race agents on shared memory, with and without guards.",
        "merge-driver": "Merge a memory file by entry, for git.",
        "replay": "Write every revision out as a file.",
        "anchor": "Print where the history stands, or check one that you kept.",
    },
}
"""The commands with their one-line help, in the order and under the headings of ``catmem help --all``."""

COMMANDS = {name: said for commands in GROUPS.values() for name, said in commands.items()}

_MODULES = {
    "audit_commands": ("audit", "rollout"),
    "branch_commands": ("branches", "merge"),
    "credential_commands": ("key", "token"),
    "edit_commands": ("add", "replace", "remove", "move", "verify"),
    "envelope_commands": ("write", "envelope", "role-hash"),
    "exchange_commands": ("import", "export"),
    "git_commands": ("merge-driver",),
    "history_commands": ("diff", "undo", "restore", "replay", "watch"),
    "layout_commands": ("fmt", "migrate"),
    "lint_commands": ("lint", "rule"),
    "log_commands": ("log", "blame"),
    "prompt_commands": ("prompt", "stats"),
    "serve_commands": ("serve", "mcp"),
    "upkeep_commands": ("fsck", "doctor", "anchor", "repair", "purge", "store"),
    "view_commands": ("show", "list", "search"),
}
"""The modules of several commands; every other command ``NAME`` has the module ``NAME_command``."""


def _load(name: str) -> click.Command:
    """The command, which is the function of its name: ``role_hash``, and ``import_`` where Python has that word."""
    module = next((module for module, names in _MODULES.items() if name in names), f"{name}_command")
    function = f"{name}_" if name in {"help", "import", "list"} else name.replace("-", "_")
    command: click.Command = getattr(import_module(f"catmem.cli.{module}"), function)
    return command


class _LazyGroup(Group):
    """A group whose commands are imported when they are called, so that ``--version`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = _load(cmd_name)
        command.short_help = COMMANDS[cmd_name]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " 'catmem --help' lists them."
            ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # 'catmem help --all' has the last group, too.
        for title, commands in list(GROUPS.items())[: None if ctx.obj else -1]:
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))
        if not ctx.obj:
            formatter.write("\nEnvelopes, keys, rollout, simulation, audit and more: catmem help --all.\n")

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what click's own method gives
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            raise _with_hint(error) from None
        except CatmemError as error:
            _say_option(error, ctx)
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


def _with_hint(error: click.NoSuchOption) -> click.UsageError:
    """The error for an option that there is not; it may be a text that begins with ``-``, where a command takes one."""
    from catmem.cli.options import takes_text

    if error.ctx is None or not takes_text(error.ctx.command):
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
        error.show()
        status = error.exit_code
    sys.exit(status)
