"""``catmem lint`` of a root whose memory files went away."""

import shutil

from tests.end_to_end.terminal import run
from tests.golden.case import put


def test_a_root_that_lost_its_memory_files_is_not_clean(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\n")
    assert "nothing found" in run("lint", "--root", tmp_path).stderr  # a new root has none yet
    run("add", "-p", "neo", "-c", "talk", "Likes tea.", "--root", tmp_path)
    assert "nothing found" in run("lint", "--root", tmp_path).stderr
    shutil.rmtree(tmp_path / "homes")
    assert "CM901 the folders of all memory files are gone" in run("lint", "--root", tmp_path, status=1).stdout
