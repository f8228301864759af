"""A root that has been opened: whose files, which of them, and never a byte changed."""

import gc
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from catmem.config.profile import one_reading
from catmem.errors import UnknownNameError, UnreadableError
from catmem.text import MAX_FILE_BYTES
from catmem.workspace import stores
from catmem.workspace.profile_memory import TEXTS, read_memory
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.refusals import refusal
from tests.together import together

DAY = date(2026, 11, 21)
USER = "## Talk\n[verified_date: 2026-01-01] short answers\n§\nno calls\n\n## Pay\nsecret\n"


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "taxonomy: {categories: {talk: {title: Talk, aliases: [speech]}}}\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\nmemory_categories: ['*', '!pay']\n")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", USER)
    put(tmp_path / "homes" / "boss" / "USER.md", "## Speech\nfrom the boss\n\n## Pay\nhidden\n")
    return tmp_path


@pytest.fixture
def workspace(place):
    return Workspace.open(place)


def test_the_root_is_the_nearest_folder_with_a_configuration(place):
    below = place / "homes" / "neo"
    assert Workspace.open(below).root == place
    assert Workspace.open(below, search=False).root == below
    assert Workspace.open(below, search=False).config.path is None


def test_a_root_that_is_not_there(tmp_path):
    with pytest.raises(UnreadableError, match="no such folder"):
        Workspace.open(tmp_path / "nothing", search=False)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda ws: ws.add("neo", "x", categry="talk"), r"add\(\) got .* 'categry'; did you mean 'category'\?"),
        (lambda ws: ws.undo("neo", expectd=3), r"undo\(\) got .* 'expectd'; did you mean 'expected'\?"),
        (lambda ws: ws.move("neo", "x", "talk", confrm=True), r"move\(\) got .* 'confrm'; did you mean 'confirm'\?"),
        (lambda ws: ws.plan_seed("neo", zzz=1), r"plan_seed\(\) got an unexpected keyword argument 'zzz'$"),
        (lambda ws: ws.envelope("neo", "x", foo=1), r"envelope\(\) got an unexpected keyword argument 'foo'$"),
        (lambda ws: ws.envelope("neo", "x", singed=True), r"envelope\(\) got .* 'singed'; did you mean 'signed'\?"),
        (lambda ws: ws.undo("neo", confirm=True), r"undo\(\) got an unexpected keyword argument 'confirm'"),
        (lambda ws: ws.merge("neo", precedense="ours"), r"merge\(\) got .*; did you mean 'precedence'\?"),
        (lambda ws: ws.search("neo", "x", stat="stale"), r"search\(\) got .*; did you mean 'state'\?"),
    ],
)
def test_a_wrong_keyword_names_the_call_and_the_nearest_right_one(workspace, call, said):
    with pytest.raises(TypeError, match=rf"^Workspace\.{said}"):
        call(workspace)


@together("name", ["../neo", "..", "", "/etc", "neo/../boss", "NEO", "neo.yaml", "nobody", "n\x00eo", "-x", "x" * 65])
def test_a_name_that_is_no_profile_of_the_root(workspace, name):
    for call in (workspace.profile, workspace.prompt, workspace.list, workspace.missing_files):
        refusal("unknown_name", call, name)
    for target in ("user", "memory"):
        refusal("unknown_name", workspace.path, name, target)
    refusal("unknown_name", workspace.prompt, "neo", source=name)


@together("target", ["", "USER", "users", "../user"])
def test_a_target_that_is_none(workspace, target):
    for call in (workspace.path, workspace.view):
        refusal("unknown_target", call, "neo", target)
    refusal("unknown_target", workspace.list, "neo", target=target)
    refusal("unknown_target", workspace.add, "neo", "x", target=target)


def test_choices_of_the_caller_reach_the_builder(workspace):
    prompt = workspace.prompt("neo", as_of=DAY, style="xml", counter=lambda _: 7)
    assert prompt.text.startswith("<memory")
    assert prompt.manifest.sizes == {"user": 7, "memory": 0}


def test_without_a_day_it_is_today(workspace):
    first, prompt, last = date.today(), workspace.prompt("neo"), date.today()  # noqa: DTZ011
    assert first <= prompt.manifest.as_of <= last


# --- files that cannot be read -------------------------------------------------------------------------------------


def refused(workspace, code):
    for call in (workspace.prompt, workspace.list, lambda name: workspace.view(name, "user")):
        assert refusal(code, call, "neo").path.endswith("USER.md")


def instead(make):
    """Something else in the place of the file."""

    def made(file):
        file.unlink()
        make(file)

    return made


def a_link(file):
    root = file.parents[2]
    file.symlink_to(put(root.with_name(f"{root.name}-outside.md"), "## Talk\nfrom outside\n"))


def a_file_for_its_folder(file):
    file.parent.rmdir()
    put(file.parent, "a file")


UNREADABLE = {
    "no UTF-8": (lambda file: file.write_bytes(b"## Talk\nsecret \xff"), "not_utf8"),
    "over the limit": (lambda file: os.truncate(file, MAX_FILE_BYTES + 1), "too_large"),
    "a folder": (instead(os.mkdir), "not_a_file"),
    "a pipe": (instead(os.mkfifo), "not_a_file"),
    "a link": (instead(a_link), "symlink"),
    "a link to nothing": (instead(lambda file: file.symlink_to("nothing")), "symlink"),
    "a file in the place of the folder": (instead(a_file_for_its_folder), "not_a_file"),
}


