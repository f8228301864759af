"""A drift guard for Hermes's memory files: what another program wrote is kept, and never overwritten unseen.

The story: a tool held an old view of MEMORY.md, a plugin had appended to the file, and the next ``replace`` took 8,765
characters down to 37.
"""

import stat

import pytest

from tests.guard.doors import DOORS, needed
from tests.guard.scripts import Script, Setting

TARGETS = {"user": 1_375, "memory": 2_200}
LARGE, SMALL = 8_765, 37
FACT, SHORT = "Uses tabs for indentation.", "Uses spaces for indentation in files."
CHANGES = {
    "add": {"action": "add", "content": SHORT, "category": "projects"},
    "replace": {"action": "replace", "old_text": "Uses tabs", "content": SHORT},
    "remove": {"action": "remove", "old_text": "Uses tabs"},
    "batch": {"operations": [{"action": "remove", "old_text": "Uses tabs"}]},
}


def copies(path):
    return sorted(path.parent.glob(f"{path.name}.bak.*"))


@pytest.fixture(params=[("user", True), ("memory", False)], ids=["USER.md of catmem", "MEMORY.md by hand"])
def begun(request):
    """Which file, and whether catmem wrote it."""
    return request.param


@pytest.fixture
def target(begun):
    return begun[0]


@pytest.fixture
def old(made, target, begun):
    """A file of one entry that catmem wrote, or that it never saw; an agent's conversation began with it."""
    path = made.file(f"orchestrator/{target}")
    if begun[1]:
        made.run("add", FACT, "-p", "orchestrator", "-t", target, "-c", "projects")
    else:
        path.write_text(f"## Projects\n{FACT}\n", encoding="utf-8")
    assert made.tool("orchestrator", action="list", target=target)["success"]
    return path


@pytest.fixture
def file(old):
    """The same file with 8,765 characters: a plugin appended to the entry without a ``§``."""
    path, text = old, old.read_text(encoding="utf-8")
    path.write_text((text + "a note of the plugin, " * 500)[: LARGE - 1] + "\n", encoding="utf-8")
    return path


# --- the incident ----------------------------------------------------------------------------------------------------


def test_the_limits_are_those_of_hermes(made, target):
    write = ("add", "x" * (TARGETS[target] + 1), "-p", "orchestrator", "-t", target, "-c", "projects")
    said = made.data(*write, status=1)
    assert (said["code"], said["limit"]) == ("over_budget", TARGETS[target])


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_8765_characters_do_not_become_37(made, file, target, change):
    before = file.read_bytes()
    assert (len(before), len(SHORT)) == (LARGE, SMALL)
    for _ in range(6):
        answer = made.tool("orchestrator", target=target, **change)
        made.tool("orchestrator", action="search", query="zebra")
        (copy,) = copies(file)
        assert (answer["success"], answer["reason"], answer["drift_backup"]) == (False, "drift", copy.name)
        assert copy.name in answer["error"]
        assert "bring over what is missing" in answer["remediation"] or answer["done"]
        assert file.read_bytes() == before
    assert made.tool("orchestrator", target=target, **change)["remediation"].startswith("This was refused 7 times")


@pytest.mark.parametrize("before", [FACT, ""], ids=["of catmem", "by hand"])
@pytest.mark.parametrize("name", sorted(DOORS.keys() - {"mcp-process"}))
def test_no_interface_lets_an_agent_write_over_it(tmp_path, name, before):
    pytest.importorskip(needed(name), reason="NOT TESTED: an extra is not installed")
    text = "" if before else f"## Projects\n{FACT}\n"
    setting = Setting(text, before or None, "projects", tier=1, limit=1_375, by_init=not before)
    with DOORS[name](tmp_path, Script(0, "mixed", setting, (), ())) as door:
        door.open()
        if not door.begins_at_opening:
            door.call({"action": "list", "target": "user"})
        clean = door.path.read_bytes()
        door.path.write_bytes(grown := clean + b"a note of the plugin, " * 400)
        for change in (CHANGES["replace"], CHANGES["remove"]) * 3:
            if "head" in door.can:
                door.call({"action": "head"})  # names what is there, and shows nothing of it
            assert not door.call({"target": "user", **change}).succeeded
            assert door.path.read_bytes() == grown
        door.path.write_bytes(clean)
        if "head" in door.can:
            door.call({"action": "head"})
        assert door.call({"target": "user", **CHANGES["replace"]}).succeeded


