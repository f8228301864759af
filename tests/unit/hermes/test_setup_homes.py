"""Which homes of Hermes Agent there are, and what their config.yaml says."""

import pytest

from catmem.errors import CatmemError
from catmem.plugins.hermes.homes import find_home, read_config
from tests.unit.hermes.homes import make_homes


def test_the_home_is_the_named_one_else_that_of_the_environment_else_the_usual_one(tmp_path, monkeypatch):
    for name in ("named", "environment", ".hermes"):
        make_homes(tmp_path / name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "environment"))
    assert find_home(str(tmp_path / "named")).path.name == "named"
    assert find_home().path.name == "environment"
    monkeypatch.delenv("HERMES_HOME")
    assert find_home().path.name == ".hermes"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ("", True, True, 1375)),
        ("memory:\n", ("", True, True, 1375)),
        ("memory: {provider: built-in}\n", ("", True, True, 1375)),
        ("memory: {provider: mem0, memory_enabled: false, user_char_limit: 900}", ("mem0", True, False, 900)),
        ("memory: {user_profile_enabled: false, user_char_limit: many}", ("", False, True, 1375)),
        ("memory: {user_char_limit: 500.0}", ("", True, True, 500)),
        ("memory: {user_char_limit: 500.9}", ("", True, True, 500)),
        ("memory: {user_char_limit: .inf}", ("", True, True, 1375)),
        ("memory: {user_char_limit: .nan}", ("", True, True, 1375)),
    ],
)
def test_what_a_configuration_says_of_memory(tmp_path, text, said):
    config = read_config(make_homes(tmp_path, config=text)["default"])
    assert (config.provider, config.shows("user"), config.shows("memory"), config.limit("user")) == said


@pytest.mark.parametrize("data", [b"a: [\n", b"- a\n", b"memory: [a]\n", b"\xff\n"])
def test_a_configuration_that_cannot_be_read_names_its_file(tmp_path, data):
    home = make_homes(tmp_path)["default"]
    home.config.write_bytes(data)
    with pytest.raises(CatmemError) as caught:
        read_config(home)
    assert caught.value.code in {"hermes_config", "not_utf8"}
    assert caught.value.path == str(home.config)
