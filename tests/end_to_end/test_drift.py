"""What another program wrote into a file is not lost: through the command line, the library, the tool and those of MCP."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from catmem import Operation, Workspace, memory_tool
from catmem.errors import DriftError
from catmem.mcp.tools import call_tool
from catmem.writing.drift_guard import ToolSession
from tests.end_to_end.pseudo_terminal import terminals
from tests.end_to_end.terminal import error_of, run
from tests.together import together

FACT = "Uses tabs for indentation."
MORE = " And more:" + " lorem ipsum dolor" * 480
NAMES = {"user": "USER.md", "memory": "MEMORY.md"}


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    """A new root, with the limits of one."""
    folder = tmp_path_factory.mktemp("new") / "root"
    run("init", folder)
    config = folder / "catmem.yaml"
    text = config.read_text(encoding="utf-8")
    assert "limits: {user: 1375, memory: 2200}\n" in text
    config.write_text(text.replace("approval: others", "approval: off"), encoding="utf-8")
    return folder


@pytest.fixture
def root(new, tmp_path, monkeypatch):
    shutil.copytree(new, tmp_path / "root")
    monkeypatch.chdir(tmp_path / "root")
    return tmp_path / "root"


def without_limits(root):
    """The root as older versions made it."""
    config = root / "catmem.yaml"
    config.write_text(re.sub("limits:.*\n", "", config.read_text(encoding="utf-8")), encoding="utf-8")
    return Workspace.open(".")


def drifted(root, target):
    """A file with an entry of catmem's own, which another program has made longer than the whole file may be."""
    run("add", FACT, "-p", "orchestrator", "-t", target, "-c", "projects")
    path = root / "homes" / "orchestrator" / NAMES[target]
    text = path.read_text(encoding="utf-8")
    path.write_text(text.rstrip("\n") + MORE + "\n", encoding="utf-8")
    return path


@pytest.fixture(params=["user", "memory of an older root"])
def file(request, root):
    if request.param != "user":
        without_limits(root)
    return drifted(root, request.param.partition(" ")[0])


only_user = pytest.mark.parametrize("file", ["user"], indirect=True)


def target_of(file):
    return "user" if file.name == "USER.md" else "memory"


def copies(file):
    return sorted(file.parent.glob(f"{file.name}.bak.*"))


def told(message, file):
    """The prose of a refusal names the copy."""
    (copy,) = copies(file)
    assert copy.read_bytes() == file.read_bytes()
    assert copy.name in message


# --- refused until it was seen ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [("replace", "Uses tabs", "Uses spaces."), ("remove", "Uses tabs")])
def test_a_person_at_the_command_line(file, verb):
    text = file.read_bytes()
    write = (*verb, "-p", "orchestrator", "-t", target_of(file))
    for _ in range(3):
        said = error_of(*write, status=3)
        assert (said["code"], said["drift_backup"]) == ("drift", str(copies(file)[0].resolve()))
        assert file.read_bytes() == text
        told(said["message"], file)
        assert "bring over what is missing" in said["hint"]
        where = " -t memory" if target_of(file) == "memory" else ""
        assert f"repeat the change, with --expected {said['found']}{where}." in said["hint"]
    run(*write, "--expected", said["found"])
    assert MORE.strip() not in file.read_text(encoding="utf-8")


@only_user
def test_another_write_in_between_is_no_look(file):
    target = target_of(file)
    write = ("replace", "Uses tabs", "Uses spaces.", "-p", "orchestrator", "-t", target)
    run(*write, status=3)
    without_limits(file.parents[2])
    run("add", "Another fact.", "-p", "orchestrator", "-t", target, "-c", "projects")
    assert run(*write, status=3).stderr.startswith("error[drift]")
    run("add", "One more.", "-p", "orchestrator", "-t", target, "-c", "projects")
    said = error_of(*write, status=3)
    assert said["code"] == "drift"
    run(*write, "--expected", said["found"])


def test_a_batch(file):
    ws = Workspace.open(".")
    batch = [Operation("add", content="x", category="projects"), Operation("remove", old_text="Uses tabs")]
    for actor in (None, "orchestrator"):
        for _ in range(2):
            with pytest.raises(DriftError) as caught:
                ws.write("orchestrator", batch, target=target_of(file), actor=actor)
            told(caught.value.message, file)
    digest = ws.read("orchestrator", target_of(file)).digest
    assert ws.write("orchestrator", batch, target=target_of(file), expected=digest).changed


