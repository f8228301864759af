"""Words that a declared entity held are gone from every file and row, and what holds no words is as it was."""

import json
import re
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from catmem.audit import replay
from catmem.errors import EditError
from catmem.jsonable import jsonable
from catmem.store.files.file_store import FileStore
from catmem.workspace import history
from catmem.workspace.purging import purge
from catmem.workspace.upkeep import fsck
from catmem.workspace.workspace import Workspace
from tests.commands import catmem
from tests.golden.case import put
from tests.refusals import refusal
from tests.unit.entities.conftest import ALPHA, CONFIG, DATABASE, NOTES, file_of
from tests.unit.workspace.tree import holding

CODE = "4711-2209"


def held_by(workspace: Workspace, words: str) -> list[str]:
    """Every file below the root and every revision that holds the words, as they are or as JSON spells them."""
    places: list[str] = []
    for each in dict.fromkeys([words, json.dumps(words)[1:-1]]):
        places += holding(workspace.root, each.encode())
        for entity in (ALPHA, NOTES):
            texts = [workspace.store.peek(entity), *(data for _, data in workspace.store.replay(entity))]
            places += [entity for data in texts if each.encode() in data]
    return places


def dumped(workspace: Workspace) -> str:
    """All that the tables have, unpacked."""
    found: list[str] = []
    with sqlite3.connect(workspace.root / ".catmem" / "memory.db") as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in database.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - the database's own tables
                found += map(_unpacked, row)
    database.close()
    return "\n".join(found)


def _unpacked(cell: object) -> str:
    if not isinstance(cell, bytes):
        return str(cell)
    try:
        return zlib.decompressobj().decompress(cell).decode(errors="replace")
    except zlib.error:
        return cell.decode(errors="replace")


def check_law(workspace: Workspace, tmp_path: Path, words: str = CODE) -> None:
    assert held_by(workspace, words) == []
    if workspace.config.store != "files":
        assert "[purged]" in dumped(workspace)
        assert words not in dumped(workspace)
    assert not any(fault.damage for fault in fsck(workspace).faults)
    assert not replay(workspace).damaged
    assert holding(tmp_path, words.encode()) == []


# --- the law -------------------------------------------------------------------------------------------------------


def test_revisions_and_branches_that_hold_the_words_go_whole_and_are_named(any_root: Workspace, tmp_path: Path) -> None:
    ws = any_root
    ws.put(ALPHA, {"code": CODE, "vendor": "Acme"}, expected=0, actor="neo", op_id="neo:1#1")
    ws.put(ALPHA, {CODE: 1, "a": [f"say {CODE}, please"]}, expected=1, actor="neo")
    ws.put(ALPHA, {"vendor": "Acme"}, expected=2)
    ws.put(ALPHA, {"code": CODE}, expected=2, actor="trinity", on_stale="branch")
    ws.put(ALPHA, {"vendor": "Bolt"}, expected=3)
    assert held_by(ws, CODE)
    assert ws.config.store == "files" or CODE in dumped(ws)
    before = ws.store.read(ALPHA).data
    named = ("revision 1", "revision 2", "revision 3a")
    dry = purge(ws, ALPHA, CODE, dry_run=True)
    assert (dry.entities, set(dry.places), dry.revisions, dry.entries) == ((ALPHA,), set(named), 3, ())
    report = purge(ws, ALPHA, f"{CODE}\n")
    assert (report.entities, set(report.places), report.left) == ((ALPHA,), set(named), ())
    assert CODE not in json.dumps(jsonable(report))
    assert ws.store.read(ALPHA).data == before
    assert [ws.content(ALPHA, each).value for each in (1, 2, "3a", 3)] == [*["[purged]"] * 3, {"vendor": "Acme"}]
    check_law(ws, tmp_path)
    assert [each.state for each in ws.branches(ALPHA)] == ["nothing new"]
    assert ws.put(ALPHA, {"a": 1}, expected=4, actor="neo").revision == "5"


def test_a_merge_takes_nothing_from_a_branch_that_was_purged(any_root: Workspace) -> None:
    ws = any_root
    ws.put(ALPHA, {"code": CODE}, expected=0)
    ws.put(ALPHA, {"vendor": "Acme"}, expected=1)
    ws.put(ALPHA, {"code": CODE, "vendor": "Bolt"}, expected=1, actor="trinity", on_stale="branch")
    ws.put(ALPHA, {"city": "Bonn"}, expected=1, actor="neo", on_stale="branch")
    ws.put(NOTES, f"The code is {CODE}.", expected=0)
    ws.put(NOTES, "", expected=1)
    ws.put(NOTES, f"The code was {CODE}.", expected=1, actor="neo", on_stale="branch")
    for entity in (ALPHA, NOTES):
        purge(ws, entity, CODE)
        ws.merge(entity)
    assert json.loads(ws.store.read(ALPHA).data) == {"city": "Bonn", "vendor": "Acme"}
    assert ws.store.read(NOTES).data == b""


