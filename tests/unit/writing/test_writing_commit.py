"""How a write is made: batches, retries, dry runs, limits, branches, files that hold what no tool wrote, and its cost."""

import json
import sys
from collections import Counter
from contextlib import contextmanager
from datetime import date

import pytest

from catmem.jsonable import jsonable
from catmem.ops.memory_tool import memory_tool
from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import ToolSession
from catmem.writing.request import Operation
from catmem.writing.written import FileUsage
from tests.golden.case import put
from tests.refusals import refusal
from tests.roots import make_root, put_bytes, text_of

DAY = date(2026, 5, 1)
TEXT = "## Talk\nshort answers\n§\nno calls\n\n## Pay\nsecret\n"
PROFILES = {"neo": "user_memory_categories: [talk]\nwritable_categories: [talk]\n"}


@pytest.fixture
def workspace(tmp_path):
    return make_root(tmp_path, profiles=PROFILES, files={"neo/user": TEXT})


def revision_of(workspace, entity="neo/user"):
    return workspace.store.read(entity).revision


# --- batches ---


def test_a_batch_is_one_revision(workspace):
    written = workspace.write(
        "neo",
        [
            Operation("add", content="one", category="talk", as_of=DAY),
            Operation("replace", old_text="no calls", content="calls"),
            Operation("move", old_text="secret", to_category="talk"),
            Operation("remove", old_text="short"),
            Operation("verify", old_text="one", as_of=DAY),
        ],
    )
    assert written.revision == revision_of(workspace) == "2"
    assert written.after == (
        "## Talk\ncalls\n§\n[verified_date: 2026-05-01, created: 2026-05-01] one\n§\nsecret\n\n## Pay\n"
    )
    note = workspace.store.head("neo/user").note
    assert [action["action"] for action in note["actions"]] == ["add", "replace", "move", "remove", "verify"]


def test_a_batch_is_made_whole_or_not_at_all(workspace):
    caught = refusal(
        "no_match",
        workspace.write,
        "neo",
        [Operation("add", content="one", category="talk"), Operation("remove", old_text="zebra")],
    )
    assert caught.key == "operations[1]"
    assert (text_of(workspace), revision_of(workspace)) == (TEXT, "1")


# --- views and retries ---


def test_a_retry_gives_the_first_answer(workspace):
    def write(text="x"):
        operations = [Operation("add", content=text, category="talk"), Operation("remove", old_text="no calls")]
        return workspace.write("neo", operations, op_id="mine")

    first = write()
    workspace.remove("neo", "short")
    again = write()
    assert (again.revision, again.digest, again.before, again.after) == (
        first.revision,
        first.digest,
        first.before,
        first.after,
    )
    assert (again.entries, again.usage, again.changed) == (first.entries, first.usage, True)
    assert again.notes == ("this was done before, under the same op_id",)
    assert revision_of(workspace) == "3"
    refusal("hash_collision", write, "y")


def test_a_retry_belongs_to_who_made_it(workspace):
    workspace.add("neo", "x", category="talk", op_id="mine")
    own = workspace.add("neo", "y", category="talk", op_id="mine", actor="neo")
    assert (own.changed, own.repeated) == (True, False)
    again = workspace.add("neo", "y", category="talk", op_id="mine", actor="neo")
    assert (again.revision, again.repeated) == (own.revision, True)
    refusal("hash_collision", workspace.add, "neo", "x", category="talk", op_id="mine", actor="neo")


# --- what somebody else changed ---


@pytest.fixture
def changed(workspace):
    """Somebody changed one entry, added another and doubled a third since revision 1."""
    put_bytes(
        workspace,
        "neo/user",
        TEXT.replace("short answers", "curt answers\n§\nnew").replace("secret", "secret\n§\nsecret"),
    )
    return workspace


