"""The command line's interface: a click command of a row of the table, from its words to what it prints."""

from __future__ import annotations

import inspect
import os
import re
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.core import ParameterSource

from catmem import clock
from catmem.cli.output import (
    OutputError,
    emit,
    emit_json,
    given_root,
    in_json,
    print_error,
    print_unreadable,
    read_stdin,
    say,
    say_all,
)
from catmem.clock import read_date
from catmem.commands import READS
from catmem.config.json_schema import nearest
from catmem.errors import CatmemError, EditError, UnreadableError, errors_at
from catmem.files import read_bounded
from catmem.jsonable import jsonable
from catmem.ops.table import (
    FAMILIES,
    FINDINGS,
    OPERATIONS,
    STREAMED,
    Call,
    Opens,
    OperationRow,
    Outcome,
    Parameter,
    Stopped,
    UsageError,
    call,
    option_of,
)
from catmem.text import MAX_FILE_BYTES, decode, printable

if TYPE_CHECKING:
    from catmem.config.config import Config
    from catmem.workspace.workspace import Workspace


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


T = TypeVar("T")
_LARGEST = 10**12
_TYPE_METAVARS = {int: "N", float: "N", date: "DATE", datetime: "TIME"}
_OPTION_METAVARS = {"--profile": "NAME", "--as": "NAME", "--from": "NAME", "--category": "SLUG", "--tag": "KEY=VALUE"}
"""What stands for the value in the help, by the type and by the name of the option."""
_LENGTH = re.compile(r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?")
ROOT_HELP = "The root folder. By default the nearest folder with a catmem.yaml, from here upward."
FORMAT_HELP = "Output for people, or for programs (fields: docs/cli.md)."


def command_of(name: str) -> click.Command:
    """The command of a row, or of a family of rows."""
    if name not in FAMILIES:
        return command(OPERATIONS[name])
    said, examples = FAMILIES[name]
    held = [command(each) for each in OPERATIONS.values() if each.name.startswith(f"{name} ")]
    return Group(name, help=said, examples=examples, commands=held)


def command(row: OperationRow) -> click.Command:
    """The command of a row."""
    params = [_parameter(each) for each in row.at("command")]
    if row.rooted:
        root = click.Option(
            ["--root"], type=_HomePath(file_okay=False, exists=True), metavar="DIR", expose_value=False,
            callback=_remember_root, help=ROOT_HELP,
        )  # fmt: skip
        # The format comes last, if it is not among others.
        params.insert(len(params) - bool(params and params[-1].name == "form"), root)
    if row.formats and "form" not in row.parameters:
        params.append(
            click.Option(
                ["--format", "form"], type=_OneOf(["text", "json"]), default="text", show_default=True,
                is_eager=True, expose_value=False, callback=remember_format, help=FORMAT_HELP,
            )
        )  # fmt: skip
    return Command(
        row.name.rpartition(" ")[2],
        examples=row.examples,
        params=params,
        help=row.run.__doc__,
        callback=click.pass_context(_callback(row)),
        context_settings={"allow_interspersed_args": not row.options_first},
    )


def _callback(row: OperationRow) -> Callable[..., None]:
    def run(ctx: click.Context, **words: Any) -> None:  # noqa: ANN401 - as the row has them
        given = frozenset(
            name for name in words if ctx.get_parameter_source(name) not in {ParameterSource.DEFAULT, None}
        )
        values = {name: value for name, value in words.items() if name in given}

        def show_now(value: Any) -> None:  # noqa: ANN401 - as the renderers have them
            if not asked.for_program:
                _render(asked, value)

        asked = Call(
            row, open_root, given=given, for_program=in_json(), tell=_tell, stdin=read_stdin, named_root=given_root(),
            dialogue=_dialogue, on_close=ctx.call_on_close, show=show_now,
        )  # fmt: skip
        done = None
        try:
            _refuse_options(ctx, row, values)
            if "allow_secret" in row.parameters:
                done = asking_about_secrets(lambda: asked.root.config, values, lambda: call(asked, values))
            else:
                done = call(asked, values)
            if done.problems and not asked.for_program:
                say("Not everything could be read (see the errors below), so this is about the rest.")
            show(asked, done)
        except UsageError as error:
            raise click.UsageError(error.message, ctx) from None
        except Stopped as stop:
            say(str(stop))
            ctx.exit(stop.status)
        except OutputError as error:
            reads = row.name in READS or any(values.get(name) for name in ("dry_run", "check", "diff"))
            if reads and error.is_unread:
                ctx.exit(FINDINGS)
            raise _output_lost(error, done, reads=reads) from error
        say_all(done.notes)
        worst = print_unreadable(done.problems)
        ctx.exit(done.status or worst)

    return run


def _output_lost(error: OutputError, done: Outcome | None, *, reads: bool) -> UnreadableError:
    """What to say where the output is lost: above all whether what was written is to be written once more."""
    said = f"standard output cannot be written: {error}"
    if reads:
        hint = "What was written so far is not whole. Check where the output goes."
        return UnreadableError(said, code="not_writable", hint=hint)
    from catmem.writing.written import Written

    hint = "What the command had done stays done: look with 'catmem log' before you repeat it."
    if done is not None and isinstance(done.value, Written) and done.value.changed:
        hint = f"Revision {done.value.revision} of {done.value.entity} is written, so do not repeat the command: "
        hint += "only its answer is lost."
    return UnreadableError(said, code="output_lost", hint=hint)


def _refuse_options(ctx: click.Context, row: OperationRow, values: Mapping[str, Any]) -> None:
    """Raise ``UsageError`` for an option that stands in the place of the value of another."""
    known = {name for each in ctx.command.params for name in each.opts if name.startswith("-")}
    for each in (row.parameters[name] for name, value in values.items() if isinstance(value, str) and value in known):
        if not each.param.argument:
            said = _metavar(each) or "a value"
            raise UsageError(f"{option_of(each)} takes {said}, and {values[each.name]} is an option.")


def show(asked: Call, done: Outcome) -> None:
    """Print what was done: its JSON, or its text, for which ``TEXTS`` has a renderer by type or operation."""
    if asked.for_program and done.data is not STREAMED:
        if (said := done.to_json()) is not None:
            emit_json(said)
    elif done.value is not None:
        _render(asked, done.value)


_WITH_STORE_TEXTS = {"branches", "control", "history", "reports", "upkeep"}
"""Modules of rows whose texts are in ``cli/store_texts``."""


def _render(asked: Call, value: Any) -> None:  # noqa: ANN401 - of a type that ``TEXTS`` knows
    package, _, module = asked.operation.run.__module__.rpartition(".")
    name = f"{package or module}.texts"
    if package == "catmem.ops":
        name = "catmem.cli.store_texts" if module in _WITH_STORE_TEXTS else "catmem.cli.texts"
    try:
        texts = import_module(name).TEXTS
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        texts = {}
    named = texts.get(asked.operation.name) if type(value).__module__ in sys.stdlib_module_names else None
    if (render := named or texts.get(type(value).__name__)) is not None:
        render(value, asked)
    else:
        import yaml

        said = jsonable(value)
        if not isinstance(said, str):
            said = printable(yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=sys.maxsize))
        emit(said)


