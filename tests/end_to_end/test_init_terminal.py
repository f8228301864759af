"""``catmem init`` on a terminal: it asks what there is, and for the first specialist."""

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


def test_another_program_is_imported_next(tmp_path):
    with terminals(tmp_path, "init") as opening:
        terminal = opening()
        terminal.wait_for("[1]: ")
        terminal.type("4\n")
        terminal.wait_for("Which (cheetahclaws, claude, basic-memory, mcp-memory): ")
        terminal.type("claude\n")
        terminal.wait_for("(Enter: none): ")
        terminal.type("coder\n")
        terminal.wait_for("catmem import --from claude -p orchestrator PATH")
        terminal.wait_for("To add a specialist later")
        assert terminal.status() == 0
    assert (tmp_path / "profiles" / "coder.yaml").exists()