@pytest.mark.parametrize(
    "write",
    [
        lambda ws, **how: ws.replace("neo", "curt", "x", **how),
        lambda ws, **how: ws.remove("neo", "new", **how),
        lambda ws, **how: ws.move("neo", "new", "pay", **how),
        lambda ws, **how: ws.verify("neo", "curt", **how),
        lambda ws, **how: ws.write(
            "neo", [Operation("add", content="x", category="talk"), Operation("remove", old_text="new")], **how
        ),
    ],
)
def test_an_entry_that_somebody_else_changed_is_not_touched_unseen(changed, write):
    before = text_of(changed)
    refusal("drift", write, changed, expected="1", on_drift="merge")
    assert text_of(changed) == before


@pytest.mark.parametrize(
    "write",
    [
        lambda ws, **how: ws.replace("neo", "no calls", "calls", **how),
        lambda ws, **how: ws.remove("neo", "no calls", **how),
        lambda ws, **how: ws.verify("neo", "no calls", **how),
        lambda ws, **how: ws.add("neo", "x", category="talk", **how),
        lambda ws, **how: ws.write(
            "neo",
            [Operation("add", content="x", category="talk"), Operation("replace", old_text="x", content="y")],
            **how,
        ),
    ],
)
def test_everything_else_goes_on(changed, write):
    assert write(changed, expected="1", on_drift="merge").changed
    assert "curt answers" in text_of(changed)


def test_what_a_batch_itself_brings_back_is_its_own(workspace):
    put_bytes(workspace, "neo/user", TEXT.replace("short answers\n§\n", ""))
    back = [
        Operation("add", content="short answers", category="talk"),
        Operation("replace", old_text="short", tags={"created": None}),
        Operation("verify", old_text="short", as_of=DAY),
    ]
    written = workspace.write("neo", back, expected="1", on_drift="merge")
    assert "[verified_date: 2026-05-01] short answers" in written.after


def test_where_the_base_cannot_be_read_every_entry_counts_as_changed(tmp_path):
    workspace = make_root(tmp_path, profiles=PROFILES, files={"neo/user": b"## Talk\nno calls \xff\n"})
    put_bytes(workspace, "neo/user", TEXT)
    refusal("drift", workspace.remove, "neo", "no calls", expected="1", on_drift="merge")
    assert workspace.add("neo", "x", category="talk", expected="1", on_drift="merge").changed


# --- what no tool wrote ---


def test_bytes_that_are_no_text_are_not_written_over(tmp_path):
    data = b"## Talk\n\xff\n"
    workspace = make_root(tmp_path, profiles=PROFILES, files={"neo/user": data})
    for write in (
        lambda: workspace.add("neo", "x", category="talk"),
        lambda: workspace.add("neo", "x", category="talk", dry_run=True),
    ):
        assert "catmem fsck neo/user" in refusal("not_utf8", write).hint
    assert workspace.store.peek("neo/user") == data


LONG = "long " * 9 + "long"
LIMITED = "limits: {user: 40}\n"
NO_MENDING = {
    "the same size": lambda ws, **how: ws.replace("neo", "long", "x" * len(LONG), **how),
    "another tag": lambda ws, **how: ws.replace("neo", "long", None, tags={"source": "me"}, **how),
    "verify": lambda ws, **how: ws.verify("neo", "long", **how),
    "move": lambda ws, **how: ws.move("neo", "long", "talk", **how),
}
MENDING = {
    "remove": (lambda ws, **how: ws.remove("neo", "long", **how), "short\n"),
    "shorter": (lambda ws, **how: ws.replace("neo", "long", "x", **how), "x\n§\nshort\n"),
    "still too long": (lambda ws, **how: ws.replace("neo", "long", LONG[5:], **how), f"{LONG[5:]}\n§\nshort\n"),
}


@pytest.fixture
def with_long_entry(tmp_path):
    profiles = {"neo": "include_uncategorized: true\nwritable_categories: ['*']\n", "boss": "tier: 1\n"}
    return make_root(tmp_path, config=LIMITED, profiles=profiles, files={"neo/user": f"{LONG}\n§\nshort\n"})


