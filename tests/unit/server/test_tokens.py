"""Tokens: what is kept of them, who may have which, and how they go."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from catmem.envelopes.tokens import Tokens, new_token, read_tokens, remove_tokens, tokens_file
from catmem.errors import ConfigError, UnknownNameError, UnreadableError
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import error_of, run_json
from tests.golden.case import put
from tests.together import together

CONFIG = "agents: {planner: neo}\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    put(tmp_path / "root" / "catmem.yaml", CONFIG)
    for name in ("neo", "trinity"):
        put(tmp_path / "root" / "profiles" / f"{name}.yaml", "{}\n")
    return tmp_path / "root"


@pytest.fixture
def config(root):
    return Workspace.open(root, search=False).config


@pytest.fixture
def path(config):
    return tokens_file(config)


def asked(text, *more):
    """The scope of a request with this token."""
    return {"headers": [(b"authorization", f"Bearer {text}".encode()), *more]}


# --- what is kept --------------------------------------------------------------------------------------------------


def test_a_token_is_kept_as_its_digest_in_a_file_of_its_owner_alone_whatever_the_mask_of_the_process(config, path):
    before = os.umask(0)
    try:
        _, text = new_token(config, path, "neo")
    finally:
        os.umask(before)
    assert text not in path.read_text()
    assert text.split("_", 2)[2] not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_tokens_that_are_made_at_once_are_all_kept_and_no_two_are_alike(config, path):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_token(config, path, "neo"), range(40)))
    assert len({text for _, text in made}) == len({token.token_id for token, _ in made}) == 40
    assert {token.token_id for token in read_tokens(path)} == {token.token_id for token, _ in made}


# --- where ---------------------------------------------------------------------------------------------------------


@together("place", ["tokens.json", ".catmem/tokens.json", "homes/../tokens.json"])
def test_no_file_in_the_root_is_taken(root, place):
    assert error_of("token", "new", "neo", "--tokens", root / place, "--root", root)["code"] == "tokens_inside"
    assert not (root / place).exists()


def test_no_file_in_the_working_tree_of_git_is_taken(root):
    (root.parent / ".git").mkdir()
    error = error_of("token", "new", "neo", "--tokens", root.parent / "tokens.json", "--root", root)
    assert error["code"] == "tokens_inside"


# --- whose ---------------------------------------------------------------------------------------------------------


@together(
    ("label", "choices", "who"),
    [
        ("neo", {}, ("neo", "neo", "write")),
        ("planner", {}, ("planner", "neo", "write")),
        ("neo", {"scope": "read"}, ("neo", "neo", "read")),
        ("anna", {"person": True}, ("person", None, "write")),
        ("anna", {"person": True, "scope": "read"}, ("person", None, "read")),
        ("prometheus", {"scope": "metrics"}, ("prometheus", None, "metrics")),
        ("neo", {"scope": "metrics"}, ("neo", None, "metrics")),
    ],
)
def test_whose_a_token_is(config, path, label, choices, who):
    token, text = new_token(config, path, label, **choices)
    caller = Tokens(path).identify(asked(text))
    assert (caller.agent, caller.profile, caller.scope) == who
    assert caller.label == token.label == label
    assert caller.is_person == (choices.get("person", False))


@together(
    ("label", "choices", "code"),
    [
        ("nemo", {}, "unknown_name"),
        ("../neo", {}, "bad_name"),
        ("Neo", {"person": True}, "bad_name"),
        ("", {"scope": "metrics"}, "bad_name"),
        ("neo\n", {}, "bad_name"),
    ],
)
def test_a_token_for_nobody_is_not_made(config, path, label, choices, code):
    with pytest.raises(ConfigError) as caught:
        new_token(config, path, label, **choices)
    assert caught.value.code == code
    assert not path.exists()


def test_any_other_text_is_no_token(config, path):
    _, text = new_token(config, path, "neo")
    tokens = Tokens(path)
    assert tokens.find(text) is not None
    for other in (text[:-1], f"{text}A", text.upper(), text.replace("catmem_", ""), f" {text} x", "", "\0"):
        assert tokens.find(other) is None
    for place in range(len("catmem_"), len(text)):
        changed = text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :]
        assert tokens.find(changed) is None


def test_one_header_is_looked_at_and_no_more(config, path):
    _, text = new_token(config, path, "neo")
    tokens = Tokens(path)
    assert tokens.identify(asked(text)) is not None
    assert tokens.identify(asked(text, (b"authorization", b"Bearer x"))) is None
    assert tokens.identify({"headers": []}) is None


# --- how they go ---------------------------------------------------------------------------------------------------


def test_a_token_that_was_removed_is_good_no_more_at_once_nor_any_when_the_file_is_gone(config, path):
    first, text = new_token(config, path, "neo")
    tokens = Tokens(path)
    _, second = new_token(config, path, "neo")
    assert tokens.find(text)
    assert tokens.find(second)
    assert remove_tokens(path, "neo", first.token_id) == [first]
    assert tokens.find(text) is None
    assert tokens.find(second)
    path.unlink()
    assert tokens.find(second) is None


def test_without_an_id_all_tokens_of_a_label_go(config, path):
    new_token(config, path, "neo")
    new_token(config, path, "neo")
    assert len(remove_tokens(path, "neo")) == 2
    with pytest.raises(UnknownNameError) as caught:
        remove_tokens(path, "neo")
    assert caught.value.code == "unknown_token"
    assert caught.value.hint == "'catmem token list' lists all tokens."  # others may have some


# --- what cannot be trusted ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602, 0o660])
def test_a_file_that_others_reach_is_not_used(config, path, mode):
    new_token(config, path, "neo")
    path.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        Tokens(path)
    assert caught.value.code == "unsafe_tokens"


def test_a_link_is_not_followed(config, path):
    new_token(config, path, "neo")
    elsewhere = path.with_name("elsewhere.json")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(UnreadableError):
        read_tokens(path)


def test_something_that_is_no_file_is_not_read(path):
    path.parent.mkdir(parents=True, mode=0o700)
    os.mkfifo(path, 0o600)
    with pytest.raises(ConfigError) as caught:
        read_tokens(path)
    assert caught.value.code == "unsafe_tokens"


def test_a_folder_that_others_may_write_to_is_not_written(config, path):
    path.parent.mkdir(parents=True)
    path.parent.chmod(0o777)
    with pytest.raises(ConfigError) as caught:
        new_token(config, path, "neo")
    assert caught.value.code == "unsafe_tokens"
    assert not path.exists()


GOOD = {"token_id": "0" * 12, "label": "neo", "profile": "neo", "scope": "write", "created": "x", "sha256": "0" * 64}
DAMAGED = {
    "empty": "",
    "cut": '{"version": 1, "tokens": [',
    "no object": "[]",
    "another version": json.dumps({"version": 2, "tokens": []}),
    "no version": json.dumps({"tokens": []}),
    "a field too few": json.dumps({"version": 1, "tokens": [{"label": "neo"}]}),
    "a field too many": json.dumps({"version": 1, "tokens": [{**GOOD, "admin": True}]}),
    "another scope": json.dumps({"version": 1, "tokens": [{**GOOD, "scope": "all"}]}),
    "no digest": json.dumps({"version": 1, "tokens": [{**GOOD, "sha256": ""}]}),
    "a number for a name": json.dumps({"version": 1, "tokens": [{**GOOD, "label": 5}]}),
    "an id twice": json.dumps({"version": 1, "tokens": [GOOD, GOOD]}),
    "not UTF-8": b"\xff\xfe\x00",
    "deep": "[" * 100_000,
}


@together("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_told_and_never_taken_for_an_empty_one(config, path, text):
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    before = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(before)
    path.chmod(0o600)
    for call in (lambda: Tokens(path), lambda: new_token(config, path, "neo")):
        with pytest.raises(ConfigError) as caught:
            call()
        assert caught.value.code == "bad_tokens"
    assert path.read_bytes() == before


# --- the command ---------------------------------------------------------------------------------------------------


def test_new_list_and_remove_as_json(root, path):
    made = run_json("token", "new", "anna", "--person", "--root", root)
    assert made["path"] == str(path)
    assert (made["label"], made["profile"], made["scope"]) == ("anna", None, "write")
    listed = run_json("token", "list", "--root", root)
    assert [token["token_id"] for token in listed["tokens"]] == [made["token_id"]]
    assert made["token"] not in str(listed)
    assert "sha256" not in str(listed)
    assert run_json("token", "remove", "anna", "--root", root)["removed"] == listed["tokens"]
    assert run_json("token", "list", "--root", root)["tokens"] == []


def test_tokens_need_no_library_of_the_server(root):
    code = "import sys\nfrom catmem.cli.main import group\ntry: group(['token', 'list', '--root', sys.argv[1]])\nexcept SystemExit: pass\nprint(sorted(m for m in ('starlette', 'uvicorn') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