@pytest.mark.parametrize(
    "command", [("replace", "Uses tabs", SHORT), ("remove", "Uses tabs")], ids=["replace", "remove"]
)
def test_a_person_at_the_command_line_is_refused_in_the_same_way(made, file, target, command):
    write = (*command, "-p", "orchestrator", "-t", target)
    refused = [made.data(*write, status=3) for _ in range(2)]
    (copy,) = copies(file)
    own = {each["agent"] for each in made.data("log", f"orchestrator/{target}")["revisions"]} - {"external"}
    code = "drift" if own else "entry_too_large"
    assert [(each["code"], each["drift_backup"]) for each in refused] == [(code, str(copy))] * 2
    assert len(file.read_bytes()) == LARGE
    made.run(*write, "--expected", refused[0]["found"])
    assert len(file.read_bytes()) < LARGE


# --- the copy --------------------------------------------------------------------------------------------------------


def test_the_copy_is_byte_for_byte_with_the_mode_of_the_file(made, file, target):
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    file.chmod(0o640)
    made.tool("orchestrator", target=target, **CHANGES["remove"])
    (copy,) = copies(file)
    assert copy.read_bytes() == file.read_bytes()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o640


def test_retries_make_one_copy_for_each_content(made, file, target):
    first = file.read_text(encoding="utf-8")
    for text in ("", "", "more", "more of it", "more", ""):
        file.write_text(first + text, encoding="utf-8")
        for _ in range(2):
            made.tool("orchestrator", target=target, **CHANGES["remove"])
    texts = {copy.read_bytes() for copy in copies(file)}
    assert len(copies(file)) == len(texts) == 3


def test_a_file_equal_to_its_backup_is_no_further_drift(made, file, target):
    made.tool("orchestrator", target=target, **CHANGES["remove"])
    (copy,) = copies(file)
    file.write_bytes(copy.read_bytes())
    made.run("merge", copy, "--all")
    assert made.tool("orchestrator", action="list", target=target, offset=0)["success"]
    assert made.tool("orchestrator", target=target, **CHANGES["remove"])["success"]
    assert copies(file) == [copy]


# --- the next call ---------------------------------------------------------------------------------------------------


def test_after_a_clean_rewrite_the_next_call_goes_through_at_once(made, file, target):
    change = {"target": target, **CHANGES["replace"]}
    assert made.tool("orchestrator", **change)["reason"] == "drift"
    (copy,) = copies(file)
    file.write_text(f"## Projects\n{FACT}\n§\nThe note of the plugin.\n", encoding="utf-8")
    assert made.tool("orchestrator", **change)["success"]
    assert made.tool("orchestrator", action="remove", target=target, old_text="Uses spaces")["success"]
    assert copies(file) == [copy]


LOOKS = {
    "list": {"action": "list"},
    "search": {"action": "search", "query": "Go"},
    "prompt": {"action": "prompt", "categories": ["projects"]},
    "expected": None,
}


@pytest.mark.parametrize("look", LOOKS)
def test_after_a_look_the_next_call_goes_through_at_once(made, old, target, look):
    old.write_text(old.read_text(encoding="utf-8").replace(FACT, f"{FACT} Except in Go."), encoding="utf-8")
    change = {"target": target, **CHANGES["replace"]}
    (found,) = {made.tool("orchestrator", **change)["found"] for _ in range(3)}
    if LOOKS[look]:
        asked = LOOKS[look] | ({} if look == "prompt" else {"target": target})
        assert made.tool("orchestrator", **asked)["success"]
    else:
        assert made.tool("orchestrator", **change, expected=f"{found[:-4]}0000")["reason"] == "drift"
        change["expected"] = found
    assert made.tool("orchestrator", **change)["success"]
    assert made.tool("orchestrator", action="remove", target=target, old_text="Uses spaces")["success"]


def test_what_the_file_lacks_of_the_copy_is_brought_over(made, file, target):
    said = made.data("remove", "Uses tabs", "-p", "orchestrator", "-t", target, status=3)
    made.run("remove", "Uses tabs", "-p", "orchestrator", "-t", target, "--expected", said["found"])
    (copy,) = copies(file)
    (lacks,) = made.data("merge", copy, status=1)["entries"]
    assert (lacks["state"], lacks["category"]) == ("missing", "projects")
    made.configure("limits: {user: 1375, memory: 2200}\n", "")
    made.run("merge", copy, "--all")
    assert made.data("merge", copy)["entries"] == []
    assert file.read_text(encoding="utf-8").count("a note of the plugin") > 300


@pytest.mark.parametrize("rootless", [False, True], ids=["of a root", "of a file without a root"])
def test_the_history_has_what_the_plugin_wrote(made, file, target, rootless):
    before = file.read_bytes()
    said = made.data("remove", "Uses tabs", "-p", "orchestrator", "-t", target, status=3)
    if rootless:
        (made.folder / "catmem.yaml").unlink()
    named = file if rootless else f"orchestrator/{target}"
    newest = made.data("log", named)["revisions"][0]
    assert (newest["agent"], newest["revision"]) == ("external", said["found"])
    file.unlink()
    made.run("restore", named, newest["revision"])
    assert file.read_bytes() == before


