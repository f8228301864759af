"""The table of operations: everything that is said of one thing that a caller can do, and the call of it.

A row is a function with typed keyword parameters. ``operation`` reads its signature; the interfaces (command line,
HTTP, tools of a model) are made of what it says. Its first parameter is the ``Call``: who asks, and of which root.
What it gives is an ``Outcome``, or a value that becomes one. ``docs/first-change.md`` writes a row.
"""

from __future__ import annotations

import re
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from importlib import import_module
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

from catmem.commands import COMMANDS, MODULES, OTHERS
from catmem.config.json_schema import nearest, shown
from catmem.errors import CatmemError, ConfigError, ForbiddenError
from catmem.jsonable import jsonable
from catmem.registry import at, bad_plugin, registry

if TYPE_CHECKING:
    from catmem.config.access import Rights
    from catmem.config.profile import Profile
    from catmem.workspace.workspace import Workspace
    from catmem.writing.drift_guard import ShownWords, ToolSession

Interface: TypeAlias = Literal["command", "http", "tool"]
Opens: TypeAlias = Literal["root", "read", "store", "look"]
"""How a command opens its root: to read its files, with its store, or with that without a note on unread files."""
Schema: TypeAlias = dict[str, Any]
_KINDS = (str, int, float, bool, date, datetime)
REQUIRED = object()
_NONE: Schema = {}
"""Shared by all rows that say nothing there."""
Whose: TypeAlias = Literal["profile", "entity", "file"]
PROFILE: Schema = {"pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}
ENTITY: Schema = {
    "maxLength": 100,
    "pattern": "^([a-z0-9][a-z0-9_-]{0,63}(/(user|memory))?|[a-z0-9][a-z0-9_-]*(:[a-z0-9][a-z0-9_-]*)+)$",
}
_OPTIONS_IN_FRONT = frozenset({"profile", "actor", "target"})
"""The options of a write that help shows first: whose memory it is, and who acts."""
_WRITE_DEFAULTS = {bool: False, str: REQUIRED}
"""What a parameter of a write is, where nothing is said; others are ``None``."""
_NAMES_OF_MEMORY = frozenset({"profile", "profiles", "entity", "entities", "entity_id", "owner", "source"})
"""Parameters of these names have to say ``whose`` memory they name, at interfaces that agents use."""


class P(NamedTuple):
    """What the interfaces say of a parameter, beside its name, type and default: those stand in the signature.

    ``names`` are those of an option, if ``OPTIONS`` has none for the parameter; without a long one its own name is it.
    An ``argument`` has none. ``brief`` is for models, where that is another thing. ``at`` are the interfaces that have
    the parameter; at others it has its default.
    """

    help: str = ""
    names: str = ""
    argument: bool = False
    metavar: str | None = None
    stdin: bool = False
    """``-`` stands for what standard input holds; a text of several ``words`` may have them apart."""
    words: bool = False
    file: bool = False
    """The text of a file that is named, or of standard input for ``-``."""
    tags: bool = False
    """``KEY=VALUE`` each."""
    path: bool = False
    """The name of a file, and not of a folder; of a ``folder`` it is the other way round."""
    folder: bool = False
    words_at_once: int | None = None
    """How many words the option takes."""
    minimum: int | None = None
    maximum: int | None = None
    whose: Whose | None = None
    """It names memory: that of a ``profile``, or an ``entity``, which the row is given by its whole name. A ``file`` is
    one too, or on the command line a path, which the row reads itself. ``call`` refuses an agent what is another's."""
    form: Schema = _NONE
    """What its JSON Schema says besides: a pattern, a length."""
    brief: str | None = None
    called: str | None = None
    """Its name over HTTP and for models, where Python has that word or another one is known there."""
    at: frozenset[Interface] = frozenset({"command", "http", "tool"})
    unbounded: bool = False
    """A tool offers it to a profile of tier 1 alone."""
    where_writes_wait: bool = False
    """A tool offers it where ``catmem.yaml`` has writes wait for a person, and takes it everywhere."""
    needed: bool = False
    """At other interfaces it has to be there, though the command may go without it."""
    caller: frozenset[Interface] = frozenset()
    """Interfaces at which it is not given: there it names the profile that calls."""


FINDINGS, WRONG, REFUSED, DAMAGE = 1, 2, 3, 4
"""Exit statuses: something to look at; the usage or the configuration; drift or a conflict; a damaged store."""
ONLY_COMMAND: frozenset[Interface] = frozenset({"command"})
ONLY_TOOL: frozenset[Interface] = frozenset({"tool"})
NO_TOOL: frozenset[Interface] = frozenset({"command", "http"})
NO_COMMAND: frozenset[Interface] = frozenset({"http", "tool"})
Option = partial(P, at=ONLY_COMMAND)
"""What only the command line has."""


OPTIONS = {
    "profile": "-p --profile",
    "profiles": "-p --profile",
    "target": "-t --target",
    "category": "-c --category",
    "categories": "-c --category",
    "tags": "--tag",
    "states": "--state",
    "actor": "--as",
    "source": "--from",
    "every": "--all",
    "interactive": "-i --interactive",
}
"""The options of parameters that are called so in all commands."""


class Parameter(NamedTuple):
    """One parameter of a row: ``kind`` is its type, and ``many`` that it is a list of them."""

    name: str
    kind: Any
    many: bool
    default: Any
    param: P

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED

    @property
    def options(self) -> list[str]:
        """Its names on the command line; one of them is long."""
        names = (self.param.names or OPTIONS.get(self.name, "")).split()
        return names if any(each.startswith("--") for each in names) else [*names, f"--{self.name.replace('_', '-')}"]

    @property
    def called(self) -> str:
        """Its name over HTTP and for models."""
        return self.param.called or self.name

    @property
    def schema(self) -> Schema:
        """Its JSON Schema."""
        if "anyOf" in self.param.form:
            return self.param.form
        owner = {None: _NONE, "profile": PROFILE}.get(self.param.whose, ENTITY)
        form: Schema = (
            {"type": "string", "enum": list(typing.get_args(self.kind))}
            if typing.get_origin(self.kind) is Literal
            else {"type": {int: "integer", float: "number", bool: "boolean", dict: "object"}.get(self.kind, "string")}
        )
        if self.kind is date:
            form["format"] = "date"
        limits = {"minimum": self.param.minimum, "maximum": self.param.maximum}
        form |= {name: value for name, value in limits.items() if value is not None}
        if self.many:
            return {"type": "array", **self.param.form, "items": form | owner | self.param.form.get("items", {})}
        return form | owner | self.param.form


class Http(NamedTuple):
    """The path of an operation in the API: a ``summary``, a ``description``, and the form of its answer.

    ``gives`` is a name of ``server/forms.yaml``, ``None`` for any object. ``as_text``: a caller may have its ``text``.
    ``conditional``: its body is one of its own form, and it takes ``If-Match`` and ``Idempotency-Key``.
    """

    method: Literal["GET", "POST"]
    path: str
    summary: str
    description: str
    gives: str | None = None
    as_text: bool = False
    conditional: bool = False


class Tool(NamedTuple):
    """The tool of an operation, for models: a ``title``, and a ``description``.

    ``writes``, ``repeats`` (a second call changes nothing more) and ``destroys`` are hints; ``into``: its category is
    where an entry goes. ``without`` are arguments that the memory tool takes, and this tool does not offer.
    """

    title: str
    description: str
    writes: bool = False
    repeats: bool = False
    destroys: bool = False
    into: bool = False
    without: frozenset[str] = frozenset()


class OperationRow(NamedTuple):
    """A row: what a caller can do, at which interfaces.

    An agent asks of its own memory, one of tier 1 of that of all; see ``P.whose``. ``tier_1`` says what only one of
    tier 1 may do here, but to a declared entity that it reads. A row of the command line alone is for people.
    """

    name: str
    run: Callable[..., Any]
    parameters: Mapping[str, Parameter]
    examples: Sequence[str] = ()
    """Command lines. A row without any is no command."""
    opens: Opens = "store"
    tier_1: str | None = None
    records: bool = False
    """It refuses what is not the caller's itself, so that the audit log has it."""
    http: Http | None = None
    tool: Tool | None = None
    formats: bool = True
    """Whether the command has ``--format``, if it is none of its own parameters (``form``)."""
    rooted: bool = True
    """And ``--root``."""
    options_first: bool = False
    """What follows its first argument is no option, whatever it is called."""
    apart: Mapping[str, str] = _NONE
    """Parameters, and the names of those that each does not go with; also ``form`` (--format json) and ``root``."""
    needs: Mapping[str, str] = _NONE
    """Parameters, and the names of those of which each needs one beside it."""
    writes: Mapping[str, Any] = _NONE
    """What ``catmem.ops.shared`` says of parameters of a write, which ``run`` is not given: ``Call.how`` has them."""

    @property
    def command(self) -> bool:
        """Whether the command line has it."""
        return bool(self.examples)

    @property
    def action(self) -> str:
        """What the memory tool calls it, if it has it."""
        return self.name.removeprefix("memory ")

    @property
    def tool_name(self) -> str:
        """The name of its tool."""
        return f"memory_{self.action}".replace(" ", "_")

    def at(self, interface: Interface) -> list[Parameter]:
        """The parameters that an interface has."""
        return [each for each in self.parameters.values() if interface in each.param.at - each.param.caller]


class UsageError(Exception):
    """What was asked for cannot be meant: options that exclude each other, a value that is none.

    Each interface says it in its own way: the command line with the usage, HTTP and tools with a code.
    """

    @property
    def message(self) -> str:
        """What is wrong."""
        return str(self)


@dataclass(slots=True)
class Outcome:
    """What was done or found, for every interface.

    ``value`` is what renderers know; ``data`` is what JSON shows, by default the value and ``more``. ``problems`` could
    not be looked at, and are said in the end, after ``notes``; ``status`` is the exit status, by default the worst of
    theirs. Over HTTP ``revision`` is what the ETag says, or ``unrecorded``, the digest of a text that has none, which
    no caller sees; ``waiting`` is the proposal as which a write waits; ``conflict`` says that a part was refused.
    """

    value: Any
    data: Any = None
    problems: Sequence[CatmemError] = ()
    status: int = 0
    notes: Sequence[str] = ()
    revision: str | None = None
    unrecorded: str | None = None
    waiting: str | None = None
    conflict: bool = False
    shows: Callable[[Any], Iterable[ShownWords | str]] = lambda _: ()
    """What of entries a conversation knows that was given its data, such as ``shown_rows`` of the drift guard."""
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> Any:  # noqa: ANN401 - JSON-ready data
        """All of it, as JSON-ready data: for a person."""
        if self.data is None:
            self.data = {**jsonable(self.value), **self.more} if self.more else self.value
        return jsonable(self.data)

    def seen_by(self, call: Call) -> Any:  # noqa: ANN401 - JSON-ready data
        """What the caller may see of it. An agent sees nothing of a type that ``catmem.ops.seen`` has no rule for."""
        if call.actor is None:
            return self.to_json()
        from catmem.ops.seen import seen

        return seen(self.value, call)


class Stopped(Exception):  # noqa: N818 - no error: the person has had enough
    """A person does not go on; ``status`` is the exit status of that."""

    def __init__(self, said: str, status: int) -> None:
        """``said`` tells what became of it."""
        super().__init__(said)
        self.status = status


class RequestBody(NamedTuple):
    """The JSON of a request's body, its bytes, what ``If-Match`` says, and the ``op_id`` of ``Idempotency-Key``.

    ``match`` is a revision, or the ``keyed_digest`` of a text that no history had when it was read.
    """

    value: Any = None
    size: int = 0
    match: str | None = None
    retry: str | None = None


def _no_dialogue(name: str) -> Any:  # noqa: ANN401 - there is none
    raise UsageError(f"{name} asks a person, and is for the command line")


@dataclass(slots=True)
class Call:
    """One call of an operation: who asks (``None``: a person), what for, and where notes go.

    ``opener`` gives the root. ``given`` are the names of what the caller said. ``for_program``: JSON is asked for.
    """

    operation: OperationRow
    opener: Callable[[Opens], Workspace]
    interface: Interface = "command"
    actor: str | None = None
    agent: str | None = None
    """The name under which the caller writes, where it is another than the actor's."""
    given: frozenset[str] = frozenset()
    for_program: bool = False
    tell: Callable[[str | CatmemError], None] = lambda _: None
    show: Callable[[Any], None] = lambda _: None
    """Has people see a value at this moment, before what the outcome says; programs see nothing of it."""
    stdin: Callable[[int], bytes] = lambda _: b""
    """What standard input holds, one byte more than a limit at most."""
    named_root: str | None = None
    """The root that ``--root`` names."""
    dialogue: Callable[[str], Any] = _no_dialogue
    """The dialogue of a name, which asks a person."""
    on_close: Callable[[Callable[[], None]], Any] = lambda _: None
    """Takes what is to be done when the call ends."""
    session: ToolSession | None = None
    request_body: RequestBody | None = None
    """What a request says beside its parameters."""
    values: dict[str, Any] = field(default_factory=dict)
    _root: Workspace | None = None

    @property
    def root_words(self) -> str:
        """What a command to type next has behind it: `` --root DIR``, where a root was named."""
        return f" --root {quote(self.named_root)}" if self.named_root else ""

    @property
    def root(self) -> Workspace:
        """The root, opened as the row says."""
        return self.open(self.operation.opens)

    def open(self, how: Opens) -> Workspace:
        """The root, opened in another way."""
        if self._root is None:
            self._root = self.opener(how)
        return self._root

    @property
    def how(self) -> dict[str, Any]:
        """How the caller wants it written: what is said of each of ``writes``."""
        return {name: self.values[name] for name in self.operation.writes}

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be written."""
        return bool(self.values.get("dry_run"))

    @property
    def profile(self) -> Profile | None:
        """The profile that calls; ``None`` for a person."""
        return None if self.actor is None else self.root.profile(self.actor)

    def rights(self, target: str = "user") -> Rights:
        """What the caller may do to the ``user`` or the ``memory`` files."""
        from catmem.config.access import Rights

        return Rights(self.profile, target, self.root.config.taxonomy)


def option_of(parameter: Parameter) -> str:
    """The long name of its option, or the name of an argument."""
    if parameter.param.argument:
        return (parameter.param.metavar or parameter.name.upper()).strip("[].")
    return next(each for each in reversed(parameter.options) if each.startswith("--"))


OPERATIONS: dict[str, OperationRow] = {}
"""The rows that are imported, by name; ``catmem.commands`` says which module has which."""
FAMILIES: dict[str, tuple[str, Sequence[str]]] = {}
"""Commands that only hold others, such as ``key`` of ``key new``: what they say of themselves, and examples."""
STREAMED = object()
"""As ``data``: the renderer prints JSON too, as it comes."""


def load_all() -> None:
    """Import every row: those of catmem, and those of plugins."""
    for group in dict.fromkeys((*OTHERS, *MODULES.values())):
        if "." not in group:  # those of the command line alone have no other interface
            import_module(f"catmem.ops.{group}")
    for name, added in registry().commands.items():
        try:
            import_rows(name, added.module)
        except ConfigError as error:
            import logging

            logging.getLogger("catmem.plugins").warning("%s", error.message)


def family(name: str, said: str, examples: Sequence[str]) -> None:
    """Declare a command that holds the rows whose names begin with its own."""
    FAMILIES[name] = said, examples


def operation(name: str, **row: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # noqa: ANN401 - as OperationRow has them
    """Make a function a row. Raises ``TypeError``, with its place, for a parameter that no interface could read."""

    def add(run: Callable[..., Any]) -> Callable[..., Any]:
        if name in OPERATIONS or (name.partition(" ")[0] in COMMANDS and not run.__module__.startswith(_OWN)):
            raise TypeError(f"{_place(run)}: there is an operation {name!r} already")
        made = OperationRow(name, run, _parameters(name, run, row.get("writes", _NONE)), **row)
        _refuse_unreadable(made)
        OPERATIONS[name] = made
        return run

    return add


def _parameters(name: str, run: Callable[..., Any], writes: Mapping[str, Any]) -> dict[str, Parameter]:
    hints = {each: hint for each, hint in run.__annotations__.items() if each not in {"return", "call", "_"}}
    defaults = {each: _WRITE_DEFAULTS.get(hint.__origin__) for each, hint in writes.items()} | (
        run.__kwdefaults__ or {}
    )
    made = [
        _parameter(name, run, each, hint, defaults.get(each, REQUIRED)) for each, hint in {**hints, **writes}.items()
    ]
    if "profile" in writes:  # whose memory it is stands in front of other options
        made.sort(key=lambda each: (not each.param.argument, each.name not in _OPTIONS_IN_FRONT))
    return {each.name: each for each in made}


def _parameter(name: str, run: Callable[..., Any], called: str, hint: Any, default: Any) -> Parameter:  # noqa: ANN401
    place = _place(run)
    if typing.get_origin(hint) is not Annotated or not isinstance(hint.__metadata__[0], P):
        raise TypeError(f"{place}: the operation {name!r} does not say with Annotated[TYPE, P(...)] what {called} is")
    kind, many = hint.__origin__, False
    if typing.get_origin(kind) in {typing.Union, types.UnionType}:
        kind = next(each for each in typing.get_args(kind) if each is not type(None))
    if typing.get_origin(kind) in {list, Sequence}:
        kind, many = typing.get_args(kind)[0], True
    if typing.get_origin(kind) is dict:
        kind = dict
    if not (many and kind is Any) and kind not in {*_KINDS, dict} and typing.get_origin(kind) is not Literal:
        raise TypeError(f"{place}: {called} of the operation {name!r} is of a type that no interface can read: {hint}")
    return Parameter(called, kind, many, default, hint.__metadata__[0])


_OWN = ("catmem.ops.", "catmem.cli.")
_PATH = re.compile(r"(/[a-z0-9_-]+|/\{[a-z_]+\})+")


def _refuse_unreadable(row: OperationRow) -> None:
    """Raise ``TypeError``, with its place, for a path or a type that HTTP or a model could not give."""
    if row.http is not None and not _PATH.fullmatch(row.http.path):
        raise TypeError(f"{_place(row.run)}: the operation {row.name!r} has no path: {row.http.path!r}")
    if row.http is not None and row.http[:2] in [
        each.http[:2] for each in OPERATIONS.values() if each.http is not None
    ]:
        raise TypeError(f"{_place(row.run)}: {row.name!r} has the path {row.http.path} of another operation")
    for interface in [*(["http"] if row.http else []), *(["tool"] if row.tool else [])]:
        for each in row.at(interface):  # type: ignore[arg-type]  # one of the two
            place = f"{_place(row.run)}: {each.name} of {row.name!r}"
            if each.kind in {float, datetime} or (each.many and each.kind in {int, date}):
                raise TypeError(f"{place} has a type that {interface} cannot read")
            if each.name in _NAMES_OF_MEMORY and each.param.whose is None:
                raise TypeError(f"{place} does not say whose it is: P(whose=...)")


def _place(run: Callable[..., Any]) -> str:
    return f"{sys.modules[run.__module__].__file__}:{run.__code__.co_firstlineno}"


def import_rows(name: str, module: str) -> None:
    """Import the module with the row or family ``name`` of a plugin. Of one that is not right no row is kept."""
    before = {*OPERATIONS, *FAMILIES}
    try:
        at(module)
        if name not in OPERATIONS and name not in FAMILIES:
            raise bad_plugin(f"{module} has no operation {name!r}")
    except ConfigError:
        # The core's, which the module may have imported, stay.
        own = {*COMMANDS, *(each for each, row in OPERATIONS.items() if row.run.__module__.startswith(_OWN))}
        for each in {*OPERATIONS, *FAMILIES} - before - own:
            OPERATIONS.pop(each, None)
            FAMILIES.pop(each, None)
        raise


def call(asked: Call, values: Mapping[str, Any]) -> Outcome:
    """Do what is asked: decide who may, fill in the caller and defaults, and run. Every interface calls this."""
    row = asked.operation
    if asked.actor is not None and row.command and row.http is None and row.tool is None:
        raise ForbiddenError(f"{asked.actor} may not call {row.name}", hint="It is for the command line.")
    takes = {each.name for each in row.at(asked.interface)}
    for name in values:
        if name not in takes:
            raise UsageError(untaken(row.name, name, takes))
    complete = asked.values = dict[str, Any]()
    for each in row.parameters.values():
        value = values.get(each.name, each.default)
        complete[each.name] = value = asked.actor if asked.interface in each.param.caller else value
        needed = each.required or (each.param.needed and asked.interface != "command")
        if needed and (value is REQUIRED or value is None):
            raise UsageError(f"{row.name} needs {each.name}.")
    if row.apart or row.needs:
        _refuse_combinations(asked)
    if not row.records:
        _check_memory_named(asked, complete)
    try:
        done = row.run(asked, **{name: value for name, value in complete.items() if name not in row.writes})
    except SystemExit as stop:  # a plugin's: a server would end with it
        raise RuntimeError(f"the operation {row.name} ended the program") from stop
    outcome = done if isinstance(done, Outcome) else Outcome(done)
    if "dry_run" in row.writes and outcome.data is None and outcome.value is not None:
        outcome.more = {**outcome.more, "dry_run": asked.dry_run}
    return outcome


def _check_memory_named(asked: Call, values: dict[str, Any]) -> None:
    """Refuse an agent what is another's, in the words for what does not exist; give entities their whole names."""
    row, actor = asked.operation, asked.actor
    named = [each for each in row.parameters.values() if each.param.whose is not None and values[each.name] is not None]
    if actor is not None and row.tier_1 is not None and not any(":" in values[each.name] for each in named):
        from catmem.workspace.history import refuse_bounded

        refuse_bounded(asked.root, actor, row.tier_1)
    for each in named:
        given = values[each.name] if each.many else [values[each.name]]
        if each.param.whose == "profile":
            for owner in given if actor is not None else ():
                asked.rights().refuse_other_owner(owner)
        elif each.param.whose == "entity" or asked.interface != "command":
            from catmem.workspace.history import entity_for

            # A list has the revision of each behind it.
            parts = [name.partition("@") if each.many else (name, "", "") for name in given]
            found = [entity_for(asked.root, name, actor) + at + revision for name, at, revision in parts]
            values[each.name] = found if each.many else found[0]


def _refuse_combinations(asked: Call) -> None:
    """Raise ``UsageError`` for parameters that do not go together, and for one without what it needs."""
    row = asked.operation
    values = ((name, asked.values.get(name)) for name in asked.given)
    given = {name for name, value in values if value is not None and value is not False}
    given |= {"form"} if asked.for_program else set()
    given |= {"root"} if asked.named_root is not None else set()
    for name in (each for each in row.parameters if each in given):
        others = [_option(row, each) for each in row.apart.get(name, "").split() if each in given]
        if others:
            raise UsageError(f"{_option(row, name)} does not go with {' and '.join(others)}.")
        needed = row.needs.get(name, "").split()
        if needed and given.isdisjoint(needed):
            raise UsageError(f"{_option(row, name)} goes with {' or '.join(_option(row, each) for each in needed)}.")


def _option(row: OperationRow, name: str) -> str:
    if name in row.parameters:
        return option_of(row.parameters[name])
    return {"form": "--format json", "root": "--root"}[name]


def value_of(parameter: Parameter, value: Any) -> Any:  # noqa: ANN401 - JSON in, a value out
    """What a value of JSON that fits the schema stands for: a day is a text there."""
    return date.fromisoformat(value) if parameter.kind is date and isinstance(value, str) else value


def untaken(what: str, name: str, takes: Collection[str]) -> str:
    """That there is no such parameter, and which there are."""
    near = nearest(name, takes)
    meant = f"did you mean {near!r}? " if near else ""
    return f"{what} takes no {shown(name)}: {meant}it takes {', '.join(sorted(takes))}"
