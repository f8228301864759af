"""docs/running.md: a backup that ordinary tools take, also while something writes; the unit, and the container's file."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

import catmem
from tests.commands import catmem as run
from tests.docs.pages import ROOT, load
from tests.end_to_end.terminal import write_root

PAGE = load(ROOT / "docs" / "running.md")
FILES = {each.direction: each.text for each in PAGE.examples if each.direction.startswith("file ")}
WRITER = """
import sys
import catmem

root = catmem.Workspace.open(sys.argv[1])
for number in range(100_000):
    root.add("neo", f"Fact number {number}.", category="rules")
    print(number, flush=True)
"""
TRIES = 10


def tar(root, folder):
    archive = folder.parent / f"{folder.name}.tar"
    taken = subprocess.run(["tar", "-C", root, "-cf", archive, "."], capture_output=True, check=False)
    assert taken.returncode in {0, 1}, taken.stderr  # 1: a file changed as it was read
    subprocess.run(["tar", "-C", folder, "-xpf", archive], check=True)


def cp(root, folder):
    subprocess.run(["cp", "-a", f"{root}/.", folder], capture_output=True, check=False)


TOOLS = {"tar": tar, "cp": cp}


@contextmanager
def writing(root, acknowledged):
    """A process that adds facts, the numbers of which it prints into a file."""
    with acknowledged.open("w") as said:
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(root)], stdout=said)
    try:
        while not acknowledged.read_text().endswith("\n"):
            assert process.poll() is None
            time.sleep(0.01)
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def is_sound(root):
    return run(root, ["fsck"]).exit_code == 0


def is_kept(root, text):
    """Whether the file has a text, or its newest revision: facts are only added."""
    ws = catmem.Workspace.open(root)
    newest = next(iter(ws.store.log("neo/user")))
    kept = ws.store.read("neo/user", newest.revision).data.decode()
    return text in kept or text in (root / "homes" / "neo" / "USER.md").read_text()


@pytest.fixture
def root(tmp_path):
    write_root(tmp_path / "root")
    return tmp_path / "root"


@pytest.mark.parametrize("tool", TOOLS)
def test_a_copy_at_rest_is_whole_and_goes_on(root, tmp_path, tool):
    catmem.Workspace.open(root).add("neo", "Kept.", category="rules")
    copy = tmp_path / "copy"
    copy.mkdir()
    TOOLS[tool](root, copy)
    assert is_sound(copy)
    done = catmem.Workspace.open(copy).add("neo", "And more.", category="rules")
    assert done.revision == catmem.Workspace.open(root).add("neo", "In the old one.", category="rules").revision
    assert is_sound(copy)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_copy_during_writes_has_what_was_acknowledged_or_is_found_to_lack_it(root, tmp_path, tool):
    good = 0
    with writing(root, tmp_path / "acknowledged"):
        copies = {}
        for number in range(TRIES):
            copy = tmp_path / f"copy-{number}"
            copy.mkdir()
            copies[copy] = (tmp_path / "acknowledged").read_text().splitlines()[-1]
            TOOLS[tool](root, copy)
    for copy, last in copies.items():
        if is_sound(copy):
            good += 1
            assert is_kept(copy, f"Fact number {last}.")
        else:
            assert run(copy, ["fsck", "--repair"]).exit_code == 0
        assert catmem.Workspace.open(copy).add("neo", "After the restore.", category="rules").changed
        assert is_sound(copy)
    assert good > TRIES / 2


def test_sqlite_makes_the_copy_of_its_file_during_writes(root, tmp_path):
    config = root / "catmem.yaml"
    config.write_text(f"store: sqlite:///.catmem/memory.db\n{config.read_text()}")
    copy = tmp_path / "copy"
    with writing(root, tmp_path / "acknowledged"):
        tar_of_the_rest = shutil.ignore_patterns("memory.db*", "database-*")
        last = (tmp_path / "acknowledged").read_text().splitlines()[-1]
        subprocess.run(
            ["sqlite3", root / ".catmem" / "memory.db", ".timeout 10000", f".backup {tmp_path}/backup.db"], check=True
        )
    shutil.copytree(root, copy, ignore=tar_of_the_rest)
    shutil.copy(tmp_path / "backup.db", copy / ".catmem" / "memory.db")
    assert is_sound(copy)
    ws = catmem.Workspace.open(copy)
    assert f"Fact number {last}." in ws.read("neo").document.text
    assert ws.add("neo", "After the restore.", category="rules").changed
    assert is_sound(copy)


def test_systemd_takes_the_unit(tmp_path):
    unit = FILES["file catmem.service"]
    assert "ExecStart=/opt/catmem/bin/catmem serve --root /srv/memory\n" in unit
    if shutil.which("systemd-analyze") is None:
        pytest.skip("not installed: systemd-analyze")
    path = tmp_path / "catmem.service"
    path.write_text(unit.replace("/opt/catmem/bin/catmem", "/bin/true").replace("User=catmem", "User=root"))
    told = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)
    assert "catmem.service" not in told.stderr, told.stderr


def test_the_container_starts_a_server_that_is_ready(root, tmp_path, monkeypatch):
    lines = [line.partition(" ")[::2] for line in FILES["file Dockerfile"].splitlines()]
    said = dict(lines)
    assert set(said) <= {
        "FROM", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"
    }  # fmt: skip
    assert json.loads(said["ENTRYPOINT"]) == ["catmem"]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    words = [str(root) if word == "/memory" else word for word in json.loads(said["CMD"])]
    command = [sys.executable, "-m", "catmem", *words, "--port", "0", "--format", "json"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "no_tokens" in refused.stderr
    assert run(root, ["token", "new", "neo"], dict(os.environ)).exit_code == 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        port = json.loads("".join(process.stdout.readline() for _ in range(5)))["url"].rsplit(":", 1)[1]
        check = [word.replace("8428", port) for word in json.loads(said["HEALTHCHECK"].removeprefix("CMD "))]
        assert subprocess.run([sys.executable, *check[1:]], check=False).returncode == 0
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
