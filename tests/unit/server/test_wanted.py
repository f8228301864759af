"""A root that has had tokens is not served without them just because they are not found."""

import json
import shutil
import stat

import pytest

import catmem.cli.servers
from catmem.envelopes.tokens import MARK, new_token, read_tokens, remember_tokens, tokens_file, why_wanted
from catmem.errors import ConfigError, UnreadableError
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import error_of, run, run_json
from tests.golden.case import put

STORES = {"files": "", "sqlite": "store: sqlite:///.catmem/memory.db\n"}


@pytest.fixture(params=STORES.values(), ids=STORES)
def root(request, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    put(tmp_path / "root" / "catmem.yaml", f"version: 1\n{request.param}")
    put(tmp_path / "root" / "profiles" / "neo.yaml", "{}\n")
    return tmp_path / "root"


def settings_of(root, **choices):
    config = Workspace.open(root, search=False).config
    return catmem.cli.servers._settings(config, "127.0.0.1", None, (), page=True, **choices)


def refusal_of(root, **choices):
    with pytest.raises(ConfigError) as caught:
        settings_of(root, **choices)
    assert caught.value.code == "no_tokens"
    return caught.value


def say(root, said):
    path = root / "catmem.yaml"
    path.write_text(f"{path.read_text()}server: {said}\n")


def of_another_user(root, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root.parent / "another"))
    return root


def without_its_file(root, _):
    tokens_file(Workspace.open(root, search=False).config).unlink()
    return root


LOST = {
    "moved": lambda root, _: root.rename(root.with_name("elsewhere")),
    "copied": lambda root, _: shutil.copytree(root, root.with_name("elsewhere")),
    "of another user": of_another_user,
    "without its file": without_its_file,
}


@pytest.mark.parametrize("lose", LOST.values(), ids=LOST)
def test_where_its_tokens_are_not_found_it_is_not_served_and_the_list_and_the_doctor_say_so(root, monkeypatch, lose):
    kept = run_json("token", "new", "neo", "--root", root)["path"]
    assert run_json("token", "list", "--root", root)["wanted"] is None
    assert run_json("doctor", "--root", root)["tokens"]["count"] == 1
    root = lose(root, monkeypatch)
    looked = tokens_file(Workspace.open(root, search=False).config)
    error = error_of("serve", "--port", "0", "--root", root)
    assert error["code"] == "no_tokens"
    assert str(looked) in error["message"]
    assert kept in error["message"]
    for way_out in ("--tokens FILE", "catmem token new", "--no-tokens"):
        assert way_out in error["hint"]
    listed = run("token", "list", "--root", root)
    assert (listed.stdout, "This root wants tokens: it had some" in listed.stderr) == ("", True)
    assert "'catmem serve' will not start" in listed.stderr
    assert "it had some" in run_json("token", "list", "--root", root)["wanted"]
    said = run_json("doctor", "--root", root)["tokens"]
    assert (said["count"], "it had some" in said["wanted"]) == (0, True)
    assert "tokens: none in " in run("doctor", "--root", root).stdout


def test_tokens_that_are_named_or_made_anew_serve_it(root):
    kept = run_json("token", "new", "neo", "--root", root)["path"]
    root = root.rename(root.with_name("elsewhere"))
    config = Workspace.open(root, search=False).config
    named = catmem.cli.servers._settings(config, "127.0.0.1", kept, (), page=True)
    assert str(named.tokens) == kept
    made = run_json("token", "new", "neo", "--root", root)["path"]
    assert str(settings_of(root).tokens) == made != kept


def test_a_root_that_never_had_tokens_is_served_without(root):
    assert settings_of(root).tokens is None
    assert not (root / ".catmem" / MARK).exists()
    assert "takes every caller" in run("doctor", "--root", root).stdout


