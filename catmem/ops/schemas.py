"""Operations on schemas: print those of what catmem reads and prints."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from catmem.ops.table import STREAMED, Call, Outcome, P, operation


@dataclass(frozen=True, slots=True)
class Schemas:
    """The schemas that there are, as data."""

    found: Sequence[dict[str, str]]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"schemas": list(self.found)}


@dataclass(frozen=True, slots=True)
class SchemaText:
    """The text of a schema."""

    text: str

    def to_dict(self) -> dict[str, Any]:
        """The schema itself."""
        said: dict[str, Any] = json.loads(self.text)
        return said


@dataclass(frozen=True, slots=True)
class SchemaPlace:
    """A file or a folder."""

    path: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"path": self.path}


@operation(
    "schema",
    rooted=False,
    examples=("catmem schema", "catmem schema profile", "catmem schema --path", "catmem schema tags --path"),
)
def schema(
    _: Call,
    *,
    name: Annotated[str | None, P(argument=True)] = None,
    where: Annotated[bool, P("Print the folder of the schemas, or the file of one.", "--path")] = False,
) -> Any:  # noqa: ANN401 - one of the above
    """Print a JSON schema of what catmem reads and prints, for editors and other programs.

    NAME is profile, config, tags and so on; without it the schemas are listed, with their $id and what they describe.
    """
    from catmem.resources import SCHEMA_NAMES, schema_path, schema_text, schemas_folder
    from catmem.resources import schema as parsed

    if where:
        return SchemaPlace(str(schemas_folder() if name is None else schema_path(name)))
    if name is not None:
        return Outcome(SchemaText(schema_text(name)), STREAMED)
    rows = []
    for each in SCHEMA_NAMES:
        said = parsed(each)
        more = {key: said[key] for key in ("title", "description")}
        rows.append({"name": each, "id": said["$id"], **more, "path": str(schema_path(each))})
    return Schemas(rows)
