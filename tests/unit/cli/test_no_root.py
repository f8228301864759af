"""Outside of a root nobody is told that all is well there, and nothing is made."""

from tests.end_to_end.terminal import run
from tests.together import together

COMMANDS = [
    "access", "fsck --anchors", "audit", "branches", "branches neo", "diff neo", "doctor", "fmt", "fsck", "key list",
    "key new person", "key remove person", "lint", "list", "log neo", "merge neo", "merge neo 8a --drop",
    "log --verify out", "log neo --verify out", "restore neo 1", "review --list", "rollout", "rollout report",
    "search x", "serve --port 0", "stats",
    "store copy files sqlite:///memory.db", "store info", "token list", "token new anna --person", "token remove anna",
    "watch",
]  # fmt: skip


@together("command", COMMANDS)
def test_a_folder_that_is_no_root_is_told(tmp_path, monkeypatch, command):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "elsewhere").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    result = run(*command.split(), status=2)
    assert result.stdout == ""
    assert "error[no_root]" in result.stderr
    assert "\n  " in result.stderr  # the hint
    assert [path.name for path in tmp_path.rglob("*")] == ["elsewhere"]