def test_the_last_token_that_goes_opens_nothing(root):
    run("token", "new", "neo", "--root", root)
    run("token", "new", "anna", "--person", "--root", root)
    assert "will not start" not in run("token", "remove", "neo", "--root", root).stderr
    assert (
        "That was the last one. 'catmem serve' will not start" in run("token", "remove", "anna", "--root", root).stderr
    )
    assert "the last was removed" in refusal_of(root).message


def test_a_server_that_finds_tokens_has_the_root_remember(root):
    run("token", "new", "neo", "--root", root)
    (root / ".catmem" / MARK).unlink()  # as of a root of an older catmem
    settings_of(root)
    assert (root / ".catmem" / MARK).exists()


# --- to serve without, on purpose ----------------------------------------------------------------------------------


def test_others_are_never_reached_without(root):
    run("token", "new", "neo", "--root", root)
    error = error_of("serve", "--no-tokens", "--host", "0.0.0.0", "--root", root)  # noqa: S104 - refused
    assert error["code"] == "no_tokens"


# --- what the configuration demands --------------------------------------------------------------------------------


def test_a_root_that_requires_tokens_is_never_served_without(root):
    say(root, "{require_tokens: true}")
    for refused in (refusal_of(root), refusal_of(root, no_tokens=True)):
        assert "server.require_tokens" in refused.message
        assert "--no-tokens" not in refused.hint
    run("token", "new", "neo", "--root", root)
    assert settings_of(root).tokens is not None


# --- the mark ------------------------------------------------------------------------------------------------------


def test_the_mark_holds_nothing_of_a_token(root):
    made = run_json("token", "new", "neo", "--root", root)
    mark = root / ".catmem" / MARK
    assert json.loads(mark.read_text()) == {"version": 1, "kept": made["path"]}
    assert stat.S_IMODE(mark.parent.stat().st_mode) == 0o700
    assert not [each for each in mark.parent.iterdir() if each.name.endswith(".new")]


BROKEN = {
    "empty": lambda mark: mark.write_bytes(b""),
    "cut": lambda mark: mark.write_bytes(b'{"version'),
    "no object": lambda mark: mark.write_bytes(b"[]"),
    "not UTF-8": lambda mark: mark.write_bytes(b"\xff\xfe\x00"),
    "deep": lambda mark: mark.write_bytes(b"[" * 10_000),
    "large": lambda mark: mark.write_bytes(b" " * (1 << 15)),
    "a folder": lambda mark: mark.mkdir(),
    "a link to nothing": lambda mark: mark.symlink_to("nowhere"),
}


@pytest.mark.parametrize("make", BROKEN.values(), ids=BROKEN)
def test_a_mark_that_says_nothing_counts_all_the_same(root, make):
    mark = root / ".catmem" / MARK
    mark.parent.mkdir(exist_ok=True)
    make(mark)
    assert "it had some" in refusal_of(root).message


def test_a_mark_that_nobody_can_look_for_counts_as_one(root):
    put(root / ".catmem", "a file, where the folder should be")
    config = Workspace.open(root, search=False).config
    assert "it is unknown whether it had some" in why_wanted(config, root.parent / "none.json")


def test_no_token_is_made_that_the_root_would_not_remember(root, tmp_path):
    put(root / ".catmem", "a file, where the folder should be")
    config = Workspace.open(root, search=False).config
    path = tmp_path / "kept" / "tokens.json"
    with pytest.raises(UnreadableError) as caught:
        new_token(config, path, "neo")
    assert (caught.value.code, "require_tokens" in caught.value.hint) == ("not_writable", True)
    assert read_tokens(path) == []
    say(root, "{require_tokens: true}")
    new_token(Workspace.open(root, search=False).config, path, "neo")
    assert len(read_tokens(path)) == 1


def test_the_mark_follows_no_link(root, tmp_path):
    (tmp_path / "outside").mkdir()
    (root / ".catmem").symlink_to(tmp_path / "outside")
    with pytest.raises(UnreadableError):
        remember_tokens(Workspace.open(root, search=False).config, tmp_path / "tokens.json")
    assert list((tmp_path / "outside").iterdir()) == []
