"""A root whose memory folders are away is not taken for a new one: it says so, and nothing is written."""

import shutil

import pytest

from catmem.errors import StoreError
from catmem.store.audit_log import AuditLog
from catmem.workspace import stores
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import run
from tests.golden.case import put
from tests.http_root import served_root
from tests.unit.server.test_away import READS, base, refused, written

CONFIG = "version: 1\n"


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    monkeypatch.setattr(stores, "_homes_there", {})


@pytest.fixture
def root(tmp_path):
    """A root in which two profiles have memory, and a third has none yet."""
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    for name in ("neo", "new"):
        put(tmp_path / "profiles" / f"{name}.yaml", "user_memory_categories: [talk]\nseed_from: boss\n")
    add(tmp_path, "boss")
    run("seed", "boss", "neo", "--root", tmp_path)
    return tmp_path


def add(root, name, status=0):
    return run("add", f"Kept by {name}.", "-p", name, "-c", "talk", "--root", root, status=status)


def paths(folder):
    left_out = {".catmem/audit.jsonl"}
    return sorted({str(each.relative_to(folder)) for each in folder.rglob("*")} - left_out)


COMMANDS = [
    "prompt neo", "prompt new", "list neo", "show neo/user", "log neo", "log", "status", "status --check", "seed --all",
    "seed --all --check", "add Never. -p neo -c talk", "add Never. -p new -c talk", "store info",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_that_the_homes_are_gone_and_writes_nothing(root, command):
    (root / "homes").rename(root / "aside")
    before = paths(root)
    said = run(*command.split(), "--root", root, status=4).stderr
    assert said.count("error[lost_homes]") == 1
    assert "the folders of all memory files are gone" in said
    assert paths(root) == before
    (root / "aside").rename(root / "homes")
    assert "Kept by boss." in run("prompt", "boss", "--root", root).stdout


def test_an_empty_folder_where_a_disk_was_mounted_is_told_too(root):
    (root / "homes").rename(root / "aside")
    (root / "homes").mkdir()
    assert "lost_homes" in add(root, "new", status=4).stderr
    assert not [*(root / "homes").iterdir()]


@pytest.mark.parametrize("repair", [(), ("--repair",)])
def test_fsck_keeps_its_finding(root, repair):
    (root / "homes").rename(root / "aside")
    assert "damage[lost_homes]" in run("fsck", *repair, "--root", root, status=4).stdout


def test_who_means_it_makes_the_folder(root):
    (root / "homes").rename(root / "aside")
    (root / "homes" / "boss").mkdir(parents=True)
    add(root, "neo")
    assert "Kept by neo." in run("prompt", "neo", "--root", root).stdout


def gone_with_its_sidecar(root):
    shutil.rmtree(root / "homes")
    shutil.rmtree(root / ".catmem")


def without_its_audit_log(root):
    shutil.rmtree(root / "homes")
    (root / ".catmem" / "audit.jsonl").unlink()


def after_a_refused_first_write(root):
    gone_with_its_sidecar(root)
    assert run("add", "", "-p", "neo", "-c", "talk", "--root", root, status=2)
    assert (root / ".catmem" / "audit.jsonl").exists()


def with_other_profiles(root):
    shutil.rmtree(root / "homes")
    for name in ("boss", "neo"):
        (root / "profiles" / f"{name}.yaml").unlink()
    put(root / "profiles" / "new.yaml", "user_memory_categories: [talk]\n")


def one_home_alone(root):
    shutil.rmtree(root / "homes" / "boss")


def homes_elsewhere(root):
    """The folder of each profile is named by the profile itself, but for a new one."""
    for name in ("boss", "neo"):
        file = root / "profiles" / f"{name}.yaml"
        file.write_text(file.read_text() + f"memory_dir: own/{name}\n")
    (root / "homes").rename(root / "own")


GOES_ON = (
    gone_with_its_sidecar,
    without_its_audit_log,
    after_a_refused_first_write,
    with_other_profiles,
    one_home_alone,
    homes_elsewhere,
)


@pytest.mark.parametrize("change", GOES_ON, ids=lambda change: change.__name__)
def test_other_roots_without_a_home_go_on(root, change):
    change(root)
    run("list", "new", "--root", root)
    add(root, "new")
    assert "Kept by new." in run("prompt", "new", "--root", root).stdout


def test_an_audit_log_that_cannot_be_read_is_no_sign(root):
    without_its_audit_log(root)
    (root / ".catmem" / "audit.jsonl").mkdir()
    run("list", "new", "--root", root)


def test_the_audit_log_is_read_only_where_no_home_exists(root, monkeypatch):
    monkeypatch.delattr(AuditLog, "first_written")
    workspace = Workspace.open(root, search=False)
    assert workspace.list("new") == []
    workspace.add("new", "Into a new home.", category="talk")


def test_the_folders_of_declared_entities_are_no_memory_folders(root):
    put(root / "catmem.yaml", f"{CONFIG}entities:\n  project:alpha: {{content: text}}\n")
    (root / "homes").rename(root / "aside")
    workspace = Workspace.open(root, search=False)
    assert workspace.put("project:alpha", "Goes on.", expected=0).changed
    with pytest.raises(StoreError, match="are gone"):
        workspace.prompt("neo")


def test_a_database_is_copied_to_files_where_there_is_no_home_any_more(root):
    run("store", "copy", "files", "sqlite:///.catmem/memory.db", "--root", root)
    (root / "homes").rename(root / "aside")
    run("store", "copy", "sqlite:///.catmem/memory.db", "files", "--root", root)
    assert "Kept by boss." in run("prompt", "boss", "--root", root).stdout


def test_a_server_is_not_ready_and_tells_nobody_that_nothing_is_there(tmp_path):
    for served in served_root(tmp_path, CONFIG):
        served.workspace.add("neo", "Kept.", category="talk")
        root, neo, person = served.workspace.root, served.client("neo"), served.client()
        before = base(neo)
        (root / "homes").rename(root / "aside")
        assert [refused(neo, path) for path in (*READS, "/readyz")] == [(503, "lost_homes")] * 5
        answer = written(neo, "Never.", before)
        assert (answer.status_code, answer.json()["code"], str(root) in answer.text) == (503, "lost_homes", False)
        assert not (root / "homes").exists()
        (root / "aside").rename(root / "homes")
        assert person.get("/readyz").status_code == 200
        assert written(neo, "After.", before).status_code == 200
