"""What the package ships."""

from __future__ import annotations

import json

import pytest

from catmem import resources
from catmem.config.yamlfile import parse_yaml
from catmem.errors import ConfigError


@pytest.mark.parametrize("name", resources.SCHEMA_NAMES)
def test_schemas(name):
    assert json.loads(resources.schema_text(name)) == resources.schema(name)
    assert resources.schema(name) is resources.schema(name)


@pytest.mark.parametrize("name", ["nothing", "../pyproject", ""])
def test_a_schema_that_is_not_there(name):
    with pytest.raises(ConfigError) as caught:
        resources.schema(name)
    assert caught.value.code == "unknown_schema"
    assert "profile" in caught.value.hint


def test_the_schemas_of_the_checkout_are_the_ones_shipped(root):
    files = sorted(path.name for path in (root / "schemas").iterdir())
    assert files == [f"{name}.schema.json" for name in resources.SCHEMA_NAMES]
    for name in resources.SCHEMA_NAMES:
        assert (root / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8") == resources.schema_text(name)


def test_profiles(root):
    texts = resources.profile_texts()
    assert list(texts) == ["morpheus", "neo", "orchestrator", "scout", "specialist", "trinity"]
    for name, text in texts.items():
        assert parse_yaml(text).data["name"] == name
        assert (root / "profiles" / f"{name}.yaml").read_text(encoding="utf-8") == text


def test_the_example_holds_a_configuration_and_memory_files():
    files = resources.example_files()
    assert list(files) == sorted(files)
    assert "catmem.yaml" in files
    assert any(name.endswith("USER.md") for name in files)


def test_files_below_a_folder(tmp_path):
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "x.md").write_bytes(b"\xff\r\n")
    (tmp_path / "a").write_bytes(b"")
    assert list(resources.files_below(tmp_path).items()) == [("a", b""), ("b/c/x.md", b"\xff\r\n")]


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