CHANGE = {"action": "replace", "old_text": "Uses tabs", "content": "Uses spaces."}
NO_LOOKS = [
    {"action": "list"},  # which cuts a long entry
    {"action": "search", "query": "zebra"},
    {"action": "remove", "old_text": "no such text"},
    {"action": "add", "content": "Another fact.", "category": "projects"},
    {"action": "add", "content": "One more.", "category": "no category"},
]


@pytest.fixture
def talk(file):
    """A conversation that began before the other program wrote."""
    before, (ws, session) = file.read_text(encoding="utf-8"), (without_limits(file.parents[2]), ToolSession())
    file.write_text(before.replace(MORE, ""), encoding="utf-8")

    def call(**arguments):
        return memory_tool(ws, "orchestrator", {"target": target_of(file), **arguments}, session=session)

    assert call(action="list")["success"]
    file.write_text(before, encoding="utf-8")
    return call


def test_a_refusal_is_no_look_however_often(file, talk):
    text = file.read_bytes()
    for _ in range(6):
        refused = talk(**CHANGE)
        assert (refused["success"], refused["reason"], refused["drift_backup"]) == (
            False,
            "drift",
            str(copies(file)[0]),
        )
        told(refused["error"], file)
        assert file.read_bytes() == text


@only_user
@pytest.mark.parametrize("between", NO_LOOKS, ids=lambda each: " ".join(each.values()))
def test_what_does_not_show_the_entry_whole_is_no_look(file, talk, between):
    for _ in range(2):
        assert talk(**CHANGE)["reason"] == "drift"
        talk(**between)
    assert talk(**CHANGE)["reason"] == "drift"
    assert MORE.strip() in file.read_text(encoding="utf-8")


@only_user
@pytest.mark.parametrize("look", [{"action": "list", "offset": 0}, {"action": "prompt"}], ids=["list", "prompt"])
def test_an_answer_that_shows_it_whole_is_a_look(file, talk, look):
    assert talk(**CHANGE)["reason"] == "drift"
    if look["action"] == "prompt":
        look = {**look, "target": None}
    assert talk(**look)["success"]
    assert talk(**CHANGE)["success"]


@only_user
def test_the_digest_of_a_short_entry_is_as_good_as_a_look(file, talk):
    file.write_text(file.read_text(encoding="utf-8").replace(MORE, " And Lyon."), encoding="utf-8")
    refused = talk(**CHANGE)
    assert refused["entry"]["text"].endswith(f"{FACT} And Lyon.")
    assert talk(**CHANGE)["reason"] == "drift"
    assert talk(**CHANGE, expected=refused["found"])["success"]


def test_a_file_without_a_history(root):
    """The README's own ``init --start`` makes one."""
    file = root / "homes" / "orchestrator" / "USER.md"
    file.write_text(f"{FACT}\n§\nLikes tea.\n", encoding="utf-8")
    ws, session = without_limits(root), ToolSession()
    memory_tool(ws, "orchestrator", {"action": "list"}, session=session)
    file.write_text(file.read_text(encoding="utf-8").replace(FACT, FACT + MORE), encoding="utf-8")
    assert [memory_tool(ws, "orchestrator", CHANGE, session=session).get("reason") for _ in range(4)] == ["drift"] * 4
    assert MORE in file.read_text(encoding="utf-8")
    untouched = {"action": "replace", "old_text": "Likes tea", "content": "Likes coffee."}
    assert memory_tool(ws, "orchestrator", untouched, session=session)["success"]


@only_user
def test_while_an_entry_is_over_the_limit_no_agent_changes_the_file(file):
    ws, session, target, text = Workspace.open("."), ToolSession(), target_of(file), file.read_bytes()

    def call(**arguments):
        return memory_tool(ws, "orchestrator", {"target": target, **arguments}, session=session)

    add = {"action": "add", "content": "Another fact.", "category": "projects"}
    for _ in range(2):
        for write in (CHANGE, add, {"action": "remove", "old_text": "Uses tabs"}, {"operations": [add]}):
            refused = call(**write)
            assert (refused["success"], refused["reason"]) == (False, "drift")
            told(refused["error"], file)
        assert call(action="list", offset=0)["success"]
        assert call(action="prompt", target=None)["success"]
    assert file.read_bytes() == text
    (copy,) = copies(file)
    assert "an entry of 8,6" in run("merge", copy, status=1).stderr
    run("merge", copy, "--all", "--dry-run")
    assert call(**add)["reason"] == "drift"
    assert "is accepted" in run("merge", copy, "--all").stderr
    assert call(**CHANGE)["success"]
    assert call(**add)["success"]


