"""Making a root: nothing that exists is changed, but for lines added to a .gitignore; and what ``init --git`` writes."""

import errno
import os
import re
import shutil
import subprocess
from datetime import date, timedelta
from pathlib import Path

import pytest

from catmem.config.config import load_config
from catmem.config.profile import HERMES_LIMITS
from catmem.errors import UnreadableError
from catmem.workspace.init import CONFIG, find_repository, make_root, set_up_git
from catmem.workspace.workspace import Workspace
from tests.golden.case import contents, put
from tests.refusals import refusal
from tests.together import together


def test_a_root_and_what_is_in_it(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    made = make_root(tmp_path / "link" / "b")
    assert made.written == (
        "catmem.yaml", "homes/orchestrator/USER.md", "profiles/orchestrator.yaml", ".gitignore",
    )  # fmt: skip
    assert made.kept == ()
    assert set(contents(made.root)) == set(made.written)
    assert list(Workspace.open(made.root).profiles()) == ["orchestrator"]
    assert (tmp_path / "a" / "b" / ".gitignore").read_text() == ".catmem/\n*.bak.*\n"


def test_after_a_stop_between_any_two_files_it_goes_on(tmp_path, monkeypatch):
    whole = contents(make_root(tmp_path / "whole", profiles=["coder"]).root)
    link = os.link
    for number in range(len(whole) - 1):
        place, made = tmp_path / f"stopped-{number}", []

        def stopped(new, path, at=number, made=made):
            if len(made) == at:
                raise KeyboardInterrupt
            made.append(path)
            link(new, path)

        monkeypatch.setattr(os, "link", stopped)
        with pytest.raises(KeyboardInterrupt):
            make_root(place, profiles=["coder"])
        monkeypatch.setattr(os, "link", link)
        make_root(place, profiles=["coder"])
        assert contents(place) == whole


@pytest.mark.parametrize("has_links", [True, False])
def test_twice_is_harmless(tmp_path, monkeypatch, has_links):
    def no_link(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if not has_links:
        monkeypatch.setattr(os, "link", no_link)
    first = make_root(tmp_path, example=True)
    before = contents(tmp_path)
    assert set(before) == set(first.written)
    second = make_root(tmp_path, example=True)
    assert second.written == ()
    assert {*second.kept, ".gitignore"} == set(first.written)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["catmem.yaml", "profiles/orchestrator.yaml"])
def test_nothing_is_overwritten_and_then_nothing_is_written(tmp_path, name):
    put(tmp_path / name, "mine")
    assert refusal("would_overwrite", make_root, tmp_path, example=True).paths == (name,)
    assert contents(tmp_path) == {name: b"mine"}
    # A folder and a dangling link are in the way too.
    other = tmp_path / "other"
    (other / name).mkdir(parents=True)
    assert refusal("would_overwrite", make_root, other).paths == (name,)
    (other / name).rmdir()
    (other / name).symlink_to(tmp_path / "nowhere")
    refusal("would_overwrite", make_root, other)
    assert not (tmp_path / "nowhere").exists()


@together(
    ("before", "after"),
    [
        (b"*.pyc\n", b"*.pyc\n.catmem/\n*.bak.*\n"),
        (b"*.pyc", b"*.pyc\n.catmem/\n*.bak.*\n"),
        (b"", b".catmem/\n*.bak.*\n"),
        (b"*.bak.*\n", b"*.bak.*\n.catmem/\n"),
        (b"*.bak.*\r\n.catmem/\r\n", b"*.bak.*\r\n.catmem/\r\n"),
        (b"caf\xe9\n", b"caf\xe9\n.catmem/\n*.bak.*\n"),
        (b"# .catmem/\n", b"# .catmem/\n.catmem/\n*.bak.*\n"),
    ],
)
def test_lines_are_added_to_a_gitignore_that_is_there(tmp_path, before, after):
    put(tmp_path / ".gitignore", before)
    for _ in range(2):
        make_root(tmp_path)
        assert (tmp_path / ".gitignore").read_bytes() == after


def make_link(path):
    path.symlink_to(put(path.parent.with_name("outside") / "precious", "mine\n"))


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, make_link])
def test_a_gitignore_that_is_no_file_stops_it_before_anything_is_written(tmp_path, make):
    (tmp_path / "root").mkdir()
    make(tmp_path / "root" / ".gitignore")
    with pytest.raises(UnreadableError):
        make_root(tmp_path / "root")
    assert [path.name for path in (tmp_path / "root").iterdir()] == [".gitignore"]
    assert [path.read_text() for path in tmp_path.glob("outside/*")] == ["mine\n"] * (make is make_link)


