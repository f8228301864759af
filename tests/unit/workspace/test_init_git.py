"""What ``catmem init --git`` writes."""

import os
import shutil
import subprocess

import pytest

from catmem.errors import ConfigError, UnreadableError
from catmem.workspace.init import CONFIG, find_repository, set_up_git
from tests.golden.case import put

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="NOT TESTED: git is not installed on this machine")

LINES = (
    "USER.md merge=catmem diff=catmem",
    "MEMORY.md merge=catmem diff=catmem",
    "catmem.seed.lock merge=catmem",
)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    return tmp_path


def setting(folder, key):
    done = subprocess.run(
        ["git", "-C", folder, "config", "--local", "--get", key], check=True, capture_output=True, text=True
    )
    return done.stdout.rstrip("\n")


def test_lines_and_settings(repository):
    made = set_up_git(repository)
    assert (made.attributes, made.warnings) == (LINES, ())
    assert made.config == tuple(f"{key} = {value}" for key, value in CONFIG.items())
    assert (repository / ".gitattributes").read_text() == "".join(f"{line}\n" for line in LINES)
    assert {key: setting(repository, key) for key in CONFIG} == CONFIG


def test_twice_changes_nothing(repository):
    set_up_git(repository)
    before = (repository / ".gitattributes").read_bytes(), (repository / ".git" / "config").read_bytes()
    again = set_up_git(repository)
    assert (again.attributes, again.config, again.warnings) == ((), (), ())
    assert ((repository / ".gitattributes").read_bytes(), (repository / ".git" / "config").read_bytes()) == before


def test_a_root_below_the_top_has_lines_of_its_own(repository):
    (repository / "memory").mkdir()
    made = set_up_git(repository / "memory")
    assert (made.repository.resolve(), made.attributes) == (repository.resolve(), LINES)
    assert not (repository / ".gitattributes").exists()
    assert (repository / "memory" / ".gitattributes").exists()


@pytest.mark.parametrize(
    "present", ["*.png binary", "*.png binary\n", "USER.md merge=union\n", "USER.md  merge=catmem diff=catmem\n"]
)
def test_lines_that_are_there_stay(repository, present):
    put(repository / ".gitattributes", present)
    made = set_up_git(repository)
    assert made.warnings == ()
    assert (repository / ".gitattributes").read_text() == present.rstrip("\n") + "\n" + "".join(
        f"{line}\n" for line in made.attributes
    )


def test_a_setting_of_somebody_else_stays_and_is_told(repository):
    subprocess.run(["git", "-C", repository, "config", "merge.catmem.driver", "mine %A"], check=True)
    made = set_up_git(repository)
    assert setting(repository, "merge.catmem.driver") == "mine %A"
    assert ["merge.catmem.driver is 'mine %A'" in warning for warning in made.warnings] == [True]


def test_no_catmem_on_path_is_told(repository, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (warning,) = set_up_git(repository).warnings
    assert "no catmem on PATH" in warning


def test_no_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for folder in (tmp_path, tmp_path / "not" / "there"):
        with pytest.raises(ConfigError) as caught:
            set_up_git(folder)
        assert (caught.value.code, caught.value.path) == ("no_repository", str(folder))
    assert not list(tmp_path.iterdir())


def test_no_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError) as caught:
        find_repository(tmp_path)
    assert caught.value.code == "no_git"


@pytest.fixture
def program(tmp_path_factory):
    """A program that leaves a mark when it is run."""
    folder = tmp_path_factory.mktemp("program")
    path = put(folder / "run.sh", f"#!/bin/sh\ntouch '{folder}/ran'\n")
    path.chmod(0o755)
    return path


def git(folder, *arguments):
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)


def index_of(repository):
    put(repository / "USER.md", "x\n")
    git(repository, "add", "USER.md")


def watcher(repository, program):
    index_of(repository)
    git(repository, "config", "core.fsmonitor", str(program))


def hooks(repository, program):
    index_of(repository)
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"):
        shutil.copy(program, put(repository / "hooks" / name, ""))
    git(repository, "config", "core.hooksPath", str(repository / "hooks"))
    git(repository, "config", "core.fsmonitor", str(repository / "hooks" / "fsmonitor-watchman"))


def other_programs(repository, program):
    index_of(repository)
    put(repository / ".gitattributes", "* filter=x diff=x merge=x\n")
    for key in (
        "core.pager", "core.sshCommand", "core.editor", "core.gitProxy", "core.askPass", "diff.external",
        "diff.x.command", "diff.x.textconv", "merge.x.driver", "filter.x.clean", "filter.x.smudge", "filter.x.process",
        "credential.helper", "gpg.program", "sequence.editor",
    ):  # fmt: skip
        git(repository, "config", key, str(program))
    for command in ("config", "check-attr", "rev-parse"):
        git(repository, "config", f"pager.{command}", "true")
        git(repository, "config", f"alias.{command}", f"!{program}")


def partial_clone(url, *settings):
    def make(repository, program):
        for key, value in [
            ("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"), ("remote.origin.url", url.format(program=program)),
            ("remote.origin.uploadpack", str(program)), ("core.sshCommand", str(program)), *settings,
        ]:  # fmt: skip
            git(repository, "config", key, value)
        # Attributes that lie in the index alone, and not among the objects that are there.
        git(repository, "update-index", "--add", "--cacheinfo", f"100644,{'1' * 40},.gitattributes")

    return make


@pytest.mark.parametrize(
    "configure",
    [
        watcher,
        hooks,
        other_programs,
        partial_clone("/"),
        partial_clone("ssh://example.org/x"),
        partial_clone("ext::{program}", ("protocol.ext.allow", "always")),
    ],
    ids=["watcher", "hooks", "others", "clone of a folder", "clone by ssh", "clone by a program"],
)
def test_no_program_that_the_repository_names_is_run(repository, program, configure):
    configure(repository, program)
    program.with_name("ran").unlink(missing_ok=True)
    (repository / "sub").mkdir()
    set_up_git(repository / "sub")
    assert not program.with_name("ran").exists()


def test_a_linked_file_is_not_written_through(repository):
    outside = put(repository / "elsewhere", "mine\n")
    (repository / ".gitattributes").symlink_to(outside)
    with pytest.raises(UnreadableError) as caught:
        set_up_git(repository)
    assert caught.value.code == "symlink"
    assert outside.read_text() == "mine\n"


def test_a_configuration_that_git_cannot_write_is_told(repository):
    put(repository / ".git" / "config.lock", "")
    with pytest.raises(ConfigError) as caught:
        set_up_git(repository)
    assert caught.value.code == "git"
    assert not (repository / ".gitattributes").exists()