@only_user
def test_once_the_entry_is_taken_apart_agents_go_on(file):
    ws, session, text = Workspace.open("."), ToolSession(), file.read_text(encoding="utf-8")
    change = {"target": target_of(file), **CHANGE}
    file.write_text(text.replace(MORE, ""), encoding="utf-8")
    assert memory_tool(ws, "orchestrator", {"action": "list", "target": target_of(file)}, session=session)["success"]
    file.write_text(text, encoding="utf-8")
    assert memory_tool(ws, "orchestrator", change, session=session)["reason"] == "drift"
    file.write_text(text.replace(MORE, "\n§\nMore."), encoding="utf-8")
    assert memory_tool(ws, "orchestrator", change, session=session)["success"]
    assert len(copies(file)) == 1


def test_a_tool_of_mcp(file):
    ws, session = without_limits(file.parents[2]), ToolSession()
    change = {"target": target_of(file), "old_text": "Uses tabs"}
    for _ in range(3):
        refused = call_tool(ws, "orchestrator", "memory_remove", change, session)
        assert (refused["success"], refused["reason"]) == (False, "drift")
        told(refused["error"], file)
    call_tool(ws, "orchestrator", "memory_list", {"target": target_of(file), "offset": 0}, session)
    assert call_tool(ws, "orchestrator", "memory_remove", change, session)["success"]


def test_an_entry_that_was_too_long_before_catmem_came(root):
    file = root / "homes" / "orchestrator" / "MEMORY.md"
    file.write_text(f"{FACT}{MORE}\n§\nShort.\n", encoding="utf-8")
    write = ("replace", "Uses tabs", "Uses spaces.", "-p", "orchestrator", "-t", "memory")
    for _ in range(2):
        said = error_of(*write, status=3)
        assert said["code"] == "entry_too_large"
        told(said["message"], file)
    run(*write, "--expected", said["found"])
    assert file.read_text(encoding="utf-8") == "Uses spaces.\n§\nShort.\n"


# --- reconcile -------------------------------------------------------------------------------------------------------

PROMPT = "b, s, a, q or ?: "
BEFORE = "## Projects\nAtlas ships in May.\n§\n[owner: lea] Borealis has a new lead.\n§\nCrux waits for parts.\n"
AFTER = "## Projects\nAtlas ships in June.\n§\nBorealis has a new lead.\n§\nDelta is new.\n"


@pytest.fixture
def pair(root):
    """A file, and a copy of what it was before."""
    file = root / "homes" / "orchestrator" / "MEMORY.md"
    file.write_text(AFTER, encoding="utf-8")
    copy = file.with_name("MEMORY.md.bak.20261123T065048Z")
    copy.write_text(BEFORE, encoding="utf-8")
    return file, copy


def texts(file):
    """The entries of a file without the day that catmem puts to them."""
    return re.sub(r"\[created: [^\]]*\] ", "", file.read_text(encoding="utf-8"))


def test_it_shows_what_the_copy_has_and_the_file_lacks(pair):
    file, copy = pair
    shown = run("merge", copy, status=1)
    assert shown.stdout == (
        "1. changed in projects\n"
        "   copy: Atlas ships in May.\n"
        "   file: Atlas ships in June.\n"
        "2. changed in projects\n"
        "   copy: [owner: lea] Borealis has a new lead.\n"
        "   file: Borealis has a new lead.\n"
        "3. missing in projects\n"
        "   copy: Crux waits for parts.\n"
    )
    assert "Nothing was written" in shown.stderr
    assert file.read_text(encoding="utf-8") == AFTER


def test_all_of_it_comes_and_no_word_of_the_file_goes(pair):
    file, copy = pair
    assert "(revision 2)" in run("merge", copy, "--all").stdout
    assert texts(file) == (
        "## Projects\nAtlas ships in June.\n§\n[owner: lea] Borealis has a new lead.\n§\nDelta is new.\n§\n"
        "Atlas ships in May.\n§\nCrux waits for parts.\n"
    )
    assert len(run("log", "orchestrator/memory").stdout.splitlines()) == 2
    left = run("merge", copy)
    assert (left.stdout, left.stderr) == ("Nothing is missing: the file has all that the copy has.\n", "")
    run("restore", "orchestrator/memory", "1")
    assert file.read_text(encoding="utf-8") == AFTER


FUTURE = BEFORE + "§\n[verified_date: 2999-01-01] Ember is dated in the future.\n"


