"""What the package ships."""

import json
import re

import pytest

from catmem import resources
from catmem.errors import ConfigError
from catmem.names import is_entity, is_name, key_file_parts
from catmem.ops import shared, table
from catmem.resources import schema
from tests.golden.case import put


def test_the_schemas_of_the_checkout_are_the_ones_shipped(root):
    files = sorted(path.name for path in (root / "schemas").iterdir())
    assert files == [f"{name}.schema.json" for name in resources.SCHEMA_NAMES]
    for name in resources.SCHEMA_NAMES:
        assert (root / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8") == resources.schema_text(name)


def test_in_a_wheel_the_shipped_folders_are_inside_the_package(tmp_path, monkeypatch):
    for folder, text in (("schemas", "beside"), ("catmem/data/schemas", "inside")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "tags.schema.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "catmem")
    assert resources.schema_text("tags") == "inside"
    (tmp_path / "catmem/data/schemas").rename(tmp_path / "away")
    assert resources.schema_text("tags") == "beside"


def test_an_incomplete_installation_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "catmem")
    calls = (
        resources.profile_texts,
        resources.example_files,
        resources.rules_text,
        lambda: resources.schema_text("tags"),
    )
    for call in calls:
        with pytest.raises(ConfigError) as caught:
            call()
        assert caught.value.code == "incomplete_install"


@pytest.mark.parametrize(
    ("direct_url", "source"),
    [
        (None, "FOLDER_OF_CATMEM"),
        ({"url": "file://HERE/a%20checkout", "dir_info": {"editable": True}}, "-e 'HERE/a checkout'"),
        ({"url": "file://HERE/a%20checkout", "dir_info": {}}, "'HERE/a checkout'"),
        ({"url": "file://HERE/a%20checkout/gone.whl", "archive_info": {}}, "FOLDER_OF_CATMEM"),
        (
            {"url": "https://example.org/catmem-1.whl", "archive_info": {}},
            "'catmem @ https://example.org/catmem-1.whl'",
        ),
        (
            {"url": "https://example.org/catmem.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "'catmem @ git+https://example.org/catmem.git@abc'",
        ),
    ],
)
def test_the_command_installs_from_where_this_catmem_came_from(tmp_path, monkeypatch, direct_url, source):
    (tmp_path / "a checkout").mkdir()
    installed = tmp_path / "installed" / "catmem-1.dist-info"
    put(installed / "METADATA", "Metadata-Version: 2.1\nName: catmem\nVersion: 1\n")
    if direct_url is not None:
        put(installed / "direct_url.json", json.dumps(direct_url).replace("HERE", str(tmp_path)))
    monkeypatch.syspath_prepend(installed.parent)
    assert (
        resources.install_command(python="PYTHON") == f"PYTHON -m pip install {source.replace('HERE', str(tmp_path))}"
    )


# --- names: what the schemas and the HTTP API take is what catmem.names takes ----------------------------------------


NAMES = ["neo", "0", "a-b_c", "a" * 64, "a" * 65, "", "Neo", "-a", "_a", "né", "a b", "a.b", "../a", "a\nb"]
ENTITIES = [f"{name}/{target}" for name in NAMES for target in ("user", "memory", "User", "")]
ENTITIES += ["neo/user/x", "neo//user", "/user", "neo"]
REVISIONS = ["0", "7", "9" * 12, "9" * 13, "8a", "8" + "z" * 8, "8" + "z" * 9, "0a", "a", "", "8A", "-1", "8a1"]


def at(name, *keys):
    """A pattern inside a schema that is shipped."""
    found = schema(name)
    for key in keys:
        found = found[key]
    return found["pattern"]


@pytest.mark.parametrize(
    "pattern",
    [
        at("config", "$defs", "agentName"),
        at("profile", "$defs", "name"),
        at("envelope", "properties", "agent_id"),
        at("envelope", "properties", "key_id"),
        table.PROFILE["pattern"],
    ],
)
def test_a_name_is_one_everywhere(pattern):
    assert [name for name in NAMES if re.search(pattern, name)] == [name for name in NAMES if is_name(name)]


@pytest.mark.parametrize("pattern", [at("envelope", "properties", "entity_id"), table.ENTITY["pattern"]])
def test_an_entity_is_one_everywhere(pattern):
    # The API takes a profile's name alone too: its user memory.
    named = [each for each in ENTITIES if "/" in each]
    assert [each for each in named if re.search(pattern, each)] == [each for each in named if is_entity(each)]
    assert not is_entity("neo")


def test_a_revision_is_one_everywhere():
    # Of an envelope, a revision that is a number is a JSON number.
    of_a_branch = at("envelope", "$defs", "revision", "anyOf", 1)
    of_api = [each for each in REVISIONS if re.search(shared.REVISION["pattern"], each)]
    assert of_api == ["0", "7", "9" * 12, "8a", "8" + "z" * 8]
    letters = [each for each in REVISIONS if each and not each.isdigit()]
    assert [each for each in letters if re.search(of_a_branch, each)] == [each for each in of_api if each in letters]


@pytest.mark.parametrize("name", ["neo\n", "neo/user\n", "7\n", "neo.k\n"])
def test_no_line_end_slips_in(name):
    assert [grammar for grammar in (is_name, is_entity, key_file_parts) if grammar(name)] == []