@pytest.mark.parametrize("write", NO_MENDING.values(), ids=NO_MENDING)
def test_an_entry_over_the_whole_limit_is_not_written_to(with_long_entry, write):
    error = refusal("entry_too_large", write, with_long_entry)
    assert error.message == "this entry has 49 characters, longer than the whole limit of the file, 40"
    assert "Shorten or remove it once you have read it." in error.hint
    assert with_long_entry.remove("neo", "short").changed


@pytest.mark.parametrize(("write", "after"), MENDING.values(), ids=MENDING)
def test_who_has_seen_it_may_remove_or_shorten_an_entry_over_the_whole_limit(with_long_entry, write, after):
    for _ in range(2):
        refusal("entry_too_large", write, with_long_entry)
    assert write(with_long_entry, expected=with_long_entry.read("neo").digest).after == after


@pytest.mark.parametrize("actor", ["neo", "boss"])
@pytest.mark.parametrize(("write", "_"), MENDING.values(), ids=MENDING)
def test_no_profile_may_unseen(with_long_entry, write, _, actor):
    caught = refusal("drift", write, with_long_entry, actor=actor)
    assert "longer than the whole file may be (40 characters)" in caught.message


def test_an_entry_over_the_size_of_any_entry(tmp_path):
    huge = "y" * ((1 << 20) + 1)
    workspace = make_root(tmp_path, profiles=PROFILES, files={"neo/user": f"{huge}\n§\nshort\n"})
    caught = refusal("entry_too_large", workspace.verify, "neo", "yyy")
    assert caught.message.endswith("longer than an entry may be, 1,048,576")
    assert workspace.remove("neo", "yyy", expected="1").after == "short\n"


# --- limits ---


def test_the_profiles_own_limit_counts_before_the_roots(tmp_path):
    profiles = {"neo": "limits: {user: 10}\n", "one": ""}
    workspace = make_root(tmp_path, config=LIMITED, profiles=profiles)
    assert refusal("over_budget", workspace.add, "neo", "12345678901").limit == 10
    assert workspace.add("one", "12345678901").usage.limit == 40
    assert workspace.add("one", "x" * 1000, target="memory").usage == FileUsage(1022, None)


def test_of_what_could_leave_the_actors_own_comes_first(tmp_path):
    profiles = {"neo": "user_memory_categories: [talk]\nwritable_categories: [talk]\nlimits: {user: 120}\n"}
    text = "## Talk\n[created: 2020-01-01] another's\n"
    workspace = make_root(tmp_path, profiles=profiles, files={"neo/user": text})
    for body in ("own, first", "own, second"):
        workspace.add("neo", body, category="talk", actor="neo")
    caught = refusal("over_budget", workspace.add, "neo", "too much " * 9, category="talk", actor="neo")
    assert [each["text"] for each in caught.could_go] == ["own, first", "own, second", "another's"]
    caught = refusal("over_budget", workspace.add, "neo", "too much " * 9, category="talk")
    assert caught.could_go[0]["text"] == "another's"


def test_a_person_moves_an_entry_in_a_full_file_too(tmp_path):
    text = "## Talk\none\n§\ntwo\n"
    files = {"neo/user": text}
    workspace = make_root(tmp_path, config=f"limits: {{user: {len(text)}}}\n", profiles={"neo": ""}, files=files)
    usage = workspace.move("neo", "one", "rules").usage
    assert usage.size > usage.limit == len(text)
    caught = refusal("over_budget", workspace.add, "neo", "three", category="talk")
    assert "The limit stands in limits of the profile, else of catmem.yaml" in caught.hint
    refusal("over_budget", workspace.replace, "neo", "one", "other", category="rules")


def test_what_could_leave_is_what_the_actor_sees_and_may_remove(tmp_path):
    profiles = {"neo": "user_memory_categories: [talk, rules]\nwritable_categories: [talk]\nlimits: {user: 50}\n"}
    text = "## Talk\nmine\n\n## Rules\nseen\n\n## Pay\nhidden\n"
    workspace = make_root(tmp_path, profiles=profiles, files={"neo/user": text})
    caught = refusal("over_budget", workspace.add, "neo", "new", category="talk", actor="neo")
    assert [entry["text"] for entry in caught.could_go] == ["mine"]
    caught = refusal("over_budget", workspace.add, "neo", "new", category="talk")
    assert [entry["text"] for entry in caught.could_go] == ["mine", "seen", "hidden"]