# --- an append under the limit ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["replace", "remove", "batch"])
def test_a_small_append_is_not_dropped_in_silence(made, old, target, change):
    with old.open("a", encoding="utf-8") as stream:
        stream.write("and the office is in Lyon\n")
    assert made.tool("orchestrator", target=target, **CHANGES[change])["reason"] == "drift"
    assert "Lyon" in old.read_text(encoding="utf-8")


@pytest.mark.parametrize("writer", ["person", "agent"])
def test_an_append_after_a_delimiter_stays_when_its_neighbour_is_replaced(made, old, target, writer):
    with old.open("a", encoding="utf-8") as stream:
        stream.write("§\nThe office is in Lyon.\n")
    if writer == "person":
        made.run("replace", "Uses tabs", SHORT, "-p", "orchestrator", "-t", target)
    else:
        assert made.tool("orchestrator", target=target, **CHANGES["replace"])["success"]
    assert old.read_text(encoding="utf-8").endswith(f"{SHORT}\n§\nThe office is in Lyon.\n")
    assert copies(old) == []


# --- what is no drift ------------------------------------------------------------------------------------------------

FINE = {
    "as Hermes writes it": b"One.\n\xc2\xa7\nUses tabs.",
    "a blank line beside the delimiter": b"One.\n\n\xc2\xa7\n\nUses tabs.\n",
    "a delimiter at the end": b"One.\n\xc2\xa7\nUses tabs.\n\xc2\xa7\n",
    "CRLF": b"One.\r\n\xc2\xa7\r\nUses tabs.\r\n",
    "a BOM": b"\xef\xbb\xbfOne.\n\xc2\xa7\nUses tabs.\n",
    "headers": b"## Rules\nOne.\n\n## Projects\nUses tabs.\n",
    "repeated delimiters": b"\xc2\xa7\nOne.\n\xc2\xa7\n\xc2\xa7\nUses tabs.\n",
}


@pytest.mark.parametrize("data", FINE.values(), ids=FINE)
@pytest.mark.parametrize("verb", ["replace", "remove"])
def test_a_form_that_no_tool_writes_is_no_drift(made, target, data, verb):
    path = made.file(f"orchestrator/{target}")
    path.write_bytes(data)
    assert made.tool("orchestrator", target=target, **CHANGES[verb])["success"]
    now = path.read_bytes()
    newline = b"\r\n" if b"\r" in data else b"\n"
    assert (b"One." in now, b"Uses tabs" in now, now[:3] == data[:3]) == (True, False, True)
    assert now.count(b"\r") == now.count(b"\r\n")
    assert now.count(newline) == now.count(b"\n")
    assert copies(path) == []


@pytest.mark.parametrize("strict", ["", "on_drift: refuse\n"], ids=["as init makes it", "strict"])
@pytest.mark.parametrize("empty", [None, b""], ids=["missing", "empty"])
def test_a_missing_or_empty_file_is_no_drift(made, target, empty, strict):
    made.configure("version: 1\n", f"version: 1\n{strict}")
    made.tool("orchestrator", action="add", target=target, content=FACT, category="projects")
    path = made.file(f"orchestrator/{target}")
    path.unlink()
    if empty is not None:
        path.write_bytes(empty)
    assert made.tool("orchestrator", action="add", target=target, content="One.", category="projects")["success"]
    assert FACT not in path.read_text(encoding="utf-8")
    assert copies(path) == []


def test_a_persons_edit_elsewhere_in_the_file_is_no_drift_for_a_person(made, target):
    made.run("add", FACT, "-p", "orchestrator", "-t", target, "-c", "projects")
    path = made.file(f"orchestrator/{target}")
    path.write_text("## Rules\nOne.\n\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    made.run("remove", "Uses tabs", "-p", "orchestrator", "-t", target)
    assert path.read_text(encoding="utf-8").startswith("## Rules\nOne.\n")
    assert copies(path) == []


# --- what cannot be read ---------------------------------------------------------------------------------------------


def test_unreadable_is_not_empty(made, target):
    path = made.file(f"orchestrator/{target}")
    path.write_bytes(b"caf\xe9, and much more\n")
    for action in ({"action": "add", "content": FACT, "category": "projects"}, CHANGES["remove"]):
        answer = made.tool("orchestrator", target=target, **action)
        assert (answer["success"], answer["reason"]) == (False, "not_utf8")
        assert "entries" not in answer
    assert made.tool("orchestrator", action="list", target=target)["reason"] == "not_utf8"
    assert made.data("add", FACT, "-p", "orchestrator", "-t", target, status=3)["code"] == "not_utf8"
    assert path.read_bytes() == b"caf\xe9, and much more\n"
    assert [each.read_bytes() for each in copies(path)] == [path.read_bytes()]