def _tell(said: str | CatmemError) -> None:
    if isinstance(said, CatmemError):
        print_error(said)
    else:
        say(said)


def _dialogue(name: str) -> Any:  # noqa: ANN401 - a class or a function; of a plugin the ``DIALOGUE`` of a module
    return import_module(name).DIALOGUE if "." in name else import_module("catmem.cli.dialogues").DIALOGUES[name]


def asking_about_secrets(config: Callable[[], Config], how: dict[str, Any], write: Callable[[], T]) -> T:
    """What ``write`` does with ``how``; where it is refused for a secret, a person at a terminal may say yes to that.

    Then ``how`` has ``allow_secret``, and ``write`` is called once more.
    """
    try:
        return write()
    except EditError as error:
        if error.code != "secret" or how.get("actor") or config().secrets != "ask" or not sys.stdin.isatty():
            raise
        say(f"{error.message}. {error.hint}")
        if not click.confirm("Store it all the same? Prompts will withhold it.", err=True):
            raise
        how["allow_secret"] = True
        return write()


# --- the root --------------------------------------------------------------------------------------------------------


def open_root(how: Opens, usual: str | None = None) -> Workspace:
    """The root of ``--root``, of the working folder, or the ``usual`` one; its store closes when the command ends."""
    from catmem.workspace.workspace import Workspace

    root = given_root() or usual
    workspace = Workspace.open(".") if root is None else Workspace.open(root, search=False)
    if how in {"read", "store"}:
        _say_unread(workspace)
    if how in {"store", "look"}:
        click.get_current_context().call_on_close(workspace.store.close)
    return workspace