def test_of_all_of_it_what_cannot_come_is_named_and_the_rest_comes(pair):
    file, copy = pair
    copy.write_text(FUTURE, encoding="utf-8")
    tried = run("merge", copy, "--all", "--dry-run", status=1)
    assert "left out: entry 4 in projects (bad_date: 2999-01-01 is in the future" in tried.stderr
    assert texts(file) == AFTER
    done = json.loads(run("merge", copy, "--all", "--format", "json", status=1).stdout)
    assert [(each["number"], each["error"]["code"]) for each in done["left_out"]] == [(4, "bad_date")]
    assert done["written"]["revision"] == "2"
    assert "Crux waits for parts." in texts(file)
    assert "Ember" not in texts(file)
    again = run("merge", copy, "--all", status=1)
    assert "left out: entry 1 in projects" in again.stderr
    assert again.stdout.startswith("1. missing in projects\n")


def test_on_a_terminal_it_asks(pair):
    file, copy = pair
    with terminals(file.parents[2], "merge", str(copy)) as opening:
        for answers, status in (("s q", 1), ("s ? s b", 0)):
            terminal = opening()
            for answer in answers.split():
                terminal.wait_for(PROMPT)
                terminal.type(f"{answer}\n")
            assert terminal.status() == status
    assert texts(file) == AFTER + "§\nCrux waits for parts.\n"


def test_at_a_terminal_one_key_is_an_answer(pair, root):
    file, copy = pair
    with terminals(root, "merge", str(copy)) as opening:
        terminal = opening()
        for key in "ss":
            terminal.wait_for(PROMPT)
            terminal.type(key)
        terminal.wait_for(PROMPT)
        terminal.type("a")
        terminal.wait_for("brought over to projects")
        assert terminal.status() == 0
    assert texts(file) == AFTER + "§\nCrux waits for parts.\n"


def test_one_entry(pair):
    file, copy = pair
    run("merge", copy, "--entry", "3")
    assert texts(file) == AFTER + "§\nCrux waits for parts.\n"
    assert "-Crux" not in run("merge", copy, "--entry", "1", "--dry-run").stdout
    assert texts(file) == AFTER + "§\nCrux waits for parts.\n"


@together("number", ["0", "4", "-1"])
def test_a_number_that_is_none(pair, number):
    assert "1 to 3" in run("merge", pair[1], "--entry", number, status=2).stderr
    assert pair[0].read_text(encoding="utf-8") == AFTER


def test_both_choices_exclude_each_other(pair):
    assert "exclude each other" in run("merge", pair[1], "--entry", "1", "--all", status=2).stderr
    assert "--dry-run" in run("merge", pair[1], "--dry-run", status=2).stderr


def test_what_would_not_fit_is_refused_with_the_limit(file):
    (path, target) = file, target_of(file)
    run("replace", "Uses tabs", "Uses spaces.", "-p", "orchestrator", "-t", target, status=3)
    (copy,) = copies(path)
    found = error_of("replace", "Uses tabs", "Uses spaces.", "-p", "orchestrator", "-t", target, status=3)["found"]
    run("replace", "Uses tabs", "Uses spaces.", "-p", "orchestrator", "-t", target, "--expected", found)
    if "limits: {" in (path.parents[2] / "catmem.yaml").read_text(encoding="utf-8"):
        said = error_of("merge", copy, "--all", status=1)
        assert said["code"] == "over_budget"
        assert "raise limits in catmem.yaml" in said["hint"]
    else:
        run("merge", copy, "--all")
        assert MORE in path.read_text(encoding="utf-8")


BAD = {
    "gone": (lambda file: file.with_name("MEMORY.md.bak.20200101T000000Z"), None, "missing"),
    "no copy": (lambda file: file, None, "not_a_copy"),
    "another name": (lambda file: file.with_name("MEMORY.md.bak.old"), b"x", "not_a_copy"),
    "of another root": (lambda file: file.parents[3] / "MEMORY.md.bak.20200101T000000Z", b"x", "not_a_copy"),
    "not UTF-8": (lambda file: file.with_name("MEMORY.md.bak.20200101T000000Z"), b"caf\xe9\n", "not_utf8"),
    "binary": (lambda file: file.with_name("MEMORY.md.bak.20200101T000000Z"), bytes(range(256)), "not_utf8"),
}


@together(("place", "data", "code"), BAD.values(), ids=BAD)
def test_what_cannot_be_reconciled(pair, place, data, code):
    path = place(pair[0])
    if data is not None:
        path.write_bytes(data)
    assert error_of("merge", path, "--all", status=2)["code"] == code
    assert pair[0].read_text(encoding="utf-8") == AFTER
    if data is not None:
        path.unlink()


def test_a_folder_and_a_link_are_no_copies(pair):
    folder = pair[0].with_name("MEMORY.md.bak.20200101T000000Z")
    folder.mkdir()
    assert error_of("merge", folder, status=2)["code"] == "not_a_file"
    folder.rmdir()
    folder.symlink_to(pair[1])
    assert error_of("merge", folder, status=2)["code"] == "symlink"