def test_a_folder_that_cannot_be_written(tmp_path):
    file = put(tmp_path / "file", "mine")
    for folder in (file / "below", file):
        with pytest.raises(UnreadableError):
            make_root(folder)
    assert contents(tmp_path) == {"file": b"mine"}
    profiles = put(tmp_path / "root" / "profiles", "mine")  # where their folder should be
    with pytest.raises(UnreadableError):
        make_root(tmp_path / "root")
    assert profiles.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write(tmp_path):
    tmp_path.chmod(0o500)
    try:
        refusal("not_writable", make_root, tmp_path)
    finally:
        tmp_path.chmod(0o700)
    assert not list(tmp_path.iterdir())


def test_the_pages_that_the_configuration_names_exist(tmp_path):
    said = (make_root(tmp_path).root / "catmem.yaml").read_text()
    pages = re.findall(r"docs/\w+\.md", said)
    assert pages
    docs = Path(__file__).parents[3]
    assert all("## catmem.yaml" in (docs / page).read_text() for page in pages)


@pytest.mark.parametrize(
    ("name", "example", "there"), [("profiles", False, True), ("homes", False, False), ("homes/neo", True, True)]
)
def test_a_linked_folder_is_not_written_through(tmp_path, tmp_path_factory, name, example, there):
    outside = tmp_path_factory.mktemp("outside")
    link = tmp_path / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside if there else outside / "nowhere")
    caught = refusal("symlink", make_root, tmp_path, example=example)
    assert caught.path == str(link)
    assert "Nothing was written" in caught.hint
    assert not list(outside.iterdir())
    assert contents(tmp_path) == {}


def test_a_new_root_says_how_long_a_verification_lasts(tmp_path):
    make_root(tmp_path)
    workspace = Workspace.open(tmp_path)
    day = date(2026, 1, 1)
    lasting = [({"domain": "code"}, "projects", 1), ({}, "projects", 14), ({"domain": "preference"}, "communication-style", 90),
               ({"domain": "identity"}, "working-relationship", 365)]  # fmt: skip
    for tags, category, last in lasting:
        dated = {**tags, "verified_date": day.isoformat()}
        workspace.add("orchestrator", f"for {last} days", category=category, tags=dated)
    for _, _, last in lasting:
        for age, state in ((last, "fresh"), (last + 1, "stale")):
            listed = {each.entry.body: each for each in workspace.list("orchestrator", as_of=day + timedelta(age))}
            assert listed[f"for {last} days"].freshness.state == state
    workspace.store.close()


def test_a_file_over_the_limit_of_hermes_agent_leaves_it_out(tmp_path):
    start = put(tmp_path / "notes" / "USER.md", "é\r\n" * (HERMES_LIMITS["user"] // 3 + 2))
    (said,) = make_root(tmp_path / "root", start=[start]).notes
    assert said.startswith("homes/orchestrator/USER.md has 1,378 characters")
    assert "so catmem.yaml sets no limit for user" in said


@pytest.mark.parametrize(("size", "limits"), [(1_466, HERMES_LIMITS), (1_467, {"user": HERMES_LIMITS["user"]})])
def test_a_file_with_two_thirds_of_the_limit_has_room_to_be_sorted(tmp_path, size, limits):
    start = put(tmp_path / "notes" / "MEMORY.md", "x" * size)
    made = make_root(tmp_path / "root", start=[start])
    assert load_config(made.root).limits == limits
    assert [each.split(",")[0] for each in made.notes] == (
        [] if limits == HERMES_LIMITS else ["homes/orchestrator/MEMORY.md has 1"]
    )


# --- ``init --git`` ---------------------------------------------------------------------------------------------------

NO_GIT = "NOT TESTED: git is not installed on this machine"
LINES = (
    "USER.md merge=catmem diff=catmem",
    "MEMORY.md merge=catmem diff=catmem",
    "catmem.seed.lock merge=catmem",
)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    if shutil.which("git") is None:
        pytest.skip(NO_GIT)
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


def test_lines_and_settings_once(repository):
    made = set_up_git(repository)
    assert (made.attributes, made.warnings) == (LINES, ())
    assert made.config == tuple(f"{key} = {value}" for key, value in CONFIG.items())
    assert (repository / ".gitattributes").read_text() == "".join(f"{line}\n" for line in LINES)
    assert {key: setting(repository, key) for key in CONFIG} == CONFIG
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


@pytest.mark.skipif(shutil.which("git") is None, reason=NO_GIT)
def test_no_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for folder in (tmp_path, tmp_path / "not" / "there"):
        assert refusal("no_repository", set_up_git, folder).path == str(folder)
    assert not list(tmp_path.iterdir())


def test_no_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    refusal("no_git", find_repository, tmp_path)


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
    refusal("symlink", set_up_git, repository)
    assert outside.read_text() == "mine\n"


def test_a_configuration_that_git_cannot_write_is_told(repository):
    put(repository / ".git" / "config.lock", "")
    refusal("git", set_up_git, repository)
    assert not (repository / ".gitattributes").exists()