def _say_unread(workspace: Workspace) -> None:
    from catmem.workspace.stores import MARKS_OF_DATABASES, backend_of

    marks = workspace.root.glob(MARKS_OF_DATABASES)
    if not backend_of(workspace.config).has_files or any(marks):
        from catmem.workspace.upkeep import unread_note

        if (note := unread_note(workspace)) is not None:
            say(f"warning: {note}")


# --- parameters ------------------------------------------------------------------------------------------------------


def _parameter(each: Parameter) -> click.Parameter:
    param = each.param
    more: dict[str, Any] = {"callback": _reader(each)}
    if (metavar := _metavar(each)) is not None:
        more["metavar"] = metavar
    if param.argument:
        nargs = -1 if each.many or param.words else 1
        return click.Argument([each.name], required=each.required, nargs=nargs, type=_type(each), **more)
    if each.default is not None and each.default is not False and not each.required and not each.many:
        more |= {"default": each.default, "show_default": True}
    if each.kind is bool:
        more["is_flag"] = True
    else:
        once = param.words_at_once
        more |= {"type": _type(each), "multiple": (each.many and once is None) or param.tags, "nargs": once or 1}
    if each.name == "form":
        more |= {"is_eager": True, "callback": remember_format, "show_default": True}
    return click.Option([*each.options, each.name], required=each.required, help=param.help, **more)


def _metavar(each: Parameter) -> str | None:
    has_words = each.kind is bool or typing.get_origin(each.kind) is Literal
    named = None if each.param.argument or has_words else _OPTION_METAVARS.get(option_of(each))
    return each.param.metavar or _TYPE_METAVARS.get(each.kind) or named


class _HomePath(click.Path):
    """A path, in which ``~`` is the home also where a shell left it, as in ``'~/memory'`` and ``--start=~/notes``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        return super().convert(os.path.expanduser(value), param, ctx)  # noqa: PTH111 - a path as it was given


class _OneOf(click.Choice[str]):
    """One of some words; of another the nearest is named."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:  # noqa: ANN401 - as click has it
        near = nearest(value, self.choices)
        return super().get_invalid_choice_message(value, ctx) + (f" Did you mean {near!r}?" if near else "")


def _type(each: Parameter) -> click.ParamType[Any]:
    if typing.get_origin(each.kind) is Literal:
        return _OneOf(typing.get_args(each.kind))
    if each.kind is int:
        bounded = each.param.minimum is not None or each.param.maximum is not None
        whole = click.IntRange(each.param.minimum, each.param.maximum) if bounded else click.types.IntParamType()
        whole.name = "whole number"
        return whole
    if each.param.path or each.param.folder:
        return _HomePath(file_okay=each.param.path, dir_okay=each.param.folder)
    return click.FLOAT if each.kind is float else click.STRING


def _reader(each: Parameter) -> Callable[..., Any] | None:
    param = each.param
    if param.words:
        return _words
    if param.stdin:
        return _text
    if param.file:
        return _file_text
    if param.tags:
        return _tags
    if each.many:
        return lambda _ctx, _param, values: list(values or ())
    readers: dict[Any, Callable[..., Any]] = {date: _day, datetime: _moment, int: _number}
    return readers.get(each.kind)