# --- files ---------------------------------------------------------------------------------------------------------


def test_copies_retired_files_and_what_a_person_spelled_with_escapes_go(root: Workspace, tmp_path: Path) -> None:
    root.put(ALPHA, {"a": CODE}, expected=0)
    assert isinstance(root.store, FileStore)
    root.store.backup(ALPHA)
    spelled = "".join(f"\\u{ord(each):04X}" for each in CODE)
    file_of(root).write_text(f'{{"a": 1,\n "b": "{spelled}",\n "c": "{CODE}" broken\n')
    history.adopt(root, ALPHA)
    file_of(root).write_text(f'{{"a": "{CODE}"}}\n')
    history.adopt(root, ALPHA)
    root.put(ALPHA, {"a": 1}, expected=3)
    report = purge(root, ALPHA, CODE)
    assert any(".bak." in name for name in report.files)
    assert root.store.read(ALPHA, "2").data == b'"[purged]"'
    assert root.content(ALPHA).value == {"a": 1}
    assert spelled.encode() not in b"".join(data for _, data in root.store.replay(ALPHA))
    check_law(root, tmp_path)


def test_what_a_stopped_write_left_goes_half_of_the_words_too(root: Workspace, tmp_path: Path) -> None:
    root.put(ALPHA, {"a": CODE}, expected=0)
    root.put(ALPHA, {"a": 1}, expected=1)
    half = file_of(root).parent / ".catmem" / "gen" / "new-1"
    put(half, f'{{"a":"{CODE[:6]}')
    report = purge(root, ALPHA, CODE)
    assert not half.exists()
    assert any(name.endswith("new-1") for name in report.removed)
    check_law(root, tmp_path)


def test_the_other_kind_of_content_is_named(make: Callable[..., Workspace], tmp_path: Path) -> None:
    first = make(config=CONFIG.replace("json", "text"))
    first.put(ALPHA, f"the code\n{CODE}\n", expected=0)
    first.put(ALPHA, "the code\n", expected=1)
    now = make()
    now.put(ALPHA, {"a": CODE}, expected=0)
    now.put(ALPHA, {"a": 1}, expected=1)
    report = purge(now, ALPHA, CODE)
    (left,) = report.left
    assert left.path.endswith("content.txt")
    assert left.why == "no entity with this content is declared; declare it so, and purge once more"
    again = make(config=CONFIG.replace("json", "text"))
    assert purge(again, ALPHA, CODE).left == ()
    check_law(again, tmp_path)


def test_a_content_that_is_declared_no_more_is_named(make: Callable[..., Workspace]) -> None:
    make().put(ALPHA, {"a": CODE}, expected=0)
    now = make(config=CONFIG.partition("entities:")[0])
    now.add("neo", f"Dial {CODE}.", category="talk")
    (left,) = purge(now, "neo", CODE).left
    assert (left.path, left.why.partition(";")[0]) == (
        "entities/project%3Aalpha/content.json",
        "no entity with this content is declared",
    )


def test_in_a_database_all_kinds_of_content_are_one_history(make: Callable[..., Workspace], tmp_path: Path) -> None:
    first = make(DATABASE, config=CONFIG.replace("json", "text"))
    first.put(ALPHA, f"the code\n{CODE}\n", expected=0)
    now = make(DATABASE)
    now.put(ALPHA, {"a": 1}, expected=1)
    assert purge(now, ALPHA, CODE).left == ()
    assert (now.store.read(ALPHA, "1").data, now.content(ALPHA).value) == (b'"[purged]"', {"a": 1})
    check_law(now, tmp_path)


