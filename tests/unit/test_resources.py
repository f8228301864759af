"""What the package ships."""

import json

import pytest

from catmem import resources
from catmem.errors import ConfigError
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
