"""``catmem schema``."""

import json
from pathlib import Path

from catmem import resources
from tests.commands import catmem
from tests.together import together


@together("name", resources.SCHEMA_NAMES)
def test_a_schema_is_printed_as_it_is_shipped_also_in_a_root_that_is_not_right(tmp_path, name):
    (tmp_path / "catmem.yaml").write_text("verion: [", encoding="utf-8")
    for form in ("text", "json"):
        result = catmem(tmp_path, ["schema", name, "--format", form])
        assert (result.exit_code, result.stdout) == (0, resources.schema_text(name))


def test_the_folder(tmp_path):
    folder = Path(catmem(tmp_path, ["schema", "--path"]).stdout.removesuffix("\n"))
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.schema.json" for name in resources.SCHEMA_NAMES]
    one = Path(catmem(tmp_path, ["schema", "tags", "--path"]).stdout.removesuffix("\n"))
    assert one == folder / "tags.schema.json"
    assert json.loads(catmem(tmp_path, ["schema", "--path", "--format", "json"]).stdout) == {"path": str(folder)}
