"""The commands of the command line, whose help opens with what they do and with examples; and ``catmem help``."""

import inspect
from collections.abc import Sequence
from typing import Annotated, Any

import click
from click.core import ParameterSource

from catmem.cli.output import emit
from catmem.ops.table import Call, P, operation


class Command(click.Command):
    """A command whose help is usage, one sentence, ``examples``, then the rest.

    A profile that is its first argument may be given with ``-p`` too, and the other way round.
    """

    def __init__(self, *args: Any, examples: Sequence[str], **kwargs: Any) -> None:  # noqa: ANN401 - as click has them
        """``examples`` are command lines, shown as they are: you copy them."""
        super().__init__(*args, **kwargs)
        self.examples = examples
        first = next((each for each in self.params if isinstance(each, click.Argument)), None)
        self._option = next((each for each in self.params if "-p" in each.opts), None)
        self._by_argument = self._option is None and first is not None and first.name in {"profile", "entity"}
        if self._by_argument and first is not None:
            said = f"The same as {first.make_metavar(click.Context(self)).strip('[]')}."
            self.params.append(
                click.Option(["by_option", "-p", "--profile"], metavar="NAME", expose_value=False, help=said)
            )
        elif self._option is not None and first is None:
            self.params.append(self._argument(self._option))

    @staticmethod
    def _argument(option: click.Parameter) -> click.Argument:
        """An argument for what an option says: it is read first, and stands in for the option."""

        def keep(ctx: click.Context, _: click.Parameter, value: Any) -> None:  # noqa: ANN401 - as click has it
            if value:
                ctx.default_map = {str(option.name): value}

        many = isinstance(option, click.Option) and option.multiple
        return click.Argument(
            ["named"],
            metavar="[PROFILE]..." if many else "[PROFILE]",
            nargs=-1 if many else 1,
            required=False,
            expose_value=False,
            is_eager=True,
            callback=keep,
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; a profile is given once."""
        rest = super().parse_args(ctx, _profile_first(args) if self._by_argument else args)
        if ctx.default_map and ctx.get_parameter_source(next(iter(ctx.default_map))) is ParameterSource.COMMANDLINE:
            raise click.UsageError("Name the profile once: as an argument, or with -p.", ctx)
        return rest

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first paragraph of the help, the examples, and the other paragraphs."""
        del ctx
        first, _, rest = inspect.cleandoc(self.help or "").partition("\n\n")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(first)
        formatter.write(f"\n{'Example' if len(self.examples) == 1 else 'Examples'}:\n")
        formatter.write("".join(f"  {example}\n" for example in self.examples))
        if rest:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(rest)


def _profile_first(args: list[str]) -> list[str]:
    """The arguments with what ``-p`` names as the first."""
    for at, said in enumerate(args):
        option, _, name = said.partition("=")
        if said == "--":
            break
        if option == "--profile" and name:
            return [name, *args[:at], *args[at + 1 :]]
        if said in {"-p", "--profile"} and at + 1 < len(args):
            return [args[at + 1], *args[:at], *args[at + 2 :]]
    return args


class Group(Command, click.Group):
    """A command that holds others."""

    command_class = Command


@operation("help", rooted=False, formats=False, examples=("catmem help", "catmem help --all", "catmem help sort"))
def help_(
    _: Call,
    *,
    command: Annotated[str | None, P(argument=True)] = None,
    everything: Annotated[bool, P("With the commands that few people need.", "--all")] = False,
) -> None:
    """Print the commands by group; with COMMAND what 'catmem COMMAND --help' prints."""
    top = click.get_current_context().find_root()
    if command is not None and isinstance(top.command, click.Group):
        _name, found, _rest = top.command.resolve_command(top, [command])
        top = click.Context(found or top.command, info_name=command, parent=top)
    top.obj = everything
    emit(f"{top.get_help()}\n")