def test_other_entities_that_hold_the_words_are_named(any_root: Workspace, tmp_path: Path) -> None:
    ws = any_root
    ws.put(ALPHA, {"a": CODE}, expected=0)
    ws.put(ALPHA, {"a": 1}, expected=1)
    ws.put(NOTES, f"{CODE}\n", expected=0)
    ws.put(NOTES, "nothing\n", expected=1)
    ws.add("neo", f"Dial {CODE}.", category="talk")
    report = purge(ws, ALPHA, CODE)
    assert [each.why for each in report.left] == [
        "notes:alpha holds the words too: purge it there",
        "neo/user holds the words too: purge it there",
    ]
    # The other way round: what a memory file holds, and a declared entity too.
    report = purge(ws, "neo", CODE)
    assert [each.why for each in report.left] == ["notes:alpha holds the words too: purge it there"]
    assert purge(ws, NOTES, CODE).left == ()
    check_law(ws, tmp_path)


# --- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [{"a": CODE}, {"a": {CODE: 1}}, [{"n": 4711}, CODE]])
def test_a_content_that_holds_the_words_is_refused_until_it_is_written_without(
    any_root: Workspace, tmp_path: Path, content: Any
) -> None:
    ws = any_root
    ws.put(ALPHA, content, expected=0)
    for dry_run in (True, False):
        caught = refusal("in_content", purge, ws, ALPHA, CODE, dry_run=dry_run)
        assert caught.message == "project:alpha holds the words now"
        assert caught.hint is not None
        assert "catmem write project:alpha FILE --expected REVISION" in caught.hint
    assert (len([*ws.store.log(ALPHA)]), ws.content(ALPHA, 1).value) == (1, content)
    ws.put(ALPHA, {"a": {"code": 1}}, expected=1)
    assert purge(ws, ALPHA, CODE).left == ()
    check_law(ws, tmp_path)


def test_a_broken_content_is_refused_if_it_holds_the_words(root: Workspace, tmp_path: Path) -> None:
    root.put(ALPHA, {"a": CODE}, expected=0)
    file_of(root).write_bytes(f'{{"a": 1,\n"b": "{CODE}"\n\udcff'.encode(errors="surrogateescape"))
    with pytest.raises(EditError, match="project:alpha holds the words now"):
        purge(root, ALPHA, CODE)
    assert CODE.encode() in file_of(root).read_bytes()
    file_of(root).write_bytes(b'{"a": \xff')
    assert purge(root, ALPHA, CODE).left == ()
    assert file_of(root).read_bytes() == b'{"a": \xff'


def test_a_writer_that_puts_the_words_back_is_named_and_loses_nothing(
    any_root: Workspace, tmp_path: Path, monkeypatch: Any
) -> None:
    """The real store with another writer before its second step, which puts the words back."""
    root = any_root
    root.put(ALPHA, {"a": CODE}, expected=0)
    root.put(ALPHA, {"a": 1}, expected=1)
    erase, puts = root.store.erase, []  # type: ignore[attr-defined]

    def write_and_erase(*arguments: Any) -> Any:
        if not puts:
            puts.append(root.put(ALPHA, {"b": CODE}, expected=2))
        return erase(*arguments)

    monkeypatch.setattr(root.store, "erase", write_and_erase)
    report = purge(root, ALPHA, CODE)
    assert {each.why for each in report.left} == {"it was written again meanwhile; purge once more"}
    assert root.content(ALPHA).value == {"b": CODE}
    monkeypatch.undo()
    root.put(ALPHA, {"a": 2}, expected=root.content(ALPHA).revision)
    assert purge(root, ALPHA, CODE).left == ()
    assert held_by(root, CODE) == []


# --- what no command mends -----------------------------------------------------------------------------------------


def test_repair_of_broken_json_names_remedies_and_each_works(root: Workspace, tmp_path: Path) -> None:
    def run(*arguments: str, given: str = "") -> tuple[int, str]:
        done = catmem(tmp_path, arguments, said=given)
        return done.exit_code, done.stdout + done.stderr

    root.put(ALPHA, {"a": 1}, expected=0)
    code, said = run("fsck", ALPHA)
    assert (code, "project:alpha has no entries to repair" in said) == (2, True)
    for mend in ("edit", "restore"):
        file_of(root).write_text("{broken")
        code, said = run("fsck", ALPHA, "--repair")
        assert (code, said.startswith("error[not_json]: project:alpha: not JSON")) == (2, True), said
        assert "entities/project%3Aalpha/content.json" in said
        found = re.search(r"catmem (restore project:alpha REVISION)", said)
        assert found is not None
        assert file_of(root).read_text() == "{broken"
        if mend == "edit":
            file_of(root).write_text('{"a": 1}')
        else:
            assert run(*found[1].replace("REVISION", "1").split())[0] == 0
        assert run("show", ALPHA)[1] == '{"a": 1}\n'
    assert b"{broken" in [data for _, data in root.store.replay(ALPHA)]
