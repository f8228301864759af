"""``catmem write``, ``envelope`` and ``role-hash``: signed writes of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from catmem.cli.command import Command
from catmem.cli.options import actor_option, common_options, open_with_store, open_workspace, text_option, whose_options
from catmem.cli.output import emit, emit_json, in_json, printable_json, read_stdin, say, show_written
from catmem.errors import CatmemError, EnvelopeError

if TYPE_CHECKING:
    from catmem.store.contract import OnStale
    from catmem.workspace.workspace import Workspace
    from catmem.writing.written import Written


@click.command(
    cls=Command,
    examples=(
        "catmem write --envelope e.json",
        "catmem envelope -p trinity --add 'Vendor is Acme Ltd.' -c workflow-rules-finance | catmem write --envelope -",
        "catmem write project:alpha alpha.json --expected 7",
    ),
)
@click.argument("entity", required=False)
@click.argument("file", required=False)
@click.option("--envelope", "place", metavar="FILE", help="The envelope as JSON; - for standard input.")
@click.option(
    "--confirm",
    is_flag=True,
    help="Write it also if it has little in common with what is there now, or is a person's and holds a secret.",
)
@click.option("--expected", metavar="REVISION|DIGEST", help="What ENTITY is at: what you saw last, or 0 for nothing.")
@click.option("--merge", "merges", metavar="BRANCH", multiple=True, help="A branch that FILE brings together with it.")
@click.option(
    "--on-stale",
    type=click.Choice(["refuse", "branch"]),
    help="If it was made on a revision older than what is there. By default what catmem.yaml says, else refuse.",
)
@click.option("--op-id", metavar="ID", help="The name of this write of ENTITY; a retry has the same one.")
@actor_option
@common_options
def write(  # noqa: PLR0913 - one parameter an option
    entity: str | None,
    file: str | None,
    *,
    place: str | None,
    confirm: bool,
    expected: str | None,
    merges: tuple[str, ...],
    on_stale: OnStale | None,
    op_id: str | None,
    actor: str | None,
) -> None:
    """Make the write of an envelope: of the agent that it names, on the revision that it names, or not at all.

    What is checked, and in which order, stands in docs/envelopes.md. The same envelope again, or one with the same
    op_id and content, gives the first answer again and writes nothing.

    Or write FILE (- for standard input) as the whole content of ENTITY, which catmem.yaml declares: a text, or a JSON
    value (docs/entities.md).

    Exit status 3: another writer came between, or the file or the role is not what the writer knew.
    """
    of_entity = any(each is not None for each in (file, expected, op_id, actor)) or bool(merges)
    if place is not None and (entity is not None or of_entity):
        raise click.UsageError("--envelope says all of a write: give it alone, or with --confirm and --on-stale.")
    workspace = open_with_store()
    if place is not None:
        written = _submitted(workspace, place, confirm=confirm, on_stale=on_stale)
    else:
        if entity is None or file is None or expected is None:
            raise click.UsageError("Give --envelope FILE; or ENTITY, FILE and --expected REVISION (0 for the first).")
        content = _entity_content(workspace, entity, file, actor)
        written = workspace.put(
            entity,
            content,
            expected=expected,
            actor=actor,
            merges=merges,
            on_stale=on_stale,
            op_id=op_id,
            confirm=confirm,
        )
    show_written(written, "written to" if written.entries else "written", {})


def _entity_content(workspace: Workspace, entity: str, file: str, actor: str | None) -> Any:  # noqa: ANN401 - any JSON value
    from catmem.envelopes.parsing import json_of
    from catmem.files import read_bounded
    from catmem.text import DEFAULT_LIMITS, decode
    from catmem.workspace.history import declared_of

    most = DEFAULT_LIMITS.file_bytes
    declared = declared_of(workspace, entity, None if actor is None else workspace.profile(actor))
    try:
        text = decode(read_stdin(most) if file == "-" else read_bounded(file, most))
        return json_of(text) if declared.content == "json" else text
    except CatmemError as error:
        error.path = "standard input" if file == "-" else file
        raise


def _submitted(workspace: Workspace, place: str, *, confirm: bool, on_stale: OnStale | None) -> Written:
    from catmem.envelopes.parsing import MOST_BYTES
    from catmem.files import read_bounded

    # One byte more than there may be, so that the envelope is refused, and recorded, as any other that is wrong.
    data = read_stdin(MOST_BYTES) if place == "-" else read_bounded(place, MOST_BYTES)
    try:
        return workspace.submit(data, confirm=confirm, on_stale=on_stale)
    except EnvelopeError as error:
        error.path = "standard input" if place == "-" else place
        if place == "-" and not data.strip():
            error.hint = "The command that was to make the envelope has made none."
        raise


@click.command(
    cls=Command,
    examples=(
        "catmem envelope -p trinity --as trinity --add 'Vendor is Acme Ltd.' -c workflow-rules-finance",
        "catmem envelope -p trinity --text USER.md > e.json",
        "catmem envelope -p trinity --as trinity --json operations.json --prev 7 | catmem write --envelope -",
    ),
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
@common_options
def envelope(  # noqa: PLR0913 - one parameter an option
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
) -> None:
    """Print an envelope: one write, with who makes it and on which revision. The file stays as it is.

    The history may grow: without --prev, what is in the file and in no revision yet is taken in as one.
    --as is the agent that writes, by default you, a person. Give what it writes with one of --add, --json and --text.
    Where -p names an entity that catmem.yaml declares, such as project:alpha, that is its whole JSON value, or text.
    catmem write --envelope makes the write, here or wherever the envelope is sent.
    """
    from catmem.envelopes.builder import make_envelope
    from catmem.workspace.history import entity_of
    from catmem.writing.written import on_adoption

    content = _content(added, category, json, text)
    workspace = open_with_store()
    entity = entity_of(workspace, profile if ":" in profile else f"{profile}/{target}")
    envelope, adopted = make_envelope(
        workspace, entity, content, agent=actor, prev=prev, op_id=op_id, alert=alert, signed=signed
    )
    if adopted is not None:
        say(f"{on_adoption(adopted)}, on which this envelope is made")
    if envelope.signature is None and workspace.config.signing.required:
        say(f"It is not signed, and has to be in this root: catmem key new {envelope.agent_id} makes a key.")
    if in_json():
        emit_json(envelope.to_dict())
    else:
        emit(printable_json(envelope.to_dict()) + "\n")


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
        from catmem.envelopes.parsing import json_of

        return json_of(form)
    return text


@click.command(cls=Command, examples=("catmem role-hash trinity", "catmem role-hash trinity --format json"))
@click.argument("name")
@common_options
def role_hash(name: str) -> None:
    """Print the digest of the profile NAME, with everything that it inherits and that catmem.yaml says for it.

    An agent gives it as role_hash. When the profile changes the digest does, and envelopes with the old one are refused
    (role_drift) until the agent has read its profile again.
    """
    from catmem.envelopes.agents import agents_of, role_hash

    workspace = open_workspace()
    profile = workspace.profile(name)
    digest = role_hash(profile)
    agents = sorted(agent for agent, bound in agents_of(workspace.config).items() if bound == profile.name)
    if in_json():
        emit_json({"profile": profile.name, "role_hash": digest, "agents": agents})
    else:
        emit(f"{digest}\n")
