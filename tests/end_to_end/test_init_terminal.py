"""``catmem init`` on a terminal: it asks what there is, and for specialists."""

import shlex

from tests.end_to_end.pseudo_terminal import terminals
from tests.golden.case import put


def test_flat_files_beside_it_are_proposed(tmp_path):
    put(tmp_path / "USER.md", "Prefers short answers.\n")
    with terminals(tmp_path, "init", "root") as opening:
        terminal = opening()
        assert "2  flat USER.md and MEMORY.md" in terminal.wait_for("Number [2]: ")
        terminal.type("\n")
        terminal.wait_for("The files, or their folder [.]: ")
        terminal.type("\n")
        terminal.wait_for("(Enter: none): ")
        terminal.type("\n")
        terminal.wait_for("catmem sort")
        assert terminal.status() == 0
    assert (tmp_path / "root" / "homes" / "orchestrator" / "USER.md").read_text() == "Prefers short answers.\n"


def test_another_program_is_imported_next_from_the_place_that_is_named(tmp_path):
    notes = put(tmp_path / "old notes" / "MEMORY.md", "Uses tabs.\n").parent
    with terminals(tmp_path, "init", "root") as opening:
        terminal = opening()
        terminal.wait_for("[1]: ")
        terminal.type("4\n")
        terminal.wait_for("Which (cheetahclaws, claude, basic-memory, mcp-memory): ")
        terminal.type("claude\n")
        for wrong in ("nowhere", "''"):
            terminal.wait_for("Its file or folder: ")
            terminal.type(f"{wrong}\n")
            terminal.wait_for("Error: ")
        terminal.wait_for("Its file or folder: ")
        terminal.type("old notes\n")
        terminal.wait_for("(Enter: none): ")
        terminal.type("coder\n")
        terminal.wait_for(f"catmem import --from claude -p orchestrator {shlex.quote(str(notes))}")
        terminal.wait_for("To add a specialist later")
        assert terminal.status() == 0
    assert (tmp_path / "root" / "profiles" / "coder.yaml").exists()


def test_a_path_is_checked_at_once_and_several_specialists_are_made(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    put(home / "old" / "USER.md", "Prefers short answers.\n")
    with terminals(tmp_path, "init", "root") as opening:
        terminal = opening()
        terminal.wait_for("[1]: ")
        terminal.type("2\n")
        for wrong in ("nowhere", "~"):
            terminal.wait_for("The files, or their folder: ")
            terminal.type(f"{wrong}\n")
            terminal.wait_for("Error: ")
        terminal.wait_for("The files, or their folder: ")
        terminal.type("~/old\n")
        terminal.wait_for("(Enter: none): ")
        terminal.type("coder, Two Words\n")
        terminal.wait_for("Error: 'Two' cannot be the name of a profile")
        terminal.wait_for("(Enter: none): ")
        terminal.type("coder, tax-advisor\n")
        terminal.wait_for("catmem seed --all")
        assert terminal.status() == 0
    assert {path.stem for path in (tmp_path / "root" / "profiles").iterdir()} > {"coder", "tax-advisor"}