def takes_text(command: click.Command) -> bool:
    """Whether one of its arguments is a text, which may begin with ``-``."""
    return any(isinstance(each, click.Argument) and each.callback in {_text, _words} for each in command.params)


def _number(_ctx: click.Context, _param: click.Parameter, value: int | None) -> int | None:
    if value is not None and abs(value) > _LARGEST:
        raise click.BadParameter(f"{value} is too large.")
    return value


def _day(_ctx: click.Context, _param: click.Parameter, value: str | None) -> date | None:
    day = read_date(value)
    if value is not None and day is None:
        raise click.BadParameter(f"{value!r} is not a day. Write it as YYYY-MM-DD, for example 2026-11-21.")
    return day


def remember_format(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Note whether JSON is asked for: errors follow that too."""
    ctx.meta["catmem.json"] = is_json = value is not None and value.startswith("json")
    if is_json:
        import logging

        # What is logged, and has no other place to go, would stand before the JSON of stderr, which says the same.
        logger = logging.getLogger("catmem")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
    return value


def _remember_root(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    ctx.meta["catmem.root"] = value
    return value


def _words(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> str | None:
    return _text(ctx, param, " ".join(value))


def _text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The text of an argument, or what standard input holds for ``-``, which can be read once."""
    if value != "-":
        return value
    if "catmem.stdin" in ctx.meta:
        raise click.UsageError(f"{ctx.meta['catmem.stdin']} is - too, and standard input holds one text.", ctx)
    ctx.meta["catmem.stdin"] = param.human_readable_name
    # What comes out of a program ends in a newline that is no part of the text.
    text = ctx.meta["catmem.words"] = _decoded(read_stdin(MAX_FILE_BYTES), "standard input").rstrip("\r\n")
    return text


def _file_text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None or value == "-":
        return _text(ctx, param, value)
    return _decoded(read_bounded(value, MAX_FILE_BYTES), value)


def _decoded(data: bytes, place: str) -> str:
    with errors_at(place, hint="Nothing was done. Give a text in UTF-8, of 16 MiB at most."):
        return decode(data)


def _tags(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> dict[str, str | list[str] | None] | None:
    """``KEY=VALUE`` each, ``KEY=[a, b]`` for a list, and ``None`` for ``KEY=``."""
    tags: dict[str, str | list[str] | None] = {}
    for given in values:
        key, equals, value = given.partition("=")
        if not (key and equals):
            raise click.BadParameter(f"{given!r} is not of the form KEY=VALUE.")
        if key in tags:
            raise click.BadParameter(f"{key!r} is given twice. A list is written {key}=[a, b].")
        tags[key] = _tag_list(value) if value.startswith("[") else value or None
    return tags or None


def _tag_list(value: str) -> list[str]:
    # A list is written as it stands in a file, with quotes where a value holds a comma.
    from catmem.syntax.tags import read

    pairs = read(f"[list: {value}]")[0]
    if len(pairs) != 1 or isinstance(pairs[0][1], str):
        message = f'{value!r} is not a list. Write [a, b], and values with commas or brackets in quotes: ["a, b", c].'
        raise click.BadParameter(message)
    return list(pairs[0][1])


def _moment(_ctx: click.Context, _param: click.Parameter, value: str | None) -> datetime | None:
    if value is None:
        return None
    ago = _LENGTH.fullmatch(value)
    try:
        if value and ago is not None:
            days, hours, minutes, seconds = (int(each or 0) for each in ago.groups())
            return clock.now() - timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        moment = datetime.fromisoformat(value)
        # Without a zone it is UTC, as the log writes it.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        message = (
            f"{value!r} is no moment. Write a day (2026-11-21), a time in UTC (2026-11-21T12:00:00Z), or how long ago "
            "it was (30m, 2h, 1d)."
        )
        raise click.BadParameter(message) from None
