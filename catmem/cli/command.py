"""The commands of the command line: their help opens with what they do and with examples."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from catmem.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Command(click.Command):
    """A command whose help is usage, one sentence, ``examples``, then the rest."""

    def __init__(self, *args: Any, examples: Sequence[str], **kwargs: Any) -> None:  # noqa: ANN401 - as click has them
        """``examples`` are command lines, shown as they are: you copy them."""
        super().__init__(*args, **kwargs)
        self.examples = examples

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what click's own method gives
        """Run it; a refusal that says to repeat it with what was found spells the option, where it takes one."""
        try:
            return super().invoke(ctx)
        except RefusedError as error:
            if error.hint and error.found is not None and any(each.name == "expected" for each in self.params):
                error.hint = error.hint.replace(
                    f"what was found as expected ({error.found})", f"--expected {error.found}"
                )
            raise

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


class Group(Command, click.Group):
    """A command that holds others."""

    command_class = Command