def test_a_batch_is_held_to_the_limit_in_the_end(tmp_path):
    workspace = make_root(
        tmp_path, config="limits: {user: 30}\n", profiles=PROFILES, files={"neo/user": "1234567890\n"}
    )
    add, remove = Operation("add", content="x" * 5), Operation("remove", old_text="123")
    assert refusal("over_budget", workspace.write, "neo", [add]).key is None
    assert workspace.write("neo", [add, remove]).usage.size == 27


def test_what_shortens_a_file_over_its_limit_is_no_fault(tmp_path):
    text = "\n§\n".join(f"entry {n}" for n in range(10)) + "\n"
    workspace = make_root(tmp_path, config=LIMITED, profiles=PROFILES, files={"neo/user": text})
    assert workspace.remove("neo", "entry 1").usage.size > 40
    assert workspace.replace("neo", "entry 2", "entry b").usage.size > 40
    refusal("over_budget", workspace.add, "neo", "x")
    workspace.verify("neo", "entry 3")  # a person brings no words


# --- branch mode: a write on an older revision is kept beside the head, and its answer says so ---

NEW = TEXT.replace("secret", "another secret").replace("short", "long")


@pytest.fixture
def branching(tmp_path):
    """neo/user at revision 2, of a root in branch mode."""
    made = make_root(tmp_path, config="on_stale: branch\n", profiles=PROFILES, files={"neo/user": TEXT})
    put_bytes(made, "neo/user", NEW)
    return made


def test_a_call_may_ask_for_a_branch_and_may_ask_for_a_refusal(branching, workspace):
    refusal("stale_prev", branching.add, "neo", "one", category="talk", expected=1, on_stale="refuse")
    put_bytes(workspace, "neo/user", NEW)
    refusal("stale_prev", workspace.add, "neo", "one", category="talk", expected=1)
    assert workspace.add("neo", "one", category="talk", expected=1, on_stale="branch").branch


@pytest.mark.parametrize("dry_run", [False, True])
def test_merging_by_entry_comes_before_branching(branching, dry_run):
    written = branching.replace("neo", "no calls", "calls", expected=1, on_drift="merge", dry_run=dry_run)
    assert not written.branch
    assert written.after == NEW.replace("no calls", "calls")


def test_a_branch_tells_a_profile_nothing_of_the_head(branching):
    other = put_bytes(branching, "neo/user", NEW + "§\nmore\n")
    written = branching.replace("neo", "no calls", "calls", expected=1, actor="neo")
    said = json.dumps(jsonable(written), ensure_ascii=False)
    assert written.revision == "2a"
    assert f'"{other}"' not in said
    assert "another" not in said
    caught = refusal("no_match", branching.replace, "neo", "long answers", "none", expected=1, actor="neo")
    assert "long" not in str(caught.hint)


def test_the_memory_tool_says_that_it_is_a_branch_and_goes_on_from_it(branching):
    session = ToolSession()
    asked = {"action": "add", "category": "talk", "content": "likes tea"}
    answer = memory_tool(branching, "neo", {**asked, "expected": "1"}, session=session)
    assert (answer["success"], answer["revision"], answer["branch"]) == (True, "2a", True)
    assert "kept as branch 2a" in answer["message"]
    more = memory_tool(branching, "neo", {**asked, "content": "likes milk", "expected": "2a"}, session=session)
    assert (more["revision"], more["branch"]) == ("3a", True)
    listed = memory_tool(branching, "neo", {"action": "list"}, session=session)
    assert "likes tea" not in json.dumps(listed)
    assert "branch" not in memory_tool(branching, "neo", {**asked, "content": "likes rum"}, session=session)