@pytest.mark.parametrize(("make", "code"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_an_error_and_no_empty_file(workspace, place, make, code):
    make(place / "homes" / "neo" / "USER.md")
    refused(workspace, code)


def test_a_link_is_followed_where_the_profile_may_leave_the_root(workspace, place, tmp_path_factory):
    outside = put(tmp_path_factory.mktemp("outside") / "USER.md", "## Talk\nfrom outside\n")
    put(place / "profiles" / "neo.yaml", "user_memory_categories: [talk]\nallow_outside: true\n")
    file = place / "homes" / "neo" / "USER.md"
    file.unlink()
    file.symlink_to(outside)
    assert "from outside" in workspace.prompt("neo").text
    outside.unlink()
    refused(workspace, "missing")  # a link that leads nowhere is not the same as no file


def test_warnings_name_the_place_of_what_does_not_count(workspace, place):
    put(
        place / "homes" / "neo" / "USER.md",
        "## Talk\n[expires: 2026-13-01] one\n§\n[Verified_date: 2026-01-01] two\n\n## Pay\n[expires: soon] secret\n",
    )
    warnings = workspace.warnings("neo")
    assert [(warning.path.name, warning.line) for warning in warnings] == [("USER.md", 2), ("USER.md", 4)]
    assert "secret" not in str(warnings)


def test_without_a_root_the_error_says_so(tmp_path):
    with pytest.raises(UnknownNameError) as raised:
        Workspace.open(tmp_path, search=False).prompt("neo")
    assert "There is no catmem.yaml in" in raised.value.hint


def test_threads_that_come_first_together_get_one_store(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    root = Workspace.open(tmp_path, search=False)
    real, opened = stores.open_store, []

    def slow(*given):
        time.sleep(0.05)
        opened.append(real(*given))
        return opened[-1]

    monkeypatch.setattr(stores, "open_store", slow)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: root.store, range(4)))
    assert found == opened * 4


def test_roots_that_nobody_has_any_more_keep_no_file_open(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\nwritable_categories: ['*']\n")

    def opened():
        gc.collect()
        return len([*Path("/proc/self/fd").iterdir()])

    Workspace.open(tmp_path).add("neo", "The first.", category="talk")
    before = opened()
    for number in range(5):
        Workspace.open(tmp_path).add("neo", f"One more: {number}.", category="talk")
    assert opened() <= before


# --- one operation works on one state of the disk: profiles and files are read once for it ---------------------------

TALK, RULES = "user_memory_categories: [talk]\n", "user_memory_categories: [rules]\n"


@pytest.fixture
def reading(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", TALK)
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\n[expires: soon] short answers\n\n## Rules\nno calls\n")
    return tmp_path


def test_a_profile_that_changes_in_the_middle_of_an_operation_counts_for_the_next_one(reading):
    workspace = Workspace.open(reading)
    with one_reading():
        assert workspace.profile("neo").user_memory_categories == ("talk",)
        put(reading / "profiles" / "neo.yaml", RULES)
        with one_reading():
            assert workspace.profile("neo").user_memory_categories == ("talk",)
        assert "short answers" in workspace.prompt("neo").text
    assert "no calls" in workspace.prompt("neo").text


def test_another_thread_has_its_own_reading(reading):
    workspace, seen = Workspace.open(reading), []
    with one_reading():
        workspace.profile("neo")
        put(reading / "profiles" / "neo.yaml", RULES)
        thread = threading.Thread(target=lambda: seen.append(workspace.profile("neo").user_memory_categories))
        thread.start()
        thread.join()
    assert seen == [("rules",)]


def test_a_profile_that_is_wrong_is_read_again(reading):
    workspace = Workspace.open(reading)
    with one_reading():
        with pytest.raises(Exception, match="no profile"):
            workspace.profile("trinity")
        put(reading / "profiles" / "trinity.yaml", TALK)
        assert workspace.profile("trinity").name == "trinity"


def test_text_and_warnings_are_of_one_state_of_the_files(reading):
    memory = read_memory(Workspace.open(reading), "neo")
    put(reading / "homes" / "neo" / "USER.md", "## Talk\nchanged\n")
    assert "short answers" in memory.prompt().text
    assert ["expires" in warning.message for warning in memory.warnings()] == [True]


def test_the_last_texts_are_kept_by_their_bytes_and_no_others(reading):
    workspace = Workspace.open(reading)
    texts = [f"## Talk\n{number}\n".encode() for number in range(TEXTS + 1)]
    documents = [workspace.parse(text) for text in texts]
    assert all(workspace.parse(text) is document for text, document in zip(texts[1:], documents[1:], strict=True))
    assert workspace.parse(texts[0]) is not documents[0]
    assert workspace.parse(texts[0]) == documents[0]


def test_two_workspaces_share_nothing(reading):
    one, other = Workspace.open(reading), Workspace.open(reading)
    assert one == other
    assert one.parse(b"## Talk\nfirst\n") is not other.parse(b"## Talk\nfirst\n")


def test_entries_whose_tags_say_the_same_are_dated_once(reading):
    many = "\n§\n".join(f"[created: 2026-01-0{number % 3 + 1}] fact {number}" for number in range(300))
    put(reading / "homes" / "neo" / "USER.md", f"## Talk\n{many}\n")
    listed = Workspace.open(reading).list("neo", category="talk")
    assert [str(each.freshness.day) for each in listed[:4]] == ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-01"]
    assert len({id(each.freshness) for each in listed}) == 3
