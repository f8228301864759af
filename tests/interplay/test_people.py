"""People and their programs write to a file that catmem writes to: nothing is lost, and nobody is in the way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from catmem.errors import DriftError
from catmem.jsonable import jsonable
from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from catmem.store.files.publication import Publication
from tests.interplay.conftest import TEXT, backups, bodies, history, run
from tests.merges import merge_appended

TRUNCATE_AND_WRITE = "import sys; f = open(sys.argv[1], 'r+b'); f.truncate(); f.write(sys.argv[2].encode()); f.close()"
"""What Visual Studio Code does when it saves: the same file, cut and written anew."""


@pytest.fixture
def edits(program, file):
    """Ways in which a person puts a line at the end of the file."""

    def vim(line):
        run(program("vim"), "-es", "-u", "NONE", "-c", f"normal Go{line}", "-c", "wq", file)

    def vim_over_a_rename(line):
        run(program("vim"), "-es", "-u", "NONE", "-c", "set backupcopy=no", "-c", f"normal Go{line}", "-c", "wq", file)

    def sed(line):
        run(program("sed"), "-i", f"$ a {line}", file)

    def code(line):
        run(sys.executable, "-c", TRUNCATE_AND_WRITE, file, f"{file.read_text()}{line}\n")

    def echo(line):
        run("sh", "-c", f'printf "%s\\n" "{line}" >> "$1"', "sh", file)

    return {edit.__name__: edit for edit in (vim, vim_over_a_rename, sed, code, echo)}


EDITORS = ["vim", "vim_over_a_rename", "sed", "code", "echo"]


@pytest.mark.parametrize("editor", EDITORS)
def test_an_edit_is_adopted_and_a_person_goes_on(workspace, file, edits, editor):
    workspace.add("neo", "Added first.", category="facts")
    edits[editor]("Their line")
    written = workspace.add("neo", "Added second.", category="facts")
    text = file.read_text()
    assert all(each in text for each in ("Lyon", "Acme", "Added first.", "Their line", "Added second."))
    assert [revision.op for revision in workspace.store.log("neo/user")] == ["put", "adopt", "put", "adopt"]
    assert written.revision == "4"
    assert backups(file) == []


@pytest.mark.parametrize("editor", EDITORS)
def test_an_edit_makes_an_older_view_stale_and_loses_nothing(workspace, file, edits, editor):
    seen = workspace.read("neo")
    edits[editor]("Their line")
    theirs = file.read_bytes()
    with pytest.raises(DriftError) as caught:
        workspace.replace("neo", "Lyon", "The office is in Nice.", expected=seen.digest)
    assert file.read_bytes() == theirs
    (backup,) = backups(file)
    assert backup.read_bytes() == theirs
    assert jsonable(caught.value)["drift_backup"] == str(backup)
    again = workspace.replace("neo", "Lyon", "The office is in Nice.", expected=workspace.read("neo").digest)
    assert again.changed
    assert "Nice" in file.read_text()
    assert "Their line" in file.read_text()


@pytest.mark.parametrize("editor", EDITORS)
def test_a_late_save_of_an_old_text_leaves_ours_in_the_history(workspace, file, editor, edits):
    old = file.read_text()
    workspace.add("neo", "Added meanwhile.", category="facts")
    run(sys.executable, "-c", TRUNCATE_AND_WRITE, file, old)
    edits[editor]("Their line")
    workspace.add("neo", "Added after.", category="facts")
    assert "Added meanwhile." not in file.read_text()
    assert "Added meanwhile." in history(workspace)
    assert all(each in file.read_text() for each in ("Their line", "Added after."))


@pytest.mark.parametrize("pause", ["", "sleep 0.3;"], ids=["at once", "after our write has ended"])
def test_an_echo_while_the_lease_stands_is_in_the_file(file, pause):
    """The shell waits for the lease, and then takes its time: what it writes is there after the next write."""
    place = Place(file.parent, (), file.name)
    store = FileStore(lambda _: place, merge=merge_appended)
    started = []

    def update(current):
        if not started:
            script = f'exec 3>>"$1"; {pause} echo "§\nTheirs." >&3'
            started.append(subprocess.Popen(["sh", "-c", script, "sh", file]))
            _wait_until_blocked(started[0].pid)
        return current.data + "§\nOurs.\n".encode()

    store.commit("x", None, update, Change())
    assert started[0].wait() == 0
    store.commit("x", None, lambda current: current.data + "§\nMore.\n".encode(), Change())
    said = file.read_text()
    assert said.startswith(TEXT)
    assert sorted(said.removeprefix(TEXT).split("§\n")) == ["", "More.\n", "Ours.\n", "Theirs.\n"]
    store.close()


def test_an_echo_that_waited_over_the_swap_is_in_the_file(file):
    """The shell opened the old file before the swap and writes to it after: it is out of its place, and joined."""
    started = []

    class Slow(Publication):
        def record(self, sight, data, draft, temporary):
            recorded = super().record(sight, data, draft, temporary)
            if not started:
                started.append(subprocess.Popen(["sh", "-c", 'echo "§\nTheirs." >> "$1"', "sh", self.path]))
                _wait_until_blocked(started[0].pid)
            return recorded

    place = Place(file.parent, (), file.name)
    store = FileStore(lambda _: place, publication=Slow, merge=merge_appended)
    store.commit("x", None, lambda current: current.data + "§\nOurs.\n".encode(), Change())
    assert started[0].wait() == 0
    text = file.read_text()
    assert text.startswith(TEXT)
    assert "Ours." in text
    assert "Theirs." in text
    assert [revision.op for revision in store.log("x")][:2] == ["merge", "late"]
    store.close()


def _wait_until_blocked(pid):
    """Until the shell's open waits for our lease; it may also be done already."""
    status = Path(f"/proc/{pid}")
    for _ in range(20_000):
        if "lease" in (status / "wchan").read_text() or (status / "stat").read_text().split()[2] == "Z":
            return
        os.sched_yield()
    pytest.fail("the shell never waited for the lease")


def test_git_checkout_brings_an_old_text_back(workspace, file, program):
    git = [program("git"), "-C", file.parent, "-c", "user.name=t", "-c", "user.email=t@example.org"]
    run(*git, "init", "-q")
    run(*git, "add", "USER.md")
    run(*git, "commit", "-qm", "first")
    workspace.add("neo", "Added after the commit.", category="facts")
    run(*git, "checkout", "-q", "--", "USER.md")
    assert file.read_text() == TEXT
    workspace.add("neo", "Added after the checkout.", category="facts")
    assert bodies(workspace) == ["The office is in Lyon.", "The vendor is Acme.", "Added after the checkout."]
    assert "Added after the commit." in history(workspace)
    assert backups(file) == []
