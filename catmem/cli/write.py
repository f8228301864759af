"""``catmem write``: an envelope, as it came from an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catmem.cli.options import format_option, open_with_store, root_option
from catmem.cli.output import read_stdin, show_written
from catmem.errors import EnvelopeError

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace
    from catmem.service.writing.written import Written


@click.command(
    epilog="Examples: catmem write --envelope e.json   "
    "catmem envelope -p trinity --add 'Vendor is Acme Ltd.' -c workflow-rules-finance | catmem write --envelope -"
)
@click.option("--envelope", "place", metavar="FILE", required=True, help="The envelope as JSON; - for standard input.")
@click.option("--confirm", is_flag=True, help="Write it also if it has little in common with what is there now.")
@root_option
@format_option
def command(place: str, root_folder: str | None, *, confirm: bool, as_json: bool) -> None:
    """Make the write of an envelope: of the agent that it names, on the revision that it names, or not at all.

    What is checked, and in which order, stands in docs/envelopes.md. The same envelope again, or one with the same
    op_id and content, gives the first answer again and writes nothing.

    Exit status 3: somebody else wrote in between, or the file or the role is not what the writer knew.
    """
    workspace = open_with_store(root_folder)
    written = _submitted(workspace, place, confirm=confirm)
    show_written(written, "written to" if written.entries else "written", {}, as_json=as_json)


def _submitted(workspace: Workspace, place: str, *, confirm: bool) -> Written:
    from catmem.files import read_bounded
    from catmem.service.envelopes.reading import MOST_BYTES

    # One byte more than there may be, so that the envelope is refused, and recorded, as any other that is wrong.
    data = read_stdin(MOST_BYTES) if place == "-" else read_bounded(place, MOST_BYTES)
    try:
        return workspace.submit(data, confirm=confirm)
    except EnvelopeError as error:
        error.path = "standard input" if place == "-" else place
        if place == "-" and not data.strip():
            error.hint = "The command that was to make the envelope has made none."
        raise
