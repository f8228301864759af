"""Keys of agents: where they are, who may read them, and which counts."""

import os
import stat

import pytest

from catmem.config.config import load_config
from catmem.envelopes.agents import (
    keys_folder,
    list_keys,
    new_key,
    remove_keys,
    signing_key,
)
from catmem.errors import UnknownNameError
from catmem.jsonable import jsonable
from tests.envelopes import make_files
from tests.refusals import refusal
from tests.together import together

SECRET = "ab" * 32


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def config(home):
    make_files(home / "root", "agents: {planner: neo}\n")
    return load_config(home / "root")


def test_a_new_key_is_for_its_owner_alone_shows_no_secret_and_is_of_one_root(config, home):
    key = new_key(config, "neo")
    assert stat.S_IMODE(key.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.path.parent.stat().st_mode) == 0o700
    assert len(key.secret) == 32
    assert config.root not in key.path.parents
    assert key.secret.hex() not in f"{key!r} {jsonable(key)}"
    make_files(home / "elsewhere" / "root")
    assert keys_folder(config) != keys_folder(load_config(home / "elsewhere" / "root"))


def test_rotation(config):
    first, second = new_key(config, "neo"), new_key(config, "neo")
    assert first.key_id != second.key_id
    assert [key.key_id for key in list_keys(config, "neo")] == sorted([first.key_id, second.key_id])
    assert signing_key(config, "neo").secret == second.secret
    assert [key.key_id for key in remove_keys(config, "neo", first.key_id)] == [first.key_id]
    assert [key.secret for key in list_keys(config, "neo")] == [second.secret]


@together(
    ("agent", "code"), [("nobody", "unknown_name"), ("../neo", "bad_name"), ("Neo", "bad_name"), ("", "bad_name")]
)
def test_who_cannot(config, agent, code):
    refusal(code, new_key, config, agent)
    assert not keys_folder(config).exists()


def moved_behind_a_link(path):
    path.rename(path.parent.parent / "moved")
    path.symlink_to(path.parent.parent / "moved")


def a_pipe(path):
    path.unlink()
    os.mkfifo(path, 0o600)


SPOILS = {
    "a mode": lambda path: path.chmod(0o640),
    "the mode of the folder": lambda path: path.parent.chmod(0o777),
    "a link": moved_behind_a_link,
    "a pipe": a_pipe,
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
@pytest.mark.parametrize("asked", ["neo", "boss"])
def test_keys_that_others_could_read_or_replace_are_not_used(config, spoil, asked):
    spoil(new_key(config, "neo").path)
    refusal("unsafe_key", list_keys, config, asked)


@pytest.mark.parametrize("text", ["", "ab", "zz" * 32, SECRET + "x", "ab" * 3000])
def test_what_is_no_key(config, text):
    new_key(config, "neo").path.write_text(text, encoding="ascii")
    caught = refusal("bad_key", list_keys, config, "neo")
    assert len(text) < 64 or text not in str(caught)


@pytest.mark.parametrize(
    ("where", "git"), [("root/keys", None), ("root", None), ("tree/keys", "tree"), ("root/../root/keys", None)]
)
def test_keys_are_not_kept_where_copies_of_the_root_carry_them(home, where, git):
    root = home / "tree" / "root" if git else home / "root"
    make_files(root, f"signing: {{keys: {home / where}}}\n")
    if git:
        (home / git / ".git").mkdir()
    config = load_config(root)
    refusal("keys_inside", new_key, config, "neo")


def test_removing(config):
    with pytest.raises(UnknownNameError, match="neo has no key"):
        remove_keys(config, "neo")
    new_key(config, "neo"), new_key(config, "neo"), new_key(config, "boss")
    refusal("unknown_key", remove_keys, config, "neo", "nothing")
    assert len(remove_keys(config, "neo")) == 2
    assert [key.agent for key in list_keys(config)] == ["boss"]
