"""Memory files for other programs, and snapshots."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from catmem.errors import CatmemError
from catmem.ops.shared import OneFile
from catmem.ops.table import STREAMED, Call, Outcome, P, UsageError, operation
from catmem.workspace.exporting import Exported, Form


@dataclass(frozen=True, slots=True)
class ExportedSnapshot:
    """A file with the rows of all entities, and their number."""

    path: Path
    count: int


@dataclass(frozen=True, slots=True)
class Exports:
    """Files in a form; ``names`` are those below the folder that they were written to, ``None`` for standard output."""

    made: Sequence["Exported"]
    form: Form
    names: Sequence[str] | None

    def __json__(self) -> dict[str, Any]:
        """JSON-ready: what the files hold, whatever the form."""
        return {"files": [{"profile": each.profile, "target": each.target, **each.document} for each in self.made]}


@operation(
    "export",
    examples=(
        "catmem export --format json",
        "catmem export -p trinity -t memory --format hermes > MEMORY.md",
        "catmem export --format markdown -o handbook",
        "catmem export --snapshot before.json",
    ),
    opens="read",
    formats=False,
)
def export(
    call: Call,
    *,
    profiles: Annotated[
        list[str] | None, P("Whose memory. By default everyone's.", "-p --profile", metavar="NAME")
    ] = None,
    target: OneFile = None,
    form: Annotated[
        Form | None,
        P(
            "Everything, typed; the flat file of Hermes Agent, with § lines; or headings and bullets for people. "
            "Needed, but for --snapshot.",
            "--format",
        ),
    ] = None,
    snapshot: Annotated[
        str | None,
        P(
            "Write the rows of all entities, with their columns and a digest, to a file of its own, for 'catmem import "
            "--snapshot'. Leave out -p, -t, --format and -o.",
            metavar="PATH",
        ),
    ] = None,
    output: Annotated[
        str,
        P(
            "A folder, in which each profile gets its own; - is standard output.",
            "-o --output",
            metavar="DIR",
            shows_default=True,
        ),
    ] = "-",
    overwrite: Annotated[bool, P("Replace files of DIR, or PATH; never the memory files of the root.")] = False,
) -> Outcome:
    """Write the memory files of profiles in a form that other programs read.

    An export is for people: it holds whole files, categories that the profile does not see included. What the form has
    no place for is said. The flat file of Hermes Agent goes to standard output one at a time (-p and -t).

    Exit status 2 if, without -p, a profile is not right; the files of all others are written.
    """
    from catmem.workspace import exporting
    from catmem.workspace.root import entities_of_each

    if snapshot is not None:
        if profiles or target is not None or form is not None or output != "-":
            raise UsageError("--snapshot takes all rows, to its PATH: leave out -p, -t, --format and -o.")
        path = Path(snapshot)
        return Outcome(ExportedSnapshot(path, exporting.write_snapshot(call.root, path, overwrite=overwrite)))
    if form is None:
        raise UsageError("Missing option '--format'. Choose from: json, hermes, markdown")
    if overwrite and output == "-":
        raise UsageError("--overwrite is for the files of a folder: name it with -o.")
    unreadable: Sequence[CatmemError] = ()
    if not profiles:
        entities = entities_of_each(call.root)
        profiles = list(dict.fromkeys(name.partition("/")[0] for name in entities.names))
        unreadable = entities.unreadable
    made = exporting.export(call.root, profiles, form, target)
    if output == "-" and form == "hermes" and len(made) > 1:
        raise UsageError(f"These are {len(made)} files. Name one (-p and -t), or a folder (-o).")
    names = None if output == "-" else exporting.write_export(call.root, made, Path(output), overwrite=overwrite)
    return Outcome(Exports(made, form, names), STREAMED, problems=unreadable)
