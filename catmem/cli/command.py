"""The commands of the command line: their help opens with what they do and with examples."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence


class Command(click.Command):
    """A command whose help is usage, one sentence, ``examples``, then the rest."""

    def __init__(self, *args: Any, examples: Sequence[str], **kwargs: Any) -> None:  # noqa: ANN401 - as click has them
        """``examples`` are command lines, shown as they are: you copy them."""
        super().__init__(*args, **kwargs)
        self.examples = examples

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
