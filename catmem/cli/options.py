"""Options that several commands share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from catmem.cli.door import (
    _file_text,
    _length,
    _moment,
    _remember_root,
    _tags,
    _text,
    _words,
    given_root,
)
from catmem.cli.door import (
    remember_format as _remember_format,
)
from catmem.cli.output import say
from catmem.errors import EditError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable

    from catmem.config.config import Config
    from catmem.workspace.workspace import Workspace
    from catmem.writing.written import How

_T = TypeVar("_T")


def refuse_beside(name: str, *others: str, why: str) -> None:
    """Refuse the option ``name`` of the running command, if it is given, beside any of the ``others``.

    Both are names of its parameters; ``why`` says what the option is for.
    """
    ctx = click.get_current_context()
    given = {
        each.name: each.opts[-1]
        for each in ctx.command.params
        if ctx.get_parameter_source(str(each.name)) is not ParameterSource.DEFAULT
    }
    beside = [given[each] for each in others if each in given]
    if name in given and beside:
        raise click.UsageError(f"{given[name]} does not go with {', '.join(beside)}: {why}", ctx)


root_option = click.option(
    "--root",
    type=click.Path(file_okay=False, exists=True),
    metavar="DIR",
    expose_value=False,
    callback=_remember_root,
    help="The root folder. By default the nearest folder with a catmem.yaml, from here upward.",
)


def format_choice(*names: str, said: str, exposed: bool = True, **more: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - a function, or what click has made of it
    """``--format`` with one of these names, as ``form`` if it is ``exposed``; ``in_json`` knows the rest."""
    more = more or {"default": names[0], "show_default": True}
    return click.option(
        "--format",
        "form",
        type=click.Choice(names),
        is_eager=True,
        expose_value=exposed,
        callback=_remember_format,
        help=said,
        **more,
    )


format_option = format_choice(
    "text", "json", exposed=False, said="Output for people, or for programs (fields: docs/cli.md)."
)


def common_options(command: Any) -> Any:  # noqa: ANN401 - a function, or what click has made of it
    """``--root`` and ``--format``, of which ``open_workspace`` and ``in_json`` know."""
    return root_option(format_option(command))


target_option = click.option(
    "-t", "--target", type=click.Choice(["user", "memory"]), help="Only USER.md or only MEMORY.md."
)
category_option = click.option("-c", "--category", metavar="SLUG", help="Only this category.")

entity_argument = click.argument("entity")
dry_run_option = click.option("--dry-run", is_flag=True, help="Write nothing; show what would change.")
expected_option = click.option(
    "--expected",
    metavar="REVISION|DIGEST",
    help="What you saw last: a revision or a digest, as 'catmem list --format json' gives them. If the file is no "
    "longer that, nothing is written (exit status 3).",
)
actor_option = click.option(
    "--as", "actor", metavar="NAME", help="The profile that acts, within its rights. By default you, a person."
)


def profile_option(*, required: bool) -> Callable[[Any], Any]:
    """``-p``/``--profile``: whose memory."""
    return click.option("-p", "--profile", required=required, metavar="NAME", help="The profile whose memory this is.")


def text_argument(name: str, metavar: str, *, required: bool = True) -> Callable[[Any], Any]:
    """A text, or ``-`` for standard input."""
    return click.argument(name, metavar=metavar, required=required, callback=_text)


def words_argument(name: str, metavar: str) -> Callable[[Any], Any]:
    """A text that may be given as several words, or ``-`` for standard input."""
    return click.argument(name, metavar=metavar, nargs=-1, required=True, callback=_words)


def length_option(name: str, parameter: str, said: str) -> Callable[[Any], Any]:
    """A length of time such as ``30m`` or ``1h30m``."""
    return click.option(name, parameter, metavar="TIME", callback=_length, help=said)


def moment_option(name: str, said: str) -> Callable[[Any], Any]:
    """A moment: a day, a time stamp, or how long ago it was."""
    return click.option(name, metavar="TIME", callback=_moment, help=said)


def text_option(name: str, *, metavar: str, said: str) -> Callable[[Any], Any]:
    """The text of a file that an option names, or of standard input for ``-``."""
    return click.option(name, metavar=metavar, callback=_file_text, help=said)


def tag_option(said: str) -> Callable[[Any], Any]:
    """``--tag KEY=VALUE``, any number of times, as a mapping with ``None`` for ``KEY=``; ``None`` without any."""
    return click.option("--tag", "tags", metavar="KEY=VALUE", multiple=True, callback=_tags, help=said)


def whose_options(command: Any) -> Any:  # noqa: ANN401 - a function, or what click has made of it
    """``-p``, ``--as`` and ``-t``: whose file is written, by whom, and which of the two."""
    return _whose(command, default="user", show_default=True, help="USER.md or MEMORY.md.")


def _whose(command: Any, **target: Any) -> Any:  # noqa: ANN401 - as above
    option = click.option("-t", "--target", type=click.Choice(["user", "memory"]), **target)
    return profile_option(required=True)(actor_option(option(command)))


def refuse_undeclared(workspace: Workspace, category: str | None) -> None:
    """Raise ``UnknownNameError`` (``unknown_category``) for a category that a closed taxonomy does not declare."""
    from catmem.config.json_schema import shown
    from catmem.names import slugify
    from catmem.writing.terms import category_hint

    taxonomy = workspace.config.taxonomy
    if category is not None and taxonomy.closed and slugify(category) not in taxonomy.declared():
        raise UnknownNameError(
            f"the category {shown(category)} is not declared in catmem.yaml",
            code="unknown_category",
            hint=category_hint(slugify(category), taxonomy),
        )


def open_workspace() -> Workspace:
    """The workspace of ``--root``, or the one that the working folder lies in."""
    from catmem.workspace.workspace import Workspace

    root = given_root()
    return Workspace.open(".") if root is None else Workspace.open(root, search=False)


def open_to_read() -> Workspace:
    """The same for a command that reads memory, which may not be where the store is."""
    from catmem.workspace.stores import backend_of

    workspace = open_workspace()
    if not backend_of(workspace.config).has_files:
        from catmem.workspace.upkeep import unread_note

        note = unread_note(workspace)
        if note is not None:
            say(f"warning: {note}")
    return workspace


def open_with_store(*, looks_over: bool = False) -> Workspace:
    """The same for a command that uses its store, which is closed when the command ends.

    A command that ``looks_over`` the root finds itself what no profile reads.
    """
    workspace = open_workspace() if looks_over else open_to_read()
    click.get_current_context().call_on_close(workspace.store.close)
    return workspace


def asking_about_secrets(config: Config, how: How, write: Callable[[], _T]) -> _T:
    """What ``write`` does with ``how``; where it is refused for a secret, a person at a terminal may say yes to that.

    Then ``how`` has ``allow_secret``, and ``write`` is called once more.
    """
    try:
        return write()
    except EditError as error:
        if error.code != "secret" or config.secrets != "ask" or how.get("actor") or not sys.stdin.isatty():
            raise
        say(f"{error.message}. {error.hint}")
        if not click.confirm("Store it all the same? Prompts will withhold it.", err=True):
            raise
        how["allow_secret"] = True
        return write()