# --- on files ---


def test_the_roots_own_store_writes_its_files(tmp_path):
    put(tmp_path / "profiles" / "neo.yaml", PROFILES["neo"])
    workspace = Workspace.open(tmp_path, search=False)
    try:
        assert workspace.add("neo", "x", category="talk", as_of=DAY).revision == "1"
        file = workspace.path("neo", "user")
        assert file.read_text(encoding="utf-8") == "## Talk\n[created: 2026-05-01] x\n"
        workspace.add("neo", "y", category="talk")
        text = file.read_text(encoding="utf-8").replace("] x\n", "] x, from outside\n")
        file.write_text(text, encoding="utf-8")
        assert workspace.read("neo").revision is None
        for how in ({"expected": "2"}, {"on_drift": "refuse"}):
            refusal("drift", workspace.verify, "neo", "y", dry_run=True, **how)
        for dry_run in (True, False):
            refusal("drift", workspace.remove, "neo", "outside", dry_run=dry_run)
        assert workspace.verify("neo", "y", as_of=DAY).changed
        assert "from outside" in file.read_text(encoding="utf-8")
        refusal("drift", workspace.remove, "neo", "outside")
        assert workspace.remove("neo", "outside", expected="4").changed
    finally:
        workspace.store.close()


# --- what an addition to a SQLite store does, counted: it must not grow with the file ---

FEW, MANY = 300, 3_000
SECTIONS = ("talk", "rules", "plans")
ADDED = 5


def root_with(folder, entries):
    """A root with so many entries in a SQLite store, to which something has been added."""
    put(folder / "catmem.yaml", "version: 1\nstore: sqlite:///memory.db\n")
    put(folder / "profiles" / "neo.yaml", 'user_memory_categories: ["*"]\nwritable_categories: ["*"]\n')
    each = range(entries // len(SECTIONS))
    sections = (
        f"## {category}\n" + "\n§\n".join(f"[created: 2026-11-02] fact {number} of {category} — §5" for number in each)
        for category in SECTIONS
    )
    data = ("\n\n".join(sections) + "\n").encode()
    workspace = Workspace.open(folder, search=False)
    workspace.store.commit("neo/user", "0", lambda _: data, Change())
    for actor in (None, "neo"):  # the first time, the file and its history are read
        workspace.add("neo", f"the first one of {actor}", category="talk", actor=actor)
    return workspace


@contextmanager
def counting():
    """Counts the calls of Python's and C's functions, and the statements of SQLite."""
    counts = Counter()

    def called(frame, event, argument):
        if event == "call":
            counts["calls"] += 1
        elif event == "c_call":
            counts["calls into C"] += 1
            if getattr(argument, "__name__", "") == "execute":
                counts["statements"] += 1

    sys.setprofile(called)
    try:
        yield counts
    finally:
        sys.setprofile(None)


def added(workspace, category, actor):
    with counting() as counts:
        for number in range(ADDED):
            workspace.add("neo", f"something new, number {number}, by {actor}", category=category, actor=actor)
    return counts


@pytest.mark.parametrize("actor", [None, "neo"])
@pytest.mark.parametrize("category", SECTIONS)
def test_an_addition_costs_the_same_in_a_long_file(tmp_path, category, actor):
    few, many = (added(root_with(tmp_path / str(size), size), category, actor) for size in (FEW, MANY))
    assert few["statements"] == many["statements"] > ADDED
    # Binary searches are a little longer; a look at each entry would be ten times as many calls.
    assert many["calls"] < 1.2 * few["calls"]
    assert many["calls into C"] < 1.2 * few["calls into C"]


def test_an_addition_by_turns_to_the_ends_of_a_file_costs_little_more(tmp_path):
    few, many = (root_with(tmp_path / str(size), size) for size in (FEW, MANY))
    for category in (*SECTIONS, *SECTIONS):
        short, long = (added(workspace, category, None) for workspace in (few, many))
        assert long["calls"] < 1.2 * short["calls"]
