"""``catmem envelope``: make an envelope, and sign it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from catmem.cli.options import format_option, open_with_store, root_option, text_option, whose_options
from catmem.cli.output import emit, emit_json, printable_json, say

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command(
    epilog="Examples: catmem envelope -p trinity --as trinity --add 'Vendor is Acme Ltd.' -c workflow-rules-finance   "
    "catmem envelope -p trinity --text USER.md > e.json   "
    "catmem envelope -p trinity --as trinity --json operations.json --prev 7 | catmem write --envelope -"
)
@whose_options
@click.option("--add", "added", metavar="TEXT", help="Add an entry with these words.")
@click.option("-c", "--category", metavar="SLUG", help="Where the entry of --add goes.")
@text_option(
    "--json",
    metavar="FILE",
    said="A list of operations, or a document in JSON form (with partial: true only the categories it names); or -.",
)
@text_option("--text", metavar="FILE", said="A whole document that takes the place of the old one; or -.")
@click.option("--prev", metavar="REVISION", help="The revision that it is made on. By default the newest.")
@click.option("--op-id", metavar="ID", help="The name of this write; a retry has the same one. By default a new one.")
@click.option("--alert", is_flag=True, help="Refuse it once if it has little in common with what is there.")
@click.option(
    "--signed/--unsigned",
    default=None,
    help="Sign it, and fail without a key; or do not. By default it is signed if the agent has a key here.",
)
@root_option
@format_option
def command(  # noqa: PLR0913 - one parameter an option
    profile: str,
    actor: str | None,
    *,
    target: str,
    added: str | None,
    category: str | None,
    json: str | None,
    text: str | None,
    prev: str | None,
    op_id: str | None,
    alert: bool,
    signed: bool | None,
    root_folder: str | None,
    as_json: bool,
) -> None:
    """Print an envelope: one write, with who makes it and on which revision. The file stays as it is.

    The history may grow: without --prev, what is in the file and in no revision yet is taken in as one.
    --as is the agent that writes, by default you, a person. Give what it writes with one of --add, --json and --text.
    catmem write --envelope makes the write, here or wherever the envelope is sent.
    """
    from catmem.service.envelopes.builder import make_envelope
    from catmem.service.writing.written import on_adoption

    content = _content(added, category, json, text)
    workspace = open_with_store(root_folder)
    entity = f"{workspace.profile(profile).name}/{target}"
    envelope, adopted = make_envelope(
        workspace, entity, content, agent=actor, prev=prev, op_id=op_id, alert=alert, signed=signed
    )
    if adopted is not None:
        say(f"{on_adoption(adopted)}, on which this envelope is made")
    if envelope.signature is None and workspace.config.signing.required:
        say(f"It is not signed, and has to be in this root: catmem key new {envelope.agent_id} makes a key.")
    if as_json:
        emit_json(envelope.to_dict())
    else:
        emit(_line(envelope.to_dict()))


def _line(fields: Mapping[str, Any]) -> str:
    return printable_json(fields) + "\n"


def _content(added: str | None, category: str | None, form: str | None, text: str | None) -> Any:  # noqa: ANN401 - JSON
    given = [name for name, value in (("--add", added), ("--json", form), ("--text", text)) if value is not None]
    if len(given) != 1:
        raise click.UsageError("Give one of --add TEXT, --json FILE and --text FILE.")
    if category is not None and added is None:
        raise click.UsageError("-c goes with --add; in JSON each operation has its own category.")
    if added is not None:
        where = {} if category is None else {"category": category}
        return [{"action": "add", "content": added, **where}]
    if form is not None:
        from catmem.service.envelopes.reading import json_of

        return json_of(form)
    return text
