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


def test_the_list_names_the_files(tmp_path):
    listed = json.loads(catmem(tmp_path, ["schema", "--format", "json"]).stdout)["schemas"]
    assert [each["name"] for each in listed] == list(resources.SCHEMA_NAMES)
    assert all(Path(each["path"]).name == f"{each['name']}.schema.json" for each in listed)
