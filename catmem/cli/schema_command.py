"""``catmem schema``: the JSON schemas of what catmem reads and prints."""

from __future__ import annotations

import click

from catmem.cli.command import Command
from catmem.cli.options import format_option
from catmem.cli.output import columns, emit, emit_json, emit_text, in_json


@click.command(
    cls=Command,
    examples=("catmem schema", "catmem schema profile", "catmem schema --path", "catmem schema tags --path"),
)
@click.argument("name", required=False)
@click.option("--path", "where", is_flag=True, help="Print the folder of the schemas, or the file of one.")
@format_option
def schema(name: str | None, *, where: bool) -> None:
    """Print a JSON schema of what catmem reads and prints, for editors and other programs.

    NAME is profile, config, tags and so on; without it the schemas are listed, with their $id and what they describe.
    """
    from catmem.resources import SCHEMA_NAMES, schema_path, schema_text, schemas_folder
    from catmem.resources import schema as parsed

    if where:
        path = str(schemas_folder() if name is None else schema_path(name))
        if in_json():
            emit_json({"path": path})
        else:
            emit(f"{path}\n")
    elif name is not None:
        emit_text(schema_text(name))
    elif in_json():
        fields = ("title", "description")
        schemas = [
            {
                "name": each,
                "id": parsed(each)["$id"],
                **{key: parsed(each)[key] for key in fields},
                "path": str(schema_path(each)),
            }
            for each in SCHEMA_NAMES
        ]
        emit_json({"schemas": schemas})
    else:
        emit(
            columns(
                (each, parsed(each)["$id"], parsed(each)["description"].partition(". ")[0].rstrip("."))
                for each in SCHEMA_NAMES
            )
        )
