"""Whether a root of files takes writes at all."""

from __future__ import annotations

import pytest

from catmem.errors import StoreError
from catmem.service.workspace import Workspace
from catmem.service.writable import refuse_unwritable
from tests.end_to_end.terminal import write_root
from tests.roots import make_root
from tests.unit.store.sql.test_writable import immutable


@pytest.fixture
def workspace(tmp_path):
    write_root(tmp_path)
    opened = Workspace.open(tmp_path, search=False)
    opened.add("neo", "It is written.", category="rules")
    yield opened
    opened.store.close()


def test_asking_leaves_nothing(workspace):
    before = sorted(workspace.root.rglob("*"))
    refuse_unwritable(workspace)
    assert sorted(workspace.root.rglob("*")) == before


@pytest.mark.parametrize("part", ["", ".catmem", ".catmem/journal", ".catmem/tmp", ".catmem/lock", "USER.md"])
def test_a_file_that_cannot_be_written_is_told(workspace, part):
    place = workspace.root / "homes" / "neo" / part
    with immutable(place):
        with pytest.raises(StoreError) as caught:
            workspace.store.refuse_unwritable("neo/user")
        assert (caught.value.code, caught.value.path) == ("not_writable", str(place))
        refuse_unwritable(workspace)  # the files of boss can be written
    workspace.store.refuse_unwritable("neo/user")


def test_where_no_file_can_be_written_the_root_is_refused(workspace):
    homes = workspace.root / "homes"
    with immutable(homes), immutable(homes / "neo"), pytest.raises(StoreError) as caught:
        refuse_unwritable(workspace)
    assert caught.value.code == "not_writable"
    refuse_unwritable(workspace)


def test_a_root_without_profiles_has_nothing_to_refuse(tmp_path):
    (tmp_path / "catmem.yaml").write_text("version: 1\n")
    refuse_unwritable(Workspace.open(tmp_path, search=False))


def test_a_store_in_memory_is_always_written(tmp_path):
    refuse_unwritable(make_root(tmp_path, profiles={"neo": "{}\n"}))
